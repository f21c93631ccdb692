// SPDX-License-Identifier: BSD-2-Clause
//
// /proc/PID/maps says the same of every loader, and of programs that have none. /proc/PID/mem, once opened, stays with the
// memory that the process had then, and reads nothing when that is gone: so it tells that another program is executed.
#include "follow.h"

#include "tracing.h"

#include <fmt/format.h>

#include <fcntl.h>

namespace fastsdt::engine {
namespace {

std::vector<std::string> modules_of(pid_t pid)
{
    std::vector<std::string> modules;
    for (const Mapping& m : mappings_of(pid))
        if (m.executable && m.inode)
            modules.push_back(fmt::format("{:x} {:x} {} {} {}", m.start, m.offset, m.device, m.inode, m.name));
    return modules;
}

} // namespace

Follow::Follow(pid_t pid) : pid_(pid)
{
    begin();
}

// False: it has ended.
bool Follow::begin()
{
    memory_ = open_memory(pid_, O_RDONLY).file;
    if (!memory_)
        return false;
    modules_ = modules_of(pid_);
    return true;
}

Follow::News Follow::look()
{
    News news;
    if (!memory_ || memory_has_gone(memory_.get())) {
        news.executed = begin();
        news.ended = !news.executed;
        return news;
    }
    news.ended = living_threads(pid_).empty();
    if (news.ended)
        return news;
    auto now = modules_of(pid_);
    news.modules = now != modules_;
    modules_ = std::move(now);
    return news;
}

} // namespace fastsdt::engine
