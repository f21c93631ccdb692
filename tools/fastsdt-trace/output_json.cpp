// SPDX-License-Identifier: BSD-2-Clause
// One object a line, blanks where bpftrace -f json has them.
#include "output.h"
#include "values.h"

#include <fmt/format.h>

#include <algorithm>

namespace fastsdt::trace_tool {
namespace {

using engine::Entry;
using engine::Map;
using engine::MapKind;
using engine::ValueKind;

class JsonOutput final : public Output {
public:
    using Output::Output;

    void text(const std::string& text, Kind kind) override
    {
        const char* const type = kind == Kind::printf ? "printf"
            : kind == Kind::cat                       ? "cat"
            : kind == Kind::system                    ? "syscall"
            : kind == Kind::join                      ? "join"
                                                      : "time";
        out_ << fmt::format("{{\"type\": \"{}\", \"data\": {}}}\n", type, json_string(text));
    }

    void summary(const Summary& summary) override
    {
        const auto object = [](const Summary::Reasons& reasons) {
            std::string all;
            for (const auto& [sentence, reason] : reasons)
                all += fmt::format("{}{}: {}", all.empty() ? "" : ", ", json_string(sentence), reason.sites);
            return "{" + all + "}";
        };
        out_ << fmt::format(
            "{{\"type\": \"sites\", \"data\": {{\"sites\": {}, \"armed\": {}, \"by_kernel\": {}, \"reasons\": {}, "
            "\"left_out\": {}, \"reasons_to_leave_out\": {}, "
            "\"late\": {}, \"late_seconds\": {:.3f}, \"dropped\": {}, \"unread\": {}, \"lost\": {}, "
            "\"cut\": {}, \"forked\": {}, "
            "\"followed\": {}, \"processes\": {}, \"found\": {}, \"found_seconds\": {:.2f}, "
            "\"refused\": {}, \"missed\": {}{}}}}}\n",
            summary.sites, summary.armed, summary.by_kernel, object(summary.reasons), summary.left_out,
            object(summary.reasons_to_leave_out), summary.late, summary.late_seconds, summary.dropped, summary.unread,
            summary.lost, summary.cut, summary.forked, summary.followed, summary.processes, summary.found,
            summary.found_seconds, summary.refused, summary.missed,
            summary.samples
                ? fmt::format(", \"samples\": {}, \"lost_samples\": {}", *summary.samples, summary.lost_samples)
                : "");
    }

private:
    bool has_forms() const override { return false; }
    bool is_json() const override { return true; }
    void number(const std::string& number) override
    {
        out_ << fmt::format("{{\"type\": \"value\", \"data\": {}}}\n", number);
    }
    void stack(const engine::Datum& stack) override { number(list(stack)); }
    void bytes(const engine::Shape& shape, const std::string& bytes) override
    {
        number(bytes_json(shape, bytes, is_newer_));
    }
    void string(const std::string& text) override { number(json_string(text)); }

    static std::string list(const engine::Datum& stack)
    {
        std::string all;
        for (const std::string& frame : engine::frames_of(stack))
            all += (all.empty() ? "" : ", ") + json_string(frame);
        return "[" + all + "]";
    }

    // {"type": "map", "data": {"@x": [{"key": [["leaf+4", "main+12"], "other"], "value": value}, ...]}}
    template <class Value>
    void entries_with_stacks(const char* type, const Map& map, const Entries& entries, const Value& value)
    {
        std::string all;
        for (const Entry* entry : entries) {
            std::string keys;
            for (size_t i = 0; i < entry->keys.size() && i < map.keys.size(); ++i)
                keys += (i ? ", " : "")
                    + (map.keys[i].kind == ValueKind::stack ? list(entry->keys[i]) : json_string(key(map, *entry, i)));
            all += fmt::format("{}{{\"key\": [{}], \"value\": {}}}", all.empty() ? "" : ", ", keys, value(*entry));
        }
        out_ << fmt::format("{{\"type\": \"{}\", \"data\": {{{}: [{}]}}}}\n", type, json_string(map.name), all);
    }

