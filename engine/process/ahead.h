// SPDX-License-Identifier: BSD-2-Clause
// Files that no process has mapped yet: what a script means there.
#pragma once
#include "script/script.h"

#include <cstdint>
#include <set>
#include <string>
#include <sys/types.h>
#include <vector>

namespace fastsdt::engine {

/// A child that has a file mapped as a process would have it, and does nothing else. For a program without other threads.
class Holder {
public:
    /// Throws Unusable.
    explicit Holder(const std::string& path);
    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;
    ~Holder() { end(); }
    pid_t pid() const { return pid_; }
    /// Whether it is in the mapped file. The child has this program's own files too.
    bool has(uint64_t address) const { return address - room_.begin < room_.size; }

private:
    struct Room {
        uint64_t begin = 0, size = 0;
    };
    struct Part;
    static std::vector<Part> parts_of(const std::string& path);
    static Room hold(const std::vector<Part>& parts, int file);
    void end() const;

    pid_t pid_ = -1;
    Room room_;
};

/// The files that a library's name means where the dynamic linker looks without being told. Links lead to one file.
std::set<std::string> libraries_named(const std::string& name);

/// Why nobody who comes can have a probe: its FILE is a path, and no file is there, or one that has no such probe. Empty: somebody may.
std::string absence(const Script& script, const Probe& probe);

/// Reads all code of large files in which the script's probes move instructions. That takes seconds, and a process that loads such a file later
/// waits only one; so it is read now, and what it says is kept (live/movable_cache.h).
void read_ahead(const Script& script);

} // namespace fastsdt::engine
