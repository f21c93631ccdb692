// SPDX-License-Identifier: GPL-3.0-or-later
// Where the prologue ends, in the line table, for functions whose first instruction is a layout.
//
// At -O0 parameters live only in their stack slots, which the prologue fills; so `break f` has to stop after the
// prologue. For GCC's code gdb looks for push %rbp; mov %rsp,%rbp at the function's
// very beginning, finds a nop, and takes that for the end of the prologue. From 13 on it believes a line table that
// says where the end is, as lldb does. GCC itself never says it: its .loc for the line behind the prologue becomes
//
//     .loc 1 4 11 prologue_end
//
// Optimized code has location lists, which say where a parameter is at any instruction, and gdb stops at the first.
#pragma once
#include "compat.h"

namespace fastprobe {

/// Call it once debug_hooks are chosen (PLUGIN_START_UNIT).
void watch_line_table();
/// Has the line table say where this function's prologue ends, if debuggers need that.
void mark_prologue_end(tree function);

} // namespace fastprobe
