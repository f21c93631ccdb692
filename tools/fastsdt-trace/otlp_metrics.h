// SPDX-License-Identifier: BSD-2-Clause
// Metrics for OpenTelemetry's collectors: opentelemetry-proto, metrics/v1/metrics.proto, in its JSON.
#pragma once
#include "openmetrics.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace fastsdt::trace_tool {

class OtlpMetrics : public Metrics {
public:
    /// Both in ns since 1970. @param begin  when counting began
    OtlpMetrics(uint64_t begin, uint64_t now);

    void family(const std::string& name, MetricType type, std::string_view help, std::string_view unit = {}) override;
    void sample(std::string_view suffix, const Labels& labels, std::string_view value) override;
    /// A hist() has exponential buckets of scale 0, (2^i, 2^(i+1)], as these exclude their lower bound: a value that is a power of two, which
    /// hist() counts above, seems to be any other of that bucket. Where negative values came, and of lhist(), the bounds are explicit.
    void histogram(const Buckets& of, const Labels& labels) override;
    std::string finish() &&; ///< the whole request

private:
    nlohmann::json point(const Labels& labels) const;
    void end_family();

    const std::string begin_, now_;
    MetricType type_ = MetricType::gauge;
    nlohmann::json metric_, points_, metrics_ = nlohmann::json::array();
    const char* kind_ = nullptr; ///< the member of the metric that has the points
};

} // namespace fastsdt::trace_tool
