// SPDX-License-Identifier: BSD-2-Clause
// The code generator's part: looks at what a function really begins with, adds the layout and the record.
//
// Clang's code generator has no hook for plugins before LLVM 22. It does create most of its passes by identity, through
// the PassRegistry, and that lets everybody say how a pass is constructed (PassInfo::setNormalCtor()). So a few passes
// that LLVM schedules at the right places are replaced by one that runs the original and, next to it, a function below:
//
//   finalize-isel            before: keep functions with nop5 sites out of the red zone
//   shrink-wrap              instead, where a frame was asked for: the frame push belongs first
//   patchable-function       after:  arm64: reserve the nop, before branch distances are computed
//   stackmap-liveness        x86:   after: the entry is final: look, decide, write layout and record
//   branch-relaxation        arm64: after: the same; the landing pads come shortly before this one
//
// Works with every program that generates code through TargetPassConfig: clang, llc, lld and LLVMgold.so after LTO.
#include "plugin.h"
#include "report.h"

#include <fastsdt/note.h>

#include <llvm/CodeGen/MachineFrameInfo.h>
#include <llvm/CodeGen/MachineFunction.h>
#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/CodeGen/MachineInstrBuilder.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetRegisterInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/GlobalIFunc.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/InitializePasses.h>
#include <llvm/PassInfo.h>
#include <llvm/PassRegistry.h>
#include <llvm/Target/TargetLoweringObjectFile.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>
#include <map>

using namespace llvm;

