// SPDX-License-Identifier: BSD-2-Clause
// What stands at a function's entry in the finished code.
#include "codegen.h"

#include <llvm/CodeGen/MachineFrameInfo.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetRegisterInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalIFunc.h>
#include <llvm/IR/Metadata.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>

using namespace llvm;

namespace fastprobe {
namespace {

StringRef opcode_name(const MachineInstr& instruction)
{
    return instruction.getMF()->getSubtarget().getInstrInfo()->getName(instruction.getOpcode());
}

StringRef register_name(const MachineInstr& instruction, unsigned operand)
{
    const MachineOperand& o = instruction.getOperand(operand);
    if (!o.isReg())
        return "";
    return instruction.getMF()->getSubtarget().getRegisterInfo()->getName(o.getReg());
}

/// asm("" ::: "memory"), or nothing but a comment.
bool is_empty_asm(const MachineInstr& instruction)
{
    const char* text = asm_text(instruction);
    const MachineFunction& mf = *instruction.getMF();
    return text && mf.getSubtarget().getInstrInfo()->getInlineAsmLength(text, *mf.getTarget().getMCAsmInfo()) == 0;
}

bool emits_nothing(const MachineInstr& instruction)
{
    return instruction.isMetaInstruction() || is_empty_asm(instruction) || instruction.isPosition()
        || instruction.isCFIInstruction() || opcode_name(instruction) == "EMITBKEY"
        || opcode_name(instruction) == "EMITMTETAGGED";
}

/// x86: is this option of LLVM on the command line?
bool given(StringRef name)
{
    const auto& options = cl::getRegisteredOptions();
    const auto option = options.find(name);
    return option != options.end() && option->second->getNumOccurrences() > 0;
}

/// The names of LLVM's opcodes are no interface; an unknown one is "other", which costs a nop and is never wrong.
/// arm64's nop has an opcode of its own from LLVM 22 on; before, it is a HINT.
bool is_arm64_nop(const MachineInstr& instruction)
{
    const StringRef name = opcode_name(instruction);
    return name == "NOP" || (name == "HINT" && instruction.getOperand(0).getImm() == 0);
}

First classify(const MachineInstr& instruction, Arch arch)
{
    if (arch == Arch::x86_64 && assembler_pads(instruction))
        return First::other;
    // XRay's sled begins with a jump over itself. (-fpatchable-function-entry is skipped.)
    if (instruction.getOpcode() == TargetOpcode::PATCHABLE_FUNCTION_ENTER)
        return First::branch;
    const StringRef name = opcode_name(instruction);
    auto is = [&](std::initializer_list<StringRef> names) { return is_contained(names, name); };
    if (arch == Arch::x86_64) {
        if (name == "PUSH64r")
            return register_name(instruction, 0) == "RBP" ? First::frame_push : First::other_push;
        if (is({"JMP_1", "JMP_4", "TAILJMPd64"}))
            return First::branch;
        if (is({"CALL64pcrel32", "FENTRY_CALL"}))
            return First::call;
        if (name == "NOOP")
            return First::nop;
        return First::other;
    }
    if (name == "STPXpre" && register_name(instruction, 1) == "FP" && register_name(instruction, 2) == "LR")
        return First::frame_push;
    if (is({"B", "BR", "RET", "RET_ReallyLR", "TCRETURNdi", "CBZW", "CBZX", "CBNZW", "CBNZX", "TBZW", "TBZX", "TBNZW",
            "TBNZX"}))
        return First::branch;
    if (is({"BL", "BLR"}))
        return First::call;
    if (is_arm64_nop(instruction))
        return First::nop;
    if (is({"ADR", "ADRP"}) && instruction.getNumOperands() > 1) {
        const MachineOperand& target = instruction.getOperand(1);
        // Linkers rewrite the TLS forms.
        if (!target.isGlobal() || !target.getGlobal()->isThreadLocal())
            return First::address;
    }
    return First::other;
}

/// endbr64 or bti. paciasp is a landing pad as well, but behind it x30 is signed, and a return probe would
/// break the function: the nop goes before it, and LLVM then puts a bti c first by itself.
bool is_landing_pad(const MachineInstr& instruction, Arch arch)
{
    if (arch == Arch::x86_64)
        return opcode_name(instruction) == "ENDBR64";
    if (opcode_name(instruction) != "HINT")
        return false;
    const int64_t hint = instruction.getOperand(0).getImm();
    return hint == 32 || hint == 34 || hint == 36 || hint == 38;
}

bool is_ifunc_resolver(const Function& function)
{
    for (const GlobalIFunc& ifunc : function.getParent()->ifuncs())
        if (ifunc.getResolver()->stripPointerCasts() == &function)
            return true;
    return false;
}

/// As the GCC plugin says it, where both know the instruction; else LLVM's name of it.
std::string describe(const MachineInstr& instruction, Arch arch, First first)
{
    const bool x86 = arch == Arch::x86_64;
    switch (first) {
    case First::nop: return "nop";
    case First::frame_push: return x86 ? "push %rbp" : "stp x29, x30, [sp, #-N]!";
    case First::other_push: return "push";
    case First::branch: return x86 ? "jmp" : "b";
    case First::call: return x86 ? "call" : "bl";
    case First::address: return "adrp";
    default: return instruction.isInlineAsm() ? "asm" : opcode_name(instruction).str();
    }
}

/// Bytes of arguments that the caller put on the stack.
std::optional<uint64_t> stack_bytes(const MachineFunction& mf)
{
    if (mf.getFunction().isVarArg())
        return std::nullopt;
    const MachineFrameInfo& frame = mf.getFrameInfo();
    int64_t end = 0; // offsets of incoming objects count from the last argument; saved registers are below
    for (int i = frame.getObjectIndexBegin(); i < 0; i++)
        if (!frame.isDeadObjectIndex(i) && frame.getObjectOffset(i) >= 0)
            end = std::max(end, frame.getObjectOffset(i) + static_cast<int64_t>(frame.getObjectSize(i)));
    return (static_cast<uint64_t>(end) + 7) & ~uint64_t{7};
}

/// What LLVM emits around the function's address that is no instruction. KCFI's type comes with padding of its own.
void add_constants(const MachineFunction& mf, EntryFacts& front)
{
    const Function& function = mf.getFunction();
    const auto size = [&](const Constant* constant) {
        return static_cast<unsigned>(mf.getDataLayout().getTypeAllocSize(constant->getType()));
    };
    if (function.hasPrefixData())
        front.prefix += size(function.getPrefixData());
    if (function.hasPrologueData()) // -fsanitize=function up to LLVM 14
        front.lead += size(function.getPrologueData());
#if LLVM_VERSION_MAJOR >= 15 // -fsanitize=function: a signature and the function's type
    if (const MDNode* type = function.getMetadata(LLVMContext::MD_func_sanitize); type && type->getNumOperands() == 2) {
        const unsigned signature = size(mdconst::extract<Constant>(type->getOperand(0)));
        if (LLVM_VERSION_MAJOR >= 17)
            front.prefix += signature + size(mdconst::extract<Constant>(type->getOperand(1)));
        else
            front.lead += signature + 4;
    }
#endif
}

bool signs_return_address(const MachineInstr& instruction)
{
    return opcode_name(instruction).take_front(4) == "PACI" || opcode_name(instruction) == "PAUTH_PROLOGUE";
}

} // namespace

const char* asm_text(const MachineInstr& instruction)
{
    if (!instruction.isInlineAsm())
        return nullptr;
    for (const MachineOperand& operand : instruction.operands())
        if (operand.isSymbol())
            return operand.getSymbolName();
    return nullptr;
}

/// Why nobody may change this entry, or null. Such a function has no record either, only a line in the report.
const char* skip_reason(const Function& function)
{
    if (function.hasFnAttribute(Attribute::Naked))
        return "naked: its code is the user's own";
    if (function.hasFnAttribute("patchable-function-entry") || function.hasFnAttribute("patchable-function-prefix"))
        return "-fpatchable-function-entry: the entry belongs to whoever patches it";
    if (function.hasFnAttribute("patchable-function"))
        return "hot patching: the first instruction belongs to whoever patches it";
    if (function.hasFnAttribute("split-stack"))
        return "-fsplit-stack: linkers look for the stack check at the function's first byte";
    if (is_ifunc_resolver(function))
        return "ifunc resolver: runs before the program is relocated";
    if (function.getCallingConv() == CallingConv::X86_INTR)
        return "interrupt handler: no return address at the entry";
    if (function.getCallingConv() == CallingConv::GHC)
        return "GHC's calling convention: no return address at the entry";
    if (given("x86-pad-max-prefix-size"))
        return "-mpad-max-prefix-size: the assembler may put prefixes on what stands there";
    if (function.getName().contains(".cold."))
        return "outlined cold part: not an entry of its own";
    return nullptr;
}

bool assembler_pads(const MachineInstr& instruction)
{
    static const bool jumps = given("x86-branches-within-32B-boundaries"), all = given("x86-align-branch-boundary");
    return (all && (instruction.isBranch() || instruction.isCall() || instruction.isReturn()))
        || (jumps && (instruction.isBranch() || instruction.isCall()));
}

bool is_reserved_nop(const MachineInstr& instruction)
{
    return is_arm64_nop(instruction) && instruction.getFlag(MachineInstr::FrameSetup);
}

EntryScan look_at_beginning(MachineFunction& mf, Arch arch)
{
    const Function& function = mf.getFunction();
    EntryScan beginning;
    beginning.skip = skip_reason(function);
    beginning.front.own_section =
        mf.getTarget().getFunctionSections() || function.hasComdat() || function.hasSection() || mf.hasBBSections();
    beginning.front.returns_twice = function.hasFnAttribute(Attribute::ReturnsTwice);
    beginning.front.stack_bytes = stack_bytes(mf);
    add_constants(mf, beginning.front);

    MachineBasicBlock& entry = mf.front();
    beginning.at = entry.end();
    bool landing = true;
    for (MachineBasicBlock& block : mf) {
        if (!beginning.first)
            beginning.front.branch_target |= &block == &entry ? !block.pred_empty() : block.pred_size() > 1;
        for (MachineInstr& instruction : block) {
            if (emits_nothing(instruction) || is_exit_site(instruction))
                continue;
            const bool may_be_first = !beginning.first && &block == &entry;
            if (may_be_first && !beginning.front.nop_reserved && arch == Arch::arm64 && is_reserved_nop(instruction)) {
                beginning.front.nop_reserved = true;
                beginning.at = instruction.getIterator();
                landing = false;
                continue;
            }
            if (landing && may_be_first && is_landing_pad(instruction, arch)) {
                landing = false;
                beginning.front.lead += landing_pad_size;
                continue;
            }
            beginning.instructions++;
            if (beginning.first)
                continue;
            beginning.first = &instruction;
            if (may_be_first && !beginning.front.nop_reserved)
                beginning.at = instruction.getIterator();
            beginning.front.first = classify(instruction, arch);
            // paciasp was the landing pad. LLVM puts a bti c in front of a nop by itself.
            if (beginning.front.nop_reserved && beginning.front.lead >= landing_pad_size
                && signs_return_address(instruction)) {
                beginning.front.lead -= landing_pad_size;
                beginning.front.pad_with_nop = landing_pad_size;
            }
        }
    }
    if (!beginning.first && !beginning.skip)
        beginning.skip = "no instructions: the next function begins here";
    return beginning;
}

std::string EntryScan::describe(Arch arch) const
{
    return first ? ::fastprobe::describe(*first, arch, front.first) : "nothing";
}

} // namespace fastprobe
