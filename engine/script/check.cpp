// SPDX-License-Identifier: BSD-2-Clause
// Gives maps their kinds and expressions their types, the way bpftrace 0.17 infers them (src/ast/passes/
// semantic_analyser.cpp), and refuses scripts that make no sense.
#include "base/arch.h"
#include "script/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace fastsdt::engine {
namespace {

constexpr int64_t most_buckets = 1000; ///< of lhist: SemanticAnalyser::visit(Call&)

// Types of an expression, from its leaves. The types of variables are known.
Type type_of(const Expression& e, const std::vector<Variable>& variables)
{
    switch (e.kind) {
    case Expression::Kind::text: return Type::string;
    case Expression::Kind::value:
        return e.value == Value::str_arg || e.value == Value::comm  ? Type::string
            : e.value == Value::probe || e.value == Value::function ? Type::probe
            : e.value == Value::stack                               ? Type::stack
                                                                    : Type::integer;
    case Expression::Kind::variable: return variables[e.variable].type;
    case Expression::Kind::operation:
        return e.op == Operator::select ? type_of(e.operands[1], variables) : Type::integer;
    case Expression::Kind::number:
    case Expression::Kind::map: break;
    }
    return Type::integer;
}

bool is_tid(const Expression& e)
{
    return e.kind == Expression::Kind::value && e.value == Value::tid;
}

MapKind assigned_kind(Type value)
{
    return value == Type::string ? MapKind::string : value == Type::probe ? MapKind::probe : MapKind::integer;
}

std::string_view name(Type type)
{
    switch (type) {
    case Type::integer: return "an integer";
    case Type::string: return "a string";
    case Type::stack: return "a stack";
    case Type::probe: break;
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
    case MapKind::string: return "a string";
    case MapKind::probe: break;
    }
    return "a probe's name";
}

class Checker {
public:
    explicit Checker(Draft draft) : script_(std::move(draft.script)), updates_(std::move(draft.updates)) {}

    Script run()
    {
        each([this](Clause& clause, Statement& statement) { set_variable(clause, statement); });
        each([this](Clause& clause, Statement& statement) {
            settle_kind(clause, statement, updates_[statement.number]);
        });
        each([this](Clause& clause, Statement& statement) { check_statement(clause, statement); });
        for (Clause& clause : script_.clauses)
            if (clause.filter) {
                read(clause, *clause.filter);
                want_integer(*clause.filter, "a filter is an integer: 0 leaves the hit out");
            }
        for (size_t map = 0; map < script_.maps.size(); ++map)
            defined(map, script_.maps[map].where);
        add_up();
        infer_signs();
        for (size_t map = 0; map < script_.maps.size(); ++map)
            find_thread_key(map);
        each([this](Clause&, Statement& statement) { check_removal(statement); });
        return std::move(script_);
    }

private:
    [[noreturn]] static void fail(Span where, const std::string& what) { throw ScriptError(where, what); }
    [[noreturn]] static void kernel_only(Span where, const std::string& what) { throw ScriptError(where, what, true); }

    template <class Visit> void each(const Visit& visit)
    {
        for (Clause& clause : script_.clauses)
            each_statement(clause.actions, [&](Statement& statement) { visit(clause, statement); });
    }

    static void want_integer(const Expression& e, const std::string& sentence)
    {
        if (e.type != Type::integer)
            fail(e.where, sentence);
    }

    // The first value in the text says which type a variable has.
    void set_variable(Clause& clause, Statement& statement)
    {
        if (statement.kind != Statement::Kind::set)
            return;
        Variable& variable = clause.variables[statement.variable];
        const Type type = type_of(*statement.value, clause.variables);
        if (!sets_first(statement, variable) && variable.type != type)
            fail(statement.where,
                 fmt::format("{} is {} before, and cannot be {} too", variable.name, name(variable.type), name(type)));
        variable.type = type;
    }

    static bool sets_first(const Statement& statement, const Variable& variable)
    {
        return statement.where.start == variable.where.start;
    }

