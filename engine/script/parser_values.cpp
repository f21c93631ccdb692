// SPDX-License-Identifier: BSD-2-Clause
// Grammar: values, and types in them.
#include "script/grammar.h"

#include <algorithm>
#include <array>

namespace fastsdt::engine {

using ast::Expr;
using ast::Stmt;

std::vector<Expr> Parser::arguments(std::string_view function)
{
    expect("(", fmt::format("\"{}\"", function));
    return arguments_behind_bracket();
}

std::vector<Expr> Parser::arguments_behind_bracket()
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
Expr Parser::place()
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

Expr Parser::expression()
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

Expr Parser::infix(int precedence)
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

Expr Parser::unary()
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

Expr Parser::stepped(Expr step)
{
    const Expr& of = *std::get<ast::Step>(step.node).of;
    if (!std::holds_alternative<ast::MapAt>(of.node) && !std::holds_alternative<ast::VariableOf>(of.node))
        fail(step.where, "++ and -- are of maps and variables");
    return step;
}

// a.b, a->b, a[b], a++
Expr Parser::postfix(Expr found)
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

Expr Parser::primary()
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
Expr Parser::choice()
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

bool Parser::begins_type() const
{
    return token_.kind == Token::Kind::identifier && (is_type(token_.word) || token_.word == "typeof");
}

// uint8, struct a*, int8[4], typeof(value)
ast::TypeName Parser::type()
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
ast::TypeName Parser::type_or_value()
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
std::optional<ast::TypeName> Parser::type_by_parameter()
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

// [4], or [] for as many as there are.
ShapePtr Parser::array_of(ShapePtr of)
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

Expr Parser::cast_behind(Span start, ast::TypeName to)
{
    expect(")", "the type");
    const Depth depth(*this);
    Expr of = unary();
    if (!to.shape && !to.of)
        fail(start, "nothing is cast to void");
    return {ast::Cast{std::move(to), inner(std::move(of))}, join(start, last_)};
}

// tid, args.NAME, sizeof(...), a function
Expr Parser::word()
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
Expr Parser::called(const Token& name)
{
    expect("(", fmt::format("\"{}\"", name.word));
    ast::Call call{std::string(name.word), {}, name.where};
    call.arguments = arguments_behind_bracket();
    return {std::move(call), join(name.where, last_)};
}

// sizeof(type), sizeof(value)
Expr Parser::size_of(const Token& name)
{
    expect("(", "\"sizeof\"");
    ast::SizeOf found{type_or_value()};
    expect(")", "\"sizeof\"");
    return {std::move(found), join(name.where, last_)};
}

// offsetof(type, member.member)
Expr Parser::offset_of(const Token& name)
{
    expect("(", "\"offsetof\"");
    return members_of(type_or_value(), name);
}

// From the "," behind the type on.
Expr Parser::members_of(ast::TypeName type, const Token& name)
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
Expr Parser::container_of(const Token& name)
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

} // namespace fastsdt::engine
