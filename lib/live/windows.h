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

/// What Movable answers, and: no window holds the site of somebody else's probe, whose bytes would be executed no more. Several
/// threads may each have one of the same file.
class FileWindows {
public:
    /// Both have to outlive it.
    FileWindows(const Image& image, const Notes& notes);
    ~FileWindows();
    FileWindows(const FileWindows&) = delete;
    FileWindows& operator=(const FileWindows&) = delete;

    Window entry(uint64_t function);
    std::vector<Window> exits(uint64_t function);
    Window site(uint64_t address);

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
