// SPDX-License-Identifier: BSD-2-Clause
// Sites from compiled to armed and back: which can be, where their stubs go, and what has become of them since.
#pragma once
#include "target.h"

#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace fastsdt::engine {

/// What a site is, or why it cannot be armed.
enum class State {
    ready,        ///< it could be armed and is not
    armed,        ///< by us
    no_nop,       ///< nothing that can be exchanged at once: a nop1 or a push. Kernel only
    kernel,       ///< the kernel has a probe on the patchable instruction, or a debugger a breakpoint
    other_tracer, ///< another running tracer's jump
    left_over,    ///< a jump of a tracer that has ended: arm() takes it over
    foreign,      ///< a jump that is nobody's whom we know
    changed,      ///< other bytes
    damaged,      ///< FASTSDT_STATE_DAMAGED: executing it breaks the stack pointer
    crosses_page, ///< the bytes that change lie on two pages
    not_private,  ///< the text is mapped shared, or writable, or its memory cannot be read
    too_far,      ///< no free memory within reach
    busy,         ///< a thread kept standing where the change would tear an instruction
};
/// "armed", "has no nop10", "taken by the kernel", ...: what follows "1 " in the line that sums up.
std::string_view text(State state);

struct SiteState {
    State state = State::ready;
    int tracer = 0; ///< other_tracer: its process
};

/// Stubs for sites in an arena. Called twice: the first time only the size counts, and the arena is not there yet.
using Compile = std::function<Code(std::span<const Site> sites, const Arena& arena)>;

/// A run: its sites, added as modules come. Disarms when it ends.
class Arming {
public:
    /// @param data_size  bytes of the tables, not 0
    Arming(Target& target, Compile compile, size_t data_size);
    Arming(const Arming&) = delete;
    Arming& operator=(const Arming&) = delete;
    ~Arming(); ///< disarms, as far as it can

    /// What arm() would say, changing nothing: for --dry-run. `ready` and `left_over` would be armed.
    static std::vector<SiteState> look(Target& target, std::span<const Site> sites);

    /// Adds sites and arms those that can be, at one stop. @return by site. Throws Unusable where nothing can be.
    std::vector<SiteState> arm(std::vector<Site> sites);
    /// Puts the file's bytes back wherever our jump still is. Afterwards nothing of ours is executed by a thread that
    /// comes to a site; the stubs stay mapped for those that are in one.
    void disarm();
    /// Looks at all sites again: the kernel or another may have changed one. By site, in the order in which they came.
    const std::vector<SiteState>& verify();

    const std::vector<Site>& sites() const { return sites_; }
    const std::vector<SiteState>& states() const { return states_; }

private:
    Target& target_;
    Compile compile_;
    uint64_t data_ = 0;
    std::vector<Site> sites_;
    std::vector<SiteState> states_;
    std::vector<Patch> patches_; // Patch::site: index in sites_
};

} // namespace fastsdt::engine
