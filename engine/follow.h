// SPDX-License-Identifier: BSD-2-Clause
// What becomes of a process while its sites are armed: modules come and go, it executes another program, it ends.
#pragma once
#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace fastsdt::engine {

/// A look from outside, without a stop: cheap enough for each report.
class Follow {
public:
    explicit Follow(pid_t pid);

    struct News {
        bool modules = false;  ///< mapped executable files came or went since the last look: match sites again
        bool executed = false; ///< another program: everything of ours is gone
        bool ended = false;
    };
    News look();

private:
    pid_t pid_;
    std::vector<std::string> modules_; // executable mappings of files, as lines
    uint64_t vdso_ = 0;                // its address, of auxv: changes with each exec
};

} // namespace fastsdt::engine
