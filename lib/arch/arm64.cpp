// SPDX-License-Identifier: BSD-2-Clause
//
// What arch_uprobe_analyze_insn() (arch/arm64/kernel/probes/uprobes.c) and arm_probe_decode_insn() (decode-insn.c)
// decide, with the masks of arch/arm64/include/asm/insn.h.
#include "arch/architecture.h"
#include "arch/argument_rules.h"
#include "arch/opcode_masks.h"

#include <elf.h>

#include <algorithm>
#include <array>

namespace fastsdt {
namespace {

struct Pattern {
    uint32_t mask;
    uint32_t value;
    constexpr bool matches(uint32_t insn) const { return (insn & mask) == value; }
};

template <size_t n> bool any(const std::array<Pattern, n>& patterns, uint32_t insn)
{
    return std::any_of(patterns.begin(), patterns.end(), [&](Pattern p) { return p.matches(insn); });
}

// asm/insn.h, __AARCH64_INSN_FUNCS()
constexpr Pattern class_branch_sys{0x1c000000, 0x14000000};
constexpr Pattern nop{0xffffffff, 0xd503201f};
constexpr Pattern hint{0xfffff01f, 0xd503201f};
constexpr Pattern mrs{0xfff00000, 0xd5300000};
constexpr Pattern mops{0x3b200c00, 0x19000400};
constexpr Pattern adr_adrp{0x1f000000, 0x10000000};
constexpr Pattern brk_uprobes{0xffffffff, 0xd42000a0}; // BRK64_OPCODE_UPROBES
// kernel/patches
constexpr Pattern frame_push{0xffe07fff, 0xa9a07bfd};
constexpr Pattern bti{0xffffff3f, 0xd503241f};

constexpr std::array simulated_branches{
    Pattern{0xff000000, 0x54000000}, // b.cond, bc.cond
    Pattern{0x7e000000, 0x34000000}, // cbz, cbnz
    Pattern{0x7e000000, 0x36000000}, // tbz, tbnz
    Pattern{0x7c000000, 0x14000000}, // b, bl
    Pattern{0xfffffc1f, 0xd61f0000}, // br
    Pattern{0xfffffc1f, 0xd63f0000}, // blr
    Pattern{0xfffffc1f, 0xd65f0000}, // ret
};
constexpr std::array authenticated_branches{
    Pattern{0xfefff800, 0xd61f0800}, // braa and the like
    Pattern{0xfefff800, 0xd63f0800}, // blraa and the like
    Pattern{0xfffffbff, 0xd65f0bff}, // retaa, retab
};
constexpr std::array no_stepping{
    Pattern{0xfff8f01f, 0xd500401f}, // msr immediate
    Pattern{0xfff00000, 0xd5100000}, // msr register
    Pattern{0xff000000, 0xd4000000}, // svc, hvc, smc, brk, hlt, dcps
    Pattern{0xffffffff, 0xd69f03e0}, // eret
    Pattern{0xfffffbff, 0xd69f0bff}, // eretaa, eretab
};
constexpr std::array literal_loads{
    Pattern{0xbf000000, 0x18000000}, // ldr
    Pattern{0xff000000, 0x98000000}, // ldrsw
    Pattern{0xff000000, 0xd8000000}, // prfm
};
constexpr std::array simulated_loads{literal_loads[0], literal_loads[1]};
constexpr Pattern exclusive{0x3f800000, 0x08000000};

// aarch64_insn_is_steppable_hint(): a list, the other hints are refused.
bool is_steppable_hint(uint32_t insn)
{
    switch (insn >> 5 & 0x7f) {
    case 0: // nop
    case 7: // xpaclri
    case 8:
    case 10: // pacia1716, pacib1716
    case 24:
    case 25:
    case 26:
    case 27: // paciaz, paciasp, pacibz, pacibsp
    case 32:
    case 34:
    case 36:
    case 38: // bti, bti c, bti j, bti jc
        return true;
    default: return false;
    }
}

constexpr Pattern bc_cond{0xff000010, 0x54000010};

bool is_simulated_branch(Features features, uint32_t insn)
{
    return any(simulated_branches, insn) && (features.has(Feature::simulate_bc_cond) || !bc_cond.matches(insn));
}

// aarch64_insn_is_steppable(): nullptr, or why not.
const char* why_not_steppable(Features features, uint32_t insn)
{
    if (class_branch_sys.matches(insn)) {
        if (is_simulated_branch(features, insn) || any(authenticated_branches, insn))
            return "aarch64_insn_is_steppable(): a branch that is not simulated";
        if (any(no_stepping, insn))
            return "aarch64_insn_is_steppable(): exception or msr";
        if (mrs.matches(insn))
            return (insn >> 5 & 0xffff) == 0xda11 ? "aarch64_insn_is_steppable(): mrs of DAIF" : nullptr;
        if (hint.matches(insn) && !is_steppable_hint(insn))
            return "aarch64_insn_is_steppable_hint(): a hint that is not on its list";
        return nullptr;
    }
    if (any(literal_loads, insn) || adr_adrp.matches(insn))
        return "aarch64_insn_is_steppable(): reads a PC-relative literal";
    if (exclusive.matches(insn))
        return "aarch64_insn_is_steppable(): exclusive load or store";
    if (mops.matches(insn) && features.has(Feature::reject_mops))
        return "aarch64_insn_is_steppable(): memory copy and set";
    return nullptr;
}

Judgement judge_arm64(Features features, std::span<const std::byte> bytes, uint64_t vaddr)
{
    if (vaddr % 4)
        return not_aligned;
    if (bytes.empty())
        return no_bytes;
    const uint32_t insn = first_bytes(bytes, 4, false); // little-endian, also in big-endian processes
    if (brk_uprobes.matches(insn))
        return {Verdict::reject, "prepare_uprobe(): the file has a breakpoint here"};

    // arm_probe_decode_insn()
    if (nop.matches(insn) && features.has(Feature::simulate_nop))
        return {Verdict::emulate, "arm_probe_decode_insn(): simulate_nop"};
    if (bti.matches(insn) && features.has(Feature::simulate_bti))
        return {Verdict::emulate, "arch_uprobe_analyze_insn(): simulate_nop for bti, a patch"};
    if (frame_push.matches(insn) && features.has(Feature::simulate_stp))
        return {Verdict::emulate, "arch_uprobe_skip_sstep(): simulate_frame_push, a patch"};
    const char* why_not = why_not_steppable(features, insn);
    if (!why_not)
        return {Verdict::xol, "arm_probe_decode_insn(): steppable"};
    if (is_simulated_branch(features, insn))
        return {Verdict::emulate, "arm_probe_decode_insn(): a simulated branch"};
    if (adr_adrp.matches(insn))
        return {Verdict::emulate, "arm_probe_decode_insn(): simulate_adr_adrp"};
    if (!features.has(Feature::reject_literal_loads) && any(simulated_loads, insn))
        return {Verdict::emulate_unsafe,
                "simulate_ldr_literal(): reads the program's memory as the kernel's; the program dies"};
    return {Verdict::reject, why_not};
}

// [x5, 8], x5, 5
Reading libbpf_arm64(Scan& scan)
{
    const auto known = [](std::string_view reg) { return numbered(reg, "x", 30) || reg == "sp"; };
    return libbpf_argument(scan, [&](Scan& scan) { return libbpf_brackets(scan, false, known); });
}

bool knows(Tracer tracer, std::string_view reg)
{
    if (tracer == Tracer::bcc) // x31 is its sp
        return numbered(reg, "x", 31) || reg == "sp";
    if (numbered(reg, "x", 30) || numbered(reg, "w", 30) || numbered(reg, "v", 31) || reg == "sp")
        return true;
    return tracer == Tracer::gdb
        && (numbered(reg, "d", 31) || numbered(reg, "s", 31) || numbered(reg, "q", 31) || numbered(reg, "h", 31)
            || numbered(reg, "b", 31) || reg == "pc");
}

constexpr OperandRules operands_arm64{
    .bcc = true, .gdb = true, .systemtap = true, .bcc_takes_hash = false, .bare_constants = true, .knows = knows};

// struct user_pt_regs: regs[31]
std::optional<size_t> register_word_arm64(std::string_view name)
{
    for (const char* prefix : {"x", "w"})
        if (numbered(name, prefix, 30))
            return size_t(std::stoul(std::string(name.substr(1))));
    return {};
}

} // namespace

const Architecture arch_arm64{
    .arch = Arch::arm64,
    .is = [](uint16_t machine, bool) { return machine == EM_AARCH64; },
    .absolute_width = plain_absolute<R_AARCH64_ABS64, R_AARCH64_ABS32>,
    .judge = judge_arm64,
    .libbpf = libbpf_arm64,
    .others = [](Tracer tracer, const Argument& argument) { return read_operand(operands_arm64, tracer, argument); },
    .register_word = register_word_arm64};

} // namespace fastsdt
