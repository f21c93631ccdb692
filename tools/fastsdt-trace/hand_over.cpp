// SPDX-License-Identifier: BSD-2-Clause
// Scripts that only bpftrace parses are rewritten too, so this knows no more of the language than where a clause's
// probes, filter and body are (src/lexer.l, src/parser.yy). What it takes wrongly bpftrace refuses: a text without a
// filter never comes out of it.
#include "hand_over.h"

#include "arch/args.h"
#include "base/search_path.h"
#include "base/unusable.h"
#include "code/machine.h"
#include "elf/image.h"
#include "proc/maps.h"
#include "script/language.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fnmatch.h>
#include <map>
#include <optional>
#include <set>
#include <utility>
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
    size_t end = 0;             ///< behind the closing one
    std::string_view kind;      ///< of the first probe
    bool of_process = false;
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
                clauses.back().end = at_;
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
        if (clause.probes.size() == 1) {
            clause.kind = kind;
            clause.of_process = of_process;
        } else if (of_process != clause.of_process) {
            fail("probes of programs and others are in one clause, and want one each");
        }
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

bool pattern(std::string_view text)
{
    return text.find_first_of("*?[") != text.npos;
}

std::string unquoted(std::string_view text)
{
    std::string plain(text);
    std::erase(plain, '"');
    return plain;
}

// Of a process's file, the path by which it can be opened here.
std::string path_here(const std::string& name, pid_t pid)
{
    std::error_code error;
    const std::string there = fmt::format("/proc/{}/root{}", pid, name);
    return std::filesystem::equivalent(name, there, error) ? name : there;
}

// Files of the process that a script means by `file`, as paths that can be opened here.
std::set<std::string> mapped_files(const std::string& file, pid_t pid)
{
    namespace fs = std::filesystem;
    std::error_code error;
    const bool only_a_name = file.find('/') == file.npos && !fs::exists(file, error) && in_search_path(file).empty();
    const std::string path = only_a_name || fs::exists(file, error) ? file : in_search_path(file);
    std::set<std::string> found, seen;
    for (const Mapping& m : read_maps(pid)) {
        if (!m.executable || !m.inode || !seen.insert(m.name).second)
            continue;
        const std::string there = fmt::format("/proc/{}/root{}", pid, m.name);
        const bool meant = pattern(file) ? fnmatch(file.c_str(), m.name.c_str(), 0) == 0
            : only_a_name                ? fs::path(m.name).filename() == file
                                         : file == m.name || fs::equivalent(path, there, error);
        if (meant)
            found.insert(path_here(m.name, pid));
    }
    return found;
}

struct Functions {
    std::vector<std::string> good; ///< that bpftrace attaches to
    bool bad = false;              ///< there are others
};

// bpftrace 0.17 refuses symbols without a size, and with one of them the whole script.
Functions functions_like(const std::string& file, const std::string& glob)
{
    Functions found;
    try {
        Image::each(
            file,
            [&](const Image& image) {
                for (const Function& f : image.functions()) {
                    std::vector<std::string_view> names = f.aliases;
                    names.push_back(f.name);
                    for (const std::string_view name : names) {
                        if (fnmatch(glob.c_str(), std::string(name).c_str(), 0) != 0)
                            continue;
                        if (f.size == 0)
                            found.bad = true;
                        else
                            found.good.emplace_back(name);
                    }
                }
            },
            [](const Error&) {});
    } catch (const Unusable&) {
        // bpftrace may read it all the same.
    }
    return found;
}

// Functions of a file, by the pattern where bpftrace can attach to all of them. Empty: it has none.
std::string functions_of(std::string_view kind, const std::string& file, const std::string& here,
                         const std::string& name)
{
    const Functions functions = functions_like(here, name);
    if (!functions.good.empty() && !functions.bad)
        return fmt::format("{}:\"{}\":{}", kind, file, name);
    std::string all;
    for (const std::string& one : functions.good)
        all += fmt::format("{}{}:\"{}\":{}", all.empty() ? "" : ", ", kind, file, one);
    return all;
}

