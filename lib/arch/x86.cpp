// SPDX-License-Identifier: BSD-2-Clause
//
// What arch_uprobe_analyze_insn() of arch/x86/kernel/uprobes.c decides, function by function and under the kernel's
// names, so that the two can be read side by side. Order, as there:
//
//   prepare_uprobe()          a breakpoint in the file: reject
//   insn_decode()             not an instruction: reject
//   can_optimize()            6.18-7.1: a NOP of 5 bytes; 7.2+: the one NOP of 10 bytes, which skips the next check
//   uprobe_init_insn()        bad prefix or opcode: reject
//   branch_setup_xol_ops()    NOPs, relative jumps and calls: emulate (or reject, after a 66 prefix)
//   push_setup_xol_ops()      push of a register: emulate
//   everything else           xol
//
// The last three look at the opcode byte alone. After a VEX prefix that byte means another instruction: hence the
// unsafe verdicts.
//
// The prefixes and the opcode are read as arch/x86/lib/insn.c reads them; lengths, displacements and immediates come
// from Zydis. The two decoders disagree about encodings that no CPU executes, which is why Zydis is not asked for more.
#include "arch/architecture.h"
#include "arch/x86.h"

#include <Zydis/Zydis.h>
#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace fastsdt {
namespace {

constexpr size_t max_uinsn_bytes = 16; // MAX_UINSN_BYTES, arch/x86/include/asm/uprobes.h
constexpr size_t max_insn_size = 15;   // MAX_INSN_SIZE, arch/x86/include/asm/insn.h

using Code = std::array<uint8_t, max_uinsn_bytes>;

// struct insn: the fields that the rules below use.
struct Insn {
    bool x86_64 = false;
    std::array<uint8_t, 4> prefixes{}; // distinct legacy prefixes
    size_t prefix_count = 0;
    uint8_t last_prefix = 0;
    uint8_t rex = 0;  // 0: none; with REX2, its lower half
    uint8_t rex2 = 0; // REX2's upper half: M0 R4 X4 B4
    bool vex = false; // VEX, EVEX or XOP
    std::array<uint8_t, 2> opcode{};
    size_t opcode_bytes = 0; // 2: the second byte of an 0f opcode is in opcode[1]
    bool has_modrm = false;
    uint8_t modrm = 0;
    bool has_sib = false;
    uint8_t sib = 0;
    int64_t displacement = 0;
    int64_t immediate = 0;
    size_t length = 0; // 0: an encoding Zydis does not know
    unsigned operand_bytes = 4;

