// SPDX-License-Identifier: BSD-2-Clause
//
// /proc/PID/maps shows modules whatever loader the program has, or without one. An open /proc/PID/mem stays with the
// memory that the process had at the time. When that memory is gone it reads nothing: the process executes another
// program, or has ended.
#include "process/follow.h"

#include "proc/threads.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <utility>

namespace fastsdt::engine {

std::vector<std::string> modules_of(const std::vector<Mapping>& mappings)
{
    std::vector<std::string> modules;
    const Mapping* last = nullptr;
    for (const Mapping& m : mappings) {
        if (!m.executable || !m.inode)
            continue;
        const bool goes_on = last && last->end == m.start && last->device == m.device && last->inode == m.inode
            && last->offset + (last->end - last->start)
                == m.offset; // pages of it may have other rights: guard() in arming/target.h
        if (!goes_on)
            modules.push_back(fmt::format("{:x} {:x} {} {} {}", m.start, m.offset, m.device, m.inode, m.name));
        last = &m;
    }
    return modules;
}

Follow::Follow(ProcessView& view) : view_(view), modules_(modules_of(view.mappings())) {}

Follow::News Follow::news(bool told)
{
    News news;
    if (is_gone()) {
        news.executed = bool(open_memory(view_.pid(), O_RDONLY).file);
        news.ended = !news.executed;
        return news;
    }
    if (told)
        return news;
    news.ended = living_thread(view_.pid()) == 0;
    if (news.ended)
        return news;
    auto now = modules_of(view_.look());
    news.modules = now != modules_;
    modules_ = std::move(now);
    return news;
}

} // namespace fastsdt::engine
