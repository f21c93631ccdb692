// SPDX-License-Identifier: BSD-2-Clause
// A trace in the formats of other programs: Chrome's trace events (JSON), which speedscope reads too, Perfetto's protobuf, and OpenTelemetry's
// spans (otlp.cpp). The first two have a track for each thread, calls as slices, and other events as instants with their arguments. No events
// of threads are sorted: the readers do that.
#include "export.h"

#include "base/output_file.h"
#include "base/printable.h"
#include "call_stack.h"
#include "collector.h"
#include "ctf_reader.h"
#include "export_format.h"
#include "functions.h"
#include "say.h"
#include "values.h"

#include <fmt/format.h>
#include <protozero/pbf_writer.hpp>

#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fastsdt::trace_tool {
namespace {

class ChromeJson : public JsonFormat {
public:
    using JsonFormat::JsonFormat;

    void thread(size_t number, const CtfReader::Thread& thread) override
    {
        // A number that no thread has: goroutines count from 1 too.
        constexpr int64_t most_threads = int64_t(1) << 22; // PID_MAX_LIMIT, include/linux/threads.h
        const int64_t tid = thread.is_goroutine() ? most_threads + static_cast<int64_t>(number) : thread.tid;
        who_ = fmt::format(R"("pid":{},"tid":{})", thread.pid, tid);
        open_.clear();
        for (const auto& [what, name] :
             {std::pair("process_name", &thread.process), std::pair("thread_name", &thread.thread)})
            if (!name->empty())
                add(R"({{"ph":"M","name":"{}",{},"args":{{"name":{}}}}})", what, who_, json_string(*name));
    }
    void begin(size_t number, uint64_t ns, const Values& values) override
    {
        open_.push_back(number);
        add(R"({{"ph":"B","cat":"function","name":{},{},"ts":{}{}}})", names_[number], who_, time(ns),
            arguments(number, values));
    }
    void end(uint64_t ns) override
    {
        if (open_.empty())
            return;
        add(R"({{"ph":"E","name":{},{},"ts":{}}})", names_[open_.back()], who_, time(ns)); // speedscope wants the name
        open_.pop_back();
    }
    void instant(size_t number, uint64_t ns, const Values& values) override
    {
        add(R"({{"ph":"i","s":"t","cat":"probe","name":{},{},"ts":{}{}}})", names_[number], who_, time(ns),
            arguments(number, values));
    }
    std::string finish() override
    {
        text_ += fmt::format("\n],\n\"displayTimeUnit\":\"ns\",\"otherData\":{{\"made by\":\"fastsdt-trace\",\"begin, "
                             "ns since 1970\":\"{}\"}}}}\n",
                             trace_.begin());
        return std::move(text_);
    }

private:
    template <class... Parts> void add(fmt::format_string<Parts...> format, Parts&&... parts)
    {
        text_ += std::exchange(first_, false) ? "\n" : ",\n";
        fmt::format_to(std::back_inserter(text_), format, std::forward<Parts>(parts)...);
    }
    // Microseconds since the first event: since 1970 they would not fit into the reader's floating-point numbers.
    std::string time(uint64_t ns) const
    {
        ns -= std::min(ns, trace_.begin());
        return fmt::format("{}.{:03}", ns / 1000, ns % 1000);
    }
    std::string arguments(size_t number, const Values& values) const
    {
        if (values.empty())
            return {};
        std::string text;
        for (size_t i = 0; i < values.size(); ++i)
            text += fmt::format("{}{}:{}", i ? "," : "", fields_[number][i],
                                value(trace_.classes()[number].fields[i], values[i]));
        return fmt::format(R"(,"args":{{{}}})", text);
    }
    // Readers take numbers for floating-point ones: larger ones are texts.
    static std::string value(const CtfField& field, const CtfReader::Value& value)
    {
        constexpr int64_t exact = int64_t(1) << 53;
        if (field.bytes == 0)
            return json_string(value.text);
        const auto number = static_cast<int64_t>(value.number);
        const std::string text = field.is_signed ? std::to_string(number) : std::to_string(value.number);
        const bool fits = number <= exact && number >= (field.is_signed ? -exact : 0);
        return fits ? text : '"' + text + '"';
    }

    std::string text_ = "{\"traceEvents\":[", who_;
    std::vector<size_t> open_; // of the thread: calls that have not returned
    bool first_ = true;
};

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
class Perfetto : public Format {
public:
    Perfetto(const CtfReader& trace, const std::vector<Drawn>& drawn) : trace_(trace), drawn_(drawn) {}

