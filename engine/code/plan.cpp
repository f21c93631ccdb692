// SPDX-License-Identifier: BSD-2-Clause
#include "code/plan.h"

#include <algorithm>

namespace fastsdt::engine::ir {
namespace {

using Where = Plan::Where;

template <class... Ops> bool is(const Operation& operation)
{
    return (std::holds_alternative<Ops>(operation) || ...);
}

/// It changes nothing but its value.
bool is_pure(const Operation& operation)
{
    return is<Constant, Register, Symbol, Unary, Swap, Binary, Compare, Load, Equal, Length, Address, Frames>(
        operation);
}

/// The value that stays in Role::recorded while the keys are found.
ValueId recorded_by(const Operation& operation)
{
    if (const auto* const update = std::get_if<Update>(&operation))
        return update->a;
    if (const auto* const add = std::get_if<Add>(&operation))
        return add->a;
    if (const auto* const assign = std::get_if<Assign>(&operation))
        return assign->value.value;
    return no_value;
}

bool changes_recorded(const Operation& operation)
{
    return is<Update, Assign, Add, Record, Call>(operation);
}

/// Places that are used from one operation to another.
struct Interval {
    size_t start = SIZE_MAX, end = 0;
    size_t words = 1;
    size_t* to = nullptr; // the first word that it gets
    void mention(size_t at)
    {
        start = std::min(start, at);
        end = std::max(end, at);
    }
};

class Planner {
public:
    Planner(const Program& program, const std::function<bool(const Operation&)>& is_leaf)
        : program_(program), uses_(program.values)
    {
        for (const Operation& operation : program.operations)
            leaves_.push_back(is<Argument, Ask, Register, Symbol>(operation) && is_leaf(operation));
        plan_.values.resize(program.values);
        plan_.slots.resize(program.slots.size());
        plan_.scratch.assign(program.operations.size(), SIZE_MAX);
    }

    Plan run()
    {
        count_uses();
        for (size_t i = 0; i < program_.operations.size(); ++i)
            if (const ValueId value = defined(program_.operations[i]); value != no_value) {
                plan_.values[value].at = i;
                plan_.values[value].where = where(i, value);
            }
        fuse();
        std::vector<Interval> intervals = of_slots();
        of_values(intervals);
        of_operations(intervals);
        place(intervals);
        return std::move(plan_);
    }

private:
    const Operation& at(size_t i) const { return program_.operations[i]; }

    // From the end on, so that what only unused values use is unused too.
    void count_uses()
    {
        for (size_t i = program_.operations.size(); i-- > 0;) {
            const ValueId to = defined(at(i));
            if (to != no_value && uses_[to].empty() && (is_pure(at(i)) || leaves_[i]))
                continue;
            each_used(at(i), [&](ValueId value) { uses_[value].push_back(i); });
        }
    }

    // The slot has the same word until the last use.
    bool is_there_until(size_t from, const Load& load, size_t last) const
    {
        if (load.from.size != 8 || load.from.offset % 8 != 0)
            return false;
        for (size_t i = from + 1; i < last; ++i)
            if (const Place* const place = written(at(i)); place && place->slot == load.from.slot)
                return false;
        return true;
    }

    bool is_cut(ValueId value) const
    {
        return std::any_of(uses_[value].begin(), uses_[value].end(), [&](size_t use) { return is<Cut>(at(use)); });
    }

    bool is_folded(size_t i, ValueId value) const
    {
        if (is<Constant>(at(i)) || (leaves_[i] && !is_cut(value)))
            return true;
        const auto* const load = std::get_if<Load>(&at(i));
        return load && is_there_until(i, *load, uses_[value].front());
    }

    Where where(size_t i, ValueId value) const
    {
        const auto& uses = uses_[value]; // the last first
        if (uses.empty())
            return Where::nowhere;
        if (is_folded(i, value))
            return Where::folded;
        const size_t use = uses.front();
        if (uses.size() > 1 || is<Record, Cut>(at(use)))
            return Where::frame;
        if (recorded_by(at(use)) == value) {
            for (size_t between = i + 1; between < use; ++between)
                if (changes_recorded(at(between)))
                    return Where::frame;
            return Where::recorded;
        }
        return next_instruction(i) == use ? Where::result : Where::frame;
    }

    // What is folded or used by nobody makes no instructions.
    size_t next_instruction(size_t i) const
    {
        for (++i; i < program_.operations.size(); ++i) {
            const ValueId to = defined(at(i));
            const bool is_silent =
                to != no_value && (uses_[to].empty() ? is_pure(at(i)) || leaves_[i] : is_folded(i, to));
            if (!is_silent)
                break;
        }
        return i;
    }

    void fuse()
    {
        for (Plan::OfValue& value : plan_.values)
            if (value.where == Where::result && is<Compare, Equal>(at(value.at))
                && is<Branch>(at(next_instruction(value.at))))
                value.is_fused = true;
    }

