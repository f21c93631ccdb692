// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace fastsdt::engine {

/// How a frame of a stack is written.
enum class StackForm {
    bpftrace, ///< symbol+12
    perf,     ///< 7f0012345678 symbol+12 (/path/of/the/file)
    raw       ///< 7f0012345678
};

} // namespace fastsdt::engine
