// SPDX-License-Identifier: BSD-2-Clause
// What stubs have to know about a process, read from /proc and from its C library's file.
#pragma once
#include "code/stubs.h"
#include "process/view.h"
#include "script/script.h"

#include <cstdint>

namespace fastsdt::engine {

/// @param script  only what it uses is looked for: measuring a clock takes a while
/// Throws Unusable when the process cannot be read, or when the script wants the time and there is no clock.
Environment read_environment(const Script& script, ProcessView& view);

/// Environment::thread_stack. Reads the files that the view has seen mapped.
int32_t find_thread_stack(ProcessView& view);

} // namespace fastsdt::engine
