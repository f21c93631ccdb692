// SPDX-License-Identifier: GPL-3.0-or-later
// The ways out of a function: returns and tail calls, and a site in front of each.
//
// A site right in front of the return instruction comes after everything that the epilogue does. GCC's description of
// the stack for the return instruction holds for the site too:
//
//     pop    %rbx
//     nop                     the site: the stack is as at the entry, the result is in its register
//     ret
//
// Returns that GCC has merged at one place (cross-jumping) are one way out. Not seen, because GCC does not see them
// either: longjmp(), exceptions, exit(), and asm that leaves the function.
#pragma once
#include "compat.h"

namespace fastprobe {

/// The code is final. @param first  the instruction behind the landing pad
WaysOut look_at_exits(rtx_insn* first);

/// Puts a site and a record in front of every way out.
/// @param function_address  an expression for the assembler
/// @param section_label     a label in the section in which the function begins
/// @param next_label        a new local label
void make_exits(tree function, const Exits& exits, const std::string& function_address,
                const std::string& section_label, std::string (*next_label)());

/// Basic asm that stands where an instruction does.
rtx gen_asm(const std::string& text);

} // namespace fastprobe
