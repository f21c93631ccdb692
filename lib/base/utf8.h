// SPDX-License-Identifier: BSD-2-Clause
// UTF-8. C++17, because fastprobe's plugins use it inside a compiler.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fastsdt {

/// Length of the character at the start of `text`, if it is well formed and no ASCII, else 0. `character` becomes its number.
inline size_t utf8_sequence(std::string_view text, uint32_t& character)
{
    const auto byte = [&](size_t i) { return i < text.size() ? uint32_t((unsigned char)text[i]) : 0; };
    const auto more = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
    const uint32_t first = byte(0);
    if (first >= 0xc2 && first <= 0xdf && more(1)) {
        character = (first & 0x1f) << 6 | (byte(1) & 0x3f);
        return 2;
    }
    if (first >= 0xe0 && first <= 0xef && more(1) && more(2)) {
        character = (first & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f);
        const bool longer_than_needed = character < 0x800, surrogate = character >= 0xd800 && character <= 0xdfff;
        return longer_than_needed || surrogate ? 0 : 3;
    }
    if (first >= 0xf0 && first <= 0xf4 && more(1) && more(2) && more(3)) {
        character = (first & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f);
        return character < 0x10000 || character > 0x10ffff ? 0 : 4;
    }
    return 0;
}

} // namespace fastsdt
