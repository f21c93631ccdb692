// SPDX-License-Identifier: BSD-2-Clause
// Casts.
#include "script/passes/inference.h"

#include <fmt/format.h>

#include <algorithm>

namespace fastsdt::engine {

void Inference::cast(Expression& e)
{
    if (e.operands.size() == 2) { // to the type of a value
        if (waits(e.operands[1]))
            return;
        e.type.shape = shape_of(e.operands[1]);
        e.operands.pop_back();
    }
    Expression& of = e.operands[0];
    ShapePtr shape = complete(e.type.shape, e.where);
    const Span where = e.where;
    const auto as = [&](Expression found) {
        found.where = where;
        e = std::move(found);
    };
    if (shape->kind == Shape::Kind::real)
        return as(to_real(std::move(of), shape, where));
    if (of.type.is_real() && shape->is_integer()) {
        const size_t size = of.type.shape->size;
        Expression whole = operation_of(Operator::truncate, std::move(of), where);
        whole.number = int64_t(size);
        whole.type.is_signed = shape->is_signed || shape->size < sizeof(uint64_t);
        whole.sign = whole.type.is_signed;
        return as(to_size(std::move(whole), shape));
    }
    if (shape->kind == Shape::Kind::boolean)
        return as(with_shape(operation_of(Operator::not_equal, std::move(of), number_of(0, where), where), shape));
    if (shape->is_integer() && of.type.kind == ValueKind::bytes
        && (of.type.shape->kind == Shape::Kind::array || of.type.shape->kind == Shape::Kind::network)) {
        if (of.type.shape->size < shape->size)
            fail(of.where, "the array has fewer bytes than that");
        return as(as_number(of, shape, where));
    }
    if (shape->is_integer())
        return as(to_size(std::move(of), shape));
    if (of.kind == Kind::number && of.number == 0
        && (shape->kind == Shape::Kind::record || shape->kind == Shape::Kind::array
            || shape->kind == Shape::Kind::text))
        return as(zeros(shape, where));
    if (shape->kind == Shape::Kind::text && of.type.kind == ValueKind::string)
        return as(std::move(of));
    if (shape->kind == Shape::Kind::array || shape->kind == Shape::Kind::text)
        return as(as_array(std::move(of), shape, where));
    if (shape->kind == Shape::Kind::pointer) {
        if (of.kind == Kind::memory && of.type.kind != ValueKind::integer)
            return as(with_shape(Expression(std::move(of.operands[0])), shape));
        if (of.type.kind != ValueKind::integer)
            fail(of.where, "this is no address");
        return as(with_shape(std::move(of), shape));
    }
    if (shape->kind == Shape::Kind::network && of.type.kind == ValueKind::integer)
        return as(network({number_of(4, where), std::move(of), number_of(0, where)}, where));
    const bool is_address = shape->kind == Shape::Kind::network || shape->kind == Shape::Kind::mac;
    const size_t size = of.type.shape ? of.type.shape->size : 0;
    const bool fits = shape->kind == Shape::Kind::mac ? size == 6 : size == 4 || size == 16;
    if (!is_address)
        kernel_only(where, fmt::format("a cast to {} is not in this subset of bpftrace's language", shape->name));
    if (!fits || (of.kind != Kind::memory && of.kind != Kind::part && of.kind != Kind::text))
        fail(of.where,
             shape->kind == Shape::Kind::mac ? "macaddr() wants an array of 6 bytes"
                                             : "ntop() wants an integer, or an array of 4 or 16 bytes");
    if (shape->kind == Shape::Kind::network && size == 4)
        return as(
            network({number_of(4, where), as_number(of, integer_shape(4, false), where), number_of(0, where)}, where));
    if (shape->kind == Shape::Kind::network)
        return as(network({number_of(16, where), std::move(of)}, where));
    of.type.shape = plain_shape(shape->kind, size);
    of.type.kind = ValueKind::bytes;
    as(Expression(std::move(of)));
}

// (double)retval and (double)arg0 of a usdt probe: the result or the argument that is a floating-point number. (float)x0: the register's lower half.
Expression Inference::to_real(Expression of, const ShapePtr& shape, Span where)
{
    const bool is_of_usdt = clause_->probes.empty() || clause_->probes[0].kind == Probe::Kind::usdt;
    const bool is_own =
        of.kind == Kind::value && (of.value == Value::retval || (of.value == Value::arg && (of.real || is_of_usdt)));
    if (is_own)
        make_real(of, shape->size);
    else if (of.kind == Kind::number && of.type.kind == ValueKind::integer && shape->size == sizeof(double))
        of = real_of(double(of.number), where);
    else if (!of.type.is_real() || of.type.shape->size != shape->size)
        kernel_only(
            of.where,
            "a cast to a floating-point number is of a result, of an argument that is one, and of a literal here");
    return of;
}

} // namespace fastsdt::engine
