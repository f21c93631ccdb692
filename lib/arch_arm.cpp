// SPDX-License-Identifier: BSD-2-Clause
#include "architecture.h"
#include "argument_rules.h"

#include <elf.h>

namespace fastsdt {
namespace {

size_t absolute_width(uint16_t, uint32_t type)
{
    return type == R_ARM_ABS32 ? 4 : 0;
}

bool libbpf_register(std::string_view reg)
{
    return numbered(reg, "r", 10) || reg == "fp" || reg == "ip" || reg == "sp" || reg == "lr" || reg == "pc";
}

// [r5, #8], r5, #5
Reading libbpf(Scan& scan)
{
    return libbpf_argument(scan, [](Scan& scan) { return libbpf_brackets(scan, true, libbpf_register); });
}

constexpr OperandRules operands{.gdb = true, .systemtap = true, .knows = [](Tracer tracer, std::string_view reg) {
                                    return numbered(reg, "r", tracer == Tracer::gdb ? 12 : 10) || reg == "sl"
                                        || reg == "fp" || reg == "ip" || reg == "sp" || reg == "lr" || reg == "pc";
                                }};

} // namespace

const Architecture arch_arm{
    .arch = Arch::arm,
    .name = "arm",
    .is = [](uint16_t machine, bool) { return machine == EM_ARM; },
    .absolute_width = absolute_width,
    .libbpf = libbpf,
    .others = [](Tracer tracer, const Argument& argument) { return read_operand(operands, tracer, argument); }};

} // namespace fastsdt
