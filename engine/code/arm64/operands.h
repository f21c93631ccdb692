// SPDX-License-Identifier: BSD-2-Clause
// Where an argument of a stapsdt note is, as instructions can fetch it.
#pragma once
#include "code/arm64/assembler.h"
#include "code/operands.h"

#include <cstdint>

namespace fastsdt::engine::arm64 {

struct Source {
    enum class Kind { constant, reg, memory } kind = Kind::constant;
    int size = 8; ///< bytes: 1, 2, 4, 8
    bool is_signed = false;
    int64_t constant = 0;     ///< as a 64-bit value, extended from `size`
    Reg reg = x0;             ///< reg: x0 to x30, sp. memory: the base
    int64_t displacement = 0; ///< memory
    Reg index = no_register;  ///< memory: shifted left by `shift`
    unsigned shift = 0;
};

/// The `index`th argument, counted from 0. Throws Refusal for vector registers, symbols, odd sizes, and for a text that
/// no
/// assembler would write.
Source find_argument(const std::vector<Argument>& arguments, unsigned index);

} // namespace fastsdt::engine::arm64
