// SPDX-License-Identifier: BSD-2-Clause
// From a clause as the checker leaves it to operations. Here stands in which order things happen.
#include "ir/flow.h"
#include "ir/reals.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace fastsdt::engine::ir {
namespace {

using Kind = Expression::Kind;

bool uses(const Expression& e, const std::function<bool(const Expression&)>& what)
{
    return what(e)
        || std::any_of(e.operands.begin(), e.operands.end(), [&](const Expression& o) { return uses(o, what); });
}

bool reads_map(const Expression& e)
{
    return uses(e, [](const Expression& part) { return part.kind == Kind::map || part.kind == Kind::has; });
}
bool steps(const Expression& e)
{
    return uses(e, [](const Expression& part) { return part.kind == Kind::step; });
}
bool is_clock(const Expression& e)
{
    return e.kind == Kind::value && (e.value == Value::nsecs || e.value == Value::elapsed);
}

class Lowering : Reals {
public:
    Lowering(const Script& script, const Clause& clause) : script_(script), clause_(clause) {}

    Program run()
    {
        program_.end = label();
        if (clause_.filter)
            branch(*clause_.filter, program_.end, false);
        program_.filter_end = program_.operations.size();
        for (const Variable& variable : clause_.variables)
            variables_.push_back(slot(variable.type.size(), variable.name, true));
        if (reads_clock_often()) {
            time_ = slot(8, "time", true);
            emit(Store{time_, ask(Value::nsecs)});
        }
        statements(clause_.actions);
        bind(program_.end);
        zero_what_is_read_first();
        return std::move(program_);
    }

private:
    // Two values of one clause shall not differ by the time that recording the first took, and reading the clock costs more than the rest.
    // What a loop reads it wants to see changing.
    bool reads_clock_often() const
    {
        size_t count = 0;
        bool loops = false;
        each_statement(clause_.actions, [&](const Statement& each) {
            loops = loops || each.kind == Statement::Kind::loop;
            each_expression(each, [&](const Expression& e) {
                uses(e, [&](const Expression& part) {
                    count += is_clock(part);
                    return false;
                });
            });
        });
        return count > 1 && !loops;
    }

    // A branch may leave out what a variable is assigned: then it is 0, or empty.
    void zero_what_is_read_first()
    {
        std::vector<Operation> zeros;
        for (const uint32_t each : read_before_written(program_))
            zeros.emplace_back(Zero{{each, 0, program_.slots[each].size}});
        program_.operations.insert(program_.operations.begin() + std::ptrdiff_t(program_.filter_end), zeros.begin(),
                                   zeros.end());
    }

    // ---- Values
    ValueId number(const Expression& e)
    {
        switch (e.kind) {
        case Kind::number: return constant(e.number);
        case Kind::variable: return load(variables_[e.variable]);
        case Kind::value: return own_value(e);
        case Kind::map: {
            const Operand at = key(e.map, e.operands);
            return define(Get{0, e.map, at});
        }
        case Kind::operation: return operation(e);
        case Kind::has: {
            const Operand at = key(e.map, e.operands);
            return define(Has{0, e.map, at});
        }
        case Kind::entries: return define(Entries{0, e.map});
        case Kind::indexed: return indexed(e);
        case Kind::address: return define(Address{0, variables_[e.operands[0].variable]});
        case Kind::frames: {
            const ValueId of = number(e.operands[0]);
            return define(Frames{0, of});
        }
        case Kind::memory: {
            const ValueId address = number(e.operands[0]);
            return define(ReadWord{0, address, e.type.shape->size, e.type.shape->is_signed});
        }
        case Kind::part: {
            const Place of = wide(e.operands[0]);
            return load(of.part(size_t(e.number), e.type.shape->size), e.type.shape->is_signed);
        }
        case Kind::shown: return number(e.operands[0]);
        case Kind::step: return step(e);
        default: throw std::logic_error("a text is no number");
        }
    }

    // The index is found once, and what is beyond the end is not read.
    ValueId indexed(const Expression& e)
    {
        const Place of = variables_[e.operands[0].variable], index = slot(8, "index");
        const Shape& shape = *e.type.shape;
        emit(Store{index, number(e.operands[1])});
        return either(
            compare(Operator::less, load(index), e.number),
            [&] {
                const ValueId start = define(Address{0, of});
                const ValueId at =
                    binary(Operator::add, start, with(Operator::multiply, load(index), int64_t(shape.size)));
                return define(ReadWord{0, at, shape.size, shape.is_signed});
            },
            [&] { return constant(0); });
    }

