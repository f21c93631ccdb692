// SPDX-License-Identifier: BSD-2-Clause
// Tables to maps. The process may have written anything into its tables, or be in the middle of it: offsets, sizes and
// limits come from the plan, and whatever is read is only ever taken for numbers and text.
#pragma once
#include "maps.h"
#include "tables.h"

#include <cstddef>
#include <functional>
#include <vector>

namespace fastsdt::engine {

/// Up to `size` bytes of the data at `offset`: Target::read_data(). What is missing counts as zeros.
using ReadData = std::function<std::vector<std::byte>(size_t offset, size_t size)>;

/// Reads and merges. Only slots that have an owner are read.
Maps read_tables(const Script& script, const Tables& tables, const ReadData& read);

/// clear(@map): takes what was in `before` from `now`, entry by entry; entries to which nothing came since disappear.
/// Counts, sums and buckets are differences. A minimum or maximum is that of all values since the start, and a key that
/// was assigned the same value again counts as not assigned: the tables do not tell more.
void subtract(const Script& script, size_t map, Maps& now, const Maps& before);

} // namespace fastsdt::engine
