// SPDX-License-Identifier: BSD-2-Clause
//
// By looks at /proc, which the kernel's events cause where it tells of them. Elsewhere what begins and ends between two looks is not seen, nor
// is a descendant whose parent has ended before it was seen itself.
#include "finder.h"

#include "process/match.h"
#include "base/unusable.h"
#include "process.h"
#include "process/follow.h"
#include "proc/threads.h"
#include "proc/processes.h"

#include <algorithm>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace fastsdt::trace_tool {

namespace fs = std::filesystem;

void Finder::add_root(pid_t pid)
{
    if (const auto stat = read_stat(std::to_string(pid)))
        tree_[pid] = stat->start;
}

// Also a process whose file was replaced by an upgrade.
bool Finder::has_mapped(pid_t pid, const std::vector<Mapping>& mappings) const
{
    return selection_.of(Way::exe).empty()
        || std::ranges::any_of(selection_.of(Way::exe), [&](const std::string& file) {
               const FoundMapping found = find_mapped(pid, file, mappings);
               return found.mapped || !found.replaced_by_other.empty();
           });
}

// The file of --exe, by its inode and the last part of its name: the device that the kernel tells is not that of stat() on overlayfs and btrfs.
// @param inodes  of the files; 0: there is none
bool Finder::is_wanted_file(const Arrivals::Event& event, const std::vector<uint64_t>& inodes) const
{
    for (size_t i = 0; i < inodes.size(); ++i)
        if (inodes[i] != 0 && inodes[i] == event.inode
            && fs::path(event.file).filename() == fs::path(selection_.of(Way::exe)[i]).filename())
            return true;
    return false;
}

bool Finder::hear()
{
    if (!arrivals_)
        return false;
    bool news = false;
    const std::vector<Arrivals::Event> events = arrivals_->take();
    if (arrivals_->take_lost())
        lost_ = lost_changes_ = true;
    // Looked up behind the events: a file that replaces another is there before anybody maps it. A busy machine maps thousands a second.
    std::vector<uint64_t> inodes;
    for (const std::string& exe : selection_.of(Way::exe)) {
        struct stat status{};
        inodes.push_back(!events.empty() && stat(exe.c_str(), &status) == 0 ? status.st_ino : 0);
    }
    for (const Arrivals::Event& event : events) {
        if (const pid_t changed = event.parent ? event.parent : event.pid; settled_.contains(changed))
            changed_.insert(changed);
        if (event.parent == event.pid)
            continue;
        if (event.parent) {
            forked_ = forked_ || tree_.contains(event.parent) || of_wanted_file_.contains(event.parent);
            if (tree_.contains(event.parent)) {
                const auto stat = read_stat(std::to_string(event.pid));
                tree_.emplace(event.pid, stat ? stat->start : 0); // 0: it has ended, but may have forked
            }
            continue;
        }
        const bool settled = settled_.contains(event.pid);
        if (settled && !tree_.contains(event.pid))
            continue;
        if (!settled && is_wanted_file(event, inodes))
            of_wanted_file_.insert(event.pid);
        if (!of_wanted_file_.contains(event.pid) && !tree_.contains(event.pid))
            continue;
        Mapping mapping;
        mapping.name = event.file;
        mapping.inode = event.inode;
        if (!engine::means_any(script_, engine::ProcessView(event.pid), {mapping}))
            continue;
        if (settled) // it is traced, and may have executed another program: look() finds that, and then it is attached to again
            news = true;
        else
            news = told_.try_emplace(event.pid, std::chrono::nanoseconds(event.time)).second || news;
    }
    return news;
}

std::optional<std::chrono::steady_clock::time_point> Finder::take_told(pid_t pid)
{
    const auto told = told_.extract(pid);
    return told ? std::optional(told.mapped()) : std::nullopt;
}

size_t Finder::take_missed(bool at_end)
{
    const auto has_gone = [](pid_t pid) {
        const auto stat = read_stat(std::to_string(pid));
        return !stat || has_ended(stat->state);
    };
    return std::erase_if(told_, [&](const auto& told) {
        const pid_t pid = told.first;
        const bool missed = at_end || has_gone(pid);
        if (missed)
            settle(pid); // more may be told of it
        return missed;
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
    const std::set<pid_t> ended_before = std::exchange(ended_, {});
    const auto is_done_with = [&](pid_t pid, bool gone) {
        if (gone)
            ended_.insert(pid);
        return gone && (!arrivals_ || ended_before.contains(pid));
    };
    std::erase_if(tree_, [&](const auto& one) { return is_done_with(one.first, is_gone(one.first, one.second)); });
    for (std::set<pid_t>* const known : {&of_wanted_file_, &settled_})
        std::erase_if(*known, [&](pid_t pid) { // a traced one may live without its first thread
            return !traced.contains(pid) && is_done_with(pid, !processes.contains(pid));
        });
    std::erase_if(looked_at_, [&](const auto& look) { return is_gone(look.first, look.second.start); });
    for (bool more = !tree_.empty(); more;) {
        more = false;
        for (const auto& [pid, stat] : processes)
            if (tree_.contains(stat.parent))
                more = tree_.emplace(pid, stat.start).second || more;
    }
    std::vector<pid_t> found;
    selected_ = 0;
    for (const auto& [pid, stat] : processes) {
        if (traced.contains(pid))
            continue;
        const bool selected = selection_.fits(pid, stat.name);
        selected_ += selected;
        if (!selected && !tree_.contains(pid))
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
            if (!tree_.contains(pid) && !has_mapped(pid, mappings))
                continue;
            if (!selection_.of(Way::exe).empty())
                of_wanted_file_.insert(pid);
            if (engine::means_any(script_, engine::ProcessView(pid), mappings))
                found.push_back(pid);
        } catch (const Unusable& error) {
            // Whether one that nobody lets us look at has mapped a file cannot be known.
            if (selection_.of(Way::exe).empty() && read_stat(std::to_string(pid))
                && looked_at_.try_emplace(pid, Look{stat.start, {}}).second)
                refused_.push_back({pid, error.what()});
        }
    }
    return found;
}

} // namespace fastsdt::trace_tool
