// SPDX-License-Identifier: BSD-2-Clause
#include "process/whereabouts.h"

#include "arming/arena.h"
#include "code/machine.h"
#include "proc/threads.h"
#include "process/errand.h"
#include "process/frames.h"
#include "process/view.h"

#include <algorithm>
#include <thread>

namespace fastsdt::engine {
namespace {

bool any_moves(std::span<const Patch> patches, bool of_go)
{
    return std::ranges::any_of(patches, [&](const Patch& p) { return p.moves() && p.of_go == of_go; });
}

} // namespace

void Whereabouts::look_ahead(std::span<const Patch> patches, bool back)
{
    wants_goroutines_ = !back && any_moves(patches, true);
    if (!back && any_moves(patches, false))
        look_for_frames(std::max<std::chrono::nanoseconds>(std::chrono::seconds(1), 3 * search_took_));
}

// A site takes one or two microseconds, so a stop lasts one or two milliseconds. Where there are many goroutines to be looked at, that takes longer.
size_t Whereabouts::prepare_stop()
{
    constexpr size_t at_one_stop = 1000, at_one_stop_of_go = 8000, many_goroutines = 5000;
    has_goroutines_ = wants_goroutines_ && goroutines() && goroutines()->prepare();
    return has_goroutines_ && goroutines()->size() > many_goroutines ? at_one_stop_of_go : at_one_stop;
}

Standing Whereabouts::of(Tracees& tracees, std::span<const Patch> patches, bool back)
{
    Standing found;
    for (const Tracees::Task& task : tracees.tasks())
        found.counters.push_back(task.counter);
    std::sort(found.counters.begin(), found.counters.end());
    found.of_go = found.counters;
    // Instructions that a handler interrupted go on where they were. And who runs in our memory, but is no thread
    // of ours, is not stopped.
    // A single word has no inside. But no processor may execute it while it changes.
    const bool word = own_machine.arch == Arch::arm64;
    const bool others = (word || !back) && any_moves(patches, false), of_go = !back && any_moves(patches, true);
    if (!others && !of_go)
        return found;
    std::vector<user_regs_struct> threads;
    std::optional<FrameSearch> search;
    if (others)
        search.emplace(view_.memory(), view_.look());
    for (const Tracees::Task& task : tracees.tasks()) {
        const user_regs_struct& registers = threads.emplace_back(Tracees::registers(task.number));
        found.all_known = found.all_known && !waits_for_child(registers, view_.memory())
            && (word || !others
                || search->each(registers, [&](uint64_t counter) { found.counters.push_back(counter); }));
    }
    found.all_known = found.all_known
        && (word || !others || !places_ || search->each_kept(*places_, [&](const FrameSearch::Kept& frame) {
                          found.counters.push_back(frame.counter);
                      }));
    if (of_go) {
        found.go_known = has_goroutines_;
        found.go_readable = has_goroutines_ && goroutines()->each(threads, [&](uint64_t word) {
            if (goroutines()->has(word))
                found.of_go.push_back(word);
        });
    }
    std::sort(found.counters.begin(), found.counters.end());
    std::sort(found.of_go.begin(), found.of_go.end());
    return found;
}

std::optional<Target::Outcome> Whereabouts::obstacle(const Patch& p, bool back, const Standing& standing)
{
    if (p.moves() && !back && (p.of_go ? !standing.go_known || !goroutines()->has(p.at) : !places_))
        return Target::Outcome::unknown;
    if (p.moves() && (!standing.all_known || (!back && p.of_go && !standing.go_readable)))
        return Target::Outcome::busy;
    return std::nullopt;
}

// Of the program that the process executes, if it is a Go program that is understood.
Goroutines* Whereabouts::goroutines()
{
    if (!looked_for_goroutines_)
        goroutines_ = Goroutines::of(view_);
    looked_for_goroutines_ = true;
    return goroutines_ ? &*goroutines_ : nullptr;
}

// Arenas that have stubs of Go's own functions only. A handler of C code in the same program cannot switch away from a goroutine and come back:
// the runtime would not bear that. The others stay in `code`.
std::vector<Range> Whereabouts::take_those_of_go(std::vector<Range>& code)
{
    if (!goroutines())
        return {};
    if (goroutines()->is_alone())
        return std::exchange(code, {});
    const auto fronts = find_arenas(target_, view_.mappings());
    const auto others = std::stable_partition(code.begin(), code.end(), [&](const Range& range) {
        const auto front = std::ranges::find_if(fronts, [&](const Front& one) { return one.start == range.start; });
        return front != fronts.end()
            && std::ranges::all_of(front->patches, [this](const Patch& p) { return goroutines()->has(p.at); });
    });
    std::vector<Range> of_go(code.begin(), others);
    code.erase(code.begin(), others);
    return of_go;
}

// The same as comes_back_to() where all code is Go's. Those who are in a stub have left it soon, and no goroutine waits in one. Soon is when
// the processor comes to them, for which one processor with many threads takes longer: the pauses grow, to 0.4 s in all.
bool Whereabouts::goes_on_in(std::span<const Range> code)
{
    constexpr unsigned most = 30;
    for (unsigned tries = 0; tries < most; ++tries) {
        bool inside = false;
        const auto look = [&](uint64_t address) {
            inside =
                inside || std::any_of(code.begin(), code.end(), [&](const Range& range) { return range.has(address); });
        };
        while_stopped_([&](Tracees& tracees) {
            std::vector<user_regs_struct> threads;
            for (const Tracees::Task& task : tracees.tasks()) {
                look(task.counter);
                threads.push_back(Tracees::registers(task.number));
            }
            goroutines()->each_handler(threads, look);
        });
        if (!inside)
            return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(2 << tries / 6));
    }
    return true;
}

