// SPDX-License-Identifier: BSD-2-Clause
// Which sites of a process a script means. Matches the names of the script's probes, which may be patterns, with the
// notes of every file that the process has mapped.
#pragma once
#include "base/nearest.h"
#include "code/site.h"
#include "live/live.h"
#include "process/view.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace fastsdt::engine {

/// The file that a script's FILE means. As in bpftrace: a name without a slash that is no file of the current directory is looked for in
/// PATH; what is not found stays as it is.
std::string resolve(const std::string& file);
/// Whether FILE is no path and no program here, but may be a library's name: "libc.so.6", or "libc", as bpftrace has it.
bool only_a_name(const std::string& file);
/// Whether such a FILE means the library whose file has this name.
bool is_library(const std::string& file, const std::string& name);

/// For which signals that instructions may raise a process has a handler now: Fault. Always for divisions: few functions begin or end with
/// one, and a handler that comes sees none of a stub, not even before we see the handler.
uint8_t handled_faults(const ProcessView& view);

/// The numbers that maps and events have for names of probes, such as "usdt:./app:shop:order": of all processes of a run.
class ProbeNames {
public:
    size_t number_of(const std::string& name);
    /// Of a site that has everything but its number. @param apart  sites of one name whose arguments differ get different numbers
    size_t number_of(const std::string& name, const Site& site, bool apart);
    const std::vector<std::string>& names() const { return names_; } ///< by number
    const Site* site(size_t number) const ///< the first that got the number; nullptr: none has it
    {
        const auto found = sites_.find(number);
        return found == sites_.end() ? nullptr : &found->second;
    }

private:
    std::vector<std::string> names_;
    std::map<std::string, size_t> numbers_;
    std::map<size_t, Site> sites_;
};

/// Of all clauses; the others are of no file.
std::vector<const Probe*> probes_with_sites(const Script& script);
/// Those that are not among these; none where the script ignores probes that match nothing.
std::vector<const Probe*> unmatched_probes(const Script& script, const std::set<const Probe*>& matched);

/// Whether some probe of the script means a file of those that a process has mapped.
bool means_any(const Script& script, const ProcessView& view, const std::vector<Mapping>& mappings);

/// The matches of a process. When modules have come it looks again; it gives each site once.
class Matcher {
public:
    /// @param script, view, names  have to outlive it
    /// @param moves  functions and probes count too that need instructions moved
    /// @param stops_threads  as Target has it: without that none are moved, and functions are found to say so
    /// @param moves_faulting  instructions that may fault too, where the process handles that
    Matcher(const Script& script, ProcessView& view, ProbeNames& names, bool moves, bool moves_faulting = false,
            bool stops_threads = true);

    /// What decides, besides the file, whether instructions can be moved.
    struct Traits {
        uint8_t handled_faults = 0;    ///< Fault: its handler is not to see a stub's address
        bool has_shadow_stack = false; ///< a return goes nowhere but behind the call
        bool stops_threads = true;     ///< while instructions change
    };

    /// Sites in what the view has seen mapped that the last call did not find. A site that cannot be armed is among them, with Site::patch 0.
    /// Throws Unusable when the process cannot be read.
    std::vector<Site> find_new();

    /// Probes of the script that some look has matched.
    const std::set<const Probe*>& matched() const { return matched_; }
    /// Whether some probe may mean a library, one that comes later too.
    bool means_libraries() const;
    /// Probes of the script that no look has matched so far.
    std::vector<const Probe*> unmatched() const;
    /// Which probes there are instead of one that no look has matched: "its probes are shop:closed, shop:order".
    std::string instead(const Probe& probe) const;
    /// Files that could not be read at the last look, each one line.
    const std::vector<std::string>& troubles() const { return troubles_; }

private:
    /// Another file may come to the place of one that went. One address can have several kinds: a function may begin with a probe's
    /// site, and if no exits were recorded the entry stands for them.
    using Key = std::tuple<uint64_t, Probe::Kind, std::string, uint64_t>;

    bool means(const Probe& probe, const std::string& path);
    Unrecorded unrecorded();
    void find_stripped();
    static void share_patches(std::map<Key, Site>& sites);
    const std::set<uint64_t>& addresses(const Probe& probe, const std::string& path);
    bool same_name(const Probe& probe, const LiveFile& file, const LiveSite& site);
    void find_near(const Probe& probe, const std::vector<Function>& functions);
    void match(const LiveFile& file, std::map<Key, Site>& sites, size_t clause, const Probe& probe);
    size_t number_of(const Probe& probe, const LiveFile& file, const Site& site);

    const Script& script_;
    ProcessView& view_;
    ProbeNames& names_;
    const bool wants_functions_; // by `func`
    const bool apart_;           // a clause has a number of arguments
    const bool moves_, moves_faulting_, stops_threads_;
    Traits traits_;
    std::set<Key> known_; // of the last look
    std::set<const Probe*> matched_;
    std::map<const Probe*, std::set<std::string>> others_; // names of the same kind in the probe's files
    std::map<std::string, std::string> stripped_;          // files of functions that were not found: what they lack
    std::map<std::pair<const Probe*, std::string>, std::set<uint64_t>>
        addresses_; // by the process's file: those that are given
    std::map<std::pair<const Probe*, std::string>, std::set<uint64_t>>
        instructions_;                                          // by the process's file: that are no function's first
    std::map<const Probe*, std::string> misplaced_;             // why there is no instruction
    std::map<const Probe*, NearestPattern> near_;               // a function of nearly that name
    std::map<const Probe*, std::string> no_functions_;          // a usdt probe of that name, where a function is meant
    std::map<std::pair<std::string, std::string>, bool> means_; // by the script's file and the process's
    std::vector<std::string> troubles_;
};

} // namespace fastsdt::engine