    void thread(size_t number, const CtfReader::Thread& thread) override
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
        last_ = trace_.begin();
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
    std::string finish() override { return std::move(text_); }

private:
    static constexpr unsigned packet_snapshot = 6, packet_time = 8, packet_sequence = 10, packet_event = 11,
                              packet_interned = 12, packet_flags = 13, packet_clock = 58, packet_defaults = 59,
                              packet_track_descriptor = 60;
    static constexpr uint64_t own_clock = 64, slice_begin = 1, slice_end = 2, type_instant = 3;

    static uint64_t as_number(int64_t number) { return static_cast<uint64_t>(number); }

    void packet(Message message) { text_ += Message().message(1, message.number(packet_sequence, sequence_)).text(); }
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
        const std::vector<CtfField>& fields = trace_.classes()[number].fields;
        if (said_.insert(number).second) {
            Message names;
            names.message(2, Message().number(1, number + 1).bytes(2, printable(drawn_[number].name)));
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

    const CtfReader& trace_;
    const std::vector<Drawn>& drawn_;
    std::string text_;
    std::map<int64_t, uint64_t> processes_; // their tracks
    uint64_t sequence_ = 0, last_ = 0;
    std::set<size_t> said_; // classes
};

} // namespace

JsonFormat::JsonFormat(const CtfReader& trace, const std::vector<Drawn>& drawn) : trace_(trace)
{
    for (const Drawn& one : drawn)
        names_.push_back(json_string(one.name));
    for (const CtfClass& one : trace.classes()) {
        auto& fields = fields_.emplace_back();
        for (const CtfField& field : one.fields)
            fields.push_back(json_string(field.name));
    }
}

namespace {

// All events of a trace, thread by thread.
CallGaps tell_all(const CtfReader& trace, const std::vector<Drawn>& drawn, Format& format)
{
    CallGaps gaps;
    for (size_t i = 0; i < trace.threads().size(); ++i) {
        const CtfReader::Thread& thread = trace.threads()[i];
        format.thread(i, thread);
        gaps.lost += thread.discarded;
        CallStack stack;
        uint64_t last = 0;
        const auto close = [&](const CallStack::Call&, uint64_t end, bool returned) {
            format.end(end);
            gaps.unfinished += !returned;
        };
        const auto gap = [&] {
            stack.end(last, [&](const CallStack::Call&, uint64_t end, bool) {
                format.end(end);
                ++gaps.interrupted;
            });
        };
        const auto visit = [&](size_t number, uint64_t ns, const Values& values) {
            switch (drawn[number].kind) {
            case Drawn::Kind::begin:
                stack.enter(drawn[number].function, ns);
                format.begin(number, ns, values);
                break;
            case Drawn::Kind::end: gaps.unknown += !stack.leave(drawn[number].function, ns, close); break;
            case Drawn::Kind::instant: format.instant(number, ns, values); break;
            case Drawn::Kind::left: stack.left(values[0].number, ns, close); break;
            case Drawn::Kind::gap: gap(); return;
            case Drawn::Kind::samples: return;
            }
            last = ns;
        };
        trace.read(thread, visit, gap);
        stack.end(last, close);
    }
    return gaps;
}

} // namespace

int export_trace(const Export& wanted)
{
    std::optional<Collector> collector;
    std::optional<OutputFile> file;
    if (!wanted.otlp.empty())
        collector.emplace(wanted.otlp);
    else
        file.emplace(wanted.file);
    const CtfReader trace(wanted.folder);
    const std::vector<Drawn> drawn = drawn_of(trace.classes());
    const auto deliver = [&](const std::string& request) { collector->deliver("traces", request); };
    const auto is = [&](const char* ending) { return wanted.file.ends_with(ending); };
    const std::unique_ptr<Format> format = collector ? otlp_json(trace, drawn, deliver)
        : is(".otlp.json")                           ? otlp_json(trace, drawn)
        : is(".json") ? std::unique_ptr<Format>(std::make_unique<ChromeJson>(trace, drawn))
                      : std::make_unique<Perfetto>(trace, drawn);
    const CallGaps gaps = tell_all(trace, drawn, *format);
    const std::string last = format->finish();
    if (file)
        file->write(last);
    else if (!last.empty())
        deliver(last);
    tell_of(gaps, "trace");
    return gaps.lost ? incomplete : complete;
}

} // namespace fastsdt::trace_tool
