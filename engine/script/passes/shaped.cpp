// SPDX-License-Identifier: BSD-2-Clause
#include "script/passes/shaped.h"

#include "arch/args.h"
#include "base/arch.h"
#include "script/parse.h"
#include "script/passes/nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace fastsdt::engine {
namespace {

using Kind = Expression::Kind;

// Names of registers as bpftrace has them, in the order of their numbers.
constexpr std::array<std::string_view, 16> x86_registers = {"ax", "cx", "dx",  "bx",  "sp",  "bp",  "si",  "di",
                                                            "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"};
constexpr unsigned arm64_registers = 31; ///< and sp

Expression bytes_literal(std::string bytes, const ShapePtr& shape, Span where)
{
    return made(Kind::text, where, [&](Expression& e) {
        e.type.kind = kind_of(*shape);
        e.text = std::move(bytes);
        e.type.shape = shape;
    });
}

} // namespace

// On addresses: not scaled again.
Expression address_of(Operator op, Expression left, Expression right, Span where)
{
    static const ShapePtr bytes = pointer_shape(nullptr);
    Expression e = operation_of(op, std::move(left), std::move(right), where);
    e.type.shape = bytes;
    return e;
}

Expression plus(Expression address, size_t offset)
{
    const Span where = address.where;
    if (offset == 0)
        return address;
    return address_of(Operator::add, std::move(address), number_of(int64_t(offset), where), where);
}

ValueKind kind_of(const Shape& shape)
{
    using Is = Shape::Kind;
    const bool is_shown = shape.kind == Is::real || shape.kind == Is::symbol || shape.kind == Is::time
        || shape.kind == Is::error || shape.kind == Is::signal || shape.kind == Is::user;
    return shape.is_number()     ? ValueKind::integer
        : is_shown               ? ValueKind::shown
        : shape.kind == Is::text ? ValueKind::string
                                 : ValueKind::bytes;
}

bool is_pointer(const Expression& e)
{
    return e.type.kind == ValueKind::integer && e.type.is(Shape::Kind::pointer);
}

Expression with_shape(Expression e, ShapePtr shape)
{
    const Span where = e.where;
    Expression found = address_of(Operator::add, std::move(e), number_of(0, where), where);
    found.type.is_signed = shape->is_signed;
    found.sign = shape->is_signed;
    found.type.shape = std::move(shape);
    return found;
}

// The lowest bytes, extended as the shape says.
Expression to_size(Expression e, const ShapePtr& shape, unsigned bits)
{
    const Span where = e.where;
    bits = bits ? bits : unsigned(shape->size * 8);
    if (bits < 64) {
        e = address_of(Operator::bit_and, std::move(e), number_of((int64_t(1) << bits) - 1, where), where);
        if (shape->is_signed) {
            const int64_t sign = int64_t(1) << (bits - 1);
            e = address_of(Operator::bit_xor, std::move(e), number_of(sign, where), where);
            e = address_of(Operator::subtract, std::move(e), number_of(sign, where), where);
        }
    }
    return with_shape(std::move(e), shape);
}

// As a value: what an integer is, where nothing says its size.
ShapePtr shape_of(const Expression& e)
{
    if (e.type.shape)
        return e.type.shape;
    if (e.type.kind == ValueKind::string)
        return plain_shape(Shape::Kind::text, e.kind == Kind::text ? e.text.size() + 1 : string_size);
    return integer_shape(8, e.type.is_signed);
}

// A variable may hold a longer string than the one that says its shape; so may a tuple.
ShapePtr element_shape(const Expression& e)
{
    const bool is_array = e.kind == Kind::memory || e.kind == Kind::part; // of char
    if (e.type.kind != ValueKind::string || is_array)
        return shape_of(e);
    return text_shape(e.kind == Kind::text ? e.text.size() + 1 : string_size);
}

// What something is as a value of this shape.
Expression taken(Kind kind, Expression from, const ShapePtr& shape, Span where)
{
    Expression e;
    e.kind = kind;
    e.type.shape = shape;
    e.type.kind = kind_of(*e.type.shape);
    e.type.is_signed = e.type.shape->is_signed;
    e.where = where;
    e.operands.push_back(std::move(from));
    return e;
}

