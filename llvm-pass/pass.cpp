// SPDX-License-Identifier: BSD-2-Clause
// The pass plugin: decides which functions of a module get an entry and writes the decision into the IR. The code
// generator carries it out (codegen.h), perhaps in another process: with LTO the linker's. So a decision travels as
//
//     attributes #0 = { "fastprobe"="auto;6.1-;0;nop10" }      of a function: entry, kernels, instructions, exit (Request)
//     !fastprobe = !{!{!"report.jsonl", !"verbose"}}           of the module: where to report (ModuleNote)
//     !llvm.ident = !{..., !{FASTSDT_NO_PASS}}                 taken out by the code generator; left in, it had not loaded us
//
// AttributesPass runs before optimization and keeps what the source asks for (annotations), which inlining would lose. SelectPass runs when
// the functions that will be code are known.
#include "plugin.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalAlias.h>
#include <llvm/IR/GlobalIFunc.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/Passes/PassBuilder.h>
#if LLVM_VERSION_MAJOR >= 22
#include <llvm/Plugins/PassPlugin.h>
#else
#include <llvm/Passes/PassPlugin.h>
#endif
#include <llvm/Support/FileSystem.h>

#include <fastsdt/note.h>

#include <dlfcn.h>

using namespace llvm;

#if LLVM_VERSION_MAJOR < 20
// The type is known by the address of this variable: it has to be LLVM's own, though all else in this file is hidden.
template struct __attribute__((visibility("default"))) llvm::Any::TypeId<const Module*>;
#endif

