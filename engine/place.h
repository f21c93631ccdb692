// SPDX-License-Identifier: BSD-2-Clause
// Where in a process there is room for code.
#pragma once
#include "live.h"

#include <cstdint>
#include <span>
#include <vector>

namespace fastsdt::engine {

/// Bytes that a jump to a stub and a displacement in one may span, less what an instruction and a page more take.
constexpr uint64_t reach = (uint64_t{1} << 31) - (1 << 20);

/// An address for `size` bytes (whole pages) within reach of each of `near` that touch no mapping, not even at the edge.
/// 0: there is none. Away from where the heap and the stack grow; below the addresses if there is room.
uint64_t find_place(const std::vector<Mapping>& mappings, std::span<const uint64_t> near, uint64_t size);

/// Addresses in groups so that all of one can have their stubs in one place; `size` is what that takes at most.
/// @return  by address, its group
std::vector<size_t> group_by_reach(std::span<const uint64_t> addresses, uint64_t size);

} // namespace fastsdt::engine
