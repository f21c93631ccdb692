// SPDX-License-Identifier: BSD-2-Clause
// Maps as the reference has them, without tables: what the tool itself has put into them (BEGIN, END and interval), and what tests
// compare tables with.
#pragma once
#include "maps/maps.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace fastsdt::engine {

class Given {
public:
    using Keys = std::vector<Datum>;

    explicit Given(const Script& script) : script_(script), maps_(script.maps.size()) {}

    /// count(), sum(value) and their like.
    void update(size_t map, const Keys& keys, int64_t value);
    void assign(size_t map, const Keys& keys, Datum value);
    void remove(size_t map, const Keys& keys) { maps_[map].erase(keys); }
    void clear(size_t map) { maps_[map].clear(); }
    /// A key without anything: what processes have for it is added.
    void make(size_t map, const Keys& keys);
    /// nullptr: the key is not there.
    const Entry* find(size_t map, const Keys& keys) const;

    size_t entries(size_t map) const { return maps_[map].size(); }
    std::vector<Keys> keys(size_t map) const;
    /// One of them goes, whichever it is.
    void remove_any(size_t map) { maps_[map].erase(maps_[map].begin()); }
    /// All of it, as one more process would have recorded it.
    Maps maps() const;

private:
    Entry& entry(size_t map, const Keys& keys);

    const Script& script_;
    std::vector<std::map<Keys, Entry>> maps_;
};

} // namespace fastsdt::engine
