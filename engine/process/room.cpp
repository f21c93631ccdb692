// SPDX-License-Identifier: BSD-2-Clause
#include "process/room.h"

#include "base/unusable.h"
#include "code/machine.h"
#include "proc/threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace fastsdt::engine {
namespace {

// Of the address space, in bytes. Empty: unlimited, or it has ended.
std::optional<uint64_t> limit_of(const ProcessView& view)
{
    static constexpr std::string_view name = "Max address space";
    std::ifstream in(view.entry("limits"));
    for (std::string line; std::getline(in, line);)
        if (line.starts_with(name)) {
            std::istringstream fields(line.substr(name.size()));
            if (uint64_t number = 0; fields >> number)
                return number;
        }
    return std::nullopt;
}

// A line of /proc/PID/status in bytes.
uint64_t status_bytes(const ProcessView& view, std::string_view name)
{
    const std::vector<uint64_t> kib = status_numbers(view.pid(), view.pid(), name);
    return kib.empty() ? 0 : kib[0] * 1024;
}

// Where the memory controller's groups are seen, and the one of a process below that. Of version 1, or of 2.
struct Group {
    std::filesystem::path mount, path;
    bool second = false;
};

std::optional<Group> memory_group(const ProcessView& view)
{
    std::optional<Group> group;
    std::ifstream of_process(view.entry("cgroup"));
    for (std::string line; std::getline(of_process, line);) { // NUMBER:CONTROLLERS:PATH, cgroups(7)
        const size_t first = line.find(':'), second = line.find(':', first + 1);
        if (second == line.npos)
            continue;
        const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
        const bool has_memory = controllers.find(",memory,") != controllers.npos;
        if (has_memory || (line.starts_with("0::") && !group))
            group = Group{{}, std::filesystem::path(line.substr(second + 1)).relative_path(), !has_memory};
    }
    if (!group)
        return {};
    std::ifstream mounts("/proc/self/mountinfo");
    for (std::string line; std::getline(mounts, line);) { // ... ROOT MOUNT-POINT ... - TYPE SOURCE OPTIONS, proc(5)
        const size_t dash = line.find(" - ");
        if (dash == line.npos)
            continue;
        std::istringstream before(line), behind(line.substr(dash + 3));
        std::string skipped, root, point, type, source, options;
        before >> skipped >> skipped >> skipped >> root >> point;
        behind >> type >> source >> options;
        const bool fits = group->second ? type == "cgroup2"
                                        : type == "cgroup" && ("," + options + ",").find(",memory,") != options.npos;
        if (!fits)
            continue;
        group->mount = point;
        if (root != "/")
            group->path = group->path.lexically_relative(std::filesystem::path(root).relative_path());
        return group;
    }
    return {};
}

std::optional<uint64_t> number_in(const std::filesystem::path& file, std::string_view name = {})
{
    std::ifstream in(file);
    std::string word;
    uint64_t number = 0;
    if (name.empty())
        return in >> number ? std::optional(number) : std::nullopt; // "max": none
    while (in >> word >> number)
        if (word == name)
            return number;
    return {};
}

} // namespace

std::optional<uint64_t> memory_left(const ProcessView& view)
{
    const std::optional<Group> group = memory_group(view);
    if (!group)
        return {};
    std::optional<uint64_t> least;
    for (std::filesystem::path path = group->path;; path = path.parent_path()) {
        const std::filesystem::path folder = group->mount / path;
        const auto most = number_in(folder / (group->second ? "memory.max" : "memory.limit_in_bytes")),
                   used = number_in(folder / (group->second ? "memory.current" : "memory.usage_in_bytes"));
        constexpr uint64_t unlimited = uint64_t{1} << 60; // version 1 says so by a number
        if (most && used && *most < unlimited) {
            const uint64_t idle =
                number_in(folder / "memory.stat", group->second ? "inactive_file" : "total_inactive_file").value_or(0);
            const uint64_t kept = *used - std::min(*used, idle);
            least = std::min(least.value_or(UINT64_MAX), *most - std::min(*most, kept));
        }
        if (path.empty() || path == path.parent_path())
            return least;
    }
}

size_t room_for_tables(const ProcessView& view, Needs needs)
{
    // Address space only. So little that the code for sites in most libraries still finds a place beside it.
    constexpr size_t most =
        std::min<size_t>(size_t{64} << 20, own_machine.reach / 8 / own_machine.page * own_machine.page);
    constexpr size_t most_limited = size_t{16} << 20, part = 16;
    const auto limit = limit_of(view);
    const size_t least = needs.least;
    if (!limit)
        return std::max({most, least, needs.wanted / own_machine.page * own_machine.page});
    const uint64_t used = status_bytes(view, "VmSize:");
    const uint64_t left = *limit > used ? *limit - used : 0;
    const uint64_t room = std::min<uint64_t>(left / part, most_limited) / own_machine.page * own_machine.page;
    if (room < least)
        throw Unusable(
            fmt::format("process {}: {} KiB of its address space are left (ulimit -v), and the tables of the script "
                        "need {} KiB, which is more than a sixteenth of that",
                        view.pid(), left >> 10, least >> 10));
    return room;
}

bool has_locked_memory(const ProcessView& view)
{
    return status_bytes(view, "VmLck:") != 0;
}

} // namespace fastsdt::engine
