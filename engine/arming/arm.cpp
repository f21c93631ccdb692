// SPDX-License-Identifier: BSD-2-Clause
//
//     each group of sites within reach of each other, and the dynamic linker -> compiled to learn the size -> tables and
//     arenas -> compiled for each arena -> front and stubs written while the target runs -> the jumps, a thousand at each stop
//
// The front names every jump before the first is made. So a later run finds and undoes whatever a killed tracer left.
#include "arming/arm.h"

#include "arming/place.h"
#include "base/integers.h"
#include "code/executing.h"
#include "code/machine.h"
#include "code/stubs.h"

#include <fastsdt/recognize.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <exception>
#include <map>
#include <numeric>
#include <optional>
#include <set>

namespace fastsdt::engine {
namespace {

// Of tables that are not there yet, for the size of code: no address takes longer instructions.
constexpr uint64_t far_away = 0x523456788880;

// Patch::site of the dynamic linker's jump, and of that in execve().
constexpr size_t of_loader = SIZE_MAX, of_executing = SIZE_MAX - 1;

// The process's mappings and arenas, read once for many sites.
struct View {
    /// @param forked  it is the copy of a process that we trace, and our stubs are nobody's there
    explicit View(Target& of, bool forked = false)
        : target(of), mappings(of.mappings()), arenas(find_arenas(of, mappings))
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

    const Front* arena_of(uint64_t address) const
    {
        for (const Front& front : arenas)
            if (address >= front.start && address - front.start < front.size)
                return &front;
        return nullptr;
    }
    // Whether the tracer of one of the arenas does, as far as is known.
    bool runs(const Front& front) const
    {
        const auto [found, added] = runs_.try_emplace(&front, false);
        if (added)
            found->second = front.tracer.may_run();
        return found->second;
    }
    // Whether text is writable because a tracer keeps the kernel's probes away: Target::guard().
    bool is_guarded(const Mapping& mapping) const { return guarded.contains(mapping.start); }

