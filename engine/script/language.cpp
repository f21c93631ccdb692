// SPDX-License-Identifier: BSD-2-Clause
#include "script/language.h"

#include "base/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace fastsdt::engine {
namespace {

struct BuiltinWord {
    std::string_view word;
    Value value;
    std::string_view label;
};
constexpr BuiltinWord builtins[] = {
#define BUILTIN(word, value, label) {word, Value::value, label},
#include "script/language.def"
};

struct NamedFunction {
    std::string_view word;
    FunctionWord function;
};
constexpr NamedFunction functions[] = {
#define FUNCTION(word, function, least, most, usage) {word, {BuiltinFunction::function, least, most, usage}},
#include "script/language.def"
};

constexpr AggregationWord aggregations[] = {
#define AGGREGATION(word, kind, arguments, wants) {word, MapKind::kind, arguments, wants},
#include "script/language.def"
};

struct StatementWord {
    std::string_view word;
    Statement::Kind kind;
};
constexpr StatementWord statements[] = {
#define STATEMENT(word, statement) {word, Statement::Kind::statement},
#include "script/language.def"
};

struct OtherWord {
    std::string_view word;
    Meaning meaning;
};
constexpr OtherWord words[] = {
#define WORD(word, meaning) {word, Meaning::meaning},
#include "script/language.def"
};

struct ProbeWord {
    std::string_view word, in_short;
    Probe::Kind kind;
};
constexpr ProbeWord probes[] = {
#define PROBE(word, short, kind) {word, short, Probe::Kind::kind},
#include "script/language.def"
};

constexpr InfixWord infixes[] = {
#define INFIX(word, op, precedence) {word, Operator::op, precedence},
#include "script/language.def"
};

struct PrefixWord {
    std::string_view word;
    Operator op;
};
constexpr PrefixWord prefixes[] = {
#define PREFIX(word, op) {word, Operator::op},
#include "script/language.def"
};

struct ElsewhereWord {
    std::string_view word;
    Elsewhere of;
    std::string_view what;
};
constexpr ElsewhereWord elsewhere[] = {
#define ELSEWHERE(word, of, what) {word, Elsewhere::of, what},
#include "script/language.def"
};

template <class Rows> auto find(const Rows& rows, std::string_view word) -> decltype(std::begin(rows))
{
    const auto* const found =
        std::find_if(std::begin(rows), std::end(rows), [&](const auto& row) { return row.word == word; });
    return found == std::end(rows) ? nullptr : found;
}

} // namespace

std::optional<Value> builtin_of(std::string_view word)
{
    const auto* const found = find(builtins, word);
    return found ? std::optional(found->value) : std::nullopt;
}

std::optional<Meaning> meaning_of(std::string_view word)
{
    const auto* const found = find(words, word);
    return found ? std::optional(found->meaning) : std::nullopt;
}

std::optional<FunctionWord> function_of(std::string_view word)
{
    const auto* const found = find(functions, word);
    return found ? std::optional(found->function) : std::nullopt;
}

const AggregationWord* aggregation_of(std::string_view word)
{
    return find(aggregations, word);
}

std::optional<Statement::Kind> statement_of(std::string_view word)
{
    const auto* const found = find(statements, word);
    return found ? std::optional(found->kind) : std::nullopt;
}

std::optional<Probe::Kind> probe_kind_of(std::string_view word)
{
    for (const ProbeWord& each : probes)
        if (each.word == word || (!each.in_short.empty() && each.in_short == word))
            return each.kind;
    return std::nullopt;
}

std::string_view label_of(Value value)
{
    for (const BuiltinWord& each : builtins)
        if (each.value == value)
            return each.label;
    return {};
}

std::string_view word_of(MapKind kind)
{
    for (const AggregationWord& each : aggregations)
        if (each.kind == kind)
            return each.word;
    return {};
}

const InfixWord* infix_of(std::string_view word)
{
    return find(infixes, word);
}

std::optional<Operator> prefix_of(std::string_view word)
{
    const auto* const found = find(prefixes, word);
    return found ? std::optional(found->op) : std::nullopt;
}

std::string_view word_of(Statement::Kind kind)
{
    for (const StatementWord& each : statements)
        if (each.kind == kind)
            return each.word;
    return {};
}

std::string_view word_of(Operator op)
{
    for (const InfixWord& each : infixes)
        if (each.op == op)
            return each.word;
    for (const PrefixWord& each : prefixes)
        if (each.op == op)
            return each.word;
    return {};
}

std::string name_of(const Expression& value)
{
    if (value.kind != Expression::Kind::value)
        return {};
    if (value.value != Value::arg && value.value != Value::str_arg)
        return std::string(label_of(value.value));
    return value.text.empty() ? fmt::format("{}{}", value.on_stack ? "sarg" : "arg", value.argument) : value.text;
}

std::string all_probe_kinds()
{
    std::string all;
    const size_t count = std::size(probes);
    for (size_t i = 0; i < count; ++i)
        all += fmt::format("{}{}", i == 0 ? "" : i + 1 == count ? " and " : ", ", probes[i].word);
    return all;
}

bool is_elsewhere(std::string_view word, Elsewhere of)
{
    return std::any_of(std::begin(elsewhere), std::end(elsewhere),
                       [&](const ElsewhereWord& each) { return each.word == word && each.of == of; });
}

Nearest near_probe_kind(std::string_view word)
{
    Nearest nearest(word);
    for (const auto& each : probes) {
        nearest.look(each.word);
        if (each.kind == Probe::Kind::begin || each.kind == Probe::Kind::end)
            nearest.look(each.in_short); // as newer bpftrace spells them
    }
    for (const ElsewhereWord& each : elsewhere)
        if (each.of == Elsewhere::probe)
            nearest.look(each.word);
    return nearest;
}

std::string why_not_here(std::string_view word, bool is_call)
{
    for (const ElsewhereWord& each : elsewhere)
        if (each.word == word && !each.what.empty())
            return fmt::format("\"{}\" is {}, which no program can tell: only bpftrace can", word, each.what);
    if (word == "system")
        return "system() runs commands as root in bpftrace, with --unsafe; not here";
    return fmt::format("{} is not in this subset of bpftrace's language",
                       is_call ? fmt::format("{}()", word) : fmt::format("\"{}\"", word));
}

std::string nearest_word(std::string_view word)
{
    Nearest nearest(word);
    const auto look = [&](const auto& rows) {
        for (const auto& row : rows)
            nearest.look(row.word);
    };
    look(builtins);
    look(words);
    look(functions);
    look(aggregations);
    look(statements);
    return nearest.word();
}

} // namespace fastsdt::engine
