// SPDX-License-Identifier: BSD-2-Clause
#include "base/printable.h"
#include "output.h"
#include "values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>

namespace fastsdt::trace_tool {
namespace {

using engine::Entry;
using engine::Map;
using engine::MapKind;
using engine::ValueKind;

// TextOutput::hist_index_label
std::string power_label(size_t power)
{
    static constexpr const char* suffixes[] = {"", "K", "M", "G", "T", "P", "E"};
    return fmt::format("{}{}", uint64_t(1) << power % 10, suffixes[power / 10]);
}

// TextOutput::lhist_index_label
std::string linear_label(int64_t number)
{
    constexpr int64_t kilo = 1024, mega = kilo * kilo;
    if (number != 0 && number % mega == 0)
        return fmt::format("{}M", number / mega);
    if (number != 0 && number % kilo == 0)
        return fmt::format("{}K", number / kilo);
    return std::to_string(number);
}

std::string bucket_label(const Map& map, size_t bucket)
{
    if (map.kind == MapKind::hist && bucket > 2)
        return fmt::format("[{}, {})", power_label(bucket - 2), power_label(bucket - 1));
    const auto [low, high] = map.bounds(bucket);
    if (!low)
        return fmt::format("(..., {})", linear_label(*high + 1));
    if (!high || *high == INT64_MAX)
        return fmt::format("[{}, ...)", linear_label(*low));
    return *low == *high && map.is_power() ? fmt::format("[{}]", linear_label(*low))
                                           : fmt::format("[{}, {})", linear_label(*low), linear_label(*high + 1));
}

class TextOutput final : public Output {
public:
    TextOutput(const engine::Script& script, std::ostream& out, bool is_folded, bool is_newer)
        : Output(script, out, is_newer), is_folded_(is_folded)
    {}

    void text(const std::string& text, Kind kind) override { out_ << text << (kind == Kind::join ? "\n" : ""); }
    void summary(const Summary& summary) override { out_ << printable(summary.text()) << '\n'; }

private:
    void string(const std::string& text) override { out_ << printable(text) << '\n'; }
    void bytes(const engine::Shape& shape, const std::string& bytes) override
    {
        string(bytes_text(shape, bytes, false));
    }
    void number(const std::string& number) override { out_ << number << '\n'; }
    void stack(const engine::Datum& stack) override { out_ << stack_text(stack, of_printed_) << '\n'; }

    std::string head(const Map& map, const Entry& entry) const
    {
        const size_t indent = indent_of(script_, 4);
        std::string keys;
        for (size_t i = 0; i < entry.keys.size() && i < map.keys.size(); ++i)
            keys += (i ? ", " : "")
                + (map.keys[i].kind == ValueKind::stack ? stack_text(entry.keys[i], indent)
                                                        : printable(key(map, entry, i)));
        const bool is_tuple = map.keys.size() == 1 && map.keys[0].is(engine::Shape::Kind::tuple);
        if (is_newer_ && is_tuple) // its elements are as keys
            keys = keys.substr(1, keys.size() - 2);
        return printable(map.name) + (map.keys.empty() ? "" : "[" + keys + "]") + ":";
    }

    // Entries that differ in frames' offsets alone are one line. Other keys are frames nearer to the root.
    void fold(const Map& map, const Entries& entries, uint32_t div)
    {
        std::map<std::string, uint64_t> lines;
        for (const Entry* entry : entries) {
            std::string others, stacks;
            for (size_t i = 0; i < entry->keys.size() && i < map.keys.size(); ++i)
                if (map.keys[i].kind == ValueKind::stack)
                    stacks += folded(entry->keys[i], false) + ';';
                else
                    others += printable(key(map, *entry, i)) + ';';
            std::string line = others + stacks;
            line.pop_back();
            lines[line] += std::stoull(value_of(map, *entry, div));
        }
        for (const auto& [line, value] : lines)
            out_ << line << ' ' << (map.type.is_signed ? std::to_string(int64_t(value)) : std::to_string(value))
                 << '\n';
    }

    void values(const Map& map, const Entries& entries, uint32_t div) override
    {
        const bool has_stack = map.has_stack_key();
        if (is_folded_ && has_stack && (map.kind == MapKind::count || map.kind == MapKind::sum))
            return fold(map, entries, div);
        for (const Entry* entry : entries)
            out_ << head(map, *entry) << ' '
                 << (is_assigned(map.kind) && map.type.kind == ValueKind::stack ? stack_text(entry->value, of_printed_)
                                                                                : printable(value_of(map, *entry, div)))
                 << '\n';
        if (entries.empty())
            out_ << '\n';
    }

