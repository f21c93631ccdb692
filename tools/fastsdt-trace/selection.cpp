// SPDX-License-Identifier: BSD-2-Clause
#include "selection.h"

#include "base/search_path.h"
#include "base/unusable.h"
#include "proc/threads.h"
#include "script/script.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fnmatch.h>
#include <fstream>
#include <linux/magic.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/vfs.h>

namespace fastsdt::trace_tool {
namespace {

namespace fs = std::filesystem;

// A file that no process would have mapped: its --exe would wait for ever.
void refuse_unmappable(const std::string& file, const std::string& path)
{
    if (!fs::is_regular_file(path)) // reading it might block
        throw Unusable(fmt::format("--exe {} is no regular file, as a program is", file));
    char begin[2] = {};
    std::ifstream(path, std::ios::binary).read(begin, sizeof begin);
    if (std::string_view(begin, sizeof begin) == "#!")
        throw Unusable(fmt::format("--exe {} is a script, which its interpreter runs: name its process with --pid, or "
                                   "with --comm {}",
                                   file, fs::path(file).filename().string()));
}

void complete_exe(std::string& file)
{
    const std::string found = file.find('/') == file.npos ? in_search_path(file) : file;
    std::error_code error;
    const std::string path = fs::canonical(found.empty() ? file : found, error);
    if (error)
        throw Unusable(fmt::format("--exe {}: {}", file, error.message()));
    refuse_unmappable(file, path);
    file = path;
}

void complete_comm(std::string& name)
{
    constexpr size_t most_of_name = 15; // TASK_COMM_LEN, include/linux/sched.h
    if (!engine::is_pattern(name))
        name = name.substr(0, most_of_name);
}

bool fits_comm(const std::vector<std::string>& values, pid_t, const std::string& comm)
{
    return std::ranges::any_of(values,
                               [&](const std::string& one) { return fnmatch(one.c_str(), comm.c_str(), 0) == 0; });
}

// A cgroup folder's path below its mount; it need not exist yet. Empty: no cgroup file system.
std::string below_mount(const fs::path& folder)
{
    fs::path root = folder;
    std::error_code error;
    while (!fs::exists(root, error) && root.has_relative_path())
        root = root.parent_path();
    struct stat status{}, above{};
    struct statfs system{};
    if (!fs::is_directory(root, error) || stat(root.c_str(), &status) < 0 || statfs(root.c_str(), &system) < 0
        || (system.f_type != CGROUP2_SUPER_MAGIC && system.f_type != CGROUP_SUPER_MAGIC))
        return {};
    while (root.has_relative_path() && stat(root.parent_path().c_str(), &above) == 0 && above.st_dev == status.st_dev)
        root = root.parent_path();
    return folder == root ? "/" : "/" + folder.lexically_relative(root).string();
}

constexpr const char* usual_mount = "/sys/fs/cgroup";

// As in /proc/PID/cgroup: a folder's path, or a path below where the file system is mounted, which needs no / at its begin.
void complete_cgroup(std::string& path)
{
    const fs::path given = path;
    const bool is_relative = given.begin()->string() == "." || given.begin()->string() == "..";
    std::error_code error;
    fs::path full = (is_relative ? fs::absolute(given) : "/" / given).lexically_normal();
    if (!full.has_filename() && full.has_relative_path()) // a / at its end
        full = full.parent_path();
    if (full == "/")
        path = "/"; // all of them
    else if (const std::string below = below_mount(fs::weakly_canonical(full, error)); !below.empty())
        path = below;
    else if (is_relative
             || (given.is_absolute() && fs::exists(full, error) && !fs::exists(usual_mount + full.string(), error)))
        throw Unusable({fmt::format("--cgroup {} is no control group", path),
                        {},
                        fmt::format("one is a folder of that file system, mostly below {}, or its path in there, as "
                                    "system.slice/nginx.service",
                                    usual_mount)});
    else
        path = full.string();
}

// A path is in the cgroup, or in one below it. Paths as in /proc/PID/cgroup: in the tracer's cgroup namespace.
bool is_below(const std::string& path, const std::string& cgroup)
{
    return path == cgroup || cgroup == "/" || path.starts_with(cgroup + "/");
}

// "docker-ID.scope", "libpod-ID.scope", "cri-containerd-ID.scope" and "ID", which may be given in part, as docker ps shows it.
bool is_of_container(const std::string& path, const std::string& id)
{
    for (const fs::path& part : fs::path(path)) {
        const std::string name = part.string();
        const size_t dash = name.rfind('-');
        if (std::string_view(name).substr(dash == name.npos ? 0 : dash + 1).starts_with(id))
            return true;
    }
    return false;
}

template <bool (*is_of)(const std::string& path, const std::string& value)>
bool fits_cgroup(const std::vector<std::string>& values, pid_t pid, const std::string&)
{
    std::ifstream in(fmt::format("/proc/{}/cgroup", pid));
    for (std::string line; std::getline(in, line);) // "0::/path", "4:memory:/path"
        if (const size_t second = line.find(':', line.find(':') + 1); second != line.npos)
            if (std::ranges::any_of(values,
                                    [path = line.substr(second + 1)](const auto& value) { return is_of(path, value); }))
                return true;
    return false;
}

void complete_container(std::string& id)
{
    constexpr size_t least = 6; // less would mean several
    if (id.size() < least)
        throw Unusable(fmt::format("--container {}: at least {} characters of its number are wanted", id, least));
}

void complete_user(std::string& user)
{
    uid_t number = 0;
    if (const passwd* const found = getpwnam(user.c_str()))
        number = found->pw_uid;
    else if (!CLI::detail::lexical_cast(user, number))
        throw Unusable(fmt::format("--user {}: there is no such user; a number is taken too", user));
    user = std::to_string(number);
}

bool fits_user(const std::vector<std::string>& values, pid_t pid, const std::string&)
{
    const auto users = status_numbers(pid, pid, "Uid:"); // real, effective, saved, of files
    return users.size() >= 2
        && std::ranges::any_of(values, [&](const auto& value) { return value == std::to_string(users[1]); });
}

constexpr std::array<WayRow, way_count> rows = {{
    {"exe", "Attach to all processes that have this file mapped, and to those that start later", "FILE", complete_exe,
     nullptr},
    {"comm", "To all of this name, a pattern, that have mapped a file of the script", "NAME", complete_comm, fits_comm},
    {"cgroup", "To all in this control group, or below it", "PATH", complete_cgroup, fits_cgroup<is_below>},
    {"container", "To all in the container whose number begins so", "ID", complete_container,
     fits_cgroup<is_of_container>},
    {"user", "To all that run as this user", "USER", complete_user, fits_user},
}};
static_assert(rows.back().name != nullptr);

} // namespace

std::span<const WayRow, way_count> ways()
{
    return rows;
}

std::string names_of_ways(std::string_view last, bool quoted)
{
    std::vector<std::string> names;
    for (const WayRow& row : rows)
        names.push_back(quoted ? fmt::format("\"{}\"", row.name) : fmt::format("--{}", row.name));
    const std::string end = names.back();
    names.pop_back();
    return fmt::format("{} {} {}", fmt::join(names, ", "), last, end);
}

bool Selection::empty() const
{
    return !std::ranges::any_of(values, [](const std::vector<std::string>& each) { return !each.empty(); });
}

void Selection::complete()
{
    for (size_t i = 0; i < way_count; ++i)
        for (std::string& value : values[i]) {
            if (value.empty())
                throw Unusable(fmt::format("--{}: its value is empty; was a variable not set?", rows[i].name));
            rows[i].complete(value);
        }
}

bool Selection::fits(pid_t pid, const std::string& comm) const
{
    for (size_t i = 0; i < way_count; ++i)
        if (!values[i].empty() && rows[i].fits && !rows[i].fits(values[i], pid, comm))
            return false;
    return !empty();
}

bool Selection::is_by_file() const
{
    for (size_t i = 0; i < way_count; ++i)
        if (!values[i].empty() && rows[i].fits)
            return false;
    return true;
}

std::string Selection::words() const
{
    std::vector<std::string> words;
    for (size_t i = 0; i < way_count; ++i)
        if (!values[i].empty())
            words.push_back(fmt::format("--{} {}", rows[i].name, fmt::join(values[i], ",")));
    return fmt::format("{}", fmt::join(words, " "));
}

} // namespace fastsdt::trace_tool
