// SPDX-License-Identifier: BSD-2-Clause
#include "script/passes/values.h"

#include "arch/args.h"
#include "script/tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <charconv>

namespace fastsdt::engine {
namespace {

constexpr size_t most_macros = 20;            ///< in each other: one that calls itself has no end
constexpr size_t most_expanded = 10000;       ///< of a script
constexpr unsigned most_stack_arguments = 10; ///< sarg0 to sarg9, as in bpftrace

Expression shown(Expression of, ShapePtr shape)
{
    return made(Expression::Kind::shown, of.where, [&](Expression& e) {
        e.type = Type::shown;
        e.shape = std::move(shape);
        e.operands.push_back(std::move(of));
    });
}

Expression network_address(const Expression& text)
{
    std::array<char, 16> bytes{};
    size_t size = 4;
    if (inet_pton(AF_INET, text.text.c_str(), bytes.data()) != 1) {
        size = bytes.size();
        if (inet_pton(AF_INET6, text.text.c_str(), bytes.data()) != 1)
            fail(text.where, fmt::format("\"{}\" is no address of IPv4 or IPv6", text.text));
    }
    return made(Expression::Kind::text, text.where, [&](Expression& e) {
        e.type = Type::bytes;
        e.text = std::string(bytes.data(), size);
        e.shape = plain_shape(Shape::Kind::network, size);
    });
}

bool is_digits(std::string_view text)
{
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

} // namespace

// Also where it is a parameter of a macro.
size_t Values::map_of(const ast::MapAt& map, Span where)
{
    const std::string& name = map_name(map.name);
    const auto [found, added] = maps_.try_emplace(name, draft_.script.maps.size());
    if (added) {
        Map fresh;
        fresh.name = name;
        fresh.where = {where.start, map.name.size()};
        draft_.script.maps.push_back(std::move(fresh));
    }
    return found->second;
}

size_t Values::variable_index(const std::string& name, Span where)
{
    if (const size_t* const found = find_variable(name))
        return *found;
    return scopes_.front()[name] = new_variable(name, where); // seen in all of the clause
}

size_t Values::new_variable(const std::string& name, Span where)
{
    clause_->variables.push_back({.name = name, .where = where});
    return clause_->variables.size() - 1;
}

const size_t* Values::find_variable(const std::string& name) const
{
    for (size_t i = scopes_.size(); i-- > 0;)
        if (const auto found = scopes_[i].find(name); found != scopes_[i].end())
            return &found->second;
    return nullptr;
}

Expression Values::variable(const std::string& name, Span where) const
{
    const size_t* const found = find_variable(name);
    if (!found)
        fail(where, fmt::format("{} has no value here", name));
    return made(Expression::Kind::variable, where, [&](Expression& e) { e.variable = *found; });
}

// Empty: there is none.
const std::string& Values::parameter(uint64_t number)
{
    static const std::string none;
    draft_.script.parameters = std::max<size_t>(draft_.script.parameters, number);
    return number >= 1 && number <= parameters_.size() ? parameters_[number - 1] : none;
}

// $1 as a number, 0 if there is none.
Expression Values::numeric(const ast::Parameter& of, Span where)
{
    if (of.number == 0) { // $#
        draft_.script.parameters = std::max(draft_.script.parameters, parameters_.size());
        return number_of(static_cast<int64_t>(parameters_.size()), where);
    }
    std::string_view text = parameter(of.number);
    if (text.empty())
        return number_of(0, where);
    const bool minus = text.starts_with('-');
    text.remove_prefix(minus ? 1 : 0);
    const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    text.remove_prefix(hexadecimal ? 2 : 0);
    uint64_t number = 0;
    const bool octal = !hexadecimal && text.size() > 1 && text.starts_with('0');
    const int base = hexadecimal ? 16 : octal ? 8 : 10;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
    if (error != std::errc() || end != text.data() + text.size())
        fail(where,
             fmt::format("parameter {} is \"{}\", and no number of 64 bits; str(${}) is its text", of.number,
                         parameter(of.number), of.number));
    return number_of(static_cast<int64_t>(minus ? 0 - number : number), where);
}

// ---- Values

std::vector<Expression> Values::values(const std::vector<ast::Expr>& all)
{
    std::vector<Expression> found;
    found.reserve(all.size());
    for (const ast::Expr& each : all)
        found.push_back(value(each));
    return found;
}

Expression Values::value(const ast::Expr& e)
{
    if (const Bound* const bound = parameter_of_macro(e))
        return outside([&] { return value(*bound->argument); });
    return std::visit([&](const auto& node) { return value(node, e.where); }, e.node);
}

const Values::Bound* Values::parameter_of_macro(const ast::Expr& e) const
{
    if (macros_.empty())
        return nullptr;
    const auto* const word = std::get_if<ast::Word>(&e.node);
    const auto* const variable = std::get_if<ast::VariableOf>(&e.node);
    const auto* const map = std::get_if<ast::MapAt>(&e.node);
    for (const Bound& each : macros_.back())
        if ((word && word->word == each.name) || (variable && variable->name == each.name)
            || (map && map->name == each.name && map->keys.empty()))
            return &each;
    return nullptr;
}

// Of @x and @x[key], where @x is a parameter.
const std::string& Values::map_name(const std::string& name) const
{
    if (!macros_.empty())
        for (const Bound& each : macros_.back())
            if (each.name == name)
                return std::get<ast::MapAt>(each.argument->node).name;
    return name;
}

Expression Values::expand(const ast::Macro& macro, const ast::Call& node, Span where)
{
    if (node.arguments.size() != macro.parameters.size())
        fail(where,
             fmt::format("{}() takes {} argument{}, and has {}", node.name, macro.parameters.size(),
                         macro.parameters.size() == 1 ? "" : "s", node.arguments.size()));
    if (macros_.size() >= most_macros || ++expanded_ > most_expanded)
        fail(where,
             fmt::format("{}() leads to too many macros: {} in each other and {} in all are the most", node.name,
                         most_macros, most_expanded));
    std::vector<Bound> bound;
    for (size_t i = 0; i < macro.parameters.size(); ++i) {
        const std::string& name = macro.parameters[i];
        const ast::Expr& argument = node.arguments[i];
        if (name.starts_with('$') && !std::holds_alternative<ast::VariableOf>(argument.node))
            fail(argument.where, fmt::format("{}() wants a variable here", node.name));
        const auto* const map = std::get_if<ast::MapAt>(&argument.node);
        if (name.starts_with('@') && (!map || !map->keys.empty()))
            fail(argument.where, fmt::format("{}() wants a map here", node.name));
        bound.push_back({name, &argument});
    }
    macros_.push_back(std::move(bound));
    Expression found = value(*macro.body);
    macros_.pop_back();
    found.where = where;
    return found;
}

Expression Values::value(const ast::Number& node, Span where)
{
    return number_of(int64_t(node.value), where);
}
Expression Values::value(const ast::Text& node, Span where)
{
    return made(Expression::Kind::text, where, [&](Expression& e) { e.text = node.value; });
}
Expression Values::value(const ast::Parameter& node, Span where)
{
    return numeric(node, where);
}
Expression Values::value(const ast::MapAt& node, Span where)
{
    return made(Expression::Kind::map, where, [&](Expression& e) {
        e.map = map_of(node, where);
        e.operands = values(node.keys);
    });
}
Expression Values::value(const ast::VariableOf& node, Span where) const
{
    return variable(node.name, where);
}
Expression Values::value(const ast::Prefix& node, Span where)
{
    return operation_of(node.op, value(*node.of), where);
}
Expression Values::value(const ast::Infix& node, Span)
{
    Expression left = value(*node.left), right = value(*node.right);
    const Span where = join(left.where, right.where);
    return operation_of(node.op, std::move(left), std::move(right), where);
}
Expression Values::value(const ast::Choice& node, Span where)
{
    Expression found = operation_of(Operator::select, value(*node.condition), where);
    found.operands.push_back(value(*node.yes));
    found.operands.push_back(value(*node.no));
    return found;
}
Expression Values::value(const ast::Deref& node, Span where)
{
    return made(Expression::Kind::at, where, [&](Expression& e) { e.operands.push_back(value(*node.of)); });
}
Expression Values::value(const ast::Step& node, Span where)
{
    return made(Expression::Kind::step, where, [&](Expression& e) {
        e.number = node.by;
        e.is_before = node.is_before;
        e.operands.push_back(value(*node.of));
    });
}
Expression Values::value(const ast::Member& node, Span where)
{
    return made(Expression::Kind::member, where, [&](Expression& e) {
        e.number = node.is_arrow ? 1 : 0;
        e.text = node.name;
        e.operands.push_back(value(*node.of));
    });
}
Expression Values::value(const ast::Element& node, Span where)
{
    return made(Expression::Kind::element, where, [&](Expression& e) {
        e.operands.push_back(value(*node.of));
        e.operands.push_back(value(*node.index));
    });
}
Expression Values::value(const ast::Cast& node, Span where)
{
    return made(Expression::Kind::cast, where, [&](Expression& e) {
        e.shape = node.type;
        e.operands.push_back(value(*node.of));
    });
}
Expression Values::value(const ast::SizeOf& node, Span where)
{
    return made(Expression::Kind::size, where, [&](Expression& e) {
        e.shape = node.type;
        if (node.of)
            e.operands.push_back(value(*node.of));
    });
}
Expression Values::value(const ast::Tuple& node, Span where)
{
    return made(Expression::Kind::tuple, where, [&](Expression& e) { e.operands = values(node.elements); });
}
Expression Values::builtin(Value what, Span where)
{
    return made(Expression::Kind::value, where, [&](Expression& e) { e.value = what; });
}

// args.NAME
Expression Values::value(const ast::NamedArgument& node, Span where)
{
    Expression found = builtin(Value::arg, where);
    found.text = node.name;
    if (std::any_of(clause_->probes.begin(), clause_->probes.end(),
                    [](const Probe& probe) { return probe.kind == Probe::Kind::usdt; }))
        draft_.script.beyond_bpftrace = fmt::format("args.{}", found.text);
    return found;
}

Expression Values::value(const ast::Word& node, Span where)
{
    const std::string& word = node.word;
    if (const auto constant = written_.constants.find(word); constant != written_.constants.end())
        return number_of(constant->second, where);
    if (word == "true" || word == "false")
        return number_of(word == "true", where);
    if (word == "AF_INET" || word == "AF_INET6")
        return number_of(word == "AF_INET" ? AF_INET : AF_INET6, where);
    for (const std::string_view kind : {"arg", "sarg"})
        if (word.starts_with(kind) && is_digits(std::string_view(word).substr(kind.size())))
            return argument(word, kind, where);
    if (word == "username")
        return shown(builtin(Value::uid, where), plain_shape(Shape::Kind::user, 8));
    if (const auto known = builtin_of(word)) {
        Expression found = builtin(*known, where);
        if (*known == Value::stack)
            found.argument = most_stack_frames;
        return found;
    }
    if (is_elsewhere(word, Elsewhere::value))
        kernel_only(where, why_not_here(word, false));
    unknown(word, where);
}

void Values::unknown(std::string_view word, Span where)
{
    if (const std::string near = nearest_word(word); !near.empty())
        fail(where, fmt::format("\"{}\" is no value; did you mean \"{}\"?", word, near));
    fail(where,
         fmt::format("\"{}\" is no value: arg0 to arg11, sarg0 to sarg9, args.NAME, str(), retval, tid, pid, comm, "
                     "nsecs, elapsed, probe, func, ustack, cpu, uid, gid and rand are",
                     word));
}

// arg0, sarg1
Expression Values::argument(std::string_view word, std::string_view kind, Span where)
{
    Expression found = builtin(Value::arg, where);
    found.on_stack = kind == "sarg";
    const unsigned most = found.on_stack ? most_stack_arguments : most_arguments;
    const std::string_view digits = word.substr(kind.size());
    if (digits.size() > 2 || (digits.size() == 2 && digits[0] == '0') || std::stoul(std::string(digits)) >= most)
        fail(where, fmt::format("arguments are {}0 to {}{}", kind, kind, most - 1));
    found.argument = unsigned(std::stoul(std::string(digits)));
    if (digits.size() == 2)
        draft_.script.beyond_bpftrace = word;
    return found;
}

Expression Values::value(const ast::Call& node, Span where)
{
    const std::string& word = node.name;
    if (const auto macro = written_.macros.find(word); macro != written_.macros.end())
        return expand(macro->second, node, where);
    const auto function = function_of(word);
    if (!function) {
        if (is_elsewhere(word, Elsewhere::function) || is_elsewhere(word, Elsewhere::value))
            kernel_only(node.word, why_not_here(word, is_elsewhere(word, Elsewhere::function)));
        if (const auto known = builtin_of(word); known && node.arguments.empty())
            return builtin(*known, where); // tid()
        if (builtin_of(word))
            kernel_only({node.word.start + node.word.length, 1}, fmt::format("{} has no brackets here", word));
        if (aggregation_of(word))
            fail(node.word, fmt::format("{}() is no value; a map is assigned it: @ = {}(...)", word, word));
        unknown(word, node.word);
    }
    if (function->function == Function::str && node.arguments.size() == 1)
        if (auto text = parameter_text(node.arguments[0], where))
            return *std::move(text);
    if (function->function == Function::ustack)
        return frames(node, where);
    if (function->function == Function::has_key || function->function == Function::len)
        return of_map(*function, node, where);
    std::vector<Expression> given = values(node.arguments);
    if (given.size() < function->least || given.size() > function->most)
        fail(where, fmt::format("{}() is {}", word, function->usage));
    Expression found = call(*function, word, std::move(given), where);
    found.where = where;
    return found;
}

// The arguments are as many as they are to be.
Expression Values::call(const FunctionWord& function, const std::string& word, std::vector<Expression> given,
                        Span where)
{
    const auto want_text = [&](size_t index) {
        if (given[index].kind != Expression::Kind::text)
            fail(given[index].where, fmt::format("{}() is {}", word, function.usage));
    };
    const auto cast_to = [&](ShapePtr shape) {
        return made(Expression::Kind::cast, where, [&](Expression& e) {
            e.shape = std::move(shape);
            e.operands.push_back(std::move(given.back()));
        });
    };
    const auto both = [&](Operator op) { return operation_of(op, std::move(given[0]), std::move(given[1]), where); };
    switch (function.function) {
    case Function::str: return text_at(std::move(given), where);
    case Function::buf:
        return made(Expression::Kind::buffer, where, [&](Expression& e) { e.operands = std::move(given); });
    case Function::reg:
    case Function::uaddr: {
        want_text(0);
        Expression found = builtin(function.function == Function::reg ? Value::reg : Value::symbol, where);
        found.text = given[0].text;
        return found;
    }
    case Function::usym: return shown(std::move(given[0]), plain_shape(Shape::Kind::symbol, 8));
    case Function::strerror: return shown(std::move(given[0]), plain_shape(Shape::Kind::error, 8));
    case Function::strftime:
        want_text(0);
        return shown(std::move(given[1]), plain_shape(Shape::Kind::time, 8, given[0].text));
    case Function::ntop: return cast_to(plain_shape(Shape::Kind::network, 0));
    case Function::macaddr: return cast_to(plain_shape(Shape::Kind::mac, 6));
    case Function::pton: want_text(0); return network_address(given[0]);
    case Function::bswap: return operation_of(Operator::swap, std::move(given[0]), where);
    case Function::strncmp:
    case Function::memcmp: {
        const bool is_text = function.function == Function::strncmp;
        if (given[2].kind != Expression::Kind::number || given[2].number < (is_text ? 0 : 1))
            fail(given[2].where, fmt::format("{}() wants a number for the length", word));
        if (given[2].number == 0)
            return number_of(0, where);
        Expression found = both(Operator::not_equal);
        found.number = given[2].number;
        return found;
    }
    case Function::strlen: return operation_of(Operator::length, std::move(given[0]), where);
    case Function::strcontains: return both(Operator::contains);
    case Function::has_key: // they look at what was written
    case Function::len:
    case Function::ustack: break;
    }
    throw std::logic_error("no such function");
}

// has_key(@map, key), len(@map)
Expression Values::of_map(const FunctionWord& function, const ast::Call& node, Span where)
{
    const auto* const map =
        node.arguments.size() == function.most ? std::get_if<ast::MapAt>(&node.arguments[0].node) : nullptr;
    if (!map || !map->keys.empty())
        fail(where, fmt::format("{}() is {}", node.name, function.usage));
    const bool has = function.function == Function::has_key;
    return made(has ? Expression::Kind::has : Expression::Kind::entries, where, [&](Expression& e) {
        e.map = map_of(*map, node.arguments[0].where);
        if (has)
            e.operands = keys_of(node.arguments[1]);
    });
}

// One key, or a tuple of keys.
std::vector<Expression> Values::keys_of(const ast::Expr& e)
{
    if (const auto* const tuple = std::get_if<ast::Tuple>(&e.node))
        return values(tuple->elements);
    std::vector<Expression> keys;
    keys.push_back(value(e));
    return keys;
}

// str(arg0), str(ADDRESS, LENGTH)
Expression Values::text_at(std::vector<Expression> given, Span where)
{
    Expression found = builtin(Value::str_arg, where);
    if (given.size() == 2 || given[0].kind != Expression::Kind::value || given[0].value != Value::arg) {
        found.operands = std::move(given);
        return found;
    }
    found.argument = given[0].argument;
    found.on_stack = given[0].on_stack;
    found.text = given[0].text;
    return found;
}

// str($1), str($1 + N): the text of a parameter.
std::optional<Expression> Values::parameter_text(const ast::Expr& of, Span where)
{
    const auto* const sum = std::get_if<ast::Infix>(&of.node);
    const auto* const parameter =
        std::get_if<ast::Parameter>(sum && sum->op == Operator::add ? &sum->left->node : &of.node);
    if (!parameter || parameter->number == 0)
        return std::nullopt;
    Expression found;
    found.kind = Expression::Kind::text;
    found.text = this->parameter(parameter->number);
    found.where = where;
    if (sum) {
        const auto* const number = std::get_if<ast::Number>(&sum->right->node);
        if (!number)
            fail(sum->right->where, "a number is wanted behind \"+\"");
        found.text = found.text.substr(std::min<uint64_t>(number->value, found.text.size()));
    }
    return found;
}

// ustack(), ustack(N), ustack(MODE), ustack(MODE, N)
Expression Values::frames(const ast::Call& node, Span where)
{
    Expression found = builtin(Value::stack, where);
    found.argument = most_stack_frames;
    size_t next = 0;
    if (next < node.arguments.size())
        if (const auto* const mode = std::get_if<ast::Word>(&node.arguments[next].node)) {
            found.unwinds = mode->word == "dwarf";
            if (found.unwinds)
                draft_.script.beyond_bpftrace = "ustack(dwarf)";
            else if (mode->word != "bpftrace")
                kernel_only(node.arguments[next].where,
                            "a stack has bpftrace's form here: ustack, ustack(N) or ustack(dwarf)");
            ++next;
        }
    if (next < node.arguments.size()) {
        const auto* const number = std::get_if<ast::Number>(&node.arguments[next].node);
        if (!number || number->value == 0 || number->value > most_stack_frames)
            fail(node.arguments[next].where, fmt::format("ustack(N) wants a number from 1 to {}", most_stack_frames));
        found.argument = static_cast<unsigned>(number->value);
        ++next;
    }
    if (next < node.arguments.size())
        fail(node.arguments[next].where, fmt::format("ustack() is {}", function_of("ustack")->usage));
    return found;
}

} // namespace fastsdt::engine
