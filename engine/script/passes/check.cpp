// SPDX-License-Identifier: BSD-2-Clause
// Gives maps their kinds and expressions their types, the way bpftrace 0.17 infers them (src/ast/passes/
// semantic_analyser.cpp), and refuses scripts that make no sense.
#include "base/arch.h"
#include "script/format.h"
#include "script/parser.h"
#include "script/passes/signs.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <functional>

namespace fastsdt::engine {
namespace {

constexpr int64_t most_buckets = 1000; ///< of lhist: SemanticAnalyser::visit(Call&)
/// ScriptError::since
constexpr unsigned len_since = 20, reads_since = 21, avg_reads_since = 22, has_key_since = 22;

bool is_tid(const Expression& e)
{
    return e.kind == Expression::Kind::value && e.value == Value::tid;
}

MapKind assigned_kind(const ValueType& type)
{
    return type.is_wide() ? MapKind::string : type.kind == ValueKind::integer ? MapKind::integer : MapKind::probe;
}

std::string_view name(const ValueType& type)
{
    if (type.is_real())
        return "a floating-point number";
    switch (type.kind) {
    case ValueKind::integer: return "an integer";
    case ValueKind::string: return "a string";
    case ValueKind::stack: return "a stack";
    case ValueKind::bytes: return "a structure, an array, a tuple or a buffer";
    case ValueKind::shown: return "a text that the tool makes of a number";
    case ValueKind::probe: break;
    }
    return "a probe's name";
}

std::string_view name(MapKind kind)
{
    switch (kind) {
    case MapKind::count: return "a count()";
    case MapKind::sum: return "a sum()";
    case MapKind::min: return "a min()";
    case MapKind::max: return "a max()";
    case MapKind::avg: return "an avg()";
    case MapKind::stats: return "a stats()";
    case MapKind::hist: return "a hist()";
    case MapKind::lhist: return "an lhist()";
    case MapKind::integer: return "an integer";
    case MapKind::string:
    case MapKind::probe: break;
    }
    return "";
}

std::string_view name(const Map& map)
{
    return is_assigned(map.kind) ? name(map.type) : name(map.kind);
}

// Bytes of one mean what bytes of the other mean, but for signs and names of types.
bool is_alike(const ShapePtr& a, const ShapePtr& b)
{
    if (a->is_number() && b->is_number())
        return a->size == b->size;
    if (a->kind != b->kind || (a->size + 7) / 8 != (b->size + 7) / 8 || a->members.size() != b->members.size())
        return false;
    for (size_t i = 0; i < a->members.size(); ++i) {
        const Shape::Member &one = a->members[i], &other = b->members[i];
        const bool both_numbers = one.shape->is_number() && other.shape->is_number(); // of 8 bytes in a tuple
        if (one.offset != other.offset || one.name != other.name
            || !((a->kind == Shape::Kind::tuple && both_numbers) || is_alike(one.shape, other.shape)))
            return false;
    }
    return true;
}

// Of values of one kind: what one holds is not what the other says.
bool differs(const ValueType& a, const ValueType& b)
{
    if (a.kind == ValueKind::shown)
        return a.shape->kind != b.shape->kind || a.shape->size != b.shape->size;
    return a.kind == ValueKind::bytes && !is_alike(a.shape, b.shape);
}

class Checker {
public:
    explicit Checker(Draft draft) : script_(std::move(draft.script)), updates_(std::move(draft.updates)) {}

    Script run()
    {
        each_with_clause(script_, [](Clause& clause, Statement& statement) { set_variable(clause, statement); });
        settled_.resize(script_.maps.size());
        each_with_clause(script_,
                         [this](Clause&, Statement& statement) { settle_kind(statement, updates_[statement.number]); });
        for (const Clause& clause : script_.clauses)
            if (clause.filter)
                settle_steps(*clause.filter);
        each_with_clause(script_, [this](Clause& clause, Statement& statement) { check_statement(clause, statement); });
        for (Clause& clause : script_.clauses)
            if (clause.filter) {
                read(clause, *clause.filter);
                want_integer(*clause.filter, "a filter is an integer: 0 leaves the hit out");
            }
        for (size_t map = 0; map < script_.maps.size(); ++map)
            defined(map, script_.maps[map].where);
        for (const auto& [map, where] : counted_)
            if (script_.maps[map].keys.empty())
                fail(where, "call to len() expects a map with explicit keys (non-scalar map)");
        add_up();
        infer_signs(script_);
        for (size_t map = 0; map < script_.maps.size(); ++map)
            find_thread_key(map);
        each_with_clause(script_, [this](Clause& clause, Statement& statement) { check_change(clause, statement); });
        return std::move(script_);
    }

private:
    static void want_integer(const Expression& e, const std::string& sentence)
    {
        if (e.type.kind != ValueKind::integer)
            fail(e.where, sentence);
    }

