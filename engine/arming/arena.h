// SPDX-License-Identifier: BSD-2-Clause
// The front of an arena tells a later run about the stubs behind it. The front lies in the target's memory, and the
// target may write anything there: whatever can be checked is checked.
#pragma once
#include "arming/target.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace fastsdt::engine {

/// Who traces. A process number alone is not enough: the kernel gives it to another process later.
struct Tracer {
    uint32_t pid = 0;           ///< 0: nobody
    uint64_t start_time = 0;    ///< clock ticks after boot: field 22 of /proc/PID/stat
    uint64_t pid_namespace = 0; ///< inode

    bool operator==(const Tracer&) const = default;
    static Tracer self();
    /// It runs, or it cannot be known from here: it is in a pid namespace whose processes are not all to be seen. One that has ended and
    /// that nobody has waited for does not run.
    bool may_run() const;
};

/// When a process began, in clock ticks after boot: field 22 of /proc/PID/stat. 0: there is none, or it is none any more that could
/// run: one that nobody has waited for. @param process  its number, or "self"
uint64_t start_time_of(const std::string& process);
/// Now, counted so.
uint64_t ticks_since_boot();

struct Front {
    static constexpr uint32_t version = 5;
    uint64_t start = 0; ///< runtime address of the arena
    uint64_t size = 0;  ///< of its code mapping
    uint64_t mark = 0, data = 0;
    uint64_t data_size = 0; ///< of the mapping of the tables
    Tracer tracer;
    uint64_t number = 0;        ///< of the tracer's tables: two processes can have arenas at the same addresses
    bool follows = false;       ///< forked children record too
    std::vector<Patch> patches; ///< written before the first jump is made; Patch::site is not used
};

/// What tables say of themselves, for when their tracer is killed before a front does.
struct Maker {
    Tracer tracer;
    static constexpr size_t most_arenas = 2;
    std::array<Range, most_arenas> arenas{}; ///< the latest that were to be mapped, with their marks; of size 0: none
};
/// What /proc/PID/maps calls tables: the name of their memfd.
inline constexpr const char* name_of_tables = "fastsdt";
/// What the tables say so, by offset in them: to be written in this order, of which the last says whose they are.
std::vector<std::pair<size_t, std::vector<std::byte>>> encode(const Maker& maker);
/// Of the tables at this address. The target may have written anything there.
Maker read_maker(Target& target, uint64_t data);

/// Whether memory that begins with these bytes begins with a front.
bool begins_arena(std::span<const std::byte> bytes);
/// Bytes of a front, a multiple of 64.
size_t size_of_front(size_t patches);
std::vector<std::byte> encode(const Front& front);
/// What a front begins with: no other has the same.
std::vector<std::byte> head_of(const Front& front);
/// All arenas that are mapped in the target, by address. An arena whose mark reads 0 is the copy of a forked process. Unless that is
/// followed, its tracer is nobody.
std::vector<Front> find_arenas(Target& target);
std::vector<Front> find_arenas(Target& target, const std::vector<Mapping>& mappings); ///< these it has now
/// Whether this process traces the target, or one that the target was forked from and that is followed: what it traced, too.
bool has_own_arena(Target& target, const std::vector<Mapping>& mappings);

} // namespace fastsdt::engine
