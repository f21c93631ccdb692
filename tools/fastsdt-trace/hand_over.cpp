// SPDX-License-Identifier: BSD-2-Clause
// Scripts that only bpftrace parses are rewritten too, so this knows no more of the language than where a clause's
// probes, filter and body are (src/lexer.l, src/parser.yy). What it takes wrongly bpftrace refuses: a text without a
// filter never comes out of it.
#include "hand_over.h"

#include "base/unusable.h"
#include "script/language.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <vector>

namespace fastsdt::trace_tool {
namespace {

using engine::Span;

// Of programs: what their processes are looked for by.
bool is_of_process(std::string_view kind)
{
    const auto known = engine::probe_kind_of(kind);
    return known && engine::Probe::has_sites(*known);
}

bool is_kind(std::string_view word)
{
    return engine::probe_kind_of(word) || engine::is_elsewhere(word, engine::Elsewhere::probe);
}

bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

struct Clause {
    std::vector<Span> probes;   ///< each from its first word to its last
    std::optional<Span> filter; ///< between the slashes
    size_t head_end = 0;        ///< behind the last probe
    size_t body = 0;            ///< the opening brace
    bool of_process = false;    ///< its probes have sites
};

class Scanner {
public:
    explicit Scanner(std::string_view text) : text_(text) {}

    std::vector<Clause> run()
    {
        std::vector<Clause> clauses;
        for (skip_blanks(); at_ < text_.size(); skip_blanks()) {
            if (text_[at_] == '#') {
                preprocessor();
            } else if (const std::string_view word = identifier();
                       word == "struct" || word == "union" || word == "enum") {
                definition();
            } else if (word == "config" || word == "macro") {
                at_ = std::min(text_.find('{', at_), text_.size());
                block();
            } else {
                clauses.push_back(clause());
                block();
            }
        }
        return clauses;
    }

private:
    [[noreturn]] void fail(const std::string& what) const
    {
        const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
        throw Unusable(
            fmt::format("line {} of the script: {}; so the script cannot be kept to one process", line, what));
    }

    bool starts(std::string_view word) const { return text_.substr(at_).starts_with(word); }

    // A comment, if there is one here.
    bool comment()
    {
        if (starts("//")) {
            at_ = std::min(text_.find('\n', at_), text_.size());
        } else if (starts("/*")) {
            const size_t end = text_.find("*/", at_ + 2);
            if (end == text_.npos)
                fail("a comment has no end");
            at_ = end + 2;
        } else {
            return false;
        }
        return true;
    }

    void skip_blanks()
    {
        while (at_ < text_.size() && (comment() || blank(text_[at_])))
            at_ += at_ < text_.size() && blank(text_[at_]) ? 1 : 0;
    }

