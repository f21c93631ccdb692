// SPDX-License-Identifier: BSD-2-Clause
// Types and shapes of expressions, and what they make of members, elements and casts: addresses to read at, and parts of bytes.
// A map may be read before the text assigns it. So all expressions are gone through until nothing more becomes known.
#include "base/arch.h"
#include "arch/args.h"
#include "script/parser.h"
#include "script/passes/nodes.h"
#include "script/passes/passed.h"
#include "script/passes/shaped.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace fastsdt::engine {
namespace {

using Kind = Expression::Kind;

constexpr size_t most_buffer = 64; ///< bytes of buf(): bpftrace's default too

class Inference {
public:
    Inference(Draft& draft, DebugTypes* debug, bool compares_to_boolean)
        : draft_(draft), script_(draft.script), debug_(debug), compares_to_boolean_(compares_to_boolean)
    {
        known_.resize(script_.maps.size());
    }

    void run()
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

private:
    void statements(std::vector<Statement>& all)
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
    void settle(Statement& statement)
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
            statement.value = address_of(Operator::multiply, std::move(*statement.value),
                                         number_of(int64_t(size_at(map.type.shape, statement.where)), statement.where),
                                         statement.where);
        if (assigns && known_[statement.map])
            mix(map.type.shape, statement.value->type.shape);
        if (statement.kind == Is::remove || known_[statement.map])
            return;
        if (assigns && depends(*statement.value)) {
            ++unknown_;
            return;
        }
        known_[statement.map] = true;
        if (!assigns)
            map.type.is_signed = holds_signed(draft_.updates[statement.number].kind, statement);
        if (assigns)
            map.type = statement.value->type;
    }

    // for ($kv : @map)
    void entry(const Statement& statement)
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
    static ShapePtr stored_shape(const ValueType& type, std::string_view what, Span where)
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
    void order_like(Expression& e, const ShapePtr& shape)
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
    bool depends(const Expression& e) const
    {
        return (e.kind == Kind::map && !known_[e.map]) || waits_for_map(e)
            || std::any_of(e.operands.begin(), e.operands.end(), [this](const Expression& o) { return depends(o); });
    }

    // What a loop and a tuple that read the aggregation see; check() settles the sign for all else.
    bool holds_signed(MapKind kind, const Statement& statement) const
    {
        const std::vector<Expression>& arguments = draft_.updates[statement.number].arguments;
        return kind == MapKind::min || kind == MapKind::max || kind == MapKind::avg || kind == MapKind::stats
            || (kind == MapKind::sum && !arguments.empty() && arguments[0].type.is_signed);
    }

    bool waits_for_map(const Expression& e) const
    {
        return e.kind == Kind::variable && clause_->variables[e.variable].is_entry
            && !clause_->variables[e.variable].type.shape;
    }

    // One tuple is all keys, where a map has as many elsewhere.
    static void spread(const Map& map, std::vector<Expression>& keys)
    {
        const ShapePtr tuple = keys.size() == 1 ? keys[0].type.shape : nullptr;
        if (!tuple || tuple->kind != Shape::Kind::tuple || map.keys.size() < 2
            || tuple->members.size() != map.keys.size())
            return;
        const Expression whole = std::move(keys[0]);
        keys.clear();
        for (size_t i = 0; i < tuple->members.size(); ++i)
            keys.push_back(whole.kind == Kind::tuple ? whole.operands[i]
                                                     : element_of(whole, tuple->members[i], whole.where));
    }

    static void keys(Map& map, std::vector<Expression>& keys)
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
    static void mix(ShapePtr& shape, const ShapePtr& other)
    {
        const bool has_words =
            shape && (shape->kind == Shape::Kind::enumeration || shape->kind == Shape::Kind::boolean);
        if (has_words && (!other || other->kind != shape->kind || other->name != shape->name))
            shape = integer_shape(8, true);
    }

    static bool is_true_or_false(Operator op)
    {
        return compares(op) || op == Operator::logical_or || op == Operator::logical_and || op == Operator::logical_not;
    }

    // As a whole: a string of Go is its text.
    void use(Expression& e)
    {
        resolve(e);
        if (is_go_string(e.type.shape))
            e = text_of_go(std::move(e));
    }

    void resolve(Expression& e)
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

    // offsetof()
    void offset(Expression& e)
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

