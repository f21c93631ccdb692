// SPDX-License-Identifier: BSD-2-Clause
// The processes of one script: found, attached to, looked at while they run, read together, and put back. Who uses it waits and prints.
#pragma once
#include "attached.h"
#include "finder.h"
#include "maps/given.h"
#include "options.h"
#include "output.h"
#include "process/launch.h"
#include "process/ptrace.h"
#include "program.h"
#include "session.h"
#include "proc/processes.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace fastsdt::trace_tool {

inline constexpr auto verify_period = std::chrono::seconds(1); ///< for sites that have lost their jump

class Processes {
public:
    using Clock = std::chrono::steady_clock;

    /// @param shared  has to outlive it
    explicit Processes(Shared& shared);
    Processes(const Processes&) = delete;
    Processes& operator=(const Processes&) = delete;

    /// Asked after each process that was found and attached to, since others may wait meanwhile: whether to stop looking.
    std::function<bool()> interrupted = [] { return false; };
    /// Those that were refused are tried again after this time, whatever the reason. Empty: only those that another tracer has.
    std::optional<Clock::duration> retry;

    /// A process that is traced from the start on.
    void add(std::unique_ptr<Program> program, std::unique_ptr<engine::Session> session);
    /// Those that the options name.
    void add_named();
    /// Those that the options select, and descendants of those that are followed, as far as they run now.
    void add_others();
    /// Arms those that were added. Throws Unusable where the options mean one process, or only named ones, and it cannot be traced.
    void take_up();

    /// Adds two, and three for each process, readable where react() has something to do.
    void descriptors(std::vector<int>& to) const;
    /// @param ready  for each of the descriptors, from `first` on
    void react(const std::vector<bool>& ready, size_t first);
    /// Looks at what has become of them, and for new ones. To be done often.
    void look();
    /// Looks at all sites: Attached::verify().
    void verify(bool sleepers = true);
    /// When look() is due.
    Clock::time_point next_look() const { return news_ ? std::min(soonest_look_, next_look_) : next_look_; }

    /// Nothing more will be counted. Where others may be found, it goes on.
    bool all_over() const;
    bool finds() const { return finds_; }
    bool empty() const { return attached_.empty(); }
    Attached& first() { return *attached_.at(0); }

    /// The maps of all, and of those that are over.
    engine::Maps read();
    void clear(size_t map, bool as_read);
    /// delete(@map[keys])
    void remove(size_t map, const engine::Given::Keys& keys);
    /// Of a map of integers without keys that sites read or assign.
    void assign(size_t map, int64_t value);
    /// What the tool has put into maps: read() has it too.
    engine::Given& given() { return given_; }
    /// Events of all that came since the last time, by their clock. `last`: after end()
    std::vector<engine::Event> take_events(bool last);
    /// --flight: somebody wants the events now. Asked for by dump() and exit() at sites, by the end of a process, and by ask_for_events().
    bool is_asked_for_events();
    void ask_for_events() { asked_for_events_ = true; }
    /// Of all so far; what was dropped and its like as of the last read().
    Summary summary() const;
    /// Of those that live: sites, and those that are armed.
    Summary present() const;
    /// How many live and are traced.
    size_t living() const;
    /// Probes that nothing has matched, in no process.
    std::vector<const engine::Probe*> unmatched() const;
    /// Whether the exits of the function are armed in all processes, or it never returns. @param entry  its site
    bool tells_ends(const engine::Site& entry);
    /// Why system calls are not made, of some process.
    std::string no_system_calls() const;
    /// Debug files for stacks that were found and are not used, each one line.
    std::set<std::string> refused_names() const;

    /// Puts the sites back, in forked children too.
    void end();
    /// After end() and the report: Attached::finish() of each.
    void finish();
    /// Nothing went wrong that a summary does not show.
    bool whole() const;

private:
    void find(bool first);
    enum class When { at_first, late, at_its_start };
    void attach(pid_t pid, When when);
    void let_executing(Attached& process);
    void take_executed();
    bool is_executing(pid_t pid) const;
    bool is_known(pid_t pid) const;
    bool may_match(pid_t pid) const;
    bool is_over(pid_t pid) const;
    bool has_more(engine::Target& memory, pid_t parent) const;
    bool is_recorded(engine::Target& memory, const std::vector<Mapping>& mappings) const;
    void take_up_from(size_t first);
    void take_up_now(bool late, std::optional<Clock::time_point> told);
    void hear();
    void count_missed(bool at_end);
    Clock::time_point missing_since(const Stat& stat) const;
    void refuse(pid_t pid, const std::exception& error);
    void try_refused_again(Clock::time_point now);
    void clear_forks(const std::vector<engine::Session*>& sessions);
    void forget_those_over(size_t first);
    void keep_of(Attached& process);

    const engine::TracerThread tracer_; // first: it is to outlive the sessions
    Shared& shared_;
    const Options& options_;
    const engine::Script& script_;
    std::vector<std::unique_ptr<Attached>> attached_;
    const bool finds_;
    Finder finder_;
    const Descriptor executed_event_;                           // readable where take_executed() has something to do
    std::vector<std::unique_ptr<engine::Executing>> executing_; // descendants of a COMMAND

    Clock::time_point last_look_ = Clock::now();
    Clock::time_point next_look_ = Clock::now(), soonest_look_ = next_look_;
    bool news_ = false;                 // a process has come
    Clock::duration attaching_{};       // of the last look, the part for new processes
    std::vector<engine::Event> events_; // that others may come before
    bool asked_for_events_ = false;
    engine::Maps seen_; // by the last read(): its counters, no maps
    engine::Given given_;
    std::map<size_t, int64_t> assigned_; // by map: what assign() was given last
    struct Refused {
        Clock::time_point missing_since, tried;
        bool busy = false; ///< it may not be for long
    };
    std::map<std::pair<pid_t, uint64_t>, Refused> refused_; // by process and its start
    /// What is left of processes that are over.
    struct {
        engine::Maps maps;
        Summary summary;
        std::set<const engine::Probe*> matched;
        std::string no_system_calls;
        std::set<std::string> refused_names;
        bool not_whole = false;
    } gone_;
    std::map<std::pair<std::string, std::string>, bool> ends_; // tells_ends(), by file and name
    size_t sites_with_ends_ = SIZE_MAX;
};

} // namespace fastsdt::trace_tool
