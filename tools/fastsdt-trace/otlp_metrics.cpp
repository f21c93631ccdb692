// SPDX-License-Identifier: BSD-2-Clause
#include "otlp_metrics.h"

#include <fastsdt.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <numeric>
#include <utility>

namespace fastsdt::trace_tool {

using nlohmann::json;

namespace {

constexpr int cumulative = 2; // AGGREGATION_TEMPORALITY_CUMULATIVE

// As the Unified Code for Units of Measure has it.
std::string_view unit_of(std::string_view word)
{
    static constexpr std::pair<std::string_view, std::string_view> units[] = {
        {"seconds", "s"}, {"milliseconds", "ms"}, {"microseconds", "us"}, {"nanoseconds", "ns"}, {"bytes", "By"}};
    const auto* const found =
        std::find_if(std::begin(units), std::end(units), [&](auto& one) { return one.first == word; });
    return found == std::end(units) ? word : found->second;
}

// Numbers of 64 bits are texts in JSON; they have a sign.
void set_number(json& point, std::string_view text)
{
    int64_t integer = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), integer);
    if (error == std::errc() && end == text.data() + text.size())
        point["asInt"] = text;
    else
        point["asDouble"] = std::strtod(std::string(text).c_str(), nullptr);
}

json texts_of(std::vector<uint64_t>::const_iterator from, std::vector<uint64_t>::const_iterator to)
{
    json all = json::array();
    for (; from != to; ++from)
        all.push_back(std::to_string(*from));
    return all;
}

json attribute(const std::string& name, const std::string& value)
{
    return {{"key", name}, {"value", {{"stringValue", value}}}};
}

} // namespace

OtlpMetrics::OtlpMetrics(uint64_t begin, uint64_t now) : begin_(std::to_string(begin)), now_(std::to_string(now)) {}

void OtlpMetrics::family(const std::string& name, MetricType type, std::string_view help, std::string_view unit)
{
    end_family();
    type_ = type;
    kind_ = type == MetricType::counter ? "sum"
        : type == MetricType::summary   ? "summary"
                                        : "gauge"; // a histogram's: later
    metric_ = {{"name", name}, {"description", help}, {"unit", unit_of(unit)}};
    points_ = json::array();
}

void OtlpMetrics::end_family()
{
    if (points_.empty())
        return;
    json of = {{"dataPoints", std::move(points_)}};
    if (type_ == MetricType::counter || type_ == MetricType::histogram)
        of["aggregationTemporality"] = cumulative;
    if (type_ == MetricType::counter)
        of["isMonotonic"] = true;
    metric_[kind_] = std::move(of);
    metrics_.push_back(std::move(metric_));
    points_ = json::array();
}

json OtlpMetrics::point(const Labels& labels) const
{
    json attributes = json::array();
    for (const auto& [name, value] : labels)
        attributes.push_back(attribute(name, value));
    return {{"attributes", std::move(attributes)}, {"startTimeUnixNano", begin_}, {"timeUnixNano", now_}};
}

void OtlpMetrics::sample(std::string_view suffix, const Labels& labels, std::string_view value)
{
    if (type_ == MetricType::summary && suffix == "_sum") { // behind its "_count"
        points_.back()["sum"] = std::strtod(std::string(value).c_str(), nullptr);
        return;
    }
    json one = point(labels);
    if (type_ == MetricType::summary)
        one["count"] = value;
    else
        set_number(one, value);
    points_.push_back(std::move(one));
}

void OtlpMetrics::histogram(const Buckets& of, const Labels& labels)
{
    const std::vector<uint64_t>& counts = of.entry.buckets;
    json one = point(labels);
    one["count"] = std::to_string(std::accumulate(counts.begin(), counts.end(), uint64_t(0)));
    constexpr size_t negative = 0, zero = 1, first = 2; // of a hist()
    const bool is_exponential = of.map.kind == engine::MapKind::hist && !of.map.fine_bits && of.begin != negative;
    kind_ = is_exponential ? "exponentialHistogram" : "histogram";
    if (is_exponential) {
        const size_t begin = std::max(of.begin, first), end = std::min(std::max(of.end, begin), counts.size());
        one["scale"] = 0;
        one["zeroCount"] = std::to_string(counts.size() > zero ? counts[zero] : 0);
        one["positive"] = {{"offset", begin - first},
                           {"bucketCounts",
                            begin < end ? texts_of(counts.begin() + ptrdiff_t(begin), counts.begin() + ptrdiff_t(end))
                                        : json::array()}};
    } else { // all of them, so that the bounds stay the same
        json bounds = json::array();
        for (size_t i = 0; i + 1 < counts.size(); ++i)
            bounds.push_back(static_cast<double>(of.map.bounds(i).second.value_or(INT64_MAX)));
        one["explicitBounds"] = std::move(bounds);
        one["bucketCounts"] = texts_of(counts.begin(), counts.end());
    }
    points_.push_back(std::move(one));
}

std::string OtlpMetrics::finish() &&
{
    end_family();
    const json scope = {{"name", "fastsdt-trace"}, {"version", FASTSDT_VERSION_STRING}};
    const json resource = {{"attributes", json::array({attribute("service.name", "fastsdt-trace")})}};
    json all = {{"scope", scope}, {"metrics", std::move(metrics_)}};
    json of = {{"resource", resource}, {"scopeMetrics", json::array({std::move(all)})}};
    return json{{"resourceMetrics", json::array({std::move(of)})}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

} // namespace fastsdt::trace_tool
