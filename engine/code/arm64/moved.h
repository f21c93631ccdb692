// SPDX-License-Identifier: BSD-2-Clause
// A program's instruction at another place.
#pragma once
#include "code/arm64/assembler.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fastsdt::engine::arm64 {

/// Emits the instruction that stands at runtime address `from`, so that it has the same effect where it is now: what is named relative
/// to it stays what it was, and a call returns to the original place. No other register changes, also not x16 and x17.
void move_instruction(Assembler& as, uint64_t from, uint32_t word);

/// Runtime addresses that the code has to reach wherever it is: where branches lead.
std::vector<uint64_t> reached_from(uint64_t from, std::span<const std::byte> code);

} // namespace fastsdt::engine::arm64