    // The first value in the text says which type a variable has.
    static void set_variable(Clause& clause, Statement& statement)
    {
        if (statement.kind != Statement::Kind::set)
            return;
        const Variable& variable = clause.variables[statement.variable];
        const ValueType& type = statement.value->type;
        if (variable.type.kind != type.kind)
            fail(statement.where,
                 fmt::format("{} is {} before, and cannot be {} too", variable.name, name(variable.type), name(type)));
        if (differs(variable.type, type))
            fail(statement.where, fmt::format("{} is of another kind or size before", variable.name));
    }

    // What sites only count up and down, and do not read, is a sum of all threads and processes: no hit is lost.
    void add_up()
    {
        std::vector<bool> other(script_.maps.size()), added(script_.maps.size()), assigned(script_.maps.size());
        each_with_clause(script_, [&](Clause& clause, Statement& statement) {
            using Kind = Statement::Kind;
            if (statement.kind == Kind::add)
                added[statement.map] = true;
            if (statement.kind == Kind::update || statement.kind == Kind::assign || statement.kind == Kind::remove)
                other[statement.map] = true;
            if (statement.kind == Kind::assign && clause.has_sites())
                assigned[statement.map] = true;
        });
        for (size_t i = 0; i < script_.maps.size(); ++i) {
            Map& map = script_.maps[i];
            other[i] = other[i] || map.read || map.of_tool;
            map.adds = added[i] && other[i];
            map.only_adds = map.adds && !assigned[i] && !(map.given && map.read) && !map.of_tool;
            if (added[i] && !other[i])
                map.kind = MapKind::sum;
        }
        each_with_clause(script_, [&](Clause&, Statement& statement) {
            if (statement.kind == Statement::Kind::add && !other[statement.map])
                statement.kind = Statement::Kind::update;
        });
    }

    void defined(size_t map, Span where) const
    {
        if (map >= settled_.size() || !settled_[map])
            fail(where, fmt::format("{} is never assigned anything", script_.maps[map].name));
    }

    // ++@x where a value is wanted.
    void settle_steps(const Expression& e)
    {
        for (const Expression& operand : e.operands)
            settle_steps(operand);
        if (e.kind != Expression::Kind::step || e.operands[0].kind != Expression::Kind::map
            || settled_[e.operands[0].map])
            return;
        settled_[e.operands[0].map] = true;
        script_.maps[e.operands[0].map].kind = MapKind::integer;
    }

    void settle_kind(Statement& statement, Update& update)
    {
        each_expression(statement, [this](const Expression& e) { settle_steps(e); });
        const bool changes = statement.kind == Statement::Kind::update;
        if (!changes && statement.kind != Statement::Kind::assign && statement.kind != Statement::Kind::add)
            return;
        Map& map = script_.maps[statement.map];
        if (map.series && !update.is_series)
            refuse_series(map, statement.where);
        const MapKind kind = changes ? update.kind : assigned_kind(statement.value->type);
        if (statement.kind == Statement::Kind::add && kind != MapKind::integer)
            fail(statement.where, "only integers are added");
        const bool other_type = !changes && map.type.kind != statement.value->type.kind;
        if (settled_[statement.map] && (map.kind != kind || other_type))
            fail(statement.where,
                 fmt::format("{} is {} elsewhere, and cannot be {} too", map.name, name(map),
                             changes ? name(kind) : name(statement.value->type)));
        if (!changes && kind != MapKind::integer && differs(map.type, statement.value->type))
            fail(statement.where, fmt::format("{} is of another kind or size elsewhere", map.name));
        const bool first = !settled_[statement.map];
        settled_[statement.map] = true;
        map.kind = kind;
        if (kind == MapKind::lhist)
            settle_range(map, update, first);
        if (changes && !update.arguments.empty())
            statement.value = update.arguments[0]; // an unrolled statement has it too
    }

