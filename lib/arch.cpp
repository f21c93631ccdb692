// SPDX-License-Identifier: BSD-2-Clause
#include "arch.h"

#include <elf.h>

#ifndef EM_LOONGARCH
#define EM_LOONGARCH 258 // glibc before 2.37 lacks it
#endif

namespace fastsdt {

std::string_view name(Arch arch)
{
    switch (arch) {
    case Arch::x86_64: return "x86_64";
    case Arch::i386: return "i386";
    case Arch::arm64: return "arm64";
    case Arch::arm: return "arm";
    case Arch::riscv: return "riscv";
    case Arch::powerpc: return "powerpc";
    case Arch::s390: return "s390";
    case Arch::loongarch: return "loongarch";
    case Arch::mips: return "mips";
    case Arch::unknown: break;
    }
    return "unknown";
}

Arch arch_of(uint16_t e_machine, bool elf64)
{
    switch (e_machine) {
    case EM_X86_64: return Arch::x86_64;
    case EM_386: return Arch::i386;
    case EM_AARCH64: return Arch::arm64;
    case EM_ARM: return Arch::arm;
    case EM_RISCV: return Arch::riscv;
    case EM_PPC64: return Arch::powerpc;
    case EM_PPC: return Arch::powerpc;
    case EM_S390: return elf64 ? Arch::s390 : Arch::unknown;
    case EM_LOONGARCH: return Arch::loongarch;
    case EM_MIPS: return Arch::mips;
    default: return Arch::unknown;
    }
}

} // namespace fastsdt
