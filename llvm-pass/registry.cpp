// SPDX-License-Identifier: BSD-2-Clause
// LLVM 14 to 20 tell nobody that they build a pipeline for the code generator; later ones do (hooks.cpp). But they create
// finalize-isel, the first pass over machine code on every target and level, through the PassRegistry, and that lets everybody say
// how a pass is constructed (PassInfo::setNormalCtor()). The stand-in here only learns that it is added to a pipeline,
// and adds the original in front of itself. Nothing is patched, and no vtable is touched.
#include "codegen.h"

#if LLVM_VERSION_MAJOR < 21
#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/LegacyPassManagers.h>
#include <llvm/InitializePasses.h>
#include <llvm/PassInfo.h>
#include <llvm/PassRegistry.h>
#include <llvm/Target/TargetMachine.h>

using namespace llvm;

namespace fastprobe {
namespace {

PassInfo::NormalCtor_t original;

struct Herald : MachineFunctionPass {
    Herald() : MachineFunctionPass(FinalizeISelID) {} // its identity, so that other passes are still added behind it
    ~Herald() override { forget_pipeline(); }
    StringRef getPassName() const override { return "fastprobe herald"; }
    void getAnalysisUsage(AnalysisUsage& usage) const override
    {
        usage.setPreservesAll();
        MachineFunctionPass::getAnalysisUsage(usage);
    }
    void assignPassManager(PMStack& stack, PassManagerType type) override
    {
        PMTopLevelManager* manager = stack.top()->getTopLevelManager();
        manager->schedulePass(original());
        if (auto* config = static_cast<TargetPassConfig*>(manager->findAnalysisPass(&TargetPassConfig::ID)))
            configure(*config, config->getTM<TargetMachine>(), [manager](Pass* pass) { manager->schedulePass(pass); });
        MachineFunctionPass::assignPassManager(stack, type);
    }
    bool runOnMachineFunction(MachineFunction&) override { return false; }
};

/// When the file is loaded, by whatever means: as a pass plugin, by -load (LTO in linkers), with the clang plugin.
__attribute__((constructor)) void install()
{
    initializeCodeGen(*PassRegistry::getPassRegistry());
    auto* info = const_cast<PassInfo*>(PassRegistry::getPassRegistry()->getPassInfo(&FinalizeISelID));
    if (!info || !info->getNormalCtor())
        report_fatal_error("fastprobe: this LLVM has no finalize-isel; the plugin does not know it", false);
    original = info->getNormalCtor();
    info->setNormalCtor([]() -> Pass* { return new Herald; });
}

} // namespace
} // namespace fastprobe
#endif
