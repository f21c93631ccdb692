// SPDX-License-Identifier: BSD-2-Clause
// What functions of the language become.
#include "script/passes/values.h"

#include "base/clock.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>

namespace fastsdt::engine {
namespace {

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
        e.type.kind = ValueKind::bytes;
        e.text = std::string(bytes.data(), size);
        e.type.shape = plain_shape(Shape::Kind::network, size);
    });
}

// Of the folder of a group: cgroup has its inode's number (kernfs).
Expression number_of_group(const Expression& folder)
{
    struct stat group{};
    struct statfs system{};
    if (stat(folder.text.c_str(), &group) != 0 || statfs(folder.text.c_str(), &system) != 0)
        fail(folder.where, fmt::format("{}: {}", folder.text, std::strerror(errno)));
    if (!S_ISDIR(group.st_mode) || system.f_type != CGROUP2_SUPER_MAGIC)
        fail(folder.where,
             fmt::format("{} is no control group of version 2, which cgroup tells: "
                         "cgroupid(\"/sys/fs/cgroup/GROUP\")",
                         folder.text));
    return number_of(int64_t(group.st_ino), folder.where);
}

} // namespace

Expression Values::value(const ast::Call& node, Span where)
{
    const std::string& word = node.name;
    if (macro_for(node, where))
        return *expand(node, where, true);
    if (statement_of(word) == Statement::Kind::remove)
        return deletion(node, where);
    const auto function = function_of(word);
    if (!function) {
        if (is_elsewhere(word, Elsewhere::function) || is_elsewhere(word, Elsewhere::value))
            kernel_only(node.word, why_not_here(word, is_elsewhere(word, Elsewhere::function)));
        if (node.arguments.empty() && (builtin_of(word) || meaning_of(word)))
            return value(ast::Word{word}, where); // tid()
        if (builtin_of(word))
            kernel_only({node.word.start + node.word.length, 1}, fmt::format("{} has no brackets here", word));
        if (aggregation_of(word))
            fail(node.word, fmt::format("{}() is no value; a map is assigned it: @ = {}(...)", word, word));
        unknown(word, node.word, true);
    }
    if (function->function == BuiltinFunction::str)
        if (auto text = known_text(node, where))
            return *std::move(text);
    if (function->function == BuiltinFunction::ustack || function->function == BuiltinFunction::dw_ustack)
        return frames(node, where);
    if (function->function == BuiltinFunction::config)
        fail(where, fmt::format("config() is {}", function->usage));
    if (function->function == BuiltinFunction::has_key || function->function == BuiltinFunction::len)
        return of_map(*function, node, where);
    if (function->function == BuiltinFunction::nsecs)
        return clock_value(*function, node, where);
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
            e.type.shape = std::move(shape);
            e.operands.push_back(std::move(given.back()));
        });
    };
    const auto both = [&](Operator op) { return operation_of(op, std::move(given[0]), std::move(given[1]), where); };
    switch (function.function) {
    case BuiltinFunction::str: return text_at(std::move(given), where);
    case BuiltinFunction::buf:
        return made(Expression::Kind::buffer, where, [&](Expression& e) { e.operands = std::move(given); });
    case BuiltinFunction::reg:
    case BuiltinFunction::uaddr: {
        want_text(0);
        Expression found = builtin(function.function == BuiltinFunction::reg ? Value::reg : Value::symbol, where);
        found.text = given[0].text;
        return found;
    }
    case BuiltinFunction::usym: return shown(std::move(given[0]), plain_shape(Shape::Kind::symbol, 8));
    case BuiltinFunction::strerror: return shown(std::move(given[0]), plain_shape(Shape::Kind::error, 8));
    case BuiltinFunction::signal_name: return shown(std::move(given[0]), plain_shape(Shape::Kind::signal, 8));
    case BuiltinFunction::strftime:
        want_text(0);
        return shown(std::move(given[1]), plain_shape(Shape::Kind::time, 8, given[0].text));
    case BuiltinFunction::ntop: return cast_to(plain_shape(Shape::Kind::network, 0));
    case BuiltinFunction::macaddr: return cast_to(plain_shape(Shape::Kind::mac, 6));
    case BuiltinFunction::cgroupid: want_text(0); return number_of_group(given[0]);
    case BuiltinFunction::pton: want_text(0); return network_address(given[0]);
    case BuiltinFunction::bswap: return operation_of(Operator::swap, std::move(given[0]), where);
    case BuiltinFunction::strncmp:
    case BuiltinFunction::memcmp: {
        const bool is_text = function.function == BuiltinFunction::strncmp;
        if (given[2].kind != Expression::Kind::number || given[2].number < (is_text ? 0 : 1))
            fail(given[2].where, fmt::format("{}() wants a number for the length", word));
        if (given[2].number == 0)
            return number_of(0, where);
        Expression found = both(Operator::not_equal);
        found.number = given[2].number;
        return found;
    }
    case BuiltinFunction::strlen: return operation_of(Operator::length, std::move(given[0]), where);
    case BuiltinFunction::strcontains: return both(Operator::contains);
    case BuiltinFunction::strstr: {
        Expression found = both(Operator::contains);
        found.number = 1;
        found.sign = true; // -1: nowhere
        return found;
    }
    case BuiltinFunction::getopt: return option(function, std::move(given), where);
    case BuiltinFunction::has_key: // they look at what was written
    case BuiltinFunction::len:
    case BuiltinFunction::nsecs:
    case BuiltinFunction::ustack:
    case BuiltinFunction::dw_ustack:
    case BuiltinFunction::config: break;
    }
    throw std::logic_error("no such function");
}

