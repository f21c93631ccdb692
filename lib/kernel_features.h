// SPDX-License-Identifier: BSD-2-Clause
// What came into the kernel when. The rules in arch_*.cpp, the reports and the texts are made from it; no other rule
// compares versions.
#pragma once
#include "kernel.h"

namespace fastsdt {

/// The first and the last release that make a call of a nop5, and the first one that does so with the nop10. The system
/// call `uprobe` (336) tells them apart from inside a program.
inline constexpr Kernel nop5_first{6, 18}, nop5_last{7, 1}, nop10_first{7, 2};

/// What a kernel's uprobes can do.
struct Features {
    // x86
    bool nop_table;      ///< 6.16: "Add support to emulate nop instructions": x86_nops[length]
    bool optimize_nop5;  ///< nop5_first to nop5_last
    bool insn_is_nop;    ///< 6.19: one insn_is_nop() in arch/x86/lib/insn-eval.c replaces table and opcode 90
    bool decode_rex2;    ///< 6.10: the decoder knows REX2
    bool decode_xop;     ///< 6.18: and XOP
    bool optimize_nop10; ///< nop10_first
    /// 6.6 (first user shadow stacks) to 6.10: prepare_uretprobe() changes the return address and not its copy on the shadow stack.
    /// "x86/shstk: Make return uprobe work with shadow stack" is in 6.11, and in later stable releases of 6.6 and 6.10.
    bool uretprobe_breaks_shadow_stack;
    // arm64
    bool simulate_nop; ///< 6.13
    bool simulate_stp; ///< Kernel::arm64_stp
    bool reject_mops;  ///< 6.6: FEAT_MOPS is enabled for user space, and its instructions are refused
    /// bc.cond: FEAT_HBC is known since 6.6, and it was an instruction like any other until "arm64: probes: Handle probes
    /// on hinted conditional branch instructions" widened the mask of aarch64_insn_is_bcond(): by 7.1, and in stable
    /// releases of 2026 (6.12.92 has it, 6.18.15 does not). A Kernel has two numbers, so in between it may be either.
    enum class BcCond { stepped, either, simulated } bc_cond;
};
Features features_of(const Kernel& kernel);

} // namespace fastsdt
