// SPDX-License-Identifier: BSD-2-Clause
//
//     a group of sites within reach of each other -> compiled for nowhere, to know the size -> an arena -> compiled for it
//     -> front and stubs written while the target runs -> all jumps, at stops of a thousand
//
// The front names every jump before the first is made. So whatever a killed tracer leaves behind can be found and undone.
#include "arm.h"

#include "machine.h"
#include "place.h"

#include <fastsdt/recognize.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

namespace fastsdt::engine {
namespace {

constexpr uint64_t page = 4096;

// What the process has, read once for many sites.
struct View {
    explicit View(Target& of) : target(of), mappings(of.mappings()), arenas(find_arenas(of)) {}

    const Mapping* mapping_of(uint64_t address) const
    {
        const auto after = std::upper_bound(mappings.begin(), mappings.end(), address,
                                            [](uint64_t a, const Mapping& m) { return a < m.start; });
        return after != mappings.begin() && address < std::prev(after)->end ? &*std::prev(after) : nullptr;
    }
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

// Nobody is there. After a kernel's call, which then is still the end of the nop10, a thread may stand before it: that is
// looked for when all are stopped.
bool is_idle(std::span<const std::byte> bytes)
{
    const fastsdt_recognized found = recognize(bytes);
    return found.layout == own_machine.layout && !found.lead && !found.breakpoints
        && (found.state == FASTSDT_STATE_PRISTINE || found.state == FASTSDT_STATE_STALE_CALL);
}

// `data`: of the run that asks; 0: of none.
SiteState judge(const View& view, const Site& site, std::span<const std::byte> bytes, uint64_t data)
{
    if (!site.patch || site.length != own_machine.length)
        return {State::no_nop};
    const Mapping* const mapping = view.mapping_of(site.patch);
    if (!mapping)
        return {State::gone};
    if (!mapping->executable || mapping->writable || mapping->shared || bytes.size() != own_machine.length)
        return {State::not_private};
    if (site.patch % page + own_machine.exchanged > page)
        return {State::crosses_page};
    const fastsdt_recognized found = recognize(bytes);
    if (found.layout != own_machine.layout || found.lead)
        return {State::changed};
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
    if (std::string why = view.target.obstacle(site.patch, bytes); !why.empty())
        return {State::obstructed, 0, std::move(why)};
    return {State::ready};
}

std::vector<SiteState> look_from(Target& target, std::span<const Site> sites, uint64_t data)
{
    const View view(target);
    std::vector<SiteState> states;
    for (const Site& site : sites)
        states.push_back(judge(view, site, target.read(site.patch, own_machine.length), data));
    return states;
}

bool holds(std::span<const std::byte> bytes, const std::array<std::byte, 8>& wanted)
{
    return bytes.size() >= own_machine.exchanged
        && std::equal(wanted.begin(), wanted.begin() + own_machine.exchanged, bytes.begin());
}

// Undoes what tracers left that have ended. Only jumps that lead into the arena which names them are touched, and only nops
// take their place: a front may be a lie.
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
            const auto bytes = target.read(p.at, own_machine.length);
            if (!holds(bytes, p.after) || judge(view, site, bytes, 0).state != State::left_over)
                continue;
            std::vector<std::byte> then(bytes);
            std::copy_n(p.before.begin(), own_machine.exchanged, then.begin());
            if (!is_idle(then))
                continue;
            undo.push_back(p);
            const Mapping* const counter = view.mapping_of(p.semaphore);
            if (!counter || !counter->writable)
                undo.back().semaphore = 0;
        }
    }
    if (!undo.empty())
        target.patch(undo, true);
}

} // namespace

std::string text(const SiteState& state)
{
    switch (state.state) {
    case State::ready: return "not armed";
    case State::armed: return "armed";
    case State::no_nop: return fmt::format("has no {}", own_machine.nop);
    case State::kernel: return "taken by the kernel";
    case State::other_tracer: return fmt::format("taken by tracer {}", state.tracer);
    case State::other_run: return "taken by another script of the same tracer";
    case State::left_over: return "left by a tracer that has ended";
    case State::foreign: return "taken by a jump that is not ours";
    case State::changed: return "has other bytes than its file";
    case State::damaged: return "damaged by another tracer";
    case State::crosses_page: return "crosses a page";
    case State::not_private: return "is not in private, executable memory";
    case State::too_far: return "has no free memory within reach";
    case State::busy: return "has a thread standing in it";
    case State::gone: return "is not mapped any more";
    case State::obstructed:
    case State::refused: break;
    }
    return state.why;
}

std::vector<SiteState> look(Target& target, std::span<const Site> sites)
{
    return look_from(target, sites, 0);
}

Arming::Arming(Target& target, Compile compile, size_t data_size)
    : target_(target), compile_(std::move(compile)), data_size_(data_size)
{}

Arming::~Arming()
{
    try {
        disarm();
    } catch (const Unusable&) {
        // It has ended, or cannot be stopped: its stubs go on counting for nobody, and a later run clears them away.
    }
}

