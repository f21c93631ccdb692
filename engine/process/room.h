// SPDX-License-Identifier: BSD-2-Clause
// How much memory a process can spare.
#pragma once
#include "maps/tables.h"
#include "process/view.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace fastsdt::engine {

/// In locked memory, which is there as a whole at once.
inline constexpr size_t most_locked = size_t{1} << 20;

/// Bytes of address space to reserve: as many as tables ever get, or, where address space is limited (RLIMIT_AS), a small part of
/// what is left of it. Throws Unusable if the least is more than that.
size_t room_for_tables(const ProcessView& view, Needs needs);

/// Bytes that its memory control groups let a process take, with what they can give up at once: pages of files that nobody has used for
/// some time. Empty: none of them has a limit, or it cannot be told.
std::optional<uint64_t> memory_left(const ProcessView& view);

/// Some of its memory is locked. By mlockall(MCL_FUTURE), what it maps from now on will be too.
bool has_locked_memory(const ProcessView& view);

} // namespace fastsdt::engine
