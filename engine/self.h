// SPDX-License-Identifier: BSD-2-Clause
// This process as a target: no ptrace, no stop. Its threads run through the sites while those change.
#pragma once
#include "target.h"

#include <memory>

namespace fastsdt::engine {

class Self : public Target {
public:
    /// The tables are zeros again, and their memory is given back until something is recorded. No site may be armed.
    virtual void forget_data() = 0;
};

/// Throws Unusable with the reason where this process cannot be changed safely: it has a seccomp filter, which could kill it
/// for a system call; this kernel lacks what is needed. May be used from any thread; the changes are made one after the other.
std::unique_ptr<Self> open_self();

} // namespace fastsdt::engine
