// SPDX-License-Identifier: BSD-2-Clause
//
// What arch_uprobe_analyze_insn() (arch/arm/probes/uprobes/core.c) decides: arm_probes_decode_insn() (arch/arm/probes/decode-arm.c)
// finds a class of instructions, and uprobes_probes_actions[] (uprobes/actions-arm.c) says what becomes of it.
#include "arch/architecture.h"
#include "arch/argument_rules.h"
#include "arch/opcode_masks.h"

#include <elf.h>

#include <algorithm>
#include <iterator>

namespace fastsdt {
namespace {

size_t absolute_width_arm(uint16_t, uint32_t type)
{
    return type == R_ARM_ABS32 ? 4 : 0;
}

// The registers of a class that must not be the program counter (decode_regs()), by the bits that hold their number.
enum No_pc : uint8_t {
    any_register = 0,
    rm = 1,          // bits 3-0
    rs = 2,          // 11-8
    rd = 4,          // 15-12
    rn = 8,          // 19-16
    rn_written = 16, // 19-16 if the instruction writes it back
};

struct Class {
    uint32_t mask, value;
    Verdict verdict;
    uint8_t no_pc;
    const char* why;
};

// In the order of the kernel's tables: the first match decides. An instruction that matches none is refused.
constexpr Class classes[] = {
    // arm_1111_table: unconditional
    {0xfe300000, 0xf4100000, emulate, any_register, "arm_1111_table: preload and memory hints"},
    {0xfe300010, 0xf6100000, emulate, any_register, "arm_1111_table: preload and memory hints"},
    {0xfe000000, 0xfa000000, emulate, any_register, "simulate_blx1()"},
    {0xf0000000, 0xf0000000, reject, any_register, "arm_1111_table: none of it"},
    // arm_cccc_0001_0xx0____0xxx_table: miscellaneous
    {0x0ff000f0, 0x01000000, emulate, rd, "simulate_mrs()"},
    {0x0ff000f0, 0x01200010, emulate, any_register, "simulate_blx2bx()"},
    {0x0ff000f0, 0x01200030, emulate, rm, "simulate_blx2bx()"},
    {0x0ff000f0, 0x01600010, xol, rd | rm, "PROBES_CLZ"},
    {0x0f9000f0, 0x01000050, xol, rn | rd | rm, "PROBES_SATURATING_ARITHMETIC"},
    {0x0f900080, 0x01000000, reject, any_register, "arm_cccc_0001_0xx0____0xxx_table: none of it"},
    // arm_cccc_0001_0xx0____1xx0_table: halfword multiply
    {0x0ff000b0, 0x012000a0, xol, rn | rs | rm, "PROBES_MUL2"},
    {0x0ff00090, 0x01600080, xol, rn | rs | rm, "PROBES_MUL2"},
    {0x0f900090, 0x01000080, xol, rn | rd | rs | rm, "PROBES_MUL1, PROBES_MUL2"},
    // arm_cccc_0000_____1001_table: multiply
    {0x0fe000f0, 0x00000090, xol, rn | rs | rm, "PROBES_MUL2"},
    {0x0ff000f0, 0x00500090, reject, any_register, "arm_cccc_0000_____1001_table: none of it"},
    {0x0ff000f0, 0x00700090, reject, any_register, "arm_cccc_0000_____1001_table: none of it"},
    {0x0f0000f0, 0x00000090, xol, rn | rd | rs | rm, "PROBES_MUL1, PROBES_MUL2"},
    {0x0f0000f0, 0x01000090, reject, any_register, "arm_cccc_0001_____1001_table: swap and exclusives"},
    // arm_cccc_000x_____1xx1_table: loads and stores of halfwords and doublewords
    {0x0f200090, 0x00200090, reject, any_register, "arm_cccc_000x_____1xx1_table: as an unprivileged user"},
    {0x0e10e0d0, 0x0000e0d0, reject, any_register, "arm_cccc_000x_____1xx1_table: a pair with pc"},
    {0x0e5000d0, 0x000000d0, xol, rn_written | rd | rm, "PROBES_LDRSTRD"},
    {0x0e5000d0, 0x004000d0, xol, rn_written | rd, "PROBES_LDRSTRD"},
    {0x0e5000f0, 0x000000b0, xol, rn_written | rd | rm, "PROBES_STORE_EXTRA"},
    {0x0e500090, 0x00100090, xol, rn_written | rd | rm, "PROBES_LOAD_EXTRA"},
    {0x0e5000f0, 0x004000b0, xol, rn_written | rd, "PROBES_STORE_EXTRA"},
    {0x0e500090, 0x00500090, xol, rn_written | rd, "PROBES_LOAD_EXTRA"},
    {0x0e000090, 0x00000090, reject, any_register, "arm_cccc_000x_____1xx1_table: none of it"},
    // arm_cccc_000x_table: data processing
    {0x0e10f000, 0x0010f000, reject, any_register, "arm_cccc_000x_table: writes pc and restores the status"},
    {0xffffffff, 0xe1a0c00d, emulate, any_register, "simulate_mov_ipsp()"},
    {0x0e000010, 0x00000000, xol, any_register, "PROBES_DATA_PROCESSING_REG"},
    {0x0f900090, 0x01100010, xol, rn | rs | rm, "PROBES_DATA_PROCESSING_REG"},
    {0x0fa00090, 0x01a00010, xol, rd | rs | rm, "PROBES_DATA_PROCESSING_REG"},
    {0x0e000090, 0x00000010, xol, rn | rd | rs | rm, "PROBES_DATA_PROCESSING_REG"},
    // arm_cccc_001x_table: with an immediate
    {0x0fb00000, 0x03000000, xol, rd, "PROBES_MOV_HALFWORD"},
    {0x0fff00ff, 0x03200001, xol, any_register, "PROBES_SEV: yield"},
    {0x0fff00ff, 0x03200004, xol, any_register, "PROBES_SEV"},
    {0x0fff00fc, 0x03200000, emulate, any_register, "PROBES_WFE: nop, wfe, wfi"},
    {0x0fb00000, 0x03200000, reject, any_register, "arm_cccc_001x_table: hint or msr"},
    {0x0e10f000, 0x0210f000, reject, any_register, "arm_cccc_001x_table: writes pc and restores the status"},
    {0x0e000000, 0x02000000, xol, any_register, "PROBES_DATA_PROCESSING_IMM"},
    // arm_cccc_0110_____xxx1_table, arm_cccc_0111_____xxx1_table: media
    {0x0ff000f0, 0x068000b0, xol, rn | rd | rm, "PROBES_SATURATE"},
    {0x0fa00030, 0x06a00010, xol, rd | rm, "PROBES_SATURATE"},
    {0x0fb000f0, 0x06a00030, xol, rd | rm, "PROBES_SATURATE"},
    {0x0fb00070, 0x06b00030, xol, rd | rm, "PROBES_REV"},
    {0x0fb00010, 0x06000010, reject, any_register, "arm_cccc_0110_____xxx1_table: undefined"},
    {0x0f8000f0, 0x060000b0, reject, any_register, "arm_cccc_0110_____xxx1_table: undefined"},
    {0x0f8000f0, 0x060000d0, reject, any_register, "arm_cccc_0110_____xxx1_table: undefined"},
    {0x0f800010, 0x06000010, xol, rn | rd | rm, "PROBES_MMI"},
    {0x0ff00030, 0x06800010, xol, rn | rd | rm, "PROBES_PACK"},
    {0x0fb000f0, 0x06900070, reject, any_register, "arm_cccc_0110_____xxx1_table: undefined"},
    {0x0f8f00f0, 0x068f0070, xol, rd | rm, "PROBES_EXTEND"},
    {0x0f8000f0, 0x06800070, xol, rn | rd | rm, "PROBES_EXTEND_ADD"},
    {0x0f000010, 0x06000010, reject, any_register, "arm_cccc_0110_____xxx1_table: none of it"},
    {0x0ff000f0, 0x07f000f0, reject, any_register, "arm_cccc_0111_____xxx1_table: undefined"},
    {0x0ff00090, 0x07400010, xol, rn | rd | rs | rm, "PROBES_MUL_ADD_LONG"},
    {0x0ff0f090, 0x0700f010, xol, rn | rs | rm, "PROBES_MUL_ADD"},
    {0x0ff0f0d0, 0x0750f010, xol, rn | rs | rm, "PROBES_MUL_ADD"},
    {0x0ff0f0f0, 0x0780f010, xol, rn | rs | rm, "PROBES_MUL_ADD"},
    {0x0ff00090, 0x07000010, xol, rn | rd | rs | rm, "PROBES_MUL_ADD"},
    {0x0ff000d0, 0x07500010, xol, rn | rd | rs | rm, "PROBES_MUL_ADD"},
    {0x0ff000f0, 0x07800010, xol, rn | rd | rs | rm, "PROBES_MUL_ADD"},
    {0x0ff000d0, 0x075000d0, xol, rn | rd | rs | rm, "PROBES_MUL_ADD"},
    {0x0fa00070, 0x07a00050, xol, rd | rm, "PROBES_BITFIELD"},
    {0x0fe0007f, 0x07c0001f, xol, rd, "PROBES_BITFIELD"},
    {0x0fe00070, 0x07c00010, xol, rd | rm, "PROBES_BITFIELD"},
    {0x0f000010, 0x07000010, reject, any_register, "arm_cccc_0111_____xxx1_table: none of it"},
    // arm_cccc_01xx_table: loads and stores of words and bytes
    {0x0c40f000, 0x0440f000, reject, any_register, "arm_cccc_01xx_table: a byte of pc"},
    {0x0d200000, 0x04200000, reject, any_register, "arm_cccc_01xx_table: as an unprivileged user"},
    {0x0e000000, 0x04000000, xol, rn_written, "PROBES_LOAD, PROBES_STORE"},
    {0x0e000000, 0x06000000, xol, rn_written | rm, "PROBES_LOAD, PROBES_STORE"},
    {0x0e400000, 0x08400000, reject, any_register, "arm_cccc_100x_table: user registers"},
    {0x0e0f0000, 0x080f0000, reject, any_register, "uprobe_decode_ldmstm(): by pc"},
    {0x0e00c000, 0x0800c000, reject, any_register, "uprobe_decode_ldmstm(): lr and pc"},
    {0x0e0e8000, 0x080e8000, reject, any_register, "uprobe_decode_ldmstm(): pc by lr"},
    {0x0e000000, 0x08000000, xol, any_register, "uprobe_decode_ldmstm()"},
    {0x0e000000, 0x0a000000, emulate, any_register, "simulate_bbl()"},
    {0, 0, reject, any_register, "probes_decode_arm_table: coprocessors and svc"},
};

bool has_pc(uint32_t insn, uint8_t no_pc)
{
    // is_writeback(): true unless there is an offset that is not written back
    const bool written = (insn & 0x01200000) != 0x01000000;
    const uint8_t shifts[] = {0, 8, 12, 16, 16};
    for (unsigned i = 0; i < std::size(shifts); ++i)
        if (no_pc >> i & 1 && (1u << i != rn_written || written) && (insn >> shifts[i] & 0xf) == 15)
            return true;
    return false;
}

Judgement judge_instruction(uint32_t insn)
{
    if ((insn & 0x0fffffff) == 0x07f001f9)
        return {Verdict::reject, "is_swbp_insn(): the file has a breakpoint here"};
    const Class& found = first_match(classes, insn);
    if (found.verdict != reject && has_pc(insn, found.no_pc))
        return {Verdict::reject, "decode_regs(): pc"};
    return {found.verdict, found.why};
}

// Only its nop gives Thumb code away. The kernel does not check: it decodes the bytes as ARM code.
bool is_thumb_nop(uint32_t insn)
{
    return (insn & 0xffff) == 0xbf00 || (insn & 0xffff) == 0x46c0;
}

Judgement judge_arm(Features, std::span<const std::byte> bytes, uint64_t vaddr)
{
    if (vaddr % 4)
        return {Verdict::reject, "arch_uprobe_analyze_insn(): address not aligned, \"Thumb not yet support\""};
    if (bytes.empty())
        return no_bytes;
    const uint32_t insn = first_bytes(bytes, 4, false);
    const Judgement judgement = judge_instruction(insn);
    if (is_thumb_nop(insn) && judgement.verdict != reject)
        return {Verdict::xol_unsafe, "set_swbp(): an ARM breakpoint in Thumb code; the program breaks"};
    return judgement;
}

bool is_libbpf_register_arm(std::string_view reg)
{
    return numbered(reg, "r", 10) || reg == "fp" || reg == "ip" || reg == "sp" || reg == "lr" || reg == "pc";
}

// [r5, #8], r5, #5
Reading libbpf_arm(Scan& scan)
{
    return libbpf_argument(scan, [](Scan& scan) { return libbpf_brackets(scan, true, is_libbpf_register_arm); });
}

constexpr OperandRules operands_arm{.gdb = true, .systemtap = true, .knows = [](Tracer tracer, std::string_view reg) {
                                        return numbered(reg, "r", tracer == Tracer::gdb ? 12 : 10) || reg == "sl"
                                            || reg == "fp" || reg == "ip" || reg == "sp" || reg == "lr" || reg == "pc";
                                    }};

} // namespace

const Architecture arch_arm{
    .arch = Arch::arm,
    .is = [](uint16_t machine, bool) { return machine == EM_ARM; },
    .absolute_width = absolute_width_arm,
    .judge = judge_arm,
    .libbpf = libbpf_arm,
    .others = [](Tracer tracer, const Argument& argument) { return read_operand(operands_arm, tracer, argument); }};

} // namespace fastsdt
