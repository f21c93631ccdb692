// SPDX-License-Identifier: BSD-2-Clause
//
// A list of what is allowed: an instruction that it does not have stays where it is.
#include "movable/instructions_x86.h"

#include <algorithm>

namespace fastsdt::x86 {
namespace {

struct Decoder : ZydisDecoder {
    Decoder() { ZydisDecoderInit(this, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64); }
};
const Decoder decoder;

bool allowed_category(ZydisInstructionCategory category)
{
    switch (category) {
    case ZYDIS_CATEGORY_ADOX_ADCX:
    case ZYDIS_CATEGORY_AES:
    case ZYDIS_CATEGORY_AVX:
    case ZYDIS_CATEGORY_AVX2:
    case ZYDIS_CATEGORY_AVX512:
    case ZYDIS_CATEGORY_BINARY:
    case ZYDIS_CATEGORY_BITBYTE:
    case ZYDIS_CATEGORY_BLEND:
    case ZYDIS_CATEGORY_BMI1:
    case ZYDIS_CATEGORY_BMI2:
    case ZYDIS_CATEGORY_BROADCAST:
    case ZYDIS_CATEGORY_CMOV:
    case ZYDIS_CATEGORY_CONVERT:
    case ZYDIS_CATEGORY_DATAXFER:
    case ZYDIS_CATEGORY_GFNI:
    case ZYDIS_CATEGORY_IFMA:
    case ZYDIS_CATEGORY_KMASK:
    case ZYDIS_CATEGORY_LOGICAL:
    case ZYDIS_CATEGORY_LOGICAL_FP:
    case ZYDIS_CATEGORY_LZCNT:
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_PCLMULQDQ:
    case ZYDIS_CATEGORY_POP:
    case ZYDIS_CATEGORY_PUSH:
    case ZYDIS_CATEGORY_ROTATE:
    case ZYDIS_CATEGORY_SETCC:
    case ZYDIS_CATEGORY_SHA:
    case ZYDIS_CATEGORY_SHIFT:
    case ZYDIS_CATEGORY_SSE:
    case ZYDIS_CATEGORY_STTNI:
    case ZYDIS_CATEGORY_VAES:
    case ZYDIS_CATEGORY_VFMA:
    case ZYDIS_CATEGORY_VPCLMULQDQ:
    case ZYDIS_CATEGORY_WIDENOP: return true;
    default: return false;
    }
}

// Instructions of those categories that are not what the others are: they store to where no operand says, or read or write
// the state of the processor. Zydis' lists of all instructions of these categories were looked through.
bool odd(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_MASKMOVDQU:
    case ZYDIS_MNEMONIC_MASKMOVQ:
    case ZYDIS_MNEMONIC_VMASKMOVDQU:
    case ZYDIS_MNEMONIC_PUSHF:
    case ZYDIS_MNEMONIC_PUSHFD:
    case ZYDIS_MNEMONIC_PUSHFQ:
    case ZYDIS_MNEMONIC_POPF:
    case ZYDIS_MNEMONIC_POPFD:
    case ZYDIS_MNEMONIC_POPFQ:
    case ZYDIS_MNEMONIC_XLAT:
    case ZYDIS_MNEMONIC_LDMXCSR:
    case ZYDIS_MNEMONIC_VLDMXCSR:
    case ZYDIS_MNEMONIC_FXSAVE:
    case ZYDIS_MNEMONIC_FXSAVE64:
    case ZYDIS_MNEMONIC_FXRSTOR:
    case ZYDIS_MNEMONIC_FXRSTOR64:
    case ZYDIS_MNEMONIC_XTEST:
    case ZYDIS_MNEMONIC_ENDBR32:
    case ZYDIS_MNEMONIC_ENDBR64: return true;
    default: return false;
    }
}

bool is_jcc(const Instruction& instruction)
{
    const bool wide = instruction.opcode_map == ZYDIS_OPCODE_MAP_0F && (instruction.opcode & 0xf0) == 0x80;
    const bool narrow = instruction.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && (instruction.opcode & 0xf0) == 0x70;
    return wide || narrow;
}

// Control flow. Prefixes that change nothing are left to who knows why they are there.
Moves moves_flow(const Instruction& instruction)
{
    const unsigned prefixes = instruction.raw.prefix_count;
    const auto only_prefix = [&](uint8_t value) { return prefixes == 1 && instruction.raw.prefixes[0].value == value; };
    if (instruction.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT) {
        switch (instruction.opcode) {
        case 0xe8: return prefixes == 0 ? Moves::as_call : Moves::never;
        case 0xe9:
        case 0xeb: return prefixes == 0 ? Moves::as_leaving : Moves::never;
        case 0xc2: return prefixes == 0 ? Moves::as_leaving : Moves::never;
        case 0xc3: return prefixes == 0 || only_prefix(0xf3) ? Moves::as_leaving : Moves::never;
        case 0xff: { // jmp *; behind rex or notrack
            const bool plain = prefixes == 0 || only_prefix(0x3e)
                || (prefixes == 1 && (instruction.raw.prefixes[0].value & 0xf0) == 0x40)
                || (prefixes == 2 && instruction.raw.prefixes[0].value == 0x3e
                    && (instruction.raw.prefixes[1].value & 0xf0) == 0x40);
            return instruction.jumps() && instruction.raw.modrm.reg == 4 && plain ? Moves::as_exit : Moves::never;
        }
        default: break;
        }
    }
    return instruction.branches() && is_jcc(instruction) && prefixes == 0 ? Moves::anywhere : Moves::never;
}

// Floating point: it is among these, together with what is not.
bool calculates_with_vectors(const Instruction& instruction)
{
    switch (instruction.meta.category) {
    case ZYDIS_CATEGORY_AVX:
    case ZYDIS_CATEGORY_AVX2:
    case ZYDIS_CATEGORY_AVX512:
    case ZYDIS_CATEGORY_CONVERT:
    case ZYDIS_CATEGORY_SSE:
    case ZYDIS_CATEGORY_VFMA: return true;
    default: return false;
    }
}

// x86-64-v1. Programs may try another, to learn from SIGILL whether there is such.
bool of_every_processor(const Instruction& instruction)
{
    switch (instruction.meta.isa_ext) {
    case ZYDIS_ISA_EXT_BASE:
    case ZYDIS_ISA_EXT_CET: // endbr: a nop elsewhere
    case ZYDIS_ISA_EXT_LONGMODE:
    case ZYDIS_ISA_EXT_MMX:
    case ZYDIS_ISA_EXT_SSE:
    case ZYDIS_ISA_EXT_SSE2: return true;
    default: return false;
    }
}

bool other_register(ZydisRegister reg)
{
    const ZydisRegisterClass kind = ZydisRegisterGetClass(reg);
    return kind != ZYDIS_REGCLASS_GPR8 && kind != ZYDIS_REGCLASS_GPR16 && kind != ZYDIS_REGCLASS_GPR32
        && kind != ZYDIS_REGCLASS_GPR64 && kind != ZYDIS_REGCLASS_XMM && kind != ZYDIS_REGCLASS_YMM
        && kind != ZYDIS_REGCLASS_ZMM && kind != ZYDIS_REGCLASS_MASK && kind != ZYDIS_REGCLASS_FLAGS;
}

} // namespace

