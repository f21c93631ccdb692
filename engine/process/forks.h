// SPDX-License-Identifier: BSD-2-Clause
// Processes that were forked from a traced one. They have its jumps and stubs, and words of their own at the marks.
#pragma once
#include "arming/arena.h"

#include <cstdint>
#include <set>
#include <span>
#include <sys/types.h>
#include <vector>

namespace fastsdt::engine {

struct Fork {
    pid_t pid = 0;
    uint64_t slice = 0; ///< as its mark says: runtime address; 0: it has none yet
};

class Forks {
public:
    /// Of a process, since now.
    explicit Forks(pid_t pid);

    struct Found {
        std::vector<Fork> forks;
        std::set<pid_t> ended; ///< of all processes: those that were listed, and had ended when they were looked at
        bool all = true;       ///< false: one of the tracer's user could not be looked at
    };
    /// Those that live and have executed no other program, wherever they are in the tree of processes. Tells a process its own
    /// number where its stub may not ask the kernel (Mark::pid), and forbids calls where a seccomp filter stands. Not those that share
    /// the traced process's memory, as a child of vfork does.
    Found find(std::span<const Front> fronts) const;
    /// The same, so that none is missed whose parent ended meanwhile: a daemon's.
    Found find_all(std::span<const Front> fronts) const;

private:
    const pid_t pid_;
    const uint64_t since_; // clock ticks after boot
};

} // namespace fastsdt::engine
