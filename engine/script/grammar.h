// SPDX-License-Identifier: BSD-2-Clause
// Recursive descent. Precedence is that of bpftrace 0.17, src/parser.yy, which is C's.
#pragma once
#include "script/declarations.h"
#include "script/language.h"
#include "script/parser.h"
#include "script/probes.h"

#include <set>
#include <tuple>

namespace fastsdt::engine {

inline ast::Inner inner(ast::Expr e)
{
    return std::make_unique<ast::Expr>(std::move(e));
}

/// What was written, word by word. parser.cpp has what stands around values, parser_values.cpp has those.
class Parser : Declarations {
    using Expr = ast::Expr;
    using Stmt = ast::Stmt;

public:
    Parser(std::string_view text, const std::vector<std::string>& parameters)
        : Declarations(text), parameters_(parameters)
    {
        script_.source = text;
    }

    ast::Script run(std::optional<ScriptError>& error);

private:
    void directive();
    void definition(std::map<std::string, std::vector<ast::Macro>>& macros);
    void settings();
    Expr setting_value();
    void parameters(ast::Macro& made, bool may_be_places);
    void macro();
    void map_size();
    void clause();
    Probe probe();

    // ---- Statements

    void statements(ast::Block& to);
    ast::Block block(std::string_view after);
    Stmt statement();
    Stmt lone_value();
    [[noreturn]] static void no_statement(const Token& word);
    Stmt assignment(Expr target, const Token& first);
    const InfixWord* compound() const;
    Expr condition(std::string_view word);
    ast::If if_else();
    ast::While loop();
    ast::Unroll unroll();
    ast::Let let();
    decltype(Stmt::node) loop_over();
    ast::Way way();

    // ---- Values

    std::vector<Expr> arguments(std::string_view function);
    std::vector<Expr> arguments_behind_bracket();
    Expr place();
    Expr expression();
    Expr infix(int precedence);
    Expr unary();
    static Expr stepped(Expr step);
    Expr postfix(Expr found);
    Expr primary();
    Expr choice();
    bool begins_type() const;
    ast::TypeName type();
    ast::TypeName type_or_value();
    std::optional<ast::TypeName> type_by_parameter();
    void go_back() { std::tie(lexer_, token_, last_, last_word_) = before_type_; }

    ShapePtr array_of(ShapePtr of);

    // (uint8)value, (struct a*)value, (int8[4])value, behind the bracket
    Expr cast(Span start) { return cast_behind(start, type()); }

    Expr cast_behind(Span start, ast::TypeName to);
    Expr word();
    Expr called(const Token& name);
    Expr size_of(const Token& name);
    Expr offset_of(const Token& name);
    Expr members_of(ast::TypeName type, const Token& name);
    Expr container_of(const Token& name);

    const std::vector<std::string>& parameters_;
    size_t loops_ = 0;
    std::set<std::string> may_be_types_; // parameters of the macro that is read
    std::tuple<Lexer, Token, Span, std::string_view> before_type_{lexer_, {}, {}, {}};
};

} // namespace fastsdt::engine
