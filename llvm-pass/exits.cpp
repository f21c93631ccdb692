// SPDX-License-Identifier: BSD-2-Clause
// The ways out of a function, and a site in front of each.
//
//     popq %rbx
//     .cfi_def_cfa_offset 8
//     .p2align 6, , 10        (or 4) nop10 only: this and what follows is a block of its own, as blocks are what has an alignment
//     nop                     the site: the stack is as at the entry, the result is in its register
//     retq
//
// A site gets its label when it is made; the label tells it from other nops.
#include "codegen.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/CodeGen/Analysis.h>
#include <llvm/CodeGen/LivePhysRegs.h>
#include <llvm/CodeGen/MachineInstrBuilder.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetLowering.h>
#include <llvm/CodeGen/TargetRegisterInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/MC/MCContext.h>

using namespace llvm;

namespace fastprobe {
namespace {

constexpr const char label_name[] = "fastprobe_exit";

bool is_tail_call(const MachineInstr& instruction)
{
    if (!instruction.isCall())
        return false;
    // -mfunction-return=thunk-extern: a return, by way of code that the kernel brings along.
    for (const MachineOperand& operand : instruction.operands())
        if (operand.isSymbol() && StringRef(operand.getSymbolName()).contains("x86_return_thunk"))
            return false;
    return true;
}

/// The last instruction before `end` that makes code; the block's end if there is none.
MachineBasicBlock::iterator code_before(MachineBasicBlock& block, MachineBasicBlock::iterator end)
{
    while (end != block.begin()) {
        --end;
        if (!end->isMetaInstruction() && !end->isPosition())
            return end;
    }
    return block.end();
}

/// x86-64: `jne f`, which leaves the function or does not.
bool is_conditional_tail_call(const MachineInstr& instruction)
{
    return instruction.getMF()->getSubtarget().getInstrInfo()->getName(instruction.getOpcode()) == "TAILJMPd64_CC";
}

/// Why an instruction that leaves the function cannot have a site in front of it. Null: it can, or it does not leave.
const char* obstacle(const MachineInstr& instruction)
{
    const unsigned opcode = instruction.getOpcode();
    if (opcode == TargetOpcode::PATCHABLE_RET || opcode == TargetOpcode::PATCHABLE_TAIL_CALL)
        return "XRay aligns its sled, which is the return: padding would part the site from it";
    if (instruction.isReturn() && !instruction.isBarrier() && !is_conditional_tail_call(instruction))
        return "returns on a condition";
    // -mlvi-cfi: the return address is popped, and jumped to.
    if (instruction.isIndirectBranch() && !instruction.isReturn() && instruction.getParent()->succ_empty())
        return "leaves by a jump that is no return";
    return nullptr;
}

/// C's convention for results, or the same by another name.
bool returns_as_c(CallingConv::ID convention)
{
    switch (convention) {
    case CallingConv::C:
    case CallingConv::Fast:
    case CallingConv::Cold:
    case CallingConv::PreserveMost:
    case CallingConv::PreserveAll:
    case CallingConv::Swift:
    case CallingConv::SwiftTail:
    case CallingConv::Tail:
    case CallingConv::CXX_FAST_TLS:
    case CallingConv::X86_64_SysV:
    case CallingConv::AArch64_VectorCall: return true;
    default: return false;
    }
}

Result::Where registers_of(const MachineFunction& mf, Type& type)
{
    const Function& function = mf.getFunction();
    const TargetLowering& target = *mf.getSubtarget().getTargetLowering();
    if (!returns_as_c(function.getCallingConv()))
        return Result::Where::other;
    SmallVector<EVT, 4> parts;
    ComputeValueVTs(target, mf.getDataLayout(), &type, parts);
    unsigned integers = 0, vectors = 0, others = 0;
    for (EVT part : parts) {
        LLVMContext& context = function.getContext();
        const unsigned count = target.getNumRegistersForCallingConv(context, function.getCallingConv(), part);
        const MVT kind = target.getRegisterTypeForCallingConv(context, function.getCallingConv(), part);
        if (kind.isScalarInteger())
            integers += count;
        else if (kind == MVT::f80 || (kind.isVector() && kind.getVectorElementType() == MVT::i1))
            others += count;
        else
            vectors += count;
    }
    return where_of(integers, vectors, others);
}

uint64_t size_of(const MachineFunction& mf, Type& type)
{
    const DataLayout& layout = mf.getDataLayout();
    if (!type.isSized())
        return 0;
    const TypeSize size =
        type.isAggregateType() || type.isX86_FP80Ty() ? layout.getTypeAllocSize(&type) : layout.getTypeStoreSize(&type);
    return size.isScalable() ? 0 : size.getFixedValue();
}

/// Makes the variables that are known at the end of `block` known in `next`, which was split off from it.
void bring_variables(MachineFunction& mf, MachineBasicBlock& block, MachineBasicBlock& next)
{
    const TargetRegisterInfo& registers = *mf.getSubtarget().getRegisterInfo();
    MapVector<DebugVariable, const MachineInstr*> known;
    for (const MachineInstr& instruction : block) {
        if (instruction.isDebugValue()) {
            const DebugVariable variable(instruction.getDebugVariable(), instruction.getDebugExpression(),
                                         instruction.getDebugLoc()->getInlinedAt());
            known.erase(variable);
            known.insert({variable, &instruction});
            continue;
        }
        known.remove_if([&](const auto& one) {
            for (const MachineOperand& operand : one.second->debug_operands())
                if (operand.isReg() && operand.getReg() && instruction.modifiesRegister(operand.getReg(), &registers))
                    return true;
            return false;
        });
    }
    for (const auto& [variable, value] : known)
        next.insert(next.begin(), mf.CloneMachineInstr(value));
}

void add_block(MachineFunction& mf, MachineBasicBlock& before, MachineBasicBlock& block)
{
    if (mf.getFunction().getSubprogram())
        bring_variables(mf, before, block);
    block.setSectionID(before.getSectionID());
    if (mf.hasBBSections()) {
        before.setIsEndSection(false);
        mf.assignBeginEndSections();
    }
}

/// Turns a conditional tail call into a branch around a way out. A site in front of the conditional jump would be hit
/// even when the function is not left.
///
///     jne f      ->      je 1f
///                        jmp f
///                     1:
void unfold(MachineFunction& mf, MachineInstr& leave)
{
    const TargetInstrInfo& info = *mf.getSubtarget().getInstrInfo();
    static const unsigned jump = opcode_named(info, "TAILJMPd64"), branch = opcode_named(info, "JCC_1");
    MachineBasicBlock& block = *leave.getParent();
    MachineBasicBlock* rest = block.splitAt(leave);
    if (rest != &block)
        add_block(mf, block, *rest);
    else
        rest = &*std::next(block.getIterator());
    MachineBasicBlock* way = mf.CreateMachineBasicBlock(block.getBasicBlock());
    mf.insert(std::next(block.getIterator()), way);
    BuildMI(*way, way->end(), leave.getDebugLoc(), info.get(jump)).add(leave.getOperand(0)).copyImplicitOps(leave);
    add_block(mf, block, *way);
    // Conditions come in pairs: e and ne, b and ae.
    BuildMI(block, leave.getIterator(), leave.getDebugLoc(), info.get(branch))
        .addMBB(rest)
        .addImm(leave.getOperand(1).getImm() ^ 1);
    leave.eraseFromParent();
    block.addSuccessorWithoutProb(way);
    LivePhysRegs live;
    computeAndAddLiveIns(live, *way);
}

/// `leave` and what follows it becomes a block, which has the alignment that keeps a nop1+nop10 in front of it whole.
void align(MachineFunction& mf, MachineInstr& leave, unsigned bound, unsigned padding)
{
    MachineBasicBlock* block = leave.getParent();
    if (code_before(*block, leave.getIterator()) != block->end()) {
        MachineBasicBlock* rest = block->splitAt(*std::prev(MachineBasicBlock::iterator(leave)));
        add_block(mf, *block, *rest);
        block = rest;
    }
    block->setAlignment(Align(uint64_t{1} << bound), padding);
}

/// In front of `leave`. @param zero  as for build_layout()  @return its first instruction, which has the label
MachineInstr* make_site(MachineFunction& mf, MachineInstr& leave, Arch arch, const Exits& exits, MCSymbol* zero)
{
    if (unsigned padding = exit_padding(arch, exits.add))
        align(mf, leave, exits.bound, padding);
    MachineInstr* first = build_layout(*leave.getParent(), leave.getIterator(), leave.getDebugLoc(),
                                       MachineInstr::NoFlags, exits.add, zero);
    first->setPreInstrSymbol(mf, mf.getContext().createNamedTempSymbol(label_name));
    return first;
}

/// The site in front of a way out, of one instruction; null: there is none.
MachineInstr* site_before(MachineInstr& leave)
{
    MachineBasicBlock& block = *leave.getParent();
    auto at = code_before(block, leave.getIterator());
    return at != block.end() && is_exit_site(*at) ? &*at : nullptr;
}

std::vector<MachineInstr*> ways_out(MachineFunction& mf)
{
    std::vector<MachineInstr*> ways;
    for (MachineBasicBlock& block : mf)
        for (MachineInstr& instruction : block)
            if (instruction.isReturn())
                ways.push_back(&instruction);
    return ways;
}

} // namespace

bool is_exit_site(const MachineInstr& instruction)
{
    const MCSymbol* label = instruction.getPreInstrSymbol();
    return label && label->getName().contains(label_name);
}

WaysOut look_at_exits(MachineFunction& mf, const MachineInstr* first, bool reserved)
{
    WaysOut ways;
    if (mf.callsEHReturn())
        ways.obstacle = "__builtin_eh_return: returns to another place than its caller";
    for (const MachineBasicBlock& block : mf)
        for (const MachineInstr& instruction : block)
            if (const char* why = obstacle(instruction))
                ways.obstacle = why;
    for (MachineInstr* leave : ways_out(mf)) {
        ways.count++;
        ways.at_entry |= leave == first;
        if (assembler_pads(*leave))
            ways.obstacle = "the assembler may put nops between a site and its jump";
        if (reserved && !ways.obstacle && !site_before(*leave))
            ways.obstacle = "code came between a site and its return";
    }
    return ways;
}

void reserve_exits(MachineFunction& mf, Arch arch, const Exits& exits)
{
    // The outliner would move returns out of their functions.
    mf.getFunction().addFnAttr("nooutline");
    for (MachineInstr* leave : ways_out(mf))
        make_site(mf, *leave, arch, exits, nullptr);
}

std::vector<ExitSite> make_exits(MachineFunction& mf, Arch arch, const Exits& exits, MCSymbol* zero)
{
    std::vector<ExitSite> sites;
    ExitRecord record;
    record.added = exits.add;
    record.bound = exits.bound;
    record.result = result_of(mf);
    for (MachineInstr* leave : ways_out(mf))
        if (is_conditional_tail_call(*leave))
            unfold(mf, *leave);
    for (MachineInstr* leave : ways_out(mf)) {
        const MachineInstr* site = site_before(*leave); // on arm64, since reserve_exits()
        if (!site)
            site = make_site(mf, *leave, arch, exits, zero);
        record.tail_call = is_tail_call(*leave);
        sites.push_back({site->getPreInstrSymbol(), record});
    }
    return sites;
}

Result result_of(const MachineFunction& mf)
{
    const Function& function = mf.getFunction();
    Type& type = *function.getReturnType();
    Result result;
    if (type.isVoidTy()) {
        result.where = Result::Where::none;
        for (unsigned i = 0; i < 2 && i < function.arg_size(); i++) // the first, or the one behind `this`
            if (function.hasParamAttribute(i, Attribute::StructRet)) {
                result.where = Result::Where::memory;
                result.size = size_of(mf, *function.getParamStructRetType(i));
            }
        return result;
    }
    result.where = registers_of(mf, type);
    result.size = size_of(mf, type);
    if (type.isPointerTy() || function.hasRetAttribute(Attribute::ZExt))
        result.sign = Result::Sign::is_unsigned;
    if (function.hasRetAttribute(Attribute::SExt))
        result.sign = Result::Sign::is_signed;
    // IR's integers have no sign, and IR does not keep the size of a struct.
    const auto [sign, size] = function.getFnAttribute(result_attribute).getValueAsString().split(':');
    if (sign == "signed")
        result.sign = Result::Sign::is_signed;
    if (sign == "unsigned")
        result.sign = Result::Sign::is_unsigned;
    uint64_t bytes;
    if (!size.getAsInteger(10, bytes))
        result.size = bytes;
    return result;
}

} // namespace fastprobe
