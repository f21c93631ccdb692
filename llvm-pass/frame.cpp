// SPDX-License-Identifier: BSD-2-Clause
// The red zone and the frame: what has to be settled before registers are allocated.
#include "codegen.h"

#include <fastsdt/note.h>

#include <llvm/CodeGen/MachineFrameInfo.h>
#include <llvm/CodeGen/MachineRegisterInfo.h>
#include <llvm/CodeGen/TargetRegisterInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

using namespace llvm;

namespace fastprobe {
namespace {

/// Attribute of functions that were to get a frame: "yes", or why not.
constexpr const char frame_attribute[] = "fastprobe-frame";

/// The kernels that optimize a nop5 put a call there, which writes below the stack pointer. fastsdt.h's site names its
/// layout in its note: .asciz "fastsdt", .byte VERSION, LAYOUT, ...
bool is_nop5_site(StringRef text)
{
    if (!text.contains(FASTSDT_NOTE_SECTION))
        return false;
    text = text.split("\"" FASTSDT_NOTE_OWNER "\"").second.split(".byte").second.split(',').second.ltrim();
    unsigned layout;
    return !text.consumeInteger(0, layout) && (layout == FASTSDT_LAYOUT_NOP5 || layout == FASTSDT_LAYOUT_NOP1_NOP5);
}

bool has_nop5_site(const MachineFunction& mf)
{
    for (const MachineBasicBlock& block : mf)
        for (const MachineInstr& instruction : block)
            if (const char* text = asm_text(instruction); text && is_nop5_site(text))
                return true;
    return false;
}

bool calls_others(const Function& function)
{
    for (const Instruction& instruction : instructions(function)) {
        auto* call = dyn_cast<CallBase>(&instruction);
        if (call && !isa<IntrinsicInst>(call) && !call->isInlineAsm())
            return true;
    }
    return false;
}

bool is_frame_pointer(StringRef name)
{
    for (StringRef other : {"RBP", "EBP", "BP", "BPL", "FP", "W29"})
        if (name == other)
            return true;
    return false;
}

/// Some inline assembly has the frame pointer's register for an operand, or clobbers it.
bool asm_owns_frame_pointer(const MachineFunction& mf)
{
    const TargetRegisterInfo& registers = *mf.getSubtarget().getRegisterInfo();
    for (const MachineBasicBlock& block : mf)
        for (const MachineInstr& instruction : block)
            if (instruction.isInlineAsm())
                for (const MachineOperand& operand : instruction.operands())
                    if (operand.isReg() && operand.getReg().isPhysical()
                        && is_frame_pointer(registers.getName(operand.getReg())))
                        return true;
    return false;
}

bool wants_frame(const MachineFunction& mf, Arch arch)
{
    const Function& function = mf.getFunction();
    auto request = request_of(function);
    return request && !skip_reason(function)
        && wants_frame(request->entry, arch, request->kernels, !calls_others(function));
}

#if LLVM_VERSION_MAJOR >= 19
void freeze_reserved_registers(MachineFunction& mf)
{
    mf.getRegInfo().freezeReservedRegs();
}
#else
void freeze_reserved_registers(MachineFunction& mf)
{
    mf.getRegInfo().freezeReservedRegs(mf);
}
#endif

void force_frame_pointer(MachineFunction& mf)
{
    mf.getFunction().addFnAttr("frame-pointer", "all");
#if LLVM_VERSION_MAJOR >= 23 // reads the attribute once, before our pass
    mf.getFrameInfo().setFramePointerPolicy(FramePointerKind::All);
#endif
}

#if LLVM_VERSION_MAJOR >= 22
void undo_shrink_wrapping(MachineFrameInfo& frame)
{
    frame.clearSavePoints();
    frame.clearRestorePoints();
}
#else
void undo_shrink_wrapping(MachineFrameInfo& frame)
{
    frame.setSavePoint(nullptr);
    frame.setRestorePoint(nullptr);
}
#endif

} // namespace

void prepare(MachineFunction& mf, Arch arch)
{
    Function& function = mf.getFunction();
    if (arch == Arch::x86_64 && has_nop5_site(mf))
        function.addFnAttr(Attribute::NoRedZone);
    if (!wants_frame(mf, arch))
        return;
    if (asm_owns_frame_pointer(mf)) {
        function.addFnAttr(frame_attribute, "the function's asm uses the frame pointer");
        return;
    }
    function.addFnAttr(frame_attribute, "yes");
    force_frame_pointer(mf);
    freeze_reserved_registers(mf);
}

void keep_frame_first(MachineFunction& mf, Arch)
{
    if (mf.getFunction().getFnAttribute(frame_attribute).getValueAsString() == "yes")
        undo_shrink_wrapping(mf.getFrameInfo());
}

const char* why_no_frame(const MachineFunction& mf)
{
    StringRef why = mf.getFunction().getFnAttribute(frame_attribute).getValueAsString();
    return why.empty() || why == "yes" ? nullptr : why.data(); // the text of an attribute ends in a 0
}

} // namespace fastprobe
