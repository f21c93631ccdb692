// SPDX-License-Identifier: BSD-2-Clause
// Where a site's values are in what the kernel gives a BPF program: struct pt_regs, and the memory that it leads to.
#pragma once
#include "code/site.h"
#include "ir/ir.h"

#include <cstdint>
#include <optional>

namespace fastsdt::engine::bpf {

struct Source {
    enum class Kind { constant, reg, memory } kind = Kind::constant;
    int64_t constant = 0;
    int size = 8;           ///< bytes: 1, 2, 4, 8
    bool is_signed = false; ///< reg, memory: extended so
    unsigned from_bit = 0;  ///< reg: 8 for ah and its like
    /// reg, memory: byte offsets in struct pt_regs. Memory is at base + (index << shift) + displacement.
    std::optional<int> base = {}, index = {};
    unsigned shift = 0;
    int64_t displacement = 0;
};

/// Throws Refusal.
Source argument_source(const Site& site, const ir::Argument& argument);
/// Where struct pt_regs has a register, by the number that ir::Register has, and what a function returns.
int offset_of_register(unsigned number);
int offset_of_result();
int offset_of_goroutine(); ///< of Go's g

} // namespace fastsdt::engine::bpf
