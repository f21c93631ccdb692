// SPDX-License-Identifier: BSD-2-Clause
// Types of builtins, and of arguments and results as functions declare them.
#include "arch/args.h"
#include "script/passes/inference.h"

#include <fmt/format.h>

#include <algorithm>

namespace fastsdt::engine {

void Inference::value(Expression& e)
{
    switch (e.value) {
    case Value::str_arg:
        e.type.kind = ValueKind::string;
        if (!e.text.empty() && of_function()) { // str(args.NAME)
            e.operands.push_back(made(Kind::value, e.where, [&](Expression& argument) {
                argument.value = Value::arg;
                argument.text = std::exchange(e.text, {});
            }));
            use(e.operands.back());
            if (e.operands.back().type.kind == ValueKind::string)
                e = Expression(std::move(e.operands.back()));
        }
        return;
    case Value::comm: e.type.kind = ValueKind::string; return;
    case Value::probe: e.type.kind = clause_->has_sites() ? ValueKind::probe : ValueKind::string; return;
    case Value::function: e.type.kind = ValueKind::probe; return;
    case Value::stack: e.type.kind = ValueKind::stack; return;
    case Value::child:
    case Value::node: e.type.is_signed = true; return;
    case Value::symbol:
        if (!e.type.shape)
            e.type.shape = pointer_shape(variable_shape(e));
        return;
    case Value::reg: {
        const auto number = register_of(e.text);
        if (!number)
            kernel_only(e.where, fmt::format("\"{}\" is no register that a program has", e.text));
        e.argument = *number;
        return;
    }
    case Value::arg:
        if (e.real && !e.type.shape)
            make_real(e, e.real);
        else if (!e.text.empty() && of_function())
            named_argument(e);
        return;
    case Value::retval: { // as the function's declaration has it
        const auto known = e.real || e.type.shape ? std::nullopt : known_result(e.where);
        const ShapePtr shape = known ? known->shape : nullptr;
        if (shape && shape->kind == Shape::Kind::real)
            make_real(e, shape->size);
        else if (shape && !shape->is_number())
            result_of(*known, e);
        else if (shape && known->of_go && shape->is_integer()) {
            e.type.shape = integer_shape(8, false); // a register's other bits are anything
            e = to_size(std::move(e), shape);
        } else if (e.real && !e.type.shape)
            make_real(e, e.real);
        return;
    }
    default: return;
    }
}

// nullptr: it is not known.
const DebugTypes::Signature* Inference::signature(const Probe& probe)
{
    if (!debug_)
        return nullptr;
    const auto [found, fresh] = signatures_.try_emplace(&probe);
    if (fresh)
        found->second = debug_->signature(probe);
    return found->second ? &*found->second : nullptr;
}

// As all functions of the clause declare it. Empty: nobody knows; integers may differ.
std::optional<DebugTypes::Value> Inference::known_result(Span where)
{
    std::optional<DebugTypes::Value> found;
    const auto is_integer = [](const std::optional<DebugTypes::Value>& one) {
        return !one || !one->shape || one->shape->is_number();
    };
    for (size_t i = 0; i < clause_->probes.size(); ++i) {
        const Probe& probe = clause_->probes[i];
        const auto* const signature = probe.kind == Probe::Kind::exit ? this->signature(probe) : nullptr;
        const auto own = signature ? std::optional(signature->result) : std::nullopt;
        if (i == 0)
            found = own;
        else if (!(is_integer(found) && is_integer(own))
                 && !(found && own && found->by_reference == own->by_reference && is_same(found->shape, own->shape)))
            kernel_only(where,
                        fmt::format("{} and {} have results of different types: a clause for each of them",
                                    clause_->probes[0].text, probe.text));
    }
    return found;
}

// Of Go: nobody else reads it either.
std::string Inference::why_no_result(const DebugTypes::Value& result)
{
    if (!result.shape)
        return fmt::format("the type of the result {} is not known here", result.type);
    const std::string name = result_on_stack(result, own_arch);
    return fmt::format("the result{}{} is on the stack, where it is not read: Go passes arrays and what is larger than "
                       "its registers there, and retval can have only results that are all in registers",
                       name.empty() ? "" : " ", name);
}

// Of a function of Go whose declaration is not known nobody knows more.
void Inference::want_declaration(const Probe& probe, Span where) const
{
    if (const std::string why = debug_ ? debug_->why_undeclared(probe) : std::string(); !why.empty())
        fail(where, why);
}

// A structure. One that is too large for registers is at the address that the caller has given, which is the result then on x86-64.
void Inference::result_of(const DebugTypes::Value& result, Expression& e)
{
    const Passed where = returned(result, own_arch);
    const bool has_address = where.kind == Passed::Kind::reference && own_arch == Arch::x86_64;
    if (where.kind == Passed::Kind::registers) {
        e = assembled(where.words, result.shape, e.where, result.of_go ? Words::result_of_go : Words::result);
    } else if (result.of_go) {
        fail(e.where, why_no_result(result));
    } else if (has_address) {
        e.type.shape = integer_shape(8, false);
        e = memory(std::move(e), result.shape, e.where);
    }
}

void Inference::make_real(Expression& e, size_t size)
{
    e.real = unsigned(size);
    e.type.kind = ValueKind::shown;
    e.type.shape = real_shape(size);
}

const Probe* Inference::probe() const
{
    return clause_->has_sites() && !clause_->probes.empty() ? &clause_->probes[0] : nullptr;
}

ShapePtr Inference::variable_shape(const Expression& e) const
{
    const ShapePtr found = debug_ && probe() ? debug_->variable(*probe(), e.text) : nullptr;
    return found ? found : integer_shape(8, false);
}

// An argument of that name of the probe's function, and where it is.
std::pair<DebugTypes::Parameter, Passed> Inference::parameter(const Probe& probe, const Expression& e)
{
    const DebugTypes::Signature* const signature = this->signature(probe);
    if (!signature)
        want_declaration(probe, e.where);
    if (!signature)
        kernel_only(
            e.where,
            fmt::format("{} has no debug information that tells the arguments' names: arg0 is the first", probe.text));
    const auto found = std::find_if(signature->parameters.begin(), signature->parameters.end(),
                                    [&](const DebugTypes::Parameter& p) { return p.name == e.text; });
    if (found == signature->parameters.end()) {
        std::string names;
        for (const DebugTypes::Parameter& each : signature->parameters)
            names += (names.empty() ? "" : ", ") + each.name;
        fail(e.where,
             fmt::format("{} has no argument named {}; {}", probe.text, e.text,
                         names.empty() ? "it has none" : "its arguments are " + names));
    }
    return {*found, passed(*signature, own_arch)[size_t(found - signature->parameters.begin())]};
}

// args.NAME of a function: the register or the place on the stack that the ABI gives it.
void Inference::named_argument(Expression& e)
{
    const auto [found, where] = parameter(clause_->probes[0], e);
    const ShapePtr& shape = found.shape;
    for (size_t i = 1; i < clause_->probes.size(); ++i)
        if (const auto [other, place] = parameter(clause_->probes[i], e);
            place != where || !is_same(shape, other.shape))
            kernel_only(e.where,
                        fmt::format("{} has {} in another place or of another type than {}: a clause for each of them",
                                    clause_->probes[i].text, e.text, clause_->probes[0].text));
    const Span at = e.where;
    const bool is_record = shape && !shape->is_number() && shape->kind != Shape::Kind::real;
    const auto from = [&](const Passed::Word& word) {
        return made(Kind::value, at, [&](Expression& argument) {
            argument.value = Value::arg;
            argument.argument = word.index;
            argument.is_declared = true;
        });
    };
    switch (where.kind) {
    case Passed::Kind::unknown:
        if (found.of_go)
            fail(at,
                 fmt::format("where {} is passed is not known: this is a generic method, or a type before it is not "
                             "known; arg0 is the first register, and methods of generic types are passed their "
                             "types too",
                             e.text));
        kernel_only(
            at,
            fmt::format("where {} is passed is not known here, by its type {} or one before it", e.text, found.type));
    case Passed::Kind::reference: e = memory(from(where.words[0]), shape, at); return;
    case Passed::Kind::memory:
        if (is_record || found.of_go) {
            e = memory(plus(stack_pointer(at), stack_before_arguments + where.offset), shape, at);
            return;
        }
        e = from({.index = unsigned(where.offset / 8)});
        e.on_stack = true;
        if (shape->kind == Shape::Kind::real)
            return make_real(e, shape->size);
        break;
    case Passed::Kind::registers:
        if (is_record) {
            e = assembled(where.words, shape, at);
            return;
        }
        e = from(where.words[0]);
        if (shape->kind == Shape::Kind::real)
            return make_real(e, shape->size);
        break;
    }
    e = shape->is_integer() ? to_size(std::move(e), shape) : with_shape(std::move(e), shape);
}

// args: all of a function's, or of a probe's that says their names.
void Inference::arguments(Expression& e)
{
    const DebugTypes::Signature* const known = of_function() ? signature(clause_->probes[0]) : nullptr;
    if (!known)
        kernel_only(e.where,
                    "args is of functions here, whose debug information tells their arguments' names; args.NAME is "
                    "one of a usdt probe");
    std::vector<std::string> names;
    for (const DebugTypes::Parameter& each : known->parameters) {
        Expression argument;
        argument.kind = Kind::value;
        argument.value = Value::arg;
        argument.text = each.name;
        argument.where = e.where;
        named_argument(argument);
        names.push_back(each.name);
        e.operands.push_back(std::move(argument));
    }
    if (names.empty())
        fail(e.where, "the function has no arguments");
    e.type.shape = tuple_shape(std::vector<ShapePtr>(names.size(), integer_shape(8, true)), names);
}

} // namespace fastsdt::engine
