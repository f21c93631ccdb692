// SPDX-License-Identifier: BSD-2-Clause
//
//     each group of sites within reach of each other, and the dynamic linker -> compiled to learn the size -> tables and
//     arenas -> compiled for each arena -> front and stubs written while the target runs -> the jumps, a thousand at each stop
//
// The front names every jump before the first is made. So a later run finds and undoes whatever a killed tracer left.
#include "arming/arm.h"

#include "arming/place.h"
#include "arming/states.h"
#include "base/integers.h"
#include "code/executing.h"
#include "code/machine.h"
#include "code/stubs.h"

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

// Front::number.
uint64_t next_number()
{
    static std::atomic<uint64_t> last{0};
    return ++last;
}

} // namespace

std::vector<SiteState> can_arm(Target& target, std::span<const Site> sites)
{
    return states_of(ArenaView(target), sites, 0);
}

bool clear_forked(Target& target)
{
    bool jumps = false;
    clear_left_overs(ArenaView(target, true), true, &jumps);
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
    std::optional<ArenaView> view(std::in_place, target_);
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
    // Stubs of Go's functions apart from others: it is by other rules that nobody comes back to them.
    std::map<std::pair<size_t, bool>, std::vector<size_t>> groups;
    const std::vector<size_t> group_of = group_by_reach(addresses, own_machine.most_code);
    for (size_t k = 0; k < indices.size(); ++k)
        groups[{group_of[k], is_of_go(sites_[indices[k]])}].push_back(indices[k]);
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
    std::optional<ArenaView> view;
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
        return Code{stub(arena), {jump(arena.code)}, {}, {}, 0, {}};
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
    const ArenaView view(target_);
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
        for (unsigned tries = 0; !now.empty() && target_.tries_again(tries); ++tries) {
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
                    state = {
                        State::cannot_move, 0,
                        now[i].of_go
                            ? "may be where a goroutine stands, and not all of them can be looked at; --engine kernel "
                              "can have it"
                            : "may be where a thread goes back that the process switches by itself: it has too much "
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
                unguard(ArenaView(target_));
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
    const ArenaView view(target_);
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
    for (unsigned tries = 0; !patches.empty() && target.tries_again(tries); ++tries) {
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
                if (!unguard(ArenaView(target_)))
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
    const ArenaView view(target_);
    std::vector<SiteState> found = states_of(view, sites_, window_.address);
    look_again(found);
    if (view.mappings.empty())
        return states_; // it ends
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
        const ArenaView view(target_);
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
    take_states(states_of(ArenaView(target_), sites_, window_.address));
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
