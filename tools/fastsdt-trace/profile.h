// SPDX-License-Identifier: BSD-2-Clause
// Samples of the traced processes for a script's profile probes: taken by the kernel, and each is a hit of the probe's clause, which the
// tool performs.
#pragma once
#include "maps/maps.h"
#include "process/symbols.h"
#include "process/unwound.h"
#include "samples.h"
#include "script/script.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace fastsdt::trace_tool {

class Profile {
public:
    /// Bytes of each stack, for ustack(dwarf): deep enough for most, and what perf record takes by default.
    static constexpr size_t copied_stack = 8192;

    /// @param script  has to outlive it  @param follows  what a process forks counts too
    Profile(const engine::Script& script, bool follows);

    /// From now on: Samples::open(). Throws Unusable.
    void open(pid_t pid);

    struct Hit {
        const engine::Clause* clause;
        const engine::Probe* probe;
        Samples::Sample sample;
    };
    /// What has come since the last time. To be done ten times a second.
    std::vector<Hit> take();

    /// The value of ustack: a number for the calls.
    uint64_t stack(const Samples::Sample& sample, unsigned most, bool unwinds);
    uint64_t frames(uint64_t stack) const { return stack ? stacks_.at(stack - 1).calls.second.size() : 0; }
    /// Of what ValueType::has_name(). @param whose  the sample's; 0: it is in a map
    std::string name_of(const engine::ValueType& type, uint64_t number, pid_t whose);
    /// The tool's own maps, with names.
    engine::Maps named(engine::Maps maps);

    bool is_busy() const;        ///< Samples::is_busy() of one of them
    void count() { ++samples_; } ///< one that was performed
    uint64_t samples() const { return samples_; }
    uint64_t cut() const { return cut_; } ///< stacks that are deeper than what is copied of them
    uint64_t lost() const { return sum(&Samples::lost); }
    uint64_t throttled() const { return sum(&Samples::throttled); }
    bool without_kernel() const;

private:
    struct Source {
        const engine::Clause* clause;
        const engine::Probe* probe;
        std::unique_ptr<Samples> samples;
    };
    struct Process {
        Process(pid_t pid, engine::StackStyle style) : names(pid, style), unwound(names.view) {}
        engine::OwnSymbols names;
        engine::Unwound unwound;
    };
    Process& process(pid_t pid);
    void forget(pid_t pid);
    const std::string& name_of(uint64_t stack);
    uint64_t sum(uint64_t (Samples::*what)() const) const;

    const engine::Script& script_;
    const bool follows_;
    std::vector<Source> sources_;
    std::set<pid_t> opened_;
    bool everybody_ = false;
    uint64_t samples_ = 0, cut_ = 0;
    using Calls = std::pair<pid_t, std::vector<uint64_t>>;
    std::map<Calls, uint64_t> numbers_; // of stacks, from 1 on
    struct Stack {
        Calls calls;
        std::optional<std::string> text; // once it was asked for
    };
    std::vector<Stack> stacks_; // by number
    std::map<pid_t, std::unique_ptr<Process>> processes_;
};

} // namespace fastsdt::trace_tool
