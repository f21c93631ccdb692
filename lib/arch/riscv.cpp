// SPDX-License-Identifier: BSD-2-Clause
//
// What arch_uprobe_analyze_insn() (arch/riscv/kernel/probes/uprobes.c) and riscv_probe_decode_insn() (decode-insn.c) decide,
// with the masks of arch/riscv/include/asm/insn.h, for 64 bits.
#include "arch/architecture.h"
#include "arch/argument_rules.h"
#include "arch/opcode_masks.h"

#include <elf.h>

namespace fastsdt {
namespace {

constexpr OpcodeMask rules_riscv[] = {
    {0x7f, 0x73, reject, "RISCV_INSN_REJECTED(system)"},
    {0x7f, 0x0f, reject, "RISCV_INSN_REJECTED(fence)"},
    {0xffff, 0x9002, reject, "RISCV_INSN_REJECTED(c_ebreak)"},
    {0xe003, 0xa001, emulate, "simulate_c_j"},
    {0xffff, 0x8002, xol, "riscv_insn_is_c_jr(): no jump by x0"},
    {0xf07f, 0x8002, emulate, "simulate_c_jr"},
    {0xf07f, 0x9002, emulate, "simulate_c_jalr"},
    {0xe003, 0xc001, emulate, "simulate_c_beqz"},
    {0xe003, 0xe001, emulate, "simulate_c_bnez"},
    {0x7f, 0x6f, emulate, "simulate_jal"},
    {0x707f, 0x67, emulate, "simulate_jalr"},
    {0x7f, 0x17, emulate, "simulate_auipc"},
    {0x607f, 0x2063, Verdict::emulate_unsafe,
     "simulate_branch(): there is no such branch; the program stays at it for ever"},
    {0x7f, 0x63, emulate, "simulate_branch"},
    {0, 0, xol, "riscv_probe_decode_insn(): INSN_GOOD"},
};

Judgement judge_riscv(Features, std::span<const std::byte> bytes, uint64_t vaddr)
{
    if (vaddr % 2)
        return not_aligned;
    if (bytes.empty())
        return no_bytes;
    return look_up(rules_riscv, first_bytes(bytes, 4, false));
}

bool is_libbpf_register_riscv(std::string_view reg)
{
    return numbered(reg, "a", 7) || numbered(reg, "s", 11) || numbered(reg, "t", 6) || reg == "ra" || reg == "sp"
        || reg == "gp" || reg == "tp";
}

// a5, 8(a5), 5
Reading libbpf_riscv(Scan& scan)
{
    const auto reg = [](Scan& scan) -> Reading {
        std::string_view name;
        const size_t start = scan.at;
        scan.space();
        if (!scan.set(name, lower_alnum))
            return libbpf_refusal(scan, start);
        return is_libbpf_register_riscv(name) ? Reading{} : Reading{ReadingVerdict::rejects, no_register};
    };
    return libbpf_argument(scan, [&](Scan& scan) { return libbpf_parentheses(scan, reg); });
}

constexpr OperandRules operands_riscv{.systemtap = true, .knows = [](Tracer, std::string_view reg) {
                                          return numbered(reg, "x", 31) || is_libbpf_register_riscv(reg)
                                              || reg == "zero" || reg == "fp";
                                      }};

} // namespace

const Architecture arch_riscv{
    .arch = Arch::riscv,
    .is = [](uint16_t machine, bool) { return machine == EM_RISCV; },
    .absolute_width = plain_absolute<R_RISCV_64, R_RISCV_32>,
    .judge = judge_riscv,
    .libbpf = libbpf_riscv,
    .others = [](Tracer tracer, const Argument& argument) { return read_operand(operands_riscv, tracer, argument); }};

} // namespace fastsdt
