// SPDX-License-Identifier: BSD-2-Clause
// Expressions that a shape says something of: addresses, parts of bytes, numbers of a size, structures in registers.
#pragma once
#include "script/passes/passed.h"
#include "script/script.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace fastsdt::engine {

/// An operation on addresses: it is not scaled again.
Expression address_of(Operator op, Expression left, Expression right, Span where);
Expression plus(Expression address, size_t offset);
bool is_pointer(const Expression& e);

ValueKind kind_of(const Shape& shape);
/// As a value: what an integer is, where nothing says its size.
ShapePtr shape_of(const Expression& e);
/// As an element of a tuple. A variable may hold a longer string than the one that says its shape; so may a tuple.
ShapePtr element_shape(const Expression& e);

/// The same bits, as the shape says.
Expression with_shape(Expression e, ShapePtr shape);
/// The lowest bytes, or bits, extended as the shape says.
Expression to_size(Expression e, const ShapePtr& shape, unsigned bits = 0);

/// What something is as a value of this shape, which is complete.
Expression taken(Expression::Kind kind, Expression from, const ShapePtr& shape, Span where);
/// Of bytes that are kept somewhere.
Expression part(Expression of, size_t offset, const ShapePtr& shape, Span where);
/// A number takes 8 bytes in a tuple.
Expression element_of(Expression tuple, const Shape::Member& member, Span where);
Expression zeros(const ShapePtr& shape, Span where);
/// (uint8[4])value: the bytes of a number, a text or an array. Throws ScriptError.
Expression as_array(Expression of, ShapePtr shape, Span where);
/// The opposite: the lowest bytes of an array.
Expression as_number(const Expression& of, const ShapePtr& shape, Span where);
/// Of ntop(), of both families: how many bytes the address has, and 16. @param words  of 16, or two of 8
Expression network(std::vector<Expression> words, Span where);
/// Value::reg's number of a register; empty: there is none of that name.
std::optional<unsigned> register_of(const std::string& name);
Expression stack_pointer(Span where);
/// A structure of what registers have.
enum class Words { arguments, result, result_of_go };
Expression assembled(const std::vector<Passed::Word>& words, const ShapePtr& shape, Span where,
                     Words which = Words::arguments);
/// Of a structure that is Go's string.
Expression text_of_go(Expression of);

} // namespace fastsdt::engine
