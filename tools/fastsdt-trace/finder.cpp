// SPDX-License-Identifier: BSD-2-Clause
//
// By looks at /proc. What begins and ends between two looks is not seen, nor is a descendant whose parent has ended before it was
// seen itself.
#include "finder.h"

#include "arming/match.h"
#include "base/unusable.h"
#include "process.h"
#include "process/follow.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fnmatch.h>
#include <fstream>
#include <string_view>
#include <unistd.h>

namespace fastsdt::trace_tool {
namespace {

namespace fs = std::filesystem;

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

std::vector<std::string> cgroups_of(pid_t pid)
{
    std::vector<std::string> paths;
    std::ifstream in(fmt::format("/proc/{}/cgroup", pid));
    for (std::string line; std::getline(in, line);) // "0::/path", "4:memory:/path"
        if (const size_t second = line.find(':', line.find(':') + 1); second != line.npos)
            paths.push_back(line.substr(second + 1));
    return paths;
}

template <class Range, class Test>
bool any(const Range& range, const Test& test)
{
    return std::any_of(range.begin(), range.end(), test);
}

} // namespace

void Finder::add_root(pid_t pid)
{
    if (const auto stat = read_stat(std::to_string(pid)))
        tree_[pid] = stat->start;
}

// What was not asked for holds for all.
bool Finder::is_selected(pid_t pid, const std::string& name) const
{
    if (selection_.empty())
        return false;
    if (!selection_.comms.empty()
        && !any(selection_.comms, [&](const auto& comm) { return fnmatch(comm.c_str(), name.c_str(), 0) == 0; }))
        return false;
    if (!selection_.users.empty()) {
        const auto users = status_numbers(pid, pid, "Uid:"); // real, effective, saved, of files
        if (users.size() < 2 || !any(selection_.users, [&](uid_t user) { return user == users[1]; }))
            return false;
    }
    if (selection_.cgroups.empty() && selection_.containers.empty())
        return true;
    const std::vector<std::string> paths = cgroups_of(pid);
    const auto is_in = [&](const auto& wanted, const auto& is_of) {
        return wanted.empty() || any(wanted, [&](const std::string& one) {
                   return any(paths, [&](const std::string& path) { return is_of(path, one); });
               });
    };
    return is_in(selection_.cgroups, is_below) && is_in(selection_.containers, is_of_container);
}

// Also a process whose file was replaced by an upgrade.
bool Finder::has_mapped(pid_t pid) const
{
    return selection_.exes.empty() || any(selection_.exes, [&](const std::string& file) {
               const FoundMapping found = find_mapped(pid, file);
               return found.mapped || !found.replaced_by_other.empty();
           });
}

std::vector<pid_t> Finder::find(const std::set<pid_t>& traced)
{
    std::map<pid_t, Stat> processes;
    for (const pid_t pid : listed_processes())
        if (auto stat = read_stat(std::to_string(pid)); stat && pid != getpid() && !has_ended(stat->state))
            processes.emplace(pid, std::move(*stat));
    const auto is_gone = [&](const auto& known, uint64_t start) {
        const auto found = processes.find(known);
        return found == processes.end() || found->second.start != start;
    };
    std::erase_if(tree_, [&](const auto& member) { return is_gone(member.first, member.second); });
    std::erase_if(looked_at_, [&](const auto& look) { return is_gone(look.first, look.second.start); });
    for (bool more = !tree_.empty(); more;) {
        more = false;
        for (const auto& [pid, stat] : processes)
            if (tree_.contains(stat.parent))
                more = tree_.emplace(pid, stat.start).second || more;
    }
    std::vector<pid_t> found;
    for (const auto& [pid, stat] : processes) {
        if (traced.contains(pid) || !(tree_.contains(pid) || is_selected(pid, stat.name)))
            continue;
        try {
            const std::vector<Mapping> mappings = read_maps(pid);
            if (mappings.empty()) // a kernel thread
                continue;
            const auto vdso =
                std::find_if(mappings.begin(), mappings.end(), [](const Mapping& m) { return m.name == "[vdso]"; });
            Look now{stat.start, engine::modules_of(mappings), vdso == mappings.end() ? 0 : vdso->start};
            Look& look = looked_at_[pid];
            if (look == now)
                continue;
            look = std::move(now);
            if ((tree_.contains(pid) || has_mapped(pid)) && engine::means_any(script_, pid, mappings))
                found.push_back(pid);
        } catch (const Unusable& error) {
            // Whether one that nobody lets us look at has mapped a file cannot be known.
            if (selection_.exes.empty() && read_stat(std::to_string(pid))
                && looked_at_.try_emplace(pid, Look{stat.start, {}}).second)
                refused_.push_back({pid, error.what()});
        }
    }
    return found;
}

} // namespace fastsdt::trace_tool
