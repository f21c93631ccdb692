// SPDX-License-Identifier: BSD-2-Clause
// In the place of collector.cpp where there is no libcurl.
#include "collector.h"

#include "base/unusable.h"

#include <fmt/format.h>

namespace fastsdt::trace_tool {

struct Collector::State {};

std::string no_collector(const std::string& url)
{
    return fmt::format("{}: fastsdt-trace is built without libcurl (FASTSDT_OTLP)", printed_url(url));
}

Collector::Collector(const std::string& url)
{
    throw Unusable(no_collector(url));
}

Collector::~Collector() = default;
void Collector::give_up() {}
void Collector::deliver(const std::string&, const std::string&) {}

} // namespace fastsdt::trace_tool