bool decode(std::span<const std::byte> code, Instruction& instruction)
{
    return ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, nullptr, code.data(), code.size(), &instruction));
}

bool decode(std::span<const std::byte> code, Operands& instruction)
{
    return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code.data(), code.size(), &instruction, instruction.operands));
}

ZydisRegister whole(ZydisRegister part)
{
    return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, part);
}

bool Operands::writes(ZydisRegister reg) const
{
    return std::any_of(operands, operands + operand_count, [&](const ZydisDecodedOperand& operand) {
        return operand.type == ZYDIS_OPERAND_TYPE_REGISTER && operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE
            && whole(operand.reg.value) == reg;
    });
}

bool decode(std::span<const std::byte> code, uint64_t address, fastsdt::Instruction& instruction)
{
    Instruction from;
    if (!decode(code, from))
        return false;
    instruction = {};
    instruction.flow = from.calls() ? fastsdt::Instruction::call
        : from.returns()            ? fastsdt::Instruction::ret
        : from.jumps()              ? fastsdt::Instruction::jump
        : from.branches()           ? fastsdt::Instruction::branch
                                    : fastsdt::Instruction::next;
    instruction.length = from.length;
    instruction.nop = from.is_nop();
    instruction.padding = instruction.nop || from.is(ZYDIS_MNEMONIC_INT3);
    instruction.landing = from.is(ZYDIS_MNEMONIC_ENDBR64);
    instruction.stops = from.is(ZYDIS_MNEMONIC_UD2) || from.is(ZYDIS_MNEMONIC_HLT);
    instruction.system_call = from.is(ZYDIS_MNEMONIC_SYSCALL);
    if (from.direct()) {
        instruction.direct = true;
        instruction.target = from.target(address);
        return true;
    }
    const auto add = [&](uint64_t number) { instruction.numbers[instruction.number_count++] = number; };
    if (from.rip_relative()) {
        instruction.reference =
            from.is(ZYDIS_MNEMONIC_LEA) ? fastsdt::Instruction::address : fastsdt::Instruction::data;
        instruction.refers_to = from.refers_to(address);
    } else if (from.has_memory() && from.raw.disp.size == 32) {
        add(uint64_t(from.raw.disp.value));
    }
    for (const auto& immediate : from.raw.imm)
        if (immediate.size >= 32)
            add(immediate.value.u);
    return true;
}