    // Not below 0: bpftrace 0.17 refuses that.
    static int64_t literal(const Expression& e)
    {
        if (e.kind == Expression::Kind::number && e.number >= 0)
            return e.number;
        fail(e.where, "lhist(VALUE, MIN, MAX, STEP) wants numbers from 0 up for the last three");
    }

    static void settle_range(Map& map, const Update& update, bool first)
    {
        const int64_t low = literal(update.arguments[1]), high = literal(update.arguments[2]),
                      step = literal(update.arguments[3]);
        if (!first && (map.low != low || map.high != high || map.step != step))
            fail(update.function, fmt::format("{} has another range elsewhere", map.name));
        // bpftrace keeps these numbers in 32 bits.
        constexpr int64_t most = INT32_MAX;
        for (size_t i = 1; i < 4; ++i)
            if (const int64_t value = literal(update.arguments[i]); value > most)
                fail(update.arguments[i].where, "the number does not fit into 32 bits");
        if (step <= 0)
            fail(update.arguments[3].where, "the step is above 0");
        if (low >= high)
            fail(update.arguments[2].where, "MAX has to be above MIN");
        if (!map.fine_bits && (high - low) / step > most_buckets)
            fail(update.arguments[3].where, fmt::format("more than {} buckets: a larger step is wanted", most_buckets));
        map.low = low;
        map.high = high;
        map.step = step;
    }

    void check_statement(Clause& clause, Statement& statement)
    {
        using Kind = Statement::Kind;
        switch (statement.kind) {
        case Kind::exit:
            for (Expression& value : statement.values) {
                read(clause, value);
                want_integer(value, "exit() takes an integer");
            }
            return;
        case Kind::signal:
            read(clause, *statement.value);
            want_integer(*statement.value, "signal() takes a name or a number");
            if (!clause.has_sites())
                fail(statement.where, "signal() belongs to probes of programs: whose hit it is gets the signal");
            if (const Expression& which = *statement.value;
                which.kind == Expression::Kind::number && (which.number < 1 || which.number >= NSIG))
                fail(which.where, fmt::format("there is no signal {}", which.number));
            return;
        case Kind::time:
        case Kind::dump:
        case Kind::leave:
        case Kind::next:
        case Kind::end: return;
        case Kind::join:
            for (Expression& value : statement.values)
                read(clause, value);
            return;
        case Kind::cat:
        case Kind::system:
        case Kind::printf: return check_printf(clause, statement);
        case Kind::set:
        case Kind::value:
        case Kind::branch:
        case Kind::loop:
            read(clause, *statement.value);
            if (statement.kind == Kind::branch || statement.kind == Kind::loop)
                want_integer(*statement.value, "a condition is an integer: 0 is false");
            return;
        default: break;
        }
        defined(statement.map, statement.where);
        Map& map = script_.maps[statement.map];
        if (map.series && (statement.kind == Kind::each || statement.kind == Kind::remove))
            refuse_series(map, statement.where);
        if (map.series && statement.kind == Kind::print && (statement.top || statement.div))
            fail(statement.where, fmt::format("{} is a tseries(), which has no top and nothing to divide", map.name));
        if (statement.kind == Kind::each)
            return;
        map.of_tool = map.of_tool && !clause.has_sites();
        if (statement.kind == Kind::print || statement.kind == Kind::clear || statement.kind == Kind::zero)
            return;
        map.given = map.given || (!clause.has_sites() && statement.kind != Kind::remove);
        keys(clause, statement.map, statement.keys, statement.where);
        if (!statement.value)
            return;
        read(clause, *statement.value);
        if (statement.kind == Kind::update)
            want_integer(*statement.value,
                         fmt::format("{} takes integers, and this is {}", name(script_.maps[statement.map].kind),
                                     name(statement.value->type)));
    }

    // What somebody meant who takes an address for the string at it.
    std::string string_at(const Expression& e) const
    {
        const bool may_be = e.kind == Expression::Kind::variable || e.kind == Expression::Kind::map
            || e.type.is(Shape::Kind::pointer)
            || (e.kind == Expression::Kind::value
                && (e.value == Value::arg || e.value == Value::retval || e.value == Value::reg));
        return e.type.kind != ValueKind::integer || !may_be
            ? ""
            : fmt::format("; str({}) is the string it points to", script_.source.substr(e.where.start, e.where.length));
    }

