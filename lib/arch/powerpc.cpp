// SPDX-License-Identifier: BSD-2-Clause
//
// What arch_uprobe_analyze_insn() and arch_uprobe_skip_sstep() (arch/powerpc/kernel/uprobes.c) decide, by can_single_step()
// (arch/powerpc/include/asm/probes.h) and emulate_step() (arch/powerpc/lib/sstep.c), on 64 bits. emulate_step() gives up where the
// program's memory cannot be read or written; then the instruction is stepped and faults.
#include "arch/architecture.h"
#include "arch/argument_rules.h"
#include "arch/opcode_masks.h"

#include <elf.h>

#include <algorithm>
#include <iterator>

namespace fastsdt {
namespace {

size_t absolute_width_powerpc(uint16_t machine, uint32_t type)
{
    if (machine == EM_PPC)
        return type == R_PPC_ADDR32 || type == R_PPC_UADDR32 ? 4 : 0;
    return type == R_PPC64_ADDR64 || type == R_PPC64_UADDR64 ? 8 : type == R_PPC64_ADDR32 ? 4 : 0;
}

const Judgement stepped{Verdict::xol, "emulate_step(): not emulated"};
const Judgement emulated{Verdict::emulate, "emulate_step()"};
// Older processors lack the instruction; the kernel single-steps it there.
const Judgement of_power9{Verdict::unknown, "emulate_step(): emulated on POWER9 and later processors"};
// The kernel executes the instruction itself on the program's memory. Where KUAP (POWER9 and later processors) keeps
// the kernel from that memory, this fails, and the instruction is stepped.
const Judgement of_kuap{Verdict::unknown,
                        "emulate_step(): stepped where the kernel is kept from the program's memory (KUAP)"};
const Judgement of_power10{Verdict::unknown, "emulate_step(): emulated on POWER10 and later processors"};

// Extended opcodes (bits 10-1) of opcode 31 that analyse_instr() knows, whatever the registers are.
// clang-format off
// on every processor
constexpr uint16_t extended_31[] = {
    0, 7, 8, 9, 10, 11, 12, 19, 21, 23, 24, 26, 27, 28, 32, 39, 40, 53, 55, 58, 60, 71, 73, 75, 76, 87, 103, 104, 119,
    122, 124, 135, 136, 138, 140, 144, 149, 151, 154, 167, 181, 183, 186, 199, 200, 202, 215, 231, 232, 233, 234, 235,
    246, 247, 252, 266, 278, 279, 284, 311, 316, 332, 341, 343, 359, 373, 375, 378, 393, 407, 412, 425, 439, 444, 457,
    459, 476, 487, 489, 491, 506, 508, 524, 532, 533, 534, 535, 536, 539, 567, 588, 597, 598, 599, 631, 652, 660, 661,
    662, 663, 695, 716, 725, 727, 759, 780, 790, 791, 792, 794, 824, 826, 827, 844, 854, 855, 887, 908, 918, 919, 922,
    954, 972, 983, 986, 1014,
};
// with CPU_FTR_ARCH_300
constexpr uint16_t extended_31_power9[] = {
    128, 265, 267, 268, 269, 301, 364, 396, 397, 429, 538, 570, 777, 779, 781, 812, 813, 876, 890, 891, 909, 940, 941,
    1004,
};
constexpr uint16_t crops[] = {0, 16, 33, 129, 150, 193, 225, 257, 289, 417, 449, 528}; // of 19: mcrf, branches, isync, bits
constexpr uint16_t interrupts_19[] = {18, 38, 39, 50, 51, 82, 274, 306, 370, 402, 434, 466, 498};
// clang-format on

template <size_t n> bool contains(const uint16_t (&sorted)[n], unsigned value)
{
    return std::binary_search(std::begin(sorted), std::end(sorted), value);
}

struct Fields {
    explicit Fields(uint32_t word)
        : opcode(word >> 26), rd(word >> 21 & 31), ra(word >> 16 & 31), rb(word >> 11 & 31), extended(word >> 1 & 0x3ff)
    {}
    unsigned opcode, rd, ra, rb, extended;
};

// is_trap() of prepare_uprobe(), then can_single_step()
bool is_refused(const Fields& f)
{
    switch (f.opcode) {
    case 2:
    case 3:               // tdi, twi
    case 17: return true; // sc, scv
    case 19: return contains(interrupts_19, f.extended);
    case 31: return f.extended == 4 || f.extended == 68 || f.extended == 146 || f.extended == 178; // tw, td, mtmsr
    default: return false;
    }
}

Judgement extended_19(uint32_t word, const Fields& f)
{
    if (contains(crops, f.extended))
        return emulated;
    return (word >> 1 & 0x1f) == 2 ? of_power9 : stepped; // addpcis
}

Judgement extended_31_of(const Fields& f)
{
    if ((f.extended & 0x1f) == 15) // isel
        return emulated;
    switch (f.extended) {
    case 339:
    case 467: { // mfspr, mtspr: xer, lr, ctr
        const unsigned spr = f.ra | f.rb << 5;
        return spr == 1 || spr == 8 || spr == 9 ? emulated : stepped;
    }
    case 755: return (f.ra & 3) == 3 ? stepped : of_power9;                        // darn
    case 276: return f.rd % 2 || f.rd == f.ra || f.rd == f.rb ? stepped : of_kuap; // lqarx
    case 182: return f.rd % 2 ? stepped : of_kuap;                                 // stqcx.
    case 20:
    case 52:
    case 84:
    case 116: // lwarx and the like
    case 150:
    case 214:
    case 694:
    case 726: // stwcx. and the like
    case 54:
    case 86:
    case 982: return of_kuap; // dcbst, dcbf, icbi
    case 333:
    case 461: return of_power10; // lxvpx, stxvpx
    default: break;
    }
    if (contains(extended_31_power9, f.extended))
        return of_power9;
    return contains(extended_31, f.extended) ? emulated : stepped;
}

// analyse_instr(), and what emulate_step() makes of its answer
Judgement analyse(uint32_t word)
{
    const Fields f(word);
    switch (f.opcode) {
    case 1: return of_power10; // the first word of two
    case 4:                    // maddhd, maddhdu, maddld
        return (word & 0x3f) == 48 || (word & 0x3f) == 49 || (word & 0x3f) == 51 ? of_power9 : stepped;
    case 6: return (word & 0xf) <= 1 ? of_power10 : stepped; // lxvp, stxvp
    case 7:
    case 8:
    case 10:
    case 11:
    case 12:
    case 13:
    case 14:
    case 15:
    case 16:
    case 18:
    case 20:
    case 21:
    case 23:
    case 24:
    case 25:
    case 26:
    case 27:
    case 28:
    case 29: return emulated;
    case 46: return f.ra >= f.rd ? stepped : emulated;            // lmw
    case 56: return f.rd % 2 || f.rd == f.ra ? stepped : of_kuap; // lq
    case 19: return extended_19(word, f);
    case 30: return (word & 0x10) == 0 || (word >> 1 & 7) <= 1 ? emulated : stepped;
    case 31: return extended_31_of(f);
    case 57: // lfdp, lxsd, lxssp
        if ((word & 3) == 0)
            return f.rd % 2 ? stepped : emulated;
        return (word & 3) == 1 ? stepped : of_power9;
    case 58: // ld, ldu, lwa
        return (word & 3) == 3 ? stepped : emulated;
    case 61: return (word & 3) == 0 ? emulated : of_power9; // stfdp; lxv, stxsd, stxssp, stxv
    case 62:                                                // std, stdu, stq
        if ((word & 3) == 2 && f.rd % 2 == 0)
            return of_kuap;
        return (word & 3) <= 1 ? emulated : stepped;
    default: return f.opcode >= 32 && f.opcode <= 55 ? emulated : stepped; // loads and stores
    }
}

Judgement judge_powerpc(Features, std::span<const std::byte> bytes, uint64_t vaddr)
{
    if (vaddr % 4)
        return not_aligned;
    if (bytes.empty())
        return no_bytes;
    const uint32_t word = first_bytes(bytes, 4, false); // evaluate() swaps the bytes of a big-endian file
    if (is_refused(Fields(word)))
        return {Verdict::reject, "is_trap() or can_single_step(): trap, system call, return from interrupt, mtmsr"};
    return analyse(word);
}

constexpr OperandRules operands_powerpc{
    .bcc = true,
    .gdb = true,
    .systemtap = true,
    .numbers_are_registers = true,
    .knows = [](Tracer, std::string_view reg) { return numbered(reg, "", 31) || numbered(reg, "%r", 31); }};

} // namespace

const Architecture arch_powerpc{
    .arch = Arch::powerpc,
    .is = [](uint16_t machine, bool) { return machine == EM_PPC64 || machine == EM_PPC; },
    .absolute_width = absolute_width_powerpc,
    .judge = judge_powerpc,
    .others = [](Tracer tracer, const Argument& argument) { return read_operand(operands_powerpc, tracer, argument); }};

} // namespace fastsdt
