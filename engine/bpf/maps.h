// SPDX-License-Identifier: BSD-2-Clause
// A script's maps as the kernel's: made, read as maps/maps.h has them, and changed by the tool.
//
//     aggregations   per processor, so that no two of them write to one line; words as count_word says
//     assigned       one for all: the last one wins
//     without keys   one entry, whose key is a word of zeros
//
// Programs change values in place, by atomic instructions: another program may have taken the processor in between.
#pragma once
#include "bpf.h"
#include "maps/maps.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fastsdt::engine::bpf {

/// Words of an aggregation's value. count: the number. hist, lhist: the buckets. The others: the sum, or the extreme, and behind it how many
/// values there were. An extreme is kept as an unsigned number that only grows:
/// extreme_value(). It is 0 where there was none: the count tells.
inline constexpr int count_word = 1;

constexpr int64_t extreme_value(bool is_minimum, uint64_t word)
{
    return int64_t((is_minimum ? ~word : word) ^ uint64_t(1) << 63);
}

/// What programs count besides, in one array value.
struct Counters {
    uint64_t dropped = 0, unread = 0, lost = 0, cut = 0;
};

/// Keys of a map at most: as many as fit in some memory, but no fewer than bpftrace's 4,096.
inline constexpr size_t least_keys = 4096, most_keys_in_kernel = size_t(1) << 16;

class KernelMaps {
public:
    /// Throws Unusable. @param ring_size  bytes for events, a power of two
    KernelMaps(const Script& script, size_t ring_size);

    const BpfMap& of(size_t map) const { return maps_[map]; }
    const BpfMap& zeros() const { return zeros_; }
    const BpfMap& counters() const { return counters_; }
    const BpfMap& ring() const { return ring_; }
    const BpfMap& stacks() const { return stacks_; }
    const BpfMap& unwound() const { return unwound_; }
    static bool is_per_processor(const Map& map) { return !is_assigned(map.kind); }

    Maps read() const;
    void clear(size_t map) const;
    void remove(size_t map, const std::vector<Datum>& keys) const;
    void assign(size_t map, const std::vector<Datum>& keys, const Datum& value) const;
    /// Of a stack, the innermost first: what programs have of it is a stack_number(), or has the unwound_stack_bit.
    std::vector<uint64_t> stack(uint64_t number) const;

private:
    std::string key_of(size_t map, const std::vector<Datum>& keys) const;
    std::optional<Entry> entry(size_t map, const std::string& key, const std::string& value) const;

    const Script& script_;
    std::vector<BpfMap> maps_;
    BpfMap zeros_, counters_, ring_, stacks_, unwound_;
};

/// What a key or an event has of a stack: its number in the kernel's map, how many frames count, and in the upper half whose process. 0: none.
constexpr unsigned stack_id_bits = 20, stack_depth_bits = 8;
constexpr uint32_t stack_number(uint32_t id, unsigned depth) ///< the lower half
{
    return 1 + id + (depth << stack_id_bits);
}
constexpr uint32_t stack_id(uint64_t number)
{
    return uint32_t(number & ((1U << stack_id_bits) - 1)) - 1;
}
constexpr unsigned stack_depth(uint64_t number)
{
    return unsigned(number >> stack_id_bits) & ((1U << stack_depth_bits) - 1);
}
constexpr uint32_t stack_process(uint64_t number)
{
    return uint32_t(number >> 32);
}

/// Of ustack(dwarf), instead of the kernel's number: one of ours, and in the upper half the process whose program it is.
constexpr unsigned unwound_number_bits = 31;
constexpr uint64_t unwound_stack_bit = uint64_t(1) << unwound_number_bits;
struct UnwoundStack {
    uint64_t hash =
        0; ///< of the frames. Its upper bits are the number, or one of the next where another stack has that
    uint64_t count = 0;
    uint64_t frames[most_stack_frames] = {};
};

/// A record of the ring: this, and the values of the statement.
struct RecordHeader {
    uint64_t statement = 0;
    uint64_t nanoseconds = 0; ///< CLOCK_BOOTTIME
    uint64_t thread = 0;      ///< process in the upper half, thread in the lower one: their numbers on the machine
};

} // namespace fastsdt::engine::bpf
