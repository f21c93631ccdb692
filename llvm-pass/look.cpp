// SPDX-License-Identifier: BSD-2-Clause
// What stands at a function's entry in the finished code.
#include "codegen.h"

#include <llvm/CodeGen/MachineFrameInfo.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetRegisterInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/GlobalIFunc.h>
#include <llvm/IR/Module.h>

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

bool emits_nothing(const MachineInstr& instruction)
{
    return instruction.isMetaInstruction() || instruction.isPosition() || instruction.isCFIInstruction()
        || opcode_name(instruction) == "EMITBKEY" || opcode_name(instruction) == "EMITMTETAGGED";
}

/// Names of LLVM's opcodes are not interface; an unknown one is "other", which costs a nop and is never wrong.
/// An opcode of its own from LLVM 22 on, a HINT before.
bool is_arm64_nop(const MachineInstr& instruction)
{
    const StringRef name = opcode_name(instruction);
    return name == "NOP" || (name == "HINT" && instruction.getOperand(0).getImm() == 0);
}

First classify(const MachineInstr& instruction, Arch arch)
{
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

/// Of endbr64 or bti; 0: none. paciasp is a landing pad as well, but behind it x30 is signed, and a return probe would
/// break the function: the nop goes before it, and LLVM then puts a bti c first by itself.
unsigned landing_pad_size(const MachineInstr& instruction, Arch arch)
{
    if (arch == Arch::x86_64)
        return opcode_name(instruction) == "ENDBR64" ? 4 : 0;
    if (opcode_name(instruction) != "HINT")
        return 0;
    const int64_t hint = instruction.getOperand(0).getImm();
    return hint == 32 || hint == 34 || hint == 36 || hint == 38 ? 4 : 0;
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
    int64_t end = 0; // offsets of incoming objects count from the last argument; what is below are saved registers
    for (int i = frame.getObjectIndexBegin(); i < 0; i++)
        if (!frame.isDeadObjectIndex(i) && frame.getObjectOffset(i) >= 0)
            end = std::max(end, frame.getObjectOffset(i) + static_cast<int64_t>(frame.getObjectSize(i)));
    return (static_cast<uint64_t>(end) + 7) & ~uint64_t{7};
}

bool signs_return_address(const MachineInstr& instruction)
{
    return opcode_name(instruction).take_front(4) == "PACI" || opcode_name(instruction) == "PAUTH_PROLOGUE";
}

} // namespace

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
    if (function.getName().contains(".cold."))
        return "outlined cold part: not an entry of its own";
    return nullptr;
}

bool is_placeholder(const MachineInstr& instruction)
{
    return is_arm64_nop(instruction) && instruction.getFlag(MachineInstr::FrameSetup);
}

Found look(MachineFunction& mf, Arch arch)
{
    const Function& function = mf.getFunction();
    Found found;
    found.skip = skip_reason(function);
    found.front.returns_twice = function.hasFnAttribute(Attribute::ReturnsTwice);
    found.front.stack_bytes = stack_bytes(mf);
    // Constants that LLVM emits at the function's address, before any instruction: -fsanitize=function up to LLVM 16.
    if (function.hasPrologueData())
        found.front.lead =
            static_cast<unsigned>(mf.getDataLayout().getTypeAllocSize(function.getPrologueData()->getType()));

    MachineBasicBlock& entry = mf.front();
    found.at = entry.end();
    bool landing = true;
    for (MachineBasicBlock& block : mf) {
        if (!found.instruction)
            found.front.branch_target |= &block == &entry ? !block.pred_empty() : block.pred_size() > 1;
        for (MachineInstr& instruction : block) {
            if (emits_nothing(instruction) || is_exit_site(instruction))
                continue;
            const bool first = !found.instruction && &block == &entry;
            if (first && !found.front.nop_stands && arch == Arch::arm64 && is_placeholder(instruction)) {
                found.front.nop_stands = true;
                found.at = instruction.getIterator();
                landing = false;
                continue;
            }
            if (unsigned size = landing && first ? landing_pad_size(instruction, arch) : 0) {
                landing = false;
                found.front.lead += size;
                continue;
            }
            found.instructions++;
            if (found.instruction)
                continue;
            found.instruction = &instruction;
            if (first && !found.front.nop_stands)
                found.at = instruction.getIterator();
            found.front.first = classify(instruction, arch);
            // paciasp was the landing pad. LLVM puts a bti c in front of a nop by itself.
            if (found.front.nop_stands && found.front.lead >= 4 && signs_return_address(instruction)) {
                found.front.lead -= 4;
                found.front.pad_with_nop = 4;
            }
        }
    }
    if (!found.instruction)
        found.skip = "no instructions: the next function begins here";
    return found;
}

std::string Found::words(Arch arch) const
{
    return instruction ? describe(*instruction, arch, front.first) : "nothing";
}

} // namespace fastprobe
