// SPDX-License-Identifier: BSD-2-Clause
// The calls in which a thread or a goroutine is, from entries and exits. Some calls have no exit: longjmp(), an exception, a panic or the program's
// end left them, or the hit was lost. They end where a function further out is left; and where it is known how deep in the stack they are, with the
// next call that is not deeper.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace fastsdt::trace_tool {

/// Where a call is: a stack, and how far below its top. 0: that is not known.
struct PlaceOnStack {
    uint64_t stack = 0, depth = 0;
    bool deeper_than(const PlaceOnStack& other) const { return knows(other) && depth > other.depth; }
    bool is(const PlaceOnStack& other) const { return knows(other) && depth == other.depth; }

private:
    bool knows(const PlaceOnStack& other) const { return depth && other.depth && stack == other.stack; }
};

/// More are not open in a thread, unless each of them was left by longjmp().
inline constexpr size_t most_open_calls = size_t(1) << 20;

class CallStack {
public:
    using Place = PlaceOnStack;
    struct Call {
        size_t function;
        uint64_t begin;
        Place place;
        uint64_t inner = 0; ///< time in calls that it made
    };

    /// Before what happens there: calls that are open can only be those that it is in. @return  so many were left, and end now
    template <class Close> size_t left_for(const Place& place, bool enters, uint64_t clock, const Close& close)
    {
        size_t count = 0;
        for (; !calls_.empty(); ++count) {
            const Place& last = calls_.back().place;
            if (!last.deeper_than(place) && !(enters && last.is(place)))
                break;
            end_innermost(clock, false, close);
        }
        return count;
    }
    /// The same by their number.
    template <class Close> void left(size_t count, uint64_t clock, const Close& close)
    {
        for (; count > 0 && !calls_.empty(); --count)
            end_innermost(clock, false, close);
    }

    void enter(size_t function, uint64_t clock, const Place& place = {}) { calls_.push_back({function, clock, place}); }

    /// @param close  (call, its end, whether it returned): the calls that end, from the innermost on
    /// @return  false: no such call is open
    template <class Close> bool leave(size_t function, uint64_t clock, const Close& close)
    {
        const auto found =
            std::find_if(calls_.rbegin(), calls_.rend(), [&](const Call& call) { return call.function == function; });
        if (found == calls_.rend())
            return false;
        for (auto left = found - calls_.rbegin(); left > 0; --left)
            end_innermost(clock, false, close);
        end_innermost(clock, true, close);
        return true;
    }

    /// Nothing more will come.
    template <class Close> void end(uint64_t clock, const Close& close)
    {
        while (!calls_.empty())
            end_innermost(clock, false, close);
    }

    size_t depth() const { return calls_.size(); }

private:
    template <class Close> void end_innermost(uint64_t clock, bool returned, const Close& close)
    {
        const Call call = calls_.back();
        calls_.pop_back();
        if (!calls_.empty())
            calls_.back().inner += clock - call.begin;
        close(call, clock, returned);
    }

    std::vector<Call> calls_;
};

} // namespace fastsdt::trace_tool
