// SPDX-License-Identifier: BSD-2-Clause
// Where in a process there is room for code.
#pragma once
#include "code/machine.h"
#include "proc/maps.h"

#include <cstdint>
#include <span>
#include <vector>

namespace fastsdt::engine {

/// An address for `size` bytes (whole pages) within the machine's reach of each of `near`. A page on either side stays
/// free. 0: there is none. The place is away from where the heap and the stack grow, and below the addresses if there
/// is room.
uint64_t find_place(const std::vector<Mapping>& mappings, std::span<const uint64_t> near, uint64_t size,
                    const Machine& machine = own_machine);

/// Groups addresses so that the stubs of each group fit in one place within reach of all. `size`: what they take at
/// most. @return  by address, the number of its group
std::vector<size_t> group_by_reach(std::span<const uint64_t> addresses, uint64_t size,
                                   const Machine& machine = own_machine);

} // namespace fastsdt::engine
