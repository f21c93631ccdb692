// SPDX-License-Identifier: BSD-2-Clause
// Follows a program and everything it starts, with uprobes on it, until it ends.
#pragma once
#include "attach.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace fastsdt {

/// What was seen at one target.
struct Counted {
    int error = 0;     ///< errno of the first attach that failed; 0: attached everywhere
    uint64_t hits = 0; ///< of all threads and processes, exact
    /// What stood at the target in the first process just before it ended or was let go; empty: it was never mapped there.
    std::vector<std::byte> live;
};

/// The program's processes and threads are traced (ptrace) only to hear of new ones and of their end. A launched program
/// dies with this process; one that was there before is let go unharmed.
class Follower {
public:
    /// @param live_size  bytes to read at each target at the end
    Follower(std::vector<Target> targets, size_t live_size) : targets_(std::move(targets)), live_size_(live_size) {}
    Follower(const Follower&) = delete;
    Follower& operator=(const Follower&) = delete;
    ~Follower();

    /// Starts a program. Throws Unusable if it cannot be started.
    void launch(const std::vector<std::string>& command);
    /// Takes a running process with all its threads. Throws Unusable if it cannot be traced.
    void seize(pid_t pid);

    /// Until the program has ended, or `stop` is set by a signal handler, or the time is over. `stop` and time only end
    /// the following of a seized process; to a launched one, the signal in `stop` is sent.
    void run(const std::atomic<int>& stop, std::chrono::milliseconds time = std::chrono::milliseconds::max());

    std::vector<Counted> counted() const { return counted_; }
    int wait_status() const { return wait_status_; }    ///< of the launched program, as from waitpid
    double cpu_seconds() const { return cpu_seconds_; } ///< of the launched program and all it waited for

private:
    void add_task(pid_t task);
    void take_hits(pid_t task);
    void end_task(pid_t task);
    void look(pid_t pid);
    void on_stop(pid_t task, int status);
    void let_go();

    std::vector<Target> targets_;
    size_t live_size_;
    std::vector<Counted> counted_;
    std::map<pid_t, std::vector<Attachment>> tasks_;
    pid_t first_ = -1;
    bool launched_ = false;
    int wait_status_ = 0;
    double cpu_seconds_ = 0;
};

} // namespace fastsdt
