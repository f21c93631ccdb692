// SPDX-License-Identifier: BSD-2-Clause
// The kernel's interfaces to uprobes: one perf event a place, or one BPF link for many.
#pragma once
#include "base/descriptor.h"

#include <cstdint>
#include <span>
#include <string>
#include <sys/types.h>
#include <vector>

namespace fastsdt {

/// A place that a uprobe can be put on.
struct Target {
    std::string path; ///< of the file, as open() takes it: /proc/PID/exe too
    uint64_t file_offset = 0;
    uint64_t semaphore_offset = 0; ///< file offset of the semaphore, 0: none. The kernel counts it up while attached
    bool on_return = false;        ///< a uretprobe
};

/// "ENOTSUPP", "EPERM", ...: also the kernel's own errno that libc has no name for. "0" for 0.
std::string errno_name(int error);

/// Why this process may not attach uprobes, as one sentence that says what to do; empty if it may.
std::string cannot_attach();

/// Lets this process open as many descriptors as it may: each event is one.
void allow_many_descriptors();

/// Opens a perf event for `target`; it counts the hits of task `pid` on any CPU (`cpu` -1), or of all on one (`pid` -1).
/// Empty, with errno set: the kernel refused. EOVERFLOW: semaphores beyond 4 GiB do not fit into perf_event_attr.config.
/// Closing such an event takes the kernel about 0.1 s (6.18): it waits for RCU.
/// No inherit: with it the kernel reads the file's path again from the memory of the *forking* program, and that
/// program's fork() fails (perf_uprobe_event_init(), seen on 6.18).
Descriptor open_uprobe_event(const Target& target, pid_t pid, int cpu, bool disabled);

/// Attaches the BPF program `program` to all targets with one system call. All have the same path, and all or none are
/// return probes. Target i runs the program with cookies[i]. All are attached, or none: then empty, with errno set.
/// @param pid  a thread group's leader: its process alone is probed, nobody else sees a trap. 0: every process
Descriptor link_uprobes(int program, std::span<const Target> targets, pid_t pid, std::span<const uint64_t> cookies);

/// The same where some may be refused: halves find out which. @return  by target: 0, or the errno. Where an error does not depend on the
/// place (EPERM, ESRCH, EMFILE, ...), all of them have it.
std::vector<int> link_each_uprobe(int program, std::span<const Target> targets, pid_t pid,
                                  std::span<const uint64_t> cookies, std::vector<Descriptor>& links);

/// The same for kernels that know no such links, by a perf event for each target: slow to close, see open_uprobe_event().
std::vector<int> link_each_event(int program, std::span<const Target> targets, pid_t pid,
                                 std::span<const uint64_t> cookies, std::vector<Descriptor>& events,
                                 std::vector<Descriptor>& links);

/// Whether the error does not depend on the place.
bool concerns_all(int error);

/// Whether link_uprobes() works: Linux 6.6. With a pid it counted one thread only until 6.10. The kernel is asked for
/// both,
/// since distributions backport.
enum class MultiSupport { none, everyone_only, full };
MultiSupport multi_support();

} // namespace fastsdt