    ValueId own_value(const Expression& e)
    {
        switch (e.value) {
        case Value::arg: return define(Argument{0, e.argument, e.on_stack, e.text, e.is_declared, e.real});
        case Value::retval: return e.real ? define(Argument{0, e.argument, false, {}, false, e.real}) : ask(e.value);
        case Value::nsecs: return clock();
        case Value::elapsed: {
            const ValueId now = clock();
            return binary(Operator::subtract, now, ask(Value::start));
        }
        case Value::stack: return define(Stack{0, e.argument, e.unwinds});
        case Value::reg: return define(Register{0, e.argument});
        case Value::symbol: return define(Symbol{0, e.text});
        case Value::random: {
            // A stub makes it of the clock, which two of one hit may read at the same nanosecond.
            const ValueId made = ask(Value::random);
            constexpr uint32_t odd = 0x9e3779b9;
            const uint32_t own = odd * randoms_++;
            return own == 0 ? made : binary(Operator::bit_xor, made, constant(own));
        }
        default: return ask(e.value);
        }
    }

    ValueId clock() { return time_.is_none() ? ask(Value::nsecs) : load(time_); }

    ValueId operation(const Expression& e)
    {
        switch (e.op) {
        case Operator::logical_or:
        case Operator::logical_and: {
            const auto no = label(), done = label();
            const Place made = slot(8, "truth");
            branch(e, no, false);
            emit(Store{made, constant(1)});
            emit(Jump{done});
            bind(no);
            emit(Store{made, constant(0)});
            bind(done);
            return load(made);
        }
        case Operator::logical_not: {
            const ValueId of = number(e.operands[0]);
            return define(Compare{0, Operator::equal, false, of, constant(0)});
        }
        case Operator::select: {
            const Place made = slot(8, "choice");
            choose(
                e.operands[0], [&] { emit(Store{made, number(e.operands[1])}); },
                [&] { emit(Store{made, number(e.operands[2])}); });
            return load(made);
        }
        case Operator::negate:
        case Operator::bit_not: {
            const ValueId of = number(e.operands[0]);
            return define(Unary{0, e.op, of});
        }
        case Operator::swap: {
            const ValueId of = number(e.operands[0]);
            return define(Swap{0, of, size_t(e.number)});
        }
        case Operator::equal:
        case Operator::not_equal:
            if (e.operands[0].type.is_wide())
                return equal(e);
            break;
        case Operator::length: {
            const Place text = wide(e.operands[0]);
            return define(Length{0, text});
        }
        case Operator::contains: {
            const Place text = wide(e.operands[0]), part = wide(e.operands[1]);
            return define(Contains{0, text, part, e.number != 0});
        }
        case Operator::truncate: return truncated(number(e.operands[0]), size_t(e.number), e.type.is_signed);
        case Operator::add:
            if (e.operands[1].kind == Kind::number && e.operands[1].number == 0)
                return number(e.operands[0]);
            break;
        default: break;
        }
        const ValueId left = number(e.operands[0]), right = number(e.operands[1]);
        if (e.operands[0].type.is_real())
            return compare_reals(e, left, right);
        if (compares(e.op))
            return define(Compare{0, e.op, e.operands[0].type.is_signed && e.operands[1].type.is_signed, left, right});
        return binary(e.op, left, right);
    }

    // == and != of texts and bytes; strncmp() looks at so many bytes.
    ValueId equal(const Expression& e)
    {
        const Place left = wide(e.operands[0]), right = wide(e.operands[1]);
        size_t bytes = std::min(left.size, right.size);
        if (e.number > 0)
            bytes = std::min(bytes, size_t(e.number));
        for (const Expression& each : e.operands) // behind a text's end are zeros
            if (each.kind == Kind::text && each.type.kind == ValueKind::string)
                bytes = std::min(bytes, each.text.size() / 8 * 8 + 8);
        const ValueId is_equal = define(Equal{0, left, right, bytes});
        if (e.op == Operator::equal)
            return is_equal;
        return define(Compare{0, Operator::equal, false, is_equal, constant(0)});
    }

