// SPDX-License-Identifier: BSD-2-Clause
//
// OpenMetrics 1.0 (prometheus.io/docs/specs/om/open_metrics_spec) wants a histogram's _count exactly where there is a _sum. A hist() has no
// sum, so it has neither there; its number is the bucket +Inf. The older format has _count always.
#include "openmetrics.h"

#include "base/printable.h"
#include "base/unusable.h"
#include "output.h"
#include "script/language.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>

namespace fastsdt::trace_tool {

using engine::Entry;
using engine::Map;
using engine::MapKind;
using engine::ValueKind;

namespace {

const char* type_name(MetricType type, MetricFormat format)
{
    switch (type) {
    case MetricType::counter: return "counter";
    case MetricType::gauge: return "gauge";
    case MetricType::histogram: return "histogram";
    case MetricType::summary: return "summary";
    case MetricType::info: return format == MetricFormat::openmetrics ? "info" : "gauge";
    }
    return "unknown";
}

std::string_view suffix_of(MetricType type)
{
    return type == MetricType::counter ? "_total" : type == MetricType::info ? "_info" : "";
}

void append_escaped(std::string& to, std::string_view text, bool quotes)
{
    for (const char c : text)
        if (c == '\n')
            to += "\\n";
        else if (c == '\\' || (c == '"' && quotes))
            (to += '\\') += c;
        else
            to += c;
}

MetricType metric_type(const Map& map)
{
    switch (map.kind) {
    case MapKind::count: return MetricType::counter;
    case MapKind::sum: return map.type.is_signed ? MetricType::gauge : MetricType::counter; // it may go down
    case MapKind::stats: return MetricType::summary;
    case MapKind::hist:
    case MapKind::lhist: return MetricType::histogram;
    case MapKind::string:
    case MapKind::probe: return MetricType::info;
    case MapKind::min:
    case MapKind::max:
    case MapKind::avg:
    case MapKind::integer: break;
    }
    return MetricType::gauge;
}

std::string sanitized(std::string_view name)
{
    std::string clean;
    for (const char c : name)
        clean += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    return clean;
}

std::string integer(const Map& map, int64_t number)
{
    return map.type.is_signed ? std::to_string(number) : std::to_string(static_cast<uint64_t>(number));
}

// Valid UTF-8, which both formats want.
std::string label_text(const engine::ValueType& type, const engine::Datum& datum,
                       const std::vector<std::string>& probes)
{
    return printable(text_of(type, datum, probes));
}

} // namespace

std::string canonical(double number)
{
    if (std::isinf(number) || std::isnan(number))
        return std::isnan(number) ? "NaN" : number > 0 ? "+Inf" : "-Inf";
    std::array<char, 32> text{};
    constexpr double exponent_from = 1e6; // as Go writes it, and with it Prometheus
    const bool with_exponent = std::abs(number) >= exponent_from || (number != 0 && std::abs(number) < 1e-4);
    const auto end = std::to_chars(text.data(), text.data() + text.size(), number,
                                   with_exponent ? std::chars_format::scientific : std::chars_format::fixed)
                         .ptr;
    std::string result(text.data(), end);
    if (!with_exponent && result.find('.') == result.npos)
        result += ".0";
    if (const size_t e = result.find('e'); e != result.npos && result.find('.') == result.npos)
        return result; // 1e+06
    return result;
}

void Exposition::family(const std::string& name, MetricType type, std::string_view help, std::string_view unit)
{
    name_ = name;
    // The older format knows samples only.
    const std::string shown = format_ == MetricFormat::openmetrics ? name : name + std::string(suffix_of(type));
    text_ += fmt::format("# TYPE {} {}\n", shown, type_name(type, format_));
    if (!unit.empty() && format_ == MetricFormat::openmetrics)
        text_ += fmt::format("# UNIT {} {}\n", shown, unit);
    text_ += fmt::format("# HELP {} ", shown);
    append_escaped(text_, help, format_ == MetricFormat::openmetrics);
    text_ += '\n';
}

void Exposition::sample(std::string_view suffix, const Labels& labels, std::string_view value)
{
    (text_ += name_) += suffix;
    for (size_t i = 0; i < labels.size(); ++i) {
        text_ += i ? ',' : '{';
        (text_ += labels[i].first) += "=\"";
        append_escaped(text_, labels[i].second, true);
        text_ += '"';
    }
    text_ += labels.empty() ? " " : "} ";
    (text_ += value) += '\n';
}

void Metrics::one(const std::string& name, MetricType type, std::string_view help, double value, std::string_view unit)
{
    family(name, type, help, unit);
    sample(suffix_of(type), {}, canonical(value));
}

// Of all keys the same, from the lowest to the highest that any has filled: more come when they are filled, none goes.
void Exposition::histogram(const Buckets& of, const Labels& labels)
{
    const std::vector<uint64_t>& counts = of.entry.buckets;
    const uint64_t all = std::accumulate(counts.begin(), counts.end(), uint64_t(0));
    Labels with_bound = labels;
    with_bound.emplace_back("le", "");
    uint64_t below = 0;
    for (size_t i = 0; i < std::min(of.end, counts.size()); ++i) {
        below += counts[i];
        if (i < of.begin || i + 1 == of.map.buckets()) // the last has no bound
            continue;
        with_bound.back().second = canonical(static_cast<double>(of.map.bounds(i).second.value_or(INT64_MAX)));
        sample("_bucket", with_bound, std::to_string(below));
    }
    with_bound.back().second = "+Inf";
    sample("_bucket", with_bound, std::to_string(all));
    if (format_ == MetricFormat::prometheus)
        sample("_count", labels, std::to_string(all));
}

std::string Exposition::finish() &&
{
    if (format_ == MetricFormat::openmetrics)
        text_ += "# EOF\n";
    return std::move(text_);
}

MapMetrics::MapMetrics(const std::string& script, const engine::Script& parsed, size_t map, const MapConfig& config,
                       size_t most_keys)
    : map_(parsed.maps[map]), name_(config.name), help_(config.help), unit_(config.unit), type_(metric_type(map_)),
      labels_(engine::labels_of(parsed, map)), most_keys_(config.most_keys.value_or(most_keys))
{
    if (name_.empty()) {
        const std::string own = sanitized(std::string_view(map_.name).substr(1));
        name_ = own.empty() ? script : script + "_" + own;
    }
    // Samples have these endings; metrics have none.
    if (const auto suffix = suffix_of(type_); !suffix.empty() && name_.ends_with(suffix))
        name_.resize(name_.size() - suffix.size());
    if (!unit_.empty() && type_ == MetricType::info)
        throw Unusable(fmt::format("script {}: {} holds text, which has no unit", script, map_.name));
    if (!unit_.empty() && !name_.ends_with("_" + unit_))
        name_ += "_" + unit_;
    if (help_.empty())
        help_ = fmt::format("{} of {} in the script {}", map_.name,
                            is_assigned(map_.kind) ? "last value" : engine::word_of(map_.kind), script);
    if (config.labels.empty())
        return;
    if (config.labels.size() != map_.keys.size())
        throw Unusable(fmt::format("script {}: {} has {}, and {}", script, map_.name, plural(map_.keys.size(), "key"),
                                   plural(config.labels.size(), "label")));
    labels_ = config.labels;
}

std::vector<std::string> MapMetrics::names() const
{
    std::vector<std::string> all = {name_};
    switch (type_) {
    case MetricType::gauge: break;
    case MetricType::counter:
    case MetricType::info: all.push_back(name_ + std::string(suffix_of(type_))); break;
    case MetricType::histogram: all.push_back(name_ + "_bucket"); [[fallthrough]];
    case MetricType::summary: all.push_back(name_ + "_count"); all.push_back(name_ + "_sum");
    }
    return all;
}

void MapMetrics::write(Metrics& to, const std::vector<Entry>& entries, const std::vector<std::string>& probes)
{
    left_out_ = 0;
    std::set<std::vector<engine::Datum>> now;
    for (const Entry& entry : entries)
        now.insert(entry.keys);
    std::erase_if(kept_, [&](const auto& keys) { return !now.contains(keys); });
    for (const Entry& entry : entries)
        for (size_t i = 0; i < entry.buckets.size(); ++i)
            if (entry.buckets[i]) {
                buckets_begin_ = std::min(buckets_begin_, i);
                buckets_end_ = std::max(buckets_end_, i + 1);
            }
    to.family(name_, type_, help_, unit_);
    // A count without keys is there before its first hit, as bpftrace has it.
    Entry none;
    if (entries.empty() && map_.kind == MapKind::count && map_.keys.empty())
        samples(to, none, {}, probes);
    std::set<Metrics::Labels> written; // what a process writes may become equal when it is made safe
    for (const Entry& entry : entries) {
        Metrics::Labels labels;
        for (size_t i = 0; i < entry.keys.size() && i < labels_.size(); ++i)
            labels.emplace_back(labels_[i], label_text(map_.keys[i], entry.keys[i], probes));
        const bool has_room = kept_.contains(entry.keys) || kept_.size() < most_keys_;
        if (!has_room || !written.insert(labels).second) {
            ++left_out_;
            continue;
        }
        kept_.insert(entry.keys);
        samples(to, entry, std::move(labels), probes);
    }
}

void MapMetrics::samples(Metrics& to, const Entry& entry, Metrics::Labels labels,
                         const std::vector<std::string>& probes) const
{
    switch (map_.kind) {
    case MapKind::count:
    case MapKind::sum:
    case MapKind::min:
    case MapKind::max: to.sample(suffix_of(type_), labels, integer(map_, entry.number)); break;
    case MapKind::integer: to.sample("", labels, integer(map_, entry.value.number)); break;
    case MapKind::avg: {
        const double sum = map_.type.is_signed ? static_cast<double>(entry.number)
                                               : static_cast<double>(static_cast<uint64_t>(entry.number));
        to.sample("", labels, canonical(sum / static_cast<double>(entry.count)));
        break;
    }
    case MapKind::stats:
        to.sample("_count", labels, std::to_string(entry.count));
        if (!map_.type.is_signed || entry.number >= 0) // a summary's sum never goes down
            to.sample("_sum", labels, integer(map_, entry.number));
        break;
    case MapKind::hist:
    case MapKind::lhist: to.histogram({map_, entry, buckets_begin_, buckets_end_}, labels); break;
    case MapKind::string:
    case MapKind::probe:
        labels.emplace_back("value", label_text(map_.type, entry.value, probes));
        to.sample("_info", labels, "1");
        break;
    }
}

} // namespace fastsdt::trace_tool
