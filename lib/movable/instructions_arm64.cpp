// SPDX-License-Identifier: BSD-2-Clause
//
// A list of what is allowed: an instruction that it does not have stays where it is.
#include "movable/instructions_arm64.h"

#include "base/integers.h"
#include "elf/exits.h"

#include <algorithm>

namespace fastsdt::arm64 {
namespace {

struct Pattern {
    uint32_t mask, value;
    constexpr bool matches(uint32_t word) const { return (word & mask) == value; }
};

template <size_t n> constexpr bool any(const Pattern (&patterns)[n], uint32_t word)
{
    return std::any_of(patterns, patterns + n, [&](const Pattern& p) { return p.matches(word); });
}

constexpr Pattern nop{0xffffffff, 0xd503201f};
constexpr Pattern hint{0xfffff01f, 0xd503201f};
constexpr Pattern bl{0xfc000000, 0x94000000}, b{0xfc000000, 0x14000000};
constexpr Pattern adr{0x9f000000, 0x10000000}, adrp{0x9f000000, 0x90000000};
constexpr Pattern literal{0x3b000000, 0x18000000}, literal_prefetch{0xff000000, 0xd8000000};
constexpr Pattern no_literal{0xff000000, 0xdc000000}; // unallocated
constexpr Pattern svc{0xffe0001f, 0xd4000001}, brk{0xffe0001f, 0xd4200000};
constexpr Pattern indirect_calls[] = {{0xfffffc1f, 0xd63f0000}, {0xfefff800, 0xd63f0800}}; // blr; blraa and its kin
constexpr Pattern always{0xff00000e, 0x5400000e};                                          // b.al and b.nv
constexpr Pattern tail_jump{0xfffffc1f, 0xd61f0000};                                       // br
constexpr Pattern to_lr[] = {{0xffffffff, 0xd65f03c0}, {0xfffffbff, 0xd65f0bff}};          // ret; retaa, retab

// These have no operand in memory.
constexpr Pattern computing[] = {
    {0x1f800000, 0x11000000}, // add, sub with a constant
    {0x1f800000, 0x12000000}, // and, orr, eor with a constant
    {0x1f800000, 0x12800000}, // movn, movz, movk
    {0x1f800000, 0x13000000}, // bfm and its kin
    {0x7f800000, 0x13800000}, // extr
    {0x1e000000, 0x0a000000}, // with a shifted or extended register
    {0x1fe00000, 0x1a000000}, // adc, sbc, rmif, setf
    {0x1fe00000, 0x1a400000}, // ccmp, ccmn
    {0x1fe00000, 0x1a800000}, // csel and its kin
    {0x1f000000, 0x1b000000}, // madd and its kin
    {0x5fe00000, 0x1ac00000}, // of two: udiv, lslv
    {0x5fff0000, 0x5ac00000}, // of one: rbit, clz
    {0x0e000000, 0x0e000000}, // vectors and floating point
    {0xffffffff, 0xd50330ff}, // sb
};
// Of one: signs and strips pointers. Those with higher numbers take the pc.
constexpr Pattern of_pointers{0xffff0000, 0xdac10000};
constexpr uint32_t last_of_pointers = 0x11;

// Hints by number: nop, yield, sev, sevl, dgh, xpaclri, pacia1716 and its kin, csdb, clrbhb, paciaz to autibsp. Landing pads are not among
// them, nor what waits.
constexpr uint64_t hints = 1 << 0 | 1 << 1 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 8 | 1 << 10 | 1 << 12 | 1 << 14
    | 1 << 20 | 1 << 22 | uint64_t{0xff} << 24;

constexpr Pattern barriers[] = {
    {0xfffff0ff, 0xd503309f}, // dsb
    {0xfffff0ff, 0xd50330bf}, // dmb
    {0xfffff0ff, 0xd50330df}, // isb
};
constexpr Pattern mrs{0xfff00000, 0xd5300000}, msr{0xfff00000, 0xd5100000};
// Bits 5 to 19: nzcv, fpcr, fpsr. They are written too.
constexpr uint32_t flag_registers[] = {0x5a10, 0x5a20, 0x5a21};
constexpr uint32_t read_registers[] = {
    0x5e82, 0x5e83, // tpidr_el0, tpidrro_el0
    0x5f00, 0x5f02, // cntfrq_el0, cntvct_el0
    0x5801, 0x5807, // ctr_el0, dczid_el0
};

constexpr Pattern pairs{0x3a000000, 0x28000000};
constexpr Pattern plain{0x3b000000, 0x39000000}; // base and a constant
// base and a small constant: unscaled, before, after, unprivileged
constexpr Pattern near{0x3b200000, 0x38000000};
constexpr Pattern accesses[] = {
    {0x3b200c00, 0x38200800},                           // base and a register
    {0x3f200c00, 0x38200000},                           // ldadd and its kin, swp, ldapr
    {0x3fa00000, 0x08800000},                           // ldar, stlr, ldlar, stllr
    {0x3fa07c00, 0x08a07c00},                           // cas
    {0x3f200c00, 0x19000000},                           // ldapur, stlur
    {0xbfbf0000, 0x0c000000},                           // ld1 to ld4, st1 to st4
    {0xbfa00000, 0x0c800000}, {0xbf9f0000, 0x0d000000}, // of one element
    {0xbf800000, 0x0d800000},
};

uint32_t number_of_hint(uint32_t word)
{
    return word >> 5 & 0x7f;
}

// bti, paciasp, pacibsp
bool lands(uint32_t word)
{
    const uint32_t number = number_of_hint(word);
    return hint.matches(word) && (number == 25 || number == 27 || (number >= 32 && number <= 38 && number % 2 == 0));
}

bool moves_of_system(uint32_t word)
{
    const uint32_t name = word >> 5 & 0x7fff;
    if (hint.matches(word))
        return number_of_hint(word) < 64 && (hints >> number_of_hint(word) & 1) != 0;
    if (mrs.matches(word))
        return std::ranges::count(flag_registers, name) || std::ranges::count(read_registers, name);
    return (msr.matches(word) && std::ranges::count(flag_registers, name)) || any(barriers, word);
}

Moves moves_of(uint32_t word)
{
    switch (pc_relative(word)) {
    case PcRelative::adr:
    case PcRelative::adrp: return Moves::anywhere;
    case PcRelative::literal: // not to xzr, which cannot hold the address
        return (word & 31) == 31 && !(word >> 26 & 1) && !literal_prefetch.matches(word) ? Moves::never
                                                                                         : Moves::anywhere;
    case PcRelative::b: return Moves::as_leaving;
    case PcRelative::bl: return Moves::as_call;
    case PcRelative::conditional: return always.matches(word) ? Moves::never : Moves::anywhere;
    case PcRelative::none: break;
    }
    if (any(to_lr, word))
        return Moves::as_leaving;
    if (tail_jump.matches(word))
        return Moves::as_exit;
    const bool pointers = of_pointers.matches(word) && (word >> 10 & 0x3f) <= last_of_pointers;
    return any(computing, word) || pointers || moves_of_system(word) || pairs.matches(word) || plain.matches(word)
            || near.matches(word) || any(accesses, word)
        ? Moves::anywhere
        : Moves::never;
}

bool has_memory(uint32_t word)
{
    return pairs.matches(word) || plain.matches(word) || near.matches(word) || any(accesses, word);
}

// prfm and prfum: they never fault.
bool prefetches(uint32_t word)
{
    return (word & 0xffc00000) == 0xf9800000 || (word & 0xffe00c00) == 0xf8800000 || (word & 0xffe00c00) == 0xf8a00800;
}

int64_t signed_field(uint32_t word, unsigned shift, unsigned bits)
{
    const uint64_t field = word >> shift & ((uint64_t{1} << bits) - 1), sign = uint64_t{1} << (bits - 1);
    return int64_t((field ^ sign) - sign);
}

} // namespace

uint32_t word_of(std::span<const std::byte> code)
{
    return code.size() < 4 ? 0 : uint32_t(load(code.data(), 4, false));
}

PcRelative pc_relative(uint32_t word)
{
    if (adr.matches(word))
        return PcRelative::adr;
    if (adrp.matches(word))
        return PcRelative::adrp;
    if (literal.matches(word) && !no_literal.matches(word))
        return PcRelative::literal;
    if (b.matches(word))
        return PcRelative::b;
    if (bl.matches(word))
        return PcRelative::bl;
    std::byte code[4];
    store(code, 4, word, false);
    return step(Arch::arm64, code, 0)->flow == Flow::away ? PcRelative::conditional : PcRelative::none;
}

uint64_t refers_to(uint32_t word, uint64_t address)
{
    constexpr uint64_t page = 4096;
    const auto immediate = uint64_t(signed_field(word, 5, 19));
    switch (pc_relative(word)) {
    case PcRelative::adr: return address + 4 * immediate + (word >> 29 & 3);
    case PcRelative::adrp: return address / page * page + page * (4 * immediate + (word >> 29 & 3));
    case PcRelative::literal: return address + 4 * immediate;
    case PcRelative::bl: return address + uint64_t(4 * signed_field(word, 0, 26));
    case PcRelative::b:
    case PcRelative::conditional: {
        std::byte code[4];
        store(code, 4, word, false);
        return step(Arch::arm64, code, address)->target;
    }
    case PcRelative::none: break;
    }
    return 0;
}

bool Pages::decode(std::span<const std::byte> code, uint64_t address, Instruction& instruction)
{
    const uint32_t word = word_of(code);
    constexpr Pattern nobodys[] = {{0x9e000000, 0x00000000}, {0x1e000000, 0x02000000}, {0x1e000000, 0x06000000}}; // udf
    if (code.size() < 4 || address % 4 != 0 || any(nobodys, word))
        return false;
    instruction = {};
    instruction.length = 4;
    instruction.nop = instruction.padding = nop.matches(word);
    instruction.landing = lands(word);
    instruction.system_call = svc.matches(word);
    instruction.stops = brk.matches(word);
    const PcRelative relative = pc_relative(word);
    const uint64_t to = refers_to(word, address);
    const unsigned first = word & 31, second = word >> 5 & 31;
    const Flow flow = step(Arch::arm64, code, address)->flow;
    const auto refer = [&](Instruction::Reference how, uint64_t where) {
        instruction.reference = how;
        instruction.refers_to = where;
    };
    switch (relative) {
    case PcRelative::b: instruction.flow = Instruction::jump; break;
    case PcRelative::conditional:
        instruction.flow = always.matches(word) ? Instruction::jump : Instruction::branch;
        break;
    case PcRelative::bl: instruction.flow = Instruction::call; break;
    case PcRelative::adr: refer(Instruction::address, to); break;
    case PcRelative::literal: refer(Instruction::data, to); break;
    case PcRelative::adrp:
    case PcRelative::none:
        if (any(to_lr, word))
            instruction.flow = Instruction::ret;
        else if (flow == Flow::returns || flow == Flow::indirect) // ret by another register is no return
            instruction.flow = Instruction::jump;
        else if (any(indirect_calls, word))
            instruction.flow = Instruction::call;
    }
    if (instruction.flow != Instruction::next && relative != PcRelative::none) {
        instruction.direct = true;
        instruction.target = to;
    }

    const auto has_page = [&](unsigned reg) { return (known_ >> reg & 1) != 0; };
    const bool adds = (word & 0xffc00000) == 0x91000000;
    if (adds && has_page(second)) {
        refer(Instruction::address, pages_[second] + (word >> 10 & 0xfff));
    } else if (plain.matches(word) && has_page(second)) {
        const bool long_vector = (word >> 26 & 1) != 0 && (word >> 23 & 1) != 0;
        refer(Instruction::data, pages_[second] + (uint64_t(word >> 10 & 0xfff) << (long_vector ? 4 : word >> 30)));
    }
    // What is written has no page any more.
    constexpr uint32_t of_callee = 0x4007ffff;
    const bool of_vectors = (word & 0x0c000000) == 0x0c000000;
    const bool stores = has_memory(word) && !(word >> 22 & 1) && (pairs.matches(word) || !(word >> 23 & 1));
    if (instruction.calls())
        known_ &= ~of_callee;
    else if (!stores && !of_vectors && !instruction.ends_block())
        known_ &= ~(uint32_t{1} << first | (pairs.matches(word) ? uint32_t{1} << (word >> 10 & 31) : 0));
    if (relative == PcRelative::adrp) {
        known_ |= uint32_t{1} << first;
        pages_[first] = to;
    }
    return true;
}

Motion motion_of(const Image& image, std::span<const std::byte> code, uint64_t address)
{
    const uint32_t word = word_of(code);
    Motion motion{moves_of(word), 0};
    if (pc_relative(word) == PcRelative::literal && !literal_prefetch.matches(word)
        && !image.mapped_at(refers_to(word, address)))
        motion.faults |= fault_memory;
    if (!has_memory(word) || prefetches(word))
        return motion;
    constexpr unsigned sp = 31;
    const bool constant = pairs.matches(word) || plain.matches(word) || near.matches(word);
    if (!constant || (word >> 5 & 31) != sp)
        motion.faults |= fault_memory;
    return motion;
}

} // namespace fastsdt::arm64