// has_key(@map, key), len(@map)
Expression Values::of_map(const FunctionWord& function, const ast::Call& node, Span where)
{
    const auto* const map =
        node.arguments.size() == function.most ? std::get_if<ast::MapAt>(&node.arguments[0].node) : nullptr;
    if (!map && function.function == BuiltinFunction::len && node.arguments.size() == 1)
        return made(Expression::Kind::frames, where,
                    [&](Expression& e) { e.operands.push_back(value(node.arguments[0])); });
    if (!map || !map->keys.empty())
        fail(where, fmt::format("{}() is {}", node.name, function.usage));
    const bool has = function.function == BuiltinFunction::has_key;
    return made(has ? Expression::Kind::has : Expression::Kind::entries, where, [&](Expression& e) {
        e.map = map_of(*map, node.arguments[0].where);
        if (has) {
            e.operands = keys_of(node.arguments[1]);
            e.number = 1;
            e.type.shape = bool_shape();
        }
    });
}

// delete(@a, key) and delete(@a[key]), where somebody asks whether the key was there.
Expression Values::deletion(const ast::Call& node, Span where)
{
    Statement made = statement(Statement::Kind::remove, where);
    const auto* const map = !node.arguments.empty() ? std::get_if<ast::MapAt>(&node.arguments[0].node) : nullptr;
    if (!map || node.arguments.size() > 2 || (node.arguments.size() == 2 && !map->keys.empty()))
        fail(where, "delete() is delete(@map, KEY), or delete(@map[KEY])");
    made.map = map_of(*map, node.arguments[0].where);
    made.keys = node.arguments.size() == 2 ? keys_of(node.arguments[1]) : values(map->keys);
    for (Expression& key : made.keys)
        keep(key);
    const size_t was_there = hidden_variable(where);
    put(*before_,
        set(was_there,
            engine::made(Expression::Kind::has, where,
                         [&](Expression& e) {
                             e.map = made.map;
                             e.operands = made.keys;
                             e.type.shape = bool_shape();
                         }),
            where));
    put(*before_, std::move(made));
    return variable(was_there, where);
}

// getopt("name"), getopt("name", default, "what it is"): what the command line says behind "--".
Expression Values::option(const FunctionWord& function, std::vector<Expression> given, Span where)
{
    if (given[0].kind != Expression::Kind::text || (given.size() == 3 && given[2].kind != Expression::Kind::text))
        fail(where, fmt::format("getopt() is {}", function.usage));
    const std::string name = given[0].text;
    expected_[name] = given.size() == 3 ? given[2].text : "";
    Expression usual = given.size() > 1 ? std::move(given[1]) : value(Meaning::no, where);
    if (usual.kind == Expression::Kind::operation && usual.op == Operator::negate) // of a number
        usual = number_of(-usual.operands[0].number, where);
    const auto found = options_.find(name);
    if (found == options_.end())
        return usual;
    const std::string& text = found->second;
    const auto refuse = [&](std::string_view what) {
        fail(nowhere, fmt::format("program command line option --{} invalid {} (value: {})", name, what, text));
    };
    if (usual.kind == Expression::Kind::text) {
        usual.text = text;
    } else if (usual.kind == Expression::Kind::number && usual.type.shape) {
        std::string lower = text;
        std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
        if (lower != "true" && lower != "false" && lower != "1" && lower != "0")
            refuse("boolean");
        usual.number = lower == "true" || lower == "1";
    } else if (usual.kind == Expression::Kind::number) {
        const auto number = number_in_text(text);
        if (!number)
            refuse("integer");
        usual = number_of(*number, where);
        if (*number < 0 && !text.starts_with('-'))
            usual.type.shape = integer_shape(8, false);
    } else {
        fail(where, "the default of getopt() is a number, a string, true or false");
    }
    return usual;
}

