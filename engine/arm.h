// SPDX-License-Identifier: BSD-2-Clause
// Sites from compiled to armed and back: which can be, where their stubs go, and what has become of them since.
#pragma once
#include "arena.h"
#include "target.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace fastsdt::engine {

/// What a site is, or why it cannot be armed.
enum class State {
    ready,        ///< it could be armed and is not
    armed,        ///< by us
    no_nop,       ///< nothing that can be exchanged at once: a nop1 or a push. Kernel only
    kernel,       ///< the kernel has a probe on the patchable instruction, or a debugger a breakpoint
    other_tracer, ///< another running tracer's jump
    other_run,    ///< by us for another script
    left_over,    ///< a jump of a tracer that has ended, or of a forked process' parent: arm() clears it away
    foreign,      ///< a jump of nobody whom we know
    changed,      ///< other bytes
    damaged,      ///< FASTSDT_STATE_DAMAGED: executing it breaks the stack pointer
    crosses_page, ///< the bytes that change lie on two pages
    not_private,  ///< its text is mapped shared or writable, or not executable, or cannot be read
    too_far,      ///< no free memory within reach
    busy,         ///< a thread kept standing where the change would tear an instruction
    obstructed,   ///< Target::obstacle()
    refused,      ///< it cannot be compiled
    gone,         ///< its module is not mapped any more
};

struct SiteState {
    State state = State::ready;
    uint32_t tracer = 0;  ///< other_tracer: its process
    std::string why = {}; ///< refused: Code::refusals; obstructed: Target::obstacle()
};
/// "armed", "has no nop10" (arm64: "nop"), "taken by the kernel", "taken by tracer 4711", ...: what follows "1 " in the line that sums up.
std::string text(const SiteState& state);

/// Stubs for sites in an arena, whose `code` here is where they begin. Called twice: the first time only the size counts,
/// and the arena is not there yet.
using Compile = std::function<Code(std::span<const Site> sites, const Arena& arena)>;

/// What arming the sites would come to, by site. Changes nothing. `ready` and `left_over` would be armed.
std::vector<SiteState> look(Target& target, std::span<const Site> sites);

/// A run: its sites, added as modules come.
class Arming {
public:
    /// @param data_size  bytes of the tables, not 0
    Arming(Target& target, Compile compile, size_t data_size);
    Arming(const Arming&) = delete;
    Arming& operator=(const Arming&) = delete;
    ~Arming(); ///< disarms, as far as it can

    /// Arms those of the sites that can be, and those again that are known and have lost their jump (a module that was
    /// unmapped and mapped again, a kernel's probe that came and went). What tracers that ended have left in the process is
    /// cleared away first.
    void arm(std::vector<Site> sites);
    /// Puts the file's bytes back wherever our jump still is. Afterwards nothing of ours is executed by a thread that
    /// comes to a site; the stubs stay mapped for those that are in one, and for arm(), which uses them again. A site that
    /// is `armed` still has a thread standing in it (which takes a debugger): try again.
    void disarm();
    /// Looks at all sites again: the kernel or another may have changed one.
    const std::vector<SiteState>& verify();

    /// All that arm() was given, in that order, and what has become of each.
    const std::vector<Site>& sites() const { return sites_; }
    const std::vector<SiteState>& states() const { return states_; }

private:
    void place(const std::vector<size_t>& sites);

    Target& target_;
    Compile compile_;
    size_t data_size_;
    uint64_t data_ = 0; // 0: not allocated yet
    std::vector<Site> sites_;
    std::vector<SiteState> states_;
    std::vector<Patch> patches_; // by site; length 0: it has no stub
    std::vector<Front> fronts_;
    bool jumps_ = false; // some may have been made and not been undone
};

} // namespace fastsdt::engine
