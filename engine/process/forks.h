// SPDX-License-Identifier: BSD-2-Clause
// Processes that were forked from a traced one. They have its jumps and stubs, and words of their own at the marks.
#pragma once
#include "arming/arena.h"

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <sys/types.h>
#include <vector>

namespace fastsdt::engine {

struct Fork {
    pid_t pid = 0;
    uint64_t slice = 0; ///< as its mark says: runtime address; 0: it has none yet
};

/// All processes of /proc.
struct Processes {
    struct Living {
        pid_t pid = 0;
        uint64_t start = 0; ///< clock ticks after boot
    };
    std::vector<Living> living;
    std::set<pid_t> ended; ///< those that nobody has waited for
};

/// Calls `look` with a list, and again with a new one as long as a process may have been missed whose parent ended meanwhile, a
/// daemon's: some have ended since the former list, or `look` says that some have since this one.
void look_at_all(const std::function<bool(const Processes&)>& look);
Processes list_processes();

class Forks {
public:
    /// Of a process, since now.
    explicit Forks(pid_t pid);

    struct Found {
        std::vector<Fork> forks;
        bool all = true;    ///< false: one of the tracer's user could not be looked at
        bool ended = false; ///< one of the list has ended since
    };
    /// Those of a list that began since the attach.
    std::vector<Target::Begun> begun_since(const Processes& processes) const;
    /// Those of a list that live and have executed no other program, wherever they are in the tree of processes. Tells a process its own
    /// number where its stub may not ask the kernel (Mark::pid), and forbids calls where a seccomp filter stands. Not those that share
    /// the traced process's memory, as a child of vfork does.
    /// @param filters  so many allow what stubs call
    Found find(std::span<const Front> fronts, const Processes& processes, uint64_t filters) const;

private:
    const pid_t pid_;
    const uint64_t since_; // clock ticks after boot
};

} // namespace fastsdt::engine