    // Of a variable; of a map in the tool only.
    ValueId step(const Expression& e)
    {
        const Expression& of = e.operands[0];
        if (of.kind == Kind::variable) {
            const Place place = variables_[of.variable];
            const ValueId before = load(place);
            emit(Store{place, binary(Operator::add, before, constant(e.number))});
            const ValueType& type = clause_.variables[of.variable].type;
            if (type.is_sized()) { // its lowest bytes
                const Place value = slot(8, "before");
                if (e.is_before)
                    emit(Store{value, before});
                emit(Store{place, load(place.part(0, type.shape->size), type.shape->is_signed)});
                return load(e.is_before ? value : place);
            }
            const ValueId after = load(place);
            return e.is_before ? binary(Operator::subtract, after, constant(e.number)) : after;
        }
        const Operand at = key(of.map, of.operands);
        const ValueId before = define(Get{0, of.map, at});
        const ValueId after = binary(Operator::add, before, constant(e.number));
        emit(Assign{of.map, at, {after}});
        return e.is_before ? before : after;
    }

    template <class Yes, class No> void choose(const Expression& condition, const Yes& yes, const No& no)
    {
        const auto otherwise = label(), done = label();
        branch(condition, otherwise, false);
        yes();
        emit(Jump{done});
        bind(otherwise);
        no();
        bind(done);
    }

    // Jumps if the truth of e is `when`.
    void branch(const Expression& e, LabelId to, bool when)
    {
        if (e.kind == Kind::operation) {
            const bool is_not = e.op == Operator::not_equal && e.operands[0].type.is_wide();
            if (e.op == Operator::logical_not)
                return branch(e.operands[0], to, !when);
            if (e.op == Operator::logical_and || e.op == Operator::logical_or) {
                // `and` is false, and `or` true, as soon as its left side is.
                const bool decides = e.op == Operator::logical_or;
                const auto past = label();
                branch(e.operands[0], when == decides ? to : past, decides);
                branch(e.operands[1], to, when);
                return bind(past);
            }
            if (is_not) {
                Expression same = e;
                same.op = Operator::equal;
                return branch(same, to, !when);
            }
        }
        emit(Branch{number(e), when, to});
    }

    // ---- Texts and bytes
    /// Where it is. Nothing is copied that is in a place already.
    Place wide(const Expression& e)
    {
        if (e.kind == Kind::variable)
            return variables_[e.variable];
        if (e.kind == Kind::text)
            return literal(e.text, e.type.size());
        const Place made = slot(e.type.size(), e.type.kind == ValueKind::string ? "text" : "bytes");
        wide(e, made);
        return made;
    }

    /// To a place: what does not fit is cut off, and zeros are behind what is shorter.
    void wide(const Expression& e, Place to)
    {
        const size_t size = e.type.size();
        if (e.kind == Kind::text || e.kind == Kind::variable)
            return emit(Copy{to, wide(e)});
        if (e.kind == Kind::operation)
            return choose(e.operands[0], [&] { wide(e.operands[1], to); }, [&] { wide(e.operands[2], to); });
        if (size > to.size) { // an array of char in a tuple has fewer bytes than a text
            const Place whole = slot(size, "whole");
            exactly(e, whole);
            return emit(Copy{to, whole});
        }
        exactly(e, to.part(0, size));
        if (size < to.size)
            emit(Zero{to.part(size, to.size - size)});
    }

    /// To a place of its size.
    void exactly(const Expression& e, Place to)
    {
        switch (e.kind) {
        case Kind::map: {
            const Operand at = key(e.map, e.operands);
            return emit(GetWide{to, e.map, at});
        }
        case Kind::memory: {
            const ValueId address = number(e.operands[0]);
            if (e.type.kind == ValueKind::bytes)
                return emit(ReadBytes{to, address, e.type.shape->size});
            emit(ReadText{to, address});
            if (e.type.shape->size < to.size)
                emit(Cut{to, constant(int64_t(e.type.shape->size))});
            return;
        }
        case Kind::part: {
            const Place of = wide(e.operands[0]);
            return emit(Copy{to, of.part(size_t(e.number), std::min(e.type.shape->size, to.size))});
        }
        case Kind::buffer: return buffer(e, to);
        case Kind::tuple:
            for (size_t i = 0; i < e.operands.size(); ++i) {
                const size_t at = e.type.shape->members[i].offset;
                const size_t end = i + 1 < e.operands.size() ? e.type.shape->members[i + 1].offset : e.type.shape->size;
                any(e.operands[i], to.part(at, end - at));
            }
            return;
        case Kind::value: break;
        default: throw std::logic_error("no text");
        }
        if (e.value != Value::str_arg)
            return emit(Name{to, e.value});
        const ValueId address =
            e.operands.empty() ? define(Argument{0, e.argument, e.on_stack, e.text}) : number(e.operands[0]);
        ValueId length = no_value;
        if (e.operands.size() > 1)
            length = e.operands[1].kind == Kind::number ? constant(std::max<int64_t>(e.operands[1].number, 0))
                                                        : number(e.operands[1]);
        emit(ReadText{to, address});
        if (length != no_value)
            emit(Cut{to, length});
    }

