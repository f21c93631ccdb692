// SPDX-License-Identifier: BSD-2-Clause
#include "script/script.h"

#include <algorithm>

namespace fastsdt::engine {
namespace {

bool any(const Expression& e, Value value)
{
    return (e.kind == Expression::Kind::value && e.value == value)
        || std::any_of(e.operands.begin(), e.operands.end(), [&](const Expression& o) { return any(o, value); });
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
    bool found = false;
    for (const Clause& clause : script.clauses) {
        if (!clause.has_sites())
            continue;
        found = found || (clause.filter && any(*clause.filter, value));
        each_statement(clause.actions, [&](const Statement& statement) {
            each_expression(statement, [&](const Expression& e) { found = found || any(e, value); });
        });
    }
    return found;
}

bool has_events(const Script& script)
{
    bool found = false;
    for (const Clause& clause : script.clauses)
        if (clause.has_sites())
            each_statement(clause.actions, [&](const Statement& each) { found = found || each.is_event(); });
    return found;
}

} // namespace fastsdt::engine