namespace fastprobe {

namespace {
constexpr const char attribute_name[] = "fastprobe";
constexpr const char metadata_name[] = "fastprobe";
// What the source asks for, between the two passes below.
constexpr const char asked_attribute[] = "fastprobe-asked";
constexpr const char exit_asked_attribute[] = "fastprobe-exit-asked";
} // namespace

std::optional<Request> request_of(const Function& function)
{
    if (!function.hasFnAttribute(attribute_name))
        return std::nullopt;
    StringRef value = function.getFnAttribute(attribute_name).getValueAsString();
    auto [mode, rest] = value.split(';');
    auto [range, numbers] = rest.split(';');
    auto [count, way] = numbers.split(';');
    Request request;
    auto entry = parse_entry({mode.data(), mode.size()});
    auto exit = parse_exit({way.data(), way.size()});
    if (!entry || !exit || !request.kernels.parse({range.data(), range.size()})
        || count.getAsInteger(10, request.min_insns))
        return std::nullopt;
    request.entry = *entry;
    request.exit = *exit;
    return request;
}

void put_on(Function& function, const Request& request)
{
    std::string value(name(request.entry));
    value +=
        ';' + request.kernels.text() + ';' + std::to_string(request.min_insns) + ';' + std::string(name(request.exit));
    function.addFnAttr(attribute_name, value);
}

std::optional<ModuleNote> ModuleNote::of(const Module& module)
{
    const NamedMDNode* node = module.getNamedMetadata(metadata_name);
    if (!node)
        return std::nullopt;
    ModuleNote note;
    // After full LTO there is one for each module that was merged.
    for (const MDNode* words : node->operands()) {
        if (words->getNumOperands() != 2)
            continue;
        auto* report = dyn_cast<MDString>(words->getOperand(0));
        auto* verbose = dyn_cast<MDString>(words->getOperand(1));
        if (report && !report->getString().empty())
            note.report = report->getString().str();
        if (verbose && verbose->getString() == "verbose")
            note.verbose = true;
    }
    return note;
}

void ModuleNote::put_on(Module& module) const
{
    LLVMContext& context = module.getContext();
    module.getOrInsertNamedMetadata(metadata_name)
        ->addOperand(
            MDNode::get(context, {MDString::get(context, report), MDString::get(context, verbose ? "verbose" : "")}));
}

void mark_unfinished(Module& module)
{
    LLVMContext& context = module.getContext();
    module.getOrInsertNamedMetadata("llvm.ident")
        ->addOperand(MDNode::get(context, MDString::get(context, FASTSDT_NO_PASS)));
}

void take_mark(Module& module)
{
    NamedMDNode* idents = module.getNamedMetadata("llvm.ident");
    if (!idents)
        return;
    SmallVector<MDNode*, 4> others;
    for (MDNode* ident : idents->operands()) {
        auto* text = ident->getNumOperands() == 1 ? dyn_cast<MDString>(ident->getOperand(0)) : nullptr;
        if (!text || text->getString() != FASTSDT_NO_PASS)
            others.push_back(ident);
    }
    idents->clearOperands();
    for (MDNode* ident : others)
        idents->addOperand(ident);
}

std::optional<Arch> target_of(const Module& module)
{
    return target_of(Triple(module.getTargetTriple()));
}

std::optional<Arch> target_of(const Triple& triple)
{
    if (!triple.isOSBinFormatELF())
        return std::nullopt;
    if (triple.getArch() == Triple::x86_64 && triple.getEnvironment() != Triple::GNUX32
        && triple.getEnvironment() != Triple::MuslX32)
        return Arch::x86_64;
    if (triple.getArch() == Triple::aarch64 && triple.getEnvironment() != Triple::GNUILP32)
        return Arch::arm64;
    return std::nullopt;
}

void error(LLVMContext& context, const std::string& text)
{
    context.emitError("fastprobe: " + text);
}

void note(const std::string& text)
{
    // One write: in a link with threads, lines stay whole.
    const std::string line = "note: fastprobe: " + text + "\n";
    fputs(line.c_str(), stderr);
}

Configuration& configuration()
{
    static Configuration configuration;
    return configuration;
}

namespace {

/// annotate("no_fastprobe"), annotate("fastprobe"), annotate("fastprobe=MODE") and annotate("fastprobe_exit=MODE"); the
/// clang plugin turns attributes into these. Taken out of llvm.global.annotations, because being listed there keeps a function alive that the
/// optimizer would drop.
StringRef annotation_text(Value* value)
{
    auto* global = dyn_cast<GlobalVariable>(value->stripPointerCasts());
    auto* data = global && global->hasInitializer() ? dyn_cast<ConstantDataArray>(global->getInitializer()) : nullptr;
    return data && data->isCString() ? data->getAsCString() : "";
}

/// @return false: not one of ours.
bool take_annotation(Function& function, StringRef text)
{
    const bool refused = function.getFnAttribute(asked_attribute).getValueAsString() == "no";
    if (text == "no_fastprobe") {
        function.addFnAttr(asked_attribute, "no");
    } else if (text == "fastprobe") {
        if (!function.hasFnAttribute(asked_attribute))
            function.addFnAttr(asked_attribute, "yes");
    } else if (text.consume_front("fastprobe=")) {
        if (!parse_entry({text.data(), text.size()}))
            error(function.getContext(),
                  "annotation of '" + function.getName().str() + "': '" + text.str() + "' is not one of "
                      + entry_choices);
        else if (!refused)
            function.addFnAttr(asked_attribute, text);
    } else if (text.consume_front("fastprobe_exit=")) {
        if (!parse_exit({text.data(), text.size()}))
            error(
                function.getContext(),
                "annotation of '" + function.getName().str() + "': '" + text.str() + "' is not one of " + exit_choices);
        else
            function.addFnAttr(exit_asked_attribute, text);
    } else if (text.consume_front("fastprobe_result=")) {
        function.addFnAttr(result_attribute, text);
    } else {
        return false;
    }
    return true;
}

void take_annotations(Module& module)
{
    GlobalVariable* list = module.getGlobalVariable("llvm.global.annotations");
    auto* array = list && list->hasInitializer() ? dyn_cast<ConstantArray>(list->getInitializer()) : nullptr;
    if (!array)
        return;
    SmallVector<Constant*, 16> others;
    for (Value* operand : array->operands()) {
        auto* row = dyn_cast<ConstantStruct>(operand);
        auto* function = row ? dyn_cast<Function>(row->getOperand(0)->stripPointerCasts()) : nullptr;
        if (!function || !take_annotation(*function, annotation_text(row->getOperand(1))))
            others.push_back(cast<Constant>(operand));
    }
    if (others.size() == array->getNumOperands())
        return;
    if (!others.empty()) {
        auto* type = ArrayType::get(others[0]->getType(), others.size());
        auto* fresh = new GlobalVariable(module, type, list->isConstant(), list->getLinkage(),
                                         ConstantArray::get(type, others), "", list);
        fresh->takeName(list);
        fresh->setSection(list->getSection());
    }
    list->eraseFromParent();
}

/// First on the module as the front end made it: annotations become attributes.
struct AttributesPass : PassInfoMixin<AttributesPass> {
    PreservedAnalyses run(Module& module, ModuleAnalysisManager&)
    {
        if (configuration().options.disable)
            return PreservedAnalyses::all();
        take_annotations(module);
        return PreservedAnalyses::none();
    }
    static bool isRequired() { return true; }
};

/// Last on the module: by now inlining has happened and clones exist. In the link of LTO it finds the modules that were
/// compiled with the plugin selected already.
struct SelectPass : PassInfoMixin<SelectPass> {
    explicit SelectPass(const Options* options) : options_(options) {}