    std::vector<Interval> of_slots()
    {
        std::vector<Interval> intervals(program_.slots.size());
        for (size_t i = 0; i < program_.operations.size(); ++i) {
            const auto mention = [&](const Place& place) { intervals[place.slot].mention(i); };
            each_read(at(i), mention);
            if (const Place* const place = written(at(i)))
                mention(*place);
        }
        for (size_t value = 0; value < plan_.values.size();
             ++value) // a folded load reads later than the operation says
            if (plan_.values[value].where == Where::folded)
                if (const auto* const load = std::get_if<Load>(&at(plan_.values[value].at)))
                    intervals[load->from.slot].mention(uses_[value].front());
        for (size_t slot = 0; slot < intervals.size(); ++slot) {
            Interval& interval = intervals[slot];
            Plan::OfSlot& where = plan_.slots[slot];
            interval.words = program_.slots[slot].size / 8;
            interval.to = &where.word;
            if (program_.slots[slot].lasts && interval.start != SIZE_MAX) {
                interval.start = 0;
                interval.end = program_.operations.size();
            }
            if (program_.slots[slot].is_literal)
                where.where = Plan::OfSlot::Where::literal;
            else if (is_key(slot, interval))
                where.where = Plan::OfSlot::Where::keys;
            else if (is_assigned_text(slot, interval))
                where.where = Plan::OfSlot::Where::text;
            else
                continue;
            interval.words = 0;
        }
        return intervals;
    }

    // No other look-up comes while the keys are put together.
    bool is_key(size_t slot, const Interval& interval) const
    {
        if (!program_.slots[slot].is_key)
            return false;
        for (size_t i = interval.start; i <= interval.end && i < program_.operations.size(); ++i) {
            const bool other = std::visit(
                [&](const auto& op) {
                    if constexpr (requires { op.key; })
                        return !op.key.is_none() && op.key.place.slot != slot;
                    else
                        return false;
                },
                at(i));
            if (other)
                return false;
        }
        return true;
    }

    // It is made to be assigned, and nothing else wide is read from a map or assigned meanwhile.
    bool is_assigned_text(size_t slot, const Interval& interval) const
    {
        if (program_.slots[slot].lasts || interval.start == SIZE_MAX || !is<Assign>(at(interval.end)))
            return false;
        const Operand& value = std::get<Assign>(at(interval.end)).value;
        if (value.place.slot != slot || value.place.offset != 0 || value.place.size != program_.slots[slot].size)
            return false;
        for (size_t i = interval.start; i < interval.end; ++i) {
            const auto* const assign = std::get_if<Assign>(&at(i));
            if (is<GetWide, Call>(at(i)) || (assign && !assign->value.place.is_none()))
                return false;
        }
        return true;
    }

    void of_values(std::vector<Interval>& intervals)
    {
        for (size_t value = 0; value < plan_.values.size(); ++value)
            if (Plan::OfValue& of = plan_.values[value]; of.where == Where::frame)
                intervals.push_back({.start = of.at, .end = uses_[value].front(), .to = &of.word});
    }

    void of_operations(std::vector<Interval>& intervals)
    {
        for (size_t i = 0; i < program_.operations.size(); ++i) {
            const auto* const ask = std::get_if<Ask>(&at(i));
            if (is<ReadBytes, Load, Copy, Length>(at(i)) || (ask && ask->what == Value::random))
                intervals.push_back({.start = i, .end = i, .to = &plan_.scratch[i]});
        }
    }

    // Each gets the lowest words that are free all the time.
    void place(std::vector<Interval>& intervals)
    {
        std::erase_if(intervals, [](const Interval& each) { return each.words == 0 || each.start == SIZE_MAX; });
        std::sort(intervals.begin(), intervals.end(),
                  [](const Interval& a, const Interval& b) { return a.start < b.start; });
        std::vector<Interval> live; // by their words
        for (const Interval& interval : intervals) {
            std::erase_if(live, [&](const Interval& each) { return each.end < interval.start; });
            size_t word = 0;
            auto before = live.begin();
            for (; before != live.end() && *before->to < word + interval.words; ++before)
                word = *before->to + before->words;
            *interval.to = word;
            live.insert(before, interval);
            plan_.words = std::max(plan_.words, word + interval.words);
        }
    }

    const Program& program_;
    std::vector<bool> leaves_;              // by operation
    std::vector<std::vector<size_t>> uses_; // by value: operations, the last first
    Plan plan_;
};

} // namespace
} // namespace fastsdt::engine::ir

namespace fastsdt::engine {

Plan make_plan(const ir::Program& program, const std::function<bool(const ir::Operation&)>& is_leaf)
{
    return ir::Planner(program, is_leaf).run();
}

} // namespace fastsdt::engine
