// SPDX-License-Identifier: BSD-2-Clause
//
// Read from the sources of Linux 7.2, not measured. The first row that matches decides.
#include "tables.h"

#include <algorithm>

namespace fastsdt {
namespace {

constexpr auto reject = Verdict::reject, emulate = Verdict::emulate, xol = Verdict::xol;

struct Row {
    uint32_t mask, value;
    Verdict verdict;
    const char* why;
};

// arch/riscv/kernel/probes/decode-insn.c, riscv_probe_decode_insn(); masks of arch/riscv/include/asm/insn.h.
constexpr Row riscv[] = {
    {0x7f, 0x73, reject, "RISCV_INSN_REJECTED(system)"},
    {0x7f, 0x0f, reject, "RISCV_INSN_REJECTED(fence)"},
    {0xffff, 0x9002, reject, "RISCV_INSN_REJECTED(c_ebreak)"},
    {0xe003, 0xa001, emulate, "simulate_c_j"},
    {0xf07f, 0x8002, emulate, "simulate_c_jr"},
    {0xf07f, 0x9002, emulate, "simulate_c_jalr"},
    {0xe003, 0xc001, emulate, "simulate_c_beqz"},
    {0xe003, 0xe001, emulate, "simulate_c_bnez"},
    {0x7f, 0x6f, emulate, "simulate_jal"},
    {0x707f, 0x67, emulate, "simulate_jalr"},
    {0x7f, 0x17, emulate, "simulate_auipc"},
    {0x7f, 0x63, emulate, "simulate_branch"},
    {0, 0, xol, "riscv_probe_decode_insn(): INSN_GOOD"},
};

// arch/loongarch/kernel/inst.c, insns_not_supported(), insns_need_simulation(); opcodes of asm/inst.h.
constexpr Row loongarch[] = {
    {0xfd000000, 0x20000000, reject, "insns_not_supported(): ll"},
    {0xfd000000, 0x21000000, reject, "insns_not_supported(): sc"},
    {0xfffff000, 0x38578000, reject, "insns_not_supported(): llacq, screl"},
    {0xffff8000, 0x38570000, reject, "insns_not_supported(): sc.q"},
    {0xfff00000, 0x38600000, reject, "insns_not_supported(): atomic memory access"},
    {0xfffe0000, 0x38700000, reject, "insns_not_supported(): atomic memory access"},
    {0xfc000000, 0x48000000, reject, "insns_not_supported(): bceqz, bcnez"},
    {0xf8000000, 0x18000000, emulate, "insns_need_simulation(): PC-relative"},
    {0xf0000000, 0x40000000, emulate, "insns_need_simulation(): branch"},
    {0xf0000000, 0x50000000, emulate, "insns_need_simulation(): branch"},
    {0xf0000000, 0x60000000, emulate, "insns_need_simulation(): branch"},
    {0, 0, xol, "arch_uprobe_analyze_insn(): not simulated"},
};

// arch/s390/lib/probes.c, on the first halfword: probe_is_prohibited_opcode(), probe_is_insn_relative_long().
constexpr Row s390[] = {
    {0xff00, 0x0c00, reject, "probe_is_prohibited_opcode(): bassm"},
    {0xff00, 0x0b00, reject, "probe_is_prohibited_opcode(): bsm"},
    {0xff00, 0x8300, reject, "probe_is_prohibited_opcode(): diag"},
    {0xff00, 0x4400, reject, "probe_is_prohibited_opcode(): ex"},
    {0xfe00, 0xac00, reject, "probe_is_prohibited_opcode(): stnsm, stosm"},
    {0xff0f, 0xc600, reject, "probe_is_prohibited_opcode(): exrl"},
    {0xffff, 0x0101, reject, "probe_is_prohibited_opcode(): pr"},
    {0xffff, 0xb218, reject, "probe_is_prohibited_opcode(): pc"},
    {0xffff, 0xb228, reject, "probe_is_prohibited_opcode(): pt"},
    {0xffff, 0xb240, reject, "probe_is_prohibited_opcode(): bakr"},
    {0xffff, 0xb258, reject, "probe_is_prohibited_opcode(): bsg"},
    {0xffff, 0xb25a, reject, "probe_is_prohibited_opcode(): bsa"},
    {0xffff, 0xb2f8, reject, "probe_is_prohibited_opcode(): tend"},
    {0xffff, 0xb98d, reject, "probe_is_prohibited_opcode(): epsw"},
    {0xfffe, 0xe560, reject, "probe_is_prohibited_opcode(): tbegin"},
    {0xff0f, 0xc000, emulate, "probe_is_insn_relative_long(): larl"},
    {0xff00, 0xc400, emulate, "probe_is_insn_relative_long(): load or store"},
    {0xff00, 0xc600, emulate, "probe_is_insn_relative_long(): compare"},
    {0, 0, xol, "probe_is_insn_relative_long(): not PC-relative"},
};

// arch/powerpc: emulate_step() of lib/sstep.c handles most of the instruction set; these are the ones that matter here.
constexpr Row powerpc[] = {
    {0xffffffff, 0x60000000, emulate, "emulate_step(): nop"},
    {0xffffffff, 0x7c0802a6, emulate, "emulate_step(): mflr r0"},
    {0xffff0003, 0xf8210001, emulate, "emulate_step(): stdu r1, D(r1)"},
    {0, 0, Verdict::unknown, "no rule for this instruction"},
};

template <size_t n> Judgement look_up(const Row (&rows)[n], uint32_t insn)
{
    const auto matches = [&](const Row& row) { return (insn & row.mask) == row.value; };
    const Row* const row = std::find_if(std::begin(rows), std::end(rows), matches);
    return {row->verdict, row->why};
}

uint32_t read(std::span<const std::byte> bytes, size_t size, bool big_endian)
{
    uint32_t value = 0; // copy_insn(): zeros where the file ends
    for (size_t i = 0; i < std::min(bytes.size(), size); ++i)
        value |= std::to_integer<uint32_t>(bytes[i]) << 8 * (big_endian ? size - 1 - i : i);
    return value;
}

} // namespace

Judgement judge_by_table(Arch arch, std::span<const std::byte> bytes, uint64_t vaddr)
{
    if (bytes.empty())
        return {reject, "copy_insn(): no byte of the file at this offset"};
    switch (arch) {
    case Arch::riscv: return look_up(riscv, read(bytes, 4, false));
    case Arch::loongarch:
        if (vaddr % 4)
            return {reject, "arch_uprobe_analyze_insn(): address not aligned"};
        return look_up(loongarch, read(bytes, 4, false));
    case Arch::s390: return look_up(s390, read(bytes, 2, true));
    case Arch::powerpc: {
        if (vaddr % 4)
            return {reject, "arch_uprobe_analyze_insn(): address not aligned"};
        // The bytes alone do not tell the byte order: none of the rules matches in both.
        const auto big = look_up(powerpc, read(bytes, 4, true));
        return big.verdict != Verdict::unknown ? big : look_up(powerpc, read(bytes, 4, false));
    }
    default: return {};
    }
}

} // namespace fastsdt
