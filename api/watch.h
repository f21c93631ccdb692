// SPDX-License-Identifier: BSD-2-Clause
// A thread of the library that looks at what nobody tells of: that a process has come to handle a signal, or to filter system calls, and
// that events were recorded.
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace fastsdt::api {

/// Calls a function again and again in a thread of its own, which has all signals blocked.
class Watch {
public:
    /// @return  when it is called again; empty: never, until start() is called
    using Look = std::function<std::optional<std::chrono::steady_clock::duration>()>;

    Watch() = default;
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    ~Watch() { stop(); }

    /// From now on `look` is called, at once for the first time; if it is called already, that is sooner than planned. Throws Unusable.
    void start(Look look);
    /// Afterwards nothing is called. Not under a lock that the function takes.
    /// @return  whether something was
    bool stop();

private:
    void run();

    std::mutex mutex_;
    std::condition_variable changed_;
    Look look_;
    bool wanted_ = false, stopping_ = false;
    std::thread thread_;
};

} // namespace fastsdt::api
