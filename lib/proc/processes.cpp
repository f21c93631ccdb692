// SPDX-License-Identifier: BSD-2-Clause
#include "proc/processes.h"

#include "base/unusable.h"
#include "proc/text.h"
#include "proc/threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <sys/stat.h>

namespace fastsdt {

std::string no_process_number(std::string_view text)
{
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
    if (error == std::errc() && end == text.data() + text.size() && pid >= 1)
        return {};
    return fmt::format("\"{}\" is not the number of a process", text);
}

std::optional<Stat> read_stat(const std::string& process)
{
    const std::string text = read_text("/proc/" + process + "/stat");
    const size_t name = text.find('('), name_end = text.rfind(')'); // the name may contain anything
    if (name_end == text.npos || name > name_end)
        return std::nullopt;
    std::string_view fields = text;
    fields.remove_prefix(std::min(name_end + 2, fields.size()));
    const auto skip = [&](int count) {
        for (int i = 0; i < count; ++i)
            take_until(fields, ' ');
    };
    Stat stat;
    stat.name = text.substr(name + 1, name_end - name - 1);
    stat.state = fields.empty() ? '\0' : fields[0];
    skip(1);
    stat.parent = static_cast<pid_t>(take_number(fields));
    skip(5);
    stat.flags = take_number(fields);
    skip(13);
    stat.start = take_number(fields);
    skip(4);
    for (uint64_t& address : stat.memory)
        address = take_number(fields);
    return stat;
}

std::vector<pid_t> listed_processes()
{
    std::vector<pid_t> processes;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", error))
        if (const auto pid = static_cast<pid_t>(std::atoi(entry.path().filename().c_str())); pid > 0)
            processes.push_back(pid);
    return processes;
}

uint64_t inner_number(pid_t pid)
{
    const std::vector<uint64_t> numbers = status_numbers(pid, pid, "NSpid:");
    return numbers.empty() ? static_cast<uint64_t>(pid) : numbers.back();
}

std::optional<PidNamespace> inner_pid_namespace(const std::string& process)
{
    constexpr ino_t first = 0xEFFFFFFC; // PROC_PID_INIT_INO, include/linux/proc_ns.h
    struct stat status{};
    if (stat(("/proc/" + process + "/ns/pid").c_str(), &status) != 0 || status.st_ino == first)
        return std::nullopt;
    return PidNamespace{status.st_dev, status.st_ino};
}

void refuse_zombie(pid_t pid)
{
    if (state_of(pid, pid) == 'Z' && living_threads(pid).empty())
        throw Unusable({"it has ended, and its parent has not waited for it yet (a zombie)", process_name(pid)});
}

void refuse_thread(pid_t pid)
{
    const std::vector<uint64_t> group = status_numbers(pid, pid, "Tgid:");
    if (!group.empty() && group[0] != 0 && group[0] != uint64_t(pid)) // 0: it is outside of this pid namespace
        throw Unusable(
            {fmt::format("that is a thread of process {}", group[0]), process_name(pid), "name the process"});
}

} // namespace fastsdt
