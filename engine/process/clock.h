// SPDX-License-Identifier: BSD-2-Clause
// nsecs without a system call: the processor's counter, and how it becomes nanoseconds.
#pragma once
#include "code/environment.h"

#include <optional>
#include <string>

namespace fastsdt::engine {

/// CLOCK_BOOTTIME in nanoseconds, as nsecs has it.
uint64_t boot_time();

/// The processor's counter, 0 where none is known. It says the time if the kernel tells its own by it: then it is the same on all
/// processors.
uint64_t read_counter();
bool counter_tells_time();
/// Why it does not; empty: it does.
std::string counter_obstacle();

/// Both clocks, read at once.
struct Moment {
    uint64_t counter = 0;
    uint64_t ns = 0; ///< CLOCK_BOOTTIME
};
Moment read_clocks();

/// The clock from `now` on. It goes on where `clock` is, without a step, and after as long as from `before` to `now` it is right: by
/// then it has made up for what it was wrong. If that is a millisecond or more (the machine was suspended), it is right at once.
CycleClock corrected(const CycleClock& clock, const Moment& before, const Moment& now);

/// Measures the counter against the kernel's clock; takes 20 ms. Empty if the kernel itself tells the time by something
/// else, since the counter then may stop or differ between processors; `why` says so.
std::optional<CycleClock> measure_clock(std::string& why);

} // namespace fastsdt::engine