static ShapePtr words_shape(size_t count)
{
    return tuple_shape(std::vector<ShapePtr>(count, integer_shape(8, false)));
}

// Of bytes that are kept somewhere.
Expression part(Expression of, size_t offset, const ShapePtr& shape, Span where)
{
    auto from = int64_t(offset);
    if (of.kind == Kind::part) {
        from += of.number;
        of = Expression(std::move(of.operands[0]));
    }
    if (of.kind == Kind::tuple && of.is_declared && shape->size != 0) { // of registers: those that are meant
        const size_t first = size_t(from) / 8,
                     last = std::min((size_t(from) + shape->size + 7) / 8, of.operands.size());
        of.operands =
            std::vector<Expression>(of.operands.begin() + ptrdiff_t(first), of.operands.begin() + ptrdiff_t(last));
        of.type.shape = words_shape(of.operands.size());
        from %= 8;
    }
    Expression e = taken(Kind::part, std::move(of), shape, where);
    e.number = from;
    return e;
}

// A number takes 8 bytes there.
Expression element_of(Expression tuple, const Shape::Member& member, Span where)
{
    if (!member.shape->is_number())
        return part(std::move(tuple), member.offset, member.shape, where);
    Expression found = part(std::move(tuple), member.offset, integer_shape(8, member.shape->is_signed), where);
    if (member.shape->kind != Shape::Kind::integer)
        found.type.shape = member.shape;
    return found;
}

Expression zeros(const ShapePtr& shape, Span where)
{
    if (shape->kind == Shape::Kind::text)
        return made(Kind::text, where, [](Expression& e) { e.type.kind = ValueKind::string; });
    return bytes_literal(std::string(shape->size, '\0'), shape, where);
}

// (uint8[4])value: the bytes of a number, a text or an array.
Expression as_array(Expression of, ShapePtr shape, Span where)
{
    const size_t size = of.kind == Kind::text && of.type.kind == ValueKind::string ? of.text.size() + 1
        : of.type.kind == ValueKind::string                                        ? string_size
        : of.type.shape                                                            ? of.type.shape->size
                                                                                   : 8;
    if (shape->count == 0)
        shape = array_shape(shape->of, size / shape->of->size);
    if (shape->size > std::max<size_t>(size, of.type.kind == ValueKind::integer ? 8 : 0) || shape->size == 0)
        fail(where, fmt::format("the value has {} bytes, and the array {}", size, shape->size));
    if (of.kind == Kind::text) {
        of.text.resize(shape->size, '\0');
        return bytes_literal(std::move(of.text), shape, where);
    }
    if (of.kind == Kind::memory && of.type.kind != ValueKind::integer)
        return taken(Kind::memory, Expression(std::move(of.operands[0])), shape, where);
    if (of.type.kind == ValueKind::integer) { // in eight bytes of its own
        Expression whole;
        whole.kind = Kind::tuple;
        whole.where = where;
        whole.type.kind = ValueKind::bytes;
        whole.type.shape = tuple_shape({integer_shape(8, false)});
        whole.operands.push_back(std::move(of));
        of = std::move(whole);
    }
    return part(std::move(of), 0, shape, where);
}

// The lowest bytes of an array.
Expression as_number(const Expression& of, const ShapePtr& shape, Span where)
{
    const bool is_read = of.kind == Kind::memory;
    return taken(is_read ? Kind::memory : Kind::part, is_read ? of.operands[0] : of, shape, where);
}

// Of both families: how many bytes the address has, and 16.
Expression network(std::vector<Expression> words, Span where)
{
    static const ShapePtr shape = [] {
        Shape made = *plain_shape(Shape::Kind::network, 24);
        made.members = tuple_shape(std::vector<ShapePtr>(3, integer_shape(8, false)))->members;
        return std::make_shared<const Shape>(std::move(made));
    }();
    return made(Kind::tuple, where, [&](Expression& e) {
        e.operands = std::move(words);
        e.type.kind = ValueKind::bytes;
        e.type.shape = shape;
    });
}

