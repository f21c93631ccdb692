// SPDX-License-Identifier: BSD-2-Clause
// One process of a run: its sites are armed, looked at while it runs, and put back.
#pragma once
#include "bpf/files.h"
#include "options.h"
#include "output.h"
#include "profile.h"
#include "process/clock.h"
#include "process/follow.h"
#include "program.h"
#include "session.h"
#include "proc/threads.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fastsdt::trace_tool {

/// What the processes of a run share.
struct Shared {
    const Options& options;
    const engine::Script& script;
    uint64_t start_ns = engine::boot_time(); ///< of the run
    bool kernel_may = false;                 ///< the kernel's engine was not asked for, and could be
    engine::ProbeNames names = {};
    std::set<std::string> refusals = {}; ///< and other sentences that were said
    bool said_what_is_missing = false;
    engine::RecordSink* sink = nullptr;               ///< of record
    std::unique_ptr<engine::bpf::Kernel> kernel = {}; ///< engine::Session::Options, as the next one
    bool all_in_kernel = false;
    std::unique_ptr<Profile> profile = {}; ///< where the script has profile probes
    /// No process is named: the kernel counts the hits of all that have the probes' files.
    bool everyone() const { return !options.has_target() && engine::has_sites(script); }
    /// Of whoever executes or loads them: a COMMAND's descendants, or everyone.
    std::optional<engine::bpf::FilesAttached> files = {};
    bool covers_files() const { return files && files->all(); }

    engine::Session::Options session_options();
    void say_once(const std::string& sentence);
    static constexpr const char* shortened =
        "a file became shorter while it was read: some of its sites may be missing";
    /// What is refused after the start is said once, and tried again by the next look: counts that were made so far are not given up
    /// for it. @return  whether it was done
    bool attempt(
        const std::function<void()>& work, std::string_view next = "; it is tried again",
        const std::function<bool()>& is_expected = [] { return false; });
    /// Says which probes have no match, and names the bpftrace command if only the kernel may trace something.
    /// @param matcher  of a process, for what there is instead  @param summary  so far
    void say_what_is_missing(const std::vector<const engine::Probe*>& probes, const engine::Matcher& matcher,
                             const Summary& summary, const char* matches, const char* so_far);
};

class Attached {
public:
    using Clock = std::chrono::steady_clock;

    /// `session` is of the program's process and not armed yet. Throws Unusable.
    Attached(Shared& shared, std::unique_ptr<Program> program, std::unique_ptr<engine::Session> session);

    /// Arms the sites and lets the process go. A program of ours in which nothing matches may only execute another one,
    /// as a script, env and nice do: it stays traced until then. Throws Unusable.
    /// @param says  what nothing in it matches
    void take_up(bool says = true);

    /// Readable where the next three have something to do, in this order; -1: never.
    std::array<int, 3> descriptors() const;
    void process_ended();
    void next_held(); ///< it has executed another program
    /// It waits, with modules whose constructors it has not called. @param passes  it is not looked at: it executes another program
    void loaded(bool passes);
    /// It executes another program, which is for another Attached.
    void left() { has_executed(), take_executed(); }
    /// Whether it is traced until its first thread executes another program.
    bool awaits_next() const { return program_->awaits_next(); }
    void await_no_more() { program_->let_go(); }

    /// Whether it, or what it has forked, has executed another program without waiting for us: that is a loss.
    void look_for_unanswered();
    /// It may have mapped a file, forked or started a thread since the last look.
    void has_changed() { changed_ = true; }
    /// Looks at what has become of it. To be done often: where it has not changed, it is looked at from time to time.
    void look();
    /// Looks at the sites; if the process ends meanwhile, the former states stay. A site that has lost its jump is armed
    /// again: its module was unmapped and mapped at the same place, or a kernel's probe has come and gone.
    /// @param sleepers  also if it has executed nothing since the last time, so that nothing can have been missed
    void verify(bool sleepers = true);

    /// Nothing more will be counted: the process and its followed children have ended, or it is not followed to another program.
    bool over() const { return over_; }
    /// Its process is a traced one: it has not ended, and executes no other program, which would be for another Attached.
    bool has_process() const { return !over_ && !only_forks_ && !executed_; }
    /// Whether it has executed another program since take_executed().
    bool has_fresh_program() const { return fresh_program_; }
    bool take_executed() { return std::exchange(fresh_program_, false); }
    /// Puts the sites back, but not in forked children. Nothing of it throws.
    void end();
    /// After the report: ends a program of ours that still runs, and says how it ended.
    void finish();

    pid_t pid() const { return program_->pid(); }
    std::optional<int> exit_status() const { return program_->status(); } ///< of a COMMAND that was waited for
    bool stops(Signals::Signal signal) { return program_->stops(signal) || only_forks_ || over_; }
    engine::Session& session() { return *session_; }
    const engine::Session& session() const { return *session_; }
    /// Of the session's sites, as they were last seen before they were put back.
    const std::vector<engine::SiteState>& states() const { return states_; }
    /// Adds its sites, those that are armed and those that were late.
    void count(Summary& summary) const;
    /// Nothing went wrong that a summary does not show.
    bool whole() const { return !stays_armed_ && !behind_ && !missed_ && !untraced_ && !given_up_ && !said_gone_; }

private:
    bool attempt(const std::function<void()>& work, std::string_view next = "; it is tried again");
    void keep(const std::vector<engine::SiteState>& seen, bool may_be_late = false);
    void say_troubles();
    void match_and_arm(bool waits = false);
    void take_up_next();
    void news(bool waits = false, bool told = false);
    void disarm();
    void look_for_forks(bool now);
    bool is_outlived();
    bool has_ended();
    bool has_memory();
    bool holds_next(Clock::time_point deadline);
    void has_executed();
    void say_libraries_missed();
    void say_what_is_missing(const char* matches, const char* so_far);

    Shared& shared_;
    const std::unique_ptr<Program> program_;
    std::unique_ptr<engine::Session> session_;
    std::optional<engine::Follow> follow_;
    const Descriptor process_;
    std::vector<engine::SiteState> states_; // when they were last seen
    std::vector<char> waited_, late_;       // by site: see keep()
    Clock::time_point start_, covered_since_, looked_;
    bool changed_ = true;      // since news() was heard
    unsigned quiet_looks_ = 0; // since then
    struct Sleep { // what it had used of processors at the last look, and how often it had used no more since
        uint64_t used_ns = 0;
        unsigned times = 0;
    };
    bool sleeps(Sleep& sleep) const;
    Sleep slept_at_news_, slept_at_sites_;
    bool over_ = false;
    bool ended_ = false, executed_ = false, fresh_program_ = false;
    bool only_forks_ = false;  // the process has ended, and followed children live on
    bool missed_ = false;      // libraries or programs ran before they were armed
    bool caught_up_ = true;    // what came since the last match is looked for
    bool behind_ = false;      // arming was refused: modules that came may not be armed
    bool stays_armed_ = false; // a site could not be put back
    bool untraced_ = false;    // it executed another program, and nobody looks at that
    bool given_up_ = false;    // a followed child has fewer sites, since it handles faults
    bool said_gone_ = false;   // jumps were not there any more
};

} // namespace fastsdt::trace_tool