    // What is only counted up and down, and no site reads, is a sum of all threads and processes: no hit is lost.
    void add_up()
    {
        std::vector<bool> other(script_.maps.size()), added(script_.maps.size());
        each([&](Clause&, Statement& statement) {
            using Kind = Statement::Kind;
            if (statement.kind == Kind::add)
                added[statement.map] = true;
            if (statement.kind == Kind::update || statement.kind == Kind::assign || statement.kind == Kind::remove)
                other[statement.map] = true;
        });
        for (size_t i = 0; i < script_.maps.size(); ++i) {
            Map& map = script_.maps[i];
            other[i] = other[i] || map.read;
            map.adds = added[i] && other[i];
            map.only_adds = map.adds;
            if (added[i] && !other[i])
                map.kind = MapKind::sum;
        }
        each([&](Clause&, Statement& statement) {
            if (statement.kind == Statement::Kind::assign)
                script_.maps[statement.map].only_adds = false;
            if (statement.kind == Statement::Kind::add && !other[statement.map])
                statement.kind = Statement::Kind::update;
        });
    }

    void defined(size_t map, Span where) const
    {
        if (map >= settled_.size() || !settled_[map])
            fail(where, fmt::format("{} is never assigned anything", script_.maps[map].name));
    }

    void settle_kind(const Clause& clause, Statement& statement, Update& update)
    {
        settled_.resize(script_.maps.size());
        const bool changes = statement.kind == Statement::Kind::update;
        if (!changes && statement.kind != Statement::Kind::assign && statement.kind != Statement::Kind::add)
            return;
        Map& map = script_.maps[statement.map];
        if (!changes && type_of(*statement.value, clause.variables) == Type::stack)
            kernel_only(statement.value->where, "a stack is a key or is printed here, and no map is assigned it");
        const MapKind kind = changes ? update.kind : assigned_kind(type_of(*statement.value, clause.variables));
        if (statement.kind == Statement::Kind::add && kind != MapKind::integer)
            fail(statement.where, "only integers are added");
        if (settled_[statement.map] && map.kind != kind)
            fail(statement.where,
                 fmt::format("{} is {} elsewhere, and cannot be {} too", map.name, name(map.kind), name(kind)));
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
        if ((high - low) / step > most_buckets)
            fail(update.arguments[3].where, fmt::format("more than {} buckets: a larger step is wanted", most_buckets));
        map.low = low;
        map.high = high;
        map.step = step;
    }

    void check_statement(Clause& clause, Statement& statement)
    {
        using Kind = Statement::Kind;
        if (statement.kind == Kind::time || statement.kind == Kind::exit)
            return;
        if (statement.kind == Kind::printf)
            return check_printf(clause, statement);
        if (statement.kind == Kind::set || statement.kind == Kind::branch) {
            read(clause, *statement.value);
            if (statement.kind == Kind::branch)
                want_integer(*statement.value, "a condition is an integer: 0 is false");
            return;
        }
        defined(statement.map, statement.where);
        if (statement.kind == Kind::print || statement.kind == Kind::clear)
            return;
        keys(clause, statement.map, statement.keys, statement.where);
        if (!statement.value)
            return;
        read(clause, *statement.value);
        if (statement.kind == Kind::update)
            want_integer(*statement.value,
                         fmt::format("{} takes integers, and this is {}", name(script_.maps[statement.map].kind),
                                     name(statement.value->type)));
    }

    void check_printf(Clause& clause, Statement& statement)
    {
        size_t strings = 0;
        for (size_t i = 0; i < statement.values.size(); ++i) {
            Expression& value = statement.values[i];
            read(clause, value);
            strings += value.type == Type::string;
            if (statement.is_value)
                continue;
            const char conversion = statement.format[i].conversion;
            if ((conversion == 's') == (value.type == Type::integer))
                fail(value.where,
                     fmt::format("%{} prints {}, and this is {}", conversion,
                                 conversion == 's' ? "a string" : "an integer", name(value.type)));
        }
        if (clause.has_sites() && strings > most_event_strings)
            kernel_only(statement.where,
                        fmt::format("printf() has {} strings, which take more of the stack of each hit than there may "
                                    "be; {} are the most",
                                    strings, most_event_strings));
    }