    void value(Expression& e)
    {
        switch (e.value) {
        case Value::str_arg:
            e.type.kind = ValueKind::string;
            if (!e.text.empty() && of_function()) { // str(args.NAME)
                e.operands.push_back(made(Kind::value, e.where, [&](Expression& argument) {
                    argument.value = Value::arg;
                    argument.text = std::exchange(e.text, {});
                }));
                use(e.operands.back());
                if (e.operands.back().type.kind == ValueKind::string)
                    e = Expression(std::move(e.operands.back()));
            }
            return;
        case Value::comm: e.type.kind = ValueKind::string; return;
        case Value::probe: e.type.kind = clause_->has_sites() ? ValueKind::probe : ValueKind::string; return;
        case Value::function: e.type.kind = ValueKind::probe; return;
        case Value::stack: e.type.kind = ValueKind::stack; return;
        case Value::child:
        case Value::node: e.type.is_signed = true; return;
        case Value::symbol:
            if (!e.type.shape)
                e.type.shape = pointer_shape(variable_shape(e));
            return;
        case Value::reg: {
            const auto number = register_of(e.text);
            if (!number)
                kernel_only(e.where, fmt::format("\"{}\" is no register that a program has", e.text));
            e.argument = *number;
            return;
        }
        case Value::arg:
            if (e.real && !e.type.shape)
                make_real(e, e.real);
            else if (!e.text.empty() && of_function())
                named_argument(e);
            return;
        case Value::retval: { // as the function's declaration has it
            const auto known = e.real || e.type.shape ? std::nullopt : known_result(e.where);
            const ShapePtr shape = known ? known->shape : nullptr;
            if (shape && shape->kind == Shape::Kind::real)
                make_real(e, shape->size);
            else if (shape && !shape->is_number())
                result_of(*known, e);
            else if (shape && known->of_go && shape->is_integer()) {
                e.type.shape = integer_shape(8, false); // a register's other bits are anything
                e = to_size(std::move(e), shape);
            } else if (e.real && !e.type.shape)
                make_real(e, e.real);
            return;
        }
        default: return;
        }
    }

    // nullptr: it is not known.
    const DebugTypes::Signature* signature(const Probe& probe)
    {
        if (!debug_)
            return nullptr;
        const auto [found, fresh] = signatures_.try_emplace(&probe);
        if (fresh)
            found->second = debug_->signature(probe);
        return found->second ? &*found->second : nullptr;
    }

    // As all functions of the clause declare it. Empty: nobody knows; integers may differ.
    std::optional<DebugTypes::Value> known_result(Span where)
    {
        std::optional<DebugTypes::Value> found;
        const auto is_integer = [](const std::optional<DebugTypes::Value>& one) {
            return !one || !one->shape || one->shape->is_number();
        };
        for (size_t i = 0; i < clause_->probes.size(); ++i) {
            const Probe& probe = clause_->probes[i];
            const auto* const signature = probe.kind == Probe::Kind::exit ? this->signature(probe) : nullptr;
            const auto own = signature ? std::optional(signature->result) : std::nullopt;
            if (i == 0)
                found = own;
            else if (!(is_integer(found) && is_integer(own))
                     && !(found && own && found->by_reference == own->by_reference
                          && is_same(found->shape, own->shape)))
                kernel_only(where,
                            fmt::format("{} and {} have results of different types: a clause for each of them",
                                        clause_->probes[0].text, probe.text));
        }
        return found;
    }

    // Of Go: nobody else reads it either.
    static std::string why_no_result(const DebugTypes::Value& result)
    {
        if (!result.shape)
            return fmt::format("the type of the result {} is not known here", result.type);
        const std::string name = result_on_stack(result, own_arch);
        return fmt::format(
            "the result{}{} is on the stack, where it is not read: Go passes arrays and what is larger than "
            "its registers there, and retval can have only results that are all in registers",
            name.empty() ? "" : " ", name);
    }

    // Of a function of Go whose declaration is not known nobody knows more.
    void want_declaration(const Probe& probe, Span where) const
    {
        if (const std::string why = debug_ ? debug_->why_undeclared(probe) : std::string(); !why.empty())
            fail(where, why);
    }

    // A structure. One that is too large for registers is at the address that the caller has given, which is the result then on x86-64.
    void result_of(const DebugTypes::Value& result, Expression& e)
    {
        const Passed where = returned(result, own_arch);
        const bool has_address = where.kind == Passed::Kind::reference && own_arch == Arch::x86_64;
        if (where.kind == Passed::Kind::registers) {
            e = assembled(where.words, result.shape, e.where, result.of_go ? Words::result_of_go : Words::result);
        } else if (result.of_go) {
            fail(e.where, why_no_result(result));
        } else if (has_address) {
            e.type.shape = integer_shape(8, false);
            e = memory(std::move(e), result.shape, e.where);
        }
    }

    static void make_real(Expression& e, size_t size)
    {
        e.real = unsigned(size);
        e.type.kind = ValueKind::shown;
        e.type.shape = real_shape(size);
    }

    bool of_function() const { return !clause_->probes.empty() && clause_->probes[0].kind == Probe::Kind::entry; }

    const Probe* probe() const
    {
        return clause_->has_sites() && !clause_->probes.empty() ? &clause_->probes[0] : nullptr;
    }

