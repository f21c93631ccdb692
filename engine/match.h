// SPDX-License-Identifier: BSD-2-Clause
// Which sites of a process a script means: its probes' names, which may be patterns, against the notes of every file
// that the process has mapped.
#pragma once
#include "arming.h"
#include "live.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <sys/types.h>
#include <tuple>
#include <vector>

namespace fastsdt::engine {

/// A run's matches: looks again when modules have come, and gives each site once.
class Matcher {
public:
    /// @param script  has to outlive it
    Matcher(const Script& script, pid_t pid);

    /// Sites that the last look did not have. Those that cannot be armed are among them, with Site::patch 0.
    /// Throws Unusable when the process cannot be read.
    std::vector<Site> look();

    /// What Site::probe is an index of: "usdt:./app:shop:order".
    const std::vector<std::string>& probes() const { return probes_; }
    /// Probes of the script that no look has matched so far.
    std::vector<const Probe*> unmatched() const;
    /// What is there instead of a probe that no look has matched: "its probes are shop:closed, shop:order".
    std::string instead(const Probe& probe) const;
    /// Files that could not be read at the last look, each one line.
    const std::vector<std::string>& troubles() const { return troubles_; }

private:
    /// A function may begin with a probe's site, and an entry may stand for exits that were not recorded.
    using Key = std::tuple<uint64_t, Probe::Kind>;

    bool means(const Probe& probe, const LiveFile& file);
    void match(const LiveFile& file, std::map<Key, Site>& sites, size_t clause, const Probe& probe);
    size_t probe_index(const Probe& probe, const LiveFile& file, const LiveSite& site);

    const Script& script_;
    const pid_t pid_;
    std::vector<std::string> probes_;
    std::map<std::string, size_t> probe_indexes_;
    std::set<Key> known_; // of the last look
    std::set<const Probe*> matched_;
    std::map<const Probe*, std::set<std::string>> others_;          // names of its kind in the files that it means
    std::map<std::pair<std::string, std::string>, bool> same_file_; // by the script's file and the process'
    std::vector<std::string> troubles_;
};

} // namespace fastsdt::engine
