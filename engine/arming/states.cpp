// SPDX-License-Identifier: BSD-2-Clause
#include "arming/states.h"

#include "code/executing.h"
#include "code/loader.h"
#include "code/machine.h"
#include "code/stubs.h"

#include <fastsdt/recognize.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace fastsdt::engine {
namespace {

// A process's memory for many places near each other: a page is read once.
class PageReader {
public:
    explicit PageReader(Target& target) : target_(target) {}
    std::vector<std::byte> read(uint64_t address, size_t size)
    {
        const uint64_t page = address / smallest_page * smallest_page;
        if (address - page + size > smallest_page)
            return target_.read(address, size);
        if (page != page_ || bytes_.empty())
            bytes_ = target_.read(page_ = page, smallest_page);
        if (bytes_.size() != smallest_page)
            return target_.read(address, size);
        const auto first = bytes_.begin() + ptrdiff_t(address - page);
        return {first, first + ptrdiff_t(size)};
    }

private:
    Target& target_;
    uint64_t page_ = 0;
    std::vector<std::byte> bytes_;
};

fastsdt_recognized recognize(std::span<const std::byte> bytes)
{
    fastsdt_recognized found;
    fastsdt_recognize(&found, own_machine.elf, own_machine.layout, reinterpret_cast<const unsigned char*>(bytes.data()),
                      bytes.size());
    return found;
}

// Whose jump it is that leads to a runtime address.
SiteState jump_to(const ArenaView& view, uint64_t stub, uint64_t data)
{
    const Front* const arena = view.arena_of(stub);
    if (!arena)
        return {State::foreign};
    if (arena->tracer == Tracer::self())
        return {data && arena->data == data ? State::armed : State::other_run};
    if (view.runs(*arena))
        return {State::other_tracer, arena->tracer.pid};
    return {State::left_over};
}

// Of code that is to be moved, in place of which `bytes` stand.
SiteState can_move(const ArenaView& view, const Site& site, std::span<const std::byte> bytes, uint64_t data)
{
    if (std::ranges::equal(bytes, site.moved.bytes))
        return {view.target.obstacle(site.patch, bytes)};
    if (const auto to = moved_jump_target(bytes, site.patch))
        return jump_to(view, *to, data);
    if (own_machine.arch == Arch::arm64)
        return {recognize(bytes).breakpoints ? State::kernel : State::changed};
    for (size_t i = 0; i < bytes.size(); ++i)
        if (bytes[i] == breakpoint && site.moved.bytes[i] != breakpoint)
            return {State::kernel};
    return {State::changed};
}

} // namespace

ArenaView::ArenaView(Target& of, bool forked) : target(of), mappings(of.mappings()), arenas(find_arenas(of, mappings))
{
    for (Front& front : arenas)
        if (forked && front.tracer == Tracer::self())
            front.tracer = {};
    for (const Front& front : arenas)
        for (const Patch& patch : front.patches)
            if (patch.moves())
                if (const Mapping* const m = mapping_at(mappings, patch.at))
                    if (m->writable && m->executable && !m->shared && m->inode != 0)
                        guarded.insert(m->start);
}

bool is_idle(std::span<const std::byte> bytes)
{
    const fastsdt_recognized found = recognize(bytes);
    return found.layout == own_machine.layout && !found.lead && !found.breakpoints
        && (found.state == FASTSDT_STATE_PRISTINE || found.state == FASTSDT_STATE_STALE_CALL);
}

SiteState can_arm(const ArenaView& view, const Site& site, std::span<const std::byte> bytes, uint64_t data)
{
    if (site.found.state != State::ready) {
        // What could not be armed is said also when it is not there any more, unless it was none of those that the script means.
        const Mapping* const there = mapping_at(view.mappings, site.address);
        const bool stays = there && (there->inode == 0 || (there->inode == site.inode && there->device == site.device));
        return !stays && site.inode && site.left_out(site.found) ? SiteState{State::gone} : site.found;
    }
    if (!site.patch || (!site.moves() && site.length != own_machine.length))
        return {State::no_nop};
    const Mapping* const mapping = mapping_at(view.mappings, site.patch);
    if (!mapping)
        return {State::gone};
    if (site.inode && mapping->inode && (mapping->inode != site.inode || mapping->device != site.device))
        return {State::gone}; // another file is mapped there now
    if (!mapping->executable || bytes.empty())
        return {State::gone}; // or not there yet: the dynamic linker maps a module in several steps, and unmaps it
    if (mapping->shared || bytes.size() != site.length || (mapping->writable && !view.is_guarded(*mapping)))
        return {State::not_private};
    if (site.patch % smallest_page + site.exchanged() > smallest_page)
        return {State::crosses_page};
    if (site.moves())
        return can_move(view, site, bytes, data);
    const fastsdt_recognized found = recognize(bytes);
    if (found.layout != own_machine.layout || found.lead) // or something of no file is mapped there now
        return {site.inode && !mapping->inode ? State::gone : State::changed};
    if (found.state == FASTSDT_STATE_DAMAGED)
        return {State::damaged};
    if (found.breakpoints || found.state == FASTSDT_STATE_LEA_CALL || found.state == FASTSDT_STATE_CALL)
        return {State::kernel};
    if (found.state == FASTSDT_STATE_JUMP)
        return jump_to(view, site.patch + found.rel_end + static_cast<uint64_t>(int64_t{found.rel}), data);
    if (!is_idle(bytes))
        return {State::changed};
    return {view.target.obstacle(site.patch, bytes)};
}

