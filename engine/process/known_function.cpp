// SPDX-License-Identifier: BSD-2-Clause
#include "process/known_function.h"

#include "base/descriptor.h"
#include "elf/image.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <tuple>
#include <unistd.h>
#include <utility>

namespace fastsdt::engine {
namespace {

// From the file's lowest address on.
std::optional<uint64_t> offset_in(const Descriptor& file, const std::string& name)
{
    std::optional<uint64_t> found;
    each_image(path_of(file), [&](const Image& image) {
        for (const Function& f : image.functions())
            if (f.name == name || std::ranges::find(f.aliases, name) != f.aliases.end())
                found = f.address - image.segments().front().address.value;
    });
    return found;
}

// By their names: to look into every file of every process takes too long.
bool may_be_c_library(const Mapping& mapping, const Mapping& program)
{
    const std::string_view name = std::string_view(mapping.name).substr(mapping.name.rfind('/') + 1);
    return name.starts_with("libc.") || name.starts_with("libc-") || name.starts_with("ld-musl-")
        || (mapping.inode == program.inode && mapping.device == program.device);
}

} // namespace

uint64_t known_function(ProcessView& view, const Mapping& mapping, const std::string& name)
{
    static std::mutex mutex;
    using Time =
        std::pair<int64_t,
                  int64_t>; // of the last change: an upgrade's file may get the number of the one that it has replaced
    static std::map<std::tuple<std::string, uint64_t, Time, std::string>, std::optional<uint64_t>> known;
    const std::lock_guard lock(mutex);
    const Descriptor& file = view.file(mapping);
    struct stat status{};
    if (!file || fstat(file.get(), &status) < 0)
        return 0;
    const auto [found, fresh] =
        known.try_emplace({mapping.device, mapping.inode, {status.st_ctim.tv_sec, status.st_ctim.tv_nsec}, name});
    if (fresh)
        found->second = offset_in(file, name);
    return found->second ? mapping.start + *found->second : 0;
}

bool may_trace_execution(const ProcessView& view, uint64_t name)
{
    const Descriptor memory(open(view.entry("mem").c_str(), O_RDONLY | O_CLOEXEC));
    std::string path(PATH_MAX, '\0');
    const ssize_t size = pread(memory.get(), path.data(), path.size(), static_cast<off_t>(name));
    path.resize(size > 0 ? strnlen(path.data(), static_cast<size_t>(size)) : 0);
    path.insert(0, view.entry(path.starts_with('/') ? "root/" : "cwd/"));
    struct stat status{};
    if (stat(path.c_str(), &status) < 0 || !S_ISREG(status.st_mode))
        return false;
    if (geteuid() == 0)
        return true;
    return (status.st_mode & (S_ISUID | S_ISGID)) == 0
        && getxattr(path.c_str(), "security.capability", nullptr, 0) <= 0;
}

uint64_t find_execve(ProcessView& view, const std::vector<Mapping>& mappings)
{
    for (const Mapping& m : mappings)
        if (m.inode != 0 && m.offset == 0 && may_be_c_library(m, mappings.front()))
            if (const uint64_t function = known_function(view, m, "execve"))
                return function;
    return 0;
}

} // namespace fastsdt::engine