    ShapePtr variable_shape(const Expression& e) const
    {
        const ShapePtr found = debug_ && probe() ? debug_->variable(*probe(), e.text) : nullptr;
        return found ? found : integer_shape(8, false);
    }

    // An argument of that name of the probe's function, and where it is.
    std::pair<DebugTypes::Parameter, Passed> parameter(const Probe& probe, const Expression& e)
    {
        const DebugTypes::Signature* const signature = this->signature(probe);
        if (!signature)
            want_declaration(probe, e.where);
        if (!signature)
            kernel_only(e.where,
                        fmt::format("{} has no debug information that tells the arguments' names: arg0 is the first",
                                    probe.text));
        const auto found = std::find_if(signature->parameters.begin(), signature->parameters.end(),
                                        [&](const DebugTypes::Parameter& p) { return p.name == e.text; });
        if (found == signature->parameters.end()) {
            std::string names;
            for (const DebugTypes::Parameter& each : signature->parameters)
                names += (names.empty() ? "" : ", ") + each.name;
            fail(e.where,
                 fmt::format("{} has no argument named {}; {}", probe.text, e.text,
                             names.empty() ? "it has none" : "its arguments are " + names));
        }
        return {*found, passed(*signature, own_arch)[size_t(found - signature->parameters.begin())]};
    }

    // args.NAME of a function: the register or the place on the stack that the ABI gives it.
    void named_argument(Expression& e)
    {
        const auto [found, where] = parameter(clause_->probes[0], e);
        const ShapePtr& shape = found.shape;
        for (size_t i = 1; i < clause_->probes.size(); ++i)
            if (const auto [other, place] = parameter(clause_->probes[i], e);
                place != where || !is_same(shape, other.shape))
                kernel_only(
                    e.where,
                    fmt::format("{} has {} in another place or of another type than {}: a clause for each of them",
                                clause_->probes[i].text, e.text, clause_->probes[0].text));
        const Span at = e.where;
        const bool is_record = shape && !shape->is_number() && shape->kind != Shape::Kind::real;
        const auto from = [&](const Passed::Word& word) {
            return made(Kind::value, at, [&](Expression& argument) {
                argument.value = Value::arg;
                argument.argument = word.index;
                argument.is_declared = true;
            });
        };
        switch (where.kind) {
        case Passed::Kind::unknown:
            if (found.of_go)
                fail(
                    at,
                    fmt::format("where {} is passed is not known: this is a generic method, or a type before it is not "
                                "known; arg0 is the first register, and methods of generic types are passed their "
                                "types too",
                                e.text));
            kernel_only(at,
                        fmt::format("where {} is passed is not known here, by its type {} or one before it", e.text,
                                    found.type));
        case Passed::Kind::reference: e = memory(from(where.words[0]), shape, at); return;
        case Passed::Kind::memory:
            if (is_record || found.of_go) {
                e = memory(plus(stack_pointer(at), stack_before_arguments + where.offset), shape, at);
                return;
            }
            e = from({.index = unsigned(where.offset / 8)});
            e.on_stack = true;
            if (shape->kind == Shape::Kind::real)
                return make_real(e, shape->size);
            break;
        case Passed::Kind::registers:
            if (is_record) {
                e = assembled(where.words, shape, at);
                return;
            }
            e = from(where.words[0]);
            if (shape->kind == Shape::Kind::real)
                return make_real(e, shape->size);
            break;
        }
        e = shape->is_integer() ? to_size(std::move(e), shape) : with_shape(std::move(e), shape);
    }

    // Where the first argument on the stack is, at a function's first instruction.
    static constexpr size_t stack_before_arguments = own_arch == Arch::x86_64 ? 8 : 0;
    void operation(Expression& e)
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
    static std::optional<int64_t> literal(const Expression& e)
    {
        if (e.kind == Kind::operation && e.op == Operator::negate && e.operands[0].kind == Kind::number
            && e.operands[0].type.kind == ValueKind::integer)
            return -e.operands[0].number;
        return e.kind == Kind::number && e.type.kind == ValueKind::integer ? std::optional(e.number) : std::nullopt;
    }

    size_t size_at(const ShapePtr& pointer, Span where)
    {
        return pointer->of ? std::max<size_t>(complete(pointer->of, where)->size, 1) : 1;
    }