    PreservedAnalyses run(Module& module, ModuleAnalysisManager& manager)
    {
        const Options& options = options_ ? *options_ : configuration().options;
        if (options.disable || ModuleNote::of(module))
            return PreservedAnalyses::all();
        AttributesPass().run(module, manager);

        if (!target_of(module)) {
            note("target '" + Triple(module.getTargetTriple()).str()
                 + "' is not supported (ELF for x86-64 and little-endian arm64 is): functions stay as they are");
            return PreservedAnalyses::all();
        }
        ModuleNote note;
        note.verbose = options.verbose;
        if (!options.report.empty()) {
            SmallString<128> path(options.report);
            sys::fs::make_absolute(path);
            note.report = std::string(path.str());
        }
        note.put_on(module);
        bool any = false;
        for (Function& function : module)
            if (!function.isDeclarationForLinker())
                any |= select(function, options);
        if (options.verbose)
            for (const std::string& name : options.selection.unmatched())
                fastprobe::note("list: '" + name + "' is no function here");
        if (any)
            mark_unfinished(module);
        return PreservedAnalyses::none();
    }
    static bool isRequired() { return true; }

private:
    static bool select(Function& function, const Options& options)
    {
        StringRef entry_asked = function.getFnAttribute(asked_attribute).getValueAsString();
        StringRef exit_asked = function.getFnAttribute(exit_asked_attribute).getValueAsString();
        const bool no = entry_asked == "no",
                   asked = !entry_asked.empty() || (!exit_asked.empty() && exit_asked != "none");
        // \1 tells LLVM not to mangle the name.
        StringRef symbol = function.getName();
        symbol.consume_front("\1");
        const bool named = options.selection.selects(symbol.str());
        if (no || !(asked || named))
            return false;
        Request request = options;
        if (auto entry = parse_entry({entry_asked.data(), entry_asked.size()}))
            request.entry = *entry;
        if (auto exit = parse_exit({exit_asked.data(), exit_asked.size()}))
            request.exit = *exit;
        if (asked)
            request.min_insns = 0;
        put_on(function, request);
        return true;
    }

