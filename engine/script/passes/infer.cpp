// SPDX-License-Identifier: BSD-2-Clause
// Types of statements, of maps and of what is put together.
#include "script/passes/inference.h"
#include "script/passes/signs.h"

#include <fmt/format.h>

#include <algorithm>

namespace fastsdt::engine {
namespace {

constexpr size_t most_buffer = 64; ///< bytes of buf(): bpftrace's default too

} // namespace

void Inference::run()
{
    size_t before = SIZE_MAX;
    do {
        if (unknown_ != 0)
            before = unknown_;
        unknown_ = 0;
        for (Clause& clause : script_.clauses) {
            clause_ = &clause;
            set_.assign(clause.variables.size(), false);
            if (clause.filter)
                resolve(*clause.filter);
            statements(clause.actions);
        }
    } while (unknown_ != 0 && unknown_ < before);
}

void Inference::statements(std::vector<Statement>& all)
{
    for (Statement& each : all) {
        each_expression(each, [this](Expression& e) { use(e); });
        for (Expression& argument : draft_.updates[each.number].arguments)
            use(argument);
        settle(each);
        statements(each.then);
        statements(each.otherwise);
    }
}

// What a statement says of its variable or map: the first in the text counts.
void Inference::settle(Statement& statement)
{
    using Is = Statement::Kind;
    if (statement.kind == Is::set) {
        Variable& variable = clause_->variables[statement.variable];
        order_like(*statement.value, variable.type.shape);
        if (!set_[statement.variable]) {
            set_[statement.variable] = true;
            variable.type = statement.value->type;
        } else if (variable.is_declared && variable.type.is_sized()
                   && !is_same(statement.value->type.shape, variable.type.shape)) {
            statement.value = to_size(*std::move(statement.value), variable.type.shape);
        }
        return;
    }
    if (statement.kind == Is::each)
        return entry(statement);
    const bool assigns = statement.kind == Is::assign || statement.kind == Is::add;
    if (!assigns && statement.kind != Is::update && statement.kind != Is::remove)
        return;
    Map& map = script_.maps[statement.map];
    keys(map, statement.keys);
    if (statement.kind == Is::add && known_[statement.map] && map.type.is(Shape::Kind::pointer)
        && !is_pointer(*statement.value))
        statement.value =
            address_of(Operator::multiply, std::move(*statement.value),
                       number_of(int64_t(size_at(map.type.shape, statement.where)), statement.where), statement.where);
    if (assigns && known_[statement.map])
        mix(map.type.shape, statement.value->type.shape);
    if (statement.kind == Is::remove || known_[statement.map])
        return;
    if (assigns && depends(*statement.value)) {
        ++unknown_;
        return;
    }
    known_[statement.map] = true;
    if (assigns) {
        map.type = statement.value->type;
        return;
    }
    // What a loop and a tuple that read the aggregation see; infer_signs() settles the sign for all else.
    const Update& update = draft_.updates[statement.number];
    map.type.is_signed = holds_signed(update.kind, !update.arguments.empty() && update.arguments[0].type.is_signed);
}

// for ($kv : @map)
void Inference::entry(const Statement& statement)
{
    const Map& map = script_.maps[statement.map];
    Variable& variable = clause_->variables[statement.variable];
    variable.type.kind = ValueKind::bytes;
    if (!known_[statement.map] || variable.type.shape) {
        unknown_ += !variable.type.shape;
        return;
    }
    if (map.keys.empty())
        fail(statement.where, fmt::format("{} has no keys: a loop is over a map with keys", map.name));
    std::vector<ShapePtr> keys;
    for (size_t i = 0; i < map.keys.size(); ++i)
        keys.push_back(stored_shape(map.keys[i], "a loop over", statement.where));
    const ShapePtr value = stored_shape(map.type, "a loop over", statement.where);
    variable.type.shape = tuple_shape({keys.size() == 1 ? keys[0] : tuple_shape(keys), value});
}

// As it is in a table, or a slot. @param what  is to be made of it
ShapePtr Inference::stored_shape(const ValueType& type, std::string_view what, Span where)
{
    if (type.kind == ValueKind::probe || type.has_name())
        kernel_only(where,
                    fmt::format("{} stacks and names of probes or functions is not in this subset of bpftrace's "
                                "language",
                                what));
    return type.kind == ValueKind::string ? plain_shape(Shape::Kind::text, string_size)
        : type.shape                      ? type.shape
                                          : integer_shape(8, type.is_signed);
}

// The members of a record in the order that they have elsewhere.
void Inference::order_like(Expression& e, const ShapePtr& shape)
{
    if (e.kind != Kind::tuple || !shape || shape->kind != Shape::Kind::record
        || e.type.shape->kind != Shape::Kind::record || shape->members.size() != e.type.shape->members.size())
        return;
    std::vector<Expression> ordered;
    for (const Shape::Member& member : shape->members)
        for (size_t i = 0; i < e.operands.size(); ++i)
            if (e.type.shape->members[i].name == member.name)
                ordered.push_back(e.operands[i]);
    if (ordered.size() != e.operands.size())
        return;
    e.operands = std::move(ordered);
    e.type.shape = shape; // for the names
    tuple(e);
}

// Its type is that of a map which is not known yet.
bool Inference::depends(const Expression& e) const
{
    return (e.kind == Kind::map && !known_[e.map]) || waits_for_map(e)
        || std::any_of(e.operands.begin(), e.operands.end(), [this](const Expression& o) { return depends(o); });
}

bool Inference::waits_for_map(const Expression& e) const
{
    return e.kind == Kind::variable && clause_->variables[e.variable].is_entry
        && !clause_->variables[e.variable].type.shape;
}

// One tuple is all keys, where a map has as many elsewhere.
void Inference::spread(const Map& map, std::vector<Expression>& keys)
{
    const ShapePtr tuple = keys.size() == 1 ? keys[0].type.shape : nullptr;
    if (!tuple || tuple->kind != Shape::Kind::tuple || map.keys.size() < 2 || tuple->members.size() != map.keys.size())
        return;
    const Expression whole = std::move(keys[0]);
    keys.clear();
    for (size_t i = 0; i < tuple->members.size(); ++i)
        keys.push_back(whole.kind == Kind::tuple ? whole.operands[i]
                                                 : element_of(whole, tuple->members[i], whole.where));
}

void Inference::keys(Map& map, std::vector<Expression>& keys)
{
    spread(map, keys);
    const bool is_first = map.keys.empty();
    if (is_first)
        for (const Expression& key : keys)
            map.keys.push_back({key.type.kind, key.type.shape, true});
    for (size_t i = 0; i < std::min(keys.size(), map.keys.size()); ++i) {
        const ShapePtr& shape = keys[i].type.shape;
        if (!map.keys[i].shape && (is_first || !shape || shape->kind != Shape::Kind::enumeration))
            map.keys[i].shape = shape;
        else
            mix(map.keys[i].shape, shape);
    }
}

// An enum's constants and other numbers together are numbers, and so are what is true or false and others.
void Inference::mix(ShapePtr& shape, const ShapePtr& other)
{
    const bool has_words = shape && (shape->kind == Shape::Kind::enumeration || shape->kind == Shape::Kind::boolean);
    if (has_words && (!other || other->kind != shape->kind || other->name != shape->name))
        shape = integer_shape(8, true);
}

bool Inference::is_true_or_false(Operator op)
{
    return compares(op) || op == Operator::logical_or || op == Operator::logical_and || op == Operator::logical_not;
}

// As a whole: a string of Go is its text.
void Inference::use(Expression& e)
{
    resolve(e);
    if (is_go_string(e.type.shape))
        e = text_of_go(std::move(e));
}

void Inference::resolve(Expression& e)
{
    const bool of_parts = e.kind == Kind::member || e.kind == Kind::part || e.kind == Kind::memory
        || e.kind == Kind::size || e.kind == Kind::cast;
    for (Expression& operand : e.operands)
        of_parts ? resolve(operand) : use(operand);
    if (e.kind == Kind::value && e.value == Value::str_arg && e.operands.size() == 1
        && e.operands[0].type.kind == ValueKind::string)
        e = Expression(std::move(e.operands[0])); // str() of such a text
    switch (e.kind) {
    case Kind::number: e.type.is_signed = !e.type.is(Shape::Kind::integer) || e.type.shape->is_signed; return;
    case Kind::text: e.type.kind = e.type.shape ? ValueKind::bytes : ValueKind::string; return;
    case Kind::value: return value(e);
    case Kind::variable: {
        const Variable& variable = clause_->variables[e.variable];
        e.type = variable.type;
        return;
    }
    case Kind::map: {
        Map& map = script_.maps[e.map];
        keys(map, e.operands);
        unknown_ += !known_[e.map];
        e.type = map.type;
        return;
    }
    case Kind::operation: return operation(e);
    case Kind::tuple: return tuple(e);
    case Kind::buffer: return buffer(e);
    case Kind::step:
        if (e.operands[0].kind == Kind::map && !known_[e.operands[0].map]) { // ++@x alone makes it a number
            known_[e.operands[0].map] = true;
            e.operands[0].type = script_.maps[e.operands[0].map].type = {ValueKind::integer, nullptr, true};
        }
        if (!e.type.shape && is_pointer(e.operands[0]))
            e.number *= int64_t(size_at(e.operands[0].type.shape, e.where));
        e.type.shape = e.operands[0].type.shape;
        e.type.is_signed = e.operands[0].type.is_signed;
        return;
    case Kind::member: return member(e);
    case Kind::element: return element(e);
    case Kind::at: return at(e);
    case Kind::cast: return cast(e);
    case Kind::size: {
        if (!e.text.empty())
            return offset(e);
        const ShapePtr shape = !e.operands.empty() ? shape_of(e.operands[0]) : e.type.shape;
        if (!shape)
            fail(e.where, "void has no size");
        e = number_of(int64_t(size_in_c(*complete(shape, e.where))), e.where);
        return;
    }
    case Kind::memory:
    case Kind::part:
    case Kind::entries:
    case Kind::frames:
    case Kind::indexed:
    case Kind::shown: return;
    case Kind::address: return address(e);
    case Kind::has: keys(script_.maps[e.map], e.operands); return;
    }
}

void Inference::operation(Expression& e)
{
    if (e.op == Operator::select) {
        e.type = e.operands[1].type;
        e.type.shape = e.operands[1].type.shape;
        e.type.is_signed = e.operands[1].type.is_signed && e.operands[2].type.is_signed;
        return;
    }
    if ((e.op == Operator::contains && e.number == 0)
        || (compares_to_boolean_ && is_true_or_false(e.op) && e.number == 0)) // strncmp() is no comparison
        e.type.shape = bool_shape();
    e.type.is_signed = e.sign.value_or(e.type.is_signed);
    if (e.op == Operator::length || e.op == Operator::contains)
        return;
    if (e.op == Operator::swap) {
        const ShapePtr& shape = e.operands[0].type.shape;
        e.number = shape && shape->is_integer() ? int64_t(shape->size) : 8;
        return;
    }
    if (!e.type.shape && (e.op == Operator::add || e.op == Operator::subtract)) {
        const bool left = is_pointer(e.operands[0]), right = is_pointer(e.operands[1]);
        if (left != right) {
            const ShapePtr shape = e.operands[left ? 0 : 1].type.shape;
            Expression& count = e.operands[left ? 1 : 0];
            count = address_of(Operator::multiply, std::move(count),
                               number_of(int64_t(size_at(shape, e.where)), e.where), e.where);
            e.type.shape = shape;
        }
    }
    if (compares(e.op))
        for (size_t i = 0; i < 2; ++i)
            if (const auto number = e.operands[1 - i].type.is_real() ? literal(e.operands[i]) : std::nullopt)
                e.operands[i] = real_of(double(*number), e.operands[i].where);
    e.type.is_signed = e.sign ? *e.sign : e.operands[0].type.is_signed;
    if (!e.sign && e.operands.size() == 2 && e.op != Operator::shift_left && e.op != Operator::shift_right)
        e.type.is_signed = e.type.is_signed && e.operands[1].type.is_signed;
}

// 2, -2
std::optional<int64_t> Inference::literal(const Expression& e)
{
    if (e.kind == Kind::operation && e.op == Operator::negate && e.operands[0].kind == Kind::number
        && e.operands[0].type.kind == ValueKind::integer)
        return -e.operands[0].number;
    return e.kind == Kind::number && e.type.kind == ValueKind::integer ? std::optional(e.number) : std::nullopt;
}

void Inference::tuple(Expression& e)
{
    if (e.type.is(Shape::Kind::network))
        return;
    if (e.operands.empty())
        arguments(e);
    std::vector<std::string> names; // of a record
    for (size_t i = 0; e.type.is(Shape::Kind::record) && i < e.type.shape->members.size(); ++i)
        names.push_back(e.type.shape->members[i].name);
    std::vector<ShapePtr> elements;
    for (const Expression& element : e.operands) {
        const bool is_text = element.type.kind == ValueKind::shown && !element.type.is_address();
        if (element.type.kind != ValueKind::integer && !element.type.is_wide() && !is_text)
            kernel_only(element.where, "elements of a tuple are integers, strings, arrays and structures here");
        elements.push_back(element_shape(element));
    }
    e.type.shape = tuple_shape(elements, names);
    e.type.kind = ValueKind::bytes;
}

// buf(): its length, and so many bytes.
void Inference::buffer(Expression& e)
{
    if (e.type.shape)
        return;
    const Expression* const length = e.operands.size() == 2 ? &e.operands[1] : nullptr;
    Expression& of = e.operands[0];
    const bool has_size = of.type.shape && !of.type.shape->is_number();
    if (!length && !has_size && of.kind != Kind::text)
        fail(e.where, "buf() of an address wants a length too: buf(arg0, 16)");
    const bool is_known = !length || length->kind == Kind::number;
    size_t bytes = length && is_known ? size_t(std::max<int64_t>(length->number, 0))
        : has_size                    ? of.type.shape->size
        : of.kind == Kind::text       ? of.text.size()
                                      : most_buffer;
    if (bytes > most_buffer)
        kernel_only(e.where, fmt::format("buf() has {} bytes at most here", most_buffer));
    e.type.kind = ValueKind::bytes;
    e.type.shape = plain_shape(Shape::Kind::buffer, 8 + bytes);
    if (of.kind == Kind::text) {
        if (!is_known)
            kernel_only(e.where, "the length of a text's buf() is a number here");
        std::string raw(8, '\0');
        raw[0] = char(bytes);
        raw += of.text;
        raw.resize(8 + bytes, '\0');
        Expression literal;
        literal.kind = Kind::text;
        literal.type.kind = ValueKind::bytes;
        literal.text = std::move(raw);
        literal.type.shape = e.type.shape;
        literal.where = e.where;
        e = std::move(literal);
        return;
    }
    if (of.kind == Kind::memory && of.type.kind != ValueKind::integer)
        of = Expression(std::move(of.operands[0]));
    if (of.type.kind != ValueKind::integer)
        kernel_only(e.where, "buf() takes an address, or an array at one, here");
    if (!length)
        e.operands.push_back(number_of(int64_t(bytes), e.where));
}

void infer(Draft& draft, DebugTypes* debug, bool compares_to_boolean)
{
    Inference(draft, debug, compares_to_boolean).run();
}

} // namespace fastsdt::engine
