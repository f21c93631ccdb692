// SPDX-License-Identifier: BSD-2-Clause
// What the maps of a script hold, all threads taken together. read.h makes it from the tables; tools print it.
#pragma once
#include "script.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fastsdt::engine {

/// A key, or a value that was assigned. Which member counts is said by the type.
struct Datum {
    int64_t number = 0; ///< integer; probe: Site::probe
    std::string text;   ///< string: up to string_size - 1 bytes, any but NUL: print it through printable()
    auto operator<=>(const Datum&) const = default;
};

/// One entry of a map. Which members count depends on the map's kind.
struct Entry {
    std::vector<Datum> keys; ///< as Map::keys
    /// count: how often. sum, avg, stats: the sum, modulo 2^64. min, max: the value. Unsigned if !Map::is_signed.
    int64_t number = 0;
    uint64_t count = 0;            ///< sum, min, max, avg, stats: how many values there were
    std::vector<uint64_t> buckets; ///< hist, lhist: as Map::buckets()
    Datum value;                   ///< integer, string, probe: what was assigned last
};

/// avg, and stats' average: the sum divided by the count, as bpftrace divides them.
inline int64_t average(const Entry& entry, bool is_signed)
{
    if (entry.count == 0)
        return 0;
    return is_signed ? entry.number / int64_t(entry.count) : int64_t(uint64_t(entry.number) / entry.count);
}

/// What was in the tables at some moment, while threads may have gone on.
struct Maps {
    std::vector<std::vector<Entry>> maps; ///< by Script::maps; entries by their keys, none where nothing was recorded
    /// What a hit wanted to record and found no room for: more keys than a map holds (most_keys), with those whose entry a
    /// longjmp left half made, or more threads than there are slots (most_threads). One for each statement, or for all of
    /// a hit without a slot.
    uint64_t dropped = 0;
    size_t threads = 0; ///< slots that threads have taken so far
};

} // namespace fastsdt::engine