    // What a conversion prints.
    static bool prints(char conversion, const Expression& value)
    {
        using Is = Shape::Kind;
        if (value.type.kind == ValueKind::bytes)
            return value.type.shape->kind == Is::buffer
                ? conversion == 'r' || conversion == 's'
                : (value.type.shape->kind == Is::network || value.type.shape->kind == Is::mac) && conversion == 's';
        if (value.type.is(Is::enumeration) && conversion == 's')
            return true;
        if (is_for_reals(conversion) || value.type.is_real())
            return value.type.is_real() && (is_for_reals(conversion) || conversion == 's');
        return (conversion == 's') == (value.type.kind != ValueKind::integer) && conversion != 'r';
    }

    void check_printf(Clause& clause, Statement& statement)
    {
        size_t bytes = 0;
        for (size_t i = 0; i < statement.values.size(); ++i) {
            Expression& value = statement.values[i];
            read(clause, value);
            bytes += value.type.is_wide() ? value.type.size() : 0;
            if (statement.is_value)
                continue;
            const char conversion = statement.format[i].conversion;
            if (!prints(conversion, value))
                fail(value.where,
                     fmt::format("%{} prints {}, and this is {}{}", conversion,
                                 is_for_reals(conversion) ? "a floating-point number"
                                     : conversion == 's'  ? "a string"
                                     : conversion == 'r'  ? "a buffer"
                                                          : "an integer",
                                 name(value.type),
                                 conversion == 's'        ? string_at(value)
                                     : prints('s', value) ? "; %s prints it"
                                                          : ""));
        }
        if (clause.has_sites() && bytes > most_event_bytes)
            kernel_only(
                statement.where,
                fmt::format("the strings and structures of printf() take {} bytes of the stack of each hit; {} are "
                            "the most, which {} strings take",
                            bytes, most_event_bytes, most_event_bytes / string_size));
    }

    void keys(Clause& clause, size_t index, std::vector<Expression>& keys, Span where)
    {
        Map& map = script_.maps[index];
        for (Expression& key : keys)
            read(clause, key);
        keyed_.resize(script_.maps.size());
        mentions_.resize(script_.maps.size());
        if (!keyed_[index]) {
            map.keys.resize(keys.size());
            for (size_t i = 0; i < keys.size(); ++i)
                map.keys[i].kind = keys[i].type.kind;
        }
        keyed_[index] = true;
        std::vector<bool> threads;
        for (const Expression& key : keys)
            threads.push_back(is_tid(key) && clause.has_sites());
        mentions_[index].push_back(threads);
        if (keys.size() != map.keys.size())
            fail(where,
                 fmt::format("{} has {} elsewhere, and {} here", map.name, count_keys(map.keys.size()),
                             count_keys(keys.size())));
        size_t bytes = 0; // of the stack, at each hit
        for (size_t i = 0; i < keys.size(); ++i)
            if ((bytes += keys[i].type.size()) > most_key_bytes)
                kernel_only(
                    keys[i].where,
                    fmt::format(
                        "the keys of {} up to this one take {} bytes of the stack of each hit; {} are the most, "
                        "which {} strings take",
                        map.name, bytes, most_key_bytes, most_key_bytes / string_size));
        for (size_t i = 0; i < keys.size(); ++i)
            if (const ValueType& type = keys[i].type; type.kind != map.keys[i].kind)
                fail(keys[i].where,
                     fmt::format("this key of {} is {} elsewhere, and {} here", map.name, name(map.keys[i]),
                                 name(type)));
            else if (differs(map.keys[i], type))
                fail(keys[i].where, fmt::format("this key of {} is of another kind or size elsewhere", map.name));
    }

    static std::string count_keys(size_t count)
    {
        return count == 0 ? "no keys" : count == 1 ? "1 key" : fmt::format("{} keys", count);
    }

    [[noreturn]] static void refuse_to_read(const Map& map, Span where)
    {
        const std::string what = is_one_number(map.kind)
            ? fmt::format("{} is {} of all threads, which a probe cannot read; BEGIN, END and interval can", map.name,
                          name(map))
            : fmt::format("{0} is {1}, which is read as a whole: print({0}) in END or interval", map.name, name(map));
        kernel_only(where, what, map.kind == MapKind::avg ? avg_reads_since : reads_since);
    }