    void histograms(const Map& map, const Entries& entries, uint32_t div) override
    {
        constexpr int width = 52;
        bool first = true;
        for (const Entry* entry : entries) {
            out_ << (first ? "" : "\n") << head(map, *entry) << (is_newer_ ? "\n" : " \n");
            first = false;
            const Range range = filled(entry->buckets);
            for (size_t i = range.first; i < range.end; ++i) {
                const auto bar =
                    static_cast<size_t>(static_cast<float>(entry->buckets[i]) / static_cast<float>(range.most) * width);
                out_ << fmt::format("{:<16}{:>8} |{:<52}|\n", bucket_label(map, i),
                                    entry->buckets[i] / (map.is_power() ? div : 1), std::string(bar, '@'));
            }
        }
        out_ << '\n';
    }

    void statistics(const Map& map, const Entries& entries, uint32_t div) override
    {
        bool first = true;
        for (const Entry* entry : entries) {
            out_ << (first ? "" : "\n") << head(map, *entry) << ' ';
            first = false;
            if (map.kind == MapKind::avg)
                out_ << value_of(map, *entry, div);
            else
                out_ << fmt::format(fmt::runtime(is_newer_ ? "{{ .count = {}, .average = {}, .total = {} }}"
                                                           : "count {}, average {}, total {}"),
                                    entry->count, value_of(map, *entry, 1),
                                    map.type.is_signed ? std::to_string(entry->number)
                                                       : std::to_string(static_cast<uint64_t>(entry->number)));
        }
        out_ << (is_newer_ ? "\n" : "\n\n");
    }

    // One line for each interval, and the value as a place between the smallest and the largest.
    void series(const Map& map, const std::vector<Series>& all) override
    {
        struct Unit {
            int64_t nanoseconds;
            const char* label;
            int digits;
        };
        static constexpr std::array<Unit, 4> units = {{{1'000'000'000, "hh:mm:ss", 0},
                                                       {1'000'000, "hh:mm:ss.ms", 3},
                                                       {1000, "hh:mm:ss.us", 6},
                                                       {1, "hh:mm:ss.ns", 9}}};
        const Unit& unit = *std::find_if(
            units.begin(), units.end(), [&](const Unit& each) { return map.series->interval % each.nanoseconds == 0; });
        const size_t width = unit.digits ? 9 + size_t(unit.digits) : 8; // of a time
        constexpr size_t last = 52;                                     // column of the right border
        bool first = true;
        for (const Series& one : all) {
            int64_t least = INT64_MAX, most = INT64_MIN;
            for (const Series::Point& point : one.points)
                if (point.value) {
                    least = std::min(least, *point.value);
                    most = std::max(most, *point.value);
                }
            if (least > most)
                continue;
            if (least == most) {                           // in the middle
                least -= least != INT64_MIN && least != 0; // as bpftrace has it
                most += most != INT64_MAX;
            }
            const auto column = [&](int64_t value) {
                const double share = (double(value) - double(least)) / (double(most) - double(least));
                return std::min(size_t(share * last), last);
            };
            const std::string ends = fmt::format("{0:{3}} {1}{2:>{4}}\n", "", least, most, width,
                                                 last + 1 - std::min(fmt::formatted_size("{}", least), last));
            const std::string floor(last - 1, '_');
            out_ << (first ? "" : "\n") << head(map, one.entry) << '\n'
                 << ends << fmt::format("{:<{}} |{}|\n", unit.label, width, floor);
            first = false;
            for (const Series::Point& point : one.points) {
                std::string line(last + 1, ' ');
                line.front() = line.back() = '|';
                if (least < 0 && most > 0)
                    line[column(0)] = '.';
                if (point.value)
                    line[column(*point.value)] = '*';
                out_ << moment(point.nanoseconds, unit.digits) << ' ' << line << ' '
                     << (point.value ? std::to_string(*point.value) : "-") << '\n';
            }
            out_ << fmt::format("{:{}} v{}v\n", "", width, floor) << ends;
        }
        out_ << '\n';
    }

    static std::string moment(int64_t nanoseconds, int digits)
    {
        const std::string fraction = fmt::format("{:09}", nanoseconds % second);
        return time_text("%H:%M:%S", nanoseconds / second, 0)
            + (digits ? "." + fraction.substr(0, size_t(digits)) : "");
    }

    static constexpr int64_t second = 1'000'000'000;
    const size_t of_printed_ = indent_of(script_, 8); ///< blanks
    const bool is_folded_;
};

} // namespace

std::unique_ptr<Output> text_output(const engine::Script& script, std::ostream& out, bool folded, bool is_newer)
{
    return std::make_unique<TextOutput>(script, out, folded, is_newer);
}

} // namespace fastsdt::trace_tool
