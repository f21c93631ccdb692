// SPDX-License-Identifier: BSD-2-Clause
#include "arch/architecture.h"

#include <elf.h>
#include <iterator>

namespace fastsdt {
namespace {

// For machines whose notes are read but whose code is not judged.
size_t absolute_width_elsewhere(uint16_t machine, uint32_t type)
{
    switch (machine) {
    case EM_S390: return type == R_390_32 ? 4 : 0; // of 31 bits
    case EM_SPARCV9: return type == R_SPARC_64 || type == R_SPARC_UA64 ? 8 : 0;
    case EM_SPARC: return type == R_SPARC_32 || type == R_SPARC_UA32 ? 4 : 0;
    case EM_IA_64: return type == R_IA64_DIR64LSB || type == R_IA64_DIR64MSB ? 8 : 0;
    default: return 0;
    }
}

constexpr Architecture unknown{
    .arch = Arch::unknown, .is = [](uint16_t, bool) { return true; }, .absolute_width = absolute_width_elsewhere};

constexpr const Architecture* architectures[] = {&arch_x86_64,  &arch_i386, &arch_arm64,     &arch_arm,  &arch_riscv,
                                                 &arch_powerpc, &arch_s390, &arch_loongarch, &arch_mips, &unknown};
static_assert(std::size(architectures) == static_cast<size_t>(last_arch) + 1);
static_assert(architectures[std::size(architectures) - 1] == &unknown, "it takes every machine");

} // namespace

const Architecture& architecture(Arch arch)
{
    for (const Architecture* one : architectures)
        if (one->arch == arch)
            return *one;
    return unknown;
}

Arch arch_of(uint16_t e_machine, bool elf64)
{
    for (const Architecture* one : architectures)
        if (one->is(e_machine, elf64))
            return one->arch;
    return Arch::unknown;
}

} // namespace fastsdt
