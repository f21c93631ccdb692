// SPDX-License-Identifier: BSD-2-Clause
// Where a stopped thread executes, and where it will: it may be in a signal handler that interrupted other code.
#pragma once
#include "arming/target.h"
#include "base/descriptor.h"
#include "live/live.h"

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <sys/user.h>
#include <vector>

namespace fastsdt::engine {

class FrameSearch {
public:
    /// @param memory    /proc/PID/mem, of a process whose threads are all stopped
    FrameSearch(const Descriptor& memory, std::vector<Mapping> mappings);

    /// Calls `visit` with the program counter of each signal frame on the thread's stacks. Not found: a frame on a stack to which a
    /// handler has switched by itself, and one more than 8 MiB above the stack pointer.
    /// @return  false: there may be more of them
    bool each(const user_regs_struct& registers, const std::function<void(uint64_t counter)>& visit);
    /// Whether the thread executes code of such ranges, or will. True also where that cannot be known.
    bool comes_back(const user_regs_struct& registers, std::span<const Range> code);

private:
    bool is_frame(const std::byte* at);
    bool is_restorer(uint64_t address); ///< x86-64

    const Descriptor& memory_;
    const std::vector<Mapping> mappings_;
    std::map<uint64_t, bool> restorers_; // by address that a stack had
};

/// Whether a thread that is stopped waits for a child that runs in the same memory: of vfork() and posix_spawn().
bool waits_for_child(const user_regs_struct& registers, const Descriptor& memory);

} // namespace fastsdt::engine
