// SPDX-License-Identifier: BSD-2-Clause
// The front of an arena: what a later run has to know of the stubs behind it. It lies in memory of the target, which may
// write there what it likes: nothing in it is believed that can be checked.
#pragma once
#include "target.h"

#include <cstdint>
#include <vector>

namespace fastsdt::engine {

/// Who traces. A process number alone would soon be another's.
struct Tracer {
    uint32_t pid = 0;           ///< 0: nobody any more
    uint64_t start_time = 0;    ///< clock ticks after boot: field 22 of /proc/PID/stat
    uint64_t pid_namespace = 0; ///< inode

    bool operator==(const Tracer&) const = default;
    static Tracer self();
    /// It runs, or it cannot be seen from here.
    bool may_run() const;
};

struct Front {
    static constexpr uint32_t version = 1;
    uint64_t start = 0; ///< runtime address of the arena
    uint64_t size = 0;  ///< of its code mapping
    uint64_t mark = 0, data = 0;
    Tracer tracer;
    std::vector<Patch> patches; ///< written before the first of them is made; Patch::site does not count
};

/// Bytes of a front, a multiple of 64.
size_t size_of_front(size_t patches);
std::vector<std::byte> encode(const Front& front);
/// All arenas that are mapped in the target, by address. One whose mark has been wiped is a forked process' copy, and
/// nobody's.
std::vector<Front> find_arenas(Target& target);

} // namespace fastsdt::engine
