// SPDX-License-Identifier: BSD-2-Clause
// What stubs have to know about a process, read from /proc and from its C library's file.
#pragma once
#include "code/stubs.h"
#include "script/script.h"

#include <string>
#include <sys/types.h>

namespace fastsdt::engine {

/// @param script  only what it uses is looked for: measuring a clock takes a while
/// Throws Unusable when the process cannot be read, or when the script wants the time and there is no clock.
Environment read_environment(const Script& script, pid_t pid);

/// Environment::thread_stack. Reads the process's files.
uint32_t find_thread_stack(pid_t pid);

} // namespace fastsdt::engine
