// SPDX-License-Identifier: BSD-2-Clause
// What the tool itself has put into maps: the statements of BEGIN, END and interval.
#pragma once
#include "maps/maps.h"
#include "maps/read.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace fastsdt::trace_tool {

class Given {
public:
    using Keys = std::vector<engine::Datum>;

    explicit Given(const engine::Script& script) : script_(script), maps_(script.maps.size()) {}

    /// count(), sum(value) and their like.
    void update(size_t map, const Keys& keys, int64_t value);
    void assign(size_t map, const Keys& keys, engine::Datum value);
    void remove(size_t map, const Keys& keys) { maps_[map].erase(keys); }
    void clear(size_t map) { maps_[map].clear(); }
    /// A key without anything: what processes have for it is added.
    void make(size_t map, const Keys& keys);
    /// nullptr: the key is not there.
    const engine::Entry* find(size_t map, const Keys& keys) const;

    /// All of it, as one more process would have recorded it.
    engine::Maps maps() const;

private:
    engine::Entry& entry(size_t map, const Keys& keys);

    const engine::Script& script_;
    std::vector<std::map<Keys, engine::Entry>> maps_;
};

} // namespace fastsdt::trace_tool