// One probe as bpftrace can read it.
std::string readable(std::string_view probe, pid_t pid)
{
    std::vector<std::string_view> parts = parts_of(probe);
    if (parts.size() < 3)
        return std::string(probe);
    const bool function = parts[0].starts_with('u') && parts[0] != "usdt";
    std::string file = unquoted(parts[1]);
    if (pid && file.find('/') == file.npos && !pattern(file))
        if (const auto mapped = mapped_files(file, pid); mapped.size() == 1)
            file = *mapped.begin();
    std::error_code error;
    const std::string here = std::filesystem::exists(file, error) ? file : in_search_path(file);
    const std::string name = unquoted(parts[2]);
    if (function && pid && pattern(file)) { // bpftrace would take it for files of the working directory
        std::string all;
        for (const std::string& one : mapped_files(file, pid))
            if (const std::string some = functions_of(parts[0], one, one, name); !some.empty())
                all += (all.empty() ? "" : ", ") + some;
        if (all.empty())
            throw Unusable(fmt::format(
                "{}: no file that the process has mapped so far has such a function; name the FILE", probe));
        return all;
    }
    if (function && parts.size() == 3 && pattern(name) && !pattern(file) && !here.empty())
        if (const std::string all = functions_of(parts[0], file, here, name); !all.empty())
            return all;
    const auto plain = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c))
            || std::string_view("_-./#*").find(c) != std::string_view::npos;
    };
    std::string text(parts[0]);
    text += std::all_of(file.begin(), file.end(), plain) ? ":" + file : ":\"" + file + '"';
    for (size_t i = 2; i < parts.size(); ++i)
        text += fmt::format(":{}", parts[i]);
    return text;
}

} // namespace

namespace {

void arguments_read(const engine::Expression& e, std::set<unsigned>& read)
{
    if (e.kind == engine::Expression::Kind::value && e.value == engine::Value::arg)
        read.insert(e.argument);
    for (const engine::Expression& operand : e.operands)
        arguments_read(operand, read);
}

std::set<unsigned> arguments_read(const engine::Clause& clause)
{
    std::set<unsigned> read;
    if (clause.filter)
        arguments_read(*clause.filter, read);
    each_statement(clause.actions, [&](const engine::Statement& statement) {
        each_expression(statement, [&](const engine::Expression& e) { arguments_read(e, read); });
    });
    return read;
}

// IRBuilderBPF::CreateUSDTReadArgument() knows these sizes.
bool can_read(const engine::Site& site, const std::set<unsigned>& indices)
{
    const std::vector<Argument> arguments = parse_arguments(site.arguments, engine::own_machine.arch);
    return std::all_of(indices.begin(), indices.end(), [&](unsigned i) {
        const int size = i < arguments.size() ? arguments[i].size : 8;
        return size == 1 || size == 2 || size == 4 || size == 8;
    });
}

// What stands in place of a part of a clause.
using Replacements = std::map<size_t, std::pair<size_t, std::string>>; // by its start: length, text

std::string replaced(std::string_view text, Span part, const Replacements& replacements)
{
    std::string out;
    size_t from = part.start;
    const size_t end = part.start + part.length;
    for (auto one = replacements.lower_bound(from); one != replacements.end() && one->first < end; ++one) {
        out += text.substr(from, one->first - from);
        out += one->second.second;
        from = one->first + one->second.first;
    }
    out += text.substr(from, end - from);
    return out;
}

void replace_names(const engine::Expression& e, const engine::Site& site, Replacements& to)
{
    if (e.kind == engine::Expression::Kind::value
        && (e.value == engine::Value::probe || e.value == engine::Value::function))
        to[e.where.start] = {e.where.length,
                             std::to_string(e.value == engine::Value::probe ? site.probe : site.function)};
    for (const engine::Expression& operand : e.operands)
        replace_names(operand, site, to);
}

// "@ = avg(value)": the value is found in the text, and the function before it.
void replace_average(std::string_view text, const engine::Statement& statement, Replacements& to)
{
    constexpr std::string_view average = "avg";
    size_t end = statement.value->where.start;
    while (end > statement.where.start && (blank(text[end - 1]) || text[end - 1] == '('))
        --end;
    if (!text.substr(0, end).ends_with(average))
        throw Unusable("avg() is not found in the script's text");
    to[end - average.size()] = {average.size(), "stats"};
}

Replacements replacements(const engine::Script& script, const engine::Clause& clause, const engine::Site& site)
{
    Replacements found;
    if (clause.filter)
        replace_names(*clause.filter, site, found);
    each_statement(clause.actions, [&](const engine::Statement& statement) {
        each_expression(statement, [&](const engine::Expression& e) { replace_names(e, site, found); });
        if (statement.kind == engine::Statement::Kind::update
            && script.maps[statement.map].kind == engine::MapKind::avg)
            replace_average(script.source, statement, found);
    });
    return found;
}

// A site's probe, with the path of its file by which it can be opened here.
std::string probe_text(const engine::Site& site, pid_t pid)
{
    const std::string file = path_here(site.file, pid);
    if (site.kind == engine::Probe::Kind::usdt)
        return fmt::format("usdt:\"{}\":{}:{}", file, site.provider, site.name);
    return fmt::format("{}:\"{}\":{}", site.kind == engine::Probe::Kind::entry ? "uprobe" : "uretprobe", file,
                       site.name);
}

// The filter of a clause, and that it is the process. A comment in it may end the line.
std::string filter_of(const std::string& process, std::string_view filter)
{
    if (filter.empty())
        return fmt::format(" /pid == {}/ ", process);
    return fmt::format(" /pid == {} && ({}{})/ ", process, filter, filter.find("//") != filter.npos ? "\n" : "");
}

} // namespace

