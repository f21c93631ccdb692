// SPDX-License-Identifier: BSD-2-Clause
// What stubs have to know of a process, read from /proc and from its C library's file.
#pragma once
#include "script.h"
#include "stubs.h"

#include <string>
#include <sys/types.h>

namespace fastsdt::engine {

/// @param script  what it does not use is not looked for: a clock takes a while to measure
/// Throws Unusable when the process cannot be read, or when the script wants the time and there is no clock.
Environment read_environment(const Script& script, pid_t pid);

} // namespace fastsdt::engine
