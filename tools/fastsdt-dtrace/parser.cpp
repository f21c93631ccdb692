// SPDX-License-Identifier: BSD-2-Clause
#include "parser.h"

#include "lexer.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace dtrace {
namespace {

// Words that belong to a type wherever they stand. With one of them an argument has its type, and a word after it is its name.
enum class TypeWord { no, qualifier, base, tag };
TypeWord type_word(std::string_view w)
{
    static constexpr std::array qualifiers{"const",    "volatile", "restrict", "__const", "__volatile__", "__restrict",
                                           "register", "static",   "extern",   "inline",  "userland"};
    static constexpr std::array bases{"void",   "char",     "short", "int",        "long",     "float",   "double",
                                      "signed", "unsigned", "_Bool", "__signed__", "__int128", "_Complex"};
    static constexpr std::array tags{"struct", "union", "enum"};
    auto in = [&](auto& list) { return std::find(list.begin(), list.end(), w) != list.end(); };
    return in(qualifiers) ? TypeWord::qualifier : in(bases) ? TypeWord::base : in(tags) ? TypeWord::tag : TypeWord::no;
}

class Parser {
public:
    Parser(std::string_view source, std::string_view file) : lexer_(source, file) { advance(); }

    Model file()
    {
        Model model;
        while (token_.kind != Token::end)
            if (token_.kind == Token::word && token_.is("provider"))
                provider(model);
            else
                other();
        return model;
    }

private:
    void advance() { token_ = lexer_.next(); }
    bool take(std::string_view s)
    {
        if (!token_.is(s))
            return false;
        advance();
        return true;
    }
    static std::string show(const Token& t)
    {
        constexpr size_t most = 40;
        return t.kind == Token::end
            ? "the end of the file"
            : "'" + visible(t.spelling.substr(0, most)) + (t.spelling.size() > most ? "..." : "") + "'";
    }
    [[noreturn]] void expected(const std::string& what)
    {
        lexer_.fail(token_, "expected " + what + ", not " + show(token_));
    }
    void need(std::string_view s, const std::string& where)
    {
        if (!take(s))
            expected("'" + std::string(s) + "' " + where);
    }
    Token name(const std::string& of)
    {
        if (token_.kind != Token::word)
            expected("the name of a " + of);
        Token t = token_;
        advance();
        if (token_.is("-") && token_.spelling.data() == t.spelling.data() + t.spelling.size())
            lexer_.fail(token_, "a name cannot have '-' here: write '__', which tracers of D show as '-'");
        return t;
    }

    void provider(Model& model)
    {
        advance();
        const Token title = name("provider");
        Provider p;
        p.name = title.spelling;
        const Token open = token_;
        need("{", "after the provider's name");
        while (!take("}")) {
            if (token_.kind == Token::end)
                lexer_.fail(open, "this '{' of provider " + p.name + " is never closed");
            if (!token_.is("probe"))
                expected("'probe' or '}'");
            p.probes.push_back(probe(p.name));
        }
        take(";");
        model.push_back(std::move(p));
    }

    Probe probe(const std::string& provider)
    {
        advance();
        const Token title = name("probe");
        Probe p;
        p.name = title.spelling;
        p.file = title.file;
        p.line = title.line;
        for (const std::string& macro : {macro_name(provider, p.name), macro_name(provider, p.name) + "_ENABLED"})
            if (auto [other, added] = macros_.try_emplace(macro, title); !added)
                lexer_.fail(title,
                            "the macro " + macro + " would be that of probe " + std::string(other->second.spelling)
                                + " in line " + std::to_string(other->second.line) + " too");
        p.arguments = arguments();
        if (take(":"))
            arguments();
        if (!take(";") && !token_.is("}") && !token_.is("probe"))
            expected("';' after probe " + p.name);
        return p;
    }

    std::vector<Argument> arguments()
    {
        std::vector<Argument> list;
        const Token open = token_;
        need("(", "and arguments");
        if (take(")"))
            return list;
        do {
            if (list.size() == max_arguments)
                lexer_.fail(token_, "a probe has at most " + std::to_string(max_arguments) + " arguments");
            list.push_back(argument(open));
        } while (take(","));
        if (list.size() == 1 && list[0].type == "void" && list[0].name.empty())
            list.clear();
        need(")", "or ',' after an argument");
        return list;
    }

