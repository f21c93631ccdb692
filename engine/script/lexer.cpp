// SPDX-License-Identifier: BSD-2-Clause
// Reads a text as bpftrace 0.17 does: src/lexer.l.
#include "script/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace fastsdt::engine {
namespace {

bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool digit(char c)
{
    return c >= '0' && c <= '9';
}

bool letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

int digit_value(char c)
{
    return digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : 16;
}

// Longest first.
constexpr std::array<std::string_view, 46> symbols = {
    "<<=", ">>=", "&&", "||", "==", "!=", "<=", ">=", "<<", ">>", "++", "--", "+=", "-=", "*=", "/=",
    "%=",  "&=",  "|=", "^=", "->", "..", "+",  "-",  "*",  "/",  "%",  "<",  ">",  "=",  "!",  "~",
    "&",   "|",   "^",  "(",  ")",  "[",  "]",  "{",  "}",  ",",  ";",  "?",  ":",  "."};
struct Unit {
    std::string_view name;
    uint64_t nanoseconds;
};
constexpr uint64_t second = 1'000'000'000;
constexpr std::array<Unit, 7> units = {{{"ns", 1},
                                        {"us", 1000},
                                        {"ms", 1'000'000},
                                        {"s", second},
                                        {"m", 60 * second},
                                        {"h", 3600 * second},
                                        {"d", 86400 * second}}};

} // namespace

Lexer::Lexer(std::string_view text) : text_(text)
{
    if (text_.starts_with("#!")) // an executable script
        at_ = std::min(text_.find('\n'), text_.size());
}

void Lexer::skip_blanks()
{
    for (;;) {
        while (at_ < text_.size() && is_space(text_[at_]))
            ++at_;
        const std::string_view rest = text_.substr(at_);
        if (rest.starts_with("//")) {
            at_ = std::min(text_.find('\n', at_), text_.size());
        } else if (rest.starts_with("/*")) {
            const size_t end = text_.find("*/", at_ + 2);
            if (end == text_.npos)
                throw ScriptError({at_, 2}, "the comment has no end");
            at_ = end + 2;
        } else {
            return;
        }
    }
}

char Lexer::peek()
{
    skip_blanks();
    return at_ < text_.size() ? text_[at_] : '\0';
}

bool Lexer::ahead(std::string_view word)
{
    skip_blanks();
    const std::string_view rest = text_.substr(at_);
    return rest.starts_with(word)
        && (rest.size() == word.size() || (!letter(rest[word.size()]) && !digit(rest[word.size()])));
}

std::string_view Lexer::line() const
{
    std::string_view rest = text_.substr(at_, line_end() - at_);
    while (!rest.empty() && is_space(rest.back()))
        rest.remove_suffix(1);
    return rest;
}

// As in bpftrace a "/" ends a filter if a brace is next.
bool Lexer::ends_filter(size_t at) const
{
    ++at;
    while (at < text_.size() && is_space(text_[at]))
        ++at;
    return at < text_.size() && text_[at] == '{';
}

Token Lexer::probe()
{
    skip_blanks();
    Token token;
    const size_t start = at_;
    bool quoted = false;
    for (; at_ < text_.size(); ++at_) {
        const char c = text_[at_];
        if (c == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] == '"')
            ++at_;
        else if (c == '"')
            quoted = !quoted;
        else if (c == '\n' || (!quoted && (is_space(c) || c == ',' || c == '{')))
            break;
    }
    if (quoted)
        throw ScriptError({start, at_ - start}, "the quotes in the probe's name are not closed");
    token.word = text_.substr(start, at_ - start);
    token.where = {start, token.word.size()};
    token.kind = token.word.empty() ? Token::Kind::end : Token::Kind::identifier;
    return token;
}

Token Lexer::next()
{
    skip_blanks();
    Token token;
    token.where = {at_, 0};
    if (at_ >= text_.size())
        return token;
    const auto take = [&](Token::Kind kind, size_t length) {
        token.kind = kind;
        token.word = text_.substr(at_, length);
        token.where.length = length;
        at_ += length;
        return token;
    };
    const auto identifier_end = [&](size_t at) {
        while (at < text_.size() && (letter(text_[at]) || digit(text_[at])))
            ++at;
        return at;
    };
    const char c = text_[at_];
    if (letter(c))
        return take(Token::Kind::identifier, identifier_end(at_) - at_);
    if (c == '@') {
        const bool named = at_ + 1 < text_.size() && letter(text_[at_ + 1]);
        return take(Token::Kind::map, (named ? identifier_end(at_ + 1) : at_ + 1) - at_);
    }
    if (c == '$') {
        if (text_.substr(at_).starts_with("$#"))
            return take(Token::Kind::parameter, 2);
        const size_t length = identifier_end(at_ + 1) - at_;
        if (length == 1)
            throw ScriptError({at_, length}, "a name or a number is wanted after \"$\"");
        if (!digit(text_[at_ + 1]))
            return take(Token::Kind::variable, length);
        const std::string_view digits = text_.substr(at_ + 1, length - 1);
        const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), token.number);
        if (end.ptr != digits.data() + digits.size() || token.number < 1 || token.number > most_parameters)
            throw ScriptError({at_, length},
                              fmt::format("parameters are $1 to ${}, and $# is how many there are", most_parameters));
        return take(Token::Kind::parameter, length);
    }
    if (digit(c))
        return is_real() ? real(std::move(token)) : number(std::move(token));
    if (c == '"')
        return string(std::move(token));
    if (c == '/' && ends_filter(at_))
        return take(Token::Kind::end_filter, 1);
    for (std::string_view symbol : symbols)
        if (text_.substr(at_).starts_with(symbol))
            return take(Token::Kind::symbol, symbol.size());
    if (c == '#')
        throw ScriptError({at_, 1}, "of the preprocessor only #define and #include are here, in front of the probes",
                          true);
    if (c == '\'')
        throw ScriptError({at_, 1}, "a string stands between two \"");
    throw ScriptError({at_, 1}, "no word of the language begins with this character");
}

