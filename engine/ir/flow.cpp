// SPDX-License-Identifier: BSD-2-Clause
#include "ir/flow.h"

#include <algorithm>
#include <optional>

namespace fastsdt::engine::ir {

Known::Known(const Program& program)
{
    size_t bits = program.values;
    for (const Slot& slot : program.slots) {
        first_.push_back(bits);
        bits += slot.size / 8;
    }
    bits_.resize(bits / 64 + 1);
    for (uint32_t i = 0; i < program.slots.size(); ++i)
        if (program.slots[i].is_literal)
            write({i, 0, program.slots[i].size});
}

bool Known::is_written(const Place& place) const
{
    for (size_t at = place.offset / 8 * 8; at < place.offset + place.size; at += 8)
        if (!get(first_[place.slot] + at / 8))
            return false;
    return true;
}

void Known::write(const Place& place)
{
    for (size_t at = place.offset; at < place.offset + place.size; at += 8)
        set(first_[place.slot] + at / 8);
}

bool Known::meet(const Known& other)
{
    bool less = false;
    for (size_t i = 0; i < bits_.size(); ++i) {
        less = less || (bits_[i] & ~other.bits_[i]) != 0;
        bits_[i] &= other.bits_[i];
    }
    return less;
}

namespace {

/// What has come to each label so far: until nothing more is learnt of it, one pass says too much.
class Flow {
public:
    explicit Flow(const Program& program) : program_(program), at_label_(program.labels) {}

    /// @return  whether something new came to a label that lies behind
    template <class Visit> bool pass(const Visit& visit)
    {
        bool again = false;
        std::vector<bool> seen(program_.labels); // that lie behind
        std::optional<Known> now = Known(program_);
        for (size_t i = 0; i < program_.operations.size(); ++i) {
            const Operation& operation = program_.operations[i];
            if (const auto* const label = std::get_if<Label>(&operation)) {
                std::optional<Known>& there = at_label_[label->label];
                if (now)
                    come(there, *now);
                now = there;
                seen[label->label] = true;
            }
            if (!now)
                continue;
            visit(i, *now);
            if (const ValueId to = defined(operation); to != no_value)
                now->define(to);
            if (const Place* const place = written(operation))
                now->write(*place);
            if (const LabelId* const to = target(operation)) {
                const bool changed = come(at_label_[*to], *now);
                again = again || (changed && seen[*to]);
            }
            if (std::holds_alternative<Jump>(operation))
                now.reset();
        }
        return again;
    }

private:
    static bool come(std::optional<Known>& there, const Known& with)
    {
        if (there)
            return there->meet(with);
        there = with;
        return true;
    }

    const Program& program_;
    std::vector<std::optional<Known>> at_label_;
};

} // namespace

void each_with_known(const Program& program, const std::function<void(size_t, const Known&)>& visit)
{
    Flow flow(program);
    while (flow.pass([](size_t, const Known&) {}))
        ;
    flow.pass(visit);
}

std::vector<uint32_t> read_before_written(const Program& program)
{
    std::vector<uint32_t> found;
    each_with_known(program, [&](size_t i, const Known& before) {
        each_read(program.operations[i], [&](const Place& place) {
            if (!before.is_written(place) && std::find(found.begin(), found.end(), place.slot) == found.end())
                found.push_back(place.slot);
        });
    });
    return found;
}

} // namespace fastsdt::engine::ir
