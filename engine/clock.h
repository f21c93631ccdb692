// SPDX-License-Identifier: BSD-2-Clause
// nsecs without a system call: the processor's counter and what makes nanoseconds of it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace fastsdt::engine {

/// nsecs = base_ns + ((counter - base_counter) * multiplier >> 32), 128 bits in between. Since the boot, as bpftrace's.
struct Clock {
    uint64_t base_counter = 0;
    uint64_t base_ns = 0;    ///< CLOCK_BOOTTIME when the counter was base_counter
    uint64_t multiplier = 0; ///< nanoseconds for one step of the counter, times 2^32
};

/// Measures the counter against the kernel's clock; takes 20 ms. Empty where the counter is not what the kernel itself
/// tells the time by (it may stop, or differ between processors); `why` says so then.
std::optional<Clock> measure_clock(std::string& why);

} // namespace fastsdt::engine
