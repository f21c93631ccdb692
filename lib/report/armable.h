// SPDX-License-Identifier: BSD-2-Clause
// What fastsdt-trace can arm in a file that was built without room for it: entries, exits, and sites of one byte.
#pragma once
#include "movable/movable.h"
#include "elf/image.h"
#include "elf/notes.h"

#include <array>
#include <cstddef>
#include <functional>
#include <vector>

namespace fastsdt {

struct ArmableFunction {
    const Function& function;
    Window entry;
    std::vector<Window> exits;
    size_t movable_exits() const;
};

struct ArmableSite {
    const ProbeNote& probe;
    Window window;
};

/// Of one file.
struct ArmableCounts {
    struct Share {
        size_t all = 0, movable = 0;
    };
    Share entries, exits, sites;
    size_t may_fault = 0; ///< of the entries that can be moved: fault_memory
    size_t whole = 0;     ///< functions: the entry and all exits
    static constexpr size_t obstacles = 64;
    /// By Obstacle: how many entries, exits and sites have it.
    std::array<std::array<size_t, 3>, obstacles> why{};
};

/// Visits the functions of the symbol table by address, then the probes that have no record, as systemtap's header makes them.
ArmableCounts armable(const Image& image, const Notes& notes,
                      const std::function<void(const ArmableFunction&)>& function,
                      const std::function<void(const ArmableSite&)>& site);

} // namespace fastsdt
