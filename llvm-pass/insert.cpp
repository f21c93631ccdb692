// SPDX-License-Identifier: BSD-2-Clause
// Layouts, as instructions of the target.
#include "codegen.h"

#include <llvm/CodeGen/MachineInstrBuilder.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetRegisterInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCInst.h>

using namespace llvm;

namespace fastprobe {
namespace {

unsigned register_named(const TargetRegisterInfo& info, StringRef name)
{
    for (unsigned number = 1; number < info.getNumRegs(); number++)
        if (info.getName(number) == name)
            return number;
    report_fatal_error("fastprobe: this LLVM has no register " + name);
}

/// A new block in front of the first one, which the function branches back to: what is inserted there runs once.
MachineBasicBlock::iterator leave_loop(MachineFunction& mf, MachineBasicBlock::iterator at)
{
    MachineBasicBlock* loop = &mf.front();
    MachineBasicBlock* entry = mf.CreateMachineBasicBlock(loop->getBasicBlock());
    mf.push_front(entry);
    // The landing pad moves to the new block; the locations of variables hold in both.
    for (auto next = loop->begin(); next != at;) {
        MachineInstr& instruction = *next++;
        if (instruction.isDebugInstr())
            entry->push_back(mf.CloneMachineInstr(&instruction));
        else
            entry->splice(entry->end(), loop, instruction.getIterator());
    }
    entry->addSuccessor(loop);
    for (const auto& live : loop->liveins())
        entry->addLiveIn(live);
    if (mf.hasBBSections()) {
        entry->setSectionID(loop->getSectionID());
        loop->setIsBeginSection(false);
        mf.assignBeginEndSections();
    }
    return entry->end();
}

/// The first block is empty, and the first instruction is in a later one. Copies what is said there about variables.
void bring_variables(MachineFunction& mf)
{
    MachineBasicBlock& entry = mf.front();
    for (auto block = std::next(mf.begin()); block != mf.end(); ++block)
        for (const MachineInstr& instruction : *block) {
            if (instruction.isDebugValue())
                entry.push_back(mf.CloneMachineInstr(&instruction));
            else if (!instruction.isMetaInstruction() && !instruction.isPosition())
                return;
        }
}

void align(MachineFunction& mf, Align alignment)
{
    mf.ensureAlignment(alignment);
    // A function in a named section that has an alignment of its own keeps that one, whatever `mf` says.
    Function& function = mf.getFunction();
    if (function.getAlign() && *function.getAlign() < alignment)
        function.setAlignment(alignment);
}

} // namespace

unsigned opcode_named(const TargetInstrInfo& info, StringRef name)
{
    for (unsigned opcode = 0; opcode < info.getNumOpcodes(); opcode++)
        if (info.getName(opcode) == name)
            return opcode;
    report_fatal_error("fastprobe: this LLVM has no instruction " + name);
}

// Behind the labels and DBG_VALUEs at the entry, as a breakpoint at the entry wants to read the parameters. FrameSetup: to a
// debugger it is part of the prologue.
void insert(MachineFunction& mf, MachineBasicBlock::iterator at, const Plan& plan, MCSymbol* zero)
{
    using Add = Decision::Add;
    // A first block with an alignment of its own (-align-all-blocks) would be padded behind the function's symbol: the function takes over
    // the alignment.
    align(mf, std::max(Align(plan.alignment), mf.front().getAlignment()));
    mf.front().setAlignment(Align(1));
    if (plan.record.added == Add::nothing)
        return;
    if (!mf.front().pred_empty())
        at = leave_loop(mf, at);
    else if (at == mf.front().end())
        bring_variables(mf);
    DebugLoc location; // the line of the function's opening, as the rest of the prologue
    // A jump without a line (to a loop's condition) is outside the scope of variables; they are known where the scope
    // begins.
    const bool outside = at != mf.front().end() && at->isUnconditionalBranch() && !at->getDebugLoc();
    if (DISubprogram* function = mf.getFunction().getSubprogram(); function && !outside)
        location = DILocation::get(mf.getFunction().getContext(), function->getScopeLine(), 0, function);

    build_layout(mf.front(), at, location, MachineInstr::FrameSetup, plan.record.added, zero);
}

MachineInstr* build_layout(MachineBasicBlock& block, MachineBasicBlock::iterator at, const DebugLoc& location,
                           MachineInstr::MIFlag flag, Decision::Add add, MCSymbol* zero)
{
    const MachineFunction& mf = *block.getParent();
    const TargetInstrInfo& info = *mf.getSubtarget().getInstrInfo();
    auto build = [&](unsigned opcode) { return BuildMI(block, at, location, info.get(opcode)).setMIFlag(flag); };
    const MCInst nop = info.getNop();
    auto instruction = build(nop.getOpcode());
    for (const MCOperand& operand : nop)
        instruction.addImm(operand.getImm());
    if (add != Decision::Add::nop1_nop10)
        return instruction;
    // 66 | 2e 0f 1f 84 00 disp32. The kernel wants this order of prefixes; the encoder makes another one. A symbol that
    // is 0 makes the encoder write all four bytes of a displacement of 0.
    const TargetRegisterInfo& registers = *mf.getSubtarget().getRegisterInfo();
    static const unsigned data16 = opcode_named(info, "DATA16_PREFIX"), nopl = opcode_named(info, "NOOPL"),
                          rax = register_named(registers, "RAX"), cs = register_named(registers, "CS");
    build(data16);
    build(nopl)
        .addReg(rax, RegState::Undef)
        .addImm(1)
        .addReg(rax, RegState::Undef)
        .addSym(zero)
        .addReg(cs, RegState::Undef);
    return instruction;
}

} // namespace fastprobe
