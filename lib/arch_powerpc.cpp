// SPDX-License-Identifier: BSD-2-Clause
//
// Read from the sources of Linux 7.2, not measured.
#include "architecture.h"
#include "argument_rules.h"
#include "opcode_masks.h"

#include <elf.h>

namespace fastsdt {
namespace {

size_t absolute_width(uint16_t machine, uint32_t type)
{
    if (machine == EM_PPC)
        return type == R_PPC_ADDR32 || type == R_PPC_UADDR32 ? 4 : 0;
    return type == R_PPC64_ADDR64 || type == R_PPC64_UADDR64 ? 8 : type == R_PPC64_ADDR32 ? 4 : 0;
}

// emulate_step() of arch/powerpc/lib/sstep.c handles most of the instruction set; these are the ones that matter here.
constexpr OpcodeMask rules[] = {
    {0xffffffff, 0x60000000, emulate, "emulate_step(): nop"},
    {0xffffffff, 0x7c0802a6, emulate, "emulate_step(): mflr r0"},
    {0xffff0003, 0xf8210001, emulate, "emulate_step(): stdu r1, D(r1)"},
    {0, 0, Verdict::unknown, "no rule for this instruction"},
};

Judgement judge(Features, std::span<const std::byte> bytes, uint64_t vaddr)
{
    if (bytes.empty())
        return no_bytes;
    if (vaddr % 4)
        return not_aligned;
    // The bytes alone do not tell the byte order: none of the rules matches in both.
    const auto big = look_up(rules, first_bytes(bytes, 4, true));
    return big.verdict != Verdict::unknown ? big : look_up(rules, first_bytes(bytes, 4, false));
}

constexpr OperandRules operands{
    .bcc = true,
    .gdb = true,
    .systemtap = true,
    .numbers_are_registers = true,
    .knows = [](Tracer, std::string_view reg) { return numbered(reg, "", 31) || numbered(reg, "%r", 31); }};

} // namespace

const Architecture arch_powerpc{
    .arch = Arch::powerpc,
    .name = "powerpc",
    .is = [](uint16_t machine, bool) { return machine == EM_PPC64 || machine == EM_PPC; },
    .absolute_width = absolute_width,
    .judge = judge,
    .others = [](Tracer tracer, const Argument& argument) { return read_operand(operands, tracer, argument); }};

} // namespace fastsdt
