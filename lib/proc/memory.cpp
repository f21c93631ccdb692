// SPDX-License-Identifier: BSD-2-Clause
#include "proc/memory.h"

#include "base/unusable.h"
#include "proc/processes.h"
#include "proc/threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <system_error>
#include <utility>

namespace fastsdt {

std::vector<pid_t> threads_of(pid_t pid)
{
    std::vector<pid_t> threads;
    std::error_code error;
    for (const auto& thread : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), error))
        threads.push_back(static_cast<pid_t>(std::atoi(thread.path().filename().c_str())));
    std::sort(threads.begin(), threads.end(),
              [&](pid_t a, pid_t b) { return std::pair(a != pid, a) < std::pair(b != pid, b); });
    return threads;
}

// Both ask the first thread first, by its number, since it has ended in few processes. Only then are all of them listed.
std::vector<Mapping> mappings_of(pid_t pid)
{
    try {
        if (auto mappings = read_maps(pid); !mappings.empty())
            return mappings;
    } catch (const Unusable&) {
        // There is no such process, or a thread of it says why not.
    }
    for (const pid_t thread : threads_of(pid))
        if (auto mappings = read_maps(thread); !mappings.empty())
            return mappings;
    return {};
}

Memory open_memory(pid_t pid, int flags)
{
    const auto of = [&](pid_t thread) {
        return has_ended(state_of(pid, thread))
            ? Descriptor()
            : Descriptor(open(fmt::format("/proc/{}/task/{}/mem", pid, thread).c_str(), flags | O_CLOEXEC));
    };
    if (Descriptor file = of(pid); file)
        return {std::move(file), pid};
    for (const pid_t thread : threads_of(pid))
        if (Descriptor file = of(thread); file)
            return {std::move(file), thread};
    return {};
}

bool memory_has_gone(int memory)
{
    char byte;
    // Memory that is still there gives EIO, since nothing is mapped at 0. Memory that has gone gives 0 bytes (mem_rw(),
    // fs/proc/base.c).
    return pread(memory, &byte, 1, 0) == 0;
}

bool is_ending(pid_t pid)
{
    constexpr uint64_t exiting = 4; // PF_EXITING. What belongs to it is root's by then, so its memory cannot be asked
    const std::vector<pid_t> threads = living_threads(pid);
    return std::all_of(threads.begin(), threads.end(), [pid](pid_t thread) {
        const auto stat = read_stat(fmt::format("{}/task/{}", pid, thread));
        return !stat || (stat->flags & exiting) != 0;
    });
}

} // namespace fastsdt