    std::string_view identifier() const
    {
        size_t end = at_;
        while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) || text_[end] == '_'))
            ++end;
        return text_.substr(at_, end - at_);
    }

    void string()
    {
        const size_t start = at_++;
        while (at_ < text_.size() && text_[at_] != '"')
            at_ += text_[at_] == '\\' ? 2 : 1;
        if (at_ >= text_.size()) {
            at_ = start;
            fail("a string has no end");
        }
        ++at_;
    }

    void preprocessor()
    {
        while (at_ < text_.size() && text_[at_] != '\n')
            at_ += text_[at_] == '\\' && at_ + 1 < text_.size() ? 2 : 1;
    }

    // struct x { ... }; or struct x;
    void definition()
    {
        at_ = std::min(text_.find_first_of("{;", at_), text_.size());
        if (at_ >= text_.size())
            fail("a structure has no end");
        if (text_[at_] == '{')
            block();
        skip_blanks();
        if (at_ < text_.size() && text_[at_] == ';')
            ++at_;
    }

    // From a brace to behind the one that closes it.
    void block()
    {
        const size_t start = at_;
        for (size_t depth = 0; at_ < text_.size();) {
            if (comment())
                continue;
            const char c = text_[at_];
            if (c == '"') {
                string();
                continue;
            }
            ++at_;
            depth += c == '{' ? 1 : 0;
            if (c == '}' && --depth == 0)
                return;
        }
        at_ = start;
        fail("a brace is not closed");
    }

    // Its probes and its filter; then a brace is next.
    Clause clause()
    {
        Clause clause;
        bool joined = true; // the next word belongs to what is there, or begins a probe
        bool fresh = true;
        for (;;) {
            skip_blanks();
            if (at_ >= text_.size())
                fail("a clause has no action");
            const char c = text_[at_];
            if (c == '{')
                break;
            if (c == ',') {
                ++at_;
                fresh = joined = true;
                continue;
            }
            if (c == '/' && !joined) {
                filter(clause);
                break;
            }
            const size_t start = at_;
            word();
            joined = text_[at_ - 1] == ':';
            if (fresh) {
                clause.probes.push_back({start, at_ - start});
                kind(clause, start);
            } else {
                clause.probes.back().length = at_ - clause.probes.back().start;
            }
            fresh = false;
            clause.head_end = at_;
        }
        if (clause.probes.empty())
            fail("an action has no probe");
        clause.body = at_;
        return clause;
    }

    // Up to a blank, a comma or a brace that is not in quotes. A slash in it is one of a path.
    void word()
    {
        const size_t start = at_;
        while (at_ < text_.size() && !blank(text_[at_]) && text_[at_] != ',' && text_[at_] != '{') {
            if (text_[at_] == '"')
                string();
            else
                ++at_;
        }
        if (at_ == start || text_[start] == '}')
            fail("a probe is wanted");
    }

    void kind(Clause& clause, size_t start) const
    {
        const std::string_view kind = text_.substr(start, text_.find_first_of(": \t\r\n,{", start) - start);
        const bool of_process = is_of_process(kind);
        if (!is_kind(kind))
            fail(fmt::format("\"{}\" is no kind of probe that is known here", kind));
        if (clause.probes.size() == 1)
            clause.of_process = of_process;
        else if (of_process != clause.of_process)
            fail("probes of programs and others are in one clause, and want one each");
    }

    // bpftrace takes a "/" for the end of a filter if a brace is next.
    void filter(Clause& clause)
    {
        const size_t start = ++at_;
        while (at_ < text_.size()) {
            if (comment())
                continue;
            if (text_[at_] == '"') {
                string();
                continue;
            }
            if (text_[at_] == '/') {
                const size_t next = text_.find_first_not_of(" \t\r\n", at_ + 1);
                if (next != text_.npos && text_[next] == '{') {
                    clause.filter = Span{start, at_ - start};
                    at_ = next;
                    return;
                }
            }
            ++at_;
        }
        at_ = start;
        fail("a filter has no end");
    }

    std::string_view text_;
    size_t at_ = 0;
};

std::vector<std::string_view> parts_of(std::string_view probe)
{
    std::vector<std::string_view> parts;
    bool quoted = false;
    size_t start = 0;
    for (size_t i = 0; i <= probe.size(); ++i) {
        if (i == probe.size() || (probe[i] == ':' && !quoted)) {
            parts.push_back(probe.substr(start, i - start));
            start = i + 1;
        } else if (probe[i] == '"') {
            quoted = !quoted;
        }
    }
    return parts;
}

std::string unquoted(std::string_view text)
{
    std::string plain(text);
    std::erase(plain, '"');
    return plain;
}

// The filter of a clause, and that it is the process. A comment in it may end the line.
std::string filter_of(const std::string& process, std::string_view filter)
{
    if (filter.empty())
        return fmt::format(" /pid == {}/ ", process);
    return fmt::format(" /pid == {} && ({}{})/ ", process, filter, filter.find("//") != filter.npos ? "\n" : "");
}

} // namespace

std::string handed_over(std::string_view text, const std::string& process)
{
    std::string out;
    size_t from = 0;
    for (const Clause& clause : Scanner(text).run()) {
        if (!clause.of_process)
            continue;
        out += text.substr(from, clause.head_end - from);
        out += filter_of(process,
                         clause.filter ? text.substr(clause.filter->start, clause.filter->length) : std::string_view());
        from = clause.body;
    }
    return out += text.substr(from);
}

std::vector<std::string> files_of_return_probes(std::string_view text)
{
    std::vector<std::string> files;
    for (const Clause& clause : Scanner(text).run())
        for (const Span& probe : clause.probes) {
            const auto parts = parts_of(text.substr(probe.start, probe.length));
            if (parts.size() > 1 && (parts[0] == "uretprobe" || parts[0] == "ur"))
                files.push_back(unquoted(parts[1]));
        }
    return files;
}

} // namespace fastsdt::trace_tool
