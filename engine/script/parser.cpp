// SPDX-License-Identifier: BSD-2-Clause
// Grammar: what a script is made of, clauses and statements.
#include "script/grammar.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace fastsdt::engine {

using ast::Expr;
using ast::Stmt;

ast::Script Parser::run(std::optional<ScriptError>& error)
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

// #define NAME value, #define NAME(x) value: a macro whose body is the rest of the line. #include <file.h>.
void Parser::directive()
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
        kernel_only(start, "of the preprocessor only #define and #include are in this subset of bpftrace's language");
    advance();
    Parser line({}, parameters_);
    line.lexer_ = lexer_;
    line.lexer_.end_with_line();
    line.definition(script_.macros);
    lexer_.skip_line();
}

void Parser::definition(std::map<std::string, std::vector<ast::Macro>>& macros)
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
void Parser::settings()
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
Expr Parser::setting_value()
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
void Parser::parameters(ast::Macro& made, bool may_be_places)
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
void Parser::macro()
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
void Parser::map_size()
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
        fail(token_.where, fmt::format("hash, lruhash, percpuhash or percpulruhash is wanted, and not {}", found()));
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
void Parser::clause()
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

Probe Parser::probe()
{
    const Token token = lexer_.probe();
    if (token.word.empty())
        fail(lexer_.here(),
             "a probe is wanted: usdt:FILE:PROVIDER:NAME, uprobe:FILE:FUNCTION, uretprobe:FILE:FUNCTION, "
             "interval:s:N, BEGIN or END");
    return read_probe(token, parameters_, script_.parameters);
}

// Up to the closing brace, which stays: behind the last one of a script there is no word. What was read stays in `to` where an error
// comes.
void Parser::statements(ast::Block& to)
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

ast::Block Parser::block(std::string_view after)
{
    const Depth depth(*this);
    expect("{", after);
    ast::Block found;
    statements(found);
    advance();
    return found;
}

Stmt Parser::statement()
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
Stmt Parser::lone_value()
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
        fail(token_.where, fmt::format("\"=\" is wanted after a {}, and not {}", is_map ? "map" : "variable", found()));
    return {ast::Alone{std::move(value)}, join(start, last_)};
}

[[noreturn]] void Parser::no_statement(const Token& word)
{
    if (is_elsewhere(word.word, Elsewhere::function))
        kernel_only(word.where, why_not_here(word.word, true));
    fail(word.where, unknown_statement(word.word));
}

// @m[keys] = value, $v += value, _ = value
Stmt Parser::assignment(Expr target, const Token& first)
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
const InfixWord* Parser::compound() const
{
    if (token_.kind != Token::Kind::symbol || token_.word.size() < 2 || !token_.word.ends_with("=")
        || token_.word == "==" || token_.word == "<=" || token_.word == ">=" || token_.word == "!=")
        return nullptr;
    const InfixWord* const found = infix_of(token_.word.substr(0, token_.word.size() - 1));
    return found && found->precedence > 2 ? found : nullptr;
}

// What stands between the word and the block. Brackets around it belong to it.
Expr Parser::condition(std::string_view word)
{
    advance();
    const bool has_brackets = is("(");
    Expr found = expression();
    if (!is("{") && !has_brackets)
        expect("(", word);
    return found;
}

// if (a) { ... } else if (b) { ... } else { ... }
ast::If Parser::if_else()
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
ast::While Parser::loop()
{
    const Depth depth(*this);
    ast::While found{condition("\"while\""), {}};
    ++loops_;
    found.body = block("the condition");
    --loops_;
    return found;
}

// unroll(N) { ... }
ast::Unroll Parser::unroll()
{
    const Span start = token_.where;
    advance();
    ast::Unroll found{arguments("unroll"), {}, {}};
    found.head = join(start, last_);
    found.body = block("unroll()");
    return found;
}

// let $x; let $x = value; let $x : type = value
ast::Let Parser::let()
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
decltype(Stmt::node) Parser::loop_over()
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

ast::Way Parser::way()
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
