// SPDX-License-Identifier: BSD-2-Clause
// The kernel's return probe (uretprobe) puts the address of its own code in the place of the return address. Whoever reads the stack finds
// that one: Go's runtime when it copies a stack, unwinders when an exception passes, the processor when it compares with a shadow stack.
#pragma once
#include "elf/image.h"

#include <string>

namespace fastsdt {

/// The Go linker made it.
bool is_go_program(const Image& image);

/// The linker found GNU_PROPERTY_X86_FEATURE_1_SHSTK in all objects of the file.
bool marked_for_shadow_stack(const Image& image);

/// Why a return probe may end a program that runs this file's code, as a clause: "/usr/bin/x is a Go program". Empty: nothing tells of it, or the
/// file is no code. @param path  to open it by  @param name  of the file, for the clause
std::string why_no_return_probe(const std::string& path, const std::string& name);

} // namespace fastsdt
