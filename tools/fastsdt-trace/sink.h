// SPDX-License-Identifier: BSD-2-Clause
// What a trace tells, in one order for all: thread by thread, of each its events as they came, and where some were lost. Who makes something of it
// is a Sink: the formats of formats.h, one class each. A run tells it when it is over, from the trace that it has written; `export` and `report` any
// time later.
#pragma once
#include "call_stack.h"
#include "ctf_reader.h"
#include "functions.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace fastsdt::trace_tool {

using Values = std::vector<CtfReader::Value>;

/// A trace, and what its classes mean.
struct Recorded {
    /// Throws Unusable.
    explicit Recorded(const std::string& folder) : trace(folder), drawn(drawn_of(trace.classes())) {}
    const CtfReader trace;
    const std::vector<Drawn> drawn; ///< by class
};

class Sink {
public:
    virtual ~Sink() = default;
    virtual void thread(size_t number) = 0; ///< what follows is of it: Recorded::trace.threads()
    /// @param number  of the class  @param ns  since 1970; of a thread it may go back only where somebody changed the trace
    virtual void event(size_t number, uint64_t ns, const Values& values) = 0;
    virtual void
    gap() = 0; ///< events were lost here: what was open may have ended, and what ends may have begun unseen
    virtual void end_of_thread() = 0;
    virtual CallGaps finish() = 0; ///< writes what is left. @return  without what the trace itself lacks
};

/// A sink of calls that lie within each other: each begin has its end, of the call that began last.
class Calls : public Sink {
public:
    explicit Calls(const Recorded& recorded) : recorded_(recorded) {} ///< which has to outlive it
    void thread(size_t number) final;
    void event(size_t number, uint64_t ns, const Values& values) final;
    void gap() final;
    void end_of_thread() final;
    CallGaps finish() final;

protected:
    virtual void track(size_t number, const CtfReader::Thread& thread) = 0;
    virtual void begin(size_t number, uint64_t ns, const Values& values) = 0;
    virtual void end(uint64_t ns) = 0;
    virtual void instant(size_t number, uint64_t ns, const Values& values) = 0;
    virtual void last() = 0; ///< nothing more comes

    const Recorded& recorded_;

private:
    void end_all(uint64_t& counted); ///< calls that are open

    CallStack stack_;
    uint64_t last_ = 0;
    CallGaps gaps_;
};

/// What there was in it.
struct Told {
    uint64_t events = 0, lost = 0;
};
/// Tells all of it, but for finish(). @param now_and_then  may throw, to end it. Throws Unusable.
Told tell_all(const Recorded& recorded, Sink& sink, const std::function<void()>& now_and_then);

} // namespace fastsdt::trace_tool
