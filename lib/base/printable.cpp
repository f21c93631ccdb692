// SPDX-License-Identifier: BSD-2-Clause
#include "base/printable.h"
#include "base/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace fastsdt {
namespace {

struct Range {
    uint32_t first, last;
};

// Unicode 15.0, DerivedGeneralCategory.txt: Cc from U+0080 on, Cf, Zl, Zp and Co; variation selectors and the fillers
// without a width beside them; and the noncharacters at the end of plane 0. tests/lib/printable_test.cpp compares with
// Python's tables.
constexpr Range invisible[] = {
    {0x0080, 0x009f},     {0x00ad, 0x00ad},     {0x034f, 0x034f},   {0x0600, 0x0605},   {0x061c, 0x061c},
    {0x06dd, 0x06dd},     {0x070f, 0x070f},     {0x0890, 0x0891},   {0x08e2, 0x08e2},   {0x115f, 0x1160},
    {0x17b4, 0x17b5},     {0x180b, 0x180f},     {0x200b, 0x200f},   {0x2028, 0x202e},   {0x2060, 0x206f},
    {0x3164, 0x3164},     {0xe000, 0xf8ff},     {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
    {0xfff0, 0xfffb},     {0xfffe, 0xffff},     {0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1343f},
    {0x1bca0, 0x1bca3},   {0x1d173, 0x1d17a},   {0xe0000, 0xe0fff}, {0xf0000, 0xffffd}, {0xffffe, 0xfffff},
    {0x100000, 0x10fffd}, {0x10fffe, 0x10ffff},
};

bool visible(uint32_t character)
{
    const auto after = std::upper_bound(std::begin(invisible), std::end(invisible), character,
                                        [](uint32_t c, const Range& range) { return c < range.first; });
    return after == std::begin(invisible) || character > (after - 1)->last;
}

// Length of the UTF-8 sequence at the start of `text` if it is well formed and visible, else 0.
size_t utf8(std::string_view text)
{
    uint32_t character = 0;
    const size_t length = utf8_sequence(text, character);
    return length > 0 && visible(character) ? length : 0;
}

} // namespace

std::string printable(std::string_view text)
{
    std::string out;
    out.reserve(text.size());
    for (size_t i = 0; i < text.size();) {
        const auto c = (unsigned char)text[i];
        if (c >= 0x20 && c < 0x7f) {
            out += text[i++];
        } else if (const size_t length = utf8(text.substr(i)); length > 0) {
            out += text.substr(i, length);
            i += length;
        } else {
            fmt::format_to(std::back_inserter(out), "\\x{:02x}", c);
            ++i;
        }
    }
    return out;
}

std::string cut(std::string text, size_t most)
{
    if (text.size() <= most)
        return text;
    while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80)
        --most;
    text.resize(most);
    return text;
}

std::string plural(size_t count, std::string_view one, std::string_view many)
{
    if (count == 1)
        return fmt::format("1 {}", one);
    return many.empty() ? fmt::format("{} {}s", count, one) : fmt::format("{} {}", count, many);
}

} // namespace fastsdt
