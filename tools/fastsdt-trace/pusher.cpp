// SPDX-License-Identifier: BSD-2-Clause
#include "collector.h"

#include <chrono>
#include <csignal>
#include <exception>
#include <pthread.h>
#include <utility>

namespace fastsdt::trace_tool {

Pusher::Pusher(const std::string& url) : collector_(url)
{
    sigset_t all, before; // signals are for the thread that traces
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Pusher::~Pusher()
{
    collector_.give_up();
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        changed_.notify_all();
    }
    thread_.join();
}

void Pusher::push(std::string json)
{
    const std::lock_guard lock(mutex_);
    undelivered_ += waiting_.has_value();
    waiting_ = std::move(json);
    changed_.notify_all();
}

void Pusher::finish(std::string json)
{
    constexpr auto most = std::chrono::seconds(2);
    push(std::move(json));
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, most, [this] { return !waiting_ && !busy_; }))
        undelivered_ += waiting_.has_value() + busy_;
}

uint64_t Pusher::undelivered()
{
    const std::lock_guard lock(mutex_);
    return undelivered_;
}

std::optional<std::string> Pusher::news()
{
    const std::lock_guard lock(mutex_);
    return std::exchange(news_, {});
}

void Pusher::run()
{
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return stopping_ || waiting_; });
        if (stopping_)
            return;
        const std::string json = std::move(*std::exchange(waiting_, {}));
        busy_ = true;
        lock.unlock();
        std::string error;
        try {
            collector_.deliver("metrics", json);
        } catch (const std::exception& failure) {
            error = failure.what();
        }
        lock.lock();
        busy_ = false;
        undelivered_ += !error.empty();
        if (error.empty() == failed_) // it has changed
            news_ = error.empty() ? "all metrics are delivered again" : error + "; metrics are not delivered";
        failed_ = !error.empty();
        changed_.notify_all();
    }
}

} // namespace fastsdt::trace_tool
