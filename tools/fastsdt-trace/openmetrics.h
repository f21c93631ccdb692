// SPDX-License-Identifier: BSD-2-Clause
// Maps as metrics: the text that Prometheus reads, in the format OpenMetrics 1.0 or in Prometheus's own, version 0.0.4.
#pragma once
#include "config.h"
#include "maps/maps.h"
#include "script/script.h"

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fastsdt::trace_tool {

enum class Format { openmetrics, prometheus };
enum class MetricType { counter, gauge, histogram, summary, info };

/// Builds the text. Families one after another, each with its samples.
class Exposition {
public:
    explicit Exposition(Format format) : format_(format) {}

    using Labels = std::vector<std::pair<std::string, std::string>>;
    Format format() const { return format_; }
    /// @param unit  "" or how `name` ends
    void family(const std::string& name, MetricType type, std::string_view help, std::string_view unit = {});
    /// Of the last family. @param suffix  "_total" and its like
    void sample(std::string_view suffix, const Labels& labels, std::string_view value);
    /// For a family with one.
    void one(const std::string& name, MetricType type, std::string_view help, double value, std::string_view unit = {});
    /// The whole text.
    std::string finish() &&;

private:
    const Format format_;
    std::string name_, text_;
};

/// A number as both formats write it, and labels `le` (OpenMetrics: canonical numbers): 1.0, 1.048575e+06.
std::string canonical(double number);

/// What one map of a script becomes.
class MapMetrics {
public:
    /// @param script  name of the script, which has to outlive it. Throws Unusable where the configuration does not fit the map.
    MapMetrics(const std::string& script, const engine::Script& parsed, size_t map, const MapConfig& config,
               size_t most_keys);

    /// Adds the family. Keys beyond the limit are left out: those that came first stay.
    void write(Exposition& to, const std::vector<engine::Entry>& entries, const std::vector<std::string>& probes);
    /// By the last write().
    size_t left_out() const { return left_out_; }
    const std::string& map_name() const { return map_.name; }
    /// All names that it may write, so that no other metric has one of them.
    std::vector<std::string> names() const;

private:
    void samples(Exposition& to, const engine::Entry& entry, Exposition::Labels labels,
                 const std::vector<std::string>& probes) const;
    void buckets(Exposition& to, const engine::Entry& entry, const Exposition::Labels& labels) const;
    std::string upper_bound(size_t bucket) const;

    const engine::Map& map_;
    std::string name_, help_, unit_;
    MetricType type_;
    std::vector<std::string> labels_;
    size_t most_keys_, left_out_ = 0;
    size_t buckets_begin_ = 1, buckets_end_ = 1; // those that some key has filled so far
    std::set<std::vector<engine::Datum>> kept_;
};

} // namespace fastsdt::trace_tool