    // buf(): the length, and so many bytes.
    void buffer(const Expression& e, Place to)
    {
        const Expression& length = e.operands[1];
        const size_t most = e.type.shape->size - 8;
        const Place content = to.part(8, to.size - 8);
        const ValueId address = number(e.operands[0]);
        if (length.kind == Kind::number) {
            emit(ReadBytes{content, address, most});
            return emit(Store{to.part(0, 8), constant(int64_t(most))});
        }
        const Place wanted = to.part(0, 8);
        const auto fits = label();
        const ValueId given = number(length);
        emit(Store{wanted, given});
        const ValueId stored = load(wanted);
        emit(Branch{define(Compare{0, Operator::less_equal, false, stored, constant(int64_t(most))}), true, fits});
        emit(Store{wanted, constant(int64_t(most))});
        bind(fits);
        emit(ReadBytes{content, address, most});
        emit(Cut{content, load(wanted)});
    }

    void any(const Expression& e, Place to)
    {
        if (e.type.is_wide())
            return wide(e, to);
        emit(Store{to.part(0, 8), number(e)});
    }

    Operand operand(const Expression& e)
    {
        return e.type.is_wide() ? Operand{.place = wide(e)} : Operand{.value = number(e)};
    }

    // One key that is a number is a value. Others are put together in a slot: those that read a map first, since such a slot is there for
    // one look-up at a time.
    Operand key(size_t map, const std::vector<Expression>& keys)
    {
        if (keys.empty())
            return {};
        if (keys.size() == 1 && !keys[0].type.is_wide())
            return {.value = number(keys[0])};
        const Map& of = script_.maps[map];
        std::vector<Operand> first;
        for (size_t i = keys.size(); i-- > 0 && first.empty();)
            if (reads_map(keys[i]))
                for (size_t j = 0; j <= i; ++j)
                    first.push_back(operand(keys[j]));
        size_t size = 0;
        for (size_t i = 0; i < keys.size(); ++i)
            size += of.keys[i].size();
        const Place whole = slot(size, "key", false, true);
        size_t at = 0;
        for (size_t i = 0; i < keys.size(); ++i) {
            const Place to = whole.part(at, of.keys[i].size());
            at += to.size;
            if (i >= first.size())
                any(keys[i], to);
            else if (first[i].is_value())
                emit(Store{to, first[i].value});
            else
                emit(Copy{to, first[i].place});
        }
        return {.place = whole};
    }

    // ---- Statements
    void statements(const std::vector<Statement>& all)
    {
        for (const Statement& each : all)
            statement(each);
    }

