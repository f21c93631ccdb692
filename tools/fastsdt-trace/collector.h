// SPDX-License-Identifier: BSD-2-Clause
// Delivers to OpenTelemetry's collectors: OTLP over HTTP with bodies of JSON (opentelemetry.io/docs/specs/otlp), by libcurl.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace fastsdt::trace_tool {

/// A collector's URL as it may be printed: without a user and a password.
inline std::string printed_url(const std::string& url)
{
    constexpr std::string_view colon = "://";
    const size_t scheme = url.find(colon), host = scheme == url.npos ? 0 : scheme + colon.size();
    const size_t at = url.rfind('@', url.find('/', host));
    return at == url.npos || at < host ? url : url.substr(0, host) + url.substr(at + 1);
}

/// Why there can be no collector of this URL, in a sentence with the URL; empty: it can be tried.
std::string no_collector(const std::string& url);

class Collector {
public:
    /// @param url  what is before /v1/traces: "http://127.0.0.1:4318". Throws Unusable; nothing is sent yet.
    explicit Collector(const std::string& url);
    Collector(const Collector&) = delete;
    Collector& operator=(const Collector&) = delete;
    ~Collector();

    /// Waits for the answer, for ten seconds at most. Throws Unusable: one sentence, with the collector's words.
    /// @param what  "traces" or "metrics"
    void deliver(const std::string& what, const std::string& json);
    /// Of any thread: what is under way fails soon, and so does all that comes.
    void give_up();

    struct State; ///< libcurl's

private:
    const std::unique_ptr<State> state_;
};

/// Delivers metrics in a thread of its own, so that whoever traces waits for no network.
class Pusher {
public:
    explicit Pusher(const std::string& url); ///< throws Unusable
    Pusher(const Pusher&) = delete;
    Pusher& operator=(const Pusher&) = delete;
    ~Pusher();

    /// Returns at once. What is not under way yet is replaced, and counts as not delivered.
    void push(std::string json);
    /// Waits until that was delivered, for two seconds at most.
    void finish(std::string json);
    uint64_t undelivered();            ///< so far
    std::optional<std::string> news(); ///< why nothing is delivered any more, or that it is again: each once

private:
    void run();

    Collector collector_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::optional<std::string> waiting_, news_;
    bool stopping_ = false, busy_ = false, failed_ = false;
    uint64_t undelivered_ = 0;
    std::thread thread_;
};

} // namespace fastsdt::trace_tool