std::optional<unsigned> register_of(const std::string& name)
{
    if (own_arch == Arch::x86_64) {
        if (name == "ip" || name == "pc")
            return at_site;
        const auto* const found = std::find(x86_registers.begin(), x86_registers.end(), name);
        return found != x86_registers.end() ? std::optional(unsigned(found - x86_registers.begin())) : std::nullopt;
    }
    if (name == "pc")
        return at_site;
    if (name == "sp")
        return arm64_registers;
    for (unsigned i = 0; i < arm64_registers; ++i)
        if (name == fmt::format("r{}", i))
            return i;
    return std::nullopt;
}

Expression stack_pointer(Span where)
{
    return made(Kind::value, where, [](Expression& e) {
        e.value = Value::reg;
        e.text = "sp";
        e.argument = *register_of(e.text);
    });
}

// Of a word of a result: the register's number.
static unsigned register_of_result(const Passed::Word& word, Words which)
{
    if (which == Words::result_of_go)
        return registers_of_go(own_arch)[word.index];
    return own_arch == Arch::x86_64 ? 2 * word.index : word.index; // rax and rdx, or x0 and up
}

Expression assembled(const std::vector<Passed::Word>& words, const ShapePtr& shape, Span where, Words which)
{
    const bool is_result = which != Words::arguments;
    const auto bits = [&](const Passed::Word& word) {
        Expression value = made(Kind::value, where, [&](Expression& e) {
            e.value = is_result ? Value::retval : Value::arg;
            e.argument = word.index;
            e.is_declared = true;
            if (is_result && !word.is_vector && word.index != 0) { // the first is retval
                e.value = Value::reg;
                e.argument = register_of_result(word, which);
                e.text =
                    own_arch == Arch::x86_64 ? std::string(x86_registers[e.argument]) : fmt::format("r{}", e.argument);
            }
            if (word.is_vector)
                e.real = unsigned(word.size);
            e.type.shape = integer_shape(8, false); // as they are
        });
        // What a number does not fill is anything.
        return word.size < 8 && std::has_single_bit(word.size)
            ? to_size(std::move(value), integer_shape(word.size, false))
            : value;
    };
    Expression all;
    all.kind = Kind::tuple;
    all.where = where;
    for (const Passed::Word& word : words) {
        while (all.operands.size() < word.at / 8)
            all.operands.push_back(number_of(0, where)); // between two members
        Expression next = bits(word);
        if (word.at % 8 != 0)
            next =
                address_of(Operator::shift_left, std::move(next), number_of(int64_t(8 * (word.at % 8)), where), where);
        if (all.operands.size() == word.at / 8) {
            all.operands.push_back(std::move(next));
            continue;
        }
        Expression& before = all.operands.back();
        before = address_of(Operator::bit_or, std::move(before), std::move(next), where);
    }
    while (all.operands.size() < (shape->size + 7) / 8)
        all.operands.push_back(number_of(0, where));
    all.type.kind = ValueKind::bytes;
    all.type.shape = words_shape(all.operands.size());
    all.is_declared = true;
    return part(std::move(all), 0, shape, where);
}

Expression text_of_go(Expression of)
{
    const Span where = of.where;
    const bool is_read = of.kind == Kind::memory;
    const auto member = [&](size_t offset, const ShapePtr& shape) {
        return is_read ? taken(Kind::memory, plus(of.operands[0], offset), shape, where)
                       : part(of, offset, shape, where);
    };
    Expression length = member(8, integer_shape(8, true));
    Expression text = made(Kind::value, where, [&](Expression& e) {
        e.value = Value::str_arg;
        e.type.kind = ValueKind::string;
        e.operands = {member(0, pointer_shape(integer_shape(1, false))), length};
    });
    // One without a byte may be at any address.
    return made(Kind::operation, where, [&](Expression& e) {
        e.op = Operator::select;
        e.type.kind = ValueKind::string;
        e.operands = {std::move(length), std::move(text), zeros(plain_shape(Shape::Kind::text, 0), where)};
    });
}

} // namespace fastsdt::engine
