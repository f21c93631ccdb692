// SPDX-License-Identifier: BSD-2-Clause
#include "proc/threads.h"

#include "proc/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <utility>

namespace fastsdt {

char state_of(pid_t pid, pid_t thread)
{
    const std::string text = read_text(fmt::format("/proc/{}/task/{}/stat", pid, thread));
    const size_t end = text.rfind(") "); // the name in front of it may contain any character
    return end == text.npos || end + 2 >= text.size() ? 0 : text[end + 2];
}

bool has_ended(char state)
{
    return state == 'Z' || state == 'X' || state == 0;
}

std::string status_field(pid_t pid, pid_t thread, std::string_view name)
{
    const std::string text = read_text(fmt::format("/proc/{}/task/{}/status", pid, thread));
    for (std::string_view rest = text; !rest.empty();) {
        std::string_view line = take_until(rest, '\n');
        if (!line.starts_with(name))
            continue;
        line.remove_prefix(std::min(line.find_first_not_of(" \t", name.size()), line.size()));
        return std::string(line);
    }
    return {};
}

std::vector<uint64_t> status_numbers(pid_t pid, pid_t thread, std::string_view name)
{
    std::istringstream fields(status_field(pid, thread, name));
    std::vector<uint64_t> numbers;
    for (uint64_t number; fields >> number;)
        numbers.push_back(number);
    return numbers;
}

bool has_seccomp(pid_t pid, pid_t thread)
{
    const std::string mode = status_field(pid, thread, "Seccomp:");
    return !mode.empty() && mode != "0";
}

std::vector<pid_t> living_threads(pid_t pid)
{
    std::vector<pid_t> threads;
    std::error_code error;
    for (const auto& thread : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), error))
        if (const pid_t number = static_cast<pid_t>(std::atoi(thread.path().filename().c_str()));
            !has_ended(state_of(pid, number)))
            threads.push_back(number);
    std::sort(threads.begin(), threads.end(),
              [&](pid_t a, pid_t b) { return std::pair(a != pid, a) < std::pair(b != pid, b); });
    return threads;
}

// In most processes the first one lives, and the others need not be listed.
pid_t living_thread(pid_t pid)
{
    if (!has_ended(state_of(pid, pid)))
        return pid;
    const std::vector<pid_t> threads = living_threads(pid);
    return threads.empty() ? 0 : threads.front();
}

bool first_thread_ended(pid_t pid)
{
    const std::vector<pid_t> threads = living_threads(pid);
    return !threads.empty() && threads.front() != pid;
}

} // namespace fastsdt
