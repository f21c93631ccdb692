// SPDX-License-Identifier: BSD-2-Clause
#include "lexer.h"

#include <array>
#include <charconv>

namespace dtrace {
namespace {

bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}
bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}
bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || is_digit(c);
}

// Words that follow a # in directives of C and D. Before any other word the # begins a comment.
bool is_directive(std::string_view w)
{
    static constexpr std::array names{"define",  "elif", "else",   "endif",  "error",
                                      "ident",   "if",   "ifdef",  "ifndef", "include_next",
                                      "include", "line", "pragma", "undef",  "warning"};
    for (std::string_view name : names)
        if (w == name)
            return true;
    return false;
}

} // namespace

Lexer::Lexer(std::string_view source, std::string_view file)
    : source_(source), file_(file), at_(source.data()), end_(source.data() + source.size()), begin_of_line_(at_)
{
    if (source.starts_with("\xef\xbb\xbf")) // byte order mark
        begin_of_line_ = at_ += 3;
}

Token Lexer::here() const
{
    Token t;
    t.spelling = {at_, 0};
    t.file = file_;
    t.line = line_;
    t.begin_of_line = begin_of_line_;
    return t;
}

void Lexer::new_line()
{
    begin_of_line_ = ++at_;
    ++line_;
    line_is_blank_ = true;
}

void Lexer::skip_comment()
{ // at_ is after its "/*"
    Token start = here();
    start.spelling = {at_ - 2, 2};
    for (; end_ - at_ >= 2; *at_ == '\n' ? new_line() : void(++at_))
        if (at_[0] == '*' && at_[1] == '/') {
            at_ += 2;
            return;
        }
    fail(start, "this comment is never closed");
}

void Lexer::skip_directive()
{ // at_ is after the #
    const bool first = line_is_blank_;
    while (at_ != end_ && is_blank(*at_))
        ++at_;
    const char* begin = at_;
    while (at_ != end_ && is_word(*at_))
        ++at_;
    const std::string_view name{begin, size_t(at_ - begin)};
    const bool directive = first && is_directive(name);

    unsigned marker = 0; // # LINE "FILE" ..., or #line LINE "FILE"
    std::string_view marked;
    if (const char* p = name == "line" ? at_ : begin; first && (directive ? name == "line" : !name.empty())) {
        while (p != end_ && is_blank(*p))
            ++p;
        auto [rest, error] = std::from_chars(p, end_, marker);
        if (error != std::errc{} || (rest != end_ && is_word(*rest)))
            marker = 0;
        else {
            while (rest != end_ && is_blank(*rest))
                ++rest;
            if (rest != end_ && *rest == '"') {
                const char* close = ++rest;
                while (close != end_ && *close != '"' && *close != '\n')
                    ++close;
                marked = {rest, size_t(close - rest)};
            } else if (rest != end_ && *rest != '\n')
                marker = 0;
        }
    }
    // A directive goes on after a backslash and through a comment, and a # comment ends with its line.
    while (at_ != end_ && *at_ != '\n') {
        if (directive && *at_ == '\\' && at_ + 1 != end_
            && (at_[1] == '\n' || (at_[1] == '\r' && at_ + 2 != end_ && at_[2] == '\n'))) {
            at_ += at_[1] == '\n' ? 1 : 2;
            new_line();
        } else if (directive && *at_ == '/' && at_ + 1 != end_ && at_[1] == '*') {
            at_ += 2;
            skip_comment();
        } else
            ++at_;
    }
    if (marker) {
        line_ = marker - 1; // of the line that follows
        if (!marked.empty())
            file_ = marked;
    }
}

void Lexer::skip_blanks()
{
    while (at_ != end_) {
        if (*at_ == '\n')
            new_line();
        else if (is_blank(*at_))
            ++at_;
        else if (*at_ == '#') {
            ++at_;
            skip_directive();
        } else if (*at_ == '/' && at_ + 1 != end_ && at_[1] == '*') {
            at_ += 2;
            skip_comment();
        } else if (*at_ == '/' && at_ + 1 != end_ && at_[1] == '/') {
            while (at_ != end_ && *at_ != '\n')
                ++at_;
        } else
            break;
    }
}

Token Lexer::next()
{
    skip_blanks();
    Token t = here();
    if (at_ == end_)
        return t;
    line_is_blank_ = false;
    const char* begin = at_;
    const char c = *at_;
    if (is_word(c)) {
        t.kind = is_digit(c) ? Token::number : Token::word;
        while (at_ != end_ && is_word(*at_))
            ++at_;
    } else if (c == '"' || c == '\'') {
        // Strings stand in text that is skipped: one that is not closed ends with its line.
        t.kind = Token::text;
        for (++at_; at_ != end_ && *at_ != c && *at_ != '\n'; ++at_)
            if (*at_ == '\\' && at_ + 1 != end_ && at_[1] != '\n')
                ++at_;
        if (at_ != end_ && *at_ == c)
            ++at_;
    } else {
        t.kind = Token::sign;
        at_ += std::string_view{at_, size_t(end_ - at_)}.starts_with("...") ? 3 : 1;
    }
    t.spelling = {begin, size_t(at_ - begin)};
    return t;
}

// UTF-8: the rest of a character.
static bool continues(char c)
{
    return (c & 0xc0) == 0x80;
}

std::string visible(std::string_view text)
{
    std::string out;
    for (size_t i = 0; i < text.size();) {
        const auto c = (unsigned char)text[i];
        const size_t wanted = c < 0x80 ? 1 : c >= 0xf8 || c < 0xc0 ? 0 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
        size_t length = 1;
        while (length < wanted && i + length < text.size() && continues(text[i + length]))
            ++length;
        const bool good = length == wanted && (wanted > 1 || (c >= ' ' && c != 0x7f) || c == '\t');
        out += good ? std::string(text.substr(i, length)) : "?";
        i += length;
    }
    return out;
}

void Lexer::fail(const Token& at, const std::string& message) const
{
    const char* end = at.begin_of_line;
    while (end != end_ && *end != '\n' && *end != '\r')
        ++end;
    unsigned column = 1;
    for (const char* p = at.begin_of_line; p < at.spelling.data(); ++p)
        column += !continues(*p);
    // A long line is cut to the part around the place.
    constexpr int before = 70, after = 50;
    const char *begin = at.begin_of_line, *place = at.spelling.data();
    const bool cut_before = place - begin > before, cut_after = end - place > after;
    if (cut_before)
        for (begin = place - before; begin < place && continues(*begin);)
            ++begin;
    if (cut_after)
        for (end = place + after; end > place && continues(*end);)
            --end;
    std::string line = (cut_before ? "..." : "") + visible({begin, size_t(place - begin)}), indent;
    for (const char c : line)
        if (!continues(c))
            indent += c == '\t' ? '\t' : ' ';
    line += visible({place, size_t(end - place)}) + (cut_after ? "..." : "");
    throw Misread({"error: " + message + "\n " + line + "\n " + indent + "^",
                   std::string(at.file) + ":" + std::to_string(at.line) + ":" + std::to_string(column)});
}

} // namespace dtrace
