// SPDX-License-Identifier: BSD-2-Clause
// Probes on files that no process has mapped yet, so that the first hit of whoever executes or loads them counts.
#pragma once
#include "process/match.h"
#include "bpf/kernel.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace fastsdt::engine::bpf {

struct FilesAttached {
    std::vector<Site> sites; ///< addresses are of no process that lives
    std::vector<SiteState> states;
    std::set<const Probe*> matched;
    std::map<const Probe*, std::string> unmatched; ///< the others: why they have no site in their files
    bool may_be_others = false; ///< files that a FILE means too: it is a pattern, or a library's name
    /// Whether these are all of the script's sites, whoever comes: each FILE is a file, has what the probe names, and all of that is attached.
    bool all() const;
};

/// Attaches to the files that these of the script's probes name.
FilesAttached attach_to_files(Kernel& kernel, const Script& script, ProbeNames& names,
                              const std::vector<const Probe*>& probes);

} // namespace fastsdt::engine::bpf
