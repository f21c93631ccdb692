// SPDX-License-Identifier: BSD-2-Clause
#include "base/printable.h"
#include "output.h"

#include <fmt/format.h>

namespace fastsdt::trace_tool {
namespace {

using engine::Entry;
using engine::Map;
using engine::MapKind;

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
    const auto i = static_cast<int64_t>(bucket);
    if (map.kind == MapKind::lhist) {
        if (bucket == 0)
            return fmt::format("(..., {})", linear_label(map.low));
        if (bucket == map.buckets() - 1)
            return fmt::format("[{}, ...)", linear_label(map.high));
        return fmt::format("[{}, {})", linear_label((i - 1) * map.step + map.low),
                           linear_label(i * map.step + map.low));
    }
    if (bucket == 0)
        return "(..., 0)";
    if (bucket <= 2)
        return bucket == 1 ? "[0]" : "[1]";
    return fmt::format("[{}, {})", power_label(bucket - 2), power_label(bucket - 1));
}

class TextOutput final : public Output {
public:
    using Output::Output;

    void text(const std::string& text, Kind kind) override
    {
        out_ << (kind == Kind::value ? printable(text) + '\n' : text);
    }
    void number(const std::string& number) override { out_ << number << '\n'; }
    void summary(const Summary& summary) override { out_ << printable(summary.text()) << '\n'; }

private:
    std::string head(const Map& map, const Entry& entry) const
    {
        std::string keys;
        for (size_t i = 0; i < entry.keys.size() && i < map.keys.size(); ++i)
            keys += (i ? ", " : "") + datum(map.keys[i], entry.keys[i]);
        return printable(map.name + (map.keys.empty() ? "" : "[" + keys + "]")) + ": ";
    }

    void values(const Map& map, const Entries& entries, uint32_t div) override
    {
        for (const Entry* entry : entries)
            out_ << head(map, *entry) << printable(value_of(map, *entry, div)) << '\n';
        if (entries.empty())
            out_ << '\n';
    }

    void histograms(const Map& map, const Entries& entries, uint32_t div) override
    {
        constexpr int width = 52;
        bool first = true;
        for (const Entry* entry : entries) {
            out_ << (first ? "" : "\n") << head(map, *entry) << '\n';
            first = false;
            const Range range = filled(entry->buckets);
            for (size_t i = range.first; i < range.end; ++i) {
                const auto bar =
                    static_cast<size_t>(static_cast<float>(entry->buckets[i]) / static_cast<float>(range.most) * width);
                out_ << fmt::format("{:<16}{:>8} |{:<52}|\n", bucket_label(map, i),
                                    entry->buckets[i] / (map.kind == MapKind::hist ? div : 1), std::string(bar, '@'));
            }
        }
        out_ << '\n';
    }

    void statistics(const Map& map, const Entries& entries, uint32_t div) override
    {
        bool first = true;
        for (const Entry* entry : entries) {
            out_ << (first ? "" : "\n") << head(map, *entry);
            first = false;
            if (map.kind == MapKind::avg)
                out_ << value_of(map, *entry, div);
            else
                out_ << fmt::format("count {}, average {}, total {}", entry->count, value_of(map, *entry, 1),
                                    map.is_signed ? std::to_string(entry->number)
                                                  : std::to_string(static_cast<uint64_t>(entry->number)));
        }
        out_ << "\n\n";
    }
};

} // namespace

std::unique_ptr<Output> text_output(const engine::Script& script, std::ostream& out)
{
    return std::make_unique<TextOutput>(script, out);
}

} // namespace fastsdt::trace_tool
