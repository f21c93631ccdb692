// SPDX-License-Identifier: BSD-2-Clause
// Recursive descent. Precedence is that of bpftrace 0.17, src/parser.yy, which is C's.
#include "script/declarations.h"
#include "script/language.h"
#include "script/parser.h"
#include "script/probes.h"

namespace fastsdt::engine {
namespace {

using ast::Expr;
using ast::Stmt;

ast::Inner inner(Expr e)
{
    return std::make_unique<Expr>(std::move(e));
}

class Parser : Declarations {
public:
    Parser(std::string_view text, const std::vector<std::string>& parameters)
        : Declarations(text), parameters_(parameters)
    {
        script_.source = text;
    }

    ast::Script run(std::optional<ScriptError>& error)
    {
        try {
            while (lexer_.peek() != '\0')
                if (script_.clauses.empty() && lexer_.ahead("config"))
                    settings();
                else if (lexer_.ahead("macro"))
                    macro();
                else if (lexer_.ahead("struct") || lexer_.ahead("union") || lexer_.ahead("enum"))
                    declaration();
                else
                    clause();
            if (script_.clauses.empty())
                fail(lexer_.here(), "the script is empty: PROBE /FILTER/ { ACTION } is wanted");
        } catch (const ScriptError& found) {
            error = found;
        }
        return std::move(script_);
    }

private:
    // config = { name = value; name = value }
    void settings()
    {
        advance();
        advance();
        expect("=", "\"config\"");
        expect("{", "\"=\"");
        while (!is("}")) {
            if (accept(";"))
                continue;
            if (token_.kind != Token::Kind::identifier)
                fail(token_.where, fmt::format("the name of a setting is wanted, and not {}", found()));
            ast::Script::Setting& setting = script_.settings.emplace_back();
            setting.name = token_.word;
            setting.where = token_.where;
            advance();
            expect("=", "a setting");
            setting.value = primary();
            if (!is("}"))
                expect(";", "a setting");
        }
    }

    // macro name(x, $y, @z) { value }
    void macro()
    {
        advance();
        advance();
        const Token name = token_;
        if (name.kind != Token::Kind::identifier)
            fail(name.where, fmt::format("the name of a macro is wanted, and not {}", found()));
        advance();
        expect("(", "the macro's name");
        ast::Macro made;
        while (!is(")")) {
            if (token_.kind != Token::Kind::identifier && token_.kind != Token::Kind::variable
                && token_.kind != Token::Kind::map)
                fail(token_.where, fmt::format("a parameter is wanted, and not {}", found()));
            made.parameters.emplace_back(token_.word);
            advance();
            if (!is(")"))
                expect(",", "a parameter");
        }
        advance();
        expect("{", "the macro's parameters");
        made.body = inner(expression());
        if (!is("}"))
            kernel_only(token_.where, "a macro is one value in this subset of bpftrace's language");
        script_.macros[std::string(name.word)] = std::move(made);
    }

    // PROBE, PROBE /FILTER/ { STATEMENTS }
    void clause()
    {
        ast::Clause& clause = script_.clauses.emplace_back();
        do
            clause.probes.push_back(probe());
        while (lexer_.peek() == ',' && (lexer_.skip(), true));
        clause.where = join(clause.probes.front().where, clause.probes.back().where);
        for (const Probe& probe : clause.probes)
            if (probe.has_sites() != clause.probes.front().has_sites())
                kernel_only(probe.where, "probes of programs and BEGIN, END or interval need separate clauses");
        if (lexer_.peek() == '/') {
            lexer_.skip();
            advance();
            clause.filter = expression();
            if (token_.kind != Token::Kind::end_filter)
                fail(token_.where, fmt::format("the filter ends with \"/\" before \"{{\", and not with {}", found()));
        }
        if (lexer_.peek() != '{')
            fail(lexer_.here(),
                 clause.filter ? "\"{\" is wanted after the filter"
                               : "\"{\", or a blank and a filter, is wanted after the probe");
        advance(); // the brace
        advance();
        statements(clause.body);
    }