std::string without_unreadable(const engine::Script& script, std::span<const engine::Site> sites,
                               std::vector<std::string>& left_out)
{
    const auto fits = [](const std::string& glob, const std::string& name) {
        return fnmatch(glob.c_str(), name.c_str(), 0) == 0;
    };
    std::string out;
    size_t from = 0;
    for (size_t clause = 0; clause < script.clauses.size(); ++clause) {
        const std::set<unsigned> read = arguments_read(script.clauses[clause]);
        for (const engine::Probe& probe : script.clauses[clause].probes) {
            if (probe.kind != engine::Probe::Kind::usdt || !(pattern(probe.provider) || pattern(probe.name)))
                continue;
            std::set<std::string> good, bad;
            for (const engine::Site& site : sites) {
                if (site.kind != probe.kind || !fits(probe.provider, site.provider) || !fits(probe.name, site.name)
                    || std::find(site.clauses.begin(), site.clauses.end(), clause) == site.clauses.end())
                    continue;
                (can_read(site, read) ? good : bad)
                    .insert(fmt::format("usdt:\"{}\":{}:{}", pattern(probe.file) ? site.file : probe.file,
                                        site.provider, site.name));
            }
            if (good.empty() || bad.empty())
                continue;
            for (const std::string& one : bad)
                good.erase(one); // another site of the probe
            left_out.insert(left_out.end(), bad.begin(), bad.end());
            out += script.source.substr(from, probe.where.start - from);
            out += fmt::format("{}", fmt::join(good, ", "));
            from = probe.where.start + probe.where.length;
        }
    }
    return out + script.source.substr(from);
}

std::string handed_over(std::string_view text, const HandOver& how)
{
    std::string out;
    size_t from = 0;
    bool said = how.first.empty();
    const std::string say_first = fmt::format("printf(\"{}\\n\");", how.first);
    for (const Clause& clause : Scanner(text).run()) {
        const auto until = [&](size_t to) {
            out += text.substr(from, to - from);
            from = to;
        };
        if (clause.of_process) {
            if (how.ours)
                for (const Span& probe : clause.probes) {
                    until(probe.start);
                    out += readable(text.substr(probe.start, probe.length), how.pid);
                    from += probe.length;
                }
            until(clause.head_end);
            out += filter_of(
                how.process,
                clause.filter ? text.substr(clause.filter->start, clause.filter->length) : std::string_view());
            from = clause.body;
        } else if (clause.kind == "BEGIN" && !said) {
            until(clause.body + 1);
            out += ' ' + say_first;
            said = true;
        }
    }
    out += text.substr(from);
    if (!said)
        out += fmt::format("{}BEGIN {{ {} }}\n", out.ends_with('\n') ? "" : "\n", say_first);
    return out;
}

std::string handed_over_in_part(const engine::Script& script, std::span<const engine::Site> sites, pid_t pid)
{
    const std::string_view text = script.source;
    std::string out;
    size_t from = 0;
    for (const Clause& clause : Scanner(text).run()) {
        out += text.substr(from, clause.probes[0].start - from);
        from = clause.end;
        if (!clause.of_process)
            continue;
        const auto parsed = std::find_if(script.clauses.begin(), script.clauses.end(), [&](const engine::Clause& one) {
            return !one.probes.empty() && one.probes[0].where.start == clause.probes[0].start;
        });
        if (parsed == script.clauses.end())
            throw Unusable("a clause is not found in the script's text");
        std::set<std::string> done;
        for (const engine::Site& site : sites) {
            const auto index = static_cast<size_t>(parsed - script.clauses.begin());
            const std::string probe = probe_text(site, pid);
            if (std::find(site.clauses.begin(), site.clauses.end(), index) == site.clauses.end()
                || !done.insert(probe).second)
                continue;
            const Replacements numbers = replacements(script, *parsed, site);
            out += probe + filter_of(std::to_string(pid), clause.filter ? replaced(text, *clause.filter, numbers) : "");
            out += replaced(text, {clause.body, clause.end - clause.body}, numbers) + '\n';
        }
    }
    return out + std::string(text.substr(from)) + '\n';
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

bool can_read(const engine::Site& site, const engine::Clause& clause)
{
    return site.kind != engine::Probe::Kind::usdt || can_read(site, arguments_read(clause));
}

bool has_function(const engine::Probe& probe, pid_t pid)
{
    for (const std::string& file : mapped_files(probe.file, pid))
        if (!functions_like(file, probe.name).good.empty())
            return true;
    return false;
}

} // namespace fastsdt::trace_tool
