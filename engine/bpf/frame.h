// SPDX-License-Identifier: BSD-2-Clause
// Where a clause's values and slots are while its program runs.
//
// The highest words of BPF's stack are the operations' own, below are the values, and slots as far as there is room in its 512 bytes. The others are
// in scratch memory of the processor.
#pragma once
#include "ir/ir.h"

#include <vector>

namespace fastsdt::engine::bpf {

inline constexpr int frame_size = 512; // MAX_BPF_STACK
inline constexpr int own_words = 32; // of operations, at the frame's end: key, value, and what BpfMembers::test() uses
inline constexpr int key_at = -8, value_at = -16, third_at = -24;

/// A frame of one clause.
struct Frame {
    std::vector<int> values;    // by value: offset from r10; 0: a constant, or nobody uses it
    std::vector<int> constants; // by value: index of its operation; -1: it is none
    struct Slot {
        bool in_scratch = false;
        int at = 0; // from r10, or in the piece of scratch memory
        bool has_memory = false;
    };
    std::vector<Slot> slots;
    int size = 0;         // of the stack
    int scratch_size = 0; // of a piece
};

Frame lay_out_frame(const ir::Program& program);

} // namespace fastsdt::engine::bpf
