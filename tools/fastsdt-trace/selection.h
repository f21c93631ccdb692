// SPDX-License-Identifier: BSD-2-Clause
// Processes by what they are like: --exe, --comm and their like, which mean also those that come later. One row of selection.cpp has all that there
// is to know of such a way: options, keys of the configuration, sentences and the search are made of it.
#pragma once
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace fastsdt::trace_tool {

enum class Way : size_t { exe, comm, cgroup, container, user, end };
constexpr size_t way_count = static_cast<size_t>(Way::end);

struct WayRow {
    const char* name = nullptr; ///< of the option, without dashes, and of the configuration's key
    const char* what = nullptr; ///< for --help
    const char* type = nullptr; ///< of a value, for --help
    /// Makes a value what processes have: a full path and the like. Throws Unusable.
    void (*complete)(std::string& value) = nullptr;
    /// Whether a process fits one of the values; nullptr: its mappings are asked.
    bool (*fits)(const std::vector<std::string>& values, pid_t pid, const std::string& comm) = nullptr;
};
std::span<const WayRow, way_count> ways();
/// "--exe, --comm or --user"; `quoted`: with " around each, instead of dashes.
std::string names_of_ways(std::string_view last = "or", bool quoted = false);

/// All that was asked for has to hold. Of several values of one way one has to.
struct Selection {
    std::array<std::vector<std::string>, way_count> values;

    std::vector<std::string>& of(Way way) { return values[static_cast<size_t>(way)]; }
    const std::vector<std::string>& of(Way way) const { return values[static_cast<size_t>(way)]; }
    bool operator==(const Selection&) const = default;
    bool empty() const;
    /// WayRow::complete() for each. Throws Unusable.
    void complete();
    /// Whether a process is meant, but for the files that it has to have mapped. An empty selection means none.
    bool fits(pid_t pid, const std::string& comm) const;
    /// Whether only what a process maps makes it one that is meant: the kernel tells of that.
    bool is_by_file() const;
    /// "--exe /usr/bin/shop --comm a,b"
    std::string words() const;
};

} // namespace fastsdt::trace_tool
