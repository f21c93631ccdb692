// SPDX-License-Identifier: BSD-2-Clause
// Recursive descent. Precedence is that of bpftrace 0.17, src/parser.yy, which is C's.
#include "script/declarations.h"
#include "script/language.h"
#include "script/parser.h"
#include "script/probes.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <tuple>

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
                else if (lexer_.ahead("let"))
                    map_size();
                else if (lexer_.ahead("struct") || lexer_.ahead("union") || lexer_.ahead("enum"))
                    declaration();
                else if (lexer_.peek() == '#')
                    directive();
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
    // #define NAME value, #define NAME(x) value: a macro whose body is the rest of the line. #include <file.h>.
    void directive()
    {
        const Span start = lexer_.here();
        lexer_.skip();
        if (lexer_.ahead("include")) {
            advance();
            lexer_.peek();
            const std::string file(lexer_.line());
            const bool is_whole = file.size() > 2
                && ((file.front() == '<' && file.back() == '>') || (file.front() == '"' && file.back() == '"'));
            if (!is_whole)
                fail(lexer_.here(), "#include <FILE> or #include \"FILE\" is wanted");
            if (script_.includes.empty())
                script_.first_include = start;
            script_.includes.push_back(file);
            return lexer_.skip_line();
        }
        if (!lexer_.ahead("define"))
            kernel_only(start,
                        "of the preprocessor only #define and #include are in this subset of bpftrace's language");
        advance();
        Parser line({}, parameters_);
        line.lexer_ = lexer_;
        line.lexer_.end_with_line();
        line.definition(script_.macros);
        lexer_.skip_line();
    }

    void definition(std::map<std::string, std::vector<ast::Macro>>& macros)
    {
        advance();
        const Token name = token_;
        if (name.kind != Token::Kind::identifier)
            fail(name.where, fmt::format("the name of a macro is wanted, and not {}", found()));
        const bool has_parameters = lexer_.is_next('(');
        advance();
        ast::Macro made;
        if (has_parameters) {
            advance();
            parameters(made, false);
        }
        if (token_.kind != Token::Kind::end) {
            const Span where = token_.where;
            made.body.push_back({ast::Alone{expression(), true}, where});
            if (token_.kind != Token::Kind::end)
                kernel_only(token_.where, "what #define defines is a value here");
        }
        std::vector<ast::Macro>& known = macros[std::string(name.word)];
        known.clear();
        known.push_back(std::move(made));
    }

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
            setting.value = setting_value();
            if (!is("}"))
                expect(";", "a setting");
        }
    }

    // A word, a number or a text. Anything else would be of a clause.
    Expr setting_value()
    {
        if (token_.kind != Token::Kind::identifier && token_.kind != Token::Kind::number
            && token_.kind != Token::Kind::text)
            fail(token_.where, fmt::format("a setting is a word, a number or a text, and not {}", found()));
        const Token token = token_;
        advance();
        switch (token.kind) {
        case Token::Kind::number: return {ast::Number{token.number}, token.where};
        case Token::Kind::text: return {ast::Text{token.text}, token.where};
        default: return {ast::Word{std::string(token.word)}, token.where};
        }
    }

    // x, $y, @z, from behind the bracket on. @param may_be_places  they are also variables and maps
    void parameters(ast::Macro& made, bool may_be_places)
    {
        while (!is(")")) {
            const bool is_place = token_.kind == Token::Kind::variable || token_.kind == Token::Kind::map;
            if (token_.kind != Token::Kind::identifier && !(may_be_places && is_place))
                fail(token_.where, fmt::format("a parameter is wanted, and not {}", found()));
            made.parameters.emplace_back(token_.word);
            advance();
            if (!is(")"))
                expect(",", "a parameter");
        }
        advance();
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
        parameters(made, true);
        expect("{", "the macro's parameters");
        may_be_types_.insert(made.parameters.begin(), made.parameters.end());
        statements(made.body);
        may_be_types_.clear();
        script_.macros[std::string(name.word)].push_back(std::move(made));
    }

    // let @a = hash(10);
    void map_size()
    {
        advance();
        advance();
        ast::MapSize made{std::string(token_.word), {}, 0, token_.where};
        if (token_.kind != Token::Kind::map)
            fail(token_.where, fmt::format("a map is wanted after \"let\", and not {}", found()));
        advance();
        expect("=", "the map");
        made.kind = token_.word;
        static constexpr std::array<std::string_view, 4> kinds = {"hash", "lruhash", "percpuhash", "percpulruhash"};
        if (std::find(kinds.begin(), kinds.end(), made.kind) == kinds.end())
            fail(token_.where,
                 fmt::format("hash, lruhash, percpuhash or percpulruhash is wanted, and not {}", found()));
        advance();
        expect("(", "the kind of the map");
        if (token_.kind != Token::Kind::number || token_.number == 0)
            fail(token_.where, fmt::format("a number of keys is wanted, and not {}", found()));
        made.keys = token_.number;
        advance();
        if (!is(")"))
            expect(")", "the number of keys");
        made.where = join(made.where, token_.where);
        if (lexer_.peek() == ';')
            lexer_.skip();
        script_.sizes.push_back(std::move(made));
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
            if (is("{"))
                fail(token_.where, "a \"/\" is missing before \"{\"");
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
            if (accept(";"))
                continue;
            if (auto* const alone = std::get_if<ast::Alone>(&to.back().node))
                alone->is_last = is("}");
            if (!is("}") && !ends_itself)
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
        if (is_word("if"))
            return whole(if_else());
        if (is_word("while"))
            return whole(loop());
        if (is_word("unroll"))
            return whole(unroll());
        if (is_word("let"))
            return whole(let());
        if (is_word("for"))
            return whole(loop_over());
        if (is_word("break") || is_word("continue") || is_word("return"))
            return whole(way());
        const bool is_symbol = token_.kind == Token::Kind::symbol || token_.kind == Token::Kind::end;
        if (is_symbol && !is("(") && !is("*") && !is("{") && !is("++") && !is("--") && !prefix_of(token_.word))
            fail(token_.where,
                 fmt::format("a statement begins with a map, a variable or a function, and not with {}", found()));
        return lone_value();
    }

    // A value alone, or what is assigned.
    Stmt lone_value()
    {
        const Span start = token_.where;
        const Token first = token_;
        Expr value = expression();
        if (is("=") || compound())
            return assignment(std::move(value), first);
        const bool ends = is("}") || is(";");
        if (const auto* const word = std::get_if<ast::Word>(&value.node)) {
            if (statement_of(word->word))
                expect("(", fmt::format("\"{}\"", word->word));
            if (!ends)
                no_statement(first);
        }
        const bool is_map = std::holds_alternative<ast::MapAt>(value.node);
        if (!ends && (is_map || std::holds_alternative<ast::VariableOf>(value.node)))
            fail(token_.where,
                 fmt::format("\"=\" is wanted after a {}, and not {}", is_map ? "map" : "variable", found()));
        return {ast::Alone{std::move(value)}, join(start, last_)};
    }

    [[noreturn]] static void no_statement(const Token& word)
    {
        if (is_elsewhere(word.word, Elsewhere::function))
            kernel_only(word.where, why_not_here(word.word, true));
        fail(word.where, unknown_statement(word.word));
    }

    // @m[keys] = value, $v += value, _ = value
    Stmt assignment(Expr target, const Token& first)
    {
        const InfixWord* const by = compound();
        const auto* const word = std::get_if<ast::Word>(&target.node);
        const bool is_nothing = word && word->word == "_" && !by;
        const bool is_map = std::holds_alternative<ast::MapAt>(target.node);
        if (!is_map && !std::holds_alternative<ast::VariableOf>(target.node) && !is_nothing)
            fail(target.where, "a map or a variable is assigned, and nothing else");
        advance();
        Expr value = expression();
        const Span where = join(first.where, last_);
        if (is_nothing)
            return {ast::Alone{std::move(value)}, where};
        return {ast::Assign{std::move(target), by ? std::optional(by->op) : std::nullopt, std::move(value)}, where};
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

    // What stands between the word and the block. Brackets around it belong to it.
    Expr condition(std::string_view word)
    {
        advance();
        const bool has_brackets = is("(");
        Expr found = expression();
        if (!is("{") && !has_brackets)
            expect("(", word);
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

    // let $x; let $x = value; let $x : type = value
    ast::Let let()
    {
        advance();
        if (token_.kind == Token::Kind::map)
            fail(token_.where, "a map is declared in front of the probes");
        if (token_.kind != Token::Kind::variable)
            fail(token_.where, fmt::format("a variable is wanted after \"let\", and not {}", found()));
        ast::Let made{std::string(token_.word), token_.where, {}, {}};
        advance();
        if (accept(":"))
            made.type = type();
        if (accept("="))
            made.value = expression();
        return made;
    }

    // for ($i : from..to) { ... }, for ($kv : @map) { ... }
    decltype(Stmt::node) loop_over()
    {
        const Depth depth(*this);
        advance();
        const bool has_brackets = accept("(");
        if (token_.kind != Token::Kind::variable)
            fail(token_.where, fmt::format("a variable is wanted after \"for\", and not {}", found()));
        const Token name = token_;
        advance();
        expect(":", "the variable");
        Expr from = expression();
        std::optional<Expr> to;
        if (accept(".."))
            to = expression();
        else if (const auto* const map = std::get_if<ast::MapAt>(&from.node); !map || !map->keys.empty())
            fail(from.where, "a map or a range is wanted: for ($kv : @map), for ($i : FROM..TO)");
        if (has_brackets)
            expect(")", to ? "the range" : "the map");
        ++loops_;
        ast::Block body = block(to ? "the range" : "the map");
        --loops_;
        if (!to)
            return ast::Each{std::string(name.word), name.where, std::move(from), std::move(body)};
        return ast::Range{std::string(name.word), name.where, std::move(from), *std::move(to), std::move(body)};
    }

    ast::Way way()
    {
        using Kind = ast::Way::Kind;
        const Kind kind = is_word("break") ? Kind::leave : is_word("continue") ? Kind::next : Kind::end;
        if (kind != Kind::end && loops_ == 0)
            fail(token_.where, fmt::format("\"{}\" belongs into a loop", token_.word));
        advance();
        if (kind == Kind::end && !is(";") && !is("}"))
            expression(); // of a probe: nobody asks for it
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
        ast::Inner yes = is(":") ? nullptr : inner(expression());
        expect(":", "the value of \"?\"");
        Expr no = expression();
        const Span where = join(found.where, no.where);
        return {ast::Choice{inner(std::move(found)), std::move(yes), inner(std::move(no))}, where};
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
        if (is("&")) {
            Expr found = whole(ast::AddressOf{operand()});
            if (!std::holds_alternative<ast::VariableOf>(std::get<ast::AddressOf>(found.node).of->node))
                kernel_only(found.where, "\"&\" is of variables in this subset of bpftrace's language: &$x");
            return found;
        }
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
        case Token::Kind::real: advance(); return {ast::Real{token.real}, token.where};
        case Token::Kind::text: advance(); return {ast::Text{token.text}, token.where};
        case Token::Kind::parameter: advance(); return {ast::Parameter{token.number}, token.where};
        case Token::Kind::map:
        case Token::Kind::variable: return place();
        case Token::Kind::identifier: return is_word("if") ? choice() : word();
        default: break;
        }
        if (is("{"))
            return {ast::BlockValue{block("")}, join(token.where, last_)};
        if (!accept("("))
            fail(token.where,
                 fmt::format("a value is wanted, and not {}",
                             token.kind == Token::Kind::end_filter ? "the end of the filter" : found()));
        if (begins_type())
            return cast(token.where);
        if (auto type = type_by_parameter()) { // (p*)x, (p)x, where no operator is behind the bracket
            const char next = is(")") ? lexer_.peek() : '\0';
            const bool is_value = std::isalnum(static_cast<unsigned char>(next))
                || std::string_view("_$@(\"").find(next) != std::string_view::npos;
            if (is(")") && (type->stars != 0 || is_value))
                return cast_behind(token.where, *std::move(type));
            go_back();
        }
        Expr found = expression();
        if (!is(",") && !is("=")) {
            expect(")", "the expression");
            return found;
        }
        ast::Tuple tuple;
        const bool is_record = is("=");
        const auto named = [&](Expr name) {
            const auto* const word = std::get_if<ast::Word>(&name.node);
            if (!word || !is("="))
                fail(name.where, "a record is (NAME = VALUE, NAME = VALUE)");
            tuple.names.push_back(word->word);
            advance();
            return expression();
        };
        tuple.elements.push_back(is_record ? named(std::move(found)) : std::move(found));
        while (accept(",") && !is(")")) {
            Expr next = expression();
            tuple.elements.push_back(is_record ? named(std::move(next)) : std::move(next));
        }
        expect(")", "the expression");
        return {std::move(tuple), join(token.where, last_)};
    }

    // if condition { a } else { b }, as a value
    Expr choice()
    {
        const Span start = token_.where;
        ast::BlockValue made;
        ast::If whole = if_else();
        const Span where = join(start, last_);
        if (whole.otherwise.empty())
            fail(token_.where, fmt::format("\"else\" is wanted where \"if\" is a value, and not {}", found()));
        made.body.push_back({std::move(whole), where});
        return {std::move(made), where};
    }

    bool begins_type() const
    {
        return token_.kind == Token::Kind::identifier && (is_type(token_.word) || token_.word == "typeof");
    }

    // uint8, struct a*, int8[4], typeof(value)
    ast::TypeName type()
    {
        ast::TypeName made;
        if (!is_word("typeof")) {
            const ShapePtr base = type_name();
            made.shape = array_of(stars(base));
            return made;
        }
        advance();
        expect("(", "\"typeof\"");
        made = type_or_value();
        expect(")", "\"typeof\"");
        return made;
    }

    // Of typeof() and sizeof(): a type, or a value of it.
    ast::TypeName type_or_value()
    {
        if (begins_type())
            return type();
        if (auto made = type_by_parameter()) {
            if (is(")") || is(","))
                return *std::move(made);
            go_back();
        }
        return {nullptr, inner(expression())};
    }

    // p, p*, p[4], where p is a parameter of the macro. go_back() takes it back.
    std::optional<ast::TypeName> type_by_parameter()
    {
        if (token_.kind != Token::Kind::identifier || !may_be_types_.contains(std::string(token_.word)))
            return std::nullopt;
        before_type_ = {lexer_, token_, last_, last_word_};
        ast::TypeName made{nullptr, inner({ast::Word{std::string(token_.word)}, token_.where})};
        advance();
        while (accept("*"))
            ++made.stars;
        if (is("[")) {
            advance();
            if (token_.kind == Token::Kind::number && token_.number <= most_key_bytes)
                made.count = token_.number;
            advance();
            accept("]");
        }
        return made;
    }
    void go_back() { std::tie(lexer_, token_, last_, last_word_) = before_type_; }

    // [4], or [] for as many as there are.
    ShapePtr array_of(ShapePtr of)
    {
        const Span start = token_.where;
        if (!accept("["))
            return of;
        if (!of)
            fail(start, "there is no array of void");
        size_t count = 0;
        if (token_.kind == Token::Kind::number) {
            count = token_.number;
            if (count == 0 || count > most_key_bytes)
                fail(token_.where, fmt::format("an array has 1 to {} elements here", most_key_bytes));
            advance();
        }
        expect("]", "\"[\"");
        of = array_of(std::move(of));
        return array_shape(std::move(of), count);
    }

    // (uint8)value, (struct a*)value, (int8[4])value, behind the bracket
    Expr cast(Span start) { return cast_behind(start, type()); }

    Expr cast_behind(Span start, ast::TypeName to)
    {
        expect(")", "the type");
        const Depth depth(*this);
        Expr of = unary();
        if (!to.shape && !to.of)
            fail(start, "nothing is cast to void");
        return {ast::Cast{std::move(to), inner(std::move(of))}, join(start, last_)};
    }

    // tid, args.NAME, sizeof(...), a function
    Expr word()
    {
        const Token token = token_;
        advance();
        if (token.word == "sizeof")
            return size_of(token);
        if (token.word == "offsetof")
            return offset_of(token);
        if (token.word == "container_of")
            return container_of(token);
        if (token.word == "typeof") {
            expect("(", "\"typeof\"");
            ast::TypeValue found{type_or_value()};
            expect(")", "\"typeof\"");
            return {std::move(found), join(token.where, last_)};
        }
        if (token.word == "args") {
            if (!accept(".") && !accept("->"))
                return {ast::Word{"args"}, token.where};
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
        ast::SizeOf found{type_or_value()};
        expect(")", "\"sizeof\"");
        return {std::move(found), join(name.where, last_)};
    }

    // offsetof(type, member.member)
    Expr offset_of(const Token& name)
    {
        expect("(", "\"offsetof\"");
        return members_of(type_or_value(), name);
    }

    // From the "," behind the type on.
    Expr members_of(ast::TypeName type, const Token& name)
    {
        ast::OffsetOf found{std::move(type), {}};
        expect(",", "the type");
        do {
            if (token_.kind != Token::Kind::identifier)
                fail(token_.where, fmt::format("the name of a member is wanted, and not {}", this->found()));
            found.members.emplace_back(token_.word);
            advance();
        } while (accept("."));
        expect(")", "the member");
        return {std::move(found), join(name.where, last_)};
    }

    // container_of(pointer, type, member): (type*)((uint64)pointer - offsetof(type, member))
    Expr container_of(const Token& name)
    {
        expect("(", "\"container_of\"");
        const Span start = token_.where;
        Expr pointer = expression();
        expect(",", "the pointer");
        const ast::TypeName type = type_or_value();
        if (!type.shape)
            kernel_only(start, "container_of() takes a type by its name here");
        const auto cast = [&](const ShapePtr& to, Expr of) {
            const Span where = join(name.where, last_);
            return Expr{ast::Cast{{to, nullptr}, inner(std::move(of))}, where};
        };
        Expr offset = members_of({type.shape, nullptr}, name);
        Expr address = cast(integer_shape(8, false), std::move(pointer));
        const Span where = join(name.where, last_);
        return cast(pointer_shape(type.shape),
                    {ast::Infix{Operator::subtract, inner(std::move(address)), inner(std::move(offset))}, where});
    }

    const std::vector<std::string>& parameters_;
    size_t loops_ = 0;
    std::set<std::string> may_be_types_; // parameters of the macro that is read
    std::tuple<Lexer, Token, Span, std::string_view> before_type_{lexer_, {}, {}, {}};
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
