// SPDX-License-Identifier: BSD-2-Clause
// code/loader.h for arm64.
#pragma once
#include "code/loader.h"

namespace fastsdt::engine::arm64 {

std::optional<Patch> loader_patch(const Loader& loader, std::span<const std::byte> function, uint64_t stub);
bool is_loader_return(std::span<const std::byte> bytes);
std::vector<std::byte> compile_loader_stub(const Loader& loader, const Arena& arena);

} // namespace fastsdt::engine::arm64
