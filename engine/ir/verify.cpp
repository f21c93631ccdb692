// SPDX-License-Identifier: BSD-2-Clause
#include "ir/flow.h"
#include "ir/ir.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace fastsdt::engine::ir {
namespace {

class Verifier {
public:
    Verifier(const Program& program, const Script& script) : program_(program), script_(script) {}

    void run()
    {
        places();
        definitions();
        loops();
        each_with_known(program_, [this](size_t i, const Known& before) {
            each_used(program_.operations[i], [&](ValueId value) {
                if (value >= program_.values || !before.is_defined(value))
                    fail(i, fmt::format("v{} is not defined on each path", value));
            });
            each_read(program_.operations[i], [&](const Place& place) {
                if (!before.is_written(place))
                    fail(i, fmt::format("not all of {} is written on each path", name(place)));
            });
        });
    }

private:
    [[noreturn]] void fail(size_t index, const std::string& what) const
    {
        throw std::logic_error(fmt::format("operation {}: {}\n{}", index, what, print(program_, script_)));
    }

    std::string name(const Place& place) const
    {
        return fmt::format("{}:{} off={} size={}", program_.slots[place.slot].name, program_.slots[place.slot].size,
                           place.offset, place.size);
    }

    void inside(size_t index, const Place& place) const
    {
        if (place.slot >= program_.slots.size())
            fail(index, "a place without a slot");
        const size_t size = program_.slots[place.slot].size;
        if (place.offset > size || place.size > size - place.offset)
            fail(index, fmt::format("{} leaves its slot", name(place)));
    }

    // No place leaves its slot, what is written are whole words and no literal's, and keys have the size that their map says.
    void places() const
    {
        for (const Slot& slot : program_.slots)
            if (slot.size % 8 != 0 || (slot.is_literal && slot.text.size() != slot.size))
                throw std::logic_error("a slot of broken size");
        for (size_t i = 0; i < program_.operations.size(); ++i) {
            const Operation& operation = program_.operations[i];
            each_read(operation, [&](const Place& place) { inside(i, place); });
            if (const Place* const place = written(operation)) {
                inside(i, *place);
                if (place->offset % 8 != 0 || place->size % 8 != 0 || program_.slots[place->slot].is_literal)
                    fail(i, fmt::format("{} is not to be written", name(*place)));
            }
            std::visit([&](const auto& op) { one(i, op); }, operation);
        }
    }

    template <class Op> void one(size_t i, const Op& op) const
    {
        if constexpr (std::is_same_v<Op, Entries> || std::is_same_v<Op, Keys>) {
            if (op.map >= script_.maps.size())
                fail(i, "no such map");
        } else if constexpr (requires { op.map; }) {
            if (op.map >= script_.maps.size())
                fail(i, "no such map");
            const Map& map = script_.maps[op.map];
            size_t bytes = 0;
            for (size_t key = 0; key < map.keys.size(); ++key)
                bytes += map.keys[key].size();
            if (op.key.is_none() ? bytes != 0 : op.key.is_value() ? bytes != 8 : op.key.place.size != bytes)
                fail(i, fmt::format("the keys of {} have {} bytes", map.name, bytes));
        }
        if constexpr (requires { op.target; })
            if (op.target >= program_.labels)
                fail(i, "no such label");
        if constexpr (std::is_same_v<Op, Store> || std::is_same_v<Op, Turn>)
            if (op.at.size != 8)
                fail(i, "a value has 8 bytes");
        if constexpr (std::is_same_v<Op, ReadText>)
            if (op.at.size != string_size)
                fail(i, "a text that is read has another size");
        if constexpr (std::is_same_v<Op, ReadBytes>)
            if (op.bytes > op.at.size)
                fail(i, "more bytes than the place has");
        if constexpr (std::is_same_v<Op, Load>)
            if (op.from.size == 0 || op.from.size > 8)
                fail(i, "a value has up to 8 bytes");
        if constexpr (std::is_same_v<Op, Equal>)
            if (op.bytes > op.from.size || op.bytes > op.other.size)
                fail(i, "more bytes are compared than there are");
    }

    void definitions() const
    {
        std::vector<bool> there(program_.values), bound(program_.labels);
        for (size_t i = 0; i < program_.operations.size(); ++i) {
            const ValueId to = defined(program_.operations[i]);
            if (to != no_value && (to >= program_.values || there[to]))
                fail(i, fmt::format("v{} has two definitions", to));
            if (to != no_value)
                there[to] = true;
            if (const auto* const label = std::get_if<Label>(&program_.operations[i])) {
                if (label->label >= program_.labels || bound[label->label])
                    fail(i, "a label that is there twice");
                bound[label->label] = true;
            }
        }
        const bool ends = !program_.operations.empty() && std::holds_alternative<Label>(program_.operations.back())
            && std::get<Label>(program_.operations.back()).label == program_.end;
        if (!ends)
            throw std::logic_error("a program without an end");
    }

    // What is used in a loop is defined in it, and slots that do not last are of one side of it.
    void loops() const
    {
        std::map<LabelId, size_t> labels;
        std::vector<size_t> defined_at(program_.values, SIZE_MAX);
        for (size_t i = 0; i < program_.operations.size(); ++i) {
            if (const auto* const label = std::get_if<Label>(&program_.operations[i]))
                labels[label->label] = i;
            if (const ValueId to = defined(program_.operations[i]); to != no_value)
                defined_at[to] = i;
        }
        for (size_t end = 0; end < program_.operations.size(); ++end) {
            const LabelId* const to = target(program_.operations[end]);
            if (!to)
                continue;
            if (!labels.contains(*to))
                fail(end, "a label that is nowhere");
            const size_t start = labels[*to];
            if (start > end)
                continue;
            std::set<uint32_t> inside, outside;
            for (size_t i = 0; i < program_.operations.size(); ++i) {
                const bool in = i >= start && i <= end;
                const auto mention = [&](const Place& place) { (in ? inside : outside).insert(place.slot); };
                each_read(program_.operations[i], mention);
                if (const Place* const place = written(program_.operations[i]))
                    mention(*place);
                each_used(program_.operations[i], [&](ValueId value) {
                    if (in && value < program_.values && (defined_at[value] < start || defined_at[value] > end))
                        fail(i, fmt::format("v{} crosses a backward jump", value));
                });
            }
            for (const uint32_t slot : inside)
                if (outside.contains(slot) && !program_.slots[slot].lasts && !program_.slots[slot].is_literal)
                    fail(end, fmt::format("{} crosses a backward jump", program_.slots[slot].name));
        }
    }

    const Program& program_;
    const Script& script_;
};

} // namespace

void verify(const Program& program, const Script& script)
{
    Verifier(program, script).run();
}

} // namespace fastsdt::engine::ir
