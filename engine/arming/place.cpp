// SPDX-License-Identifier: BSD-2-Clause
#include "arming/place.h"

#include <algorithm>
#include <numeric>

namespace fastsdt::engine {
namespace {

// An ordinary user can map nothing below it: vm.mmap_min_addr.
constexpr uint64_t lowest = 65536;

} // namespace

uint64_t find_place(const std::vector<Mapping>& mappings, std::span<const uint64_t> near, uint64_t size,
                    const Machine& machine)
{
    const uint64_t page = machine.page, reach = machine.reach, highest = machine.highest;
    // No structured binding: clang 14's lambdas cannot capture one.
    const uint64_t first = *std::min_element(near.begin(), near.end());
    const uint64_t last = *std::max_element(near.begin(), near.end());
    const uint64_t from = last > reach ? std::max(last - reach, lowest) : lowest;
    const uint64_t to = std::min(first + reach, highest);
    uint64_t below = 0, above = 0, beside_heap = 0;
    const auto try_gap = [&](uint64_t start, uint64_t end, bool heap) {
        start = std::max(start + page, from);
        end = std::min(end - std::min(end, page), to);
        if (end < start || end - start < size + page)
            return;
        const uint64_t at = (end - size) / page * page;
        if (heap)
            beside_heap = at; // as far from the heap as possible
        else if (at < first)
            below = at; // gaps come in the order of addresses, so the last one is the nearest
        else if (!above)
            above = (start + page - 1) / page * page;
    };
    uint64_t end = 0;
    bool heap = false;
    for (const Mapping& m : mappings) {
        if (m.name != "[stack]" && m.start > end)
            try_gap(end, m.start, heap);
        end = std::max(end, m.end);
        heap = m.name == "[heap]";
    }
    if (end < highest)
        try_gap(end, highest, heap);
    return below ? below : above ? above : beside_heap;
}

std::vector<size_t> group_by_reach(std::span<const uint64_t> addresses, uint64_t size, const Machine& machine)
{
    std::vector<size_t> order(addresses.size()), groups(addresses.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return addresses[a] < addresses[b]; });
    // The sites and their code span half of the reach at most, which leaves room to look for a place on either side.
    const uint64_t span = machine.reach / 2 > size ? machine.reach / 2 - size : 0;
    size_t group = 0;
    uint64_t start = order.empty() ? 0 : addresses[order[0]];
    for (size_t i : order) {
        if (addresses[i] - start > span) {
            ++group;
            start = addresses[i];
        }
        groups[i] = group;
    }
    return groups;
}

} // namespace fastsdt::engine
