// SPDX-License-Identifier: BSD-2-Clause
// Which values have a sign, the way bpftrace 0.17 infers it.
#pragma once
#include "script/script.h"

namespace fastsdt::engine {

/// Of all clauses, in the order of the text.
template <class Visit> void each_with_clause(Script& script, const Visit& visit)
{
    for (Clause& clause : script.clauses)
        each_statement(clause.actions, [&](Statement& statement) { visit(clause, statement); });
}

/// The first value in the text says which type a variable has.
inline bool sets_first(const Statement& statement, const Variable& variable)
{
    return statement.where.start == variable.where.start;
}

/// To bpftrace minima, maxima and averages are always signed, whatever the sign of the recorded values.
bool holds_signed(MapKind kind, bool value_signed);

/// Once maps have their kinds and expressions their types.
void infer_signs(Script& script);

} // namespace fastsdt::engine
