// SPDX-License-Identifier: BSD-2-Clause
// Sites that only the kernel's probes can have, in a run of the user engine: bpftrace counts there, and what its maps hold is added.
#pragma once
#include "bpftrace.h"
#include "code/site.h"
#include "maps/maps.h"
#include "options.h"
#include "process.h"
#include "script/script.h"
#include "session.h"

#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace fastsdt::trace_tool {

/// Whether what two engines count can be added up: at sites the script only counts, each hit by itself, in maps with keys that bpftrace's
/// JSON tells.
bool adds_up(const engine::Script& script);

/// The sites that bpftrace gets. It attaches to all of a probe.
class KernelSites {
public:
    /// Those of probes that have a site which the user engine cannot arm. None: one engine has to have all.
    /// @param preview  of the process
    KernelSites(const engine::Session::Preview& preview, const engine::Script& script);

    bool empty() const { return sites_.empty(); }
    const std::vector<engine::Site>& sites() const { return sites_; }
    bool has_exits() const; ///< of functions: the kernel has return probes for these
    /// Whether it is of such a probe.
    bool has(const engine::Site& site) const;

private:
    std::set<std::tuple<engine::Probe::Kind, std::string, std::string, std::string>> probes_;
    std::vector<engine::Site> sites_;
};

class KernelPart {
public:
    /// @param options  with the process's number. Throws Unusable.
    KernelPart(const Options& options, const engine::Script& script, const KernelSites& sites, Signals& signals);

    /// Waits until all probes are attached. @return  false: they are not, and bpftrace has ended. Ends the program at a signal.
    bool attach();
    /// Readable where take() has something to do; -1: never again.
    int descriptor() const { return over_ ? -1 : bpftrace_.output(); }
    void take();
    /// What it has counted, as of its last print: up to 0.2 s ago.
    const engine::Maps& read() const { return maps_; }
    /// Detaches. What it has counted in all is what read() gives from then on. @return  false: that is lost
    bool finish();
    size_t sites() const { return sites_; }

private:
    void take_line(std::string_view line);

    const engine::Script& script_;
    const size_t sites_;
    Signals& signals_;
    const std::string last_map_; ///< that is printed last
    Bpftrace bpftrace_;
    std::string held_; ///< of a line whose end has not come
    bool attached_ = false, over_ = false;
    bool unreadable_ = false;      ///< something that it printed is not what is known here
    engine::Maps printing_, maps_; ///< what is being printed, and what was, to its end
};

} // namespace fastsdt::trace_tool
