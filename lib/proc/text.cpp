// SPDX-License-Identifier: BSD-2-Clause
#include "proc/text.h"

#include "base/descriptor.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace fastsdt {

std::string process_name(pid_t pid)
{
    return "process " + std::to_string(pid);
}

Error unreadable(pid_t pid, int code)
{
    if (code == ENOENT || code == ESRCH)
        return {"there is no such process", process_name(pid), {}, code};
    if (code != EACCES && code != EPERM)
        return Error::of_system(code, process_name(pid));
    if (geteuid() == 0)
        return {"not allowed to read its memory, not even as root: CAP_SYS_PTRACE is missing here, or a security "
                "module refuses",
                process_name(pid),
                {},
                code};
    return {"not allowed to read its memory", process_name(pid),
            "run as root, or as its user where kernel.yama.ptrace_scope is 0", code};
}

Result<std::string> try_read_text(const std::string& path)
{
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::string text;
    std::array<char, 65536> buffer;
    for (;;) {
        const ssize_t got = file ? read(file.get(), buffer.data(), buffer.size()) : -1;
        if (got < 0)
            return Error::of_system(errno, path);
        if (got == 0)
            return text;
        text.append(buffer.data(), static_cast<size_t>(got));
    }
}

std::string read_text(const std::string& path)
{
    const auto text = try_read_text(path);
    return text ? *text : std::string();
}

uint64_t take_number(std::string_view& text, int base)
{
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    uint64_t number = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), number, base);
    text.remove_prefix(static_cast<size_t>(end.ptr - text.data()));
    return number;
}

std::string_view take_until(std::string_view& text, char end)
{
    const std::string_view found = text.substr(0, text.find(end));
    text.remove_prefix(std::min(found.size() + 1, text.size()));
    return found;
}

} // namespace fastsdt
