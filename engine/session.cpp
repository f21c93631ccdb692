// SPDX-License-Identifier: BSD-2-Clause
#include "session.h"
#include "environment.h"
#include "machine.h"
#include "place.h"
#include "read.h"

#include <algorithm>
#include <iterator>
#include <map>

namespace fastsdt::engine {

std::string reason(const Site& site, const SiteState& state)
{
    return state.state == State::no_nop && !site.refusal.empty() ? site.refusal : text(state);
}

Session::Session(const Script& script, pid_t pid, Target& target)
    : script_(script), target_(target), matcher_(script, pid), fresh_(matcher_.look()),
      environment_(read_environment(script, pid)), tables_(lay_out(script)),
      arming_(
          target, [this](std::span<const Site> sites, const Arena& arena) { return compiled_to_arm(sites, arena); },
          tables_.size),
      cleared_(script.maps.size())
{
    environment_.threads_run = !target.stops_threads();
}

Code Session::compiled(std::span<const Site> sites, const Arena& arena) const
{
    return compile(script_, tables_, sites, arena, environment_);
}

// That threads have to stop for one more question is for those that are armed, not for a preview.
Code Session::compiled_to_arm(std::span<const Site> sites, const Arena& arena)
{
    if (!asked_ && environment_.rdfsbase) { // else there is no choice
        environment_.stored_thread_pointers = target_.stores_thread_pointers();
        asked_ = true;
    }
    return compiled(sites, arena);
}

Session::Preview Session::preview()
{
    constexpr uint64_t page = 4096;
    Preview preview;
    preview.sites = fresh_;
    preview.states = look(target_, preview.sites);
    preview.stubs.resize(preview.sites.size());
    std::vector<size_t> indices;
    std::vector<uint64_t> addresses;
    for (size_t i = 0; i < preview.sites.size(); ++i)
        if (const State state = preview.states[i].state; state == State::ready || state == State::left_over) {
            indices.push_back(i);
            addresses.push_back(preview.sites[i].patch);
        }
    // As arming groups them: an arena reaches so far.
    std::map<size_t, std::vector<size_t>> groups;
    const std::vector<size_t> group_of = group_by_reach(addresses, own_machine.most_code);
    for (size_t k = 0; k < indices.size(); ++k)
        groups[group_of[k]].push_back(indices[k]);
    for (const auto& [number, members] : groups) {
        std::vector<Site> sites;
        uint64_t base = UINT64_MAX;
        for (const size_t i : members) {
            sites.push_back(preview.sites[i]);
            base = std::min(base, preview.sites[i].patch / page * page);
        }
        // For the page of the lowest site, where nothing will be written: distances are as real as any.
        const Code code = compiled(sites, {base, base, base});
        std::vector<uint64_t> borders = code.stubs; // a stub ends where the next begins, or with the code
        borders.push_back(base + code.bytes.size());
        std::sort(borders.begin(), borders.end());
        for (size_t k = 0; k < members.size(); ++k) {
            if (!code.refusals[k].empty()) {
                preview.states[members[k]] = {State::refused, 0, code.refusals[k]};
                continue;
            }
            const uint64_t end = *std::upper_bound(borders.begin(), borders.end(), code.stubs[k]);
            const auto first = code.bytes.begin() + static_cast<ptrdiff_t>(code.stubs[k] - base);
            preview.stubs[members[k]] = {code.stubs[k], {first, first + static_cast<ptrdiff_t>(end - code.stubs[k])}};
        }
    }
    return preview;
}

void Session::arm()
{
    arming_.arm(std::move(fresh_));
    fresh_.clear();
}

void Session::match_again()
{
    std::vector<Site> come = matcher_.look();
    fresh_.insert(fresh_.end(), std::make_move_iterator(come.begin()), std::make_move_iterator(come.end()));
}

void Session::look_again()
{
    match_again();
    arm();
}

void Session::disarm()
{
    arming_.disarm();
}

Maps Session::read_all()
{
    return read_tables(script_, tables_,
                       [this](size_t offset, size_t size) { return target_.read_data(offset, size); });
}

Maps Session::read()
{
    Maps now = read_all();
    for (size_t map = 0; map < cleared_.size(); ++map)
        if (cleared_[map])
            subtract(script_, map, now, *cleared_[map]);
    return now;
}

void Session::clear(size_t map)
{
    cleared_[map] = read_all();
}

} // namespace fastsdt::engine