// 1.5, and neither 0..5 nor the 0.1 of $tuple.0.1
bool Lexer::is_real() const
{
    const size_t dot = text_.find_first_not_of("0123456789", at_);
    return dot != text_.npos && text_[dot] == '.' && dot + 1 < text_.size() && digit(text_[dot + 1])
        && (at_ == 0 || text_[at_ - 1] != '.');
}

Token Lexer::real(Token token)
{
    const char* const start = text_.data() + at_;
    const auto [end, error] = std::from_chars(start, text_.data() + text_.size(), token.real);
    const size_t length = size_t(end - start);
    const size_t behind = at_ + length;
    token.kind = Token::Kind::real;
    token.word = text_.substr(at_, length);
    token.where.length = length;
    if (error != std::errc() || (behind < text_.size() && letter(text_[behind])))
        throw ScriptError(token.where, "this is not a number: 1.5 and 2.5e-3 are");
    at_ = behind;
    return token;
}

// Decimal with underscores, hexadecimal, octal behind a 0, 1e6; a suffix of u and l is ignored, one of time makes nanoseconds of it.
Token Lexer::number(Token token)
{
    const size_t start = at_;
    const bool hexadecimal = text_.substr(at_, 2) == "0x" || text_.substr(at_, 2) == "0X";
    const auto is_octal = [&] { // 0777, 0_7; neither 0 nor 0e1
        size_t second = at_ + 1;
        while (second < text_.size() && text_[second] == '_')
            ++second;
        return text_[at_] == '0' && second < text_.size() && digit(text_[second]);
    };
    const bool octal = !hexadecimal && is_octal();
    const uint64_t base = hexadecimal ? 16 : octal ? 8 : 10;
    constexpr uint64_t most = std::numeric_limits<uint64_t>::max();
    bool overflow = false;
    const auto digits = [&] {
        uint64_t value = 0;
        for (; at_ < text_.size(); ++at_) {
            const char c = text_[at_];
            if (c == '_' && !hexadecimal)
                continue;
            const auto one = static_cast<uint64_t>(digit_value(c));
            if (one >= base)
                break;
            overflow = overflow || value > (most - one) / base;
            value = value * base + one;
        }
        return value;
    };
    at_ += hexadecimal ? 2 : 0;
    const size_t first = at_;
    token.number = digits();
    bool empty = at_ == first;
    if (!hexadecimal && !octal && at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
        const size_t exponent_at = ++at_;
        uint64_t exponent = digits();
        empty = empty || at_ == exponent_at;
        for (; exponent > 0 && !overflow && token.number != 0; --exponent) {
            overflow = token.number > most / 10;
            token.number *= 10;
        }
    }
    const size_t suffix_at = at_;
    while (at_ < text_.size() && (letter(text_[at_]) || digit(text_[at_])))
        ++at_;
    const std::string_view suffix = text_.substr(suffix_at, at_ - suffix_at);
    const auto unit = std::find_if(units.begin(), units.end(), [&](const Unit& each) { return each.name == suffix; });
    if (unit != units.end()) {
        overflow = overflow || token.number > most / unit->nanoseconds;
        token.number *= unit->nanoseconds;
    }
    const bool more = unit == units.end() && suffix.find_first_not_of("uUlL") != suffix.npos;
    token.where.length = at_ - start;
    token.word = text_.substr(start, at_ - start);
    if (empty || more)
        throw ScriptError(token.where, "this is not a number: decimal, 0x1f, 0777 (octal), 1_000, 1e6 and 10ms are");
    if (overflow)
        throw ScriptError(token.where, "the number does not fit into 64 bits");
    token.kind = Token::Kind::number;
    return token;
}

char Lexer::escape(size_t start)
{
    // at_ is behind the backslash
    const char c = at_ < text_.size() ? text_[at_++] : '\0';
    switch (c) {
    case 'n': return '\n';
    case 't': return '\t';
    case 'r': return '\r';
    case '"':
    case '\\': return c;
    case 'x':
    case 'X': {
        int value = 0, count = 0;
        for (; count < 2 && at_ < text_.size() && digit_value(text_[at_]) < 16; ++count)
            value = value * 16 + digit_value(text_[at_++]);
        if (count > 0)
            return static_cast<char>(value);
        break;
    }
    default:
        if (digit_value(c) < 8) {
            int value = digit_value(c);
            for (int count = 1; count < 3 && at_ < text_.size() && digit_value(text_[at_]) < 8; ++count)
                value = value * 8 + digit_value(text_[at_++]);
            if (value <= 0xff)
                return static_cast<char>(value);
        }
        break;
    }
    throw ScriptError({start, at_ - start}, "this escape is not known: \\n, \\t, \\r, \\\", \\\\, \\x41 and \\101 are");
}

Token Lexer::string(Token token)
{
    const size_t start = at_++;
    for (;;) {
        if (at_ >= text_.size() || text_[at_] == '\n')
            throw ScriptError({start, at_ - start}, "the string has no end");
        const char c = text_[at_];
        const size_t at = at_++;
        if (c == '"')
            break;
        token.text += c == '\\' ? escape(at) : c;
    }
    token.kind = Token::Kind::text;
    token.word = text_.substr(start, at_ - start);
    token.where.length = at_ - start;
    return token;
}

} // namespace fastsdt::engine
