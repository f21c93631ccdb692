// SPDX-License-Identifier: GPL-3.0-or-later
// The ways out of a function: returns and tail calls, and a site in front of each.
//
// What is put right in front of the return instruction is behind all that the epilogue does, and where the code goes
// back to GCC's own description of the stack is the one for that instruction:
//
//     pop    %rbx
//     nop                     the site: the stack is as at the entry, the result is in its register
//     ret
//
// A function's returns that stand at one place (cross-jumping) are one way out. Not seen, since GCC does not see them
// either: longjmp(), exceptions, exit(), and asm that leaves the function.
#pragma once
#include "compat.h"

namespace fastprobe {

/// The code is final. @param first  the instruction behind the landing pad
Ways_out look_at_exits(rtx_insn* first);

/// Puts a site and a record in front of every way out.
/// @param function_address  an expression for the assembler
/// @param section_label     a label in the section in which the function begins
/// @param next_label        a new local label
void make_exits(tree function, const Exits& exits, const std::string& function_address,
                const std::string& section_label, std::string (*next_label)());

/// Basic asm that stands where an instruction does.
rtx asm_text(const std::string& text);

} // namespace fastprobe
