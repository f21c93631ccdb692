// SPDX-License-Identifier: BSD-2-Clause
#pragma once
#include <cstdint>
#include <ctime>

namespace fastsdt {

/// Nanoseconds that a clock has now. CLOCK_REALTIME counts from 1970 on, CLOCK_BOOTTIME and CLOCK_MONOTONIC from the boot.
inline int64_t clock_ns(clockid_t clock)
{
    timespec now{};
    clock_gettime(clock, &now);
    return int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

} // namespace fastsdt