    bool has_prefix(uint8_t prefix) const
    {
        return std::find(prefixes.begin(), prefixes.begin() + prefix_count, prefix) != prefixes.begin() + prefix_count;
    }
    unsigned modrm_mod() const { return modrm >> 6; }
    unsigned modrm_reg() const { return modrm >> 3 & 7; } // without REX.R
    unsigned modrm_rm() const { return modrm & 7; }       // without REX.B
    // Bits 3 and 4 of register numbers.
    unsigned rex_r() const { return (rex >> 2 & 1) * 8 + (rex2 >> 2 & 1) * 16; }
    unsigned rex_x() const { return (rex >> 1 & 1) * 8 + (rex2 >> 1 & 1) * 16; }
    unsigned rex_b() const { return (rex & 1) * 8 + (rex2 & 1) * 16; }
    bool rex2_map_0f() const { return rex2 >> 3 & 1; } // opcode[0] is of the 0f map
    // opcode[0] is not of the one-byte map, but the kernel takes it for an opcode of that map.
    bool mistaken() const { return vex || rex2_map_0f(); }
};

bool is_legacy_prefix(uint8_t byte)
{
    switch (byte) {
    case 0x26:
    case 0x2e:
    case 0x36:
    case 0x3e:
    case 0x64:
    case 0x65: // segments
    case 0x66:
    case 0x67:
    case 0xf0:
    case 0xf2:
    case 0xf3: return true;
    default: return false;
    }
}

// inat_must_vex() of the two-byte opcodes: after these prefixes the map has a VEX or EVEX form only.
bool must_vex(const Insn& insn)
{
    const uint8_t p = insn.last_prefix;
    if (insn.opcode[1] >= 0x78 && insn.opcode[1] <= 0x7b)
        return p == 0x66 || p == 0xf2 || p == 0xf3;
    return p == 0xf2 && (insn.opcode[1] == 0x6f || insn.opcode[1] == 0x7f);
}

// Zydis knows VEX forms that x86-opcode-map.txt (6.1 to 7.2) does not have: AMD's FMA4, and Knights Corner's masks.
bool in_avx_maps(const ZydisDecodedInstruction& decoded)
{
    const uint8_t op = decoded.opcode;
    if (decoded.encoding != ZYDIS_INSTRUCTION_ENCODING_VEX)
        return true;
    if (decoded.opcode_map == ZYDIS_OPCODE_MAP_0F3A)
        return op != 0x48 && op != 0x49 && !(op >= 0x5c && op <= 0x5f) && !(op >= 0x68 && op <= 0x6f)
            && !(op >= 0x78 && op <= 0x7f);
    return !(decoded.opcode_map == ZYDIS_OPCODE_MAP_0F && (op == 0x84 || op == 0x85 || (op >= 0x94 && op <= 0x97)));
}

enum class Decoded { yes, no, unknown };

// Length and operands, from Zydis.
ZyanStatus read_operands(Insn& insn, const Code& code, ZydisDecodedInstruction& decoded)
{
    ZydisDecoder decoder;
    const ZyanStatus ready = insn.x86_64
        ? ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)
        : ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_COMPAT_32, ZYDIS_STACK_WIDTH_32);
    if (!ZYAN_SUCCESS(ready))
        return ready;
    // Minimal: no checks of what the kernel's decoder does not check, such as which instructions may be locked.
    ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
    const ZyanStatus status = ZydisDecoderDecodeInstruction(&decoder, nullptr, code.data(), max_insn_size, &decoded);
    if (!ZYAN_SUCCESS(status))
        return status;
    insn.length = decoded.length;
    insn.has_modrm = decoded.attributes & ZYDIS_ATTRIB_HAS_MODRM;
    if (insn.has_modrm)
        insn.modrm = code[decoded.raw.modrm.offset];
    insn.has_sib = decoded.attributes & ZYDIS_ATTRIB_HAS_SIB;
    if (insn.has_sib)
        insn.sib = code[decoded.raw.sib.offset];
    insn.displacement = decoded.raw.disp.value;
    insn.immediate = decoded.raw.imm[0].value.s;
    return status;
}

bool cut_off(ZyanStatus status)
{
    return status == ZYDIS_STATUS_NO_MORE_DATA || status == ZYDIS_STATUS_INSTRUCTION_TOO_LONG;
}

// A prefix that the kernel takes for an opcode; it has no operands.
bool is_prefix_as_opcode(uint8_t byte)
{
    return is_legacy_prefix(byte) || (byte & 0xf0) == 0x40 || byte == 0xc4 || byte == 0xc5 || byte == 0x62;
}

