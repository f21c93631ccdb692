// SPDX-License-Identifier: BSD-2-Clause
// What came into the kernel when: the releases that the rules in x86.cpp, the reports and the texts are made from.
#pragma once
#include "kernel.h"

#include <cstdint>

namespace fastsdt {

/// The first and the last release that make a call of a nop5, and the first one that does so with the nop10. The system
/// call `uprobe` (336) tells them apart from inside a program.
inline constexpr Kernel nop5_first{6, 18}, nop5_last{7, 1}, nop10_first{7, 2};

/// Uprobes on x86.
struct Features {
    bool nop_table;      ///< 6.16: "Add support to emulate nop instructions": x86_nops[length]
    bool optimize_nop5;  ///< nop5_first to nop5_last
    bool insn_is_nop;    ///< 6.19: one insn_is_nop() in arch/x86/lib/insn-eval.c replaces table and opcode 90
    bool decode_rex2;    ///< 6.10: the decoder knows REX2
    bool decode_xop;     ///< 6.18: and XOP
    bool optimize_nop10; ///< nop10_first
};
Features features_of(const Kernel& kernel);

/// Whether libbpf, in the version that belongs to the kernel, attaches at the patchable instruction of such a site
/// (FASTSDT_LAYOUT_*) although the note names the nop1 before it. libbpf 1.7 does for nop5 where system call 336 gives
/// ENXIO, the one of Linux 7.2 for nop10 where it gives EPROTO: tools/lib/bpf/usdt.c, has_nop_combo().
bool libbpf_moves(const Kernel& kernel, uint8_t layout);

} // namespace fastsdt
