// SPDX-License-Identifier: BSD-2-Clause
// This process as a target: no ptrace, no stop. Its threads run through the sites while those change.
#pragma once
#include "arming/target.h"
#include "maps/read.h"

#include <memory>

namespace fastsdt::engine {

class Self : public Target {
public:
    /// Zeros what tables hold (contents() of maps/read.h) and gives its memory back until something is recorded again. No site
    /// may be armed. A thread may still be in a stub.
    virtual void forget_data(std::span<const Piece> contents) = 0;
};

/// Throws Unusable with the reason if this process cannot be changed safely: a seccomp filter could kill it for a
/// system call, or the kernel lacks what is needed. May be used from any thread; changes are made one after the other.
std::unique_ptr<Self> open_self();

} // namespace fastsdt::engine
