// SPDX-License-Identifier: BSD-2-Clause
// Where the plugin stands in the code generator's pipeline.
//
//   finalize-isel       behind: frame.cpp, prepare()
//   shrink-wrap         behind: frame.cpp, keep_frame_first()
//   patchable-function  behind: emit.cpp, reserve(), for arm64
//   the AsmPrinter      right before, so that no pass changes the code any more: Unit::make_sites()
//                       in it, as an AsmPrinterHandler: Unit::label(), Unit::write()
//
// The first three are what TargetPassConfig::insertPass() is for. The last goes through the registry of targets, which lets
// everybody say how a target's AsmPrinter is constructed (TargetRegistry::RegisterAsmPrinter()): ours constructs the target's own,
// and is called when the pipeline is complete but for the AsmPrinter.
#include "codegen.h"

#include <llvm/CodeGen/AsmPrinter.h>
#include <llvm/CodeGen/AsmPrinterHandler.h>
#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/InitializePasses.h>
#include <llvm/MC/MCStreamer.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/PassInfo.h>
#include <llvm/PassRegistry.h>
#include <llvm/Target/TargetMachine.h>
#if LLVM_VERSION_MAJOR >= 21
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Target/RegisterTargetPassConfigCallback.h>
#endif

#include <dlfcn.h>
#include <unistd.h>

#include <mutex>

using namespace llvm;

namespace fastprobe {
namespace {

/// A pass that looks at each function of a target that we know.
template <void (*work)(MachineFunction&, Arch), bool changes_code>
struct Step : MachineFunctionPass {
    static inline char ID = 0;
    Step() : MachineFunctionPass(ID) {}
    StringRef getPassName() const override { return "fastprobe"; }
    void getAnalysisUsage(AnalysisUsage& usage) const override
    {
        if (!changes_code)
            usage.setPreservesAll();
        MachineFunctionPass::getAnalysisUsage(usage);
    }
    bool runOnMachineFunction(MachineFunction& mf) override
    {
        if (auto arch = target_of(*mf.getFunction().getParent()))
            work(mf, *arch);
        return changes_code;
    }
    static Pass* make() { return new Step; }
    /// @return false: another copy of this file has done it.
    static bool announce(const char* name, const char* argument)
    {
        PassRegistry& registry = *PassRegistry::getPassRegistry();
        if (registry.getPassInfo(StringRef(argument)))
            return false;
        registry.registerPass(*new PassInfo(name, argument, &ID, make, false, false), true);
        return true;
    }
};
using Prepare = Step<prepare, false>;
using KeepFrameFirst = Step<keep_frame_first, false>;
using Reserve = Step<reserve, true>;

struct Sites : MachineFunctionPass {
    static inline char ID = 0;
    explicit Sites(std::shared_ptr<Unit> unit) : MachineFunctionPass(ID), unit_(std::move(unit)) {}
    StringRef getPassName() const override { return "fastprobe sites"; }
    bool doInitialization(Module& module) override
    {
        unit_->begin(module);
        return false;
    }
    bool runOnMachineFunction(MachineFunction& mf) override
    {
        unit_->make_sites(mf);
        return true;
    }
    // Passes end in reverse order: the object has been written.
    bool doFinalization(Module& module) override
    {
        unit_->end(module);
        return false;
    }
    std::shared_ptr<Unit> unit_;
};

/// No `override`: which of these exist depends on the version.
struct Handler final : AsmPrinterHandler {
    explicit Handler(std::shared_ptr<Unit> unit) : unit_(std::move(unit)) {}
    void beginFunction(const MachineFunction* mf) { unit_->label(*mf); }
    void endFunction(const MachineFunction*) {}
    void endModule() { unit_->write(); }
    void setSymbolSize(const MCSymbol*, uint64_t) {}
    void beginInstruction(const MachineInstr*) {}
    void endInstruction() {}
    std::shared_ptr<Unit> unit_;
};

/// How to add a pass to the pipeline that is being built in this thread.
thread_local std::function<void(Pass*)> pipeline;

std::mutex targets_mutex;
std::map<const Target*, Target> targets; ///< as they were without us

AsmPrinter* make_printer(TargetMachine& machine, std::unique_ptr<MCStreamer>&& streamer)
{
    Target own = [&] {
        std::lock_guard lock(targets_mutex);
        return targets.at(&machine.getTarget());
    }();
    AsmPrinter* printer = own.createAsmPrinter(machine, std::move(streamer));
    auto schedule = std::exchange(pipeline, nullptr);
    std::optional<Arch> arch = target_of(machine.getTargetTriple());
    if (!printer || !schedule || !arch)
        return printer;
    auto unit = std::make_shared<Unit>(*arch, *printer);
    schedule(new Sites(unit));
    auto handler = std::make_unique<Handler>(unit);
#if LLVM_VERSION_MAJOR >= 19
    printer->addAsmPrinterHandler(std::move(handler));
#else
    printer->addAsmPrinterHandler({std::move(handler), "fastprobe", "fastprobe", "fastprobe", "fastprobe"});
#endif
    return printer;
}

/// A second copy would make every entry twice.
__attribute__((constructor)) void announce()
{
    static std::string path;
    Dl_info self;
    path = dladdr(reinterpret_cast<void*>(&announce), &self) && self.dli_fname ? self.dli_fname : "fastprobe";
    initializeCodeGen(*PassRegistry::getPassRegistry());
    if (Prepare::announce(path.c_str(), "fastprobe-prepare")
        && KeepFrameFirst::announce(path.c_str(), "fastprobe-frame")
        && Reserve::announce(path.c_str(), "fastprobe-reserve"))
        return;
    const PassInfo* other = PassRegistry::getPassRegistry()->getPassInfo(StringRef("fastprobe-prepare"));
    fprintf(stderr, "error: fastprobe is loaded twice, from %s and from %s: name one of them\n",
            other->getPassName().str().c_str(), path.c_str());
    fflush(stderr);
    _exit(1); // as in host.cpp
}

#if LLVM_VERSION_MAJOR >= 21
RegisterTargetPassConfigCallback callback([](TargetMachine& machine, PassManagerBase& manager,
                                             TargetPassConfig* config) {
    configure(*config, machine, [&manager](Pass* pass) { manager.add(pass); });
});
#endif

} // namespace

void configure(TargetPassConfig& config, TargetMachine& machine, std::function<void(Pass*)> schedule)
{
    if (!target_of(machine.getTargetTriple()))
        return;
    config.insertPass(&FinalizeISelID, &Prepare::ID);
    config.insertPass(&ShrinkWrapID, &KeepFrameFirst::ID);
    if (target_of(machine.getTargetTriple()) == Arch::arm64)
        config.insertPass(&PatchableFunctionID, &Reserve::ID);
    pipeline = std::move(schedule);
    // Not earlier: only now have the targets registered themselves. Each thread does this, under the lock, before it
    // gets to the AsmPrinter.
    std::lock_guard lock(targets_mutex);
    auto& target = const_cast<Target&>(machine.getTarget());
    targets.try_emplace(&target, target);
    TargetRegistry::RegisterAsmPrinter(target, make_printer);
}

void forget_pipeline()
{
    pipeline = nullptr;
}

} // namespace fastprobe
