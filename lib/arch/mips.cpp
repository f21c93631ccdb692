// SPDX-License-Identifier: BSD-2-Clause
#include "arch/architecture.h"
#include "arch/argument_rules.h"

#include <elf.h>

namespace fastsdt {
namespace {

constexpr OperandRules operands_mips{.systemtap = true,
                                     .bare_constants = true,
                                     .knows = [](Tracer, std::string_view reg) { return reg.starts_with('$'); }};

} // namespace

const Architecture arch_mips{
    .arch = Arch::mips,
    .is = [](uint16_t machine, bool) { return machine == EM_MIPS; },
    .absolute_width = plain_absolute<R_MIPS_64, R_MIPS_32>,
    .others = [](Tracer tracer, const Argument& argument) { return read_operand(operands_mips, tracer, argument); }};

} // namespace fastsdt