    const Options* options_;
};

/// Returning false would end in opt's "unknown pass name".
[[noreturn]] void stop(const std::string& why)
{
    fprintf(stderr, "error: fastprobe: %s\n", why.c_str());
    exit(1);
}

/// "fastprobe" or "fastprobe<entry=nop10;include=^foo>" in opt's -passes=.
bool parse_pass(StringRef name, ModulePassManager& manager)
{
    if (!name.consume_front("fastprobe"))
        return false;
    if (name.empty()) {
        manager.addPass(SelectPass(nullptr));
        return true;
    }
    if (!name.consume_front("<") || !name.consume_back(">"))
        return false;
    auto* options = new Options; // lives as long as the process, like the pipeline
    while (!name.empty()) {
        StringRef word;
        std::tie(word, name) = name.split(';');
        auto [key, value] = word.split('=');
        const std::string text = value.str();
        if (const auto done = options->set({key.data(), key.size()}, word.contains('=') ? text.c_str() : nullptr);
            !done)
            stop(done.error().text());
    }
    manager.addPass(SelectPass(options));
    return true;
}

/// Bitcode is written by a pass, the only one that clang runs with -disable-llvm-passes. A callback runs before each
/// pass: this one selects functions before that pass.
void select_before_bitcode(PassBuilder& builder)
{
    PassInstrumentationCallbacks* callbacks = builder.getPassInstrumentationCallbacks();
    if (!configuration().without_passes || !callbacks)
        return;
    callbacks->registerBeforeNonSkippedPassCallback([](StringRef pass, Any ir) {
        // "BitcodeWriterPass", "ThinLTOBitcodeWriterPass"
        if (const Module** module = pass.contains("BitcodeWriterPass") ? any_cast<const Module*>(&ir) : nullptr) {
            ModuleAnalysisManager none;
            SelectPass(nullptr).run(const_cast<Module&>(**module), none);
        }
    });
}

void register_passes(PassBuilder& builder)
{
    select_before_bitcode(builder);
    builder.registerPipelineParsingCallback(
        [](StringRef name, ModulePassManager& manager, ArrayRef<PassBuilder::PipelineElement>) {
            return parse_pass(name, manager);
        });
    builder.registerPipelineStartEPCallback(
        [](ModulePassManager& manager, auto) { manager.addPass(AttributesPass()); });
    builder.registerOptimizerLastEPCallback(
        [](ModulePassManager& manager, auto...) { manager.addPass(SelectPass(nullptr)); });
#if LLVM_VERSION_MAJOR >= 15
    builder.registerFullLinkTimeOptimizationLastEPCallback(
        [](ModulePassManager& manager, auto) { manager.addPass(SelectPass(nullptr)); });
#endif
}

} // namespace
} // namespace fastprobe

extern "C" __attribute__((visibility("default"))) PassPluginLibraryInfo llvmGetPassPluginInfo()
{
    PassPluginLibraryInfo info{};
    info.APIVersion = LLVM_PLUGIN_API_VERSION;
    info.PluginName = "fastprobe";
    info.PluginVersion = FASTSDT_VERSION_STRING;
    info.RegisterPassBuilderCallbacks = fastprobe::register_passes;
    return info;
}

const char* fastprobe_argument(const char* argument)
{
    static std::string error;
    StringRef text(argument);
    auto [key, rest] = text.split('=');
    std::string value = rest.str();
    const auto done =
        fastprobe::configuration().options.set({key.data(), key.size()}, text.contains('=') ? value.c_str() : nullptr);
    error = done ? "" : done.error().text();
    return done ? nullptr : error.c_str();
}

bool fastprobe_wants_exits()
{
    return fastprobe::configuration().options.exit != fastprobe::Exit::none;
}

const char* fastprobe_report_path()
{
    return fastprobe::configuration().options.report.c_str();
}

void fastprobe_select_without_passes()
{
    fastprobe::configuration().without_passes = true;
}

const char* fastprobe_pass_path()
{
    static Dl_info self;
    return dladdr(reinterpret_cast<void*>(&fastprobe_pass_path), &self) ? self.dli_fname : "";
}

/// -Wl,-plugin,fastprobe-pass.so for LTO in linkers that use LLVMgold.so, which has no way of its own to load more code.
/// The linker calls this function (binutils' plugin-api.h); for ld and gold, being loaded is all that is needed. mold
/// takes one plugin, the last one named: it gets LLVMgold.so from here.
extern "C" __attribute__((visibility("default"))) int onload(void* transfer_vector)
{
    constexpr int ok = 0, failed = 3; // LDPS_OK, LDPS_ERR
    if (dlopen(FASTSDT_LLVMGOLD, RTLD_LAZY | RTLD_NOLOAD))
        return ok;
    void* handle = dlopen(FASTSDT_LLVMGOLD, RTLD_NOW);
    auto gold_onload = handle ? reinterpret_cast<int (*)(void*)>(dlsym(handle, "onload")) : nullptr;
    if (!gold_onload)
        fprintf(stderr, "error: fastprobe: %s\n", dlerror());
    return gold_onload ? gold_onload(transfer_vector) : failed;
}
