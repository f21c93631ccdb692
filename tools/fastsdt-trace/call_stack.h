// SPDX-License-Identifier: BSD-2-Clause
// The calls in which a thread is, from entries and exits. Some calls have no exit: longjmp(), an exception or the program's end left
// them, or the hit was lost. They end where a function further out is left.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace fastsdt::trace_tool {

class CallStack {
public:
    struct Call {
        size_t function;
        uint64_t begin;
        uint64_t inner = 0; ///< time in calls that it made
    };

    void enter(size_t function, uint64_t clock) { calls_.push_back({function, clock}); }

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
