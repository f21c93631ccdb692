// SPDX-License-Identifier: BSD-2-Clause
#include "bpf/maps.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace fastsdt::engine::bpf {
namespace {

constexpr size_t most_stacks = size_t(1) << 16, most_unwound = size_t(1) << 14;
constexpr size_t memory_of_a_map = size_t(32) << 20;

size_t value_size(const Map& map)
{
    switch (map.kind) {
    case MapKind::count: return 8;
    case MapKind::hist:
    case MapKind::lhist: return 8 * map.buckets();
    case MapKind::sum:
    case MapKind::min:
    case MapKind::max:
    case MapKind::avg:
    case MapKind::stats: return 16;
    case MapKind::integer:
    case MapKind::string:
    case MapKind::probe: break;
    }
    return map.type.size();
}

size_t bytes_of_keys(const Map& map)
{
    size_t size = 0;
    for (size_t i = 0; i < map.keys.size(); ++i)
        size += map.keys[i].size();
    return std::max<size_t>(size, 8);
}

uint64_t word(const std::string& bytes, size_t index)
{
    uint64_t value = 0;
    std::memcpy(&value, bytes.data() + 8 * index, sizeof value);
    return value;
}

} // namespace

KernelMaps::KernelMaps(const Script& script, size_t ring_size) : script_(script)
{
    size_t largest = 8;
    for (const Map& map : script.maps) {
        const size_t value = value_size(map);
        largest = std::max(largest, value);
        const bool per_processor = is_per_processor(map);
        const size_t bytes = bytes_of_keys(map) + value * (per_processor ? possible_processors() : 1);
        const size_t keys = map.keys.empty() ? 1 : std::clamp(memory_of_a_map / bytes, least_keys, most_keys_in_kernel);
        // Elements are there before they are wanted: where they are made in a hit, the kernel may have no memory just then.
        maps_.emplace_back(per_processor ? BPF_MAP_TYPE_PERCPU_HASH : BPF_MAP_TYPE_HASH, "fastsdt_map",
                           bytes_of_keys(map), value, keys);
    }
    zeros_ = BpfMap(BPF_MAP_TYPE_ARRAY, "fastsdt_zeros", 4, largest, 1);
    counters_ = BpfMap(BPF_MAP_TYPE_ARRAY, "fastsdt_counters", 4, sizeof(Counters), 1);
    if (has_events(script))
        ring_ = BpfMap(BPF_MAP_TYPE_RINGBUF, "fastsdt_events", 0, 0, ring_size);
    if (unwinds(script))
        unwound_ = BpfMap(BPF_MAP_TYPE_HASH, "fastsdt_unwound", 4, sizeof(UnwoundStack), most_unwound);
    if (walks_frames(script))
        stacks_ = BpfMap(BPF_MAP_TYPE_STACK_TRACE, "fastsdt_stacks", 4, 8 * most_stack_frames, most_stacks);
}

std::string KernelMaps::key_of(size_t map, const std::vector<Datum>& keys) const
{
    std::string bytes;
    for (size_t i = 0; i < keys.size(); ++i)
        bytes += bytes_of(script_.maps[map].keys[i], keys[i]);
    bytes.resize(maps_[map].key_size(), '\0');
    return bytes;
}

// Nothing where a hit is just making it.
std::optional<Entry> KernelMaps::entry(size_t map, const std::string& key, const std::string& value) const
{
    const Map& what = script_.maps[map];
    const size_t words = maps_[map].value_size() / 8;
    Entry entry;
    entry.keys = keys_of(what, key);
    entry.buckets.resize(what.buckets());
    if (is_assigned(what.kind)) {
        entry.value = datum_of(what.type, value);
        return entry;
    }
    const bool is_minimum = what.kind == MapKind::min, is_extreme = is_minimum || what.kind == MapKind::max;
    uint64_t first = 0, hits = 0;
    for (size_t copy = 0; copy < maps_[map].copies(); ++copy) {
        const size_t at = copy * words;
        for (size_t i = 0; i < entry.buckets.size(); ++i)
            hits += word(value, at + i), entry.buckets[i] += word(value, at + i);
        if (!entry.buckets.empty())
            continue;
        first = is_extreme ? std::max(first, word(value, at)) : first + word(value, at);
        hits += word(value, at + (what.kind == MapKind::count ? 0 : count_word));
    }
    if (hits == 0)
        return std::nullopt;
    if (!entry.buckets.empty())
        return entry;
    if (what.kind != MapKind::count)
        entry.count = hits;
    entry.number = is_extreme ? extreme_value(is_minimum, first) : int64_t(first);
    return entry;
}

Maps KernelMaps::read() const
{
    Maps all;
    for (size_t map = 0; map < maps_.size(); ++map) {
        auto& entries = all.maps.emplace_back();
        const BpfMap& from = maps_[map];
        std::string key(from.key_size(), '\0'), next(key), value((from.value_size() + 7) / 8 * 8 * from.copies(), '\0');
        // A key that is deleted meanwhile leads to the first one again, so each counts once.
        std::vector<std::string> keys;
        for (bool more = from.next(nullptr, next.data()); more && keys.size() < 2 * most_keys_in_kernel;
             more = from.next(key.data(), next.data())) {
            keys.push_back(next);
            key = next;
        }
        std::sort(keys.begin(), keys.end());
        keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
        for (const std::string& each : keys) {
            if (!from.lookup(each.data(), value.data()))
                continue;
            if (auto found = entry(map, each, value))
                entries.push_back(std::move(*found));
        }
        std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.keys < b.keys; });
    }
    Counters counters;
    const uint32_t first = 0;
    counters_.lookup(&first, &counters);
    all.dropped = counters.dropped;
    all.unread = counters.unread;
    all.lost = counters.lost;
    all.cut = counters.cut;
    return all;
}

void KernelMaps::clear(size_t map) const
{
    std::string key(maps_[map].key_size(), '\0');
    // Programs may add keys for ever.
    for (size_t i = 0; i < 2 * most_keys_in_kernel && maps_[map].next(nullptr, key.data()); ++i)
        maps_[map].erase(key.data());
}

void KernelMaps::remove(size_t map, const std::vector<Datum>& keys) const
{
    maps_[map].erase(key_of(map, keys).data());
}

void KernelMaps::assign(size_t map, const std::vector<Datum>& keys, const Datum& value) const
{
    const std::string bytes = bytes_of(script_.maps[map].type, value);
    maps_[map].update(key_of(map, keys).data(), bytes.data());
}

std::vector<uint64_t> KernelMaps::stack(uint64_t number) const
{
    if (number & unwound_stack_bit) {
        const auto key = uint32_t(number & (unwound_stack_bit - 1));
        UnwoundStack stack;
        if (!unwound_ || !unwound_.lookup(&key, &stack))
            return {};
        return {stack.frames, stack.frames + std::min<uint64_t>(stack.count, most_stack_frames)};
    }
    const uint32_t id = stack_id(number);
    std::vector<uint64_t> frames(most_stack_frames);
    if (number == 0 || !stacks_ || !stacks_.lookup(&id, frames.data()))
        return {};
    const auto end = std::find(frames.begin(), frames.end(), 0);
    frames.resize(std::min<size_t>(size_t(end - frames.begin()), stack_depth(number)));
    return frames;
}

} // namespace fastsdt::engine::bpf