    // {"type": "map", "data": {"@x": {"key": value, ...}}}, and without the inner braces where there are no keys.
    template <class Value>
    void object(const char* type, const Map& map, const Entries& entries, const Value& value)
    {
        if (entries.empty())
            return;
        if (map.has_stack_key())
            return entries_with_stacks(type, map, entries, value);
        std::string all;
        for (const Entry* entry : entries) {
            std::string keys;
            for (size_t i = 0; i < entry->keys.size() && i < map.keys.size(); ++i)
                keys += (i ? "," : "") + key(map, *entry, i);
            all += fmt::format("{}{}{}", all.empty() ? "" : ", ", map.keys.empty() ? "" : json_string(keys) + ": ",
                               value(*entry));
        }
        const bool keyed = !map.keys.empty();
        out_ << fmt::format("{{\"type\": \"{}\", \"data\": {{{}: {}{}{}}}}}\n", type, json_string(map.name),
                            keyed ? "{" : "", all, keyed ? "}" : "");
    }

    void values(const Map& map, const Entries& entries, uint32_t div) override
    {
        const bool is_text = map.kind == MapKind::string || map.kind == MapKind::probe;
        object("map", map, entries, [&](const Entry& entry) {
            if (is_text && map.type.kind == ValueKind::bytes)
                return bytes_json(*map.type.shape, entry.value.text, is_newer_);
            if (is_text && map.type.kind == ValueKind::stack)
                return list(entry.value);
            if (map.type.is_real())
                return real_json(*map.type.shape, static_cast<uint64_t>(entry.value.number));
            const std::string value = value_of(map, entry, div);
            const bool is_named = map.type.is(engine::Shape::Kind::enumeration);
            return is_text || is_named ? json_string(value) : value;
        });
    }

    static std::string bounds(const Map& map, size_t bucket)
    {
        const auto [low, high] = map.bounds(bucket);
        return (low ? fmt::format("\"min\": {}, ", *low) : "") + (high ? fmt::format("\"max\": {}, ", *high) : "");
    }

    void histograms(const Map& map, const Entries& entries, uint32_t div) override
    {
        object("hist", map, entries, [&](const Entry& entry) {
            std::string all;
            const Range range = filled(entry.buckets);
            for (size_t i = range.first; i < range.end; ++i)
                all += fmt::format("{}{{{}\"count\": {}}}", all.empty() ? "" : ", ", bounds(map, i),
                                   entry.buckets[i] / (map.is_power() ? div : 1));
            return "[" + all + "]";
        });
    }

    void series(const Map& map, const std::vector<Series>& all) override
    {
        constexpr int64_t second = 1'000'000'000;
        Entries entries;
        for (const Series& one : all)
            entries.push_back(&one.entry);
        auto next = all.begin();
        object("tseries", map, entries, [&](const Entry&) {
            std::string points;
            for (const Series::Point& point : (next++)->points)
                if (point.value)
                    points +=
                        fmt::format("{}{{\"interval_start\": \"{}.{:09}\", \"value\": {}}}", points.empty() ? "" : ", ",
                                    time_text("%Y-%m-%d %H:%M:%S", point.nanoseconds / second, 0),
                                    point.nanoseconds % second, *point.value);
            return "[" + points + "]";
        });
    }

    void statistics(const Map& map, const Entries& entries, uint32_t div) override
    {
        object("stats", map, entries, [&](const Entry& entry) {
            if (map.kind == MapKind::avg)
                return value_of(map, entry, div);
            return fmt::format("{{\"count\": {}, \"average\": {}, \"total\": {}}}", entry.count,
                               value_of(map, entry, 1),
                               map.type.is_signed ? std::to_string(entry.number)
                                                  : std::to_string(static_cast<uint64_t>(entry.number)));
        });
    }
};

} // namespace

std::unique_ptr<Output> json_output(const engine::Script& script, std::ostream& out, bool is_newer)
{
    return std::make_unique<JsonOutput>(script, out, is_newer);
}

} // namespace fastsdt::trace_tool
