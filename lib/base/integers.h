// SPDX-License-Identifier: BSD-2-Clause
// Integers of a file: any size up to 8 bytes, at any address, in the file's byte order.
#pragma once
#include <cstddef>
#include <cstdint>

namespace fastsdt {

// Byte by byte: alignment, host byte order and the file's class do not matter then, and compilers turn fixed sizes into
// single loads and stores.
inline uint64_t load(const std::byte* from, size_t size, bool big_endian)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size; ++i)
        value |= std::to_integer<uint64_t>(from[i]) << 8 * (big_endian ? size - 1 - i : i);
    return value;
}

inline void store(std::byte* to, size_t size, uint64_t value, bool big_endian)
{
    for (size_t i = 0; i < size; ++i)
        to[i] = std::byte(value >> 8 * (big_endian ? size - 1 - i : i));
}

} // namespace fastsdt
