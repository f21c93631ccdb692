// SPDX-License-Identifier: BSD-2-Clause
// A file descriptor that closes itself, and reading from one at a place.
#pragma once
#include <cstddef>
#include <cstdint>
#include <unistd.h>
#include <utility>
#include <vector>

namespace fastsdt {

class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(int fd) : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept
    {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~Descriptor() { reset(); }
    void reset()
    {
        if (fd_ >= 0)
            close(std::exchange(fd_, -1));
    }
    int get() const { return fd_; }
    int release() { return std::exchange(fd_, -1); } ///< it is the caller's to close
    explicit operator bool() const { return fd_ >= 0; }

private:
    int fd_ = -1;
};

/// Up to `size` bytes from `offset`: fewer at the end or where memory is not mapped, none after an error (see errno).
inline std::vector<std::byte> read_at(const Descriptor& file, uint64_t offset, size_t size)
{
    std::vector<std::byte> bytes(size);
    const ssize_t got = pread(file.get(), bytes.data(), size, static_cast<off_t>(offset));
    bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return bytes;
}

} // namespace fastsdt
