// SPDX-License-Identifier: BSD-2-Clause
// Which sites of a process a script means. Matches the names of the script's probes, which may be patterns, with the
// notes of every file that the process has mapped.
#pragma once
#include "code/site.h"
#include "live/live.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <sys/types.h>
#include <tuple>
#include <vector>

namespace fastsdt::engine {

/// The matches of a run. When modules have come it looks again; it gives each site once.
class Matcher {
public:
    /// @param script  has to outlive it
    Matcher(const Script& script, pid_t pid);

    /// Sites that the last look did not find. A site that cannot be armed is among them, with Site::patch 0.
    /// Throws Unusable when the process cannot be read.
    std::vector<Site> find_new();

    /// By Site::probe, the name of a probe: "usdt:./app:shop:order".
    const std::vector<std::string>& probes() const { return probes_; }
    /// Probes of the script that no look has matched so far.
    std::vector<const Probe*> unmatched() const;
    /// Which probes there are instead of one that no look has matched: "its probes are shop:closed, shop:order".
    std::string instead(const Probe& probe) const;
    /// Files that could not be read at the last look, each one line.
    const std::vector<std::string>& troubles() const { return troubles_; }

private:
    /// Another file may come to the place of one that went. One address can have several kinds: a function may begin with a probe's site, and if no exits were recorded the
    /// entry stands for them.
    using Key = std::tuple<uint64_t, Probe::Kind, std::string, uint64_t>;

    bool means(const Probe& probe, const LiveFile& file);
    void match(const LiveFile& file, std::map<Key, Site>& sites, size_t clause, const Probe& probe);
    size_t probe_index(const Probe& probe, const LiveFile& file, const LiveSite& site);

    const Script& script_;
    const pid_t pid_;
    std::vector<std::string> probes_;
    std::map<std::string, size_t> probe_indexes_;
    std::set<Key> known_; // of the last look
    std::set<const Probe*> matched_;
    std::map<const Probe*, std::set<std::string>> others_;          // names of the same kind in the probe's files
    std::map<std::pair<std::string, std::string>, bool> same_file_; // by the script's file and the process'
    std::vector<std::string> troubles_;
};

} // namespace fastsdt::engine
