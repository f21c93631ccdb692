// SPDX-License-Identifier: BSD-2-Clause
// Words of a script. A probe's name is a word of its own kind, since its path may contain characters that are operators
// elsewhere. So the parser asks for one where a probe may stand.
#pragma once
#include "script/parse.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace fastsdt::engine {

struct Token {
    enum class Kind {
        end,
        identifier, ///< arg0, count, nsecs
        map,        ///< @, @name
        variable,   ///< $name
        parameter,  ///< $1: `number`; $#: 0
        number,
        real,       ///< 1.5
        text,       ///< a string literal
        symbol,     ///< an operator or a bracket
        end_filter, ///< the "/" before "{"
    } kind = Kind::end;
    std::string_view word; ///< as written
    uint64_t number = 0;
    double real = 0;
    std::string text; ///< text: escapes resolved
    Span where;
};

inline constexpr uint64_t most_parameters = 99; ///< $1 to $99

/// Views point into the text, which has to outlive it. Throws ScriptError.
class Lexer {
public:
    explicit Lexer(std::string_view text);
    Token next();
    /// The probe's name at this place: up to a blank, a comma or a brace that is not in quotes. Empty: there is none.
    Token probe();
    /// The next character that is neither blank nor in a comment, without moving past it; 0 at the end.
    char peek();
    void skip() { ++at_; }             ///< one character, after peek()
    bool ahead(std::string_view word); ///< it comes next, and is a whole one
    Span here() const { return {at_, at_ < text_.size() ? size_t(1) : size_t(0)}; }
    bool is_next(char c) const { return at_ < text_.size() && text_[at_] == c; } ///< no blank comes before it
    void end_with_line() { text_ = text_.substr(0, line_end()); } ///< there is nothing behind it any more
    void skip_line() { at_ = line_end(); }
    std::string_view line() const; ///< the rest of it, without blanks behind

private:
    void skip_blanks();
    Token number(Token token);
    bool is_real() const;
    Token real(Token token);
    Token string(Token token);
    char escape(size_t start);
    bool ends_filter(size_t at) const;
    size_t line_end() const { return std::min(text_.find('\n', at_), text_.size()); }

    std::string_view text_;
    size_t at_ = 0;
};

} // namespace fastsdt::engine
