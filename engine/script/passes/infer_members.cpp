// SPDX-License-Identifier: BSD-2-Clause
// Members, elements and what pointers lead to.
#include "script/passes/inference.h"

#include <fmt/format.h>

#include <algorithm>

namespace fastsdt::engine {

// offsetof()
void Inference::offset(Expression& e)
{
    ShapePtr of = !e.operands.empty() ? shape_of(e.operands[0]) : e.type.shape;
    size_t sum = 0;
    for (size_t start = 0; start <= e.text.size();) {
        const size_t end = std::min(e.text.find('.', start), e.text.size());
        const std::string name = e.text.substr(start, end - start);
        if (!of || of->kind != Shape::Kind::record)
            fail(e.where, fmt::format("there is no member {}: its left side is no structure", name));
        of = complete(of, e.where);
        const Found found = find(*of, name);
        if (!found.member)
            fail(e.where, fmt::format("{} has no member {}", of->name, name));
        sum += found.offset;
        of = found.member->shape;
        start = end + 1;
    }
    e = number_of(int64_t(sum), e.where);
}

size_t Inference::size_at(const ShapePtr& pointer, Span where)
{
    return pointer->of ? std::max<size_t>(complete(pointer->of, where)->size, 1) : 1;
}

ShapePtr Inference::complete(const ShapePtr& shape, Span where)
{
    if (shape->kind == Shape::Kind::array && shape->of->kind == Shape::Kind::record && shape->of->size == 0)
        return array_shape(complete(shape->of, where), shape->count);
    if (shape->kind != Shape::Kind::record || !shape->members.empty() || shape->size != 0)
        return shape;
    if (const auto declared = draft_.records.find(shape->name); declared != draft_.records.end())
        return declared->second;
    if (debug_ && probe())
        if (ShapePtr found = debug_->record(*probe(), shape->name))
            return found;
    kernel_only(where,
                fmt::format("{} is not declared in the script{}", shape->name,
                            probe() ? fmt::format(", and no debug information of {} tells it", probe()->file) : ""));
}

Expression Inference::memory(Expression address, const ShapePtr& shape, Span where)
{
    return taken(Kind::memory, std::move(address), complete(shape, where), where);
}

// Of several results of a function of Go.
std::string Inference::no_result(const Shape& results, const std::string& name)
{
    std::string names;
    for (const Shape::Member& each : results.members)
        names += (names.empty() ? "" : ", ") + each.name;
    return fmt::format("there is no result {}; the results are {}", name, names);
}

Inference::Found Inference::find(const Shape& record, const std::string& name)
{
    for (const Shape::Member& member : record.members) {
        if (member.name == name && !name.empty())
            return {&member, member.offset};
        if (member.name.empty() && member.shape->kind == Shape::Kind::record)
            if (const Found inner = find(*member.shape, name); inner.member)
                return {inner.member, member.offset + inner.offset};
    }
    return {};
}

// The type of the left side may be known only when a map's is.
bool Inference::waits(const Expression& e)
{
    const Expression* of = &e;
    while (of->kind != Kind::map && !of->operands.empty()
           && (of->kind == Kind::member || of->kind == Kind::part || of->kind == Kind::element || of->kind == Kind::at
               || of->kind == Kind::step))
        of = &of->operands[0];
    if (!waits_for_map(*of) && (of->kind != Kind::map || known_[of->map]))
        return false;
    ++unknown_;
    return true;
}

void Inference::member(Expression& e)
{
    Expression& of = e.operands[0];
    if (waits(of))
        return;
    const Span where = e.where;
    if (e.number == 0 && of.type.is(Shape::Kind::tuple))
        return of_tuple(e);
    const bool is_arrow = e.number != 0 || is_pointer(of); // a.b of a pointer is a->b
    if (is_arrow && !is_pointer(of))
        fail(of.where,
             of.type.is(Shape::Kind::record)
                 ? "this is a structure, and no pointer: \".\" is wanted"
                 : "this is no pointer to a structure: a cast says which it is, ((struct x*)arg0)->member");
    const ShapePtr& known = is_arrow ? of.type.shape->of : of.type.shape;
    if ((!known || known->kind != Shape::Kind::record) && of.kind == Kind::value && of.value == Value::retval && probe()
        && !signature(*probe()))
        want_declaration(*probe(), of.where);
    if (!known || known->kind != Shape::Kind::record)
        fail(of.where, "this is no structure");
    const ShapePtr record = complete(known, where);
    const Found found = find(*record, e.text);
    if (!found.member)
        fail(where,
             record->name.empty() ? no_result(*record, e.text)
                                  : fmt::format("{} has no member {}", record->name, e.text));
    const Shape::Member& member = *found.member;
    const bool at_address = is_arrow || of.kind == Kind::memory;
    const auto read = [&](const ShapePtr& shape) {
        if (!at_address)
            return part(std::move(of), found.offset, complete(shape, where), where);
        Expression address = is_arrow ? std::move(of) : Expression(std::move(of.operands[0]));
        return memory(plus(std::move(address), found.offset), shape, where);
    };
    if (member.bits == 0) {
        e = read(member.shape);
        return;
    }
    Expression bits = read(integer_shape((member.first_bit + member.bits + 7) / 8, false));
    if (member.first_bit != 0)
        bits = address_of(Operator::shift_right, std::move(bits), number_of(member.first_bit, where), where);
    e = to_size(std::move(bits), member.shape, member.bits);
}

void Inference::of_tuple(Expression& e)
{
    Expression& of = e.operands[0];
    const ShapePtr tuple = of.type.shape;
    const bool is_number = std::all_of(e.text.begin(), e.text.end(), [](char c) { return c >= '0' && c <= '9'; });
    const size_t index = is_number && e.text.size() < 4 ? std::stoul(e.text) : SIZE_MAX;
    if (index >= tuple->members.size())
        fail(e.where,
             fmt::format("the tuple has {} elements, .0 to .{}", tuple->members.size(), tuple->members.size() - 1));
    e = element_of(std::move(of), tuple->members[index], e.where);
}

void Inference::element(Expression& e)
{
    Expression &of = e.operands[0], &index = e.operands[1];
    if (waits(of))
        return;
    const Span where = e.where;
    const bool is_char_array = of.type.shape && of.type.shape->of;
    if (of.type.kind == ValueKind::string && !is_char_array) { // a character
        if (index.kind != Kind::number) {
            e = at_index(std::move(of), std::move(index), integer_shape(1, true), string_size, where);
            return;
        }
        if (index.number < 0 || uint64_t(index.number) >= string_size)
            fail(index.where,
                 fmt::format("the index {} is out of bounds for array of size {}", index.number, string_size));
        e = part(std::move(of), size_t(index.number), integer_shape(1, true), where);
        return;
    }
    if (index.kind == Kind::operation && index.operands.size() == 2 && index.operands[0].kind == Kind::number
        && index.operands[1].kind == Kind::number
        && (index.op == Operator::add || index.op == Operator::subtract || index.op == Operator::multiply)) {
        const uint64_t left = uint64_t(index.operands[0].number), right = uint64_t(index.operands[1].number);
        index = number_of(int64_t(index.op == Operator::add            ? left + right
                                      : index.op == Operator::subtract ? left - right
                                                                       : left * right),
                          index.where);
    }
    if (of.type.is(Shape::Kind::tuple) && index.kind == Kind::number) { // $t[1] is $t.1
        e.text = std::to_string(index.number);
        e.operands.pop_back();
        return of_tuple(e);
    }
    const bool is_array = of.type.shape
        && (of.type.shape->kind == Shape::Kind::array || of.type.shape->kind == Shape::Kind::text) && of.type.shape->of;
    if (!is_array && !is_pointer(of))
        fail(of.where, "this is no array, and no pointer that a cast has given a type");
    if (!of.type.shape->of)
        fail(of.where, "a pointer to void has no elements");
    const ShapePtr shape = complete(of.type.shape->of, where);
    const bool is_known = index.kind == Kind::number;
    if (is_array && is_known && of.type.shape->count != 0
        && (index.number < 0 || uint64_t(index.number) >= of.type.shape->count))
        fail(index.where,
             fmt::format("the index {} is out of bounds for array of size {}", index.number, of.type.shape->count));
    if (is_array && of.kind != Kind::memory) {
        if (!is_known) {
            e = at_index(std::move(of), std::move(index), shape, of.type.shape->count, where);
            return;
        }
        e = part(std::move(of), size_t(index.number) * shape->size, shape, where);
        return;
    }
    Expression address = is_array ? Expression(std::move(of.operands[0])) : std::move(of);
    if (is_known) {
        e = memory(
            address_of(Operator::add, std::move(address), number_of(index.number * int64_t(shape->size), where), where),
            shape, where);
        return;
    }
    e = memory(
        address_of(Operator::add, std::move(address),
                   address_of(Operator::multiply, std::move(index), number_of(int64_t(shape->size), where), where),
                   where),
        shape, where);
}

// An element of a variable, at an index that the hit tells. Beyond its end there is 0.
Expression Inference::at_index(Expression of, Expression index, const ShapePtr& shape, size_t count, Span where)
{
    if (of.kind != Kind::variable || kind_of(*shape) != ValueKind::integer)
        kernel_only(index.where, "an index is a number here, but of a variable with numbers and of an array in memory");
    return made(Kind::indexed, where, [&](Expression& e) {
        e.operands = {std::move(of), std::move(index)};
        e.number = int64_t(count);
        e.type = {ValueKind::integer, shape, shape->is_signed};
    });
}

// &$x
void Inference::address(Expression& e)
{
    if (waits(e.operands[0]))
        return;
    const Variable& of = clause_->variables[e.operands[0].variable];
    e.type.shape = pointer_shape(stored_shape(of.type, "the address of", e.where));
}

void Inference::at(Expression& e)
{
    Expression& of = e.operands[0];
    if (waits(of))
        return;
    const Span where = e.where;
    if (of.kind == Kind::memory && of.type.is(Shape::Kind::array)) {
        e = memory(Expression(std::move(of.operands[0])), of.type.shape->of, where);
        return;
    }
    if (of.type.kind != ValueKind::integer)
        fail(of.where, "this is no pointer");
    if (is_pointer(of) && !of.type.shape->of)
        fail(of.where, "a pointer to void leads to nothing that has a type");
    const ShapePtr shape = is_pointer(of) ? of.type.shape->of : integer_shape(8, false);
    e = memory(std::move(of), shape, where);
}

} // namespace fastsdt::engine