    Probe probe()
    {
        const Token token = lexer_.probe();
        if (token.word.empty())
            fail(lexer_.here(),
                 "a probe is wanted: usdt:FILE:PROVIDER:NAME, uprobe:FILE:FUNCTION, uretprobe:FILE:FUNCTION, "
                 "interval:s:N, BEGIN or END");
        return read_probe(token, parameters_, script_.parameters);
    }

    // ---- Statements

    // Up to the closing brace, which stays: behind the last one of a script there is no word. What was read stays in `to` where an error
    // comes.
    void statements(ast::Block& to)
    {
        while (!is("}")) {
            if (accept(";"))
                continue;
            to.push_back(statement());
            const bool ends_itself = last_word_ == "}";
            if (!is("}") && !accept(";") && !ends_itself)
                fail(token_.where, fmt::format("\";\" or \"}}\" is wanted after a statement, and not {}", found()));
        }
    }

    ast::Block block(std::string_view after)
    {
        const Depth depth(*this);
        expect("{", after);
        ast::Block found;
        statements(found);
        advance();
        return found;
    }

    Stmt statement()
    {
        const Span start = token_.where;
        const auto whole = [&](auto node) { return Stmt{std::move(node), join(start, last_)}; };
        if (token_.kind == Token::Kind::map || token_.kind == Token::Kind::variable)
            return whole(assignment());
        if (is("++") || is("--"))
            return whole(ast::Alone{step_before()});
        if (is_word("if"))
            return whole(if_else());
        if (is_word("while"))
            return whole(loop());
        if (is_word("unroll"))
            return whole(unroll());
        if (is_word("let"))
            return whole(let());
        if (is_word("for"))
            return whole(range());
        if (is_word("break") || is_word("continue") || is_word("return"))
            return whole(way());
        if (is("(") || is("*") || (token_.kind == Token::Kind::identifier && builtin_of(token_.word)))
            return lone_value();
        if (token_.kind == Token::Kind::identifier)
            return whole(ast::Alone{call()});
        fail(token_.where,
             fmt::format("a statement begins with a map, a variable or a function, and not with {}", found()));
    }

    // A value alone, or: a ? f() : g()
    Stmt lone_value()
    {
        const Span start = token_.where;
        Expr value = infix(1);
        if (!accept("?"))
            return {ast::Alone{std::move(value)}, join(start, last_)};
        ast::If choice{std::move(value), {}, {}};
        choice.then.push_back(statement());
        expect(":", "the value of \"?\"");
        choice.otherwise.push_back(statement());
        return {std::move(choice), join(start, last_)};
    }

    // A statement that is a call.
    Expr call()
    {
        const Token word = token_;
        advance();
        if (!is("(")) {
            if (statement_of(word.word))
                expect("(", fmt::format("\"{}\"", word.word));
            no_statement(word);
        }
        return called(word);
    }

    [[noreturn]] static void no_statement(const Token& word)
    {
        if (is_elsewhere(word.word, Elsewhere::function))
            kernel_only(word.where, why_not_here(word.word, true));
        fail(word.where, unknown_statement(word.word));
    }

    // ++@x, --$x
    Expr step_before()
    {
        const Span start = token_.where;
        const int by = is("++") ? 1 : -1;
        advance();
        if (token_.kind != Token::Kind::map && token_.kind != Token::Kind::variable)
            fail(token_.where, fmt::format("a map is wanted, and not {}", found()));
        Expr of = place();
        return {ast::Step{inner(std::move(of)), by, false}, join(start, last_)};
    }

    // @m[keys] = value, $v += value, @m++
    decltype(Stmt::node) assignment()
    {
        const bool is_map = token_.kind == Token::Kind::map;
        Expr target = place();
        if (is("++") || is("--")) {
            const int by = is("++") ? 1 : -1;
            advance();
            const Span where = join(target.where, last_);
            return ast::Alone{{ast::Step{inner(std::move(target)), by, true}, where}};
        }
        if (const InfixWord* const by = compound()) {
            advance();
            Expr value = expression();
            return ast::Assign{std::move(target), by->op, std::move(value)};
        }
        if (!is("="))
            fail(token_.where,
                 fmt::format("\"=\" is wanted after a {}, and not {}", is_map ? "map" : "variable", found()));
        advance();
        Expr value = expression();
        return ast::Assign{std::move(target), std::nullopt, std::move(value)};
    }

