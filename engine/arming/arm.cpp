// SPDX-License-Identifier: BSD-2-Clause
//
//     a group of sites within reach of each other -> compiled to learn the size -> an arena -> compiled for that arena
//     -> front and stubs written while the target runs -> the jumps, a thousand at each stop
//
// The front names every jump before the first is made. So a later run finds and undoes whatever a killed tracer left.
#include "arming/arm.h"

#include "arming/place.h"
#include "code/machine.h"

#include <fastsdt/recognize.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

namespace fastsdt::engine {
namespace {

// The process's mappings and arenas, read once for many sites.
struct View {
    explicit View(Target& of) : target(of), mappings(of.mappings()), arenas(find_arenas(of)) {}

    const Front* arena_of(uint64_t address) const
    {
        for (const Front& front : arenas)
            if (address >= front.start && address - front.start < front.size)
                return &front;
        return nullptr;
    }

    Target& target;
    std::vector<Mapping> mappings;
    std::vector<Front> arenas;
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

// `data`: the tables of the run that asks; 0: no run asks.
SiteState can_arm(const View& view, const Site& site, std::span<const std::byte> bytes, uint64_t data)
{
    if (site.found.state != State::ready)
        return site.found;
    if (!site.patch || site.length != own_machine.length)
        return {State::no_nop};
    const Mapping* const mapping = mapping_at(view.mappings, site.patch);
    if (!mapping)
        return {State::gone};
    if (site.inode && mapping->inode && (mapping->inode != site.inode || mapping->device != site.device))
        return {State::gone}; // another file is mapped there now
    if (!mapping->executable || mapping->writable || mapping->shared || bytes.size() != own_machine.length)
        return {State::not_private};
    if (site.patch % smallest_page + own_machine.exchanged > smallest_page)
        return {State::crosses_page};
    const fastsdt_recognized found = recognize(bytes);
    if (found.layout != own_machine.layout || found.lead) // or something of no file is mapped there now
        return {site.inode && !mapping->inode ? State::gone : State::changed};
    if (found.state == FASTSDT_STATE_DAMAGED)
        return {State::damaged};
    if (found.breakpoints || found.state == FASTSDT_STATE_LEA_CALL || found.state == FASTSDT_STATE_CALL)
        return {State::kernel};
    if (found.state == FASTSDT_STATE_JUMP) {
        const Front* const arena = view.arena_of(site.patch + found.rel_end + static_cast<int64_t>(found.rel));
        if (!arena)
            return {State::foreign};
        if (arena->tracer == Tracer::self())
            return {data && arena->data == data ? State::armed : State::other_run};
        if (arena->tracer.may_run())
            return {State::other_tracer, arena->tracer.pid};
        return {State::left_over};
    }
    if (!is_idle(bytes))
        return {State::changed};
    return {view.target.obstacle(site.patch, bytes)};
}

std::vector<SiteState> states_of(Target& target, std::span<const Site> sites, uint64_t data)
{
    const View view(target);
    std::vector<SiteState> states;
    for (const Site& site : sites)
        states.push_back(can_arm(view, site, target.read(site.patch, own_machine.length), data));
    return states;
}

bool holds(std::span<const std::byte> bytes, const std::array<std::byte, 8>& wanted)
{
    return bytes.size() >= own_machine.exchanged
        && std::equal(wanted.begin(), wanted.begin() + own_machine.exchanged, bytes.begin());
}

// Whether our jump may be there, also beneath a breakpoint of the kernel or of a debugger, which puts back what it hides.
bool may_hold(std::span<const std::byte> bytes, const std::array<std::byte, 8>& wanted)
{
    if (own_machine.arch == Arch::x86_64) // a breakpoint takes the first byte
        return bytes.size() >= own_machine.exchanged
            && std::equal(wanted.begin() + 1, wanted.begin() + own_machine.exchanged, bytes.begin() + 1);
    return holds(bytes, wanted) || recognize(bytes).breakpoints;
}

Range code_of(const Front& front)
{
    return {front.start, front.mark + own_machine.page - front.start};
}

// The tables of fronts go with the last of them.
bool release_fronts(Target& target, std::span<const Front> fronts)
{
    if (fronts.empty())
        return true;
    std::vector<Range> code;
    for (const Front& front : fronts)
        code.push_back(code_of(front));
    return target.release(code, {fronts.front().data, fronts.front().data_size});
}

// Gives back the memory of tracers that have ended, where no jump leads to it any more. A front may be a lie: only the
// mappings are unmapped that an arena has and a tracer's tables.
void release_left_overs(Target& target)
{
    const View view(target);
    std::map<uint64_t, std::vector<Front>> runs; // by address of the tables
    std::set<uint64_t> kept;
    for (const Front& front : view.arenas) {
        const bool jumps = std::any_of(front.patches.begin(), front.patches.end(), [&](const Patch& p) {
            return may_hold(target.read(p.at, own_machine.length), p.after);
        });
        const Mapping* const data = mapping_at(view.mappings, front.data, front.data_size);
        const Mapping* const mark = mapping_at(view.mappings, front.mark, own_machine.page);
        if (jumps || front.tracer.may_run() || !data || data->start != front.data
            || data->end - data->start != front.data_size || !data->shared || !mark || mark->inode != 0
            || front.mark < front.start || front.mark - front.start != whole_pages(front.size))
            kept.insert(front.data);
        runs[front.data].push_back(front);
    }
    for (const auto& [data, fronts] : runs)
        if (!kept.contains(data))
            release_fronts(target, fronts);
}

// Undoes the jumps of tracers that have ended. A front may be forged: so a jump is undone only if it leads into an
// arena of such a tracer, and only to a nop.
void clear_left_overs(Target& target)
{
    std::vector<Patch> undo;
    const View view(target);
    for (const Front& arena : view.arenas) {
        if (arena.tracer.may_run())
            continue;
        for (const Patch& p : arena.patches) {
            Site site;
            site.patch = p.at;
            site.length = own_machine.length;
            auto bytes = target.read(p.at, own_machine.length);
            const bool of_loader = is_loader_return(p.before);
            if (of_loader && bytes.size() == own_machine.length) // no nop has been there: as if one had
                std::fill(bytes.begin() + own_machine.exchanged, bytes.end(), std::byte{0});
            if (!holds(bytes, p.after) || can_arm(view, site, bytes, 0).state != State::left_over)
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
    release_left_overs(target);
}

} // namespace

std::vector<SiteState> can_arm(Target& target, std::span<const Site> sites)
{
    return states_of(target, sites, 0);
}

Arming::Arming(Target& target, Compile compile, size_t least, FirstWords first)
    : target_(target), compile_(std::move(compile)), least_(least), first_(std::move(first))
{}

Arming::~Arming()
{
    try {
        disarm();
        if (fronts_.empty() && window_.size != 0) // nobody can be in a stub
            target_.release({}, {window_.address, window_.size});
        if (jumps_ || release_fronts(target_, fronts_))
            return;
        for (Front& front : fronts_) { // for the next run to release
            front.tracer = {};
            target_.write_code(front.start, encode(front));
        }
    } catch (const Unusable&) {
        // The process has ended, or cannot be stopped. Then its stubs go on counting; a later run clears them away.
    }
}

// Each step is kept only after it has happened. What fails is undone, so another try begins where this one began: with
// the sites known, and with the process as it was.
void Arming::arm(std::vector<Site> sites)
{
    add(std::move(sites));
    clear_left_overs(target_);
    verify();
    std::vector<size_t> without_stub;
    for (size_t i = 0; i < sites_.size(); ++i)
        if (states_[i].state == State::ready && patches_[i].length == 0)
            without_stub.push_back(i);
    place(without_stub);
    jump();
    if (!watches_loader_)
        return;
    try {
        arm_loader();
    } catch (const Unusable&) {
        target_.leave_loader(); // libraries are found without it too, later
    }
}

void Arming::add(std::vector<Site> sites)
{
    std::multimap<uint64_t, size_t> known; // by address of the patch
    for (size_t i = 0; i < sites_.size(); ++i)
        known.emplace(sites_[i].patch, i);
    for (Site& site : sites) {
        const auto same = [&](const auto& one) {
            const Site& a = sites_[one.second];
            return a.kind == site.kind && a.file == site.file && a.device == site.device && a.inode == site.inode
                && a.provider == site.provider && a.name == site.name && a.arguments == site.arguments
                && a.load_bias == site.load_bias && a.semaphore == site.semaphore && a.clauses == site.clauses;
        };
        const auto [first, last] = known.equal_range(site.patch);
        if (site.patch && std::any_of(first, last, same))
            continue;
        sites_.push_back(std::move(site));
        patches_.emplace_back().length = 0;
        refusals_.emplace_back();
    }
}

// Makes stubs for sites that have none.
void Arming::place(const std::vector<size_t>& indices)
{
    std::vector<uint64_t> addresses;
    for (size_t i : indices)
        addresses.push_back(sites_[i].patch);
    std::map<size_t, std::vector<size_t>> groups;
    const std::vector<size_t> group_of = group_by_reach(addresses, own_machine.most_code);
    for (size_t k = 0; k < indices.size(); ++k)
        groups[group_of[k]].push_back(indices[k]);
    for (const auto& [number, members] : groups)
        place_group(members);
}

void Arming::prepare_tables()
{
    if (window_.size == 0)
        window_ = target_.allocate_data(least_);
    if (!prepared_)
        for (const FirstWord& word : first_(window_))
            target_.change_data(word.offset, 0, word.value);
    prepared_ = true;
}

// Sites within reach of each other: one arena.
void Arming::place_group(const std::vector<size_t>& members)
{
    std::vector<Site> sites;
    std::vector<uint64_t> near;
    for (const size_t i : members) {
        sites.push_back(sites_[i]);
        near.push_back(sites_[i].patch);
    }
    prepare_tables();
    constexpr uint64_t most = own_machine.most_code;
    const size_t front_size = size_of_front(members.size());
    const uint64_t somewhere = near.front() / smallest_page * smallest_page;
    const size_t size =
        front_size + compile_(sites, {somewhere, window_.address, somewhere + most / 2}).bytes.size() + smallest_page;
    const Arena arena = size <= most ? target_.allocate_code(near, size) : Arena{};
    if (!arena.code) {
        for (const size_t i : members)
            states_[i] = refusals_[i] = {State::too_far};
        return;
    }
    try {
        const Code code = compile_(sites, {arena.code + front_size, arena.data, arena.mark});
        if (front_size + code.bytes.size() > size)
            throw std::logic_error("stubs are longer than they were said to be");
        Front front{arena.code, size, arena.mark, arena.data, window_.size, Tracer::self(), {}};
        for (Patch p : code.patches) {
            p.site = members.at(p.site);
            p.semaphore = sites_[p.site].semaphore;
            front.patches.push_back(p);
        }
        target_.write_code(arena.code + front_size, code.bytes);
        target_.write_code(front.start, encode(front));
        for (size_t k = 0; k < code.refusals.size(); ++k)
            if (code.refusals[k].state != State::ready)
                states_[members[k]] = refusals_[members[k]] = code.refusals[k];
        for (const Patch& p : front.patches)
            patches_[p.site] = p;
        fronts_.push_back(std::move(front));
    } catch (...) {
        target_.free_code(arena, size);
        throw;
    }
}

// Makes the jumps of all sites that have a stub and are ready.
void Arming::jump()
{
    std::vector<Patch> now;
    for (size_t i = 0; i < sites_.size(); ++i)
        if (states_[i].state == State::ready && patches_[i].length != 0) {
            // The site's bytes of now: a kernel's probe may have come and gone since, and left its call behind.
            const auto bytes = target_.read(patches_[i].at, own_machine.length);
            if (!is_idle(bytes))
                continue;
            std::copy_n(bytes.begin(), patches_[i].length, patches_[i].before.begin());
            now.push_back(patches_[i]);
        }
    if (now.empty())
        return;
    jumps_ = true;
    const std::vector<Patch> all = now;
    bool moved = false; // a module may have gone since we looked
    try {
        for (unsigned tries = 0; !now.empty() && tries < 5; ++tries) {
            const auto outcomes = target_.patch(now, false);
            std::vector<Patch> again;
            for (size_t i = 0; i < now.size(); ++i) {
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
                }
            }
            now = std::move(again);
        }
    } catch (const Unusable&) {
        try {
            target_.patch(all, true);
        } catch (const Unusable&) {
            // The fronts name the jumps: disarm() undoes them, or a later run.
        }
        throw;
    }
    if (moved)
        verify();
}

// The dynamic linker's function gets an arena of its own: it may be out of reach of all others.
void Arming::arm_loader()
{
    const std::optional<Loader> loader = target_.loader();
    if (!loader)
        return;
    const auto function = target_.read(loader->breakpoint, loader_function);
    if (loader_.length == 0) {
        const auto mappings = target_.mappings();
        const Mapping* const mapping = mapping_at(mappings, loader->breakpoint, loader_function);
        if (!mapping || !mapping->executable || mapping->writable || mapping->shared || mapping->inode == 0
            || loader->breakpoint % smallest_page + loader_function > smallest_page
            || !loader_patch(*loader, function, loader->breakpoint))
            return;
        prepare_tables();
        const size_t front_size = size_of_front(1);
        const uint64_t somewhere = loader->breakpoint / smallest_page * smallest_page;
        const size_t size = front_size + compile_loader_stub(*loader, {somewhere, window_.address, somewhere}).size();
        const Arena arena = target_.allocate_code(std::span(&loader->breakpoint, 1), size);
        if (!arena.code)
            return;
        try {
            const auto patch = loader_patch(*loader, function, arena.code + front_size);
            if (!patch)
                throw std::logic_error("the arena is not within reach of the dynamic linker");
            const Front front{arena.code, size, arena.mark, arena.data, window_.size, Tracer::self(), {*patch}};
            target_.write_code(arena.code + front_size,
                               compile_loader_stub(*loader, {arena.code + front_size, arena.data, arena.mark}));
            target_.write_code(front.start, encode(front));
            fronts_.push_back(front);
            loader_ = *patch;
        } catch (...) {
            target_.free_code(arena, size);
            throw;
        }
    }
    target_.hear_loader();
    if (holds(target_.read(loader_.at, own_machine.exchanged), loader_.after))
        return;
    jumps_ = true;
    if (target_.patch(std::span(&loader_, 1), false).front() != Target::Outcome::done)
        target_.leave_loader();
}

// False: the jump may still be there.
bool Arming::disarm_loader()
{
    if (loader_.length == 0)
        return true;
    target_.leave_loader();
    using Outcome = Target::Outcome;
    if (target_.patch(std::span(&loader_, 1), true).front() == Outcome::done)
        return true;
    return !may_hold(target_.read(loader_.at, own_machine.length), loader_.after);
}

void Arming::disarm()
{
    if (!jumps_)
        return;
    const bool loader_left = disarm_loader();
    std::vector<Patch> now;
    for (size_t i = 0; i < sites_.size(); ++i)
        if (patches_[i].length != 0)
            now.push_back(patches_[i]);
    for (unsigned tries = 0; !now.empty() && tries < 5; ++tries) {
        const auto outcomes = target_.patch(now, true);
        std::vector<Patch> again;
        for (size_t i = 0; i < now.size(); ++i)
            if (outcomes[i] == Target::Outcome::busy)
                again.push_back(now[i]);
        now = std::move(again);
    }
    jumps_ = !now.empty() || !loader_left; // a thread keeps standing in these
    verify();
}

const std::vector<SiteState>& Arming::verify()
{
    const auto found = states_of(target_, sites_, window_.address);
    states_.resize(sites_.size());
    for (size_t i = 0; i < sites_.size(); ++i) {
        // A refusal stays until the site has some other trouble.
        states_[i] = found[i].state == State::ready ? refusals_[i] : found[i];
    }
    return states_;
}

} // namespace fastsdt::engine
