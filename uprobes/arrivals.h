// SPDX-License-Identifier: BSD-2-Clause
// Which processes map executable files, fork or start threads, told by the kernel: also those that live too short to be found in /proc.
#pragma once
#include "base/descriptor.h"
#include "perf_ring.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace fastsdt {

class Arrivals {
public:
    /// From now on, of all processes. nullptr where the kernel does not tell: it wants CAP_PERFMON, or
    /// kernel.perf_event_paranoid at most 0.
    static std::unique_ptr<Arrivals> open();
    Arrivals(const Arrivals&) = delete;
    Arrivals& operator=(const Arrivals&) = delete;
    ~Arrivals();

    /// Readable when something was told.
    int descriptor() const { return readiness_.get(); }

    struct Event {
        uint64_t time = 0; ///< CLOCK_MONOTONIC, ns
        pid_t pid = 0;     ///< in this process's pid namespace
        pid_t parent = 0;  ///< that has forked `pid`, or `pid` itself: it has started a thread; 0: it has mapped a file
        uint64_t inode = 0;
        std::string file; ///< its path, as the process has it
    };
    /// What was told since the last call, in the order in which it happened. Never waits. What happens meanwhile is left for the next call:
    /// each processor has a ring of its own, and a fork could be read after what the child does.
    std::vector<Event> take();
    /// Whether something was not told since the last call, since nobody had called take() for too long.
    bool take_lost() { return std::exchange(lost_, false); }

private:
    Arrivals() = default;
    void read(PerfRing& ring, std::vector<Event>& to);

    Descriptor readiness_;
    std::vector<std::unique_ptr<PerfRing>> rings_;
    std::vector<Event> later_; // what was read too early
    bool lost_ = false;
};

} // namespace fastsdt
