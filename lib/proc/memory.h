// SPDX-License-Identifier: BSD-2-Clause
// The memory of a process and what it has mapped, whichever of its threads still lives.
#pragma once
#include "base/descriptor.h"
#include "proc/maps.h"

#include <cstdint>
#include <optional>
#include <sys/types.h>
#include <unistd.h>
#include <vector>

namespace fastsdt {

/// Threads of a process, its first one first. Some of them may have ended.
std::vector<pid_t> threads_of(pid_t pid);

/// What a process has mapped; and its memory, opened by the name of one of its threads, with `flags` of open(2). A thread that ends
/// meanwhile has neither, so the next is asked. Empty: it has ended, or errno says why none can be opened.
std::vector<Mapping> mappings_of(pid_t pid);
struct Memory {
    Descriptor file;  ///< /proc/PID/task/TID/mem
    pid_t thread = 0; ///< TID
};
Memory open_memory(pid_t pid, int flags);

/// What stands there; empty: not all of it can be read. @param memory  of open_memory()
template <class T> std::optional<T> value_at(int memory, uint64_t address)
{
    T value{};
    return pread(memory, &value, sizeof value, static_cast<off_t>(address)) == sizeof value ? std::optional(value)
                                                                                            : std::nullopt;
}

/// Whether the process of an open /proc/PID/mem has ended or executes another program.
bool memory_has_gone(int memory);

/// Whether a process has ended or is about to: it may have let go of its memory, and does not count as ended yet.
bool is_ending(pid_t pid);

} // namespace fastsdt
