// SPDX-License-Identifier: BSD-2-Clause
#include "session.h"
#include "environment.h"
#include "read.h"

#include <algorithm>
#include <iterator>

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
    if (!asked_) {
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
    // Compiled for the page before the lowest site, where nothing will be written: distances are as real as any.
    std::vector<Site> ready;
    std::vector<size_t> indices;
    for (size_t i = 0; i < preview.sites.size(); ++i) {
        const State state = preview.states[i].state;
        if (state != State::ready && state != State::left_over)
            continue;
        indices.push_back(i);
        ready.push_back(preview.sites[i]);
        const uint64_t at = preview.sites[i].patch / page * page;
        preview.base = preview.base ? std::min(preview.base, at) : at;
    }
    const Arena arena{preview.base, preview.base, preview.base};
    Code code = compiled(ready, arena);
    preview.code.bytes = std::move(code.bytes);
    preview.code.stubs.resize(preview.sites.size());
    for (size_t k = 0; k < indices.size(); ++k) {
        preview.code.stubs[indices[k]] = code.stubs[k];
        if (!code.refusals[k].empty())
            preview.states[indices[k]] = {State::refused, 0, code.refusals[k]};
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
