// SPDX-License-Identifier: BSD-2-Clause
// What a process has where sites are: whose jump stands there, if any, and whether one can be made.
#pragma once
#include "arming/arena.h"
#include "arming/target.h"
#include "proc/maps.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace fastsdt::engine {

/// The process's mappings and arenas, read once for many sites.
struct ArenaView {
    /// @param forked  it is the copy of a process that we trace, and our stubs are nobody's there
    explicit ArenaView(Target& of, bool forked = false);

    const Front* arena_of(uint64_t address) const
    {
        for (const Front& front : arenas)
            if (address >= front.start && address - front.start < front.size)
                return &front;
        return nullptr;
    }
    // Whether the tracer of one of the arenas does, as far as is known.
    bool runs(const Front& front) const
    {
        const auto [found, added] = runs_.try_emplace(&front, false);
        if (added)
            found->second = front.tracer.may_run();
        return found->second;
    }
    // Whether text is writable because a tracer keeps the kernel's probes away: Target::guard().
    bool is_guarded(const Mapping& mapping) const { return guarded.contains(mapping.start); }

    Target& target;
    std::vector<Mapping> mappings;
    std::vector<Front> arenas;
    std::set<uint64_t> guarded; // by start

private:
    mutable std::map<const Front*, bool> runs_;
};

/// `data`: the tables of the run that asks; 0: no run asks.
SiteState can_arm(const ArenaView& view, const Site& site, std::span<const std::byte> bytes, uint64_t data);
std::vector<SiteState> states_of(const ArenaView& view, std::span<const Site> sites, uint64_t data);
/// Nobody has the site. A kernel's former call may still be the end of the nop10, and a thread may stand before that
/// call: patch() looks for such a thread when all are stopped.
bool is_idle(std::span<const std::byte> bytes);
/// What stands in place of a patch.
std::vector<std::byte> bytes_at(Target& target, const Patch& patch);
bool is_text_of_file(const Mapping* mapping);
bool holds(std::span<const std::byte> bytes, const Patch& patch, const std::array<std::byte, 8>& wanted);
/// Whether our jump may be there, also beneath a breakpoint of the kernel or of a debugger, which puts back what it hides.
bool may_hold(Target& target, const Patch& patch);
/// Pages that lie in one mapping and near each other, as ranges.
std::vector<Range> ranges_of(const ArenaView& view, const std::set<uint64_t>& pages);
uint64_t page_of(const Patch& patch);
/// Lets the kernel have its probes again where no jump needs the guard any more. To be called in Target::alone(), as jumps are made: a tracer
/// that runs has made its own, or has not begun. So whoever is the last to undo some takes the guard away, also where the others have not
/// released their memory yet. @return  whether that could be done
bool unguard(const ArenaView& view);
Range code_of(const Front& front);

/// An arena whose tracer was killed before it wrote the front. What is there may have been mapped by somebody else since.
std::optional<Range> arena_without_front(const ArenaView& view, const Range& arena);
/// Undoes the jumps of tracers that have ended. A front may be forged: so a jump is undone only if it leads into an
/// arena of such a tracer, and only to a nop or to what the file has. @return  whether there may have been something, so that `view` is out of
/// date
bool clear_left_overs(const ArenaView& view, bool forked, bool* jumps = nullptr);

} // namespace fastsdt::engine