namespace fastprobe {
namespace {

constexpr const char reserved_nop[] = "nop"; // the text of arm64's placeholder; known by its address

/// The text of inline assembly; null for other instructions.
const char* asm_text(const MachineInstr& instruction)
{
    if (!instruction.isInlineAsm())
        return nullptr;
    for (const MachineOperand& operand : instruction.operands())
        if (operand.isSymbol())
            return operand.getSymbolName();
    return nullptr;
}

/// What stands at a function's entry.
struct Found {
    First first = First::other;
    std::string words = "nothing"; ///< LLVM's name of the first instruction behind the landing pad
    bool branch_target = false;
    MachineBasicBlock::iterator at;   ///< in the entry block: where a layout goes
    unsigned lead = 0;                ///< bytes from the function's address to `at`
    bool signs = false;               ///< arm64: the first instruction is paciasp or pacibsp
    MachineInstr* reserved = nullptr; ///< arm64: the placeholder
    unsigned instructions = 0;        ///< of the whole function, without landing pad and placeholder
    const char* skip = nullptr;       ///< nothing may be done to the function, and why
};

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
    if (name == "HINT" && instruction.getOperand(0).getImm() == 0)
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

Found look(MachineFunction& mf, Arch arch)
{
    const Function& function = mf.getFunction();
    Found found;
    found.skip = skip_reason(function);
    // Constants that LLVM emits at the function's address, before any instruction: -fsanitize=function up to LLVM 16.
    if (function.hasPrologueData())
        found.lead = static_cast<unsigned>(mf.getDataLayout().getTypeAllocSize(function.getPrologueData()->getType()));

    MachineBasicBlock& entry = mf.front();
    found.at = entry.begin();
    bool seen = false, landing = true;
    for (MachineBasicBlock& block : mf) {
        if (!seen)
            found.branch_target |= &block == &entry ? !block.pred_empty() : block.pred_size() > 1;
        for (MachineInstr& instruction : block) {
            if (emits_nothing(instruction))
                continue;
            if (asm_text(instruction) == reserved_nop) {
                found.reserved = &instruction;
                found.at = instruction.getIterator();
                landing = false;
                continue;
            }
            if (unsigned size = landing && !seen && &block == &entry ? landing_pad_size(instruction, arch) : 0) {
                landing = false;
                found.lead += size;
                found.at = std::next(instruction.getIterator());
                continue;
            }
            found.instructions++;
            if (seen)
                continue;
            seen = true;
            found.first = classify(instruction, arch);
            found.words = describe(instruction, arch, found.first);
            found.signs =
                opcode_name(instruction).take_front(4) == "PACI" || opcode_name(instruction) == "PAUTH_PROLOGUE";
        }
    }
    if (!seen)
        found.skip = "no instructions: the next function begins here";
    return found;
}

/// In front of `at`, in a block of its own if the function branches back to its first block.
void insert(MachineFunction& mf, MachineBasicBlock::iterator at, const char* text)
{
    MachineBasicBlock* entry = &mf.front();
    if (!entry->pred_empty()) {
        MachineBasicBlock* loop = entry;
        entry = mf.CreateMachineBasicBlock(loop->getBasicBlock());
        mf.push_front(entry);
        entry->splice(entry->end(), loop, loop->begin(), at);
        entry->addSuccessor(loop);
        for (const auto& live : loop->liveins())
            entry->addLiveIn(live);
        at = entry->end();
    }
    DebugLoc location; // the line of the function's opening, as the rest of the prologue
    if (DISubprogram* function = mf.getFunction().getSubprogram())
        location = DILocation::get(mf.getFunction().getContext(), function->getScopeLine(), 0, function);
    BuildMI(*entry, at, location, mf.getSubtarget().getInstrInfo()->get(TargetOpcode::INLINEASM))
        .addExternalSymbol(text)
        .addImm(InlineAsm::Extra_HasSideEffects)
        .setMIFlag(MachineInstr::FrameSetup);
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

/// nop1+nop10 with the layout at `lead`: the smallest alignment of the function that keeps the ten bytes in one block.
Align alignment_for_nop10(unsigned lead)
{
    unsigned alignment = 16;
    while ((lead + 1) / alignment != (lead + 10) / alignment)
        alignment *= 2;
    return Align(alignment);
}

void align(MachineFunction& mf, Align alignment)
{
    mf.ensureAlignment(alignment);
    // A function in a named section with an alignment of its own gets that one, whatever `mf` says.
    Function& function = mf.getFunction();
    if (function.getAlign() && *function.getAlign() < alignment)
        function.setAlignment(alignment);
}

// ---- The hooks ----

void reserve(MachineFunction& mf)
{
    std::optional<Request> request = Request::of(mf.getFunction());
    if (!request || target_of(*mf.getFunction().getParent()) != Arch::arm64)
        return;
    Found found = look(mf, Arch::arm64);
    if (found.skip || found.instructions < request->min_insns)
        return;
    Decision decision = decide(request->entry, Arch::arm64, request->kernels, found.first, found.branch_target);
    if (decision.add != Decision::Add::nothing)
        insert(mf, found.at, reserved_nop);
}

/// The functions of one module.
class Unit {
public:
    void begin(Module& module, Arch arch)
    {
        if (target_of(module) != arch)
            return;
        arch_ = arch;
        take_mark(module);
        note_ = Module_note::of(module).value_or(Module_note());
        std::string why;
        if (!note_.report.empty() && !report_.open(note_.report, why))
            error(module.getContext(), why);
    }

    void end(Module& module)
    {
        std::string why;
        if (!report_.finish(why))
            error(module.getContext(), why);
    }

    void finish(MachineFunction& mf)
    {
        if (!arch_ || !mf.getFunction().hasFnAttribute("fastprobe"))
            return;
        std::optional<Request> request = Request::of(mf.getFunction());
        if (!request)
            return error(mf.getFunction().getContext(),
                         "attribute of '" + mf.getName().str() + "' is not MODE;KERNELS;MIN-INSNS");
        Found found = look(mf, *arch_);
        if (found.instructions < request->min_insns)
            return;

        Report_line line;
        StringRef symbol = mf.getName();
        symbol.consume_front("\1");
        line.symbol = symbol.str();
        line.unit = mf.getFunction().getParent()->getSourceFileName();
        line.before = line.after = found.words;
        line.entry = request->entry;
        if (!found.skip && found.lead > 255)
            found.skip = "more than 255 bytes before the entry";
        if (found.skip) {
            line.skipped = true;
            line.reason = found.skip;
        } else {
            write(mf, *request, found, line);
        }
        if (note_.verbose) {
            std::string text = line.symbol + ": " + action(line) + ", " + line.before;
            if (line.after != line.before)
                text += " -> " + line.after;
            if (!line.reason.empty())
                text += ": " + line.reason;
            note(text);
        }
        if (report_.is_open())
            report_.add(*arch_, line);
    }

private:
    void write(MachineFunction& mf, const Request& request, Found& found, Report_line& line)
    {
        Decision decision = decide(request.entry, *arch_, request.kernels, found.first, found.branch_target);
        if (found.reserved && decision.add == Decision::Add::nothing)
            decision.add = Decision::Add::nop;

        Entry_record& record = line.record;
        record.added = decision.add;
        record.found = found.first;
        record.lead = found.lead;
        record.missed = decision.missed;
        record.returns_twice = mf.getFunction().hasFnAttribute(Attribute::ReturnsTwice);
        record.stack_bytes = stack_bytes(mf);
        if (decision.add == Decision::Add::nop1_nop10) {
            align(mf, alignment_for_nop10(record.lead));
            record.aligned16 = true;
        }

        const std::string label = ".Lfastprobe" + std::to_string(counter_++);
        std::string text = label + ":";
        if (decision.add != Decision::Add::nothing) {
            text += "\n\t" + layout_text(decision.add);
            line.after = decision.add == Decision::Add::nop ? "nop" : "nop1+nop10";
            line.bytes_added = layout_size(*arch_, decision.add);
            if (found.signs && found.lead != 0)
                line.bytes_added += 4; // paciasp was the landing pad
        } else if (mf.getFunction().getSubprogram()) {
            // The line of the function's opening belongs to the first thing that gets assembled: not to the note.
            text += "\n\t.ascii \"\"";
        }
        text += "\n\t" + record_text(*arch_, record, label, section_label(mf, label));
        if (found.reserved)
            found.at = found.reserved->getParent()->erase(found.reserved->getIterator());
        insert(mf, found.at, mf.createExternalSymbolName(text));
        line.reason = decision.reason;
    }

    /// The label that stands for the function's text section: one note section for each of those, not for each function.
    const std::string& section_label(const MachineFunction& mf, const std::string& label)
    {
        const auto& target = mf.getTarget(); // LLVMTargetMachine up to LLVM 19
        // Where these put the entry is settled later: it gets a note section to itself.
        if (target.getBBSectionsType() != BasicBlockSection::None || target.Options.EnableMachineFunctionSplitter)
            return label;
        const MCSection* section = target.getObjFileLowering()->SectionForGlobal(&mf.getFunction(), target);
        return section_labels_.emplace(section, label).first->second;
    }

    std::optional<Arch> arch_;
    Module_note note_;
    Report report_;
    unsigned counter_ = 0;
    std::map<const MCSection*, std::string> section_labels_;
};

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

void leave_red_zone(MachineFunction& mf)
{
    if (target_of(*mf.getFunction().getParent()) != Arch::x86_64)
        return;
    for (const MachineBasicBlock& block : mf)
        for (const MachineInstr& instruction : block)
            if (const char* text = asm_text(instruction); text && is_nop5_site(text)) {
                mf.getFunction().addFnAttr(Attribute::NoRedZone);
                return;
            }
}

// ---- Replacing a pass ----

/// Runs the pass it stands for, which needs its analyses handed on: the pass manager knows only this one.
class Around : public MachineFunctionPass {
public:
    explicit Around(Pass* inner) : MachineFunctionPass(identity(*inner)), inner_(static_cast<FunctionPass*>(inner)) {}

    StringRef getPassName() const override { return inner_->getPassName(); }
    void getAnalysisUsage(AnalysisUsage& usage) const override { inner_->getAnalysisUsage(usage); }
    bool doInitialization(Module& module) override { return inner_->doInitialization(module); }
    bool doFinalization(Module& module) override { return inner_->doFinalization(module); }
    void releaseMemory() override { inner_->releaseMemory(); }

protected:
    bool run_inner(MachineFunction& mf)
    {
        AnalysisResolver* mine = getResolver();
        if (!inner_->getResolver())
            inner_->setResolver(new AnalysisResolver(mine->getPMDataManager()));
        AnalysisResolver* theirs = inner_->getResolver();
        theirs->clearAnalysisImpls();
        AnalysisUsage usage;
        inner_->getAnalysisUsage(usage);
        for (AnalysisID id : usage.getRequiredSet())
            theirs->addAnalysisImplsPair(id, mine->findImplPass(id));
        return inner_->runOnFunction(mf.getFunction());
    }

private:
    /// The same identity, so that other passes are still scheduled before and after it.
    static char& identity(Pass& pass) { return *static_cast<char*>(const_cast<void*>(pass.getPassID())); }
    std::unique_ptr<FunctionPass> inner_;
};

struct Leave_red_zone : Around {
    using Around::Around;
    bool runOnMachineFunction(MachineFunction& mf) override
    {
        leave_red_zone(mf);
        return run_inner(mf);
    }
};

struct Keep_frame_first : Around {
    using Around::Around;
    bool runOnMachineFunction(MachineFunction& mf) override
    {
        auto arch = target_of(*mf.getFunction().getParent());
        auto request = Request::of(mf.getFunction());
        if (arch && request && mf.getFunction().getFnAttribute("frame-pointer").getValueAsString() == "all"
            && (request->entry == Entry::frame || request->entry == Entry::auto_frame))
            return false;
        return run_inner(mf);
    }
};

struct Reserve : Around {
    using Around::Around;
    bool runOnMachineFunction(MachineFunction& mf) override
    {
        bool changed = run_inner(mf);
        reserve(mf);
        return changed;
    }
};

template <Arch arch>
struct Finish : Around {
    using Around::Around;
    bool doInitialization(Module& module) override
    {
        unit_.begin(module, arch);
        return Around::doInitialization(module);
    }
    bool doFinalization(Module& module) override
    {
        unit_.end(module);
        return Around::doFinalization(module);
    }
    bool runOnMachineFunction(MachineFunction& mf) override
    {
        bool changed = run_inner(mf);
        unit_.finish(mf);
        return changed;
    }
    Unit unit_;
};

template <class Replacement>
struct Replaced {
    static inline PassInfo::NormalCtor_t original = nullptr;
    static Pass* make() { return new Replacement(original()); }

    static void install(const void* id)
    {
        auto* info = const_cast<PassInfo*>(PassRegistry::getPassRegistry()->getPassInfo(id));
        if (!info || !info->getNormalCtor())
            report_fatal_error("fastprobe: this LLVM has no pass where one is expected; the plugin does not know it",
                               false);
        if (info->getNormalCtor() == make)
            return;
        original = info->getNormalCtor();
        info->setNormalCtor(make);
    }
};

/// When the file is loaded, by whatever means: as a pass plugin, by -load (LTO in linkers), with the clang plugin.
__attribute__((constructor)) void install_hooks()
{
    initializeCodeGen(*PassRegistry::getPassRegistry());
    Replaced<Leave_red_zone>::install(&FinalizeISelID);
    Replaced<Keep_frame_first>::install(&ShrinkWrapID);
    Replaced<Reserve>::install(&PatchableFunctionID);
    Replaced<Finish<Arch::x86_64>>::install(&StackMapLivenessID);
    Replaced<Finish<Arch::arm64>>::install(&BranchRelaxationPassID);
}

} // namespace
} // namespace fastprobe