    [[noreturn]] static void refuse_series(const Map& map, Span where)
    {
        fail(where, fmt::format("{} is a tseries(): print(), clear() and zero() take it, and nothing else", map.name));
    }

    // What an expression may be made of. Its types are known.
    void read(Clause& clause, Expression& e)
    {
        using Kind = Expression::Kind;
        if ((e.kind == Kind::map || e.kind == Kind::has || e.kind == Kind::entries) && script_.maps[e.map].series)
            refuse_series(script_.maps[e.map], e.where);
        if (e.type.kind == ValueKind::bytes && e.type.shape->size > most_key_bytes)
            kernel_only(e.where,
                        fmt::format("{} bytes are kept or printed as a whole at most, and this has {}; its "
                                    "members can be read",
                                    most_key_bytes, e.type.shape->size));
        switch (e.kind) {
        case Kind::number:
        case Kind::variable: return;
        case Kind::text:
            if (e.type.kind == ValueKind::string && e.text.size() >= string_size)
                fail(e.where, fmt::format("a string has at most {} bytes", string_size - 1));
            return;
        case Kind::value:
            value(clause, e);
            for (Expression& address : e.operands) {
                read(clause, address);
                want_integer(address, "str() wants an address, and a number for its length");
            }
            return;
        case Kind::map: read_map(clause, e); return;
        case Kind::has: read_has(clause, e); return;
        case Kind::entries:
            defined(e.map, e.where);
            counted_.emplace_back(e.map, e.where);
            if (clause.has_sites())
                kernel_only(e.where, "a probe cannot tell len(); BEGIN, END and interval can", len_since);
            return;
        case Kind::frames:
            read(clause, e.operands[0]);
            if (e.operands[0].type.kind != ValueKind::stack)
                fail(e.where, fmt::format("len() is of a map or a stack, and this is {}", name(e.operands[0].type)));
            return;
        case Kind::indexed:
            read(clause, e.operands[0]);
            read(clause, e.operands[1]);
            want_integer(e.operands[1], "an index is an integer");
            return;
        case Kind::address:
        case Kind::member:
        case Kind::element:
        case Kind::at:
        case Kind::cast:
        case Kind::size: // of a map that nothing assigns
        case Kind::memory:
        case Kind::part:
        case Kind::tuple:
        case Kind::buffer:
        case Kind::shown:
            for (Expression& operand : e.operands)
                read(clause, operand);
            if (e.kind == Kind::shown)
                want_integer(e.operands[0], "an integer is wanted here");
            return;
        case Kind::step:
            read(clause, e.operands[0]);
            want_integer(e.operands[0], "++ and -- are of integers");
            if (e.operands[0].kind == Kind::map) {
                if (clause.has_sites())
                    kernel_only(e.where, "++ and -- of a map are statements of their own at probes of programs");
                script_.maps[e.operands[0].map].given = true;
            }
            return;
        case Kind::operation: read_operation(clause, e); return;
        }
    }

    // A value of a map.
    void read_map(Clause& clause, Expression& e)
    {
        defined(e.map, e.where);
        Map& map = script_.maps[e.map];
        if (!is_assigned(map.kind) && (clause.has_sites() || !is_one_number(map.kind)))
            refuse_to_read(map, e.where);
        map.read = map.read || clause.has_sites();
        map.of_tool = map.of_tool && !clause.has_sites();
        keys(clause, e.map, e.operands, e.where);
    }

    // has_key().
    void read_has(Clause& clause, Expression& e)
    {
        defined(e.map, e.where);
        Map& map = script_.maps[e.map];
        if (clause.has_sites() && !is_assigned(map.kind))
            kernel_only(e.where,
                        fmt::format("{} is {} of all threads, whose keys a probe cannot tell; BEGIN, END and "
                                    "interval can",
                                    map.name, name(map)),
                        has_key_since);
        if (e.number != 0 && map.keys.empty() && keyed_.size() > e.map && keyed_[e.map])
            fail(e.where, "call to has_key() expects a map with explicit keys (non-scalar map)");
        map.read = map.read || clause.has_sites();
        map.asked = map.asked || clause.has_sites();
        map.of_tool = map.of_tool && !clause.has_sites();
        keys(clause, e.map, e.operands, e.where);
    }