    void keys(Clause& clause, size_t index, std::vector<Expression>& keys, Span where)
    {
        Map& map = script_.maps[index];
        std::vector<Type> types;
        for (Expression& key : keys) {
            read(clause, key);
            types.push_back(key.type);
        }
        keyed_.resize(script_.maps.size());
        mentions_.resize(script_.maps.size());
        if (!keyed_[index])
            map.keys = types;
        keyed_[index] = true;
        std::vector<bool> threads;
        for (const Expression& key : keys)
            threads.push_back(is_tid(key));
        mentions_[index].push_back(threads);
        if (types.size() != map.keys.size())
            fail(where,
                 fmt::format("{} has {} elsewhere, and {} here", map.name, count_keys(map.keys.size()),
                             count_keys(types.size())));
        size_t bytes = 0; // of the stack, at each hit
        for (size_t i = 0; i < types.size(); ++i)
            if ((bytes += types[i] == Type::string ? string_size : sizeof(int64_t)) > most_key_bytes)
                kernel_only(
                    keys[i].where,
                    fmt::format(
                        "the keys of {} up to this one take {} bytes of the stack of each hit; {} are the most, "
                        "which {} strings take",
                        map.name, bytes, most_key_bytes, most_key_bytes / string_size));
        for (size_t i = 0; i < types.size(); ++i)
            if (types[i] != map.keys[i])
                fail(keys[i].where,
                     fmt::format("this key of {} is {} elsewhere, and {} here", map.name, name(map.keys[i]),
                                 name(types[i])));
    }

    static std::string count_keys(size_t count)
    {
        return count == 0 ? "no keys" : count == 1 ? "1 key" : fmt::format("{} keys", count);
    }

    // Types of an expression, from its leaves.
    void read(Clause& clause, Expression& e)
    {
        switch (e.kind) {
        case Expression::Kind::number: e.is_signed = true; return;
        case Expression::Kind::text:
            e.type = Type::string;
            if (e.text.size() >= string_size)
                fail(e.where, fmt::format("a string has at most {} bytes", string_size - 1));
            return;
        case Expression::Kind::value:
            value(clause, e);
            for (Expression& address : e.operands) {
                read(clause, address);
                want_integer(address, "str() wants an address");
            }
            return;
        case Expression::Kind::variable: e.type = clause.variables[e.variable].type; return;
        case Expression::Kind::map: {
            defined(e.map, e.where);
            Map& map = script_.maps[e.map];
            if (map.kind == MapKind::string || map.kind == MapKind::probe)
                kernel_only(
                    e.where,
                    fmt::format("{} holds {}, and only maps of integers are read here", map.name, name(map.kind)));
            const bool is_sum = map.kind == MapKind::count || map.kind == MapKind::sum;
            if (map.kind != MapKind::integer && (clause.has_sites() || !is_sum))
                kernel_only(e.where,
                            fmt::format("{} is {}, and only what was assigned is read here", map.name, name(map.kind)));
            map.read = map.read || clause.has_sites();
            keys(clause, e.map, e.operands, e.where);
            return;
        }
        case Expression::Kind::operation: break;
        }
        for (Expression& operand : e.operands)
            read(clause, operand);
        const bool compares = e.op == Operator::equal || e.op == Operator::not_equal;
        if (compares && e.operands[0].type == Type::string && e.operands[1].type == Type::string)
            return;
        for (size_t i = 0; i < e.operands.size(); ++i) {
            const Expression& operand = e.operands[i];
            if (e.op == Operator::select && i > 0) {
                if (operand.type != e.operands[1].type)
                    fail(operand.where,
                         fmt::format("this is {}, and the other value of \"?\" is {}", name(operand.type),
                                     name(e.operands[1].type)));
                e.type = operand.type;
                if (e.type == Type::probe || e.type == Type::stack)
                    kernel_only(e.where,
                                "\"?\" between names of probes or stacks is not in this subset of bpftrace's language");
            } else if (operand.type != Type::integer) {
                kernel_only(operand.where,
                            fmt::format("this is {}, and only integers are calculated with here, and strings compared "
                                        "with strings by == and !=",
                                        name(operand.type)));
            }
        }
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
            e.type = Type::string;
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
            if (e.argument >= register_arguments(own_arch))
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
            e.type = Type::probe;
            return;
        case Value::probe:
        case Value::tid:
        case Value::pid:
        case Value::comm:
        case Value::stack:
            if (!clause.has_sites())
                kernel_only(e.where, "it belongs to probes of programs here");
            e.type = type_of(e, clause.variables);
            return;
        case Value::nsecs:
        case Value::elapsed: return;
        }
    }