// REX2 (APX): d5, then M0 R4 X4 B4 W R3 X3 B3; M0 takes the opcode from the 0f map. Zydis 4.0 does not know it and is
// given the same instruction with REX, and 0f, instead.
Decoded decode_rex2(Insn& insn, const Code& code, size_t at)
{
    if (at + 2 >= max_insn_size)
        return Decoded::no;
    const uint8_t payload = code[at + 1], opcode = code[at + 2];
    insn.rex = 0x40 | (payload & 15);
    insn.rex2 = payload >> 4;
    if (payload & 8)
        insn.operand_bytes = 8;
    insn.opcode[0] = opcode;
    insn.opcode_bytes = 1;
    insn.length = at + 3;
    const bool escape = insn.rex2_map_0f() ? opcode == 0x38 || opcode == 0x3a : opcode == 0x0f || opcode == 0xd5;
    if (escape || (!insn.rex2_map_0f() && is_prefix_as_opcode(opcode)))
        return Decoded::yes;

    Code plain{};
    std::copy_n(code.begin(), at, plain.begin());
    size_t to = at;
    plain[to++] = insn.rex;
    if (insn.rex2_map_0f())
        plain[to++] = 0x0f;
    std::copy_n(code.begin() + at + 2, max_insn_size - (at + 2), plain.begin() + to);
    ZydisDecodedInstruction decoded;
    const ZyanStatus status = read_operands(insn, plain, decoded);
    if (!ZYAN_SUCCESS(status))
        return cut_off(status) ? Decoded::no : Decoded::unknown;
    insn.length = insn.length - to + (at + 2);
    return insn.length <= max_insn_size ? Decoded::yes : Decoded::no;
}

// insn_decode(), arch/x86/lib/insn.c.
Decoded insn_decode(Insn& insn, const Code& code, bool x86_64, Features features)
{
    insn.x86_64 = x86_64;

    // insn_get_prefixes(): the same prefix may repeat; a fifth different one is taken for the opcode.
    size_t at = 0;
    for (; at < max_insn_size && is_legacy_prefix(code[at]); ++at) {
        if (insn.has_prefix(code[at])) {
            insn.last_prefix = code[at];
            continue;
        }
        if (insn.prefix_count == insn.prefixes.size())
            break;
        insn.last_prefix = code[at];
        insn.prefixes[insn.prefix_count++] = code[at];
        if (code[at] == 0x66)
            insn.operand_bytes = 2;
    }
    if (at == max_insn_size)
        return Decoded::no;
    if (x86_64 && (code[at] & 0xf0) == 0x40) {
        insn.rex = code[at++];
        if (insn.rex & 8)
            insn.operand_bytes = 8;
    } else if (x86_64 && code[at] == 0xd5 && features.has(Feature::decode_rex2)) {
        return decode_rex2(insn, code, at);
    }
    if (at >= max_insn_size)
        return Decoded::no;
    const uint8_t next = code[at];
    // VEX, EVEX, and XOP where 8f is not pop. In 32-bit mode these are lds, les and bound (and, to the kernel, pop)
    // unless the next byte has the bits of a register operand.
    const uint8_t second = at + 1 < max_insn_size ? code[at + 1] : 0;
    const bool xop = features.has(Feature::decode_xop) && next == 0x8f && (second >> 3 & 7) != 0;
    // Since the decoder knows XOP, a REX prefix before these bytes makes them plain opcodes.
    insn.vex = (next == 0xc4 || next == 0xc5 || next == 0x62 || xop) && (x86_64 || second >> 6 == 3)
        && !(insn.rex && features.has(Feature::decode_xop));
    // The byte after the prefixes is the opcode. If it is one more prefix, it has no operands.
    if (x86_64 ? is_prefix_as_opcode(next) && !insn.vex : is_legacy_prefix(next)) {
        insn.opcode[0] = next;
        insn.opcode_bytes = 1;
        insn.length = at + 1;
        return Decoded::yes;
    }

    ZydisDecodedInstruction decoded;
    const ZyanStatus status = read_operands(insn, code, decoded);
    if (insn.vex) {
        if (!insn.length)
            return Decoded::unknown; // the kernel's maps may be newer than Zydis
        insn.opcode = {decoded.opcode, 0};
        insn.opcode_bytes = 1;
        return in_avx_maps(decoded) ? Decoded::yes : Decoded::no;
    }
    insn.opcode[0] = next;
    insn.opcode_bytes = 1;
    if (next == 0x0f) {
        if (at + 1 >= max_insn_size)
            return Decoded::no;
        insn.opcode[1] = code[at + 1];
        insn.opcode_bytes = insn.opcode[1] == 0x38 || insn.opcode[1] == 0x3a ? 3 : 2;
        // The kernel goes by the last prefix, Zydis by any: without 66, 0f 38 f5 is the VEX instruction bzhi.
        if (insn.opcode[1] == 0x38 && at + 2 < max_insn_size && code[at + 2] == 0xf5 && insn.last_prefix != 0x66)
            return Decoded::no;
    }
    if (!insn.length) {
        if (cut_off(status))
            return Decoded::no;
        // Undefined opcodes decode too. The maps of three-byte opcodes have too many exceptions to list here.
        if (insn.opcode_bytes == 3)
            return Decoded::unknown;
    }
    if (insn.opcode_bytes == 2 && must_vex(insn))
        return Decoded::no;
    return Decoded::yes;
}

