// SPDX-License-Identifier: BSD-2-Clause
// code/executing.h for arm64.
#pragma once
#include "code/executing.h"

namespace fastsdt::engine::arm64 {

std::optional<size_t> executing_place(std::span<const std::byte> function);
Patch executing_patch(uint64_t place, uint64_t stub);
std::vector<std::byte> compile_executing_stub(uint64_t place, const Arena& arena);

} // namespace fastsdt::engine::arm64
