// SPDX-License-Identifier: BSD-2-Clause
//
// Read from the sources of Linux 7.2, not measured.
#include "architecture.h"
#include "argument_rules.h"
#include "opcode_masks.h"

#include <elf.h>

namespace fastsdt {
namespace {

size_t absolute_width(uint16_t, uint32_t type)
{
    return type == R_RISCV_64 ? 8 : type == R_RISCV_32 ? 4 : 0;
}

// arch/riscv/kernel/probes/decode-insn.c, riscv_probe_decode_insn(); masks of arch/riscv/include/asm/insn.h.
constexpr OpcodeMask rules[] = {
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

Judgement judge(const Kernel&, std::span<const std::byte> bytes, uint64_t)
{
    if (bytes.empty())
        return no_bytes;
    return look_up(rules, first_bytes(bytes, 4, false));
}

bool libbpf_register(std::string_view reg)
{
    return numbered(reg, "a", 7) || numbered(reg, "s", 11) || numbered(reg, "t", 6) || reg == "ra" || reg == "sp"
        || reg == "gp" || reg == "tp";
}

// a5, 8(a5), 5
Reading libbpf(Scan& scan)
{
    return libbpf_argument(scan, [](Scan& scan) -> Reading {
        int64_t value = 0;
        std::string_view reg;
        const size_t start = scan.at;
        if (!scan.number(value)) {
            scan.at = start;
            scan.space();
            if (!scan.set(reg, lower_alnum))
                return libbpf_refusal(scan, start);
            return libbpf_register(reg) ? Reading{} : Reading{ReadingVerdict::rejects, no_register};
        }
        const size_t after = scan.at;
        if (!scan.literal('(')) {
            scan.at = after;
            return {};
        }
        scan.space();
        if (!scan.set(reg, lower_alnum) || !libbpf_register(reg))
            return {ReadingVerdict::rejects, no_register};
        return scan.literal(')') ? Reading{} : libbpf_refusal(scan, start);
    });
}

constexpr OperandRules operands{.systemtap = true, .knows = [](Tracer, std::string_view reg) {
                                    return numbered(reg, "x", 31) || libbpf_register(reg) || reg == "zero"
                                        || reg == "fp";
                                }};

} // namespace

const Architecture arch_riscv{
    .arch = Arch::riscv,
    .name = "riscv",
    .is = [](uint16_t machine, bool) { return machine == EM_RISCV; },
    .absolute_width = absolute_width,
    .judge = judge,
    .libbpf = libbpf,
    .others = [](Tracer tracer, const Argument& argument) { return read_operand(operands, tracer, argument); }};

} // namespace fastsdt
