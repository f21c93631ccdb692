// SPDX-License-Identifier: BSD-2-Clause
//
// What arch_uprobe_analyze_insn() and arch_uprobe_skip_sstep() (arch/s390/kernel/uprobes.c) decide, by
// probe_is_prohibited_opcode() and probe_is_insn_relative_long() (arch/s390/lib/probes.c).
#include "arch/architecture.h"
#include "arch/argument_rules.h"
#include "arch/opcode_masks.h"
#include "arch/s390_opcodes.h"

#include <elf.h>

#include <algorithm>
#include <iterator>

namespace fastsdt {
namespace {

// Masks for the first halfword.
constexpr OpcodeMask rules_s390[] = {
    {0xffff, 0x0002, reject, "prepare_uprobe(): the file has a breakpoint here"},
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
    {0xff00, 0xc400, emulate, "probe_is_insn_relative_long(): load or store"}, // all that is_known_insn() lets through
    {0xff00, 0xc600, emulate, "probe_is_insn_relative_long(): compare"},
    {0, 0, xol, "probe_is_insn_relative_long(): not PC-relative"},
};

// find_insn() of arch/s390/kernel/dis.c: the first byte, then the other bits of the opcode, which insn_type_table[] of
// arch/s390/tools/gen_opcode_table.c places.
uint16_t s390_opcode(std::span<const std::byte> bytes)
{
    const auto byte = [&](size_t i) { return i < bytes.size() ? std::to_integer<uint8_t>(bytes[i]) : uint8_t(0); };
    const uint16_t first = byte(0) << 8;
    switch (byte(0)) {
    case 0xa5:
    case 0xa7:
    case 0xaa:
    case 0xc0:
    case 0xc2:
    case 0xc4:
    case 0xc6:
    case 0xc8:
    case 0xcc: return first | (byte(1) & 0x0f);
    case 0xe3:
    case 0xe6:
    case 0xe7:
    case 0xeb:
    case 0xec:
    case 0xed: return first | byte(5);
    default: return first | byte(1);
    }
}

template <size_t n> bool contains(const S390Opcodes (&ranges)[n], uint16_t opcode)
{
    return std::any_of(std::begin(ranges), std::end(ranges),
                       [&](const S390Opcodes& range) { return range.first <= opcode && opcode <= range.last; });
}

bool is_known_insn(Features features, uint16_t opcode)
{
    return contains(s390_opcodes, opcode) && (features.has(Feature::know_z17) || !contains(s390_z17_opcodes, opcode));
}

Judgement judge_s390(Features features, std::span<const std::byte> bytes, uint64_t vaddr)
{
    if (vaddr % 2)
        return not_aligned;
    if (bytes.empty())
        return no_bytes;
    if (!is_known_insn(features, s390_opcode(bytes)))
        return {Verdict::reject, "probe_is_prohibited_opcode(): is_known_insn() does not find it"};
    return look_up(rules_s390, first_bytes(bytes, 2, true));
}

// %r5, 8(%r5), 5
Reading libbpf_s390(Scan& scan)
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

constexpr OperandRules operands_s390{
    .bcc = true, .gdb = true, .systemtap = true, .knows = [](Tracer tracer, std::string_view reg) {
        return numbered(reg, "%r", 15) || (tracer != Tracer::bcc && numbered(reg, "%f", 15));
    }};

} // namespace

const Architecture arch_s390{
    .arch = Arch::s390,
    .is = [](uint16_t machine, bool elf64) { return machine == EM_S390 && elf64; },
    .absolute_width = plain_absolute<R_390_64, R_390_32>,
    .judge = judge_s390,
    .libbpf = libbpf_s390,
    .others = [](Tracer tracer, const Argument& argument) { return read_operand(operands_s390, tracer, argument); }};

} // namespace fastsdt