    // For += and its like: the operator.
    const InfixWord* compound() const
    {
        if (token_.kind != Token::Kind::symbol || token_.word.size() < 2 || !token_.word.ends_with("=")
            || token_.word == "==" || token_.word == "<=" || token_.word == ">=" || token_.word == "!=")
            return nullptr;
        const InfixWord* const found = infix_of(token_.word.substr(0, token_.word.size() - 1));
        return found && found->precedence > 2 ? found : nullptr;
    }

    // What stands between the word and the block.
    Expr condition(std::string_view word)
    {
        advance();
        expect("(", word);
        Expr found = expression();
        expect(")", "the condition");
        return found;
    }

    // if (a) { ... } else if (b) { ... } else { ... }
    ast::If if_else()
    {
        const Depth depth(*this);
        ast::If found{condition("\"if\""), {}, {}};
        found.then = block("the condition");
        if (!is_word("else"))
            return found;
        advance();
        if (is_word("if"))
            found.otherwise.push_back(statement());
        else
            found.otherwise = block("\"else\"");
        return found;
    }

    // while (a) { ... }
    ast::While loop()
    {
        const Depth depth(*this);
        ast::While found{condition("\"while\""), {}};
        ++loops_;
        found.body = block("the condition");
        --loops_;
        return found;
    }

    // unroll(N) { ... }
    ast::Unroll unroll()
    {
        const Span start = token_.where;
        advance();
        ast::Unroll found{arguments("unroll"), {}, {}};
        found.head = join(start, last_);
        found.body = block("unroll()");
        return found;
    }

    // let $x; let $x = value
    ast::Let let()
    {
        advance();
        if (token_.kind == Token::Kind::map)
            kernel_only(token_.where, "maps of another kind are not in this subset of bpftrace's language");
        if (token_.kind != Token::Kind::variable)
            fail(token_.where, fmt::format("a variable is wanted after \"let\", and not {}", found()));
        ast::Let made{std::string(token_.word), token_.where, {}};
        advance();
        if (is(":"))
            kernel_only(token_.where, "a variable has the type of what it is assigned here");
        if (accept("="))
            made.value = expression();
        return made;
    }

    // for ($i : from..to) { ... }
    ast::Range range()
    {
        const Depth depth(*this);
        const Span start = token_.where;
        advance();
        expect("(", "\"for\"");
        if (token_.kind != Token::Kind::variable)
            fail(token_.where, fmt::format("a variable is wanted after \"for (\", and not {}", found()));
        const Token name = token_;
        advance();
        expect(":", "the variable");
        Expr from = expression();
        if (!is(".."))
            kernel_only(join(start, from.where),
                        "a loop over a map is not in this subset of bpftrace's language: for ($i : FROM..TO) is");
        advance();
        Expr to = expression();
        expect(")", "the range");
        ast::Range made{std::string(name.word), name.where, std::move(from), std::move(to), {}};
        ++loops_;
        made.body = block("the range");
        --loops_;
        return made;
    }

    ast::Way way()
    {
        using Kind = ast::Way::Kind;
        const Kind kind = is_word("break") ? Kind::leave : is_word("continue") ? Kind::next : Kind::end;
        if (kind != Kind::end && loops_ == 0)
            fail(token_.where, fmt::format("\"{}\" belongs into a loop", token_.word));
        advance();
        return {kind};
    }

    // ---- Values

    std::vector<Expr> arguments(std::string_view function)
    {
        expect("(", fmt::format("\"{}\"", function));
        return arguments_behind_bracket();
    }

    std::vector<Expr> arguments_behind_bracket()
    {
        std::vector<Expr> found;
        if (accept(")"))
            return found;
        do
            found.push_back(expression());
        while (accept(","));
        expect(")", "an argument");
        return found;
    }

