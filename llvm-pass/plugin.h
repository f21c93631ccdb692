// SPDX-License-Identifier: BSD-2-Clause
// What the parts of the LLVM plugin know of each other.
#pragma once
#include "options.h"

#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>

#if LLVM_VERSION_MAJOR >= 17
#include <llvm/TargetParser/Triple.h>
#else
#include <llvm/ADT/Triple.h>
#endif

#include <optional>
#include <string>

namespace fastprobe {

// The selection happens on IR and its result travels in the IR, so that it reaches the code generator wherever that
// runs: in the same compiler, in llc, or in a linker after LTO.

/// The request in a function's attribute "fastprobe"="MODE;KERNELS;MIN-INSNS;EXIT".
std::optional<Request> request_of(const llvm::Function& function);
void put_on(llvm::Function& function, const Request& request);

/// Attribute of functions: what the source says of the result, SIGN:SIZE, "signed:4" or ":24". Only the clang plugin knows.
constexpr const char result_attribute[] = "fastprobe-result";

/// Named metadata of a module whose functions have been selected: what the report needs at code generation.
struct ModuleNote {
    std::string report; ///< absolute path or empty
    bool verbose = false;

    static std::optional<ModuleNote> of(const llvm::Module& module);
    void put_on(llvm::Module& module) const;
};

/// llvm.ident of a module whose functions have been selected: FASTSDT_NO_PASS, until the pass makes the code.
void mark_unfinished(llvm::Module& module);
void take_mark(llvm::Module& module);

/// The target, if records and layouts exist for it.
std::optional<Arch> target_of(const llvm::Triple& triple);
std::optional<Arch> target_of(const llvm::Module& module);

/// Fails the compilation, whatever program compiles.
void error(llvm::LLVMContext& context, const std::string& text);
/// A line for the user that no warning option turns off.
void note(const std::string& text);

/// The arguments of the plugin in this process; the clang plugin fills them in before the pass runs.
struct Configuration {
    Options options;
    bool without_passes = false; ///< see fastprobe_select_without_passes()
};
Configuration& configuration();

} // namespace fastprobe

/// For the clang plugin. One argument KEY or KEY=VALUE. @return null, or one sentence that lives until the next call.
extern "C" __attribute__((visibility("default"))) const char* fastprobe_argument(const char* argument);
/// Is there exit=, and not none?
extern "C" __attribute__((visibility("default"))) bool fastprobe_wants_exits();
/// The argument report=, or an empty string.
extern "C" __attribute__((visibility("default"))) const char* fastprobe_report_path();
/// For a process that writes bitcode with its passes switched off: selects functions right before it writes.
extern "C" __attribute__((visibility("default"))) void fastprobe_select_without_passes();
/// Path of this shared object, to be loaded as a pass plugin.
extern "C" __attribute__((visibility("default"))) const char* fastprobe_pass_path();
