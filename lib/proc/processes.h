// SPDX-License-Identifier: BSD-2-Clause
// Processes, as /proc says.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace fastsdt {

/// /proc/PID/stat, fields 2, 3, 4 and 22. @param process  a number, or "self". Empty: there is no such process
struct Stat {
    std::string name;
    char state = 0; ///< of the first thread: state_of()
    pid_t parent = 0;
    uint64_t flags = 0; ///< PF_EXITING and others of <linux/sched.h>
    uint64_t start = 0; ///< in clock ticks after boot
    /// Where its memory has the program's code, its end, and the stack. The stack is 0 where we may not know.
    std::array<uint64_t, 3> memory{};
};
std::optional<Stat> read_stat(const std::string& process);

/// Numbers of all processes in /proc, those that have ended and that nobody has waited for too.
std::vector<pid_t> listed_processes();

/// What a process calls itself: its number in its own pid namespace. `pid` where that is not known.
uint64_t inner_number(pid_t pid);

/// A pid namespace, as bpf_get_ns_current_pid_tgid() of BPF programs knows it.
struct PidNamespace {
    uint64_t device = 0, inode = 0;
};
/// The one that a process is in, unless that is the machine's first one. Empty too where that is not known. @param process  a number, or "self"
std::optional<PidNamespace> inner_pid_namespace(const std::string& process);

/// Throws Unusable if the whole process has ended and its parent has not waited for it yet.
void refuse_zombie(pid_t pid);
/// Why a text is not the number of a process, the beginning of a sentence. Empty: it may be one
std::string no_process_number(std::string_view text);
/// Throws Unusable if the number is that of a thread other than its process' first: pidfds and perf events take processes.
void refuse_thread(pid_t pid);

} // namespace fastsdt
