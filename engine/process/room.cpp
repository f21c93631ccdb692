// SPDX-License-Identifier: BSD-2-Clause
#include "process/room.h"

#include "base/unusable.h"
#include "code/machine.h"
#include "proc/threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace fastsdt::engine {
namespace {

// Of the address space, in bytes. Empty: unlimited, or it has ended.
std::optional<uint64_t> limit_of(pid_t pid)
{
    static constexpr std::string_view name = "Max address space";
    std::ifstream in(fmt::format("/proc/{}/limits", pid));
    for (std::string line; std::getline(in, line);)
        if (line.starts_with(name)) {
            std::istringstream fields(line.substr(name.size()));
            if (uint64_t number = 0; fields >> number)
                return number;
        }
    return std::nullopt;
}

// A line of /proc/PID/status in bytes.
uint64_t bytes_of(pid_t pid, std::string_view name)
{
    const std::vector<uint64_t> kib = status_numbers(pid, pid, name);
    return kib.empty() ? 0 : kib[0] * 1024;
}

} // namespace

size_t room_for_tables(pid_t pid, Needs needs)
{
    // Address space only. So little that the code for sites in most libraries still finds a place beside it.
    constexpr size_t most =
        std::min<size_t>(size_t{64} << 20, own_machine.reach / 8 / own_machine.page * own_machine.page);
    constexpr size_t most_limited = size_t{16} << 20, part = 16;
    const auto limit = limit_of(pid);
    const size_t least = needs.least;
    if (!limit)
        return std::max({most, least, needs.wanted / own_machine.page * own_machine.page});
    const uint64_t used = bytes_of(pid, "VmSize:");
    const uint64_t left = *limit > used ? *limit - used : 0;
    const uint64_t room = std::min<uint64_t>(left / part, most_limited) / own_machine.page * own_machine.page;
    if (room < least)
        throw Unusable(
            fmt::format("process {}: {} KiB of its address space are left (ulimit -v), and the tables of the script "
                        "need {} KiB, which is more than a sixteenth of that",
                        pid, left >> 10, least >> 10));
    return room;
}

bool has_locked_memory(pid_t pid)
{
    return bytes_of(pid, "VmLck:") != 0;
}

} // namespace fastsdt::engine
