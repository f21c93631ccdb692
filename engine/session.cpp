// SPDX-License-Identifier: BSD-2-Clause
#include "arming/place.h"
#include "code/machine.h"
#include "process/environment.h"
#include "session.h"

#include <algorithm>
#include <iterator>
#include <map>

namespace fastsdt::engine {

Session::Session(const Script& script, pid_t pid, Target& target)
    : script_(script), target_(target), matcher_(script, pid), fresh_(matcher_.find_new()),
      environment_(read_environment(script, pid)), tables_(lay_out(script)),
      arming_(
          target, [this](std::span<const Site> sites, const Arena& arena) { return compiled_to_arm(sites, arena); },
          tables_.least, [this](Window window) { return first_words(tables_, window); }),
      cleared_(script.maps.size())
{
    environment_.threads_run = !target.stops_threads();
}

Code Session::compiled(std::span<const Site> sites, const Arena& arena) const
{
    return compile(script_, tables_, sites, arena, environment_);
}

// Asks about thread pointers only when arming, not for a preview: the question stops all threads.
Code Session::compiled_to_arm(std::span<const Site> sites, const Arena& arena)
{
    if (!asked_ && environment_.rdfsbase) { // without it stubs have no choice
        environment_.stored_thread_pointers = target_.stores_thread_pointers();
        asked_ = true;
    }
    return compiled(sites, arena);
}

Session::Preview Session::preview()
{
    Preview preview;
    preview.sites = fresh_;
    preview.states = can_arm(target_, preview.sites);
    preview.stubs.resize(preview.sites.size());
    std::vector<size_t> indices;
    std::vector<uint64_t> addresses;
    for (size_t i = 0; i < preview.sites.size(); ++i)
        if (can_be_armed(preview.states[i])) {
            indices.push_back(i);
            addresses.push_back(preview.sites[i].patch);
        }
    // Groups sites as arming does: one arena reaches all sites of a group.
    std::map<size_t, std::vector<size_t>> groups;
    const std::vector<size_t> group_of = group_by_reach(addresses, own_machine.most_code);
    for (size_t k = 0; k < indices.size(); ++k)
        groups[group_of[k]].push_back(indices[k]);
    for (const auto& [number, members] : groups) {
        std::vector<Site> sites;
        uint64_t base = UINT64_MAX;
        for (const size_t i : members) {
            sites.push_back(preview.sites[i]);
            base = std::min(base, preview.sites[i].patch / smallest_page * smallest_page);
        }
        // Compiled as if for the page of the lowest site; nothing is written there. So distances are realistic.
        const Code code = compiled(sites, {base, base, base});
        std::vector<uint64_t> borders = code.stubs; // a stub ends where the next begins, or with the code
        borders.push_back(base + code.bytes.size());
        std::sort(borders.begin(), borders.end());
        for (size_t k = 0; k < members.size(); ++k) {
            if (code.refusals[k].state != State::ready) {
                preview.states[members[k]] = code.refusals[k];
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
    const size_t known = arming_.sites().size();
    try {
        arming_.arm(fresh_);
    } catch (...) {
        if (arming_.sites().size() != known) // it takes all of them, or none
            fresh_.clear();
        throw;
    }
    fresh_.clear();
}

void Session::match_again()
{
    std::vector<Site> come = matcher_.find_new();
    fresh_.insert(fresh_.end(), std::make_move_iterator(come.begin()), std::make_move_iterator(come.end()));
}

void Session::match_and_arm()
{
    match_again();
    arm();
}

void Session::disarm()
{
    arming_.disarm();
}

void Session::watch_loader()
{
    if (environment_.system_calls) // the stub waits by one
        arming_.watch_loader();
}

bool Session::answer_loader(const std::function<void()>& match)
{
    const uint32_t question = target_.take_question();
    match();
    return target_.answer_loader(question);
}

Maps Session::read_all()
{
    return read_tables(script_, tables_, arming_.window(),
                       [this](size_t offset, size_t size) { return target_.read_data(offset, size); });
}

Maps Session::read()
{
    Maps now = read_all();
    const auto clears = [](const Clause& clause) {
        return std::any_of(clause.actions.begin(), clause.actions.end(),
                           [](const Statement& s) { return s.kind == Statement::Kind::clear; });
    };
    if (std::any_of(script_.clauses.begin(), script_.clauses.end(), clears))
        last_ = now;
    for (size_t map = 0; map < cleared_.size(); ++map)
        if (cleared_[map])
            subtract(script_, map, now, *cleared_[map]);
    return now;
}

std::vector<Piece> Session::contents()
{
    return engine::contents(tables_, arming_.window(),
                            [this](size_t offset, size_t size) { return target_.read_data(offset, size); });
}

void Session::clear(size_t map, bool as_read)
{
    clear_table(
        script_, tables_, arming_.window(), map,
        [this](size_t offset, size_t size) { return target_.read_data(offset, size); },
        [this](size_t offset, uint64_t from, uint64_t to) { return target_.change_data(offset, from, to); });
    if (!is_subtracted(script_, tables_, map))
        return;
    const MapKind kind = script_.maps[map].kind;
    if (as_read && kind != MapKind::min && kind != MapKind::max)
        cleared_[map] = last_;
    else
        cleared_[map] = read_all();
}

} // namespace fastsdt::engine
