// SPDX-License-Identifier: BSD-2-Clause
#include "proc/mapped_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <utility>

namespace fastsdt {
namespace {

// Whether it is the file that is mapped. An inode's number is of one file system only: small ones have the same again and again.
// Some file systems give stat() another device than the kernel prints in maps.
bool is_mapped(const Descriptor& file, const Mapping& mapping)
{
    struct stat status;
    if (!file || fstat(file.get(), &status) != 0 || status.st_ino != mapping.inode)
        return false;
    if (fmt::format("{:02x}:{:02x}", major(status.st_dev), minor(status.st_dev)) == mapping.device)
        return true;
    constexpr std::array with_own_devices{0x9123683eL, 0xca451a4eL,
                                          0x794c7630L}; // btrfs, bcachefs, overlayfs: linux/magic.h
    struct statfs system;
    return fstatfs(file.get(), &system) == 0
        && std::find(with_own_devices.begin(), with_own_devices.end(), long(system.f_type)) != with_own_devices.end();
}

struct Found {
    std::string path;
    Descriptor file; // may be read
};

// The process may unmap it meanwhile, and then some paths lead nowhere: what was compared is what is opened.
Found find_mapped_file(pid_t pid, const Mapping& mapping, const std::string& path)
{
    const auto readable = [&](const std::string& candidate) {
        const Descriptor place(open(candidate.c_str(), O_PATH | O_CLOEXEC)); // opens no device and no FIFO
        if (!is_mapped(place, mapping))
            return Descriptor();
        return Descriptor(
            open(fmt::format("/proc/self/fd/{}", place.get()).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    };
    // The first needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE; the others do not. The second finds the program's own
    // file even if a package upgrade has replaced it.
    for (const std::string& candidate :
         {fmt::format("/proc/{}/map_files/{:x}-{:x}", pid, mapping.start, mapping.end),
          fmt::format("/proc/{}/exe", pid), fmt::format("/proc/{}/root{}", pid, path), path})
        if (Descriptor file = readable(candidate))
            return {candidate, std::move(file)};
    // A file in memory has no path. Without those capabilities it is found by a descriptor that the process still has.
    if (!mapping.name.starts_with("/memfd:"))
        return {};
    std::error_code error, none;
    for (std::filesystem::directory_iterator entry(fmt::format("/proc/{}/fd", pid), error), end; !error && entry != end;
         entry.increment(error))
        if (std::filesystem::read_symlink(entry->path(), none) == mapping.name)
            if (Descriptor file = readable(entry->path()))
                return {entry->path(), std::move(file)};
    return {};
}

} // namespace

std::string path_of_mapped_file(pid_t pid, const Mapping& mapping, const std::string& path)
{
    return find_mapped_file(pid, mapping, path).path;
}

Descriptor open_mapped_file(pid_t pid, const Mapping& mapping)
{
    std::string path = mapping.name;
    if (path.ends_with(deleted_suffix))
        path.resize(path.size() - deleted_suffix.size());
    return find_mapped_file(pid, mapping, path).file;
}

std::vector<std::byte> read_mapped_file(pid_t pid, const Mapping& mapping, uint64_t address, size_t size)
{
    const Descriptor file = open_mapped_file(pid, mapping);
    return file ? read_at(file, mapping.offset + (address - mapping.start), size) : std::vector<std::byte>();
}

} // namespace fastsdt
