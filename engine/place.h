// SPDX-License-Identifier: BSD-2-Clause
// Where in a process there is room for code.
#pragma once
#include "live.h"
#include "machine.h"

#include <cstdint>
#include <span>
#include <vector>

namespace fastsdt::engine {

/// An address for `size` bytes (whole pages) within the machine's reach of each of `near` that touch no mapping, not even at the edge.
/// 0: there is none. Away from where the heap and the stack grow; below the addresses if there is room.
uint64_t find_place(const std::vector<Mapping>& mappings, std::span<const uint64_t> near, uint64_t size,
                    const Machine& machine = own_machine);

/// Where `size` bytes of data leave room for code beside what is mapped: in the middle of the largest gap, if they are so
/// many that they could take up all that is within reach; else 0, wherever the kernel likes.
uint64_t place_for_data(const std::vector<Mapping>& mappings, uint64_t size, const Machine& machine = own_machine);

/// Addresses in groups so that all of one can have their stubs in one place; `size` is what that takes at most.
/// @return  by address, its group
std::vector<size_t> group_by_reach(std::span<const uint64_t> addresses, uint64_t size,
                                   const Machine& machine = own_machine);

} // namespace fastsdt::engine