    // Specifiers, then a declarator. Every word may be a type, or a macro that nobody has expanded; the last one is the
    // argument's name if a type stands before it.
    Argument argument(const Token& open)
    {
        Argument a;
        bool typed = false, tag_follows = false;
        std::string_view name;
        size_t name_at = 0;   // in a.type
        std::string brackets; // those that close the open ones
        for (;; advance()) {
            if (token_.kind == Token::end)
                lexer_.fail(open, "this '(' is never closed");
            if (brackets.empty() && (token_.is(",") || token_.is(")")))
                break;
            const bool opens = token_.is("(") || token_.is("["), closes = token_.is(")") || token_.is("]");
            const bool word = token_.kind == Token::word;
            const TypeWord kind = word ? type_word(token_.spelling) : TypeWord::no;
            if (tag_follows && (!word || kind != TypeWord::no))
                expected("the tag of a struct, union or enum");
            if (!word && !typed)
                expected("the type of an argument");

            if (opens)
                brackets += token_.is("(") ? ')' : ']';
            else if (closes && !brackets.empty() && token_.spelling[0] == brackets.back())
                brackets.pop_back();
            else if (closes
                     || !(word || token_.is("*")
                          || (!brackets.empty()
                              && (token_.kind == Token::number || token_.is(",") || token_.is("...")))))
                expected(brackets.empty() ? "',' or ')' after an argument" : std::string("'") + brackets.back() + "'");
            if (!a.type.empty() && !closes && !token_.is("[") && !token_.is(",") && a.type.back() != '('
                && a.type.back() != '[')
                a.type += ' ';
            if (brackets.empty() && (word || token_.is("*"))) {
                name = {};
                if (kind == TypeWord::no && word && typed && !tag_follows)
                    name = token_.spelling, name_at = a.type.size();
                typed = typed || tag_follows || (word && (kind == TypeWord::no || kind == TypeWord::base));
                tag_follows = kind == TypeWord::tag;
            }
            a.type += token_.spelling;
        }
        if (!typed)
            expected(tag_follows ? "the tag of a struct, union or enum" : "the type of an argument");
        a.name = name;
        a.type.erase(name_at, name.size());
        while (a.type.ends_with(' '))
            a.type.pop_back();
        return a;
    }

    void other()
    {
        // Ends with its ';', or with the '}' of a body: of a function, of a clause of D, of a translator.
        bool aggregate = false; // struct X { ... } x; goes on after the brace, and so does x = { ... };
        int parentheses = 0;
        std::vector<Token> braces;
        Token before;
        for (;; advance()) {
            if (token_.kind == Token::end) {
                if (!braces.empty())
                    lexer_.fail(braces.back(), "this '{' is never closed");
                return;
            }
            if (token_.is("{")) {
                if (braces.empty() && parentheses == 0 && before.is(")"))
                    aggregate = false;
                braces.push_back(token_);
            } else if (token_.is("}")) {
                if (braces.empty())
                    lexer_.fail(token_, "there is no '{' for this '}'");
                braces.pop_back();
                if (braces.empty() && parentheses <= 0 && !aggregate) {
                    advance();
                    return;
                }
            } else if (braces.empty()) {
                if (token_.is("("))
                    ++parentheses;
                else if (token_.is(")"))
                    --parentheses;
                else if (token_.is(";") && parentheses <= 0) {
                    advance();
                    return;
                } else if (token_.is("typedef") || token_.is("struct") || token_.is("union") || token_.is("enum")
                           || token_.is("="))
                    aggregate = true;
            }
            before = token_;
        }
    }

    Lexer lexer_;
    Token token_;
    std::unordered_map<std::string, Token> macros_; // to the probe's name
};

} // namespace

Model parse(std::string_view source, std::string_view file)
{
    return Parser(source, file).file();
}

} // namespace dtrace
