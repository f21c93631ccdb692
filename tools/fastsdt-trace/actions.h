// SPDX-License-Identifier: BSD-2-Clause
// What the tool does for a script: the statements of BEGIN, END and interval, and those of probes when it reads their events.
#pragma once
#include "attached.h"
#include "ir/interpret.h"
#include "maps/events.h"
#include "output.h"
#include "processes.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace fastsdt::trace_tool {

class Actions : engine::ir::Host {
public:
    /// All have to outlive it.
    Actions(Shared& shared, Processes& processes, Output& output)
        : shared_(shared), processes_(processes), output_(output)
    {}

    /// A clause without sites. @return  false: it wants the run to end
    bool run(const engine::Clause& clause, const engine::Probe& probe) { return run(clause, probe, nullptr); }
    /// The same for a sample.
    bool run(const Profile::Hit& hit) { return run(*hit.clause, *hit.probe, &hit.sample); }
    /// @return  false: it wants the run to end
    bool perform(const engine::Event& event)
    {
        by_ = {event.process, event.ring};
        return perform(*event.statement, event.values);
    }

    /// What exit(STATUS) said.
    std::optional<int> status() const { return status_; }

private:
    using Values = std::vector<engine::Datum>;

    bool run(const engine::Clause& clause, const engine::Probe& probe, const Samples::Sample* sample);

    // ---- What a clause without sites finds: no process, or a sample of one. An address leads nowhere, and an argument is 0.
    std::optional<uint64_t> argument(const engine::ir::Argument&) override { return 0; }
    std::optional<uint64_t> ask(engine::Value what) override;
    std::optional<uint64_t> register_value(unsigned) override { return sample_ ? sample_->address : 0; }
    std::optional<uint64_t> symbol(const std::string&) override { return 0; }
    std::optional<uint64_t> stack(const engine::ir::Stack& which) override
    {
        return sample_ ? shared_.profile->stack(*sample_, which.most, which.unwinds) : 0;
    }
    uint64_t frames(uint64_t stack) override;
    std::optional<std::string> name(engine::Value what) override;
    std::optional<std::string> memory(uint64_t, size_t bytes) override { return std::string(bytes, '\0'); }
    void update(size_t map, std::string_view key, uint64_t value) override;
    void assign(size_t map, std::string_view key, std::string_view value) override;
    void add(size_t map, std::string_view key, uint64_t value) override;
    void remove(size_t map, std::string_view key) override;
    std::optional<std::string> get(size_t map, std::string_view key) override;
    bool record(const engine::Statement& statement, const std::vector<std::string>& values) override;
    void dump() override { processes_.ask_for_events(); }
    void call(const engine::Statement&) override {}
    void unread() override {}
    size_t entries(size_t map) override;
    std::vector<std::string> all_keys(size_t map) override;
    void too_many_turns() override;

    bool perform(const engine::Statement& statement, const Values& values);
    void said(const engine::Statement& statement, const std::string& what) const;
    void zero(size_t map);
    void cat(const std::string& file);
    void system(const std::string& command);
    void join(const engine::Statement& statement, const Values& values);
    std::string formatted(const engine::Statement& statement, const Values& values) const;
    bool has_room(size_t map, const Values& keys);
    void changed(size_t map);
    void assign(size_t map, const Values& keys, engine::Datum value);
    std::optional<engine::Datum> value_of(size_t map, const Values& keys);
    const std::vector<engine::Entry>& recorded(size_t map);
    Values keys(size_t map, std::string_view bytes) const;
    std::string bytes(const engine::ValueType& type, engine::Datum datum);
    engine::Datum named(const engine::ValueType& type, engine::Datum datum) const;

    Shared& shared_;
    Processes& processes_;
    Output& output_;
    std::map<const engine::Clause*, engine::ir::Program> programs_;
    const engine::Probe* probe_ = nullptr;     // whose clause runs
    const Samples::Sample* sample_ = nullptr;  // that it runs for
    std::optional<engine::Maps> maps_;         // as the clause sees them
    const engine::Statement* shown_ = nullptr; // by the statement before
    using Thread = std::pair<pid_t, size_t>;
    Thread by_;                                          // whose event is performed
    std::map<Thread, std::vector<std::string>> joining_; // strings of a join() that is not complete
    std::set<size_t> full_;                              // maps of which that was said
    std::vector<std::string> names_; // of stacks and symbols that clauses have, which are numbers there
    std::map<std::string, size_t> places_;
    std::optional<int> status_;
    std::mt19937 random_{std::random_device{}()};
};

} // namespace fastsdt::trace_tool
