// SPDX-License-Identifier: BSD-2-Clause
// Windows of a file's code, kept for other processes that map the same file: to read all of its code takes up to seconds.
#pragma once
#include "movable/movable.h"
#include "elf/image.h"
#include "elf/notes.h"

#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace fastsdt {

/// As Movable, but refuses a window that overlaps another probe's site: that site's bytes would no longer be executed. Several
/// threads may each have one of the same file.
class MovableCache {
public:
    /// Both have to outlive it.
    MovableCache(const Image& image, const Notes& notes);
    ~MovableCache();
    MovableCache(const MovableCache&) = delete;
    MovableCache& operator=(const MovableCache&) = delete;

    Window entry(uint64_t function);
    std::vector<Window> exits(uint64_t function);
    Window site(uint64_t address);
    Window instruction(uint64_t address);
    std::optional<uint64_t> begin_of(uint64_t address) { return movable().begin_of(address); }

private:
    const Movable& movable();
    void check(Window& window, uint64_t own) const;

    struct Known;
    const Image& image_;
    std::set<uint64_t> sites_; // of probes, and of recorded entries and exits
    std::shared_ptr<Known> known_;
    std::unique_ptr<Movable> movable_;
};

} // namespace fastsdt
