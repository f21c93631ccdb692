// SPDX-License-Identifier: BSD-2-Clause
// Where the values and slots of a program are while a stub runs it. What follows from a constant or a register of the program is fetched
// where it is used; a value that the next instruction takes stays in the register of results; all else is in the frame.
#pragma once
#include "ir/ir.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace fastsdt::engine {

struct Plan {
    enum class Where : uint8_t {
        nowhere,  ///< nobody uses it, and finding it changes nothing
        folded,   ///< fetched where it is used
        result,   ///< Role::result, until the next instruction
        recorded, ///< Role::recorded, until a map takes it
        frame,
    };
    struct OfValue {
        Where where = Where::nowhere;
        bool is_fused = false; ///< a comparison of which the next jump is made
        size_t word = 0;       ///< frame
        size_t at = 0;         ///< index of its definition
    };
    struct OfSlot {
        enum class Where : uint8_t {
            words,  ///< from `word` on
            keys,   ///< where routines take keys
            text,   ///< where routines take what is assigned, if it is wide
            literal ///< nowhere: its words are constants
        } where = Where::words;
        size_t word = 0;
    };
    std::vector<OfValue> values;
    std::vector<OfSlot> slots;
    std::vector<size_t> scratch; ///< by operation: a word of the frame that it may use, or SIZE_MAX
    size_t words = 0;            ///< of the frame
};

/// @param is_leaf  whether an Argument, an Ask, a Register or a Symbol is found by instructions that change one register only
Plan make_plan(const ir::Program& program, const std::function<bool(const ir::Operation&)>& is_leaf);

} // namespace fastsdt::engine
