// SPDX-License-Identifier: BSD-2-Clause
// Which processes a run traces beside those that were named: those that are like what the options say, and programs that descendants of
// traced processes execute.
#pragma once
#include "live/live.h"
#include "options.h"
#include "script/script.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace fastsdt::trace_tool {

class Finder {
public:
    /// @param selection, script  have to outlive it
    Finder(const Selection& selection, const engine::Script& script) : selection_(selection), script_(script) {}

    /// From now on descendants of this process are found.
    void add_root(pid_t pid);
    /// The next look gives it again, whatever it has mapped: it executes another program, or could not be attached to.
    void forget(pid_t pid) { looked_at_.erase(pid); }

    /// Processes that may be traced: they have mapped a file that the script means, and not when they were given the last time.
    /// Reads files of all processes.
    /// @param traced  these are not looked at
    std::vector<pid_t> find(const std::set<pid_t>& traced);

    struct Refused {
        pid_t pid = 0;
        std::string why; ///< a sentence
    };
    /// Processes that are wanted and cannot be looked at, each of them once.
    std::vector<Refused> take_refused() { return std::exchange(refused_, {}); }

private:
    bool is_selected(pid_t pid, const std::string& name) const;
    bool has_mapped(pid_t pid) const;

    const Selection& selection_;
    const engine::Script& script_;
    std::map<pid_t, uint64_t> tree_; // by process: its start
    struct Look {
        uint64_t start = 0;
        std::vector<std::string> modules; // empty: it could not be looked at
        uint64_t vdso = 0;                // where it is: another program has it elsewhere
        bool operator==(const Look&) const = default;
    };
    std::map<pid_t, Look> looked_at_;
    std::vector<Refused> refused_;
};

} // namespace fastsdt::trace_tool
