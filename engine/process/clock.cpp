// SPDX-License-Identifier: BSD-2-Clause
#include "process/clock.h"

#include "base/clock.h"

#include <fmt/format.h>

#include <array>
#include <ctime>
#include <fstream>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace fastsdt::engine {
namespace {

#if defined(__x86_64__)
constexpr const char* counter_source = "tsc";
#elif defined(__aarch64__)
constexpr const char* counter_source = "arch_sys_counter";
#else
constexpr const char* counter_source = "";
#endif

constexpr const char* source_file = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

std::string clock_source()
{
    std::string source;
    std::ifstream(source_file) >> source;
    return source;
}

} // namespace

uint64_t boot_time()
{
    return uint64_t(clock_ns(CLOCK_BOOTTIME));
}

#if defined(__x86_64__) || defined(__aarch64__)
uint64_t read_counter()
{
#if defined(__x86_64__)
    return __rdtsc();
#else
    uint64_t value = 0;
    asm volatile("isb; mrs %0, cntvct_el0" : "=r"(value)); // isb: not before the instructions in front of it
    return value;
#endif
}

// Of several readings of both clocks the one that took least: an interrupt in the middle would spoil a reading.
Moment read_clocks()
{
    Moment best{};
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 32; ++i) {
        const uint64_t before = read_counter(), ns = boot_time(), after = read_counter();
        if (after - before < least) {
            least = after - before;
            best = {before + (after - before) / 2, ns};
        }
    }
    return best;
}
#else
uint64_t read_counter()
{
    return 0;
}

Moment read_clocks()
{
    return {};
}
#endif

bool counter_tells_time()
{
    return counter_obstacle().empty();
}

std::string counter_obstacle()
{
    const std::string source = clock_source();
    if (*counter_source && source == counter_source)
        return {};
    if (source.empty())
        return fmt::format("{}, which says whether the kernel tells the time by the processor's counter, cannot be "
                           "read (is /sys mounted?)",
                           source_file);
    return "the kernel does not tell the time by the processor's counter but by " + source;
}

CycleClock corrected(const CycleClock& clock, const Moment& before, const Moment& now)
{
    __extension__ using Wide = unsigned __int128;
    constexpr int64_t most = 1'000'000;
    const uint64_t told = clock.base_ns + uint64_t(Wide(now.counter - clock.base_counter) * clock.multiplier >> 32);
    const auto wrong = int64_t(now.ns - told);
    if (now.counter <= before.counter || now.ns <= before.ns + most) // the counter began anew
        return {now.counter, now.ns, clock.multiplier};
    const bool far = wrong >= most || wrong <= -most;
    const uint64_t ns = now.ns - before.ns + uint64_t(far ? 0 : wrong);
    return {now.counter, far ? now.ns : told, uint64_t((Wide(ns) << 32) / (now.counter - before.counter))};
}

std::optional<CycleClock> measure_clock(std::string& why)
{
#if defined(__x86_64__) || defined(__aarch64__)
    why = counter_obstacle();
    if (!why.empty())
        return std::nullopt;
    const Moment first = read_clocks();
    Moment last = first;
    while (last.ns - first.ns < 20'000'000) // 1 microsecond in 20 ms is 50 ppm; the readings are closer than that
        last = read_clocks();
    __extension__ using Wide = unsigned __int128;
    return CycleClock{last.counter, last.ns,
                      uint64_t((Wide(last.ns - first.ns) << 32) / (last.counter - first.counter))};
#else
    why = "no counter is known on this architecture";
    return std::nullopt;
#endif
}

} // namespace fastsdt::engine
