// SPDX-License-Identifier: BSD-2-Clause
// What becomes of a process while its sites are armed: modules come and go, it executes another program, it ends.
#pragma once
#include "process/view.h"

#include <string>
#include <vector>

namespace fastsdt::engine {

/// The files that are mapped executable, and where: one text each.
std::vector<std::string> modules_of(const std::vector<Mapping>& mappings);

/// Looks from outside, without stopping the process: cheap enough for each report.
class Follow {
public:
    /// What comes from the view's last look on is news. It has to outlive this.
    explicit Follow(ProcessView& view);

    struct News {
        bool modules = false; ///< mapped executable files came or went since the last look: match sites again
        bool executed =
            false; ///< another program: everything of ours is gone with the old one's memory, and this follows nobody any more
        bool ended = false;
    };
    /// @param told  nothing has been mapped since the last look, and whoever asks hears of the process's end: so only `executed` is looked for
    News news(bool told = false);
    /// As of the last news(); at first, of the constructor.
    const std::vector<std::string>& modules() const { return modules_; }
    /// Whether the program that it executed when it was last looked at has lost its memory: it ends, or executes another.
    bool is_gone() const { return view_.has_gone(); }

private:
    ProcessView& view_;
    std::vector<std::string> modules_;
};

} // namespace fastsdt::engine
