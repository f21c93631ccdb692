// SPDX-License-Identifier: BSD-2-Clause
// What becomes of a process while its sites are armed: modules come and go, it executes another program, it ends.
#pragma once
#include "base/descriptor.h"
#include "proc/maps.h"

#include <string>
#include <sys/types.h>
#include <vector>

namespace fastsdt::engine {

/// The files that are mapped executable, and where: one text each.
std::vector<std::string> modules_of(const std::vector<Mapping>& mappings);

/// Looks from outside, without stopping the process: cheap enough for each report.
class Follow {
public:
    explicit Follow(pid_t pid);

    struct News {
        bool modules = false;  ///< mapped executable files came or went since the last look: match sites again
        bool executed = false; ///< another program: everything of ours is gone with the old one's memory
        bool ended = false;
    };
    News news();
    /// Of the last look; at first, of the constructor's.
    const std::vector<std::string>& modules() const { return modules_; }
    /// Whether the program that it executed when it was last looked at has lost its memory: it ends, or executes another.
    bool is_gone() const;

private:
    bool begin();

    const pid_t pid_;
    Descriptor memory_; // of the program that it executes
    std::vector<std::string> modules_;
};

} // namespace fastsdt::engine