    // A map with its keys, or a variable.
    Expr place()
    {
        const Token name = token_;
        advance();
        if (name.kind == Token::Kind::variable)
            return {ast::VariableOf{std::string(name.word)}, name.where};
        ast::MapAt found{std::string(name.word), {}};
        const Span bracket = token_.where;
        if (accept("[")) {
            do
                found.keys.push_back(expression());
            while (accept(","));
            expect("]", "a key");
            found.brackets = join(bracket, last_);
        }
        return {std::move(found), join(name.where, last_)};
    }

    Expr expression()
    {
        const Depth depth(*this);
        Expr found = infix(1);
        if (!accept("?"))
            return found;
        Expr yes = expression();
        expect(":", "the value of \"?\"");
        Expr no = expression();
        const Span where = join(found.where, no.where);
        return {ast::Choice{inner(std::move(found)), inner(std::move(yes)), inner(std::move(no))}, where};
    }

    Expr infix(int precedence)
    {
        const Depth depth(*this);
        Expr left = unary();
        for (size_t length = 0;; ++length) {
            const InfixWord* const found = token_.kind == Token::Kind::symbol ? infix_of(token_.word) : nullptr;
            if (!found || found->precedence < precedence)
                return left;
            if (length >= deepest)
                fail(token_.where, fmt::format("more than {} nested operators", deepest));
            advance();
            Expr right = infix(found->precedence + 1);
            const Span where = join(left.where, right.where);
            left = {ast::Infix{found->op, inner(std::move(left)), inner(std::move(right))}, where};
        }
    }

    Expr unary()
    {
        const Depth depth(*this);
        const Span start = token_.where;
        const auto operand = [&] {
            advance();
            return inner(unary());
        };
        const auto whole = [&](auto node) {
            const Span where = join(start, node.of->where);
            return Expr{std::move(node), where};
        };
        if (const auto prefix = token_.kind == Token::Kind::symbol ? prefix_of(token_.word) : std::nullopt)
            return whole(ast::Prefix{*prefix, operand()});
        if (is("*"))
            return whole(ast::Deref{operand()});
        if (is("++") || is("--")) {
            const int by = is("++") ? 1 : -1;
            return stepped(whole(ast::Step{operand(), by, false}));
        }
        if (is("&"))
            kernel_only(token_.where, "\"&\" before a value is not in this subset of bpftrace's language");
        return postfix(primary());
    }

    static Expr stepped(Expr step)
    {
        const Expr& of = *std::get<ast::Step>(step.node).of;
        if (!std::holds_alternative<ast::MapAt>(of.node) && !std::holds_alternative<ast::VariableOf>(of.node))
            fail(step.where, "++ and -- are of maps and variables");
        return step;
    }

    // a.b, a->b, a[b], a++
    Expr postfix(Expr found)
    {
        for (size_t length = 0;; ++length) {
            const Span start = found.where;
            if (length >= deepest)
                fail(token_.where, fmt::format("more than {} nested operators", deepest));
            if (is(".") || is("->")) {
                const bool is_arrow = is("->");
                advance();
                if (token_.kind != Token::Kind::identifier && (token_.kind != Token::Kind::number || is_arrow))
                    fail(token_.where, fmt::format("the name of a member is wanted, and not {}", this->found()));
                const std::string name(token_.word);
                advance();
                found = {ast::Member{inner(std::move(found)), name, is_arrow}, join(start, last_)};
            } else if (is("[")) {
                advance();
                Expr index = expression();
                expect("]", "the index");
                found = {ast::Element{inner(std::move(found)), inner(std::move(index))}, join(start, last_)};
            } else if (is("++") || is("--")) {
                const int by = is("++") ? 1 : -1;
                advance();
                found = stepped({ast::Step{inner(std::move(found)), by, true}, join(start, last_)});
            } else {
                return found;
            }
        }
    }

