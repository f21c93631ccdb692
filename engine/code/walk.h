// SPDX-License-Identifier: BSD-2-Clause
// Where stubs have what they know of a walk over the stack: code/stacks.cpp makes it, and code/unwinding.cpp goes from one call to the next.
#pragma once
#include "code/instructions.h"

namespace fastsdt::engine::walk {

inline constexpr Role at = Role::entry, lowest = Role::second, left = Role::seen, most = Role::recorded;

} // namespace fastsdt::engine::walk