// One row of 16 opcodes, lowest opcode first, as in the kernel's W() tables.
using OpcodeRow = std::array<bool, 16>;

// good_insns_32: what may be probed in a 32-bit process.
constexpr std::array<OpcodeRow, 16> good_insns_32 = {{
    /*       0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f */
    /* 00 */ {1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1},
    /* 10 */ {1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 0},
    /* 20 */ {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
    /* 30 */ {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
    /* 40 */ {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
    /* 50 */ {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
    /* 60 */ {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
    /* 70 */ {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
    /* 80 */ {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
    /* 90 */ {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
    /* a0 */ {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
    /* b0 */ {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
    /* c0 */ {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
    /* d0 */ {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
    /* e0 */ {1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0},
    /* f0 */ {1, 0, 1, 1, 0, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1},
}};

// good_insns_64: what may be probed in a 64-bit process. 0f is good in both tables, so the kernel never looks into its
// good_2byte_insns (6.1 to 7.2): that table has no counterpart here.
constexpr std::array<OpcodeRow, 16> good_insns_64 = {{
    /*       0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f */
    /* 00 */ {1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 0, 1},
    /* 10 */ {1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0},
    /* 20 */ {1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 0},
    /* 30 */ {1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 0},
    /* 40 */ {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
    /* 50 */ {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
    /* 60 */ {0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
    /* 70 */ {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
    /* 80 */ {1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
    /* 90 */ {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1},
    /* a0 */ {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
    /* b0 */ {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
    /* c0 */ {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
    /* d0 */ {1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1},
    /* e0 */ {1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 0, 1, 0, 0, 0, 0},
    /* f0 */ {1, 0, 1, 1, 0, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1},
}};

bool is_prefix_bad(const Insn& insn)
{
    for (uint8_t bad : {0x26, 0x2e, 0x36, 0x3e, 0xf0})
        if (insn.has_prefix(bad))
            return true;
    return false;
}

// insn_masking_exception(), arch/x86/include/asm/insn.h: mov to %ss holds back the single-step trap. Its POP_SS_OPCODE
// is 1f, which is pop %ds; no opcode table has either.
bool insn_masking_exception(const Insn& insn)
{
    return insn.opcode[0] == 0x1f || (insn.opcode[0] == 0x8e && insn.modrm_reg() == 2);
}

// Why the instruction is refused; empty: it is accepted.
std::string_view uprobe_init_insn(const Insn& insn)
{
    if (is_prefix_bad(insn))
        return "is_prefix_bad(): es, cs, ss, ds or lock prefix";
    if (insn_masking_exception(insn))
        return "insn_masking_exception(): write to %ss";
    const auto& good = insn.x86_64 ? good_insns_64 : good_insns_32;
    if (!good[insn.opcode[0] >> 4][insn.opcode[0] & 15])
        return insn.x86_64 ? "uprobe_init_insn(): opcode not in good_insns_64"
                           : "uprobe_init_insn(): opcode not in good_insns_32";
    return {};
}

// x86_nops[] up to ASM_NOP_MAX, which is 8 (arch/x86/include/asm/nops.h, 6.16 to 6.18).
bool in_x86_nops(const Insn& insn, const Code& code)
{
    static constexpr uint8_t nops[9][8] = {{},
                                           {0x90},
                                           {0x66, 0x90},
                                           {0x0f, 0x1f, 0x00},
                                           {0x0f, 0x1f, 0x40},
                                           {0x0f, 0x1f, 0x44},
                                           {0x66, 0x0f, 0x1f, 0x44},
                                           {0x0f, 0x1f, 0x80},
                                           {0x0f, 0x1f, 0x84}};
    return insn.length && insn.length < std::size(nops) && !std::memcmp(code.data(), nops[insn.length], insn.length);
}

// insn_is_nop() and insn_is_nopl() of 6.18's uprobes.c, which only can_optimize() asks.
bool insn_is_nop_6_18(const Insn& insn)
{
    if (insn.opcode_bytes == 1 && insn.opcode[0] == 0x90)
        return true;
    return insn.opcode_bytes == 2 && insn.opcode[0] == 0x0f && insn.opcode[1] == 0x1f && insn.has_modrm
        && insn.modrm_reg() == 0;
}

// insn_is_nop(), arch/x86/lib/insn-eval.c, 6.19+.
bool insn_is_nop(Insn& insn)
{
    if (insn.vex)
        return false;
    // The kernel writes the escape byte into its struct insn, so that later checks find opcode 0f.
    if (insn.rex2_map_0f())
        insn.opcode = {0x0f, insn.opcode[0]};
    const unsigned reg = insn.modrm_reg() + insn.rex_r();
    unsigned rm = insn.modrm_rm() + insn.rex_b();
    const unsigned scale = insn.sib >> 6, index = (insn.sib >> 3 & 7) + insn.rex_x();
    if (insn.has_sib)
        rm = (insn.sib & 7) + insn.rex_b();
    const bool native_size = insn.operand_bytes == (insn.x86_64 ? 8 : 4);

    switch (insn.opcode[0]) {
    case 0x89: // mov %reg, %reg
        return insn.has_modrm && insn.modrm_mod() == 3 && native_size && reg == rm;
    case 0x8d: // lea 0(%reg), %reg
        if (!insn.has_modrm || insn.modrm_mod() == 0 || insn.modrm_mod() == 3 || !native_size || insn.displacement)
            return false;
        if (insn.has_sib && (scale != 0 || index != 4))
            return false;
        for (size_t i = 0; i < insn.prefix_count; ++i)
            if (insn.prefixes[i] != 0x3e)
                return false;
        return reg == rm;
    case 0x90: // nop, but neither xchg %r8, %rax nor pause
        return !insn.rex_b() && !insn.has_prefix(0xf3);
    case 0xe9: // jmp +0
    case 0xeb: return insn.immediate == 0;
    case 0x0f: return insn.opcode[1] == 0x1f && insn.has_modrm && reg == 0; // nopl
    default: return false;
    }
}

bool in_one_page(uint64_t vaddr, uint64_t length)
{
    return uprobe_page - vaddr % uprobe_page >= length;
}

// The opcodes that branch_setup_xol_ops() knows: jmp, call and jcc. A long jcc is 0f, then the short form's opcode +
// 0x10.
bool is_relative_branch(const Insn& insn)
{
    auto is_cond_jmp_opcode = [](uint8_t opcode) { return opcode >= 0x70 && opcode <= 0x7f; };
    switch (insn.opcode[0]) {
    case 0xeb:
    case 0xe9:
    case 0xe8: return true;
    case 0x0f: return insn.opcode_bytes == 2 && is_cond_jmp_opcode(insn.opcode[1] - 0x10);
    default: return is_cond_jmp_opcode(insn.opcode[0]);
    }
}

// The end of arch_uprobe_analyze_insn(): it decides what default_post_xol_op() must correct after the single step.
Judgement default_xol_ops(const Insn& insn)
{
    if (insn.mistaken())
        switch (insn.opcode[0]) {
        case 0x9d:
            return {Verdict::xol_unsafe,
                    "arch_uprobe_analyze_insn(): takes the opcode after the VEX prefix for popf; "
                    "SIGTRAP ends the program"};
        case 0xc2:
        case 0xc3:
        case 0xca:
        case 0xcb:
        case 0xea:
            return {Verdict::xol_unsafe,
                    "arch_uprobe_analyze_insn(): takes the opcode after the VEX prefix for ret; the "
                    "program goes on in the out-of-line copy"};
        case 0x9a:
            return {Verdict::xol_unsafe,
                    "arch_uprobe_analyze_insn(): takes the opcode after the VEX prefix for call; "
                    "the top of the stack is overwritten"};
        default: break;
        }
    return {Verdict::xol, "arch_uprobe_analyze_insn(): default_xol_ops"};
}

// For a 64-bit process (x32 too) or a 32-bit one, both on a 64-bit kernel.
Judgement judge_x86(Features features, bool mode64, std::span<const std::byte> bytes, uint64_t vaddr)
{
    if (bytes.empty())
        return {Verdict::reject, "copy_insn(): no byte of the file at this offset"};
    Code code{}; // copy_insn(): bytes past the end of the file are zero
    std::memcpy(code.data(), bytes.data(), std::min(bytes.size(), code.size()));
    if (code[0] == 0xcc)
        return {Verdict::reject, "prepare_uprobe(): the file has a breakpoint here"};

    Insn insn;
    switch (insn_decode(insn, code, mode64, features)) {
    case Decoded::no: return {Verdict::reject, "insn_decode(): not an instruction"};
    case Decoded::unknown: return {Verdict::unknown, "not an instruction that the decoder behind the model knows"};
    case Decoded::yes: break;
    }

    // can_optimize()
    const bool nop10 = features.has(Feature::optimize_nop10) && mode64 && insn.length == 10 && insn_is_nop(insn)
        && code[0] == 0x66 && code[1] == 0x2e && code[2] == 0x0f && code[3] == 0x1f && code[4] == 0x84;
    if (nop10 && in_one_page(vaddr, 10))
        return {Verdict::optimize, "can_optimize(): the 10-byte NOP, inside one page"};
    if (auto why = uprobe_init_insn(insn); !why.empty()) {
        if (nop10)
            return {Verdict::reject, "can_optimize(): the 10-byte NOP crosses a page, and is_prefix_bad() refuses it"};
        return {Verdict::reject, std::string(why)};
    }
    if (features.has(Feature::optimize) && !features.has(Feature::optimize_nop10) && mode64 && insn.length == 5
        && (features.has(Feature::insn_is_nop) ? insn_is_nop(insn) : insn_is_nop_6_18(insn)) && in_one_page(vaddr, 5))
        return {Verdict::optimize_unsafe,
                "can_optimize(): a 5-byte NOP becomes a call, which overwrites the red zone and breaks fork()"};

    // branch_setup_xol_ops()
    const bool branch = is_relative_branch(insn);
    if (features.has(Feature::insn_is_nop) && insn_is_nop(insn))
        return {Verdict::emulate, "insn_is_nop(): a NOP"};
    if (features.has(Feature::emulate_endbr) && insn.length == 4 && code[0] == 0xf3 && code[1] == 0x0f
        && code[2] == 0x1e && (code[3] | 1) == 0xfb)
        return {Verdict::emulate, "branch_setup_xol_ops(): insn_is_endbr, a patch"};
    if (features.has(Feature::nop_table) && in_x86_nops(insn, code))
        return {Verdict::emulate, "branch_setup_xol_ops(): in x86_nops[]"};
    if (!features.has(Feature::insn_is_nop) && insn.opcode[0] == 0x90 && insn.mistaken())
        return {Verdict::emulate_unsafe,
                "branch_setup_xol_ops(): takes the opcode after the VEX prefix for a NOP; its effect is lost"};
    if (!features.has(Feature::insn_is_nop) && insn.opcode[0] == 0x90 && insn.rex_b())
        return {Verdict::emulate_unsafe, "branch_setup_xol_ops(): takes xchg %rax,%r8 for a NOP; its effect is lost"};
    if (!features.has(Feature::insn_is_nop) && insn.opcode[0] == 0x90)
        return {Verdict::emulate, "branch_setup_xol_ops(): opcode 90 is a NOP"};
    if (branch) {
        if (insn.has_prefix(0x66))
            return {Verdict::reject, "branch_setup_xol_ops(): a branch with a 66 prefix"};
        if (insn.mistaken())
            return {Verdict::emulate_unsafe,
                    "branch_setup_xol_ops(): takes the opcode after the VEX prefix for a branch; its effect is lost"};
        return {Verdict::emulate, "branch_setup_xol_ops(): a relative branch"};
    }

    // push_setup_xol_ops()
    if (insn.opcode[0] >= 0x50 && insn.opcode[0] <= 0x57
        && (insn.length == 1 || (insn.length == 2 && insn.rex == 0x41)))
        return {Verdict::emulate, "push_setup_xol_ops(): push of a register"};

    return default_xol_ops(insn);
}

// Where struct pt_regs (arch/x86/include/asm/ptrace.h) has a register, in words.
std::optional<size_t> register_word_x86(std::string_view name)
{
    struct Names {
        std::string_view names[4];
        size_t word;
    };
    static constexpr Names table[] = {{{"r15", "r15d", "r15w", "r15b"}, 0}, {{"r14", "r14d", "r14w", "r14b"}, 1},
                                      {{"r13", "r13d", "r13w", "r13b"}, 2}, {{"r12", "r12d", "r12w", "r12b"}, 3},
                                      {{"rbp", "ebp", "bp", "bpl"}, 4},     {{"rbx", "ebx", "bx", "bl"}, 5},
                                      {{"r11", "r11d", "r11w", "r11b"}, 6}, {{"r10", "r10d", "r10w", "r10b"}, 7},
                                      {{"r9", "r9d", "r9w", "r9b"}, 8},     {{"r8", "r8d", "r8w", "r8b"}, 9},
                                      {{"rax", "eax", "ax", "al"}, 10},     {{"rcx", "ecx", "cx", "cl"}, 11},
                                      {{"rdx", "edx", "dx", "dl"}, 12},     {{"rsi", "esi", "si", "sil"}, 13},
                                      {{"rdi", "edi", "di", "dil"}, 14},    {{"rsp", "esp", "sp", "spl"}, 19}};
    if (name.starts_with('%'))
        name.remove_prefix(1);
    for (const Names& row : table)
        if (std::find(std::begin(row.names), std::end(row.names), name) != std::end(row.names))
            return row.word;
    return {};
}

} // namespace

const Architecture arch_x86_64{
    .arch = Arch::x86_64,
    .is = [](uint16_t machine, bool) { return machine == EM_X86_64; },
    .absolute_width = [](uint16_t, uint32_t type) -> size_t {
        return type == R_X86_64_64 ? 8 : type == R_X86_64_32 || type == R_X86_64_32S ? 4 : 0;
    },
    .judge = [](Features features, std::span<const std::byte> bytes,
                uint64_t vaddr) { return judge_x86(features, true, bytes, vaddr); },
    .libbpf = [](Scan& scan) { return libbpf_x86(scan, true); },
    .others = [](Tracer tracer, const Argument& argument) { return read_operand_x86(tracer, argument, true); },
    .register_word = register_word_x86};

const Architecture arch_i386{
    .arch = Arch::i386,
    .is = [](uint16_t machine, bool) { return machine == EM_386; },
    .absolute_width = [](uint16_t, uint32_t type) -> size_t { return type == R_386_32 ? 4 : 0; },
    .judge = [](Features features, std::span<const std::byte> bytes,
                uint64_t vaddr) { return judge_x86(features, false, bytes, vaddr); },
    .libbpf = [](Scan& scan) { return libbpf_x86(scan, false); },
    .others = [](Tracer tracer, const Argument& argument) { return read_operand_x86(tracer, argument, false); }};

} // namespace fastsdt
