// SPDX-License-Identifier: BSD-2-Clause
// What is certain at each operation of a program, whichever way led there.
#pragma once
#include "ir/ir.h"

#include <functional>
#include <vector>

namespace fastsdt::engine::ir {

/// Values that are defined, and words of slots that are written.
class Known {
public:
    explicit Known(const Program& program);
    bool is_defined(ValueId value) const { return get(value); }
    bool is_written(const Place& place) const;
    void define(ValueId value) { set(value); }
    void write(const Place& place);
    /// What both know. @return  whether that is less than before
    bool meet(const Known& other);

private:
    bool get(size_t bit) const { return (bits_[bit / 64] >> bit % 64 & 1) != 0; }
    void set(size_t bit) { bits_[bit / 64] |= uint64_t(1) << bit % 64; }
    std::vector<size_t> first_; // by slot: the bit of its first word
    std::vector<uint64_t> bits_;
};

/// Calls `visit` for each operation that can be reached, in their order, with what is known before it.
void each_with_known(const Program& program, const std::function<void(size_t index, const Known& before)>& visit);

/// Slots of which something may be read that nothing has written.
std::vector<uint32_t> read_before_written(const Program& program);

} // namespace fastsdt::engine::ir