    bool sign(const Clause& clause, Expression& e)
    {
        for (Expression& operand : e.operands)
            sign(clause, operand);
        switch (e.kind) {
        case Expression::Kind::map: e.is_signed = script_.maps[e.map].is_signed; break;
        case Expression::Kind::variable: e.is_signed = clause.variables[e.variable].is_signed; break;
        case Expression::Kind::operation:
            if (e.sign || e.op == Operator::select) {
                e.is_signed = e.sign ? *e.sign : e.operands[1].is_signed && e.operands[2].is_signed;
                break;
            }
            e.is_signed = e.operands[0].is_signed;
            if (e.operands.size() == 2 && e.op != Operator::shift_left && e.op != Operator::shift_right)
                e.is_signed = e.is_signed && e.operands[1].is_signed;
            break;
        default: break;
        }
        return e.is_signed;
    }

    // To bpftrace minima, maxima and averages are always signed, whatever the sign of the recorded values.
    static bool holds_signed(MapKind kind, bool value_signed)
    {
        switch (kind) {
        case MapKind::min:
        case MapKind::max:
        case MapKind::avg:
        case MapKind::stats: return true;
        case MapKind::sum:
        case MapKind::integer: return value_signed;
        default: return false;
        }
    }

    // A map may be assigned the value of another map, and that one the value of a third: each round settles one more
    // map of such a chain. Of several assignments to a map the first in the text counts.
    void infer_signs()
    {
        for (size_t round = 0; round <= script_.maps.size(); ++round) {
            bool changed = false;
            std::vector<bool> seen(script_.maps.size());
            each([&](Clause& clause, Statement& statement) {
                each_expression(statement, [&](Expression& e) { sign(clause, e); });
                if (!statement.value)
                    return;
                const bool value_signed = statement.value->is_signed;
                if (statement.kind == Statement::Kind::set) {
                    if (Variable& variable = clause.variables[statement.variable]; sets_first(statement, variable))
                        variable.is_signed = value_signed;
                    return;
                }
                if (statement.kind == Statement::Kind::branch || seen[statement.map])
                    return;
                seen[statement.map] = true;
                Map& map = script_.maps[statement.map];
                const bool is_signed = holds_signed(map.kind, value_signed);
                changed = changed || map.is_signed != is_signed;
                map.is_signed = is_signed;
            });
            if (!changed)
                break;
        }
        for (Clause& clause : script_.clauses)
            if (clause.filter)
                sign(clause, *clause.filter);
    }

    void find_thread_key(size_t index)
    {
        Map& map = script_.maps[index];
        for (size_t key = 0; key < map.keys.size() && !map.tid_key; ++key)
            if (std::all_of(mentions_[index].begin(), mentions_[index].end(),
                            [&](const std::vector<bool>& threads) { return threads[key]; }))
                map.tid_key = key;
    }

    void check_removal(const Statement& statement) const
    {
        if (statement.kind != Statement::Kind::remove)
            return;
        const Map& map = script_.maps[statement.map];
        if (!is_assigned(map.kind) && !map.tid_key)
            kernel_only(
                statement.where,
                fmt::format(
                    "{} is {} of all threads, whose parts cannot be deleted in one step; use clear() in an interval",
                    map.name, name(map.kind)));
    }

    Script script_;
    std::vector<Update> updates_; // by Statement::number
    std::vector<bool> settled_, keyed_;
    std::vector<std::vector<std::vector<bool>>> mentions_; // by map, mention and key: whether it is tid
};

} // namespace

Script check(Draft draft)
{
    return Checker(std::move(draft)).run();
}

} // namespace fastsdt::engine