// Whether a thread is in a stub, or will be.
bool Whereabouts::comes_back_to(std::span<const Range> ranges)
{
    std::vector<Range> code(ranges.begin(), ranges.end());
    const std::vector<Range> of_go = take_those_of_go(code);
    if (!of_go.empty() && goes_on_in(of_go))
        return true;
    if (code.empty())
        return false;
    const auto is_inside = [&](uint64_t address) {
        return std::any_of(code.begin(), code.end(), [&](const Range& range) { return range.has(address); });
    };
    bool comes_back = false;
    std::vector<uint64_t> frames; // that may be of handlers that have returned
    uint64_t pointer = 0;
    const auto look = [&] {
        while_stopped_([&](Tracees& tracees) {
            FrameSearch search(view_.memory(), view_.look());
            comes_back = false;
            frames.clear();
            for (const Tracees::Task& task : tracees.tasks()) {
                const user_regs_struct registers = Tracees::registers(task.number);
                comes_back = search.comes_back(registers, code) || comes_back;
                pointer = thread_pointer(registers).value_or(0);
            }
            const bool all = places_ && search.each_kept(*places_, [&](const FrameSearch::Kept& frame) {
                if (is_inside(frame.counter) && frame.on_its_stack)
                    frames.push_back(frame.address);
                else
                    comes_back = comes_back || is_inside(frame.counter);
            });
            comes_back = comes_back || !all;
        });
    };
    look_for_frames();
    look();
    if (comes_back || frames.empty())
        return comes_back;
    if (is_kept(view_.pid(), living_thread(view_.pid()), view_.memory(), view_.mappings(), frames, pointer))
        return true;
    look(); // one may have gone on meanwhile
    return comes_back;
}

// Before the process is stopped. @param soon  so long after the last look there is no other: one arming tries several times
void Whereabouts::look_for_frames(std::chrono::nanoseconds soon)
{
    const auto begin = std::chrono::steady_clock::now();
    if (looked_for_frames_ && begin - *looked_for_frames_ < soon)
        return;
    places_ = places_of_frames(view_.pid(), living_thread(view_.pid()), view_.memory(), view_.look());
    looked_for_frames_ = std::chrono::steady_clock::now();
    search_took_ = *looked_for_frames_ - begin;
}

} // namespace fastsdt::engine
