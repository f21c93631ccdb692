// SPDX-License-Identifier: BSD-2-Clause
#include "script/format.h"

#include "script/parse.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace fastsdt::engine {

std::vector<Format> read_format(const std::string& text, Span where)
{
    constexpr std::string_view digits = "0123456789";
    constexpr size_t most_digits = 3;
    std::vector<Format> format;
    Format piece;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            piece.text += text[i];
            continue;
        }
        if (i + 1 < text.size() && text[i + 1] == '%') {
            piece.text += text[i++];
            continue;
        }
        const auto take = [&](std::string_view characters, std::string& to) {
            while (i + 1 < text.size() && characters.find(text[i + 1]) != characters.npos)
                to += text[++i];
        };
        std::string width, length;
        take("-+ #0", piece.how);
        take(digits, width);
        piece.how += width;
        if (i + 1 < text.size() && text[i + 1] == '.') {
            std::string precision;
            piece.how += text[++i];
            take(digits, precision);
            piece.how += precision;
            width = width.size() > precision.size() ? width : precision;
        }
        if (width.size() > most_digits)
            fail(where, "a width or a precision of printf() has 3 digits at most");
        take("hljzt", length);
        piece.size = length.find_first_of("ljzt") != length.npos ? 8
            : length.starts_with("hh")                           ? 1
            : length.starts_with('h')                            ? 2
                                                                 : 4;
        const char conversion = i + 1 < text.size() ? text[++i] : '\0';
        if (conversion == '\0'
            || (!is_for_reals(conversion) && std::string_view("diuxXopcsr").find(conversion) == std::string_view::npos))
            fail(where,
                 conversion == '\0'
                     ? std::string("the text of printf() ends in the middle of a conversion")
                     : fmt::format(
                           "%{} is no conversion of printf(): %d, %u, %x, %X, %o, %p, %c, %s, %r, %f, %e and %g are",
                           conversion));
        if (conversion == 'r' && i + 1 < text.size() && (text[i + 1] == 'x' || text[i + 1] == 'h'))
            piece.bytes = text[++i];
        piece.conversion = conversion == 'i' ? 'd' : conversion;
        format.push_back(std::move(piece));
        piece = {};
    }
    format.push_back(std::move(piece));
    return format;
}

} // namespace fastsdt::engine
