// SPDX-License-Identifier: BSD-2-Clause
#include "watch.h"

#include "base/unusable.h"

#include <fmt/format.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <pthread.h>
#include <shared_mutex>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace fastsdt::api {
namespace {

// Nothing is looked at any more once exit() has destroyed what this library and the program have as static data. A forked child has no
// such thread, and the lock may be held there for ever by one that it does not have.
struct Looking {
    pid_t pid = getpid();
    std::shared_mutex one;
    bool ended = false;
};

Looking& looking()
{
    static std::atomic<Looking*> all; // never freed: threads run until the very end
    Looking* now = all;
    while (!now || now->pid != getpid()) {
        auto fresh = std::make_unique<Looking>();
        if (all.compare_exchange_strong(now, fresh.get())) {
            now = fresh.release();
            std::atexit([] {
                Looking& here = looking();
                const std::lock_guard lock(here.one);
                here.ended = true;
            });
        }
    }
    return *now;
}

} // namespace

void Watch::start(Look look)
{
    looking();
    const std::lock_guard lock(mutex_);
    wanted_ = true;
    changed_.notify_all();
    if (thread_.joinable())
        return;
    look_ = std::move(look);
    stopping_ = false;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        thread_ = std::thread([this] { run(); });
    } catch (const std::system_error& error) {
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        throw Unusable(fmt::format("no thread can be made that looks for changes: {}", error.what()));
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

bool Watch::stop()
{
    {
        const std::lock_guard lock(mutex_);
        if (!thread_.joinable())
            return false;
        stopping_ = true;
        changed_.notify_all();
    }
    thread_.join();
    return true;
}

void Watch::run()
{
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        wanted_ = false;
        std::optional<std::chrono::steady_clock::duration> next;
        bool ended = false;
        lock.unlock();
        {
            Looking& here = looking();
            const std::shared_lock one(here.one);
            if (!here.ended)
                next = look_();
            ended = here.ended;
        }
        lock.lock();
        if (ended) { // nobody joins it any more, but for one who waits already
            if (!stopping_)
                thread_.detach();
            return;
        }
        const auto is_due = [this] { return stopping_ || wanted_; };
        if (next)
            changed_.wait_for(lock, *next, is_due);
        else
            changed_.wait(lock, is_due);
    }
}

} // namespace fastsdt::api
