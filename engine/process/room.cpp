// SPDX-License-Identifier: BSD-2-Clause
#include "process/room.h"

#include "base/unusable.h"
#include "code/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace fastsdt::engine {
namespace {

// The first number behind `name` in a file of the process. Empty: there is none ("unlimited"), or it has ended.
std::optional<uint64_t> number_in(pid_t pid, const char* file, const std::string& name)
{
    std::ifstream in(fmt::format("/proc/{}/{}", pid, file));
    for (std::string line; std::getline(in, line);)
        if (line.starts_with(name)) {
            std::istringstream fields(line.substr(name.size()));
            if (uint64_t number = 0; fields >> number)
                return number;
        }
    return std::nullopt;
}

} // namespace

size_t room_for_tables(pid_t pid, size_t least)
{
    // Address space only. So little that the code for sites in most libraries still finds a place beside it.
    constexpr size_t most =
        std::min<size_t>(size_t{64} << 20, own_machine.reach / 8 / own_machine.page * own_machine.page);
    constexpr size_t most_limited = size_t{16} << 20, part = 16;
    const auto limit = number_in(pid, "limits", "Max address space");
    if (!limit)
        return std::max(most, least);
    const uint64_t used = number_in(pid, "status", "VmSize:").value_or(0) * 1024;
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
    return number_in(pid, "status", "VmLck:").value_or(0) != 0;
}

} // namespace fastsdt::engine
