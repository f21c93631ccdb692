// SPDX-License-Identifier: BSD-2-Clause
// Numbers of fields: proto/profile.proto of github.com/google/pprof. All texts are numbers of a table; locations, functions and mappings
// have numbers from 1 on.
#include "pprof.h"

#include "base/printable.h"
#include "base/unusable.h"
#include "elf/image.h"
#include "process/symbols.h"

#include <fmt/format.h>
#include <protozero/pbf_builder.hpp>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

namespace fastsdt::engine {

namespace {

using Tag = protozero::pbf_tag_type;
enum class InProfile : Tag {
    sample_type = 1,
    sample,
    mapping,
    location,
    function,
    string_table,
    time_nanos = 9,
    duration_nanos,
    period_type,
    period,
    comment,
    default_sample_type
};
enum class InValueType : Tag { type = 1, unit };
enum class InSample : Tag { location_id = 1, value, label };
enum class InLabel : Tag { key = 1, str, num, num_unit };
enum class InMapping : Tag {
    id = 1,
    memory_start,
    memory_limit,
    filename = 5,
    build_id,
    has_functions,
    has_inline_frames = 10
};
enum class InLocation : Tag { id = 1, mapping_id, address, line };
enum class InLine : Tag { function_id = 1 };
enum class InFunction : Tag { id = 1, name, system_name };

// A frame and the functions that are inlined there, the innermost first.
struct StackFrame {
    uint64_t address = 0;
    std::string file;
    std::vector<std::string> names;
    auto operator<=>(const StackFrame&) const = default;
};

// "7f0012345678 symbol+12 (/path)", as StackForm::perf has it; "7f0012345678 symbol (inlined)" before it.
std::vector<StackFrame> frames(const Datum& stack)
{
    std::vector<StackFrame> all;
    bool is_inlined = false;
    for (const std::string& line : frames_of(stack)) {
        const size_t blank = std::min(line.find(' '), line.size());
        std::string_view name = std::string_view(line).substr(std::min(blank + 1, line.size()));
        if (!std::exchange(is_inlined, name.ends_with(inlined_mark)))
            all.emplace_back();
        StackFrame& frame = all.back();
        std::from_chars(line.data(), line.data() + blank, frame.address, 16);
        if (is_inlined) {
            name.remove_suffix(inlined_mark.size());
        } else if (const size_t file = name.rfind(" ("); file != name.npos && name.ends_with(')')) {
            frame.file = name.substr(file + 2, name.size() - file - 3);
            name = name.substr(0, file);
            name = name.substr(0, name.rfind('+'));
            name = without_version(name);
        }
        frame.names.emplace_back(name);
    }
    return all;
}

std::string_view unit_of(const Map& map)
{
    if (map.kind == MapKind::count)
        return "count";
    static constexpr std::pair<std::string_view, std::string_view> units[] = {{"bytes", "bytes"},
                                                                              {"nsecs", "nanoseconds"},
                                                                              {"ns", "nanoseconds"},
                                                                              {"us", "microseconds"},
                                                                              {"ms", "milliseconds"}};
    for (const auto& [ending, unit] : units)
        if (map.name.ends_with(ending))
            return unit;
    return "count";
}

// Between two samples, where only profile probes of one frequency count in the map; else 0.
int64_t period_of(const Script& script, size_t map)
{
    std::optional<uint64_t> period;
    for (const Clause& clause : script.clauses)
        each_statement(clause.actions, [&](const Statement& statement) {
            if (statement.kind == Statement::Kind::update && statement.map == map)
                for (const Probe& probe : clause.probes) {
                    const uint64_t own = probe.has_sample() ? probe.interval_us : 0;
                    period = period && *period != own ? 0 : own;
                }
        });
    return script.maps[map].kind == MapKind::count ? static_cast<int64_t>(period.value_or(0)) * 1000 : 0;
}

class Writer {
public:
    explicit Writer(const KeyText& key_text) : key_text_(key_text) {}

