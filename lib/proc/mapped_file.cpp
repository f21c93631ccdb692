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

namespace fastsdt {
namespace {

// Whether a path leads to the file that is mapped. An inode's number is of one file system only: small ones have the same again and again.
// Some file systems give stat() another device than the kernel prints in maps.
bool leads_to(const std::string& path, const Mapping& mapping)
{
    struct stat status;
    if (stat(path.c_str(), &status) != 0 || status.st_ino != mapping.inode)
        return false;
    if (fmt::format("{:02x}:{:02x}", major(status.st_dev), minor(status.st_dev)) == mapping.device)
        return true;
    constexpr std::array with_own_devices{0x9123683eL, 0xca451a4eL,
                                          0x794c7630L}; // btrfs, bcachefs, overlayfs: linux/magic.h
    struct statfs system;
    return statfs(path.c_str(), &system) == 0
        && std::find(with_own_devices.begin(), with_own_devices.end(), long(system.f_type)) != with_own_devices.end();
}

} // namespace

std::string path_of_mapped_file(pid_t pid, const Mapping& mapping, const std::string& path)
{
    // The first needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE; the others do not. The second finds the program's own
    // file even if a package upgrade has replaced it.
    for (const std::string& candidate :
         {fmt::format("/proc/{}/map_files/{:x}-{:x}", pid, mapping.start, mapping.end),
          fmt::format("/proc/{}/exe", pid), fmt::format("/proc/{}/root{}", pid, path), path})
        if (leads_to(candidate, mapping) && access(candidate.c_str(), R_OK) == 0)
            return candidate;
    // A file in memory has no path. Without those capabilities it is found by a descriptor that the process still has.
    if (!mapping.name.starts_with("/memfd:"))
        return {};
    std::error_code error, none;
    for (std::filesystem::directory_iterator entry(fmt::format("/proc/{}/fd", pid), error), end; !error && entry != end;
         entry.increment(error))
        if (std::filesystem::read_symlink(entry->path(), none) == mapping.name && leads_to(entry->path(), mapping))
            return entry->path();
    return {};
}

Descriptor open_mapped_file(pid_t pid, const Mapping& mapping)
{
    std::string path = mapping.name;
    if (path.ends_with(deleted_suffix))
        path.resize(path.size() - deleted_suffix.size());
    // A descriptor of the process may have become another file's, a FIFO's even.
    return Descriptor(
        open(path_of_mapped_file(pid, mapping, path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
}

std::vector<std::byte> read_mapped_file(pid_t pid, const Mapping& mapping, uint64_t address, size_t size)
{
    const Descriptor file = open_mapped_file(pid, mapping);
    return file ? read_at(file, mapping.offset + (address - mapping.start), size) : std::vector<std::byte>();
}

} // namespace fastsdt
