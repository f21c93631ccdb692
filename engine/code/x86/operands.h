// SPDX-License-Identifier: BSD-2-Clause
// Where an argument of a site is, as instructions can fetch it.
#pragma once
#include "code/operands.h"
#include "code/x86/assembler.h"

#include <cstdint>

namespace fastsdt::engine::x86 {

struct Source {
    enum class Kind { constant, reg, high_byte, vector, memory } kind = Kind::constant;
    int size = 8; ///< bytes: 1, 2, 4, 8
    bool is_signed = false;
    int64_t constant = 0; ///< as a 64-bit value, extended from `size`
    Reg reg = rax;        ///< reg, high_byte (of ax to bx)
    unsigned vector = 0;  ///< vector: xmm0 and up, its low bytes
    Memory memory;        ///< memory: addressed by the site's registers
};

/// A usdt probe's is where its note says. Throws Refusal for integers in vector registers, symbols, thread-local memory, odd sizes, and for a text
/// that no assembler would write. An entry's is where the System V ABI has it; an exit has none.
/// @param noted  the site's, parsed
Source argument_of(const Site& site, const std::vector<Argument>& noted, const ir::Argument& argument);

} // namespace fastsdt::engine::x86