    // @param period  ns; not 0: the map's entries are samples
    void add(const Script& script, size_t index, const std::vector<Entry>& entries, int64_t period)
    {
        const Map& map = script.maps[index];
        const size_t type = types_.size();
        types_.emplace_back(period ? "samples" : map.name.size() > 1 ? map.name.substr(1) : "hits", unit_of(map));
        if (period)
            types_.emplace_back("cpu", "nanoseconds");
        period_ = period_ ? period_ : period;
        const std::vector<std::string> labels = labels_of(script, index);
        for (const Entry& entry : entries) {
            std::vector<int64_t>& values = samples_[sample_of(map, entry, labels)];
            values.resize(std::max(values.size(), types_.size()));
            values[type] += one_number(map, entry);
            if (period)
                values[type + 1] += one_number(map, entry) * period;
        }
    }

    std::string text(const std::string& comment, const ProfileTimes& times)
    {
        std::string bytes;
        protozero::pbf_builder<InProfile> to(bytes);
        for (const auto& [name, unit] : types_)
            value_type(to, InProfile::sample_type, name, unit);
        for (const auto& [key, values] : samples_)
            sample(to, key, values);
        for (const auto& [file, mapping] : mappings_)
            this->mapping(to, file, mapping);
        for (const auto& [frame, id] : locations_)
            location(to, frame, id);
        for (const auto& [name, id] : functions_) {
            protozero::pbf_builder<InFunction> function(to, InProfile::function);
            function.add_uint64(InFunction::id, id);
            function.add_int64(InFunction::name, string(name));
            function.add_int64(InFunction::system_name, string(name));
        }
        to.add_int64(InProfile::time_nanos, times.begin);
        to.add_int64(InProfile::duration_nanos, times.duration);
        if (period_) {
            value_type(to, InProfile::period_type, "cpu", "nanoseconds");
            to.add_int64(InProfile::period, period_);
        }
        to.add_int64(InProfile::comment, string(comment));
        if (!types_.empty())
            to.add_int64(InProfile::default_sample_type, string(types_.back().first));
        for (const std::string& each : strings_)
            to.add_string(InProfile::string_table, each);
        return bytes;
    }

private:
    struct Label {
        std::string name, text;
        int64_t number = 0;
        auto operator<=>(const Label&) const = default;
    };
    using Sample = std::pair<std::vector<uint64_t>, std::vector<Label>>; // locations, the innermost first
    struct Mapping {
        uint64_t id, first, last;
    };

    Sample sample_of(const Map& map, const Entry& entry, const std::vector<std::string>& labels)
    {
        Sample sample;
        for (size_t i = 0; i < map.keys.size() && i < entry.keys.size(); ++i) {
            const Datum& key = entry.keys[i];
            if (map.keys[i].kind == ValueKind::stack)
                for (const StackFrame& frame : frames(key))
                    sample.first.push_back(location_of(frame));
            else if (map.keys[i].kind == ValueKind::integer && !map.keys[i].shape)
                sample.second.push_back({labels[i], "", key.number});
            else
                sample.second.push_back({labels[i], printable(key_text_(map.keys[i], key)), 0});
        }
        return sample;
    }

    uint64_t location_of(const StackFrame& frame)
    {
        for (const std::string& name : frame.names)
            functions_.try_emplace(name, functions_.size() + 1);
        if (!frame.file.empty()) {
            Mapping& mapping =
                mappings_.try_emplace(frame.file, Mapping{mappings_.size() + 1, frame.address, frame.address})
                    .first->second;
            mapping.first = std::min(mapping.first, frame.address);
            mapping.last = std::max(mapping.last, frame.address);
        }
        return locations_.try_emplace(frame, locations_.size() + 1).first->second;
    }

    int64_t string(const std::string& text)
    {
        const auto [found, fresh] = numbers_.try_emplace(text, strings_.size());
        if (fresh)
            strings_.push_back(text);
        return static_cast<int64_t>(found->second);
    }

