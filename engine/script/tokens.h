// SPDX-License-Identifier: BSD-2-Clause
// What the parts of the parser share: the word that comes next, and errors about it.
#pragma once
#include "script/lexer.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace fastsdt::engine {

inline Span join(Span a, Span b)
{
    return {a.start, b.start + b.length - a.start};
}

class Tokens {
public:
    explicit Tokens(std::string_view text) : lexer_(text) {}

    bool is(std::string_view symbol) const
    {
        return (token_.kind == Token::Kind::symbol || token_.kind == Token::Kind::end_filter) && token_.word == symbol;
    }
    bool is_word(std::string_view name) const { return token_.kind == Token::Kind::identifier && token_.word == name; }
    void advance()
    {
        last_ = token_.where;
        last_word_ = token_.word;
        token_ = lexer_.next();
    }
    bool accept(std::string_view symbol)
    {
        if (!is(symbol))
            return false;
        advance();
        return true;
    }
    std::string found() const
    {
        return token_.kind == Token::Kind::end ? "the end of the script" : fmt::format("\"{}\"", token_.word);
    }
    void expect(std::string_view symbol, std::string_view after)
    {
        if (!accept(symbol))
            fail(token_.where, fmt::format("\"{}\" is wanted after {}, and not {}", symbol, after, found()));
    }

    // Each that lives is one level of nesting: no text may use up our stack.
    class Depth {
    public:
        explicit Depth(Tokens& tokens) : depth_(tokens.depth_)
        {
            if (++depth_ > deepest)
                fail(tokens.token_.where, fmt::format("more than {} nested operators and brackets", deepest));
        }
        Depth(const Depth&) = delete;
        Depth& operator=(const Depth&) = delete;
        ~Depth() { --depth_; }

    private:
        size_t& depth_;
    };
    static constexpr size_t deepest = 100; ///< nested brackets and operators

    Lexer lexer_;
    Token token_;
    Span last_; ///< of the word before
    std::string_view last_word_;

private:
    size_t depth_ = 0;
};

} // namespace fastsdt::engine
