// SPDX-License-Identifier: BSD-2-Clause
// Real uprobes through perf_event_open: attaching them, counting hits, and seeing what the kernel does with one.
#pragma once
#include "arch.h"
#include "kernel.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace fastsdt {

/// A place that a uprobe can be put on.
struct Target {
    std::string path;
    uint64_t file_offset = 0;
    uint64_t semaphore_offset = 0; ///< file offset of the semaphore, 0: none. The kernel counts it up while attached
    bool on_return = false;        ///< a uretprobe
};

/// "ENOTSUPP", "EPERM", ...: also the kernel's own errno that libc has no name for. "0" for 0.
std::string errno_name(int error);

/// Why this process may not attach uprobes, as one sentence that says what to do; empty if it may.
std::string cannot_attach();

/// A uprobe that counts the hits of one thread. Closing takes it away; so does the death of this process, however it
/// comes: nothing is left in the kernel or in the probed program.
/// It does not pass on to what the thread forks: with perf_event_attr.inherit the kernel reads the file's path again from
/// the memory of the *forking* program, and that program's fork() fails (perf_uprobe_event_init(), seen on 6.18).
class Attachment {
public:
    Attachment(const Target& target, pid_t task);
    Attachment(Attachment&& other) noexcept;
    Attachment& operator=(Attachment&& other) noexcept;
    ~Attachment();

    int error() const { return error_; } ///< errno of the attach; 0: attached
    uint64_t hits() const;

private:
    int event_ = -1;
    int error_ = 0;
};

struct Observation {
    int error = 0; ///< errno of the attach
    /// reject, xol, emulate or optimize. Empty where this program cannot see it: the file is for another architecture.
    std::optional<Verdict> verdict;
};

/// What the running kernel does with a uprobe there, seen rather than computed: in a process of its own that has the file
/// mapped (while nobody has, the kernel accepts a uprobe anywhere, and drops it without a word later), one single instruction is executed with a uprobe on it, then the process is killed. Registers point into
/// memory of its own, so that the instruction can do no harm.
/// Not for files of another architecture: the kernel decodes an instruction once, in the mode of the first process, and keeps
/// to that as long as anybody has a probe there. Throws Unusable if the file cannot be mapped.
Observation observe(const Target& target, Arch arch);

/// Runtime address in `pid` of the byte at `file_offset` of the file `path`, where it is mapped executable. Empty: nowhere.
std::optional<uint64_t> runtime_address(pid_t pid, const std::string& path, uint64_t file_offset);
/// Up to `size` bytes of the process's memory; fewer, or none, if they cannot be read.
std::vector<std::byte> read_memory(pid_t pid, uint64_t address, size_t size);
/// The threads of a process.
std::vector<pid_t> threads_of(pid_t pid);

} // namespace fastsdt