    void read_operation(Clause& clause, Expression& e)
    {
        for (Expression& operand : e.operands)
            read(clause, operand);
        if (compares_alike(clause, e) || e.op == Operator::truncate)
            return;
        for (const Expression& operand : e.operands)
            if (operand.type.is_real())
                fail(operand.where,
                     "floating-point numbers are printed, kept, compared with others and cast to integers, (int64)x; "
                     "nothing is "
                     "calculated with them here");
        if (e.op == Operator::length) {
            if (e.operands[0].type.kind != ValueKind::string)
                fail(e.operands[0].where,
                     fmt::format("strlen() takes a string, and this is {}{}", name(e.operands[0].type),
                                 string_at(e.operands[0])));
            return;
        }
        for (size_t i = 0; i < e.operands.size(); ++i)
            if (e.op == Operator::select && i > 0)
                selected(e, e.operands[i]);
            else
                calculated_with(e.operands[i]);
    }

    // Whether it is a comparison of what is no integer, both sides alike.
    bool compares_alike(const Clause& clause, const Expression& e) const
    {
        if (e.operands.size() != 2)
            return false;
        const Expression &left = e.operands[0], &right = e.operands[1];
        const bool is_equality = e.op == Operator::equal || e.op == Operator::not_equal || e.op == Operator::contains;
        if (is_equality && left.type.kind == ValueKind::string && right.type.kind == ValueKind::string) {
            if (e.op == Operator::contains && clause.has_sites())
                kernel_only(
                    e.where,
                    fmt::format("{}() belongs to BEGIN, END and interval here", e.number ? "strstr" : "strcontains"));
            return true;
        }
        for (size_t i = 0; is_equality && i < 2; ++i)
            if (const Expression& operand = e.operands[i];
                operand.type.kind == ValueKind::integer && e.operands[1 - i].type.kind == ValueKind::string)
                fail(operand.where,
                     fmt::format("this is an integer, and what it is compared with is a string{}", string_at(operand)));
        if (is_equality && left.type.kind == ValueKind::bytes && right.type.kind == ValueKind::bytes
            && e.op != Operator::contains) {
            if (left.type.shape->kind != right.type.shape->kind)
                fail(e.where, "only arrays, structures and buffers of one kind are compared");
            return true;
        }
        return compares(e.op) && left.type.is_real() && right.type.is_real();
    }

    // One of the two values of "?".
    static void selected(const Expression& e, const Expression& operand)
    {
        const Expression& first = e.operands[1];
        if (operand.type.kind != first.type.kind)
            fail(operand.where,
                 fmt::format("this is {}, and the other value of \"?\" is {}", name(operand.type), name(first.type)));
        const bool is_bytes = e.type.kind == ValueKind::bytes && is_alike(operand.type.shape, first.type.shape);
        if (e.type.kind != ValueKind::integer && e.type.kind != ValueKind::string && !is_bytes)
            kernel_only(e.where,
                        "\"?\" is between integers, strings, or tuples and structures of one kind in this "
                        "subset of bpftrace's language");
    }

    void calculated_with(const Expression& operand) const
    {
        if (operand.kind == Expression::Kind::text && script_.source[operand.where.start] == '$')
            fail(operand.where,
                 fmt::format("parameter {0} is \"{1}\", and no number of 64 bits; str(${0}) is its text",
                             script_.source.substr(operand.where.start + 1, operand.where.length - 1), operand.text));
        if (operand.type.kind != ValueKind::integer)
            kernel_only(operand.where,
                        fmt::format("this is {}, and only integers are calculated with here, and strings compared "
                                    "with strings by == and !=",
                                    name(operand.type)));
    }

