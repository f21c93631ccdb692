// SPDX-License-Identifier: BSD-2-Clause
//
// Read from the sources of Linux 7.2, not measured.
#include "architecture.h"
#include "argument_rules.h"
#include "opcode_masks.h"

#include <elf.h>

namespace fastsdt {
namespace {

// arch/s390/lib/probes.c, on the first halfword: probe_is_prohibited_opcode(), probe_is_insn_relative_long().
constexpr OpcodeMask rules[] = {
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

Judgement judge(Features, std::span<const std::byte> bytes, uint64_t)
{
    if (bytes.empty())
        return no_bytes;
    return look_up(rules, first_bytes(bytes, 2, true));
}

// %r5, 8(%r5), 5
Reading libbpf(Scan& scan)
{
    const auto reg = [](Scan& scan) -> Reading {
        int64_t number = 0;
        const size_t start = scan.at;
        const bool general =
            scan.literal('%') && scan.literal('r') && scan.number(number) && number >= 0 && number <= 15;
        return general ? Reading{} : libbpf_refusal(scan, start);
    };
    return libbpf_argument(scan, [&](Scan& scan) { return libbpf_parentheses(scan, reg); });
}

constexpr OperandRules operands{
    .bcc = true, .gdb = true, .systemtap = true, .knows = [](Tracer tracer, std::string_view reg) {
        return numbered(reg, "%r", 15) || (tracer != Tracer::bcc && numbered(reg, "%f", 15));
    }};

} // namespace

const Architecture arch_s390{
    .arch = Arch::s390,
    .name = "s390",
    .is = [](uint16_t machine, bool elf64) { return machine == EM_S390 && elf64; },
    .absolute_width = plain_absolute<R_390_64, R_390_32>,
    .judge = judge,
    .libbpf = libbpf,
    .others = [](Tracer tracer, const Argument& argument) { return read_operand(operands, tracer, argument); }};

} // namespace fastsdt