    Expr primary()
    {
        const Token token = token_;
        switch (token.kind) {
        case Token::Kind::number: advance(); return {ast::Number{token.number}, token.where};
        case Token::Kind::text: advance(); return {ast::Text{token.text}, token.where};
        case Token::Kind::parameter: advance(); return {ast::Parameter{token.number}, token.where};
        case Token::Kind::map:
        case Token::Kind::variable: return place();
        case Token::Kind::identifier: return is_word("if") ? choice() : word();
        default: break;
        }
        if (!accept("("))
            fail(token.where,
                 fmt::format("a value is wanted, and not {}",
                             token.kind == Token::Kind::end_filter ? "the end of the filter" : found()));
        if (token_.kind == Token::Kind::identifier && is_type(token_.word))
            return cast(token.where);
        Expr found = expression();
        if (!is(",")) {
            expect(")", "the expression");
            return found;
        }
        ast::Tuple tuple;
        tuple.elements.push_back(std::move(found));
        while (accept(","))
            tuple.elements.push_back(expression());
        expect(")", "the expression");
        return {std::move(tuple), join(token.where, last_)};
    }

    // if condition { a } else { b }, as a value
    Expr choice()
    {
        const Depth depth(*this);
        const Span start = token_.where;
        advance();
        Expr condition = expression();
        const auto branch = [&](std::string_view after) {
            expect("{", after);
            Expr value = expression();
            accept(";");
            expect("}", "the value");
            return inner(std::move(value));
        };
        ast::Inner yes = branch("the condition");
        if (!is_word("else"))
            fail(token_.where, fmt::format("\"else\" is wanted where \"if\" is a value, and not {}", found()));
        advance();
        ast::Inner no = is_word("if") ? inner(choice()) : branch("\"else\"");
        return {ast::Choice{inner(std::move(condition)), std::move(yes), std::move(no)}, join(start, last_)};
    }

    // (uint8)value, (struct a*)value, behind the bracket
    Expr cast(Span start)
    {
        const ShapePtr base = type_name(), shape = stars(base);
        if (!accept(")"))
            kernel_only(token_.where, "casts to arrays are not in this subset of bpftrace's language");
        const Depth depth(*this);
        Expr of = unary();
        if (!shape)
            fail(start, "nothing is cast to void");
        return {ast::Cast{shape, inner(std::move(of))}, join(start, last_)};
    }

    // tid, args.NAME, sizeof(...), a function
    Expr word()
    {
        const Token token = token_;
        advance();
        if (token.word == "sizeof")
            return size_of(token);
        if (token.word == "args") {
            if (!accept(".") && !accept("->"))
                kernel_only(
                    token.where,
                    "args is args.NAME here: an argument of a usdt probe, or of a function, whose names the file has");
            if (token_.kind != Token::Kind::identifier)
                fail(token_.where, fmt::format("the name of an argument is wanted, and not {}", found()));
            const std::string name(token_.word);
            advance();
            return {ast::NamedArgument{name}, join(token.where, last_)};
        }
        return is("(") ? called(token) : Expr{ast::Word{std::string(token.word)}, token.where};
    }

    // From the bracket on.
    Expr called(const Token& name)
    {
        expect("(", fmt::format("\"{}\"", name.word));
        ast::Call call{std::string(name.word), {}, name.where};
        call.arguments = arguments_behind_bracket();
        return {std::move(call), join(name.where, last_)};
    }

    // sizeof(type), sizeof(value)
    Expr size_of(const Token& name)
    {
        expect("(", "\"sizeof\"");
        ast::SizeOf found{nullptr, nullptr};
        if (token_.kind == Token::Kind::identifier && is_type(token_.word)) {
            const ShapePtr base = type_name();
            found.type = stars(base);
        } else {
            found.of = inner(expression());
        }
        expect(")", "\"sizeof\"");
        return {std::move(found), join(name.where, last_)};
    }

    const std::vector<std::string>& parameters_;
    size_t loops_ = 0;
};

} // namespace

std::string unknown_statement(std::string_view word)
{
    if (const std::string near = nearest_word(word); !near.empty())
        return fmt::format("\"{}\" is no function; did you mean \"{}\"?", word, near);
    return fmt::format(
        "\"{}\" is no function: statements are @map = ..., $variable = ..., if, while, unroll, delete, print, clear, "
        "zero, printf, join, cat, time and exit",
        word);
}

ast::Script read_grammar(std::string_view text, const std::vector<std::string>& parameters,
                         std::optional<ScriptError>& error)
{
    return Parser(text, parameters).run(error);
}

} // namespace fastsdt::engine
