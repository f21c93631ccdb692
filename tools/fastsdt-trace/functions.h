// SPDX-License-Identifier: BSD-2-Clause
// `fastsdt-trace functions`: how often functions were called, and how long they took.
#pragma once
#include "call_stack.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fastsdt::trace_tool {

/// "1.234 us": with so many digits behind the point, but for nanoseconds.
std::string duration_text(double ns, int digits);

/// What is missing of the calls of a trace.
struct CallGaps {
    uint64_t unfinished = 0;  ///< did not return
    uint64_t interrupted = 0; ///< were open where events were lost
    uint64_t unknown = 0;     ///< exits without an entry
    uint64_t lost = 0;        ///< events
    uint64_t samples = 0;     ///< of stacks, which the format does not have
};
/// Tells it, a line each. @param what  was made of the trace
void tell_of(const CallGaps& gaps, std::string_view what);

class CallTable {
public:
    /// What one thread does. Its clock never goes back.
    struct Thread {
        CallStack stack;
        uint64_t last = 0;          ///< clock of its last hit
        std::vector<uint32_t> open; ///< by function: calls of it in which the thread is
    };
    using Place = CallStack::Place;

    /// @return  a number for the function
    size_t add(const std::string& name, const std::string& file);
    /// Of what happens next in a thread. @param enters  it is an entry  @return  so many calls were left by then, without an exit
    size_t left_for(Thread& thread, const Place& place, bool enters, uint64_t clock);
    /// The same by their number.
    void left(Thread& thread, size_t count, uint64_t clock);
    /// @return  false: there are too many threads
    bool enter(Thread& thread, size_t function, uint64_t clock, const Place& place = {});
    /// A call whose end nobody will tell: it has no time, and others are not in it.
    void count(size_t function)
    {
        ++functions_[function].calls;
        functions_[function].has_no_end = true;
    }
    /// A hit that is no call.
    void moment(size_t function) { ++functions_[function].calls; }
    void leave(Thread& thread, size_t function, uint64_t clock);
    /// Nothing more will come of it.
    void end(Thread& thread);
    /// Some of its hits were lost here: its open calls end, at a time that is not theirs.
    void gap(Thread& thread);

    struct Function {
        std::string name, file;
        uint64_t calls = 0, timed = 0, total = 0, self = 0, least = UINT64_MAX, most = 0;
        bool has_no_end = false; ///< some of its exits may be told all the same
        uint64_t sum = 0;        ///< of all calls' times, also of those within others of the same function
    };
    const std::vector<Function>& functions() const { return functions_; } ///< by number
    /// Those that were called: by self time; functions without any time at the end.
    std::vector<size_t> order() const;
    /// Told of each call that has ended, the innermost first. May be empty.
    /// @param timed  this is its end, as far as can be known
    std::function<void(Thread& thread, const CallStack::Call& call, uint64_t end, bool timed)> ended;

    uint64_t unfinished() const { return unfinished_; }   ///< calls that did not return
    uint64_t interrupted() const { return interrupted_; } ///< calls that ended by gap()
    uint64_t unknown() const { return unknown_; }         ///< exits of calls whose entry was not seen

    /// In this order. @param frequency  of the clock
    void print(std::ostream& out, uint64_t frequency, bool json) const;

private:
    enum class End { returned, left, lost };
    void close(Thread& thread, const CallStack::Call& call, uint64_t end, End how);

    std::vector<Function> functions_;
    std::map<std::pair<std::string, std::string>, size_t> numbers_; // by name and file
    uint64_t unfinished_ = 0, interrupted_ = 0, unknown_ = 0;
    size_t open_ = 0, counted_ = 0; // calls that are open, and entries of Thread::open, of all threads
};

} // namespace fastsdt::trace_tool
