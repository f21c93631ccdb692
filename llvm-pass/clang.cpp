// SPDX-License-Identifier: BSD-2-Clause
// The clang plugin: -fplugin=fastprobe.so and -fplugin-arg-fastprobe-KEY=VALUE, the attributes, the macros. It hands the
// arguments to the pass and has clang load that.
#include "plugin.h"
#include "report.h"

#include <clang/AST/ASTConsumer.h>
#include <clang/AST/Attr.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/Basic/Diagnostic.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendPluginRegistry.h>
#include <clang/Lex/Preprocessor.h>
#include <clang/Sema/ParsedAttr.h>
#include <clang/Sema/Sema.h>
#include <clang/Sema/SemaDiagnostic.h>
#if LLVM_VERSION_MAJOR >= 22
#include <llvm/Plugins/PassPlugin.h>
#endif

using namespace clang;

namespace {

void error(DiagnosticsEngine& diagnostics, SourceLocation where, const std::string& text)
{
    diagnostics.Report(where, diagnostics.getCustomDiagID(DiagnosticsEngine::Error, "%0")) << text;
}

/// __attribute__((no_instrument_function)) leaves no trace in the IR unless clang itself instruments.
class No_instrument : public ASTConsumer, public RecursiveASTVisitor<No_instrument> {
public:
    bool HandleTopLevelDecl(DeclGroupRef group) override
    {
        for (Decl* decl : group)
            TraverseDecl(decl);
        return true;
    }
    void HandleInlineFunctionDefinition(FunctionDecl* function) override { VisitFunctionDecl(function); }
    void HandleCXXImplicitFunctionInstantiation(FunctionDecl* function) override { VisitFunctionDecl(function); }

    bool VisitFunctionDecl(FunctionDecl* function)
    {
        if (!function->hasAttr<NoInstrumentFunctionAttr>())
            return true;
        for (const auto* annotation : function->specific_attrs<AnnotateAttr>())
            if (annotation->getAnnotation() == "no_fastprobe")
                return true;
        function->addAttr(AnnotateAttr::CreateImplicit(function->getASTContext(), "no_fastprobe", nullptr, 0));
        return true;
    }
    bool shouldVisitTemplateInstantiations() const { return true; }
};

class Action : public PluginASTAction {
protected:
    bool ParseArgs(const CompilerInstance& compiler, const std::vector<std::string>& arguments) override
    {
        for (const std::string& argument : arguments) {
            if (const char* why = fastprobe_argument(argument.c_str())) {
                error(compiler.getDiagnostics(), {}, std::string("fastprobe: ") + why);
                return false;
            }
        }
        std::string why;
        const std::string report = fastprobe_report_path();
        fastprobe::Report probe;
        if (!report.empty() && (!probe.open(report, why) || !probe.finish(why))) {
            error(compiler.getDiagnostics(), {}, "fastprobe: " + why);
            return false;
        }
        return true;
    }

    std::unique_ptr<ASTConsumer> CreateASTConsumer(CompilerInstance& compiler, StringRef) override
    {
        CodeGenOptions& options = compiler.getCodeGenOpts();
#if LLVM_VERSION_MAJOR >= 22 // has loaded what stands in PassPlugins before any action begins
        options.PassBuilderCallbacks.push_back(llvmGetPassPluginInfo().RegisterPassBuilderCallbacks);
#else
        options.PassPlugins.push_back(fastprobe_pass_path());
#endif

        if (options.DisableLLVMPasses) // -save-temps: another process goes on, with the bitcode and without us
            fastprobe_select_without_passes();

        Preprocessor& preprocessor = compiler.getPreprocessor();
        std::string macros = "#define __FASTPROBE__ 1\n";
        // Code that ends up inlined elsewhere in a link without the plugin must look after the red zone itself.
        const auto action = compiler.getFrontendOpts().ProgramAction;
        if ((action == frontend::EmitObj || action == frontend::EmitAssembly) && !options.PrepareForLTO
            && !options.PrepareForThinLTO)
            macros += "#define __FASTPROBE_NOREDZONE__ 1\n";
        preprocessor.setPredefines(preprocessor.getPredefines() + macros);
        return std::make_unique<No_instrument>();
    }

    ActionType getActionType() override { return AddBeforeMainAction; }
};

FrontendPluginRegistry::Add<Action> action("fastprobe", "make function entries cheap to probe, and record them");

/// fastprobe, fastprobe("MODE") and no_fastprobe become annotations, which the pass reads.
template <bool No>
struct Attribute_info : ParsedAttrInfo {
    Attribute_info()
    {
        OptArgs = No ? 0 : 1;
        static constexpr Spelling spellings[] = {
            {ParsedAttr::AS_GNU, No ? "no_fastprobe" : "fastprobe"},
            {ParsedAttr::AS_CXX11, No ? "gnu::no_fastprobe" : "gnu::fastprobe"},
#if LLVM_VERSION_MAJOR >= 18
            {ParsedAttr::AS_C23, No ? "gnu::no_fastprobe" : "gnu::fastprobe"},
#else
            {ParsedAttr::AS_C2x, No ? "gnu::no_fastprobe" : "gnu::fastprobe"},
#endif
        };
        Spellings = spellings;
    }

    bool diagAppertainsToDecl(Sema& sema, const ParsedAttr& attribute, const Decl* decl) const override
    {
        if (decl->isFunctionOrFunctionTemplate())
            return true;
        error(sema.getDiagnostics(), attribute.getLoc(),
              "attribute '" + attribute.getAttrName()->getName().str() + "' only applies to functions");
        return false;
    }

    AttrHandling handleDeclAttribute(Sema& sema, Decl* decl, const ParsedAttr& attribute) const override
    {
        std::string text = No ? "no_fastprobe" : "fastprobe";
        if (attribute.getNumArgs() == 1) {
            auto* mode = attribute.isArgExpr(0) ? dyn_cast<StringLiteral>(attribute.getArgAsExpr(0)->IgnoreParenCasts())
                                                : nullptr;
            std::string word = mode ? mode->getString().str() : "";
            if (!fastprobe::parse_entry(word)) {
                error(sema.getDiagnostics(), attribute.getLoc(),
                      "attribute 'fastprobe' takes a string, one of " + std::string(fastprobe::entry_choices));
                return AttributeNotApplied;
            }
            text += "=" + word;
        }
        decl->addAttr(AnnotateAttr::Create(sema.Context, text, nullptr, 0, attribute.getRange()));
        return AttributeApplied;
    }
};

ParsedAttrInfoRegistry::Add<Attribute_info<false>> yes("fastprobe", "make this function's entry cheap to probe");
ParsedAttrInfoRegistry::Add<Attribute_info<true>> no("no_fastprobe", "leave this function's entry alone");

} // namespace