    ShapePtr complete(const ShapePtr& shape, Span where)
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
        kernel_only(
            where,
            fmt::format("{} is not declared in the script{}", shape->name,
                        probe() ? fmt::format(", and no debug information of {} tells it", probe()->file) : ""));
    }

    Expression memory(Expression address, const ShapePtr& shape, Span where)
    {
        return taken(Kind::memory, std::move(address), complete(shape, where), where);
    }

    // Of several results of a function of Go.
    static std::string no_result(const Shape& results, const std::string& name)
    {
        std::string names;
        for (const Shape::Member& each : results.members)
            names += (names.empty() ? "" : ", ") + each.name;
        return fmt::format("there is no result {}; the results are {}", name, names);
    }

    struct Found {
        const Shape::Member* member = nullptr;
        size_t offset = 0;
    };
    static Found find(const Shape& record, const std::string& name)
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
    bool waits(const Expression& e)
    {
        const Expression* of = &e;
        while (of->kind != Kind::map && !of->operands.empty()
               && (of->kind == Kind::member || of->kind == Kind::part || of->kind == Kind::element
                   || of->kind == Kind::at || of->kind == Kind::step))
            of = &of->operands[0];
        if (!waits_for_map(*of) && (of->kind != Kind::map || known_[of->map]))
            return false;
        ++unknown_;
        return true;
    }

    void member(Expression& e)
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
        if ((!known || known->kind != Shape::Kind::record) && of.kind == Kind::value && of.value == Value::retval
            && probe() && !signature(*probe()))
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

    void of_tuple(Expression& e)
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

    void element(Expression& e)
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
            && (of.type.shape->kind == Shape::Kind::array || of.type.shape->kind == Shape::Kind::text)
            && of.type.shape->of;
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
            e = memory(address_of(Operator::add, std::move(address),
                                  number_of(index.number * int64_t(shape->size), where), where),
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
    static Expression at_index(Expression of, Expression index, const ShapePtr& shape, size_t count, Span where)
    {
        if (of.kind != Kind::variable || kind_of(*shape) != ValueKind::integer)
            kernel_only(index.where,
                        "an index is a number here, but of a variable with numbers and of an array in memory");
        return made(Kind::indexed, where, [&](Expression& e) {
            e.operands = {std::move(of), std::move(index)};
            e.number = int64_t(count);
            e.type = {ValueKind::integer, shape, shape->is_signed};
        });
    }

    // &$x
    void address(Expression& e)
    {
        if (waits(e.operands[0]))
            return;
        const Variable& of = clause_->variables[e.operands[0].variable];
        e.type.shape = pointer_shape(stored_shape(of.type, "the address of", e.where));
    }

    void at(Expression& e)
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

    void cast(Expression& e)
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
            return as(network({number_of(4, where), as_number(of, integer_shape(4, false), where), number_of(0, where)},
                              where));
        if (shape->kind == Shape::Kind::network)
            return as(network({number_of(16, where), std::move(of)}, where));
        of.type.shape = plain_shape(shape->kind, size);
        of.type.kind = ValueKind::bytes;
        as(Expression(std::move(of)));
    }

    // (double)retval and (double)arg0 of a usdt probe: the result or the argument that is a floating-point number. (float)x0: the register's lower half.
    Expression to_real(Expression of, const ShapePtr& shape, Span where)
    {
        const bool is_of_usdt = clause_->probes.empty() || clause_->probes[0].kind == Probe::Kind::usdt;
        const bool is_own = of.kind == Kind::value
            && (of.value == Value::retval || (of.value == Value::arg && (of.real || is_of_usdt)));
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

    // args: all of a function's, or of a probe's that says their names.
    void arguments(Expression& e)
    {
        const DebugTypes::Signature* const known = of_function() ? signature(clause_->probes[0]) : nullptr;
        if (!known)
            kernel_only(e.where,
                        "args is of functions here, whose debug information tells their arguments' names; args.NAME is "
                        "one of a usdt probe");
        std::vector<std::string> names;
        for (const DebugTypes::Parameter& each : known->parameters) {
            Expression argument;
            argument.kind = Kind::value;
            argument.value = Value::arg;
            argument.text = each.name;
            argument.where = e.where;
            named_argument(argument);
            names.push_back(each.name);
            e.operands.push_back(std::move(argument));
        }
        if (names.empty())
            fail(e.where, "the function has no arguments");
        e.type.shape = tuple_shape(std::vector<ShapePtr>(names.size(), integer_shape(8, true)), names);
    }

    void tuple(Expression& e)
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
    void buffer(Expression& e)
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

    Draft& draft_;
    Script& script_;
    DebugTypes* const debug_;
    const bool compares_to_boolean_;
    Clause* clause_ = nullptr;
    std::map<const Probe*, std::optional<DebugTypes::Signature>> signatures_; // that were asked for
    std::vector<bool> known_;                                                 // maps that something assigns
    std::vector<bool> set_;                                                   // variables of the clause
    size_t unknown_ = 0;
};

} // namespace

void infer(Draft& draft, DebugTypes* debug, bool compares_to_boolean)
{
    Inference(draft, debug, compares_to_boolean).run();
}

} // namespace fastsdt::engine
