// SPDX-License-Identifier: BSD-2-Clause
// Arms sites and disarms them: which can be armed, where their stubs go, and what has become of them since.
#pragma once
#include "arming/arena.h"
#include "arming/target.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace fastsdt::engine {

/// Compiles the stubs of sites. They begin at the arena's `code`. Called twice: the first time for the size only,
/// before the arena is there.
using Compile = std::function<Code(std::span<const Site> sites, const Arena& arena)>;

/// What arming the sites would come to, by site: can_be_armed(), or the first reason against it. Changes nothing.
std::vector<SiteState> can_arm(Target& target, std::span<const Site> sites);

/// A run: its sites, added as modules come.
class Arming {
public:
    /// @param data_size  bytes of the tables, not 0
    Arming(Target& target, Compile compile, size_t data_size);
    Arming(const Arming&) = delete;
    Arming& operator=(const Arming&) = delete;
    ~Arming(); ///< disarms, as far as it can

    /// Arms those of the sites that can be armed, and again those that have lost their jump (a module was unmapped and
    /// mapped again, a kernel's probe came and went). First clears away what tracers that have ended left in the
    /// process. Throws Unusable, and then the process is as it was: call again, without the sites.
    void arm(std::vector<Site> sites);
    /// From the next arm() on the process's dynamic linker waits for us when it has mapped modules (code/loader.h), if
    /// it can be made to.
    void watch_loader() { watches_loader_ = true; }
    /// Puts the file's bytes back wherever our jump still is. Afterwards no thread enters a stub. The stubs stay
    /// mapped: a thread may still be in one, and arm() uses them again. If a site is still `armed`, a thread stands in
    /// it (only a debugger can cause that): try again.
    void disarm();
    /// Looks at all sites again: the kernel or another tracer may have changed one.
    const std::vector<SiteState>& verify();

    /// All that arm() was given, in that order, and what has become of each.
    const std::vector<Site>& sites() const { return sites_; }
    const std::vector<SiteState>& states() const { return states_; }

private:
    void add(std::vector<Site> sites);
    void place(const std::vector<size_t>& sites);
    void place_group(const std::vector<size_t>& sites);
    void jump();
    void arm_loader();
    bool disarm_loader();

    Target& target_;
    Compile compile_;
    size_t data_size_;
    uint64_t data_ = 0; // 0: not allocated yet
    std::vector<Site> sites_;
    std::vector<SiteState> states_;
    std::vector<Patch> patches_;      // by site; length 0: it has no stub
    std::vector<SiteState> refusals_; // by site: ready, or why it cannot have one
    std::vector<Front> fronts_;
    bool watches_loader_ = false;
    Patch loader_{.length = 0}; // of the dynamic linker's function; length 0: it has no stub
    bool jumps_ = false;        // some jumps may have been made and not undone
};

} // namespace fastsdt::engine
