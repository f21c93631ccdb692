// SPDX-License-Identifier: BSD-2-Clause
// Perfetto's protobuf: a track and a sequence of packets for each thread, calls as slices, other events as instants with their arguments.
#include "base/printable.h"
#include "formats.h"

#include <protozero/pbf_writer.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace fastsdt::trace_tool {
namespace {

/// A message of protobuf's wire format.
class Message {
public:
    Message& number(unsigned field, uint64_t value)
    {
        protozero::pbf_writer(bytes_).add_uint64(field, value);
        return *this;
    }
    Message& bytes(unsigned field, std::string_view value)
    {
        protozero::pbf_writer(bytes_).add_bytes(field, value.data(), value.size());
        return *this;
    }
    Message& message(unsigned field, const Message& value) { return bytes(field, value.bytes_); }
    const std::string& text() const { return bytes_; }

private:
    std::string bytes_;
};

// Numbers of protos/perfetto/trace/*.proto.
class Perfetto : public Calls {
public:
    Perfetto(const Recorded& recorded, Pieces& to) : Calls(recorded), to_(to) {}

private:
    void track(size_t number, const CtfReader::Thread& thread) override
    {
        sequence_ = number + 1;
        said_.clear();
        const auto [process, added] = processes_.try_emplace(thread.pid, 2 * processes_.size() + 1);
        if (added)
            packet(Message().message(
                packet_track_descriptor,
                Message()
                    .number(1, process->second)
                    .message(3, Message().number(1, as_number(thread.pid)).bytes(6, printable(thread.process)))));
        const uint64_t track = 2 * number + 2;
        Message descriptor = Message().number(1, track).number(5, process->second);
        if (thread.is_goroutine())
            descriptor.bytes(2, printable(thread.thread));
        else
            descriptor.message(4,
                               Message()
                                   .number(1, as_number(thread.pid))
                                   .number(2, as_number(thread.tid))
                                   .bytes(5, printable(thread.thread)));
        packet(Message().message(packet_track_descriptor, descriptor));
        // Times are distances from the packet before. Clock 64 is the sequence's own, 6 the one since boot, which the trace has.
        last_ = recorded_.trace.begin();
        const Message own = Message().number(1, own_clock).number(2, 0).number(3, 1);
        const Message boot = Message().number(1, 6).number(2, last_);
        const Message defaults = Message().number(packet_clock, own_clock).message(11, Message().number(11, track));
        packet(Message()
                   .number(packet_flags, 1) // what was said before does not count
                   .message(packet_snapshot, Message().message(1, own).message(1, boot))
                   .message(packet_defaults, defaults));
    }
    void begin(size_t number, uint64_t ns, const Values& values) override { event(slice_begin, number, ns, values); }
    void end(uint64_t ns) override { timed(ns, Message().message(packet_event, Message().number(9, slice_end))); }
    void instant(size_t number, uint64_t ns, const Values& values) override { event(type_instant, number, ns, values); }
    void last() override {}

    static constexpr unsigned packet_snapshot = 6, packet_time = 8, packet_sequence = 10, packet_event = 11,
                              packet_interned = 12, packet_flags = 13, packet_clock = 58, packet_defaults = 59,
                              packet_track_descriptor = 60;
    static constexpr uint64_t own_clock = 64, slice_begin = 1, slice_end = 2, type_instant = 3;

    static uint64_t as_number(int64_t number) { return static_cast<uint64_t>(number); }

    void packet(Message message)
    {
        to_.text += Message().message(1, message.number(packet_sequence, sequence_)).text();
        to_.pass_on();
    }
    void timed(uint64_t ns, Message message)
    {
        message.number(packet_time, ns - std::min(ns, last_)).number(packet_flags, 2);
        last_ = std::max(ns, last_);
        packet(std::move(message));
    }
    // Names are said once for each thread; then their numbers do.
    void event(uint64_t type, size_t number, uint64_t ns, const Values& values)
    {
        Message whole, event;
        event.number(9, type).number(10, number + 1);
        const std::vector<CtfField>& fields = recorded_.trace.classes()[number].fields;
        if (said_.insert(number).second) {
            Message names;
            names.message(2, Message().number(1, number + 1).bytes(2, printable(recorded_.drawn[number].name)));
            for (size_t i = 0; i < fields.size(); ++i)
                names.message(3, Message().number(1, name_of_field(number, i)).bytes(2, printable(fields[i].name)));
            whole.message(packet_interned, names);
        }
        for (size_t i = 0; i < values.size(); ++i) {
            Message value;
            value.number(1, name_of_field(number, i));
            if (fields[i].bytes == 0)
                value.bytes(6, printable(values[i].text));
            else
                value.number(fields[i].is_signed ? 4 : 3, values[i].number);
            event.message(4, value);
        }
        timed(ns, std::move(whole.message(packet_event, event)));
    }
    static uint64_t name_of_field(size_t number, size_t field)
    {
        constexpr uint64_t most_fields = 4096;
        return number * most_fields + field + 1;
    }

    Pieces& to_;
    std::map<int64_t, uint64_t> processes_; // their tracks
    uint64_t sequence_ = 0, last_ = 0;
    std::set<size_t> said_; // classes
};

} // namespace

std::unique_ptr<Sink> perfetto(const Recorded& recorded, Pieces& to)
{
    return std::make_unique<Perfetto>(recorded, to);
}

} // namespace fastsdt::trace_tool
