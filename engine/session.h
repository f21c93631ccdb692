// SPDX-License-Identifier: BSD-2-Clause
// A script in one process: matched, armed, read. What prints it knows nothing of the process.
#pragma once
#include "arm.h"
#include "maps.h"
#include "match.h"
#include "stubs.h"
#include "tables.h"
#include "target.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <sys/types.h>
#include <vector>

namespace fastsdt::engine {

class Session {
public:
    /// Reads the process and matches. `script` and `target` have to outlive it. Throws Unusable.
    Session(const Script& script, pid_t pid, Target& target);

    /// What arming would come to, by site, and changes nothing.
    struct Preview {
        std::vector<Site> sites;
        std::vector<SiteState> states; ///< ready, or why not
        struct Stub {
            uint64_t address = 0; ///< a runtime address within reach: arming may choose another
            std::vector<std::byte> bytes;
        };
        std::vector<Stub> stubs; ///< of those that are ready
    };
    Preview preview();

    void arm();         ///< all sites that are matched, and those again that are known and have lost their jump
    void match_again(); ///< since modules came or went
    void look_again();  ///< matches again, and arms
    void disarm();

    /// The maps as they are now, less what was cleared.
    Maps read();
    void clear(size_t map);

    /// What has become of the sites; the text of `states()` is text(state), or the site's refusal.
    const std::vector<Site>& sites() const { return arming_.sites(); }
    const std::vector<SiteState>& verify() { return arming_.verify(); }
    const std::vector<SiteState>& states() const { return arming_.states(); }
    const Matcher& matcher() const { return matcher_; }

private:
    Maps read_all();
    Code compiled(std::span<const Site> sites, const Arena& arena) const;
    Code compiled_to_arm(std::span<const Site> sites, const Arena& arena);

    const Script& script_;
    Target& target_;
    Matcher matcher_;
    std::vector<Site> fresh_; // matched, not given to arming_ yet
    Environment environment_;
    Tables tables_;
    Arming arming_;
    std::vector<std::optional<Maps>> cleared_; // by map: what it held then
    bool asked_ = false;                       // Target::stores_thread_pointers()
};

/// Why a site is not armed: what follows "1 " in the line that sums up.
std::string reason(const Site& site, const SiteState& state);

} // namespace fastsdt::engine
