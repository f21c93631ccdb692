// SPDX-License-Identifier: BSD-2-Clause
//
// Who was forked is told by its memory: it has the head of our first arena. So a child whose parent has ended is found too, and a
// tracer need not hear of any fork. Only processes that began since the attach are asked.
#include "process/forks.h"

#include "proc/threads.h"
#include "proc/processes.h"
#include "maps/tables.h"
#include "process/allowed.h"
#include "proc/memory.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <ctime>
#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace fastsdt::engine {
namespace {

bool is_of_our_user(pid_t pid)
{
    const std::vector<uint64_t> users = status_numbers(pid, pid, "Uid:");
    return !users.empty() && users.front() == getuid();
}

bool has_other_filters(pid_t pid, uint64_t allowing)
{
    const std::vector<pid_t> threads = threads_of(pid);
    return std::any_of(threads.begin(), threads.end(),
                       [&](pid_t thread) { return engine::has_other_filters(pid, thread, allowing); });
}

} // namespace

Forks::Forks(pid_t pid) : pid_(pid), since_(std::max<uint64_t>(ticks_since_boot(), 1) - 1) {}

Processes list_processes()
{
    Processes processes;
    for (const pid_t pid : listed_processes())
        if (const uint64_t start = start_time_of(std::to_string(pid)))
            processes.living.push_back({pid, start});
        else
            processes.ended.insert(pid);
    return processes;
}

// What a process forked while a list was read is not in it.
void look_at_all(const std::function<bool(const Processes&)>& look)
{
    constexpr unsigned most = 8;
    Processes before = list_processes();
    for (unsigned i = 1; i < most; ++i) {
        Processes now = list_processes();
        const bool none_ended = look(now);
        if (none_ended && std::includes(before.ended.begin(), before.ended.end(), now.ended.begin(), now.ended.end()))
            break;
        before = std::move(now);
    }
}

std::vector<Target::Begun> Forks::begun_since(const Processes& processes) const
{
    std::vector<Target::Begun> begun;
    for (const auto& [pid, start] : processes.living)
        if (start >= since_)
            begun.push_back({pid, start});
    return begun;
}

Forks::Found Forks::find(std::span<const Front> fronts, const Processes& processes, uint64_t filters) const
{
    Found found;
    if (fronts.empty())
        return found;
    const Front& first = fronts.front();
    const std::vector<std::byte> head = head_of(first);
    std::vector<std::byte> bytes(head.size());
    for (const auto& [pid, start] : processes.living) {
        if (pid == pid_ || start < since_)
            continue;
        Memory memory = open_memory(pid, O_RDWR);
        if (!memory.file) {
            found.all = found.all && !((errno == EACCES || errno == EPERM) && is_of_our_user(pid));
            found.ended = found.ended || start_time_of(std::to_string(pid)) != start;
            continue;
        }
        const int file = memory.file.get();
        Mark mark;
        if (pread(file, bytes.data(), bytes.size(), static_cast<off_t>(first.start))
                != static_cast<ssize_t>(bytes.size())
            || bytes != head || pread(file, &mark, sizeof mark, static_cast<off_t>(first.mark)) != sizeof mark)
            continue;
        if (mark.slice == first.data + Tables::slice)
            continue;
        if (mark.slice != 0 && mark.pid == 0) {
            const uint64_t number = inner_number(pid);
            (void)!pwrite(file, &number, sizeof number,
                          static_cast<off_t>(first.mark + offsetof(Mark, pid))); // it may have ended
        }
        if (mark.no_calls == 0 && has_other_filters(pid, filters)) {
            const uint64_t yes = 1;
            (void)!pwrite(file, &yes, sizeof yes, static_cast<off_t>(first.mark + offsetof(Mark, no_calls)));
        }
        found.forks.push_back({pid, mark.slice});
    }
    return found;
}

} // namespace fastsdt::engine
