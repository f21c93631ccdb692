// SPDX-License-Identifier: BSD-2-Clause
#include "script/passes/signs.h"

namespace fastsdt::engine {
namespace {

bool sign(const Script& script, const Clause& clause, Expression& e)
{
    for (Expression& operand : e.operands)
        sign(script, clause, operand);
    switch (e.kind) {
    case Expression::Kind::step: e.type.is_signed = e.operands[0].type.is_signed; break;
    case Expression::Kind::map: e.type.is_signed = script.maps[e.map].type.is_signed; break;
    case Expression::Kind::variable: e.type.is_signed = clause.variables[e.variable].type.is_signed; break;
    case Expression::Kind::operation:
        if (e.sign || e.op == Operator::select) {
            e.type.is_signed = e.sign ? *e.sign : e.operands[1].type.is_signed && e.operands[2].type.is_signed;
            break;
        }
        e.type.is_signed = e.operands[0].type.is_signed;
        if (e.operands.size() == 2 && e.op != Operator::shift_left && e.op != Operator::shift_right)
            e.type.is_signed = e.type.is_signed && e.operands[1].type.is_signed;
        break;
    default: break;
    }
    return e.type.is_signed;
}

} // namespace

bool holds_signed(MapKind kind, bool value_signed)
{
    switch (kind) {
    case MapKind::min:
    case MapKind::max:
    case MapKind::avg:
    case MapKind::stats: return true;
    case MapKind::sum:
    case MapKind::integer: return value_signed;
    case MapKind::count:
    case MapKind::hist:
    case MapKind::lhist:
    case MapKind::string:
    case MapKind::probe: break;
    }
    return false;
}

// A map may be assigned the value of another map, and that one the value of a third: each round settles one more
// map of such a chain. Of several assignments to a map the first in the text counts.
void infer_signs(Script& script)
{
    for (size_t round = 0; round <= script.maps.size(); ++round) {
        bool changed = false;
        std::vector<bool> seen(script.maps.size());
        each_with_clause(script, [&](Clause& clause, Statement& statement) {
            each_expression(statement, [&](Expression& e) { sign(script, clause, e); });
            if (!statement.value)
                return;
            const bool value_signed = statement.value->type.is_signed;
            if (statement.kind == Statement::Kind::set) {
                if (Variable& variable = clause.variables[statement.variable]; sets_first(statement, variable))
                    variable.type.is_signed = value_signed;
                return;
            }
            if ((statement.kind != Statement::Kind::update && statement.kind != Statement::Kind::assign
                 && statement.kind != Statement::Kind::add)
                || seen[statement.map])
                return;
            seen[statement.map] = true;
            Map& map = script.maps[statement.map];
            const bool is_signed = holds_signed(map.kind, value_signed);
            changed = changed || map.type.is_signed != is_signed;
            map.type.is_signed = is_signed;
        });
        if (!changed)
            break;
    }
    for (Clause& clause : script.clauses)
        if (clause.filter)
            sign(script, clause, *clause.filter);
}

} // namespace fastsdt::engine
