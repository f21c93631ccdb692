// SPDX-License-Identifier: BSD-2-Clause
// Where an argument of a site is, as instructions can fetch it.
#pragma once
#include "code/arm64/assembler.h"
#include "code/operands.h"

#include <cstdint>

namespace fastsdt::engine::arm64 {

struct Source {
    enum class Kind { constant, reg, vector, memory } kind = Kind::constant;
    int size = 8; ///< bytes: 1, 2, 4, 8
    bool is_signed = false;
    int64_t constant = 0;     ///< as a 64-bit value, extended from `size`
    Reg reg = x0;             ///< reg: x0 to x30, sp. memory: the base
    unsigned vector = 0;      ///< vector: v0 and up, its low bytes
    int64_t displacement = 0; ///< memory
    Reg index = no_register;  ///< memory: shifted left by `shift`
    unsigned shift = 0;
};

/// A usdt probe's is where its note says. Throws Refusal for integers in vector registers, symbols, odd sizes, and for a text that no assembler
/// would write. An entry's is where AAPCS64 has it; an exit has none.
/// @param noted  the site's, parsed
Source argument_of(const Site& site, const std::vector<Argument>& noted, const ir::Argument& argument);

} // namespace fastsdt::engine::arm64
