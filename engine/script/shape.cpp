// SPDX-License-Identifier: BSD-2-Clause
#include "script/shape.h"

#include "base/addresses.h"

#include <algorithm>
#include <utility>

namespace fastsdt::engine {

bool is_same(const ShapePtr& one, const ShapePtr& other)
{
    if (!one || !other)
        return one == other;
    const auto is_same_member = [](const Shape::Member& a, const Shape::Member& b) {
        return a.name == b.name && a.offset == b.offset && a.first_bit == b.first_bit && a.bits == b.bits
            && is_same(a.shape, b.shape);
    };
    return one->kind == other->kind && one->size == other->size && one->is_signed == other->is_signed
        && one->count == other->count && one->name == other->name && is_same(one->of, other->of)
        && std::equal(one->members.begin(), one->members.end(), other->members.begin(), other->members.end(),
                      is_same_member);
}

ShapePtr integer_shape(size_t size, bool is_signed)
{
    return std::make_shared<const Shape>(Shape{.size = size, .is_signed = is_signed});
}

ShapePtr real_shape(size_t size)
{
    return plain_shape(Shape::Kind::real, size);
}

ShapePtr bool_shape()
{
    static const ShapePtr shape = std::make_shared<const Shape>(Shape{.kind = Shape::Kind::boolean, .size = 1});
    return shape;
}

ShapePtr text_shape(size_t size)
{
    return std::make_shared<const Shape>(Shape{.kind = Shape::Kind::text, .size = string_size, .count = size});
}

ShapePtr pointer_shape(ShapePtr of)
{
    return std::make_shared<const Shape>(Shape{.kind = Shape::Kind::pointer, .of = std::move(of)});
}

ShapePtr array_shape(ShapePtr of, size_t count)
{
    const size_t size = of->size * count;
    const bool is_text = of->kind == Shape::Kind::integer && of->name == "char";
    return std::make_shared<const Shape>(Shape{
        .kind = is_text ? Shape::Kind::text : Shape::Kind::array, .size = size, .count = count, .of = std::move(of)});
}

ShapePtr plain_shape(Shape::Kind kind, size_t size, std::string name)
{
    return std::make_shared<const Shape>(Shape{.kind = kind, .size = size, .name = std::move(name)});
}

ShapePtr tuple_shape(const std::vector<ShapePtr>& elements, const std::vector<std::string>& names)
{
    Shape tuple{.kind = names.empty() ? Shape::Kind::tuple : Shape::Kind::record, .size = 0};
    for (size_t i = 0; i < elements.size(); ++i) {
        tuple.members.push_back(
            {.name = names.empty() ? std::string() : names[i], .offset = tuple.size, .shape = elements[i]});
        tuple.size += elements[i]->is_number() ? 8 : up_to(elements[i]->size, 8);
    }
    return std::make_shared<const Shape>(std::move(tuple));
}

size_t alignment_of(const Shape& shape)
{
    switch (shape.kind) {
    case Shape::Kind::array: return alignment_of(*shape.of);
    case Shape::Kind::text:
    case Shape::Kind::mac: return 1;
    case Shape::Kind::record:
    case Shape::Kind::tuple: {
        if (shape.is_packed)
            return 1;
        size_t most = 1;
        for (const Shape::Member& member : shape.members)
            most = std::max(most, alignment_of(*member.shape));
        return most;
    }
    default: return std::clamp<size_t>(shape.size, 1, 8);
    }
}

size_t size_in_c(const Shape& shape)
{
    if (shape.kind == Shape::Kind::text && !shape.of && shape.count != 0)
        return shape.count;
    if (shape.kind != Shape::Kind::tuple)
        return shape.size;
    size_t size = 0;
    for (const Shape::Member& member : shape.members)
        size = up_to(size, alignment_of(*member.shape)) + size_in_c(*member.shape);
    return up_to(size, alignment_of(shape));
}

void RecordBuilder::add(std::string name, const ShapePtr& shape)
{
    const size_t alignment = alignment_of(*shape);
    alignment_ = std::max(alignment_, alignment);
    const size_t offset = is_union_ ? 0 : up_to(bits_, alignment * 8) / 8;
    bits_ = std::max(bits_, (offset + shape->size) * 8);
    shape_.members.push_back({.name = std::move(name), .offset = offset, .shape = shape});
}

// As the System V ABI lays bit fields out: none crosses a border of its type.
void RecordBuilder::add_bits(std::string name, const ShapePtr& shape, unsigned bits)
{
    const size_t unit = shape->size * 8;
    size_t first = is_union_ ? 0 : bits_;
    if (bits == 0 || first / unit != (first + bits - 1) / unit)
        first = up_to(first, unit);
    bits_ = std::max(bits_, first + bits);
    if (name.empty())
        return;
    alignment_ = std::max(alignment_, alignment_of(*shape));
    shape_.members.push_back(
        {.name = std::move(name), .offset = first / 8, .shape = shape, .first_bit = unsigned(first % 8), .bits = bits});
}

ShapePtr RecordBuilder::done()
{
    Shape made = shape_;
    made.size = up_to((bits_ + 7) / 8, alignment_);
    return std::make_shared<const Shape>(std::move(made));
}

// Bit fields are one behind the other, whatever their types are.
ShapePtr RecordBuilder::packed() const
{
    Shape made = shape_;
    made.is_packed = true;
    size_t at = 0, end = 0; // bits
    for (Shape::Member& member : made.members) {
        at = is_union_ ? 0 : member.bits ? at : up_to(at, 8);
        member.offset = at / 8;
        member.first_bit = unsigned(at % 8);
        at += member.bits ? member.bits : member.shape->size * 8;
        end = std::max(end, at);
    }
    made.size = (end + 7) / 8;
    return std::make_shared<const Shape>(std::move(made));
}

bool is_go_string(const ShapePtr& shape)
{
    return shape && shape->kind == Shape::Kind::record && shape->name == "string" && shape->size == 16
        && shape->members.size() == 2 && shape->members[0].offset == 0 && shape->members[1].offset == 8;
}

} // namespace fastsdt::engine
