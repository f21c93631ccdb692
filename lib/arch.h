// SPDX-License-Identifier: BSD-2-Clause
// The instruction set a probed process executes.
#pragma once
#include <cstdint>
#include <string_view>

namespace fastsdt {

enum class Arch { unknown, x86_64, i386, arm64, arm, riscv, powerpc, s390, loongarch, mips };

/// Name as printed and as written in JSON, e.g. "x86_64".
std::string_view name(Arch arch);
/// From an ELF header's e_machine and class (EM_X86_64 with ELFCLASS32 is x32: executed as x86_64).
Arch arch_of(uint16_t e_machine, bool elf64);

} // namespace fastsdt
