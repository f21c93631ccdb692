// SPDX-License-Identifier: BSD-2-Clause
// A traced process: one that we start and hold until its sites are armed, or one that runs already.
#pragma once
#include "arming/target.h"
#include "process.h"
#include "process/launch.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace fastsdt::trace_tool {

class Program {
public:
    /// Both throw Unusable.
    explicit Program(pid_t pid);
    Program(pid_t pid, std::unique_ptr<engine::Target> target); ///< of open_outside()
    Program(const std::vector<std::string>& command, const Signals& signals);
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    /// Kills a program that is held and has executed nothing yet, before ~Held() lets it go: a dry run must run nothing. One that runs goes on.
    ~Program();

    pid_t pid() const { return pid_; }
    engine::Target& target() { return held_ ? held_->target() : *target_; }
    bool ours() const { return launched_.has_value(); }
    void let_go();
    /// Instead of let_go(): lets the process run, but traces it until it executes another program, or until let_go().
    void await_next();
    bool awaits_next() const { return held_ && held_->awaits_next(); }
    int next_descriptor() const { return held_ ? held_->descriptor() : -1; }
    bool next(std::chrono::steady_clock::time_point deadline) { return held_->next(deadline); }
    /// A program that we started gets the first signal, and may end in its own way; only the second stops the tracing.
    bool stops(Signals::Signal signal);
    /// Ends a program of ours that still runs, as bpftrace does: the tracing was meant to end.
    void finish(int process);
    void reap();
    /// As a shell has it: 128 and more for a signal. Empty: it was not reaped, or is not ours.
    std::optional<int> status() const { return status_; }

private:
    std::string name_; // of the command
    pid_t pid_ = 0;
    std::optional<Launched> launched_;
    std::unique_ptr<engine::Held> held_;
    std::unique_ptr<engine::Target> target_;
    bool interrupted_ = false;
    std::optional<int> status_;
};

} // namespace fastsdt::trace_tool
