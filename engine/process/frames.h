// SPDX-License-Identifier: BSD-2-Clause
// Where a stopped thread executes, and where it will: it may be in a signal handler that interrupted other code.
#pragma once
#include "arming/target.h"
#include "base/descriptor.h"
#include "proc/maps.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <sys/user.h>
#include <vector>

namespace fastsdt::engine {

class FrameSearch {
public:
    /// @param memory    /proc/PID/mem, of a process whose threads are all stopped
    FrameSearch(const Descriptor& memory, std::vector<Mapping> mappings);

    /// Calls `visit` with the program counter of each signal frame on the thread's stacks. Not found: a frame on a stack from which a
    /// handler has switched by itself, and one more than 8 MiB above the stack pointer.
    /// @return  false: there may be more of them
    bool each(const user_regs_struct& registers, const std::function<void(uint64_t counter)>& visit);
    /// The same for what a handler keeps: a frame on a stack from which it has switched, or a copy of one. To be called after each() for all
    /// threads: what they do not use of their stacks is left out, and stacks of threads that have ended.
    /// @param places  of places_of_frames()
    struct Kept {
        uint64_t address = 0; ///< within it
        uint64_t counter = 0;
        bool on_its_stack =
            false; ///< a frame beside what it has interrupted, and no copy: nobody goes back to one that has no is_kept()
    };
    bool each_kept(std::span<const Range> places, const std::function<void(const Kept&)>& visit);
    /// Whether the thread executes code of such ranges, or will. True also where that cannot be known.
    bool comes_back(const user_regs_struct& registers, std::span<const Range> code);

private:
    bool is_frame(const std::byte* at);
    bool is_restorer(uint64_t address); ///< x86-64
    void leave_out_below(const user_regs_struct& registers, const std::map<const Mapping*, uint64_t>& lowest);
    uint64_t begin_of_use(const Mapping& mapping);
    std::optional<uint64_t> control_block_in(const Mapping& mapping);

    const Descriptor& memory_;
    const std::vector<Mapping> mappings_;
    std::map<uint64_t, bool> restorers_; // by address that a stack had
    std::map<const Mapping*, uint64_t> unused_below_;
    std::set<uint64_t> thread_pointers_;
    std::map<const Mapping*, std::optional<uint64_t>> control_blocks_;
};

/// Of a process's own memory, what is used of it: as much is read, which takes 0.3 s a GiB.
inline constexpr uint64_t most_searched = uint64_t{16} << 30;

/// Where a process has something in its own memory that looks like a signal frame or a copy of one, and somewhat around it: a frame that is
/// there later is near one of now. Reads what is used of that memory; the process may run meanwhile. Elsewhere than on x86-64 there
/// are none. @return  empty: it has more than `most` bytes, or which pages it uses cannot be told (Linux before 6.7, and a mapping of more
/// than 16 GiB), so there may be others
std::optional<std::vector<Range>> places_of_frames(pid_t pid, pid_t thread, const Descriptor& memory,
                                                   const std::vector<Mapping>& mappings, uint64_t most = most_searched);

/// Whether the process has, elsewhere than below them, what may be the stack pointer of a handler that has switched away from one of the frames, as
/// it is or as glibc's setjmp() keeps it. True also where not all of its memory
/// was looked at. @param frames  Kept::address  @param pointer  a thread's, for glibc's key
bool is_kept(pid_t pid, pid_t thread, const Descriptor& memory, const std::vector<Mapping>& mappings,
             std::span<const uint64_t> frames, uint64_t pointer);

/// Whether a thread that is stopped waits for a child that runs in the same memory: of vfork() and posix_spawn().
bool waits_for_child(const user_regs_struct& registers, const Descriptor& memory);

} // namespace fastsdt::engine
