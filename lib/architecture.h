// SPDX-License-Identifier: BSD-2-Clause
// What this library has to know of an architecture. arch_NAME.cpp says it, one file for each; arch.cpp lists them.
#pragma once
#include "args.h"
#include "kernel.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace fastsdt {

struct Scan;

struct Architecture {
    Arch arch;
    std::string_view name;
    /// Whether files of this e_machine and class are for it.
    bool (*is)(uint16_t e_machine, bool elf64);
    /// Bytes that a plain absolute relocation writes in a relocatable object, the only kind a note needs; 0: another
    /// kind. Numbers are those of the processor supplement, by their names in <elf.h>.
    size_t (*absolute_width)(uint16_t e_machine, uint32_t type);
    /// judge() for one kernel that is known to the last feature. nullptr: its kernel is not modelled.
    Judgement (*judge)(Features features, std::span<const std::byte> bytes, uint64_t vaddr) = nullptr;
    /// What libbpf makes of the argument at `scan`, as one call of its parse_usdt_arg(); on success `scan` stands
    /// after the argument. nullptr: libbpf reads no arguments here.
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

/// The one of this number; for Arch::unknown one that knows nothing but some relocations.
const Architecture& architecture(Arch arch);

} // namespace fastsdt
