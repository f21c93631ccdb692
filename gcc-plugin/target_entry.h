// SPDX-License-Identifier: GPL-3.0-or-later
// What a target has to say about function entries and results. Each target implements this in one file.
#pragma once
#include "compat.h"

namespace fastprobe::target {

extern const Arch arch;

/// Why nothing can be done with the code generation options of this compilation ("-m32"), or null. Valid once options
/// are processed.
const char* unsupported();

/// Why the entry of this function must not be changed, or null: target-specific attributes and options.
const char* skip_reason(tree function);

/// Why the exits of the function that is being compiled cannot have sites, or null.
const char* exit_obstacle();

/// A landing pad for indirect branches: it has to stay first.
bool is_landing_pad(rtx_insn* insn);

/// Assembler text that has to precede a nop which is put at the function's address in front of `first`, or null. It
/// is a landing pad.
const char* landing_pad_before(rtx_insn* first);

/// What kernels make of `insn` as a function's first instruction. In doubt, First::other: it costs a nop.
First classify(rtx_insn* insn);

/// How a record names a hard register that a function returns its value, or a part of it, in: one_register, pair,
/// vector or other.
Result::Where result_in(const_rtx reg);

/// For people: "push %rbp". Null: use GCC's name of the pattern.
const char* describe(First first);

} // namespace fastprobe::target
