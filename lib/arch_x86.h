// SPDX-License-Identifier: BSD-2-Clause
// arch_x86_args.cpp for arch_x86.cpp. `wide`: a 64-bit program.
#pragma once
#include "args.h"

namespace fastsdt {

struct Scan;

/// Architecture::libbpf and Architecture::others.
Reading libbpf_x86(Scan& scan, bool wide);
Reading read_operand_x86(Tracer tracer, const Argument& argument, bool wide);

} // namespace fastsdt
