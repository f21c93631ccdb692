// SPDX-License-Identifier: BSD-2-Clause
// What this library knows of an architecture: a file arch/NAME.cpp for each; architecture.cpp lists them.
#pragma once
#include "arch/args.h"
#include "kernel/kernel.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace fastsdt {

struct Scan;

struct Architecture {
    Arch arch;
    /// Whether files of this e_machine and class are for it.
    bool (*is)(uint16_t e_machine, bool elf64);
    /// Bytes that a plain absolute relocation writes in a relocatable object; 0: the type is another kind. A note needs
    /// no other kind. Types are those of the processor supplement, by their names in <elf.h>.
    size_t (*absolute_width)(uint16_t e_machine, uint32_t type);
    /// judge() for a kernel of which every feature is known. nullptr: kernels of this architecture are not modelled.
    Judgement (*judge)(Features features, std::span<const std::byte> bytes, uint64_t vaddr) = nullptr;
    /// Its kernel judges an instruction by the next one too.
    bool judges_next = false;
    /// What one call of libbpf's parse_usdt_arg() makes of the argument at `scan`; on success `scan` is after the
    /// argument. nullptr: libbpf reads no arguments here.
    Reading (*libbpf)(Scan& scan) = nullptr;
    /// The same for bcc, gdb and systemtap, which split the string first. nullptr: they read no arguments here.
    Reading (*others)(Tracer tracer, const Argument& argument) = nullptr;
    /// Which 64-bit word of struct pt_regs has the register of this name. nullptr: not known.
    std::optional<size_t> (*register_word)(std::string_view name) = nullptr;
};

/// Architecture::absolute_width where one type of relocation writes 8 bytes and one 4.
template <uint32_t eight, uint32_t four> size_t plain_absolute(uint16_t, uint32_t type)
{
    return type == eight ? 8 : type == four ? 4 : 0;
}

extern const Architecture arch_x86_64, arch_i386, arch_arm64, arch_arm, arch_riscv, arch_powerpc, arch_s390,
    arch_loongarch, arch_mips;

/// The description of `arch`. That of Arch::unknown has only some relocations.
const Architecture& architecture(Arch arch);

/// From an ELF header's e_machine and class (EM_X86_64 with ELFCLASS32 is x32: executed as x86_64).
Arch arch_of(uint16_t e_machine, bool elf64);

} // namespace fastsdt
