// SPDX-License-Identifier: BSD-2-Clause
// A script in one process: matched, armed, read. The code that prints the maps knows nothing of the process.
#pragma once
#include "arming/arm.h"
#include "arming/match.h"
#include "arming/target.h"
#include "code/stubs.h"
#include "maps/maps.h"
#include "maps/read.h"
#include "maps/tables.h"
#include "process/filters.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <sys/types.h>
#include <vector>

namespace fastsdt::engine {

class Session {
public:
    /// Reads the process and matches. `script` and `target` have to outlive it. Throws Unusable.
    /// @param calls  stubs may make system calls also where the process may set a seccomp filter
    Session(const Script& script, pid_t pid, Target& target, bool calls = false);

    /// What arming would make of each site.
    struct Preview {
        std::vector<Site> sites;
        std::vector<SiteState> states; ///< ready, or why not
        struct Stub {
            uint64_t address = 0; ///< a runtime address within reach; arming may choose another
            std::vector<std::byte> bytes;
        };
        std::vector<Stub> stubs; ///< of those that are ready
    };
    Preview preview();

    void arm();           ///< all sites that are matched, and again those that have lost their jump
    void match_again();   ///< after modules came or went
    void match_and_arm(); ///< matches again, and arms
    void disarm();

    /// Looks for seccomp filters, and for modules that could set one: then stubs make no system calls any more. Cheap enough to be
    /// done often.
    /// @return  whether it found the first reason for that
    bool look_for_filters();
    /// Why Maps::unread is not 0: a sentence about the process.
    const std::string& no_system_calls() const { return environment_.no_system_calls; }

    /// Has the process wait, for a bounded time, when its dynamic linker has mapped modules and runs none of their
    /// constructors yet: from the next arm() on.
    void watch_loader();
    /// Readable when the process waits. -1: it never does
    int loader_descriptor() const { return target_.loader_descriptor(); }
    /// Runs `match`, which is to match and arm, and lets the process go on. @return  false: it went on before
    bool answer_loader(const std::function<void()>& match);

    /// The maps as they are now, less what was cleared.
    Maps read();
    /// While threads go on, and so that stubs see it too. `as_read`: what the last read() gave is cleared and no more, so that
    /// a hit between the two is in the next; as far as the map's kind allows (is_subtracted() in maps/read.h).
    void clear(size_t map, bool as_read);

    /// Of the tables: what begins anew with another run (Self::forget_data()).
    std::vector<Piece> contents();

    /// What has become of the sites.
    const std::vector<Site>& sites() const { return arming_.sites(); }
    const std::vector<SiteState>& verify() { return arming_.verify(); }
    const std::vector<SiteState>& states() const { return arming_.states(); }
    const Matcher& matcher() const { return matcher_; }

private:
    Maps read_all();
    bool wants_calls() const;
    std::string obstacle_to_calls();
    void decide_calls(bool wanted);
    void forbid_calls();
    Code compiled(std::span<const Site> sites, const Arena& arena) const;
    Code compiled_to_arm(std::span<const Site> sites, const Arena& arena);

    const Script& script_;
    Target& target_;
    const pid_t pid_;
    const bool calls_; // as the constructor was told
    Filters filters_;
    Matcher matcher_;
    std::vector<Site> fresh_; // matched, not given to arming_ yet
    Environment environment_;
    Tables tables_;
    Arming arming_;
    Maps last_;                                // as read() found the tables, if the script clears
    std::vector<std::optional<Maps>> cleared_; // by map: what it held when it was cleared
    bool asked_ = false;                       // Target::stores_thread_pointers() and its like
    bool decided_ = false;                     // whether stubs make system calls
};

} // namespace fastsdt::engine
