// SPDX-License-Identifier: BSD-2-Clause
// Chrome's trace events, which Perfetto and speedscope read too: a track for each thread, calls as slices, other events as instants with their
// arguments. No events of threads are sorted: the readers do that.
#include "formats.h"
#include "values.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace fastsdt::trace_tool {
namespace {

class ChromeJson : public Calls {
public:
    ChromeJson(const Recorded& recorded, Pieces& to) : Calls(recorded), names_(recorded), to_(to)
    {
        to_.text = "{\"traceEvents\":[";
    }

private:
    void track(size_t number, const CtfReader::Thread& thread) override
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
        add(R"({{"ph":"B","cat":"function","name":{},{},"ts":{}{}}})", names_.classes[number], who_, time(ns),
            arguments(number, values));
    }
    void end(uint64_t ns) override
    {
        if (open_.empty())
            return;
        add(R"({{"ph":"E","name":{},{},"ts":{}}})", names_.classes[open_.back()], who_,
            time(ns)); // speedscope wants the name
        open_.pop_back();
    }
    void instant(size_t number, uint64_t ns, const Values& values) override
    {
        add(R"({{"ph":"i","s":"t","cat":"probe","name":{},{},"ts":{}{}}})", names_.classes[number], who_, time(ns),
            arguments(number, values));
    }
    void last() override
    {
        to_.text +=
            fmt::format("\n],\n\"displayTimeUnit\":\"ns\",\"otherData\":{{\"made by\":\"fastsdt-trace\",\"begin, "
                        "ns since 1970\":\"{}\"}}}}\n",
                        recorded_.trace.begin());
    }

    template <class... Parts> void add(fmt::format_string<Parts...> format, Parts&&... parts)
    {
        to_.text += std::exchange(first_, false) ? "\n" : ",\n";
        fmt::format_to(std::back_inserter(to_.text), format, std::forward<Parts>(parts)...);
        to_.pass_on();
    }
    // Microseconds since the first event: since 1970 they would not fit into the reader's floating-point numbers.
    std::string time(uint64_t ns) const
    {
        ns -= std::min(ns, recorded_.trace.begin());
        return fmt::format("{}.{:03}", ns / 1000, ns % 1000);
    }
    std::string arguments(size_t number, const Values& values) const
    {
        if (values.empty())
            return {};
        std::string text;
        for (size_t i = 0; i < values.size(); ++i)
            text += fmt::format("{}{}:{}", i ? "," : "", names_.fields[number][i],
                                value(recorded_.trace.classes()[number].fields[i], values[i]));
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

    const JsonNames names_;
    Pieces& to_;
    std::string who_;
    std::vector<size_t> open_; // of the thread: calls that have not returned
    bool first_ = true;
};

} // namespace

std::unique_ptr<Sink> chrome_json(const Recorded& recorded, Pieces& to)
{
    return std::make_unique<ChromeJson>(recorded, to);
}

} // namespace fastsdt::trace_tool