void Values::refuse_unknown_options() const
{
    std::string unknown, all;
    for (const auto& [name, text] : options_)
        if (!expected_.contains(name))
            unknown += (unknown.empty() ? "--" : ", --") + name;
    if (unknown.empty())
        return;
    for (const auto& [name, what] : expected_)
        all += fmt::format("{}--{}{}", expected_.size() > 1 ? "\n" : " ", name, what.empty() ? "" : ": " + what);
    ScriptError error(nowhere, "unexpected program command line options: " + unknown);
    error.hint = all.empty() ? "the script has no getopt()" : "expected program options:" + all;
    throw ScriptError(error);
}

// nsecs(boot), nsecs(monotonic), nsecs(tai): clocks that go alike, but for what they count from.
Expression Values::clock_value(const FunctionWord& function, const ast::Call& node, Span where)
{
    if (node.arguments.empty())
        return builtin(Value::nsecs, where);
    const auto* const word = std::get_if<ast::Word>(&node.arguments[0].node);
    const std::string_view name = word ? std::string_view(word->word) : std::string_view();
    const auto clock = name == "boot"       ? std::optional(CLOCK_BOOTTIME)
        : name == "monotonic"               ? std::optional(CLOCK_MONOTONIC)
        : name == "tai" || name == "sw_tai" ? std::optional(CLOCK_TAI)
                                            : std::nullopt;
    if (!clock || node.arguments.size() > 1)
        fail(node.arguments.back().where, fmt::format("nsecs() is {}", function.usage));
    if (*clock == CLOCK_BOOTTIME)
        return builtin(Value::nsecs, where);
    return operation_of(Operator::add, builtin(Value::nsecs, where),
                        number_of(clock_ns(*clock) - clock_ns(CLOCK_BOOTTIME), where), where);
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

// str($1), str($1, LENGTH), and the empty str(0) of the tool.
std::optional<Expression> Values::known_text(const ast::Call& node, Span where)
{
    if (node.arguments.empty() || node.arguments.size() > 2)
        return std::nullopt;
    const auto* const address = std::get_if<ast::Number>(&node.arguments[0].node);
    if (address && address->value == 0 && !clause_->has_sites())
        return value(ast::Text{""}, where);
    std::optional<Expression> text = parameter_text(node.arguments[0], where);
    if (text && node.arguments.size() == 2) {
        const auto* const length = std::get_if<ast::Number>(&node.arguments[1].node);
        if (!length)
            fail(node.arguments[1].where, "the length of a parameter's text is a number");
        text->text.resize(std::min<uint64_t>(text->text.size(), std::max<uint64_t>(length->value, 1) - 1));
    }
    return text;
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

void Values::stack_form(std::string_view word, Span where, bool is_setting)
{
    std::optional<StackForm> form;
    for (const StackForm each : {StackForm::bpftrace, StackForm::perf, StackForm::raw, StackForm::build_id})
        if (word == word_of(each))
            form = each;
    if (!form)
        kernel_only(where,
                    "a stack is bpftrace, perf, raw or build_id here: ustack, ustack(N), ustack(raw) or ustack(dwarf)");
    if (is_setting) {
        usual_form_ = form;
        return;
    }
    if (own_form_.value_or(*form) != *form)
        kernel_only(where, "all stacks of a script have one form here");
    own_form_ = form;
}

void Values::settle_stack_form()
{
    if (own_form_ && plain_stack_ && usual_form_.value_or(StackForm::bpftrace) != *own_form_)
        kernel_only(*plain_stack_, "all stacks of a script have one form here");
    draft_.script.stack_form = own_form_ ? own_form_ : usual_form_;
}

// ustack(), ustack(N), ustack(MODE), ustack(MODE, N)
Expression Values::frames(const ast::Call& node, Span where)
{
    Expression found = builtin(Value::stack, where);
    found.argument = most_stack_frames;
    size_t next = 0;
    const bool is_ustack = node.name == "ustack";
    if (!is_ustack) { // dw_ustack()
        found.unwinds = true;
        draft_.script.beyond_bpftrace = "dw_ustack()";
    }
    if (next < node.arguments.size() && is_ustack)
        if (const auto* const mode = std::get_if<ast::Word>(&node.arguments[next].node)) {
            found.unwinds = mode->word == "dwarf";
            if (found.unwinds)
                draft_.script.beyond_bpftrace = "ustack(dwarf)";
            else
                stack_form(mode->word, node.arguments[next].where, false);
            ++next;
        }
    if (next == 0 || found.unwinds)
        plain_stack_ = where;
    if (next < node.arguments.size()) {
        const Expression number = value(node.arguments[next]);
        if (number.kind != Expression::Kind::number || number.number < 1 || number.number > int64_t(most_stack_frames))
            fail(node.arguments[next].where,
                 fmt::format("{}(N) wants a number from 1 to {}", node.name, most_stack_frames));
        found.argument = static_cast<unsigned>(number.number);
        ++next;
    }
    if (next < node.arguments.size())
        fail(node.arguments[next].where, fmt::format("{}() is {}", node.name, function_of(node.name)->usage));
    return found;
}

} // namespace fastsdt::engine