void Arming::arm(std::vector<Site> sites)
{
    clear_left_overs(target_);
    std::map<uint64_t, size_t> known; // by address of the patch
    for (size_t i = 0; i < sites_.size(); ++i)
        known.emplace(sites_[i].patch, i);
    for (Site& site : sites) {
        const auto found = known.find(site.patch);
        const auto same = [&](const Site& a) {
            return a.kind == site.kind && a.file == site.file && a.provider == site.provider && a.name == site.name
                && a.arguments == site.arguments && a.load_bias == site.load_bias && a.semaphore == site.semaphore
                && a.clauses == site.clauses;
        };
        if (found != known.end() && site.patch && same(sites_[found->second]))
            continue;
        sites_.push_back(std::move(site));
        patches_.emplace_back().length = 0;
    }
    verify();
    std::vector<size_t> without_stub;
    for (size_t i = 0; i < sites_.size(); ++i)
        if (states_[i].state == State::ready && patches_[i].length == 0)
            without_stub.push_back(i);
    place(without_stub);

    std::vector<Patch> now;
    for (size_t i = 0; i < sites_.size(); ++i)
        if (states_[i].state == State::ready && patches_[i].length != 0) {
            // As it is now: a kernel's probe may have been there since, and left its call behind.
            const auto bytes = target_.read(patches_[i].at, own_machine.length);
            if (!is_idle(bytes))
                continue;
            std::copy_n(bytes.begin(), patches_[i].length, patches_[i].before.begin());
            now.push_back(patches_[i]);
        }
    if (!now.empty()) {
        jumps_ = true;
        for (Front& front : fronts_)
            if (front.tracer == Tracer{}) { // of a run that was over
                front.tracer = Tracer::self();
                target_.write_code(front.start, encode(front));
            }
    }
    for (unsigned tries = 0; !now.empty() && tries < 5; ++tries) {
        const auto outcomes = target_.patch(now, false);
        std::vector<Patch> again;
        for (size_t i = 0; i < now.size(); ++i) {
            SiteState& state = states_[now[i].site];
            switch (outcomes[i]) {
            case Target::Outcome::done: state = {State::armed}; break;
            case Target::Outcome::changed: state = {State::changed}; break;
            case Target::Outcome::busy:
                state = {State::busy};
                again.push_back(now[i]);
                break;
            }
        }
        now = std::move(again);
    }
}

// Stubs for sites that have none.
void Arming::place(const std::vector<size_t>& indices)
{
    std::vector<uint64_t> addresses;
    for (size_t i : indices)
        addresses.push_back(sites_[i].patch);
    constexpr uint64_t most = own_machine.most_code;
    const std::vector<size_t> groups = group_by_reach(addresses, most);
    for (size_t group = 0; group < sites_.size(); ++group) {
        std::vector<size_t> members;
        std::vector<Site> sites;
        std::vector<uint64_t> near;
        for (size_t k = 0; k < indices.size(); ++k)
            if (groups[k] == group) {
                members.push_back(indices[k]);
                sites.push_back(sites_[indices[k]]);
                near.push_back(addresses[k]);
            }
        if (members.empty())
            break;
        const size_t front_size = size_of_front(members.size());
        if (!data_)
            data_ = target_.allocate_data(data_size_);
        const uint64_t somewhere = near.front() / page * page;
        const size_t size = front_size + compile_(sites, {somewhere, data_, somewhere + most / 2}).bytes.size() + page;
        Arena arena = size <= most ? target_.allocate_code(near, size) : Arena{};
        if (!arena.code) {
            for (size_t i : members)
                states_[i] = {State::too_far};
            continue;
        }
        Front front{arena.code, size, arena.mark, arena.data, Tracer::self(), {}};
        arena.code += front_size;
        const Code code = compile_(sites, arena);
        if (front_size + code.bytes.size() > size)
            throw std::logic_error("stubs are longer than they were said to be");
        for (size_t k = 0; k < members.size() && k < code.refusals.size(); ++k)
            if (!code.refusals[k].empty())
                states_[members[k]] = {State::refused, 0, code.refusals[k]};
        for (Patch p : code.patches) {
            const size_t i = members.at(p.site);
            p.site = i;
            p.semaphore = sites_[i].semaphore;
            patches_[i] = p;
            front.patches.push_back(p);
        }
        target_.write_code(arena.code, code.bytes);
        target_.write_code(front.start, encode(front));
        fronts_.push_back(std::move(front));
    }
}

void Arming::disarm()
{
    if (!jumps_)
        return;
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
    // Where a thread keeps standing the jump stays, and it stays ours.
    const auto stays = [&](const Patch& p) {
        return std::any_of(now.begin(), now.end(), [&](const Patch& busy) { return busy.at == p.at; });
    };
    for (Front& front : fronts_)
        if (std::none_of(front.patches.begin(), front.patches.end(), stays)) {
            front.tracer = {};
            target_.write_code(front.start, encode(front));
        }
    jumps_ = !now.empty();
    verify();
}

const std::vector<SiteState>& Arming::verify()
{
    const auto found = look_from(target_, sites_, data_);
    states_.resize(sites_.size());
    for (size_t i = 0; i < sites_.size(); ++i) {
        // What was refused is so for good, as long as nothing else is the matter with it.
        const State before = states_[i].state;
        const bool same = found[i].state == State::ready && (before == State::refused || before == State::too_far);
        if (!same)
            states_[i] = found[i];
    }
    return states_;
}

} // namespace fastsdt::engine
