// SPDX-License-Identifier: BSD-2-Clause
//
// opentelemetry-proto, trace/v1/trace.proto, in its JSON: numbers of traces and spans are hexadecimal, those of 64 bits are strings.
#include "formats.h"

#include "base/printable.h"
#include "values.h"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

namespace fastsdt::trace_tool {
namespace {

// splitmix64: its numbers differ for different input.
uint64_t mixed(uint64_t number)
{
    number += 0x9e3779b97f4a7c15;
    number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
    number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
    return number ^ (number >> 31);
}

// An outermost call is a trace of its own, and the calls in it are its spans. A probe is an event of the call in which it was hit.
class Otlp : public Calls {
public:
    /// @param take  resources with their spans, some MiB at once; `is_last`: nothing more comes, and they may be none
    using Take = std::function<void(const std::string& resources, bool is_last)>;
    Otlp(const Recorded& recorded, Take take) : Calls(recorded), names_(recorded), take_(std::move(take)) {}

private:
    void track(size_t, const CtfReader::Thread& thread) override
    {
        open_.clear();
        auto& resource = resources_[thread.pid];
        if (resource.name.empty())
            resource.name = thread.process;
        spans_ = &resource.spans;
        attributes_.clear();
        if (!thread.is_goroutine())
            attributes_ = fmt::format(R"({{"key":"thread.id","value":{{"intValue":"{}"}}}})", thread.tid);
        if (!thread.thread.empty())
            attributes_ += fmt::format(R"({}{{"key":"thread.name","value":{{"stringValue":{}}}}})",
                                       attributes_.empty() ? "" : ",", json_string(thread.thread));
    }
    void begin(size_t number, uint64_t ns, const Values& values) override
    {
        ++spans_begun_;
        open_.push_back({number,
                         ns,
                         mixed(recorded_.trace.begin() ^ mixed(spans_begun_)) | 1,
                         open_.empty() ? mixed(recorded_.trace.begin() + spans_begun_) : open_.front().trace,
                         arguments(number, values),
                         {}});
    }
    void end(uint64_t ns) override
    {
        if (open_.empty())
            return;
        const Span span = std::move(open_.back());
        open_.pop_back();
        add(span, ns, open_.empty() ? 0 : open_.back().id);
    }
    void instant(size_t number, uint64_t ns, const Values& values) override
    {
        if (open_.empty() || ++open_.back().moments > most_moments) {
            begin(number, ns, values);
            return end(ns);
        }
        std::string& events = open_.back().events;
        events += fmt::format(R"({}{{"timeUnixNano":"{}","name":{},"attributes":[{}]}})", events.empty() ? "" : ",", ns,
                              names_.classes[number], arguments(number, values));
    }
    void last() override { take_(resources(), true); }

    std::string resources()
    {
        size_ = 0;
        std::string text;
        bool first = true;
        for (auto& [pid, resource] : resources_) {
            if (resource.spans.empty())
                continue;
            text += fmt::format(
                "{}\n{{\"resource\":{{\"attributes\":["
                R"({{"key":"service.name","value":{{"stringValue":{}}}}},{{"key":"process.pid","value":{{"intValue":"{}"}}}}]}},)"
                "\"scopeSpans\":[{{\"scope\":{{\"name\":\"fastsdt-trace\"}},\"spans\":[",
                std::exchange(first, false) ? "" : ",",
                json_string(resource.name.empty() ? "unknown_service" : resource.name), pid);
            text += std::exchange(resource.spans, {});
            text += "\n]}]}";
        }
        return text;
    }
    /// A call may have as many as it likes, which have to be kept until it ends: what is beyond is a span without length in it.
    static constexpr size_t most_moments = 10'000;
    struct Span {
        size_t number = 0;
        uint64_t begin = 0, id = 0, trace = 0;
        std::string arguments, events; // JSON
        size_t moments = 0;            // of events
    };

    void add(const Span& span, uint64_t end, uint64_t parent)
    {
        constexpr int internal = 1;              // SPAN_KIND_INTERNAL
        constexpr size_t most = size_t(4) << 20; // collectors take 20 MiB, some less
        const size_t before = spans_->size();
        fmt::format_to(
            std::back_inserter(*spans_),
            R"({}{{"traceId":"{:016x}{:016x}","spanId":"{:016x}",{}"name":{},"kind":{},"startTimeUnixNano":"{}","endTimeUnixNano":"{}",)"
            R"("attributes":[{}{}{}]{}}})",
            spans_->empty() ? "\n" : ",\n", mixed(span.trace), span.trace, span.id,
            parent ? fmt::format(R"("parentSpanId":"{:016x}",)", parent) : "", names_.classes[span.number], internal,
            span.begin, end, attributes_, span.arguments.empty() ? "" : ",", span.arguments,
            span.events.empty() ? "" : fmt::format(R"(,"events":[{}])", span.events));
        size_ += spans_->size() - before;
        if (size_ >= most)
            take_(resources(), false);
    }
    std::string arguments(size_t number, const Values& values) const
    {
        std::string text;
        for (size_t i = 0; i < values.size(); ++i) {
            const CtfField& field = recorded_.trace.classes()[number].fields[i];
            const uint64_t number_of = values[i].number;
            const std::string value = field.bytes == 0
                ? fmt::format(R"("stringValue":{})", json_string(printable(values[i].text)))
                : field.is_signed || number_of <= INT64_MAX
                ? fmt::format(R"("intValue":"{}")", int64_t(number_of))
                : fmt::format(R"("stringValue":"{}")", number_of); // its integers have a sign
            text += fmt::format(R"({}{{"key":{},"value":{{{}}}}})", i ? "," : "", names_.fields[number][i], value);
        }
        return text;
    }

    struct Resource {
        std::string name, spans;
    };
    std::map<int64_t, Resource> resources_; // by process
    std::string* spans_ = nullptr;          // of the thread's process
    std::string attributes_;                // of the thread
    std::vector<Span> open_;                // its calls that have not ended
    uint64_t spans_begun_ = 0;
    size_t size_ = 0; // of all spans that wait
    const JsonNames names_;
    const Take take_;
};

constexpr std::string_view head = "{\"resourceSpans\":[", tail = "\n]}\n";

} // namespace

std::unique_ptr<Sink> otlp_json(const Recorded& recorded, Pieces& to)
{
    to.text = head;
    return std::make_unique<Otlp>(recorded, [&to, first = true](const std::string& resources, bool is_last) mutable {
        if (!resources.empty() && !std::exchange(first, false))
            to.text += ',';
        to.text += resources;
        if (is_last)
            to.text += tail;
        to.pass_on();
    });
}

std::unique_ptr<Sink> otlp_requests(const Recorded& recorded, std::function<void(const std::string&)> deliver)
{
    return std::make_unique<Otlp>(recorded, [deliver = std::move(deliver)](const std::string& resources, bool) {
        if (!resources.empty())
            deliver(fmt::format("{}{}{}", head, resources, tail));
    });
}

} // namespace fastsdt::trace_tool
