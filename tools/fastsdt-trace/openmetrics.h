// SPDX-License-Identifier: BSD-2-Clause
// Maps as metrics, and the text that Prometheus reads: the format OpenMetrics 1.0, or Prometheus's own, version 0.0.4.
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

enum class MetricFormat { openmetrics, prometheus };
enum class MetricType { counter, gauge, histogram, summary, info };

/// What metrics are written to: families one after another, each with its samples.
class Metrics {
public:
    virtual ~Metrics() = default;

    using Labels = std::vector<std::pair<std::string, std::string>>;
    /// @param unit  "" or how `name` ends
    virtual void family(const std::string& name, MetricType type, std::string_view help,
                        std::string_view unit = {}) = 0;
    /// Of the last family. @param suffix  "_total" and its like
    virtual void sample(std::string_view suffix, const Labels& labels, std::string_view value) = 0;
    /// An entry of a hist() or lhist(), and those of its buckets that some key of the map has filled so far.
    struct Buckets {
        const engine::Map& map;
        const engine::Entry& entry;
        size_t begin, end;
    };
    virtual void histogram(const Buckets& of, const Labels& labels) = 0;
    /// For a family with one.
    void one(const std::string& name, MetricType type, std::string_view help, double value, std::string_view unit = {});
};

/// Builds the text.
class Exposition : public Metrics {
public:
    explicit Exposition(MetricFormat format) : format_(format) {}

    void family(const std::string& name, MetricType type, std::string_view help, std::string_view unit = {}) override;
    void sample(std::string_view suffix, const Labels& labels, std::string_view value) override;
    void histogram(const Buckets& of, const Labels& labels) override;
    /// The whole text.
    std::string finish() &&;

private:
    const MetricFormat format_;
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
    void write(Metrics& to, const std::vector<engine::Entry>& entries, const std::vector<std::string>& probes);
    /// By the last write().
    size_t left_out() const { return left_out_; }
    const std::string& map_name() const { return map_.name; }
    /// All names that it may write, so that no other metric has one of them.
    std::vector<std::string> names() const;

private:
    void samples(Metrics& to, const engine::Entry& entry, Metrics::Labels labels,
                 const std::vector<std::string>& probes) const;

    const engine::Map& map_;
    std::string name_, help_, unit_;
    MetricType type_;
    std::vector<std::string> labels_;
    size_t most_keys_, left_out_ = 0;
    size_t buckets_begin_ = 1, buckets_end_ = 1; // those that some key has filled so far
    std::set<std::vector<engine::Datum>> kept_;
};

} // namespace fastsdt::trace_tool
