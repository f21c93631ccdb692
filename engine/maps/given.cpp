// SPDX-License-Identifier: BSD-2-Clause
#include "maps/given.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

namespace fastsdt::engine {

Entry& Given::entry(size_t map, const Keys& keys)
{
    Entry& found = maps_[map][keys];
    found.keys = keys;
    found.buckets.resize(script_.maps[map].buckets());
    return found;
}

void Given::make(size_t map, const Keys& keys)
{
    entry(map, keys);
}

// As stubs count: code/updates.cpp.
void Given::update(size_t map, const Keys& keys, int64_t value)
{
    const Map& what = script_.maps[map];
    Entry& to = entry(map, keys);
    const auto number = static_cast<uint64_t>(value);
    switch (what.kind) {
    case MapKind::count: ++to.number; return;
    case MapKind::hist: ++to.buckets[value < 0 ? 0 : value == 0 ? 1 : size_t(std::bit_width(number)) + 1]; return;
    case MapKind::lhist:
        ++to.buckets[value < what.low         ? 0
                         : value >= what.high ? to.buckets.size() - 1
                                              : size_t((value - what.low) / what.step) + 1];
        return;
    case MapKind::min:
    case MapKind::max:
        if (to.count == 0 || (value < to.number) == (what.kind == MapKind::min))
            to.number = value;
        break;
    case MapKind::sum:
    case MapKind::avg:
    case MapKind::stats:
    case MapKind::integer: // @ += value
        to.number = static_cast<int64_t>(static_cast<uint64_t>(to.number) + number);
        break;
    case MapKind::string:
    case MapKind::probe: throw std::logic_error("a map that takes no numbers");
    }
    ++to.count;
}

void Given::assign(size_t map, const Keys& keys, Datum value)
{
    entry(map, keys).value = std::move(value);
}

const Entry* Given::find(size_t map, const Keys& keys) const
{
    const auto found = maps_[map].find(keys);
    return found != maps_[map].end() ? &found->second : nullptr;
}

std::vector<Given::Keys> Given::keys(size_t map) const
{
    std::vector<Keys> all;
    for (const auto& [keys, entry] : maps_[map])
        all.push_back(keys);
    return all;
}

Maps Given::maps() const
{
    Maps all;
    for (const auto& map : maps_) {
        auto& entries = all.maps.emplace_back();
        for (const auto& [keys, entry] : map)
            entries.push_back(entry);
    }
    return all;
}

} // namespace fastsdt::engine
