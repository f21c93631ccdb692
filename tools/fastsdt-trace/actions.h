// SPDX-License-Identifier: BSD-2-Clause
// What the tool does for a script: the statements of BEGIN, END and interval, and those of probes when it reads their events.
#pragma once
#include "attached.h"
#include "maps/events.h"
#include "output.h"
#include "processes.h"

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace fastsdt::trace_tool {

class Actions {
public:
    /// All have to outlive it.
    Actions(Shared& shared, Processes& processes, Output& output)
        : shared_(shared), processes_(processes), output_(output)
    {}

    /// A clause without sites. @return  false: it wants the run to end
    bool run(const engine::Clause& clause, const engine::Probe& probe);
    /// @return  false: it wants the run to end
    bool perform(const engine::Event& event)
    {
        by_ = {event.process, event.ring};
        return perform(*event.statement, event.values);
    }

private:
    using Values = std::vector<engine::Datum>;
    enum class Flow { on, leave, next, end, exit };
    Flow run(const std::vector<engine::Statement>& statements);
    Flow run(const engine::Statement& statement);
    Flow loop(const engine::Statement& statement);
    void change(const engine::Statement& statement);
    void assign(size_t map, const Values& keys, engine::Datum value);
    void zero(size_t map);
    void cat(const std::string& file);
    void join(const engine::Statement& statement, const Values& values);
    bool perform(const engine::Statement& statement, const Values& values);
    std::string formatted(const engine::Statement& statement, const Values& values) const;
    engine::Datum value(const engine::Expression& e);
    Values values(const std::vector<engine::Expression>& all);
    engine::Datum own_value(const engine::Expression& e);
    engine::Datum part(const engine::Expression& e);
    engine::Datum tuple(const engine::Expression& e);
    engine::Datum step(const engine::Expression& e);
    uint64_t number(const engine::Expression& e) { return static_cast<uint64_t>(value(e).number); }
    uint64_t operation(const engine::Expression& e);
    bool compare(const engine::Expression& e);
    engine::Datum map_value(size_t map, const Values& keys);

    Shared& shared_;
    Processes& processes_;
    Output& output_;
    const engine::Probe* probe_ = nullptr;     // whose clause runs
    Values variables_;                         // of the clause
    std::optional<engine::Maps> maps_;         // as the clause's expressions see them
    const engine::Statement* shown_ = nullptr; // by the statement before
    using Thread = std::pair<pid_t, size_t>;
    Thread by_;                                          // whose event is performed
    std::map<Thread, std::vector<std::string>> joining_; // strings of a join() that is not complete
    std::mt19937 random_{std::random_device{}()};
};

} // namespace fastsdt::trace_tool
