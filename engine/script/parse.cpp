// SPDX-License-Identifier: BSD-2-Clause
#include "base/printable.h"
#include "script/parse.h"
#include "script/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>

namespace fastsdt::engine {

// What the script declares itself counts more than what headers do.
static void include(ast::Script& written, std::string_view text, const Surroundings& around)
{
    std::vector<std::string> includes = around.includes;
    includes.insert(includes.end(), written.includes.begin(), written.includes.end());
    if (includes.empty())
        return;
    if (!around.headers)
        fail(written.first_include, "only fastsdt-trace reads headers");
    std::set<std::string> words;
    const auto is_part = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
    for (size_t at = 0; at < text.size();) {
        const size_t start = at;
        while (at < text.size() && is_part(static_cast<unsigned char>(text[at])))
            ++at;
        words.emplace(text.substr(start, at - start));
        at += at == start;
    }
    Declared declared = around.headers->read(includes, words);
    written.records.merge(declared.records);
    written.constants.merge(declared.constants);
}

Script parse(std::string_view text, const std::vector<std::string>& parameters, DebugTypes* debug,
             const Surroundings& around)
{
    std::optional<ScriptError> error;
    ast::Script written = read_grammar(text, parameters, error);
    include(written, text, around);
    if (error) { // what stands before it in the text counts first
        try {
            resolve(written, parameters, around);
        } catch (const ScriptError& before) {
            if (before.where.start < error->where.start)
                throw;
        }
        throw ScriptError(*error);
    }
    Draft draft = resolve(written, parameters, around);
    infer(draft, debug, around.is_newer);
    return check(std::move(draft));
}

std::string syntax_tree(std::string_view text, const std::vector<std::string>& parameters)
{
    std::optional<ScriptError> error;
    const ast::Script written = read_grammar(text, parameters, error);
    if (error)
        throw ScriptError(*error);
    return print(written);
}

Position position(std::string_view text, Span where)
{
    const size_t at = std::min(where.start, text.size());
    const size_t start = text.substr(0, at).rfind('\n') + 1; // npos + 1 is 0
    const auto lines = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    return {static_cast<size_t>(lines) + 1, at - start + 1};
}

std::string explain(const ScriptError& error, std::string_view text, std::string_view name)
{
    if (error.where.start == nowhere.start) {
        std::string lines = fmt::format("error: {}\n", printable(error.what()));
        std::istringstream hint(error.hint);
        for (std::string line; std::getline(hint, line); lines += printable(line) + '\n')
            if (lines.find("HINT") == lines.npos)
                lines += "HINT: ";
        return lines;
    }
    const size_t at = std::min(error.where.start, text.size());
    const Position position = engine::position(text, error.where);
    const size_t start = at + 1 - position.column;
    const size_t end = std::min(text.find('\n', at), text.size());

    // The caret's line gets as many blanks as the text before the caret is wide when printed.
    std::string line, pointer;
    const auto shown = [](std::string_view piece) { return piece == "\t" ? std::string(1, '\t') : printable(piece); };
    const auto character = [&](size_t from) { // a whole one of UTF-8
        size_t to = from + 1;
        while (to < end && (static_cast<unsigned char>(text[to]) & 0xc0) == 0x80)
            ++to;
        return text.substr(from, to - from);
    };
    const size_t stop = std::min(end, at + std::max<size_t>(error.where.length, 1));
    for (size_t i = start; i < end;) {
        const std::string_view one = character(i);
        const std::string piece = shown(one);
        line += piece;
        const size_t width = one.size() > 1 && piece == one ? 1 : piece.size();
        if (i < at)
            pointer += piece == "\t" ? piece : std::string(width, ' ');
        else if (i < stop)
            pointer += std::string(width, i == at ? '^' : '~');
        i += one.size();
    }
    if (at >= end)
        pointer += '^';
    return fmt::format("{}:{}:{}: error: {}\n{}\n{}\n", printable(name), position.line, position.column,
                       printable(error.what()), line, pointer);
}

} // namespace fastsdt::engine
