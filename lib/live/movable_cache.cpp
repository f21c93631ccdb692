// SPDX-License-Identifier: BSD-2-Clause
#include "live/movable_cache.h"

#include <map>
#include <mutex>
#include <sys/stat.h>
#include <tuple>

namespace fastsdt {

struct MovableCache::Known {
    std::mutex mutex;
    std::map<uint64_t, Window> entries, sites, instructions;
    std::map<uint64_t, std::vector<Window>> exits;
};

MovableCache::MovableCache(const Image& image, const Notes& notes) : image_(image)
{
    for (const ProbeNote& probe : notes.probes)
        sites_.insert(probe.address);
    for (const auto* records : {&notes.entries, &notes.exits})
        for (const Record& record : *records)
            sites_.insert(record.address);

    // A file that is written anew has another time or another number.
    // More symbols may tell more of its code.
    using Key = std::tuple<dev_t, ino_t, off_t, time_t, long, size_t>;
    static std::mutex mutex;
    static std::map<Key, std::shared_ptr<Known>> all;
    struct stat status{};
    if (stat(image.path().c_str(), &status) != 0) {
        known_ = std::make_shared<Known>();
        return;
    }
    const std::lock_guard lock(mutex);
    std::shared_ptr<Known>& known =
        all[{status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
             image.files_with_symbols().size() + !image.functions_of_go().empty()}];
    if (!known)
        known = std::make_shared<Known>();
    known_ = known;
}

MovableCache::~MovableCache() = default;

const Movable& MovableCache::movable()
{
    if (!movable_)
        movable_ = std::make_unique<Movable>(image_);
    return *movable_;
}

void MovableCache::check(Window& window, uint64_t own) const
{
    if (window.obstacle != Obstacle::none)
        return;
    for (auto site = sites_.lower_bound(window.address); site != sites_.end() && *site - window.address < window.length;
         ++site)
        if (*site != own)
            window.obstacle = Obstacle::holds_site;
}

namespace {

// What is known of an address, or else what `ask` says of it.
template <class Answer, class Ask>
Answer once(std::mutex& mutex, std::map<uint64_t, Answer>& known, uint64_t address, const Ask& ask)
{
    const std::lock_guard lock(mutex);
    const auto found = known.find(address);
    return found != known.end() ? found->second : known.emplace(address, ask()).first->second;
}

} // namespace

Window MovableCache::entry(uint64_t function)
{
    return once(known_->mutex, known_->entries, function, [&] {
        Window window = movable().entry(function);
        check(window, function);
        return window;
    });
}

std::vector<Window> MovableCache::exits(uint64_t function)
{
    return once(known_->mutex, known_->exits, function, [&] {
        std::vector<Window> exits = movable().exits(function);
        for (Window& window : exits)
            check(window, window.address + window.at);
        return exits;
    });
}

Window MovableCache::site(uint64_t address)
{
    return once(known_->mutex, known_->sites, address, [&] {
        Window window = movable().site(address);
        check(window, address);
        return window;
    });
}

Window MovableCache::instruction(uint64_t address)
{
    return once(known_->mutex, known_->instructions, address, [&] {
        Window window = movable().instruction(address);
        check(window, address);
        return window;
    });
}

} // namespace fastsdt