    void value(const Clause& clause, Expression& e) const
    {
        const auto only = [&](bool (*good)(Probe::Kind), std::string_view what) {
            for (const Probe& probe : clause.probes)
                if (!good(probe.kind))
                    fail(e.where, fmt::format("{}, and {} is none", what, probe.text));
        };
        switch (e.value) {
        case Value::str_arg:
            if (!e.operands.empty()) {
                if (!clause.has_sites())
                    kernel_only(e.where, "str() belongs to probes of programs here");
                return;
            }
            [[fallthrough]];
        case Value::arg:
            if (!e.text.empty()) {
                only([](Probe::Kind k) { return k == Probe::Kind::usdt; }, "args.NAME is an argument of a usdt probe");
                return;
            }
            if (e.on_stack) {
                only([](Probe::Kind k) { return k == Probe::Kind::entry; },
                     "arguments on the stack are those of a uprobe");
                return;
            }
            if (e.real) {
                only([](Probe::Kind k) { return k == Probe::Kind::usdt || k == Probe::Kind::entry; },
                     "floating-point arguments are those of a uprobe, x0 to x7, or of a usdt probe, (double)arg0");
                return;
            }
            if (e.argument >= register_arguments(own_arch) && !e.is_declared)
                only([](Probe::Kind k) { return k != Probe::Kind::entry; },
                     fmt::format("arg{} is of usdt probes (of a function it is sarg{})", e.argument,
                                 e.argument - register_arguments(own_arch)));
            only([](Probe::Kind k) { return k == Probe::Kind::usdt || k == Probe::Kind::entry; },
                 "arguments are those of a usdt probe or of a uprobe");
            return;
        case Value::retval:
            only([](Probe::Kind k) { return k == Probe::Kind::exit; }, "retval is the result at a uretprobe");
            return;
        case Value::function:
            only([](Probe::Kind k) { return k == Probe::Kind::entry || k == Probe::Kind::exit; },
                 "func is the name of a uprobe's or uretprobe's function");
            return;
        case Value::stack:
        case Value::reg:
            if (clause.has_samples() && (e.value == Value::stack || e.argument == at_site))
                return;
            [[fallthrough]];
        case Value::symbol:
        case Value::goroutine:
        case Value::cgroup:
        case Value::executor:
        case Value::depth:
            if (!clause.has_sites())
                kernel_only(e.where, "it belongs to probes of programs here");
            return;
        case Value::probe:
        case Value::tid:
        case Value::pid:
        case Value::comm:
        case Value::nsecs:
        case Value::elapsed:
        case Value::cpu:
        case Value::node:
        case Value::uid:
        case Value::gid:
        case Value::child:
        case Value::random:
        case Value::start: return;
        }
    }

    void find_thread_key(size_t index)
    {
        Map& map = script_.maps[index];
        for (size_t key = 0; key < map.keys.size() && !map.tid_key; ++key)
            if (std::all_of(mentions_[index].begin(), mentions_[index].end(),
                            [&](const std::vector<bool>& threads) { return threads[key]; }))
                map.tid_key = key;
    }

    void check_change(const Clause& clause, const Statement& statement) const
    {
        if (statement.kind == Statement::Kind::remove && clause.has_sites()) {
            const Map& map = script_.maps[statement.map];
            if (!is_assigned(map.kind) && !map.tid_key)
                kernel_only(statement.where,
                            fmt::format("{} is {} of all threads, whose parts cannot be deleted in one step; delete() "
                                        "it in an interval",
                                        map.name, name(map)));
        }
        if (clause.has_sites())
            return;
        each_expression(statement, [this](const Expression& e) { check_steps(e); });
        if (statement.kind == Statement::Kind::assign || statement.kind == Statement::Kind::add)
            want_assignable(statement.map, statement.where);
    }

    void check_steps(const Expression& e) const
    {
        if (e.kind == Expression::Kind::step && e.operands[0].kind == Expression::Kind::map)
            want_assignable(e.operands[0].map, e.where);
        for (const Expression& operand : e.operands)
            check_steps(operand);
    }

    // By the tool: entries of tables are made by the process's threads alone.
    void want_assignable(size_t index, Span where) const
    {
        const Map& map = script_.maps[index];
        if (!map.of_tool && !map.only_adds && (map.kind != MapKind::integer || !map.keys.empty()))
            kernel_only(
                where,
                fmt::format("{} is assigned or read at probes of programs; BEGIN, END and interval assign such a "
                            "map only if it holds one integer, without keys",
                            map.name));
    }

    Script script_;
    std::vector<Update> updates_;                  // by Statement::number
    std::vector<std::pair<size_t, Span>> counted_; // maps of len()
    std::vector<bool> settled_, keyed_;
    std::vector<std::vector<std::vector<bool>>> mentions_; // by map, mention and key: whether it is tid
};

} // namespace

Script check(Draft draft)
{
    return Checker(std::move(draft)).run();
}

} // namespace fastsdt::engine
