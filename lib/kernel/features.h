// SPDX-License-Identifier: BSD-2-Clause
// To the model, a kernel is a set of features. The table in kernel/features.cpp says which release brought a feature
// and who backported it. The rules in arch/*.cpp ask for features, reports and texts are made from features, and no
// other rule compares versions. Like kernel/release.h, this needs C++17 and only the standard library.
#pragma once
#include "base/arch.h"
#include "kernel/release.h"

#include <vector>

namespace fastsdt {

/// With the commit and its title, where one commit brought the feature.
enum class Feature : uint8_t {
    // x86
    nop_table,      ///< 610f6e14c29d "Add support to emulate NOP instructions": x86_nops[length]
    insn_is_nop,    ///< one insn_is_nop() in arch/x86/lib/insn-eval.c replaces table and opcode 90
    decode_rex2,    ///< eada38d575a2: the decoder knows REX2
    decode_xop,     ///< and XOP
    optimize,       ///< ba2bfc97b462: a call instead of the breakpoint: the system call `uprobe`, of a nop5 at first
    optimize_nop10, ///< "Move optimized uprobe from nop5 to nop10"
    shadow_stack,   ///< user shadow stacks
    shadow_stack_return_probe, ///< prepare_uretprobe() changes the return address on the shadow stack too
    emulate_endbr,             ///< endbr64 and endbr32: kernel/patches
    // arm64
    simulate_nop,         ///< ac4ad5c09b34 "Simulate nop instruction for better uprobe performance"
    simulate_stp,         ///< stp x29,x30,[sp,#-N]!: kernel/patches; another form was posted in 2024
    simulate_bti,         ///< bti, bti c, bti j, bti jc: kernel/patches
    simulate_bc_cond,     ///< "Handle probes on hinted conditional branch instructions"
    reject_literal_loads, ///< acc450aa0709 "Remove broken LDR (literal) uprobe support", CVE-2024-50099
    reject_mops,          ///< FEAT_MOPS is enabled for user space, and its instructions are refused
    // s390
    know_z17, ///< "s390/disassembler: Add instructions" of August 2024: is_known_insn() finds those of z17
    count
};

/// The features of a kernel of which every feature is known. Rules ask these.
class Features {
public:
    constexpr explicit Features(uint32_t bits) : bits_(bits) {}
    constexpr bool has(Feature feature) const { return bits_ >> unsigned(feature) & 1; }

private:
    uint32_t bits_;
};

constexpr uint32_t bit(Feature feature)
{
    return 1u << unsigned(feature);
}

/// What is known of a kernel's features, a bit each.
struct Knowledge {
    uint32_t has = 0;
    uint32_t unknown = 0; ///< the name does not tell whether the kernel has it; not in `has`

    void learn(uint32_t yes, uint32_t no)
    {
        has = (has | yes) & ~no;
        unknown &= ~(yes | no);
    }
    bool surely(Feature feature) const { return has & bit(feature); }
    bool maybe(Feature feature) const { return (has | unknown) & bit(feature); }
    friend bool operator==(const Knowledge& a, const Knowledge& b) { return a.has == b.has && a.unknown == b.unknown; }
};

Knowledge features_of(const Release& release);

/// The features that judge() asks for on this architecture.
uint32_t features_for(Arch arch);

/// Builds of that series, in order, that have a feature which the build before lacks.
std::vector<unsigned> builds_with_news(const Release& series);

/// A feature of this name that a kernel may carry as a patch: "stp". Feature::count if there is none.
Feature patch_named(std::string_view name);
/// "+stp" for each of the bits.
std::string patch_suffixes(uint32_t patches);

/// The first and the last release that turn a nop5 into a call, and the first that does so with the nop10. The system
/// call `uprobe` (336) tells them apart from inside a program.
inline constexpr Release nop5_first{Vendor::upstream, 6, 18}, nop5_last{Vendor::upstream, 7, 1},
    nop10_first{Vendor::upstream, 7, 2};

/// The rules were read from these kernels' sources and measured on them (docs/kernels.md).
inline constexpr Release oldest_known{Vendor::upstream, 5, 4}, newest_known{Vendor::upstream, 7, 3};

} // namespace fastsdt
