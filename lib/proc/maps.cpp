// SPDX-License-Identifier: BSD-2-Clause
#include "proc/maps.h"

#include "base/unusable.h"
#include "proc/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <unistd.h>
#include <iterator>

namespace fastsdt {

uint64_t page_size()
{
    static const auto size = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    return size;
}

const Mapping* mapping_at(const std::vector<Mapping>& mappings, uint64_t address, uint64_t size)
{
    const auto after = std::upper_bound(mappings.begin(), mappings.end(), address,
                                        [](uint64_t a, const Mapping& m) { return a < m.start; });
    if (after == mappings.begin())
        return nullptr;
    const Mapping& m = *std::prev(after);
    return address < m.end && size <= m.end - address ? &m : nullptr;
}

Result<std::vector<Mapping>> try_read_maps(pid_t pid)
{
    const auto text = try_read_text(fmt::format("/proc/{}/maps", pid));
    if (!text)
        return unreadable(pid, text.error().code);
    std::vector<Mapping> mappings;
    for (std::string_view rest = *text; !rest.empty();) {
        std::string_view line = take_until(rest, '\n'); // start-end rwxp offset major:minor inode   name
        Mapping m;
        m.start = take_number(line, 16);
        take_until(line, '-');
        m.end = take_number(line, 16);
        take_until(line, ' ');
        const std::string_view access = take_until(line, ' ');
        if (access.size() != 4)
            continue;
        m.readable = access[0] == 'r';
        m.writable = access[1] == 'w';
        m.executable = access[2] == 'x';
        m.shared = access[3] == 's';
        m.offset = take_number(line, 16);
        take_until(line, ' ');
        m.device = take_until(line, ' ');
        m.inode = take_number(line);
        line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
        m.name = line;
        mappings.push_back(std::move(m));
    }
    return mappings;
}

std::vector<Mapping> read_maps(pid_t pid)
{
    auto mappings = try_read_maps(pid);
    if (!mappings)
        throw Unusable(mappings.error());
    return *std::move(mappings);
}

} // namespace fastsdt
