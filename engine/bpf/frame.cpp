// SPDX-License-Identifier: BSD-2-Clause
#include "bpf/frame.h"

#include <algorithm>
#include <variant>

namespace fastsdt::engine::bpf {
namespace {

// Literals are numbers in the program, but where a helper wants their address.
std::vector<bool> literals_in_memory(const ir::Program& program)
{
    std::vector<bool> wanted(program.slots.size());
    for (const ir::Operation& operation : program.operations)
        if (const auto* const op = std::get_if<ir::Assign>(&operation); op && !op->value.place.is_none())
            wanted[op->value.place.slot] = true;
    return wanted;
}

} // namespace

Frame lay_out_frame(const ir::Program& program)
{
    Frame frame;
    frame.values.resize(program.values);
    frame.constants.assign(program.values, -1);
    std::vector<size_t> last(program.values);
    for (size_t i = 0; i < program.operations.size(); ++i)
        ir::each_used(program.operations[i], [&](ir::ValueId value) { last[value] = i; });
    std::vector<int> free;
    int words = 0;
    std::vector<std::vector<int>> ends(program.operations.size() + 1);
    for (size_t i = 0; i < program.operations.size(); ++i) {
        const ir::ValueId to = ir::defined(program.operations[i]);
        if (to != ir::no_value) {
            if (std::holds_alternative<ir::Constant>(program.operations[i])) {
                frame.constants[to] = int(i);
            } else {
                if (free.empty())
                    free.push_back(++words);
                const int word = free.back();
                free.pop_back();
                frame.values[to] = -own_words - 8 * word;
                ends[std::max(last[to], i)].push_back(word);
            }
        }
        for (const int word : ends[i])
            free.push_back(word);
    }
    frame.size = own_words + 8 * words;
    const std::vector<bool> in_memory = literals_in_memory(program);
    std::vector<size_t> order;
    for (size_t i = 0; i < program.slots.size(); ++i)
        if (!program.slots[i].is_literal || in_memory[i])
            order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return program.slots[a].size < program.slots[b].size; });
    frame.slots.resize(program.slots.size());
    for (const size_t i : order) {
        const int size = int(program.slots[i].size);
        if (frame.size + size <= frame_size) {
            frame.size += size;
            frame.slots[i] = {false, -frame.size, true};
        } else {
            frame.slots[i] = {true, frame.scratch_size, true};
            frame.scratch_size += size;
        }
    }
    return frame;
}

} // namespace fastsdt::engine::bpf
