// SPDX-License-Identifier: BSD-2-Clause
// This process as a target: no ptrace, no stop. Its threads run through the sites while those change.
#pragma once
#include "arming/target.h"

#include <memory>

namespace fastsdt::engine {

/// Throws Unusable with the reason if this process cannot be changed safely: a seccomp filter could kill it for a
/// system call, or the kernel lacks what is needed. May be used from any thread; changes are made one after the other.
std::unique_ptr<Target> open_self();

} // namespace fastsdt::engine
