// SPDX-License-Identifier: BSD-2-Clause
#include "script/script.h"

#include "script/language.h"

#include <algorithm>
#include <functional>
#include <fmt/format.h>
#include <set>

namespace fastsdt::engine {
namespace {

template <class What> bool any(const Expression& e, const What& what)
{
    return what(e)
        || std::any_of(e.operands.begin(), e.operands.end(), [&](const Expression& o) { return any(o, what); });
}

template <class What> bool anywhere(const Clause& clause, const What& what)
{
    bool found = clause.filter && any(*clause.filter, what);
    each_statement(clause.actions, [&](const Statement& statement) {
        each_expression(statement, [&](const Expression& e) { found = found || any(e, what); });
    });
    return found;
}

// In clauses with sites.
template <class What> bool anywhere(const Script& script, const What& what)
{
    return std::any_of(script.clauses.begin(), script.clauses.end(),
                       [&](const Clause& clause) { return clause.has_sites() && anywhere(clause, what); });
}

} // namespace

bool calls_functions(const Script& script)
{
    bool found = false;
    each_statement(script, [&](const Statement& each) { found = found || each.kind == Statement::Kind::call; });
    return found;
}

bool uses(const Script& script, Value value)
{
    return anywhere(script, [&](const Expression& e) { return e.kind == Expression::Kind::value && e.value == value; });
}

bool unwinds(const Clause& clause)
{
    return anywhere(clause, [](const Expression& e) { return e.kind == Expression::Kind::value && e.unwinds; });
}

bool unwinds(const Script& script)
{
    return std::any_of(script.clauses.begin(), script.clauses.end(),
                       [](const Clause& clause) { return clause.has_sites() && unwinds(clause); });
}

bool walks_frames(const Script& script)
{
    return anywhere(script, [](const Expression& e) {
        return e.kind == Expression::Kind::value && e.value == Value::stack && !e.unwinds;
    });
}

bool reads_memory(const Script& script)
{
    return anywhere(script, [](const Expression& e) {
        return e.kind == Expression::Kind::memory || e.kind == Expression::Kind::buffer
            || e.kind == Expression::Kind::indexed;
    });
}

bool shows_names(const Script& script)
{
    return anywhere(script, [](const Expression& e) { return e.type.has_name(); });
}

bool has_events(const Script& script)
{
    bool found = false;
    each_site_statement(script, [&](const Statement& each) { found = found || each.is_event(); });
    return found;
}

bool has_dump(const Script& script)
{
    bool found = false;
    each_statement(script, [&](const Statement& each) { found = found || each.kind == Statement::Kind::dump; });
    return found;
}

const Statement* unsafe_statement(const Script& script)
{
    const Statement* found = nullptr;
    each_statement(script, [&](const Statement& each) {
        if (!found && (each.kind == Statement::Kind::system || each.kind == Statement::Kind::signal))
            found = &each;
    });
    return found;
}

std::pair<std::optional<int64_t>, std::optional<int64_t>> Map::bounds(size_t bucket) const
{
    if (bucket == 0)
        return {std::nullopt, kind == MapKind::lhist && fine_bits == 0 ? low - 1 : -1};
    const auto i = int64_t(bucket) - 1;
    if (fine_bits) {
        const int64_t exponent = std::max<int64_t>((i >> fine_bits) - 1, 0); // of the width
        const int64_t first = (i - (exponent << fine_bits)) << exponent;
        return {first, first + (int64_t(1) << exponent) - 1};
    }
    if (kind == MapKind::lhist && bucket == buckets() - 1)
        return {high, std::nullopt};
    if (kind == MapKind::lhist)
        return {low + i * step, low + (i + 1) * step - 1};
    if (i == 0)
        return {0, 0};
    const uint64_t first = uint64_t(1) << (i - 1);
    return {int64_t(first), int64_t(2 * first - 1)};
}

bool has_samples(const Script& script)
{
    return std::any_of(script.clauses.begin(), script.clauses.end(), [](const Clause& c) { return c.has_samples(); });
}

bool has_sites(const Script& script)
{
    return std::any_of(script.clauses.begin(), script.clauses.end(), [](const Clause& c) { return c.has_sites(); });
}

bool clears(const Script& script)
{
    bool found = false;
    each_statement(script, [&](const Statement& each) { found = found || each.kind == Statement::Kind::clear; });
    return found;
}

bool adds_up(const Script& script)
{
    std::set<size_t> changed, read;
    bool adds = true;
    const std::function<void(const Expression&)> look = [&](const Expression& e) {
        if (e.kind == Expression::Kind::map || e.kind == Expression::Kind::has)
            read.insert(e.map);
        if (e.kind == Expression::Kind::step && e.operands[0].kind == Expression::Kind::map)
            adds = false;
        for (const Expression& operand : e.operands)
            look(operand);
    };
    for (const Clause& clause : script.clauses) {
        if (!clause.has_sites())
            continue;
        if (clause.filter)
            look(*clause.filter);
        each_statement(clause.actions, [&](const Statement& statement) {
            using Kind = Statement::Kind;
            if (statement.kind == Kind::assign || statement.kind == Kind::remove || statement.kind == Kind::dump
                || statement.kind == Kind::call
                || (statement.kind == Kind::add && !script.maps[statement.map].only_adds))
                adds = false;
            if (statement.kind == Kind::update || statement.kind == Kind::add)
                changed.insert(statement.map);
            each_expression(statement, look);
        });
    }
    return adds && std::none_of(read.begin(), read.end(), [&](size_t map) { return changed.contains(map); });
}

namespace {

// What the script writes for the key where it first mentions the map.
std::string label_of(const Expression& key, size_t index)
{
    const std::string name = name_of(key);
    return name.empty() ? fmt::format("key{}", index) : name;
}

} // namespace

std::vector<std::string> labels_of(const Script& script, size_t map)
{
    std::vector<std::string> labels;
    each_statement(script, [&](const Statement& statement) {
        for (size_t i = 0; statement.map == map && i < statement.keys.size() && labels.size() == i; ++i) {
            const std::string label = label_of(statement.keys[i], i);
            labels.push_back(std::count(labels.begin(), labels.end(), label) ? fmt::format("key{}", i) : label);
        }
    });
    for (size_t i = labels.size(); i < script.maps[map].keys.size(); ++i)
        labels.push_back(fmt::format("key{}", i));
    return labels;
}

} // namespace fastsdt::engine
