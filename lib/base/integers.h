// SPDX-License-Identifier: BSD-2-Clause
// Integers of a file: any size up to 8 bytes, at any address, in the file's byte order.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace fastsdt {

// Alignment, host byte order and the file's class do not matter, and a fixed size is one load: GCC 12 makes a loop of one over bytes.
inline uint64_t load(const std::byte* from, size_t size, bool big_endian)
{
    uint64_t value = 0;
    if (size == 0)
        return value;
    std::memcpy(&value, from, size);
    constexpr bool host_is_big = std::endian::native == std::endian::big;
    if (big_endian != host_is_big)
        value = __builtin_bswap64(value);
    return big_endian ? value >> 8 * (sizeof value - size) : value;
}

/// A word that this machine's programs have in memory.
inline uint64_t load_word(const std::byte* from)
{
    uint64_t value = 0;
    std::memcpy(&value, from, sizeof value);
    return value;
}

// Byte by byte.
inline void store(std::byte* to, size_t size, uint64_t value, bool big_endian)
{
    for (size_t i = 0; i < size; ++i)
        to[i] = std::byte(value >> 8 * (big_endian ? size - 1 - i : i));
}

} // namespace fastsdt
