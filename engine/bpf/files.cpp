// SPDX-License-Identifier: BSD-2-Clause
#include "bpf/files.h"

#include "base/unusable.h"
#include "process/ahead.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <sys/stat.h>

namespace fastsdt::engine::bpf {
bool FilesAttached::all() const
{
    return unmatched.empty() && !may_be_others
        && std::all_of(states.begin(), states.end(), [](const SiteState& s) { return s.state == State::by_kernel; });
}

FilesAttached attach_to_files(Kernel& kernel, const Script& script, ProbeNames& names,
                              const std::vector<const Probe*>& probes)
{
    FilesAttached attached;
    struct File {
        std::string path; // not resolved: /proc/PID/root/... leads to another process's files
        std::vector<const Probe*> probes;
    };
    std::map<std::pair<dev_t, ino_t>, File> files;
    const auto want = [&](const std::string& path, const Probe* probe) {
        struct stat status{};
        if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) {
            attached.unmatched[probe] = fmt::format("there is no file {}", path);
            return;
        }
        File& file = files[{status.st_dev, status.st_ino}];
        file.path = path;
        file.probes.push_back(probe);
    };
    for (const Probe* const probe : probes) {
        attached.may_be_others = attached.may_be_others || is_pattern(probe->file) || only_a_name(probe->file);
        if (is_pattern(probe->file))
            attached.unmatched[probe] = fmt::format("{} is a pattern, and no file", probe->file);
        else if (uses(script, Value::symbol))
            attached.unmatched[probe] = "uaddr() is an address of each process";
        else if (only_a_name(probe->file)) {
            const std::set<std::string> found = libraries_named(probe->file);
            if (found.empty())
                attached.unmatched[probe] =
                    fmt::format("there is no program and no library {} where the system has them", probe->file);
            for (const std::string& library : found)
                want(library, probe);
        } else {
            want(resolve(probe->file), probe);
        }
    }
    for (const auto& [inode, file] : files)
        try {
            const Holder holder(file.path);
            ProcessView view(holder.pid());
            Matcher matcher(script, view, names, true);
            std::vector<Site> sites = matcher.find_new();
            std::erase_if(sites, [&](const Site& site) { return !holder.has(site.address); });
            const std::vector<SiteState> states = kernel.attach(holder.pid(), sites, view.mappings());
            std::move(sites.begin(), sites.end(), std::back_inserter(attached.sites));
            std::copy(states.begin(), states.end(), std::back_inserter(attached.states));
            attached.matched.insert(matcher.matched().begin(), matcher.matched().end());
            for (const Probe* const probe : file.probes)
                if (!matcher.matched().contains(probe))
                    attached.unmatched[probe] = matcher.instead(*probe);
        } catch (const Unusable& error) {
            for (const Probe* const probe : file.probes)
                attached.unmatched[probe] = error.what();
        }
    for (const Probe* const probe : attached.matched) // another library of that name may not have it
        attached.unmatched.erase(probe);
    return attached;
}

} // namespace fastsdt::engine::bpf
