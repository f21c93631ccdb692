// SPDX-License-Identifier: BSD-2-Clause
// Which processes a run traces beside those that were named: those that are like what the options say, and programs that descendants of
// traced processes execute.
#pragma once
#include "arrivals.h"
#include "proc/maps.h"
#include "options.h"
#include "script/script.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace fastsdt::trace_tool {

class Finder {
public:
    /// @param selection, script  have to outlive it
    /// @param asks_kernel  also what lives too short to be found shall be known of, where the kernel tells it
    Finder(const Selection& selection, const engine::Script& script, bool asks_kernel)
        : selection_(selection), script_(script), arrivals_(asks_kernel ? Arrivals::open() : nullptr)
    {}

    /// Readable when hear() has something to do; -1: never.
    int descriptor() const { return arrivals_ ? arrivals_->descriptor() : -1; }
    /// Takes what the kernel has told. @return  whether a process has come that find() may give
    bool hear();
    /// Whether the kernel tells of whatever find() may give, by hear() or take_forked().
    bool is_told_of_all() const { return arrivals_ && selection_.is_by_file(); }
    /// Whether a process was forked by one that is wanted: it may have what that has, and maps nothing.
    bool take_forked() { return std::exchange(forked_, false); }
    /// What the kernel tells of it is no news any more: it is traced, was refused, or is counted.
    void settle(pid_t pid) { settled_.insert(pid); }
    /// It is not traced after all.
    void unsettle(pid_t pid) { settled_.erase(pid); }
    /// How many processes the kernel has told of as wanted that have ended before they were given; each of them once.
    /// @param at_end  those that live are not given any more
    size_t take_missed(bool at_end);
    /// When the kernel has told of it as wanted. It is no longer one that may be missed.
    std::optional<std::chrono::steady_clock::time_point> take_told(pid_t pid);
    /// The kernel could not tell of all: how many were missed is not known.
    bool take_lost() { return std::exchange(lost_, false); }
    bool has_lost() const { return lost_; }

    /// Of traced processes, those that have mapped a file, forked or started a thread since the last call. Empty: that is not told, or not of all.
    std::optional<std::set<pid_t>> take_changed()
    {
        std::set<pid_t> changed = std::exchange(changed_, {});
        return !arrivals_ || std::exchange(lost_changes_, false) ? std::nullopt : std::optional(std::move(changed));
    }

    /// From now on descendants of this process are found.
    void add_root(pid_t pid);
    /// The next look gives it again, whatever it has mapped: it executes another program, or could not be attached to.
    void forget(pid_t pid) { looked_at_.erase(pid); }

    /// Processes that may be traced: they have mapped a file that the script means, and not when they were given the last time.
    /// Reads files of all processes.
    /// @param traced  these are not looked at
    std::vector<pid_t> find(const std::set<pid_t>& traced);

    /// How many processes the last find() saw that are as the options say, but for their files.
    size_t selected() const { return selected_; }

    struct Refused {
        pid_t pid = 0;
        std::string why; ///< a sentence
    };
    /// Processes that are wanted and cannot be looked at, each of them once.
    std::vector<Refused> take_refused() { return std::exchange(refused_, {}); }

private:
    bool has_mapped(pid_t pid, const std::vector<Mapping>& mappings) const;
    bool is_wanted_file(const Arrivals::Event& event, const std::vector<uint64_t>& inodes) const;

    const Selection& selection_;
    const engine::Script& script_;
    std::map<pid_t, uint64_t> tree_; // by process: its start
    struct Look {
        uint64_t start = 0;
        std::vector<std::string> modules; // empty: it could not be looked at
        uint64_t vdso = 0;                // where it is: another program has it elsewhere
        bool operator==(const Look&) const = default;
    };
    std::map<pid_t, Look> looked_at_;
    std::vector<Refused> refused_;
    const std::unique_ptr<Arrivals> arrivals_;                    // nullptr: the kernel does not tell
    std::set<pid_t> of_wanted_file_;                              // they have mapped what --exe names
    std::set<pid_t> settled_;                                     // settle()
    std::map<pid_t, std::chrono::steady_clock::time_point> told_; // and what the script means, then
    std::set<pid_t> ended_; // before the last find(): all of them was told before the next one
    std::set<pid_t> changed_;
    bool forked_ = false, lost_ = false, lost_changes_ = false;
    size_t selected_ = 0;
};

} // namespace fastsdt::trace_tool
