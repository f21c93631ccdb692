// SPDX-License-Identifier: BSD-2-Clause
// What readers of declarations (DWARF, .BTF) share: limits for damaged files, and members of records.
#pragma once
#include "script/shape.h"

#include <cstdint>

namespace fastsdt::engine {

// A damaged file may lead anywhere, and round in circles.
inline constexpr int deepest_type = 24;
inline constexpr uint64_t largest_type = uint64_t(1) << 30;
inline constexpr size_t most_members = 100'000; // of one type, with those of its members

/// Adds a member to a record that has its size. One whose type is not known, or that does not lie in the record, is noted as lacking.
/// @param member  with its name, shape and, if it is no bit field, its offset
/// @param first  of a bit field: its first bit, from the record's beginning on  @param bits  0: it is no bit field
void add_member(Shape& record, Shape::Member member, uint64_t first, uint64_t bits);

} // namespace fastsdt::engine
