// SPDX-License-Identifier: BSD-2-Clause
// Macros, and blocks that are values. What has to happen before a value is there becomes statements before the one that wants it: no later
// pass knows of either.
#include "script/passes/values.h"
#include "script/tokens.h"

#include <fmt/format.h>

#include <iterator>

namespace fastsdt::engine {
namespace {

constexpr size_t most_macros = 20;      ///< in each other: one that calls itself has no end
constexpr size_t most_expanded = 10000; ///< of a script

} // namespace

std::vector<Expression> Values::in_order(const std::vector<const ast::Expr*>& all)
{
    std::vector<Expression> found;
    found.reserve(all.size());
    for (const ast::Expr* const each : all) {
        std::vector<Statement> own;
        Expression next = into(own, [&] { return value(*each); });
        if (!own.empty())
            for (Expression& e : found)
                keep(e);
        before_->insert(before_->end(), std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()));
        found.push_back(std::move(next));
    }
    return found;
}

// As it is now, whatever comes before the statement from here on.
void Values::keep(Expression& e)
{
    if (e.kind == Expression::Kind::number || e.kind == Expression::Kind::text)
        return;
    const Span where = e.where;
    const size_t kept = hidden_variable(where);
    put(*before_, set(kept, std::move(e), where));
    e = variable(kept, where);
}

// { statements; value }
Expression Values::value(const ast::BlockValue& node, Span where)
{
    scopes_.emplace_back();
    Expression found = value_of(node.body, where);
    scopes_.pop_back();
    return found;
}

Expression Values::value_of(const ast::Block& body, Span where)
{
    for (size_t i = 0; i + 1 < body.size(); ++i)
        add(*before_, body[i]);
    const ast::Stmt* const last = body.empty() ? nullptr : &body.back();
    if (const auto* const alone = last ? std::get_if<ast::Alone>(&last->node) : nullptr; alone && alone->is_last)
        return value(alone->value);
    const auto* const choice = last ? std::get_if<ast::If>(&last->node) : nullptr;
    if (!choice || choice->otherwise.empty())
        fail(last ? last->where : where, "a block that is a value ends with one, and no \";\" is behind that");
    const auto block = [&](const ast::Block& of) {
        scopes_.emplace_back();
        Expression found = value_of(of, last->where);
        scopes_.pop_back();
        return found;
    };
    return choose(
        value(choice->condition), [&] { return block(choice->then); }, [&] { return block(choice->otherwise); },
        last->where);
}

// One of two values. What has to happen before it happens only where it is chosen.
Expression Values::choose(Expression condition, const std::function<Expression()>& yes,
                          const std::function<Expression()>& no, Span where)
{
    Statement branch = statement(Statement::Kind::branch, where);
    Expression then = into(branch.then, yes), otherwise = into(branch.otherwise, no);
    if (branch.then.empty() && branch.otherwise.empty()) {
        Expression found = operation_of(Operator::select, std::move(condition), where);
        found.operands.push_back(std::move(then));
        found.operands.push_back(std::move(otherwise));
        return found;
    }
    const size_t chosen = hidden_variable(where);
    put(branch.then, set(chosen, std::move(then), where));
    put(branch.otherwise, set(chosen, std::move(otherwise), where));
    branch.value = std::move(condition);
    put(*before_, std::move(branch));
    return variable(chosen, where);
}

const Values::Bound* Values::bound(const std::string& name) const
{
    if (!macros_.empty())
        for (const Bound& each : macros_.back().bound)
            if (each.name == name)
                return &each;
    return nullptr;
}

const ast::Expr* Values::argument_of_macro(const ast::Expr& e) const
{
    const auto* const word = std::get_if<ast::Word>(&e.node);
    const auto* const variable = std::get_if<ast::VariableOf>(&e.node);
    const auto* const map = std::get_if<ast::MapAt>(&e.node);
    const Bound* const found = word ? bound(word->word)
        : variable                  ? bound(variable->name)
        : map && map->keys.empty()  ? bound(map->name)
                                    : nullptr;
    return found ? found->argument : nullptr;
}

// Of @x and @x[key], where @x is a parameter.
std::string Values::map_name(const std::string& name)
{
    if (const Bound* const parameter = bound(name))
        return outside([&] { return map_name(std::get<ast::MapAt>(parameter->argument->node).name); });
    return name;
}

// Of several of one name the first that takes such arguments.
const ast::Macro* Values::macro_for(const ast::Call& node, Span where) const
{
    const auto known = written_.macros.find(node.name);
    if (known == written_.macros.end())
        return nullptr;
    const auto why_not = [&](const ast::Macro& macro) -> std::optional<ScriptError> {
        if (node.arguments.size() != macro.parameters.size())
            return ScriptError(where,
                               fmt::format("{}() takes {} argument{}, and has {}", node.name, macro.parameters.size(),
                                           macro.parameters.size() == 1 ? "" : "s", node.arguments.size()));
        for (size_t i = 0; i < macro.parameters.size(); ++i) {
            const std::string& name = macro.parameters[i];
            const ast::Expr& argument = node.arguments[i];
            const auto* const map = std::get_if<ast::MapAt>(&argument.node);
            if (name.starts_with('$') && !std::holds_alternative<ast::VariableOf>(argument.node))
                return ScriptError(argument.where, fmt::format("{}() wants a variable here", node.name));
            if (name.starts_with('@') && (!map || !map->keys.empty()))
                return ScriptError(argument.where, fmt::format("{}() wants a map here", node.name));
        }
        return std::nullopt;
    };
    for (const ast::Macro& each : known->second)
        if (!why_not(each))
            return &each;
    if (builtin_of(node.name) || function_of(node.name) || statement_of(node.name))
        return nullptr;
    throw ScriptError(*why_not(known->second.back()));
}

std::optional<Expression> Values::expand(const ast::Call& node, Span where, bool wants_value)
{
    const ast::Macro& macro = *macro_for(node, where);
    if (macros_.size() >= most_macros || ++expanded_ > most_expanded)
        fail(where,
             fmt::format("{}() leads to too many macros: {} in each other and {} in all are the most", node.name,
                         most_macros, most_expanded));
    Expansion own;
    for (size_t i = 0; i < macro.parameters.size(); ++i)
        own.bound.push_back({macro.parameters[i], &node.arguments[i]});
    own.callers = std::exchange(scopes_, Scopes(1));
    macros_.push_back(std::move(own));
    std::optional<Expression> found;
    if (wants_value) {
        found = value_of(macro.body, where);
        found->where = where;
    } else {
        for (const ast::Stmt& each : macro.body)
            add(*before_, each);
    }
    scopes_ = std::move(macros_.back().callers);
    macros_.pop_back();
    return found;
}

} // namespace fastsdt::engine
