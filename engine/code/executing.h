// SPDX-License-Identifier: BSD-2-Clause
// The stub in the C library's execve(): before the process executes another program it tells the tracer and waits until that traces it.
// So the next program is armed before its first instruction, also one that a forked child executes, and nothing is traced
// by ptrace before. Bounded as the stub of the dynamic linker is: code/loader.h.
#pragma once
#include "code/site.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace fastsdt::engine {

/// Bytes from the function's start that executing_place() wants to see.
inline constexpr size_t executing_function = 16;

/// Where execve() sets the number of the system call, by one instruction that becomes the jump: an offset. Empty: not in a way that is
/// known. A jump that is as long as the one instruction in its place leaves no thread in between, and changes nothing else.
std::optional<size_t> executing_place(std::span<const std::byte> function);

/// @param place  runtime address of that instruction
Patch executing_patch(uint64_t place, uint64_t stub);
std::vector<std::byte> compile_executing_stub(uint64_t place, const Arena& arena);

} // namespace fastsdt::engine
