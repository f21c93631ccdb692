// SPDX-License-Identifier: BSD-2-Clause
// Provider files as tokens, each with its place. Comments are blanks, and so are lines that begin with #: directives that
// no preprocessor has seen, #pragma D, and the # comments of libvirt. `# LINE "FILE"`, as cpp writes it, moves the place.
#pragma once
#include "model.h"

namespace dtrace {

struct Token {
    enum Kind { word, number, text, sign, end } kind = end;
    std::string_view spelling; // sign: one character, or "..."
    std::string_view file;
    unsigned line = 0; // from 1, as cpp's line markers say
    const char* begin_of_line = nullptr;

    bool is(std::string_view s) const { return spelling == s && kind != text && kind != end; }
};

class Lexer {
public:
    // Both must live as long as the tokens.
    Lexer(std::string_view source, std::string_view file);
    Token next();
    // FILE:LINE:COLUMN: error: MESSAGE, the line, and a caret below the token.
    [[noreturn]] void fail(const Token& at, const std::string& message) const;

private:
    void skip_blanks();
    void skip_comment();
    void skip_directive();
    void new_line();
    Token here() const;

    std::string_view source_, file_;
    const char *at_, *end_, *begin_of_line_;
    unsigned line_ = 1;
    bool line_is_blank_ = true; // so far
};

// The text with a ? for each byte that is no part of a visible character: it comes from a file and goes to a terminal.
std::string visible(std::string_view text);

} // namespace dtrace
