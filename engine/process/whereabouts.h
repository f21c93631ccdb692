// SPDX-License-Identifier: BSD-2-Clause
// Where somebody goes on in a process that is stopped: its threads, what their handlers have interrupted, threads that it switches by itself
// (frames.h), and goroutines (goroutines.h). Code changes, and a stub goes, only where nobody does.
#pragma once
#include "arming/target.h"
#include "process/goroutines.h"
#include "process/ptrace.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace fastsdt::engine {

/// While all threads are stopped. Runtime addresses.
struct Standing {
    std::vector<uint64_t> counters; // sorted
    std::vector<uint64_t> of_go;    // in a Go program's own code; sorted
    bool all_known = true;          // but for goroutines
    bool go_known = true, go_readable = true;
    const std::vector<uint64_t>& of(const Patch& patch) const { return patch.of_go ? of_go : counters; }
};

class Whereabouts {
public:
    /// @param target  which has this, and outlives it  @param while_stopped  runs something with all threads stopped
    using WhileStopped = std::function<void(const std::function<void(Tracees&)>&)>;
    Whereabouts(Target& target, WhileStopped while_stopped)
        : target_(target), view_(target.view()), while_stopped_(std::move(while_stopped))
    {}

    /// Before the process is stopped for the first of these, what takes too long then.
    void look_ahead(std::span<const Patch> patches, bool back);
    /// Before each stop. @return  how many may change at it, so that it is short
    size_t prepare_stop();
    /// At a stop.
    Standing of(Tracees& tracees, std::span<const Patch> patches, bool back);
    /// Why one is not to be changed now, whoever stands where. Empty: who stands in it decides.
    std::optional<Target::Outcome> obstacle(const Patch& patch, bool back, const Standing& standing);

    /// Whether a thread is in a stub, or will be. Stops the process itself.
    bool comes_back_to(std::span<const Range> code);

private:
    void look_for_frames(std::chrono::nanoseconds soon = {});
    Goroutines* goroutines();
    std::vector<Range> take_those_of_go(std::vector<Range>& code);
    bool goes_on_in(std::span<const Range> code);

    Target& target_;
    ProcessView& view_;
    WhileStopped while_stopped_;
    std::optional<std::vector<Range>> places_ = std::vector<Range>(); // places_of_frames()
    std::chrono::nanoseconds search_took_{};
    std::optional<std::chrono::steady_clock::time_point> looked_for_frames_; // when
    bool looked_for_goroutines_ = false;
    std::optional<Goroutines> goroutines_;
    bool wants_goroutines_ = false, has_goroutines_ = false; // look_ahead(), prepare_stop()
};

} // namespace fastsdt::engine