std::vector<SiteState> states_of(const ArenaView& view, std::span<const Site> sites, uint64_t data)
{
    PageReader memory(view.target);
    std::vector<SiteState> states;
    for (const Site& site : sites)
        states.push_back(can_arm(view, site, memory.read(site.patch, site.length), data));
    return states;
}

std::vector<std::byte> bytes_at(Target& target, const Patch& patch)
{
    return target.read(patch.at, patch.moves() ? patch.length : own_machine.length);
}

bool is_text_of_file(const Mapping* mapping)
{
    return mapping && mapping->executable && !mapping->writable && !mapping->shared && mapping->inode != 0;
}

bool holds(std::span<const std::byte> bytes, const Patch& patch, const std::array<std::byte, 8>& wanted)
{
    return bytes.size() >= patch.length && std::equal(wanted.begin(), wanted.begin() + patch.length, bytes.begin());
}

bool may_hold(Target& target, const Patch& patch)
{
    const auto bytes = bytes_at(target, patch);
    if (own_machine.arch == Arch::x86_64) // a breakpoint takes the first byte
        return bytes.size() >= patch.length
            && std::equal(patch.after.begin() + 1, patch.after.begin() + patch.length, bytes.begin() + 1);
    return holds(bytes, patch, patch.after) || recognize(bytes).breakpoints;
}

std::vector<Range> ranges_of(const ArenaView& view, const std::set<uint64_t>& pages)
{
    constexpr uint64_t near = 16 * smallest_page; // each range may take up to two mappings more
    std::vector<Range> ranges;
    const Mapping* of_last = nullptr;
    for (const uint64_t at : pages) {
        const Mapping* const mapping = mapping_at(view.mappings, at, smallest_page);
        if (!mapping)
            continue;
        if (mapping == of_last && at - (ranges.back().start + ranges.back().size) <= near)
            ranges.back().size = at + smallest_page - ranges.back().start;
        else
            ranges.push_back({at, smallest_page});
        of_last = mapping;
    }
    return ranges;
}

uint64_t page_of(const Patch& patch)
{
    return patch.at / smallest_page * smallest_page;
}

bool unguard(const ArenaView& view)
{
    std::set<uint64_t> keep;
    for (const Front& front : view.arenas)
        for (const Patch& patch : front.patches)
            if (patch.moves() && may_hold(view.target, patch))
                keep.insert(page_of(patch));
    std::vector<Range> ranges;
    for (const Mapping& m : view.mappings) {
        if (!view.is_guarded(m))
            continue;
        uint64_t from = m.start;
        while (from < m.end) {
            const auto page = keep.lower_bound(from);
            const uint64_t to = page == keep.end() ? m.end : std::min(*page, m.end);
            if (to > from)
                ranges.push_back({from, to - from});
            from = to + smallest_page;
        }
    }
    return ranges.empty() || view.target.guard(ranges, false);
}

Range code_of(const Front& front)
{
    return {front.start, front.mark + own_machine.page - front.start};
}

std::optional<Range> arena_without_front(const ArenaView& view, const Range& arena)
{
    const uint64_t mark = arena.start + arena.size - own_machine.page;
    const auto is = [&](uint64_t start, uint64_t end, bool executable) {
        const Mapping* const m = mapping_at(view.mappings, start);
        return m && m->start == start && m->end == end && m->inode == 0 && m->name.empty() && m->readable
            && m->executable == executable && m->writable != executable && !m->shared;
    };
    const bool there = arena.size > own_machine.page && !view.arena_of(arena.start)
        && ((is(arena.start, mark, true) && is(mark, mark + own_machine.page, false))
            || is(arena.start, mark + own_machine.page, true));
    const auto front = there ? view.target.read(arena.start, sizeof(uint64_t)) : std::vector<std::byte>();
    if (front != std::vector<std::byte>(sizeof(uint64_t)))
        return std::nullopt;
    return arena;
}