    void value_type(protozero::pbf_builder<InProfile>& to, InProfile field, const std::string& name,
                    const std::string& unit)
    {
        protozero::pbf_builder<InValueType> type(to, field);
        type.add_int64(InValueType::type, string(name));
        type.add_int64(InValueType::unit, string(unit));
    }

    void sample(protozero::pbf_builder<InProfile>& to, const Sample& key, std::vector<int64_t> values)
    {
        values.resize(types_.size());
        protozero::pbf_builder<InSample> sample(to, InProfile::sample);
        sample.add_packed_uint64(InSample::location_id, key.first.begin(), key.first.end());
        sample.add_packed_int64(InSample::value, values.begin(), values.end());
        for (const Label& each : key.second) {
            protozero::pbf_builder<InLabel> label(sample, InSample::label);
            label.add_int64(InLabel::key, string(each.name));
            if (!each.text.empty()) {
                label.add_int64(InLabel::str, string(each.text));
                continue;
            }
            label.add_int64(InLabel::num, each.number);
            if (each.number == 0) // readers take 0 without a unit for no label; the name is what they take for a unit
                label.add_int64(InLabel::num_unit, string(each.name));
        }
    }

    // Which part of the file it was nobody asks: functions have their names.
    void mapping(protozero::pbf_builder<InProfile>& to, const std::string& file, const Mapping& of)
    {
        protozero::pbf_builder<InMapping> mapping(to, InProfile::mapping);
        mapping.add_uint64(InMapping::id, of.id);
        mapping.add_uint64(InMapping::memory_start, of.first);
        mapping.add_uint64(InMapping::memory_limit, of.last + 1);
        mapping.add_int64(InMapping::filename, string(file));
        std::string id;
        try {
            if (file.starts_with('/'))
                Image::each(file, [&](const Image& image) { id = image.build_id(); }, [](const Error&) {});
        } catch (const Unusable&) {
            // It is gone, or a file of another root.
        }
        mapping.add_int64(InMapping::build_id, string(id));
        mapping.add_bool(InMapping::has_functions, true);
        mapping.add_bool(InMapping::has_inline_frames, true);
    }

    void location(protozero::pbf_builder<InProfile>& to, const StackFrame& frame, uint64_t id)
    {
        protozero::pbf_builder<InLocation> location(to, InProfile::location);
        location.add_uint64(InLocation::id, id);
        if (const auto mapping = mappings_.find(frame.file); mapping != mappings_.end())
            location.add_uint64(InLocation::mapping_id, mapping->second.id);
        location.add_uint64(InLocation::address, frame.address);
        for (const std::string& name : frame.names) {
            protozero::pbf_builder<InLine> line(location, InLocation::line);
            line.add_uint64(InLine::function_id, functions_.at(name));
        }
    }

    const KeyText& key_text_;
    std::vector<std::pair<std::string, std::string>> types_; // name and unit
    std::map<Sample, std::vector<int64_t>> samples_;
    std::map<std::string, Mapping> mappings_; // by file
    std::map<StackFrame, uint64_t> locations_;
    std::map<std::string, uint64_t> functions_;
    std::map<std::string, size_t> numbers_ = {{"", 0}}; // in strings_
    std::vector<std::string> strings_ = {""};
    int64_t period_ = 0;
};

} // namespace

bool is_profile(const Map& map)
{
    const auto stacks = std::count_if(map.keys.begin(), map.keys.end(),
                                      [](const ValueType& key) { return key.kind == ValueKind::stack; });
    return stacks == 1 && (is_one_number(map.kind) || map.kind == MapKind::integer);
}

std::string profile_of(const Script& script, const Maps& maps, const KeyText& key_text, const std::string& comment,
                       const ProfileTimes& times)
{
    Writer writer(key_text);
    for (size_t i = 0; i < script.maps.size(); ++i)
        if (is_profile(script.maps[i]))
            writer.add(script, i, maps.maps[i], period_of(script, i));
    return writer.text(comment, times);
}

} // namespace fastsdt::engine
