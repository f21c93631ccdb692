// SPDX-License-Identifier: BSD-2-Clause
// The HTTP server that Prometheus asks: libmicrohttpd without threads. Whoever has it waits for its descriptor and calls run().
#pragma once
#include "openmetrics.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace fastsdt::trace_tool {

class Http {
public:
    /// @param scrape  makes the answer to /metrics
    /// Throws Unusable where it cannot listen there.
    Http(const std::string& address, uint16_t port, std::function<std::string(MetricFormat)> scrape);
    Http(const Http&) = delete;
    Http& operator=(const Http&) = delete;
    ~Http();

    int descriptor() const; ///< readable when run() has something to do
    /// To be done also now and then, so that slow clients are sent away.
    void run();
    uint16_t port() const; ///< also where 0 was asked for

    struct State; ///< libmicrohttpd's

private:
    const std::unique_ptr<State> state_;
};

/// Whether Http can listen there: "127.0.0.1", "::1". Names are none.
bool is_ip_address(const std::string& text);

/// What a client wants to have, by its header Accept.
MetricFormat format_for(std::string_view accept);

} // namespace fastsdt::trace_tool
