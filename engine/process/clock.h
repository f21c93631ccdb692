// SPDX-License-Identifier: BSD-2-Clause
// nsecs without a system call: the processor's counter, and how it becomes nanoseconds.
#pragma once
#include "code/environment.h"

#include <optional>
#include <string>

namespace fastsdt::engine {

/// Measures the counter against the kernel's clock; takes 20 ms. Empty if the kernel itself tells the time by something
/// else, since the counter then may stop or differ between processors; `why` says so.
std::optional<CycleClock> measure_clock(std::string& why);

} // namespace fastsdt::engine
