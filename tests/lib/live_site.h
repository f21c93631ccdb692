// SPDX-License-Identifier: BSD-2-Clause
// A few bytes of code in a file of their own, mapped executable into this process, with real uprobes on them.
#pragma once
#include "../kernel/uprobe.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

namespace fastsdt::test {

/// Empty, or why uprobes cannot be attached here.
inline std::string why_no_uprobes()
{
    if (geteuid() != 0)
        return "attaching uprobes needs root";
    if (access("/sys/bus/event_source/devices/uprobe/type", R_OK) != 0)
        return "this kernel has no uprobes";
    return {};
}

/// A uprobe of this process; counts hits while it lives.
class Uprobe {
public:
    /// @param offset  file offset. error() tells whether the kernel accepted it.
    Uprobe(const std::string& path, uint64_t offset)
    {
        fd_ = open_uprobe(uprobe_type(), path.c_str(), offset, 0, 0 /* this process */, -1);
        error_ = fd_ < 0 ? errno : 0;
    }
    Uprobe(const Uprobe&) = delete;
    Uprobe& operator=(const Uprobe&) = delete;
    ~Uprobe()
    {
        if (fd_ >= 0)
            close(fd_);
    }
    int error() const { return error_; }
    uint64_t hits() const
    {
        uint64_t count = 0;
        return read(fd_, &count, sizeof count) == sizeof count ? count : ~uint64_t{0};
    }

private:
    int fd_ = -1;
    int error_ = 0;
};

/// Code at `offset` of a file of two pages, or of what it needs, mapped into this process.
class LiveSite {
public:
    explicit LiveSite(const std::vector<uint8_t>& code, size_t offset = 0x100)
        : offset_(offset), size_(std::max<size_t>(2 * 4096, offset + code.size()))
    {
        char name[] = "/tmp/fastsdt-site-XXXXXX";
        const int fd = mkstemp(name);
        if (fd < 0)
            throw std::runtime_error("mkstemp: " + std::string(strerror(errno)));
        path_ = name;
        std::vector<uint8_t> image(size_, 0xc3);
        std::copy(code.begin(), code.end(), image.begin() + offset);
        if (write(fd, image.data(), image.size()) != static_cast<ssize_t>(image.size()))
            throw std::runtime_error("write: " + std::string(strerror(errno)));
        base_ = static_cast<uint8_t*>(mmap(nullptr, image.size(), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0));
        close(fd);
        if (base_ == MAP_FAILED)
            throw std::runtime_error("mmap: " + std::string(strerror(errno)));
    }
    LiveSite(const LiveSite&) = delete;
    LiveSite& operator=(const LiveSite&) = delete;
    ~LiveSite()
    {
        munmap(base_, size_);
        unlink(path_.c_str());
    }
    const std::string& path() const { return path_; }
    uint64_t offset() const { return offset_; }
    const uint8_t* bytes() const { return base_ + offset_; } ///< as they stand in memory now
    /// @param at  offset in the code
    void call(size_t at = 0) const { reinterpret_cast<void (*)()>(base_ + offset_ + at)(); }

private:
    std::string path_;
    size_t offset_, size_;
    uint8_t* base_;
};

/// Whether a mapping of this process has this name.
inline bool is_mapped(const char* name)
{
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
        if (line.ends_with(name))
            return true;
    return false;
}

} // namespace fastsdt::test
