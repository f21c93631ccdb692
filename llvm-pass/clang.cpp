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

constexpr StringRef exit_annotation = "fastprobe_exit=";

void error(DiagnosticsEngine& diagnostics, SourceLocation where, const std::string& text)
{
    diagnostics.Report(where, diagnostics.getCustomDiagID(DiagnosticsEngine::Error, "%0")) << text;
}

/// What the IR does not say: __attribute__((no_instrument_function)) leaves no trace there unless clang itself instruments, and
/// the records of exits tell results by sign and size.
class Remarks : public ASTConsumer, public RecursiveASTVisitor<Remarks> {
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
        if (function->hasAttr<NoInstrumentFunctionAttr>())
            annotate(*function, "no_fastprobe");
        if (function->doesThisDeclarationHaveABody() && wants_exits(*function))
            annotate_result(*function);
        if (function->doesThisDeclarationHaveABody())
            annotate_declarations(*function);
        return true;
    }
    bool shouldVisitTemplateInstantiations() const { return true; }

private:
    static void annotate(FunctionDecl& function, StringRef text)
    {
        for (const auto* annotation : function.specific_attrs<AnnotateAttr>())
            if (annotation->getAnnotation() == text)
                return;
        function.addAttr(AnnotateAttr::CreateImplicit(function.getASTContext(), text, nullptr, 0));
    }
    /// Of a static function that is used before it is defined, clang emits the annotations of the declaration that was used.
    static void annotate_declarations(FunctionDecl& function)
    {
        std::vector<std::string> texts;
        for (const auto* annotation : function.specific_attrs<AnnotateAttr>())
            if (annotation->getAnnotation().contains("fastprobe"))
                texts.push_back(annotation->getAnnotation().str());
        for (FunctionDecl* declaration : function.redecls())
            for (const std::string& text : texts)
                annotate(*declaration, text);
    }
    static bool wants_exits(const FunctionDecl& function)
    {
        for (const auto* annotation : function.specific_attrs<AnnotateAttr>())
            if (annotation->getAnnotation().take_front(exit_annotation.size()) == exit_annotation)
                return true;
        return fastprobe_wants_exits();
    }
    static void annotate_result(FunctionDecl& function)
    {
        const QualType type = function.getReturnType();
        if (type->isVoidType() || type->isDependentType() || type->isUndeducedType() || type->isIncompleteType())
            return;
        std::string text = "fastprobe_result=";
        if (type->isSignedIntegerOrEnumerationType())
            text += "signed";
        else if (type->isUnsignedIntegerOrEnumerationType() || type->isAnyPointerType() || type->isReferenceType())
            text += "unsigned";
        const ASTContext& context = function.getASTContext();
        const QualType value = type->isReferenceType() ? context.VoidPtrTy : type;
        annotate(function, text + ":" + std::to_string(context.getTypeSizeInChars(value).getQuantity()));
    }
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
        const std::string report = fastprobe_report_path();
        if (report.empty())
            return true;
        fastprobe::Report probe;
        auto done = probe.open(report);
        if (done)
            done = probe.finish();
        if (!done)
            error(compiler.getDiagnostics(), {}, "fastprobe: " + done.error().text());
        return bool(done);
    }

    std::unique_ptr<ASTConsumer> CreateASTConsumer(CompilerInstance& compiler, StringRef) override
    {
        CodeGenOptions& options = compiler.getCodeGenOpts();
#if LLVM_VERSION_MAJOR >= 22 // clang has loaded what is in PassPlugins before any action begins
        options.PassBuilderCallbacks.push_back(llvmGetPassPluginInfo().RegisterPassBuilderCallbacks);
#else
        options.PassPlugins.push_back(fastprobe_pass_path());
#endif

        if (options.DisableLLVMPasses) // -save-temps: another process compiles the bitcode, without this plugin
            fastprobe_select_without_passes();

        Preprocessor& preprocessor = compiler.getPreprocessor();
        std::string macros = "#define __FASTPROBE__ 1\n";
        // LTO may inline code elsewhere in a link without the plugin: such code must keep out of the red zone itself.
        const auto action = compiler.getFrontendOpts().ProgramAction;
        if ((action == frontend::EmitObj || action == frontend::EmitAssembly) && !options.PrepareForLTO
            && !options.PrepareForThinLTO)
            macros += "#define __FASTPROBE_NOREDZONE__ 1\n";
        preprocessor.setPredefines(preprocessor.getPredefines() + macros);
        return std::make_unique<Remarks>();
    }

    ActionType getActionType() override { return AddBeforeMainAction; }
};

FrontendPluginRegistry::Add<Action> action("fastprobe", "make function entries cheap to probe, and record them");

enum class Attribute { entry, exit, no };
constexpr const char* names[] = {"fastprobe", "fastprobe_exit", "no_fastprobe"};
constexpr const char* gnu_names[] = {"gnu::fastprobe", "gnu::fastprobe_exit", "gnu::no_fastprobe"};

/// fastprobe, fastprobe("MODE"), fastprobe_exit("MODE") and no_fastprobe become annotations, which the pass reads.
template <Attribute which>
struct AttributeInfo : ParsedAttrInfo {
    AttributeInfo()
    {
        NumArgs = which == Attribute::exit ? 1 : 0;
        OptArgs = which == Attribute::entry ? 1 : 0;
        constexpr auto index = static_cast<size_t>(which);
        static constexpr Spelling spellings[] = {
            {ParsedAttr::AS_GNU, names[index]},
            {ParsedAttr::AS_CXX11, gnu_names[index]},
#if LLVM_VERSION_MAJOR >= 18
            {ParsedAttr::AS_C23, gnu_names[index]},
#else
            {ParsedAttr::AS_C2x, gnu_names[index]},
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
        std::string text = names[static_cast<size_t>(which)];
        if (attribute.getNumArgs() == 1) {
            auto* mode = attribute.isArgExpr(0) ? dyn_cast<StringLiteral>(attribute.getArgAsExpr(0)->IgnoreParenCasts())
                                                : nullptr;
            std::string word = mode ? mode->getString().str() : "";
            const bool exit = which == Attribute::exit;
            if (exit ? !fastprobe::parse_exit(word) : !fastprobe::parse_entry(word)) {
                error(sema.getDiagnostics(), attribute.getLoc(),
                      "attribute '" + text + "' takes a string, one of "
                          + (exit ? fastprobe::exit_choices : fastprobe::entry_choices));
                return AttributeNotApplied;
            }
            text += "=" + word;
        }
        decl->addAttr(AnnotateAttr::Create(sema.Context, text, nullptr, 0, attribute.getRange()));
        return AttributeApplied;
    }
};

ParsedAttrInfoRegistry::Add<AttributeInfo<Attribute::entry>> yes("fastprobe",
                                                                 "make this function's entry cheap to probe");
ParsedAttrInfoRegistry::Add<AttributeInfo<Attribute::exit>> exits("fastprobe_exit",
                                                                  "put a site in front of each of its ways out");
ParsedAttrInfoRegistry::Add<AttributeInfo<Attribute::no>> no("no_fastprobe", "leave this function alone");

} // namespace
