// SPDX-License-Identifier: BSD-2-Clause
// Instructions of a program at another place.
#pragma once
#include "code/x86/assembler.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fastsdt::engine::x86 {

/// Emits the instructions that stand at runtime address `from`, so that they have the same effect where they are now: rip-relative
/// operands and direct branches lead where they led, and a call, which has to be the last one, returns to the original place.
/// Throws std::logic_error for code that lib/movable/movable.h would not give.
void move_instructions(Assembler& as, uint64_t from, std::span<const std::byte> code);

/// Runtime addresses that the code has to reach wherever it is: of rip-relative operands and of branches.
std::vector<uint64_t> reached_from(uint64_t from, std::span<const std::byte> code);

} // namespace fastsdt::engine::x86
