// SPDX-License-Identifier: BSD-2-Clause
#include "sink.h"

namespace fastsdt::trace_tool {

void Calls::thread(size_t number)
{
    stack_ = {};
    last_ = 0;
    track(number, recorded_.trace.threads()[number]);
}

void Calls::event(size_t number, uint64_t ns, const Values& values)
{
    const auto close = [&](const CallStack::Call&, uint64_t end_of_call, bool returned) {
        end(end_of_call);
        gaps_.unfinished += !returned;
    };
    const Drawn& drawn = recorded_.drawn[number];
    switch (drawn.kind) {
    case Drawn::Kind::begin:
        if (stack_.depth() >= most_open_calls)
            end_of_thread();
        stack_.enter(drawn.function, ns);
        begin(number, ns, values);
        break;
    case Drawn::Kind::end: gaps_.unknown += !stack_.leave(drawn.function, ns, close); break;
    case Drawn::Kind::instant: instant(number, ns, values); break;
    case Drawn::Kind::left: stack_.left(values[0].number, ns, close); break;
    case Drawn::Kind::gap: gap(); return;
    case Drawn::Kind::samples: gaps_.samples += values.empty() ? 0 : values[0].number; return;
    }
    last_ = ns;
}

void Calls::end_all(uint64_t& counted)
{
    stack_.end(last_, [&](const CallStack::Call&, uint64_t end_of_call, bool) {
        end(end_of_call);
        ++counted;
    });
}

void Calls::gap()
{
    end_all(gaps_.interrupted);
}

void Calls::end_of_thread()
{
    end_all(gaps_.unfinished);
}

CallGaps Calls::finish()
{
    last();
    return gaps_;
}

Told tell_all(const Recorded& recorded, Sink& sink, const std::function<void()>& now_and_then)
{
    constexpr uint64_t often = uint64_t(1) << 16; // events
    Told told;
    uint64_t all = 0;
    for (size_t i = 0; i < recorded.trace.threads().size(); ++i) {
        const CtfReader::Thread& thread = recorded.trace.threads()[i];
        told.lost += thread.discarded;
        sink.thread(i);
        recorded.trace.read(
            thread,
            [&](size_t number, uint64_t ns, const Values& values) {
                if (++all % often == 0)
                    now_and_then();
                const Drawn::Kind kind = recorded.drawn[number].kind;
                told.events += kind == Drawn::Kind::begin || kind == Drawn::Kind::end || kind == Drawn::Kind::instant;
                sink.event(number, ns, values);
            },
            [&] { sink.gap(); });
        sink.end_of_thread();
    }
    now_and_then();
    return told;
}

} // namespace fastsdt::trace_tool
