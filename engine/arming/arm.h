// SPDX-License-Identifier: BSD-2-Clause
// Arms sites and disarms them: which can be armed, where their stubs go, and what has become of them since.
#pragma once
#include "arming/arena.h"
#include "arming/target.h"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fastsdt::engine {

/// Compiles the stubs of sites. They begin at the arena's `code`. Called twice: the first time for the size only,
/// before the arena is there.
using Compile = std::function<Code(std::span<const Site> sites, const Arena& arena)>;

/// What the tables hold at first: maps/tables.h.
using FirstWords = std::function<std::vector<FirstWord>(Window)>;

/// What arming the sites would come to, by site: can_be_armed(), or the first reason against it. Changes nothing.
std::vector<SiteState> can_arm(Target& target, std::span<const Site> sites);

/// Of a process that was forked from one that this process traces: puts the file's bytes back, and unmaps what no thread can come
/// back to. Returns whether it had jumps. Throws Unusable.
bool clear_forked(Target& target);

/// What a process has of an Arming's stubs.
enum class Copy {
    none,
    part,  ///< it was forked before all jumps were made, or a module with some was mapped anew in it
    whole, ///< its hits are recorded
    same   ///< it is the process itself, or one that shares its memory, as a child of vfork does
};

/// A run: its sites, added as modules come.
/// What arming takes of the target's memory.
struct Cost {
    size_t pages = 0; ///< of code, which are copied
    size_t stubs = 0; ///< bytes, with what tells of them
    size_t bytes() const { return pages * smallest_page + stubs; }
};

class Arming {
public:
    /// @param needs  of the tables; not 0  @param follows  Front::follows
    Arming(
        Target& target, Compile compile, Needs needs,
        FirstWords first = [](Window) { return std::vector<FirstWord>(); }, bool follows = false);
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
    bool hears_loader() { return is_made(loader_); } ///< its stub asks
    /// From the next arm() on the process waits for us before it executes another program (code/executing.h), if it can be made to.
    void watch_executing() { watches_executing_ = true; }
    /// Puts the file's bytes back wherever our jump still is. Afterwards no thread enters a stub. The stubs stay
    /// mapped: a thread may still be in one, and arm() uses them again. If a site is still `armed`, a thread stands in
    /// it (only a debugger can cause that): try again. Throws Unusable; if no site is `armed` then, only pages stay writable.
    void disarm();
    /// Undoes the jumps in place of instructions that may raise a signal that is handled now (Fault), and makes them no more:
    /// State::handles_faults. Where a thread stands in one it stays: call again.
    void withdraw_faulting(uint8_t handled);
    /// The same in a process that was forked from this one; here they stay. @return  how many were there and are undone
    size_t withdraw_faulting_in(Target& fork, uint8_t handled) const;
    /// Fault, of all sites that may have such a jump.
    uint8_t faults() const;
    /// Looks at all sites again: the kernel or another tracer may have changed one, or the program the rights of their pages.
    const std::vector<SiteState>& verify();

    /// What another process has, which was forked from this one perhaps. @param gave_up  Fault: withdraw_faulting_in() may have
    /// taken those from it
    Copy copy_in(Target& other, uint8_t gave_up = 0) const;

    /// Its arenas so far.
    const std::vector<Front>& fronts() const { return fronts_; }
    /// The tables; of size 0 as long as nothing was to be armed.
    Window window() const { return window_; }

    /// All that arm() was given, in that order, and what has become of each.
    const std::vector<Site>& sites() const { return sites_; }
    const std::vector<SiteState>& states() const { return states_; }

private:
    void arm_all();
    bool release_all();
    std::vector<Patch> faulting(uint8_t handled) const;
    std::vector<Range> unfinished();
    void release_unfinished();
    void add(std::vector<Site> sites);
    struct Stubs;
    void place(const std::vector<size_t>& sites, const std::vector<Mapping>& mappings);
    void refuse_cost(const std::vector<size_t>& sites, const std::vector<Stubs>& wanted);
    Stubs stubs_for(const std::vector<size_t>& sites);
    Stubs lone_stub(uint64_t at, std::function<std::vector<std::byte>(const Arena&)> stub,
                    std::function<Patch(uint64_t stub)> jump, Patch& made) const;
    std::optional<Stubs> stubs_for_loader(const std::vector<Mapping>& mappings);
    void make(std::vector<Stubs> wanted, const std::vector<Mapping>& mappings);
    void prepare_tables();
    void make(const Stubs& stubs, const Arena& arena);
    void guard(std::vector<Patch>& patches);
    void look_again(std::vector<SiteState>& found);
    void guard_again(const std::vector<Mapping>& mappings);
    void jump();
    std::optional<Stubs> stubs_for_executing(const std::vector<Mapping>& mappings);
    std::optional<Patch> jump_of_loader();
    std::optional<Patch> jump_of_executing();
    bool guard_executing();
    bool is_made(const Patch& patch);
    void take_states(const std::vector<SiteState>& found);

    Target& target_;
    Compile compile_;
    Needs needs_;
    FirstWords first_;
    Window window_;         // of size 0: not allocated yet
    bool prepared_ = false; // it has its first words
    std::vector<Site> sites_;
    std::vector<SiteState> states_;
    std::vector<Patch> patches_;      // by site; length 0: it has no stub
    std::vector<SiteState> refusals_; // by site: ready, or why it cannot have one
    std::vector<Front> fronts_;
    const uint64_t number_;
    const bool follows_;
    bool watches_loader_ = false;
    Patch loader_{.length = 0}; // of the dynamic linker's function; length 0: it has no stub
    bool watches_executing_ = false;
    Patch executing_{.length = 0}; // of execve(); the same
    bool entered_ = false;         // there have been jumps: a thread may be in a stub
    bool jumps_ = false;           // some jumps may have been made and not undone
};

} // namespace fastsdt::engine
