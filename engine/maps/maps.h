// SPDX-License-Identifier: BSD-2-Clause
// The contents of a script's maps, all threads taken together. maps/read.h makes them from the tables; tools print them.
#pragma once
#include "script/script.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fastsdt::engine {

/// A key, or a value that was assigned. Its type says which member counts.
struct Datum {
    int64_t number = 0; ///< integer; probe: Site::probe
    /// string: up to string_size - 1 bytes, any but NUL: print it through printable(). stack, once it is named: a line for each
    /// frame, which may be printed; an address that is shown as a symbol: that. bytes: as they are
    std::string text;
    auto operator<=>(const Datum&) const = default;
};

/// The number that so many bytes are, up to 8, the lowest first; those that are missing are 0.
int64_t number_in(std::string_view bytes, size_t size, bool is_signed);
/// What bytes of a table, of a record or of a slot mean: ValueType::size() of them.
Datum datum_of(const ValueType& type, std::string_view bytes);
/// The opposite.
std::string bytes_of(const ValueType& type, const Datum& datum);
/// All keys of a map, one behind the other.
std::vector<Datum> keys_of(const Map& map, std::string_view bytes);

/// What a statement records: Statement::values, one behind the other.
std::vector<Datum> values_of(const Statement& statement, std::span<const std::byte> bytes);

/// One entry of a map. Which members count depends on the map's kind.
struct Entry {
    std::vector<Datum> keys; ///< as Map::keys
    /// count: how often. sum, avg, stats: the sum, modulo 2^64. min, max: the value. Unsigned if !Map::is_signed.
    int64_t number = 0;
    uint64_t count = 0;            ///< sum, min, max, avg, stats: how many values there were
    std::vector<uint64_t> buckets; ///< hist, lhist: as Map::buckets()
    Datum value;                   ///< integer, string, probe: what was assigned last
};

/// avg, and stats' average: the sum divided by the count, as bpftrace divides them. The process may have written any
/// numbers: divided by -1, the smallest is itself, and no trap.
inline int64_t average(const Entry& entry, bool is_signed)
{
    if (entry.count == 0)
        return 0;
    if (is_signed && entry.count == ~uint64_t(0))
        return int64_t(0 - uint64_t(entry.number));
    return is_signed ? entry.number / int64_t(entry.count) : int64_t(uint64_t(entry.number) / entry.count);
}

/// The value as one number: of stats its average. Of histograms, and of what is no number: 0
inline int64_t one_number(const Map& map, const Entry& entry)
{
    switch (map.kind) {
    case MapKind::count:
    case MapKind::sum:
    case MapKind::min:
    case MapKind::max: return entry.number;
    case MapKind::avg:
    case MapKind::stats: return average(entry, map.type.is_signed);
    case MapKind::integer: return entry.value.number;
    case MapKind::hist:
    case MapKind::lhist:
    case MapKind::string:
    case MapKind::probe: break;
    }
    return 0;
}

/// What was in the tables while threads may have gone on.
struct Maps {
    std::vector<std::vector<Entry>> maps; ///< by Script::maps; entries by their keys, none where nothing was recorded
    /// Statements that found no room: more keys than a map holds (most_keys), where an entry that a longjmp left half
    /// made takes room too, or more threads than there are slots (most_threads). A hit without a slot counts once.
    uint64_t dropped = 0;
    /// Hits of a clause that were left out, from the statement on that wanted a value which only a system call could have read
    /// when none could be made.
    uint64_t unread = 0;
    uint64_t lost = 0;    ///< events that found no room in their thread's ring
    uint64_t cut = 0;     ///< stacks that end where it was not certain that more can be read
    uint64_t forked = 0;  ///< hits in forked children, where these are not followed
    size_t threads = 0;   ///< slots that threads have taken so far
    size_t processes = 0; ///< forked children that have recorded something
};

/// The lines of a stack that was named, the innermost call first.
std::vector<std::string> frames_of(const Datum& stack);

} // namespace fastsdt::engine