    Target& target;
    std::vector<Mapping> mappings;
    std::vector<Front> arenas;
    std::set<uint64_t> guarded; // by start

private:
    mutable std::map<const Front*, bool> runs_;
};

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

// Nobody has the site. A kernel's former call may still be the end of the nop10, and a thread may stand before that
// call: patch() looks for such a thread when all are stopped.
bool is_idle(std::span<const std::byte> bytes)
{
    const fastsdt_recognized found = recognize(bytes);
    return found.layout == own_machine.layout && !found.lead && !found.breakpoints
        && (found.state == FASTSDT_STATE_PRISTINE || found.state == FASTSDT_STATE_STALE_CALL);
}

// Whose jump it is that leads to a runtime address.
SiteState jump_to(const View& view, uint64_t stub, uint64_t data)
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
SiteState can_move(const View& view, const Site& site, std::span<const std::byte> bytes, uint64_t data)
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

// `data`: the tables of the run that asks; 0: no run asks.
SiteState can_arm(const View& view, const Site& site, std::span<const std::byte> bytes, uint64_t data)
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

std::vector<SiteState> states_of(const View& view, std::span<const Site> sites, uint64_t data)
{
    PageReader memory(view.target);
    std::vector<SiteState> states;
    for (const Site& site : sites)
        states.push_back(can_arm(view, site, memory.read(site.patch, site.length), data));
    return states;
}

// What stands in place of a patch.
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

// Whether our jump may be there, also beneath a breakpoint of the kernel or of a debugger, which puts back what it hides.
bool may_hold(Target& target, const Patch& patch)
{
    const auto bytes = bytes_at(target, patch);
    if (own_machine.arch == Arch::x86_64) // a breakpoint takes the first byte
        return bytes.size() >= patch.length
            && std::equal(patch.after.begin() + 1, patch.after.begin() + patch.length, bytes.begin() + 1);
    return holds(bytes, patch, patch.after) || recognize(bytes).breakpoints;
}

// Pages that lie in one mapping and near each other, as ranges.
std::vector<Range> ranges_of(const View& view, const std::set<uint64_t>& pages)
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

// Lets the kernel have its probes again where no jump needs the guard any more. To be called in Target::alone(), as jumps are made: a tracer
// that runs has made its own, or has not begun. So whoever is the last to undo some takes the guard away, also where the others have not
// released their memory yet. @return  whether that could be done
bool unguard(const View& view)
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

// An arena whose tracer was killed before it wrote the front. What is there may have been mapped by somebody else since.
std::optional<Range> arena_without_front(const View& view, const Range& arena)
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
        return;                      // the next tracer does it
    const View view(target, forked); // now that nothing comes any more
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

// Undoes the jumps of tracers that have ended. A front may be forged: so a jump is undone only if it leads into an
// arena of such a tracer, and only to a nop or to what the file has. @return  whether there may have been something, so that `view` is out of
// date
bool clear_left_overs(const View& view, bool forked, bool* jumps = nullptr)
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

// Front::number.
uint64_t next_number()
{
    static std::atomic<uint64_t> last{0};
    return ++last;
}

} // namespace

std::vector<SiteState> can_arm(Target& target, std::span<const Site> sites)
{
    return states_of(View(target), sites, 0);
}

bool clear_forked(Target& target)
{
    bool jumps = false;
    clear_left_overs(View(target, true), true, &jumps);
    return jumps;
}

Arming::Arming(Target& target, Compile compile, Needs needs, FirstWords first, bool follows)
    : target_(target), compile_(std::move(compile)), needs_(needs), first_(std::move(first)), number_(next_number()),
      follows_(follows)
{}

// A site that has no jump in our process either, or that something else has changed since, says nothing.
Copy Arming::copy_in(Target& other, uint8_t gave_up) const
{
    if (fronts_.empty())
        return Copy::none;
    const Front& first = fronts_.front();
    const std::vector<std::byte> head = head_of(first);
    if (other.read(first.start, head.size()) != head)
        return Copy::none;
    const uint64_t own = first.data + Tables::slice;
    const auto* const bytes = reinterpret_cast<const std::byte*>(&own);
    if (other.read(first.mark + offsetof(Mark, slice), sizeof own) == std::vector<std::byte>(bytes, bytes + sizeof own))
        return Copy::same;
    for (size_t i = 0; i < sites_.size(); ++i)
        if (states_[i].state == State::armed && patches_[i].length != 0 && !(sites_[i].moved.faults & gave_up)
            && holds(bytes_at(other, patches_[i]), patches_[i], patches_[i].before))
            return Copy::part;
    return Copy::whole;
}

Arming::~Arming()
{
    try {
        disarm();
        if (jumps_ || window_.size == 0 || release_all())
            return;
        for (Front& front : fronts_) { // for the next run to release
            front.tracer = {};
            target_.write_code(front.start, encode(front));
        }
    } catch (const Unusable&) {
        // The process has ended, or cannot be stopped. Then its stubs go on counting; a later run clears them away.
    }
}

// Stubs and tables, with an arena for which we came to write no front: an interrupt ends the wait for it at once.
bool Arming::release_all()
{
    std::vector<Range> code;
    for (const Front& front : fronts_)
        code.push_back(code_of(front));
    try {
        for (const Range& arena : unfinished())
            code.push_back(arena);
    } catch (const Unusable&) {
        return false;
    }
    return target_.release(code, {window_.address, window_.size}, entered_);
}

// Each step is kept only after it has happened. What fails is undone, so another try begins where this one began: with
// the sites known, and with the process as it was.
void Arming::arm(std::vector<Site> sites)
{
    add(std::move(sites));
    target_.alone([&] { arm_all(); });
}

// Memory that has no owner yet is nobody's left-over only as long as no other tracer does the same.
void Arming::arm_all()
{
    std::optional<View> view(std::in_place, target_);
    if (clear_left_overs(*view, false))
        view.emplace(target_);
    take_states(states_of(*view, sites_, window_.address));
    std::vector<size_t> without_stub;
    for (size_t i = 0; i < sites_.size(); ++i)
        if (states_[i].state == State::ready && patches_[i].length == 0)
            without_stub.push_back(i);
    place(without_stub, view->mappings);
    jump();
}

void Arming::add(std::vector<Site> sites)
{
    const auto place_of = [](const Site& site) { return site.patch ? site.patch : site.address; };
    std::multimap<uint64_t, size_t> known; // by address of the patch, or where there is none of the probe
    for (size_t i = 0; i < sites_.size(); ++i)
        known.emplace(place_of(sites_[i]), i);
    for (Site& site : sites) {
        const auto same = [&](const auto& one) {
            const Site& a = sites_[one.second];
            return a.kind == site.kind && a.file == site.file && a.device == site.device && a.inode == site.inode
                && a.provider == site.provider && a.name == site.name && a.arguments == site.arguments
                && a.load_bias == site.load_bias && a.semaphore == site.semaphore && a.clauses == site.clauses;
        };
        const auto [first, last] = known.equal_range(place_of(site));
        if (place_of(site) && std::any_of(first, last, same))
            continue;
        sites_.push_back(std::move(site));
        patches_.emplace_back().length = 0;
        refusals_.emplace_back();
    }
}

// Stubs that are wanted: for sites within reach of each other, or for the dynamic linker.
struct Arming::Stubs {
    std::vector<uint64_t> near;
    size_t patches = 0, code_size = 0; // at most
    bool needed = true;                // without it arming fails
    std::function<Code(const Arena&)> compile;
    std::function<void(const Code*)> made; // nullptr: there is no place for them
    size_t size() const { return size_of_front(patches) + code_size; }
};

// Makes stubs for sites that have none, and for the dynamic linker. @param mappings  of now
void Arming::place(const std::vector<size_t>& indices, const std::vector<Mapping>& mappings)
{
    std::vector<uint64_t> addresses;
    for (size_t i : indices)
        addresses.push_back(sites_[i].patch);
    std::map<size_t, std::vector<size_t>> groups;
    const std::vector<size_t> group_of = group_by_reach(addresses, own_machine.most_code);
    for (size_t k = 0; k < indices.size(); ++k)
        groups[group_of[k]].push_back(indices[k]);
    std::vector<Stubs> wanted;
    for (const auto& [number, members] : groups)
        wanted.push_back(stubs_for(members));
    // It gets an arena of its own: it may be out of reach of all others.
    if (auto loader = stubs_for_loader(mappings))
        wanted.push_back(std::move(*loader));
    if (auto executing = stubs_for_executing(mappings))
        wanted.push_back(std::move(*executing));
    if (wanted.empty())
        return;
    if (window_.size == 0)
        target_.want_stops();
    const bool needed = std::any_of(wanted.begin(), wanted.end(), [](const Stubs& stubs) { return stubs.needed; });
    try {
        refuse_cost(indices, wanted);
        make(std::move(wanted), mappings);
    } catch (const Unusable&) {
        if (needed)
            throw;
    }
}

// A process whose control group has no more is ended by the kernel, which takes no less.
void Arming::refuse_cost(const std::vector<size_t>& indices, const std::vector<Stubs>& wanted)
{
    const std::optional<uint64_t> left = target_.memory_left();
    if (!left)
        return;
    std::set<uint64_t> pages;
    for (const size_t i : indices)
        pages.insert(sites_[i].patch / smallest_page);
    Cost cost{.pages = pages.size()};
    for (const Stubs& stubs : wanted)
        cost.stubs += whole_pages(stubs.size()) + own_machine.page;
    constexpr uint64_t share = 2; // the program goes on, and wants some itself
    if (cost.bytes() > *left / share)
        throw Unusable(fmt::format(
            "{} site{} would take {} KiB: copies of {} page{} of code, and stubs. The process's memory control "
            "group has {} KiB left, of which half is for the program. Name fewer probes, or raise its limit",
            indices.size(), indices.size() == 1 ? "" : "s", cost.bytes() >> 10, cost.pages, cost.pages == 1 ? "" : "s",
            *left >> 10));
}

void Arming::prepare_tables()
{
    if (!prepared_)
        for (const FirstWord& word : first_(window_))
            target_.change_data(word.offset, 0, word.value);
    prepared_ = true;
}

// The arenas that were to be mapped last, as far as they came to be mapped and are not in use: a call failed meanwhile.
std::vector<Range> Arming::unfinished()
{
    std::vector<Range> found;
    std::optional<View> view;
    for (const Range& last : read_maker(target_, window_.address).arenas) {
        const auto has_front = [&](const Front& front) { return front.start == last.start; };
        if (last.size == 0 || std::any_of(fronts_.begin(), fronts_.end(), has_front))
            continue;
        if (!view) {
            if (target_.may_come())
                throw Unusable("memory of a try that failed may still be mapped by one of its threads");
            view.emplace(target_);
        }
        const Front* const front =
            view->arena_of(last.start); // written by the call that failed: no jump leads there yet
        if (front && front->start == last.start && front->tracer == Tracer::self() && front->number == number_)
            found.push_back(last);
        else if (const auto arena = arena_without_front(*view, last))
            found.push_back(*arena);
    }
    return found;
}

// Before another arena is mapped: the tables name the last ones only, for a tracer that has to clear up after us.
void Arming::release_unfinished()
{
    const std::vector<Range> arenas = unfinished();
    for (const Range& arena : arenas)
        target_.free_code({.code = arena.start}, arena.size - own_machine.page);
    if (!arenas.empty() && !unfinished().empty())
        throw Unusable("memory of a try that failed cannot be unmapped yet");
}

// The first time with the tables, and as much at once as can be. @param mappings  of now
void Arming::make(std::vector<Stubs> wanted, const std::vector<Mapping>& mappings)
{
    std::erase_if(wanted, [](const Stubs& stubs) {
        const bool too_large = stubs.size() > own_machine.most_code;
        if (too_large)
            stubs.made(nullptr);
        return too_large;
    });
    std::vector<Arena> arenas;
    if (window_.size == 0) {
        std::vector<WantedCode> code;
        for (const Stubs& stubs : wanted)
            code.push_back({stubs.near, stubs.size()});
        window_ = target_.allocate(needs_, code, mappings, arenas);
    }
    arenas.resize(wanted.size());
    // First what has an arena: as soon as the tables name another, nobody would know of it.
    std::vector<size_t> order(wanted.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_partition(order.begin(), order.end(), [&](size_t i) { return arenas[i].code != 0; });
    std::exception_ptr failed;
    for (const size_t i : order) {
        if (!failed) {
            try {
                prepare_tables();
                if (!arenas[i].code) {
                    release_unfinished();
                    arenas[i] = target_.allocate_code(wanted[i].near, wanted[i].size());
                }
                if (arenas[i].code)
                    make(wanted[i], arenas[i]);
                else
                    wanted[i].made(nullptr);
                continue;
            } catch (const std::exception&) {
                if (wanted[i].needed)
                    failed = std::current_exception();
            }
        }
        if (arenas[i].code)
            target_.free_code(arenas[i], wanted[i].size());
    }
    if (failed)
        std::rethrow_exception(failed);
}

// Stubs, and a front that names their jumps, in an arena for them.
void Arming::make(const Stubs& stubs, const Arena& arena)
{
    const size_t front_size = size_of_front(stubs.patches);
    const uint64_t first_mark = fronts_.empty() ? arena.mark : fronts_.front().mark;
    const Code code = stubs.compile({arena.code + front_size, arena.data, arena.mark, first_mark});
    if (code.bytes.size() > stubs.code_size)
        throw std::logic_error("stubs are longer than they were said to be");
    const Front front{arena.code,     stubs.size(), arena.mark, arena.data,  window_.size,
                      Tracer::self(), number_,      follows_,   code.patches};
    target_.write_code(arena.code + front_size, code.bytes);
    target_.write_code(front.start, encode(front));
    fronts_.push_back(front);
    stubs.made(&code);
}

Arming::Stubs Arming::stubs_for(const std::vector<size_t>& members)
{
    Stubs stubs;
    std::vector<Site> sites;
    for (const size_t i : members) {
        sites.push_back(sites_[i]);
        stubs.near.push_back(sites_[i].patch);
        if (sites_[i].moves())
            for (const uint64_t address : reached_from(sites_[i]))
                stubs.near.push_back(address);
    }
    const uint64_t somewhere = stubs.near.front() / smallest_page * smallest_page,
                   mark = somewhere + own_machine.most_code / 2;
    const uint64_t data = window_.size ? window_.address : far_away;
    stubs.patches = members.size();
    stubs.code_size = compile_(sites, {somewhere, data, mark, mark}).bytes.size() + smallest_page;
    stubs.compile = [this, members, sites = std::move(sites)](const Arena& arena) {
        Code code = compile_(sites, arena);
        for (Patch& p : code.patches) {
            p.site = members.at(p.site);
            p.semaphore = sites_[p.site].semaphore;
        }
        return code;
    };
    stubs.made = [this, members](const Code* code) {
        if (!code) {
            for (const size_t i : members)
                states_[i] = refusals_[i] = {State::too_far};
            return;
        }
        for (size_t k = 0; k < code->refusals.size(); ++k)
            if (code->refusals[k].state != State::ready)
                states_[members[k]] = refusals_[members[k]] = code->refusals[k];
        for (const Patch& p : code->patches)
            patches_[p.site] = p;
    };
    return stubs;
}

// A stub with an arena of its own, without which arming succeeds all the same. @param jump  to the stub  @param made  gets that
Arming::Stubs Arming::lone_stub(uint64_t at, std::function<std::vector<std::byte>(const Arena&)> stub,
                                std::function<Patch(uint64_t stub)> jump, Patch& made) const
{
    const uint64_t somewhere = at / smallest_page * smallest_page;
    const uint64_t data = window_.size ? window_.address : far_away;
    Stubs stubs;
    stubs.needed = false;
    stubs.near = {at};
    stubs.patches = 1;
    stubs.code_size = stub({somewhere, data, somewhere, somewhere}).size();
    stubs.compile = [stub = std::move(stub), jump = std::move(jump)](const Arena& arena) {
        return Code{stub(arena), {jump(arena.code)}, {}, {}};
    };
    stubs.made = [&made](const Code* code) {
        if (code)
            made = code->patches.front();
    };
    return stubs;
}

// Empty: it has its stub, or can have none. Then libraries are found without it too, later.
std::optional<Arming::Stubs> Arming::stubs_for_loader(const std::vector<Mapping>& mappings)
{
    if (!watches_loader_ || loader_.length != 0)
        return std::nullopt;
    const std::optional<Loader> loader = target_.loader();
    if (!loader)
        return std::nullopt;
    const auto function = target_.read(loader->breakpoint, loader_function);
    if (!is_text_of_file(mapping_at(mappings, loader->breakpoint, loader_function))
        || loader->breakpoint % smallest_page + loader_function > smallest_page
        || !loader_patch(*loader, function, loader->breakpoint))
        return std::nullopt;
    const auto jump = [loader = *loader, function](uint64_t stub) {
        auto patch = loader_patch(loader, function, stub);
        if (!patch)
            throw std::logic_error("the arena is not within reach of the dynamic linker");
        patch->site = of_loader;
        return *patch;
    };
    return lone_stub(
        loader->breakpoint, [loader = *loader](const Arena& arena) { return compile_loader_stub(loader, arena); }, jump,
        loader_);
}

// Empty: it has its stub, or can have none, or the script means the same instruction. Then what is executed is found later.
std::optional<Arming::Stubs> Arming::stubs_for_executing(const std::vector<Mapping>& mappings)
{
    if (!watches_executing_ || executing_.length != 0)
        return std::nullopt;
    const uint64_t function = target_.executing_function(mappings);
    if (!function || !is_text_of_file(mapping_at(mappings, function, executing_function)))
        return std::nullopt;
    const auto offset = executing_place(target_.read(function, executing_function));
    if (!offset)
        return std::nullopt;
    const uint64_t place = function + *offset;
    const uint64_t end = place + executing_patch(place, place).length;
    if (place / smallest_page != (end - 1) / smallest_page
        || std::any_of(sites_.begin(), sites_.end(), [&](const Site& site) {
               return site.patch < end && place < site.patch + std::max<uint64_t>(site.length, site.exchanged());
           }))
        return std::nullopt;
    const auto jump = [place](uint64_t stub) {
        Patch patch = executing_patch(place, stub);
        patch.site = of_executing;
        return patch;
    };
    return lone_stub(
        place, [place](const Arena& arena) { return compile_executing_stub(place, arena); }, jump, executing_);
}

// Keeps the kernel's probes away from the patches, and drops those where that cannot be.
void Arming::guard(std::vector<Patch>& patches)
{
    const auto wants = [this](const Patch& patch) { return sites_[patch.site].moved.guarded; };
    if (std::none_of(patches.begin(), patches.end(), wants))
        return;
    const View view(target_);
    std::set<uint64_t> pages;
    for (const Patch& patch : patches)
        if (const Mapping* const m = mapping_at(view.mappings, patch.at); wants(patch) && !(m && m->writable))
            pages.insert(page_of(patch));
    std::string why;
    try {
        if (pages.empty() || target_.guard(ranges_of(view, pages), true))
            return;
    } catch (const Unusable& error) {
        why = error.what();
    }
    for (const Patch& patch : patches)
        if (wants(patch))
            states_[patch.site] = refusals_[patch.site] = {State::not_guarded, 0, why};
    std::erase_if(patches, wants);
}

// Makes the jumps of all sites that have a stub and are ready, and that of the dynamic linker, at one stop if they are few.
void Arming::jump()
{
    std::vector<Patch> now;
    for (size_t i = 0; i < sites_.size(); ++i)
        if (states_[i].state == State::ready && patches_[i].length != 0) {
            // The site's bytes of now: a kernel's probe may have come and gone since, and left its call behind.
            const auto bytes = bytes_at(target_, patches_[i]);
            if (sites_[i].moves() ? !holds(bytes, patches_[i], patches_[i].before) : !is_idle(bytes))
                continue;
            std::copy_n(bytes.begin(), patches_[i].length, patches_[i].before.begin());
            now.push_back(patches_[i]);
        }
    if (!now.empty()) {
        jumps_ = true;
        guard(now);
    }
    const size_t of_sites = now.size();
    if (const auto loader = jump_of_loader())
        now.push_back(*loader);
    if (const auto executing = jump_of_executing())
        now.push_back(*executing);
    if (now.empty())
        return;
    const bool had_jumps = std::exchange(jumps_, true);
    const std::vector<Patch> all = now;
    bool moved = false; // a module may have gone since we looked
    try {
        for (unsigned tries = 0; !now.empty() && tries < 5; ++tries) {
            const auto outcomes = target_.patch(now, false);
            std::vector<Patch> again;
            for (size_t i = 0; i < now.size(); ++i) {
                entered_ = entered_ || outcomes[i] == Target::Outcome::done;
                if (now[i].site == of_loader || now[i].site == of_executing)
                    continue;
                SiteState& state = states_[now[i].site];
                switch (outcomes[i]) {
                case Target::Outcome::done: state = {State::armed}; break;
                case Target::Outcome::changed:
                    state = {State::changed};
                    moved = true;
                    break;
                case Target::Outcome::busy:
                    state = {State::busy};
                    again.push_back(now[i]);
                    break;
                case Target::Outcome::unknown:
                    state = {State::cannot_move, 0,
                             "may be where a thread goes back that the process switches by itself: it has too much "
                             "memory to look for that"};
                    break;
                }
            }
            now = std::move(again);
        }
    } catch (const Unusable&) {
        const auto may_hold_some = [&] {
            return std::any_of(all.begin(), all.end(), [this](const Patch& p) { return may_hold(target_, p); });
        };
        entered_ = entered_ || may_hold_some();
        try {
            if (entered_)
                target_.patch(all, true);
            jumps_ = had_jumps || may_hold_some();
            if (!jumps_)
                unguard(View(target_));
        } catch (const Unusable&) {
            // The fronts name the jumps: disarm() undoes them, or a later run.
        }
        target_.leave_loader();
        if (of_sites == 0)
            return;
        throw;
    }
    if (!is_made(loader_) && !is_made(executing_)) // nobody asks us
        target_.leave_loader();
    if (moved)
        verify();
}

// Of the dynamic linker, which then waits for us. Empty: it is made already, or cannot be.
std::optional<Patch> Arming::jump_of_loader()
{
    if (!watches_loader_ || loader_.length == 0)
        return std::nullopt;
    try {
        target_.hear_loader();
    } catch (const Unusable&) {
        return std::nullopt; // libraries are found without it too, later
    }
    return holds(bytes_at(target_, loader_), loader_, loader_.after) ? std::nullopt : std::optional(loader_);
}

// The same of execve(). It is one instruction for another of the same length, but when a kernel's probe there goes, the kernel
// writes the first byte that the file has.
std::optional<Patch> Arming::jump_of_executing()
{
    if (!watches_executing_ || executing_.length == 0
        || !holds(bytes_at(target_, executing_), executing_, executing_.before))
        return std::nullopt;
    try {
        target_.hear_loader();
        if (!guard_executing())
            return std::nullopt;
    } catch (const Unusable&) {
        return std::nullopt; // what is executed is found without it too, later
    }
    return executing_;
}

bool Arming::guard_executing()
{
    const View view(target_);
    const Mapping* const mapping = mapping_at(view.mappings, executing_.at);
    return !mapping || mapping->writable || target_.guard(ranges_of(view, {page_of(executing_)}), true);
}

bool Arming::is_made(const Patch& patch)
{
    return patch.length != 0 && holds(bytes_at(target_, patch), patch, patch.after);
}

// Returns those whose jump may still be there: beneath a breakpoint, or because a thread keeps standing in it.
static std::vector<Patch> undo(Target& target, std::vector<Patch> patches)
{
    std::vector<Patch> left;
    for (unsigned tries = 0; !patches.empty() && tries < 5; ++tries) {
        const auto outcomes = target.patch(patches, true);
        std::vector<Patch> again;
        for (size_t i = 0; i < patches.size(); ++i)
            if (outcomes[i] == Target::Outcome::busy)
                again.push_back(patches[i]);
            else if (outcomes[i] != Target::Outcome::done && may_hold(target, patches[i]))
                left.push_back(patches[i]);
        patches = std::move(again);
    }
    left.insert(left.end(), patches.begin(), patches.end());
    return left;
}

uint8_t Arming::faults() const
{
    uint8_t all = 0;
    for (const Site& site : sites_)
        if (site.found.state == State::ready)
            all |= site.moved.faults;
    return all;
}

// Those that were made at some time.
std::vector<Patch> Arming::faulting(uint8_t handled) const
{
    std::vector<Patch> patches;
    for (size_t i = 0; i < sites_.size(); ++i)
        if (sites_[i].moved.faults & handled && patches_[i].length != 0)
            patches.push_back(patches_[i]);
    return patches;
}

size_t Arming::withdraw_faulting_in(Target& fork, uint8_t handled) const
{
    std::vector<Patch> patches = faulting(handled);
    std::erase_if(patches, [&](const Patch& patch) { return !may_hold(fork, patch); });
    const size_t before = patches.size();
    return before - undo(fork, std::move(patches)).size();
}

void Arming::withdraw_faulting(uint8_t handled)
{
    verify();
    std::vector<Patch> patches = faulting(handled);
    std::erase_if(patches, [this](const Patch& patch) { return states_[patch.site].state != State::armed; });
    std::set<uint64_t> left;
    for (const Patch& patch : undo(target_, std::move(patches)))
        left.insert(patch.at);
    for (size_t i = 0; i < sites_.size(); ++i)
        if (const auto raised = sites_[i].moved.faults & handled;
            raised && states_[i].state != State::gone && !left.contains(sites_[i].patch))
            states_[i] = sites_[i].found = {State::handles_faults,
                                            uint64_t(raised) | (states_[i].state == State::armed ? was_armed : 0)};
    verify();
}

void Arming::disarm()
{
    if (!jumps_)
        return;
    std::vector<Patch> now;
    for (const Patch& patch : {loader_, executing_})
        if (patch.length != 0) {
            target_.leave_loader();
            now.push_back(patch);
        }
    for (size_t i = 0; i < sites_.size(); ++i)
        if (patches_[i].length != 0)
            now.push_back(patches_[i]);
    jumps_ = !undo(target_, std::move(now)).empty();
    // Also where we need no guard: another tracer may have left its guard for us.
    try {
        if (executing_.length != 0
            || std::any_of(sites_.begin(), sites_.end(), [](const Site& site) { return site.moves(); }))
            target_.alone([this] {
                if (!unguard(View(target_)))
                    throw Unusable("mprotect failed in the process");
            });
    } catch (const Unusable& error) {
        verify();
        throw Unusable(fmt::format("pages that had sites stay writable: {}", error.what()));
    }
    verify();
}

const std::vector<SiteState>& Arming::verify()
{
    const View view(target_);
    std::vector<SiteState> found = states_of(view, sites_, window_.address);
    look_again(found);
    if (window_.size != 0 && mapping_at(view.mappings, window_.address) && target_.read(window_.address, 1).empty())
        return states_; // its memory has gone meanwhile, and what could not be read says nothing
    take_states(found);
    guard_again(view.mappings);
    return states_;
}

// What is mapped and what stands there are read one after the other: where a library goes and comes they may not belong together.
void Arming::look_again(std::vector<SiteState>& found)
{
    const auto may_be_torn = [](const SiteState& state) { return state.state == State::changed; };
    for (unsigned tries = 0; tries < 3 && std::ranges::any_of(found, may_be_torn); ++tries) {
        const View view(target_);
        for (size_t i = 0; i < found.size(); ++i)
            if (may_be_torn(found[i]))
                found[i] = can_arm(view, sites_[i], target_.read(sites_[i].patch, sites_[i].length), window_.address);
    }
}

// Where the program has set the rights of its code itself, or undoes the jumps there.
void Arming::guard_again(const std::vector<Mapping>& mappings)
{
    if (const Mapping* const m = mapping_at(mappings, executing_.at); executing_.length != 0 && m && !m->writable
        && holds(bytes_at(target_, executing_), executing_, executing_.after) && !guard_executing())
        undo(target_, {executing_});
    std::vector<Patch> bare;
    for (size_t i = 0; i < sites_.size(); ++i) {
        const Mapping* const m = mapping_at(mappings, patches_[i].at);
        if (states_[i].state == State::armed && sites_[i].moved.guarded && m && !m->writable)
            bare.push_back(patches_[i]);
    }
    if (bare.empty())
        return;
    std::vector<Patch> guarded = bare;
    guard(guarded);
    if (!guarded.empty())
        return;
    undo(target_, std::move(bare));
    take_states(states_of(View(target_), sites_, window_.address));
}

void Arming::take_states(const std::vector<SiteState>& found)
{
    states_.resize(sites_.size());
    for (size_t i = 0; i < sites_.size(); ++i) {
        // A refusal stays until the site has some other trouble.
        states_[i] = found[i].state == State::ready ? refusals_[i] : found[i];
    }
}

} // namespace fastsdt::engine
