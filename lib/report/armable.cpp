// SPDX-License-Identifier: BSD-2-Clause
#include "report/armable.h"

#include "live/movable_cache.h"

#include <algorithm>

namespace fastsdt {

size_t ArmableFunction::movable_exits() const
{
    return size_t(
        std::count_if(exits.begin(), exits.end(), [](const Window& exit) { return exit.obstacle == Obstacle::none; }));
}

ArmableCounts armable(const Image& image, const Notes& notes,
                      const std::function<void(const ArmableFunction&)>& function,
                      const std::function<void(const ArmableSite&)>& site)
{
    ArmableCounts counts;
    const auto add = [&](ArmableCounts::Share& share, size_t column, const Window& window) {
        ++share.all;
        share.movable += window.obstacle == Obstacle::none;
        ++counts.why[size_t(window.obstacle)][column];
    };
    image.find_names();
    MovableCache movable(image, notes);
    for (const Function& one : image.functions()) {
        const ArmableFunction answer{one, movable.entry(one.address), movable.exits(one.address)};
        add(counts.entries, 0, answer.entry);
        const bool entry = answer.entry.obstacle == Obstacle::none;
        counts.may_fault += entry && (answer.entry.faults & fault_memory);
        counts.whole += entry && answer.movable_exits() == answer.exits.size();
        for (const Window& exit : answer.exits)
            add(counts.exits, 1, exit);
        function(answer);
    }
    for (const ProbeNote& probe : notes.probes) {
        if (notes.site_at(probe.note_address))
            continue;
        const ArmableSite answer{probe, movable.site(probe.address)};
        add(counts.sites, 2, answer.window);
        site(answer);
    }
    return counts;
}

} // namespace fastsdt
