// SPDX-License-Identifier: BSD-2-Clause
#include "script/ast.h"

#include "script/language.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace fastsdt::engine::ast {
namespace {

class Printer {
public:
    std::string text;

    void script(const Script& script)
    {
        for (const Script::Setting& setting : script.settings)
            under("config " + setting.name, [&] { expr(*setting.value); });
        for (const MapSize& size : script.sizes)
            line(fmt::format("let {} = {}({})", size.map, size.kind, size.keys));
        for (const auto& [name, macros] : script.macros)
            for (const Macro& macro : macros)
                under(fmt::format("macro {}({})", name, fmt::join(macro.parameters, ", ")), [&] { block(macro.body); });
        for (const Clause& clause : script.clauses) {
            line("clause");
            ++depth_;
            for (const Probe& probe : clause.probes)
                line("probe " + probe.text);
            if (clause.filter)
                under("filter", [&] { expr(*clause.filter); });
            block(clause.body);
            --depth_;
        }
    }

private:
    void line(const std::string& what) { text += std::string(2 * depth_, ' ') + what + "\n"; }
    template <class Fill> void under(const std::string& what, const Fill& fill)
    {
        line(what);
        ++depth_;
        fill();
        --depth_;
    }
    void block(const Block& all)
    {
        for (const Stmt& each : all)
            std::visit([this](const auto& node) { statement(node); }, each.node);
    }
    void expr(const Expr& e)
    {
        std::visit([this](const auto& node) { one(node); }, e.node);
    }
    void all(const std::vector<Expr>& of)
    {
        for (const Expr& each : of)
            expr(each);
    }

    void one(const Number& node) { line(fmt::format("number {}", node.value)); }
    void one(const Real& node) { line(fmt::format("number {}", node.value)); }
    void one(const Text& node) { line(fmt::format("text {:?}", node.value)); }
    void one(const Parameter& node)
    {
        line(node.number ? fmt::format("parameter ${}", node.number) : std::string("parameter $#"));
    }
    void one(const Word& node) { line("word " + node.word); }
    void one(const NamedArgument& node) { line("args." + node.name); }
    void one(const MapAt& node)
    {
        under("map " + node.name, [&] { all(node.keys); });
    }
    void one(const VariableOf& node) { line("variable " + node.name); }
    void one(const Call& node)
    {
        under("call " + node.name, [&] { all(node.arguments); });
    }
    void one(const Prefix& node)
    {
        under(fmt::format("prefix {}", word_of(node.op)), [&] { expr(*node.of); });
    }
    void one(const Deref& node)
    {
        under("deref", [&] { expr(*node.of); });
    }
    void one(const AddressOf& node)
    {
        under("address", [&] { expr(*node.of); });
    }
    void one(const Step& node)
    {
        under(fmt::format("{}{}", node.is_before ? "then " : "", node.by > 0 ? "++" : "--"), [&] { expr(*node.of); });
    }
    void one(const Infix& node)
    {
        under(fmt::format("infix {}", word_of(node.op)), [&] {
            expr(*node.left);
            expr(*node.right);
        });
    }
    void one(const Choice& node)
    {
        under("choice", [&] {
            expr(*node.condition);
            if (node.yes)
                expr(*node.yes);
            expr(*node.no);
        });
    }
    void one(const Member& node)
    {
        under((node.is_arrow ? "member ->" : "member .") + node.name, [&] { expr(*node.of); });
    }
    void one(const Element& node)
    {
        under("element", [&] {
            expr(*node.of);
            expr(*node.index);
        });
    }
    void one(const Cast& node)
    {
        under("cast to " + type(node.type), [&] {
            of(node.type);
            expr(*node.of);
        });
    }
    void one(const SizeOf& node)
    {
        under("sizeof " + type(node.type), [&] { of(node.type); });
    }
    void one(const TypeValue& node)
    {
        under("typeof " + type(node.type), [&] { of(node.type); });
    }
    void one(const OffsetOf& node)
    {
        under(fmt::format("offsetof {} {}", type(node.type), fmt::join(node.members, ".")), [&] { of(node.type); });
    }
    void one(const Tuple& node)
    {
        under(node.names.empty() ? std::string("tuple") : fmt::format("record {}", fmt::join(node.names, ", ")),
              [&] { all(node.elements); });
    }
    void one(const BlockValue& node)
    {
        under("block", [&] { block(node.body); });
    }

    void statement(const Assign& node)
    {
        under(node.op ? fmt::format("assign {}=", word_of(*node.op)) : std::string("assign ="), [&] {
            expr(node.target);
            expr(node.value);
        });
    }
    void statement(const Alone& node) { expr(node.value); }
    void statement(const If& node)
    {
        under("if", [&] { expr(node.condition); });
        under("then", [&] { block(node.then); });
        if (!node.otherwise.empty())
            under("else", [&] { block(node.otherwise); });
    }
    void statement(const While& node)
    {
        under("while", [&] { expr(node.condition); });
        under("do", [&] { block(node.body); });
    }
    void statement(const Unroll& node)
    {
        under("unroll", [&] { all(node.times); });
        under("do", [&] { block(node.body); });
    }
    void statement(const Let& node)
    {
        under("let " + node.name + (node.type ? " : " + type(*node.type) : ""), [&] {
            if (node.type)
                of(*node.type);
            if (node.value)
                expr(*node.value);
        });
    }
    void statement(const Range& node)
    {
        under("for " + node.name, [&] {
            expr(node.from);
            expr(node.to);
        });
        under("do", [&] { block(node.body); });
    }
    void statement(const Each& node)
    {
        under("for " + node.name, [&] { expr(node.map); });
        under("do", [&] { block(node.body); });
    }
    void statement(const Way& node)
    {
        line(node.kind == Way::Kind::leave ? "break" : node.kind == Way::Kind::next ? "continue" : "return");
    }

    void of(const TypeName& type)
    {
        if (type.of)
            expr(*type.of);
    }
    static std::string type(const TypeName& name) { return name.of ? "typeof" : type(name.shape); }
    static std::string type(const ShapePtr& shape)
    {
        if (!shape)
            return "void";
        switch (shape->kind) {
        case Shape::Kind::pointer: return type(shape->of) + "*";
        case Shape::Kind::integer: return fmt::format("{}int{}", shape->is_signed ? "" : "u", 8 * shape->size);
        case Shape::Kind::boolean: return "bool";
        case Shape::Kind::array: return fmt::format("{}[{}]", type(shape->of), shape->count);
        case Shape::Kind::text: return fmt::format("string[{}]", shape->size);
        default: return shape->name;
        }
    }

    size_t depth_ = 0;
};

} // namespace

std::string print(const Script& script)
{
    Printer printer;
    printer.script(script);
    return std::move(printer.text);
}

} // namespace fastsdt::engine::ast
