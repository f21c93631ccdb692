// SPDX-License-Identifier: BSD-2-Clause
// Expressions that passes make.
#pragma once
#include "script/script.h"

#include <bit>
#include <utility>

namespace fastsdt::engine {

template <class Fill> Expression made(Expression::Kind kind, Span where, const Fill& fill)
{
    Expression found;
    found.kind = kind;
    found.where = where;
    fill(found);
    return found;
}

inline Expression number_of(int64_t number, Span where)
{
    return made(Expression::Kind::number, where, [&](Expression& e) {
        e.number = number;
        e.type.is_signed = true;
    });
}

inline Expression real_of(double number, Span where)
{
    return made(Expression::Kind::number, where, [&](Expression& e) {
        e.number = std::bit_cast<int64_t>(number);
        e.type.kind = ValueKind::shown;
        e.type.shape = real_shape(sizeof number);
    });
}

inline Expression operation_of(Operator op, Expression of, Span where)
{
    return made(Expression::Kind::operation, where, [&](Expression& e) {
        e.op = op;
        e.operands.push_back(std::move(of));
    });
}

inline Expression operation_of(Operator op, Expression left, Expression right, Span where)
{
    Expression e = operation_of(op, std::move(left), where);
    e.operands.push_back(std::move(right));
    return e;
}

} // namespace fastsdt::engine