namespace {

// Tables of tracers that have ended, whether they came to write a front or not.
std::vector<std::pair<Mapping, Maker>> tables_left(Target& target, const std::vector<Mapping>& mappings)
{
    std::vector<std::pair<Mapping, Maker>> left;
    const std::string name = fmt::format("/memfd:{} (deleted)", name_of_tables);
    for (const Mapping& m : mappings) {
        if (!m.shared || !m.writable || m.offset != 0 || m.name != name)
            continue;
        const Maker maker = read_maker(target, m.start); // nobody's, if the file was not even given a size
        if (!maker.tracer.may_run())
            left.emplace_back(m, maker);
    }
    return left;
}

// Gives back the memory of tracers that have ended, where no jump leads to it any more. A front may be a lie: only the
// mappings are unmapped that an arena has and a tracer's tables.
void release_left_overs(Target& target, bool forked)
{
    const auto left = tables_left(target, target.mappings());
    if (!left.empty() && target.may_come())
        return;                           // the next tracer does it
    const ArenaView view(target, forked); // now that nothing comes any more
    struct Run {
        std::vector<Range> code;
        uint64_t data_size = 0;
        bool kept = false;
    };
    std::map<uint64_t, Run> runs; // by address of the tables
    for (const Front& front : view.arenas) {
        const bool jumps = std::any_of(front.patches.begin(), front.patches.end(),
                                       [&](const Patch& p) { return may_hold(target, p); });
        const Mapping* const data = mapping_at(view.mappings, front.data, front.data_size);
        const Mapping* const mark = mapping_at(view.mappings, front.mark, own_machine.page);
        Run& run = runs[front.data];
        if (jumps || view.runs(front) || !data || data->start != front.data
            || data->end - data->start != front.data_size || !data->shared || !mark || mark->inode != 0
            || front.mark < front.start || front.mark - front.start != whole_pages(front.size))
            run.kept = true;
        run.code.push_back(code_of(front));
        run.data_size = front.data_size;
    }
    for (const auto& [m, maker] : left) {
        Run& run = runs[m.start];
        run.data_size = m.end - m.start;
        for (const Range& made : maker.arenas)
            if (const auto arena = arena_without_front(view, made))
                run.code.push_back(*arena);
    }
    for (const auto& [data, run] : runs)
        if (!run.kept)
            target.release(run.code, {data, run.data_size});
}

} // namespace

bool clear_left_overs(const ArenaView& view, bool forked, bool* jumps)
{
    Target& target = view.target;
    std::vector<Patch> undo;
    bool moved = false;
    for (const Front& arena : view.arenas) {
        if (arena.tracer.may_run())
            continue;
        for (const Patch& p : arena.patches) {
            Site site;
            site.patch = p.at;
            site.length = own_machine.length;
            auto bytes = bytes_at(target, p);
            if (p.moves()) {
                site.length = p.length;
                if (const Mapping* const m = mapping_at(view.mappings, p.at, p.length))
                    site.moved.bytes = target.original(*m, p.at, p.length);
                moved = true;
                if (holds(bytes, p, p.after) && holds(site.moved.bytes, p, p.before)
                    && can_arm(view, site, bytes, 0).state == State::left_over)
                    undo.push_back(p);
                continue;
            }
            const bool of_loader = is_loader_return(p.before);
            if (of_loader && bytes.size() == own_machine.length) // no nop has been there: as if one had
                std::fill(bytes.begin() + own_machine.exchanged, bytes.end(), std::byte{0});
            if (!holds(bytes, p, p.after) || can_arm(view, site, bytes, 0).state != State::left_over)
                continue;
            std::vector<std::byte> then(bytes);
            std::copy_n(p.before.begin(), own_machine.exchanged, then.begin());
            if (!of_loader && !is_idle(then))
                continue;
            undo.push_back(p);
            const Mapping* const counter = mapping_at(view.mappings, p.semaphore);
            if (!counter || !counter->writable)
                undo.back().semaphore = 0;
        }
    }
    if (!undo.empty())
        target.patch(undo, true);
    if (moved)
        unguard(view);
    if (jumps)
        *jumps = !undo.empty();
    const bool some = !view.arenas.empty() || !tables_left(target, view.mappings).empty();
    if (some)
        release_left_overs(target, forked);
    return some;
}

} // namespace fastsdt::engine
