// SPDX-License-Identifier: BSD-2-Clause
// x86-64 instructions.
#pragma once
#include "movable/instructions.h"

#include <Zydis/Zydis.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace fastsdt::x86 {

/// An instruction without its operands: a quarter of the time.
struct Instruction : ZydisDecodedInstruction {
    bool is(ZydisMnemonic which) const { return mnemonic == which; }
    /// A jump's, call's or xbegin's target.
    bool direct() const { return raw.imm[0].size != 0 && raw.imm[0].is_relative; }
    uint64_t target(uint64_t address) const { return address + length + uint64_t(raw.imm[0].value.s); }
    bool has_memory() const { return attributes & ZYDIS_ATTRIB_HAS_MODRM && raw.modrm.mod != 3; }
    bool rip_relative() const { return has_memory() && raw.modrm.mod == 0 && raw.modrm.rm == 5; }
    uint64_t refers_to(uint64_t address) const { return address + length + uint64_t(raw.disp.value); }
    bool calls() const { return meta.category == ZYDIS_CATEGORY_CALL; }
    bool returns() const { return meta.category == ZYDIS_CATEGORY_RET; }
    bool jumps() const { return meta.category == ZYDIS_CATEGORY_UNCOND_BR; }
    bool branches() const { return meta.category == ZYDIS_CATEGORY_COND_BR; }
    /// What is behind it is not what runs after it, or not always.
    bool ends_block() const { return calls() || returns() || jumps() || branches(); }
    bool is_nop() const { return meta.category == ZYDIS_CATEGORY_NOP || meta.category == ZYDIS_CATEGORY_WIDENOP; }
};

bool decode(std::span<const std::byte> code, Instruction& instruction);

/// The same with operands: for instructions that are looked at closely.
struct Operands : Instruction {
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    /// Writes the register, or a part of it.
    bool writes(ZydisRegister whole) const;
};
bool decode(std::span<const std::byte> code, Operands& instruction);

/// The 64 bits that the register is a part of.
ZydisRegister whole(ZydisRegister part);

bool decode(std::span<const std::byte> code, uint64_t address, fastsdt::Instruction& instruction);
Motion motion_of(const Image& image, std::span<const std::byte> code, uint64_t address);

} // namespace fastsdt::x86
