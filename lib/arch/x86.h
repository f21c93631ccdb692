// SPDX-License-Identifier: BSD-2-Clause
// arch/x86_args.cpp for arch/x86.cpp. `wide`: a 64-bit program.
#pragma once
#include "arch/args.h"
#include "arch/argument_rules.h"

namespace fastsdt {

/// An operand in AT&T syntax: $5, %eax, -8+4(%rbp), x+4(%rip), 16(%rax,%rbx,8), (,%rax,8); %fs:x@tpoff is no form.
NotedOperand parse_att_operand(std::string_view text);

/// Architecture::libbpf and Architecture::others.
Reading libbpf_x86(Scan& scan, bool wide);
Reading read_operand_x86(Tracer tracer, const Argument& argument, bool wide);

} // namespace fastsdt
