// SPDX-License-Identifier: BSD-2-Clause
// Whether a stopped thread executes code of some ranges, or will: it may be in a signal handler that interrupted such code.
#pragma once
#include "arming/target.h"
#include "base/descriptor.h"
#include "live/live.h"

#include <cstdint>
#include <map>
#include <span>
#include <sys/user.h>
#include <vector>

namespace fastsdt::engine {

class FrameSearch {
public:
    /// @param memory    /proc/PID/mem, of a process whose threads are all stopped
    /// @param code      runtime addresses; has to outlive the search
    FrameSearch(const Descriptor& memory, std::vector<Mapping> mappings, std::span<const Range> code);

    /// True also where that cannot be known. Not found: a frame on a stack to which a handler has switched by itself, and
    /// one more than 8 MiB above the stack pointer.
    bool comes_back(const user_regs_struct& registers);

private:
    bool is_inside(uint64_t address) const;
    bool is_frame(const std::byte* at);
    bool is_restorer(uint64_t address); ///< x86-64

    const Descriptor& memory_;
    const std::vector<Mapping> mappings_;
    const std::span<const Range> code_;
    std::map<uint64_t, bool> restorers_; // by address that a stack had
};

} // namespace fastsdt::engine