    void statement(const Statement& statement)
    {
        using Is = Statement::Kind;
        switch (statement.kind) {
        case Is::call: return emit(Call{&statement});
        case Is::update: {
            // The value first where nobody can tell: it waits in a register, and the keys where they are taken.
            const bool keys_first = std::any_of(statement.keys.begin(), statement.keys.end(), steps)
                || (statement.value && steps(*statement.value));
            Operand at;
            if (keys_first)
                at = key(statement.map, statement.keys);
            const ValueId recorded = statement.value ? number(*statement.value) : no_value;
            if (!keys_first)
                at = key(statement.map, statement.keys);
            return emit(Update{statement.map, at, recorded});
        }
        case Is::assign: {
            const Operand assigned = operand(*statement.value);
            const Operand at = key(statement.map, statement.keys);
            return emit(Assign{statement.map, at, assigned});
        }
        case Is::add: {
            const ValueId added = number(*statement.value);
            const Operand at = key(statement.map, statement.keys);
            return emit(Add{statement.map, at, added});
        }
        case Is::remove: {
            const Operand at = key(statement.map, statement.keys);
            return emit(Remove{statement.map, at});
        }
        case Is::set: return set(statement);
        case Is::branch: return if_else(statement);
        case Is::loop: return loop(statement);
        case Is::each: return each(statement);
        case Is::leave: return emit(Jump{loop_end_});
        case Is::next: return emit(Jump{loop_next_});
        case Is::end: return emit(Jump{program_.end});
        case Is::value:
            if (statement.value->type.kind == ValueKind::integer || steps(*statement.value))
                operand(*statement.value);
            return;
        case Is::dump: return emit(Dump{});
        case Is::signal: return emit(Signal{operand(*statement.value).value});
        case Is::print:
        case Is::clear:
        case Is::zero:
        case Is::cat:
        case Is::system:
        case Is::printf:
        case Is::join:
        case Is::time:
        case Is::exit: break;
        }
        std::vector<Operand> values;
        for (const Expression& each : statement.values)
            values.push_back(operand(each));
        emit(Record{&statement, std::move(values)});
        if (statement.kind == Is::exit)
            emit(Jump{program_.end});
    }

    void set(const Statement& statement)
    {
        const Place place = variables_[statement.variable];
        const auto is_itself = [&](const Expression& e) {
            return e.kind == Kind::variable && e.variable == statement.variable;
        };
        if (!statement.value->type.is_wide())
            return emit(Store{place, number(*statement.value)});
        if (!uses(*statement.value, is_itself))
            return wide(*statement.value, place);
        emit(Copy{place, wide(*statement.value)}); // not in its place at once
    }

    void if_else(const Statement& statement)
    {
        const auto otherwise = label();
        branch(*statement.value, otherwise, false);
        statements(statement.then);
        if (statement.otherwise.empty())
            return bind(otherwise);
        const auto done = label();
        emit(Jump{done});
        bind(otherwise);
        statements(statement.otherwise);
        bind(done);
    }

    void loop(const Statement& statement)
    {
        const auto again = label(), done = label();
        const Place turns = slot(8, "turns", true);
        emit(Store{turns, constant(0)});
        bind(again);
        branch(*statement.value, done, false);
        emit(Turn{turns});
        turn(statement, again, done);
    }

    // The variable is a tuple: the keys, as tables have them, and behind them the value. What was deleted meanwhile is left out.
    void each(const Statement& statement)
    {
        const auto again = label(), done = label();
        const Place entry = variables_[statement.variable];
        const size_t value_at = clause_.variables[statement.variable].type.shape->members[1].offset;
        const Place key = entry.part(0, value_at), value = entry.part(value_at, entry.size - value_at),
                    keys = slot(8, "keys", true);
        emit(Store{keys, define(Keys{0, statement.map})});
        bind(again);
        emit(Branch{define(NextKey{0, load(keys), key}), false, done});
        const Map& map = script_.maps[statement.map];
        const bool is_word = map.keys.size() == 1 && !map.keys[0].is_wide();
        const auto at = [&] { return is_word ? Operand{.value = load(key)} : Operand{.place = key}; };
        emit(Branch{define(Has{0, statement.map, at()}), false, again});
        if (is_assigned(map.kind) && map.type.is_wide())
            emit(GetWide{value, statement.map, at()});
        else
            emit(Store{value, define(Get{0, statement.map, at()})});
        turn(statement, again, done);
    }

    // What a loop does each time, and the end of the loop.
    void turn(const Statement& loop, LabelId again, LabelId done)
    {
        const auto outer = std::pair(loop_next_, loop_end_);
        loop_next_ = again;
        loop_end_ = done;
        statements(loop.then);
        emit(Jump{again});
        bind(done);
        std::tie(loop_next_, loop_end_) = outer;
    }

    const Script& script_;
    const Clause& clause_;
    std::vector<Place> variables_; // by Clause::variables
    uint32_t randoms_ = 0;         // mentions of rand so far
    Place time_;                   // when the clause began, if it wants that more than once
    LabelId loop_next_ = 0, loop_end_ = 0;
};

} // namespace

Program lower(const Script& script, const Clause& clause)
{
    Program program = Lowering(script, clause).run();
    verify(program, script);
    return program;
}

} // namespace fastsdt::engine::ir