Motion motion_of(const Image& image, std::span<const std::byte> code, uint64_t address)
{
    Motion motion;
    Operands instruction;
    if (!decode(code, instruction))
        return motion;
    const bool leave = instruction.is(ZYDIS_MNEMONIC_LEAVE);
    if (instruction.ends_block())
        motion.moves = moves_flow(instruction);
    else if ((allowed_category(instruction.meta.category) || leave || instruction.is(ZYDIS_MNEMONIC_LEA))
             && !odd(instruction.mnemonic))
        motion.moves = Moves::anywhere;
    // 32-bit addresses, and what is one access for other threads.
    if (instruction.address_width != 64
        || instruction.attributes & (ZYDIS_ATTRIB_HAS_LOCK | ZYDIS_ATTRIB_HAS_XACQUIRE | ZYDIS_ATTRIB_HAS_XRELEASE))
        motion.moves = Moves::never;
    if (motion.moves == Moves::never)
        return motion;

    if (instruction.is(ZYDIS_MNEMONIC_DIV) || instruction.is(ZYDIS_MNEMONIC_IDIV))
        motion.faults |= fault_division;
    if (calculates_with_vectors(instruction))
        motion.faults |= fault_floating;
    if (!of_every_processor(instruction))
        motion.faults |= fault_illegal;
    const bool touches =
        !instruction.is(ZYDIS_MNEMONIC_LEA) && !instruction.is_nop() && !instruction.is(ZYDIS_MNEMONIC_INT3);
    for (unsigned i = 0; i < instruction.operand_count; ++i) {
        const ZydisDecodedOperand& operand = instruction.operands[i];
        const bool shown = operand.visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN;
        if (shown && operand.type == ZYDIS_OPERAND_TYPE_REGISTER && other_register(operand.reg.value)) {
            motion.moves = Moves::never; // segment, control, debug and other registers
            return motion;
        }
        if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY)
            continue;
        if (instruction.is(ZYDIS_MNEMONIC_XCHG) || operand.mem.type == ZYDIS_MEMOP_TYPE_VSIB) {
            motion.moves = Moves::never; // locked without a prefix; many accesses
            return motion;
        }
        if (!touches || !shown) // hidden: the stack, by push, pop, call, ret and leave
            continue;
        const bool flat = operand.mem.segment != ZYDIS_REGISTER_FS && operand.mem.segment != ZYDIS_REGISTER_GS;
        const bool stack = operand.mem.base == ZYDIS_REGISTER_RSP && operand.mem.index == ZYDIS_REGISTER_NONE;
        const bool own = operand.mem.base == ZYDIS_REGISTER_RIP && image.mapped_at(instruction.refers_to(address));
        const bool far =
            instruction.meta.category == ZYDIS_CATEGORY_BITBYTE; // bt may access what is far from its operand
        if (!flat || far || (!stack && !own))
            motion.faults |= fault_memory;
    }
    return motion;
}

} // namespace fastsdt::x86
