// SPDX-License-Identifier: BSD-2-Clause
#include "code/arm64/moved.h"

#include "base/integers.h"
#include "code/arm64/compiler.h"
#include "movable/instructions_arm64.h"

namespace fastsdt::engine::arm64 {
namespace {

using fastsdt::arm64::PcRelative;

// The register, or what is loaded into it, comes from an address: that of adr, or of a literal.
void load_literal(Assembler& as, uint32_t word, uint64_t from)
{
    const unsigned number = word & 31, size = word >> 30; // w, x, a signed w, a prefetch; s, d, q
    if (word >> 26 & 1) {
        // A vector register cannot hold the address. x16's value is on the stack meanwhile, as the stub's own values were.
        const auto address = vixl::MemOperand(vixl::x16);
        as.put([](auto& a) { a.str(vixl::x16, vixl::MemOperand(vixl::sp, -16, vixl::PreIndex)); });
        as.long_constant(x16, from);
        as.put([&](auto& a) {
            switch (size) {
            case 0: a.ldr(vixl::SRegister(number), address); return;
            case 1: a.ldr(vixl::DRegister(number), address); return;
            default: a.ldr(vixl::QRegister(number), address); return;
            }
        });
        as.put([](auto& a) { a.ldr(vixl::x16, vixl::MemOperand(vixl::sp, 16, vixl::PostIndex)); });
    } else if (size != 3) { // what is prefetched is a hint
        const Reg to = Reg(number);
        as.long_constant(to, from);
        as.load(to, {.base = to, .size = size == 1 ? 8 : 4}, size == 2);
    }
}

// A branch on the opposite condition to behind the next instruction, which leads where this one led.
uint32_t opposite_over_next(uint32_t word)
{
    const bool tests_bit = (word & 0x7e000000) == 0x36000000, of_flags = (word & 0xff000000) == 0x54000000;
    const uint32_t displacement = tests_bit ? 0x7ffe0 : 0xffffe0;
    return ((word & ~displacement) | 2 << 5) ^ (of_flags ? 1 : 1 << 24);
}

} // namespace

void move_instruction(Assembler& as, uint64_t from, uint32_t word)
{
    const PcRelative relative = fastsdt::arm64::pc_relative(word);
    const uint64_t to = fastsdt::arm64::refers_to(word, from);
    switch (relative) {
    case PcRelative::none: as.copy(word); break;
    case PcRelative::adr:
    case PcRelative::adrp:
        if ((word & 31) != 31) // xzr
            as.long_constant(Reg(word & 31), to);
        break;
    case PcRelative::literal: load_literal(as, word, to); break;
    case PcRelative::bl: as.long_constant(lr, from + 4); [[fallthrough]];
    case PcRelative::b: as.jump_to(to); break;
    case PcRelative::conditional:
        as.copy(opposite_over_next(word));
        as.jump_to(to);
        break;
    }
}

std::vector<uint64_t> reached_from(uint64_t from, std::span<const std::byte> code)
{
    const uint32_t word = fastsdt::arm64::word_of(code);
    switch (fastsdt::arm64::pc_relative(word)) {
    case PcRelative::b:
    case PcRelative::bl:
    case PcRelative::conditional: return {fastsdt::arm64::refers_to(word, from)};
    default: return {};
    }
}

void Compiler::move_code(uint64_t from, std::span<const std::byte> code)
{
    for (; !code.empty(); code = code.subspan(4), from += 4)
        move_instruction(as_, from, fastsdt::arm64::word_of(code));
}

} // namespace fastsdt::engine::arm64
