// SPDX-License-Identifier: BSD-2-Clause
#include "kernel.h"
#include "commands.h"
#include "printable.h"
#include "say.h"
#include "search_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace fastsdt::tracing {
namespace {

std::string joined(const std::vector<std::string>& command)
{
    std::string line;
    for (const std::string& word : command)
        line += (line.empty() ? "" : " ") + word;
    return line;
}

} // namespace

// bpftrace takes a command apart at blanks and has no quotes (src/child.cpp), and before a command runs it knows only the files
// that are named.
std::string untellable(const Options& options, const engine::Script* script)
{
    if (options.interval && !script)
        return "--interval cannot be added to a script that only bpftrace reads; write interval:s:N { print(@map) }";
    if (options.pid)
        return {};
    for (const std::string& word : options.command)
        if (word.empty() || word.find(' ') != word.npos)
            return fmt::format(
                "bpftrace cannot run a command with \"{}\" in it, since it splits commands at blanks; start the "
                "command and use --pid",
                word);
    if (script)
        for (const engine::Clause& clause : script->clauses)
            for (const engine::Probe& probe : clause.probes)
                if (probe.has_sites() && probe.file == "*")
                    return fmt::format(
                        "{}: bpftrace does not look into all files of a command that it starts; name the FILE, or "
                        "use --pid",
                        probe.text);
    return {};
}

std::vector<std::string> kernel_command(const Options& options, const engine::Script* script)
{
    if (const std::string why = untellable(options, script); !why.empty())
        give_up(why);
    std::string text = options.text;
    if (!text.ends_with('\n') && (options.duration || options.interval))
        text += '\n';
    if (options.interval) {
        text += fmt::format("interval:ms:{} {{", options.interval->count());
        for (const engine::Map& map : script->maps)
            text += fmt::format(" print({});", map.name);
        text += " }\n";
    }
    if (options.duration)
        text += fmt::format("interval:ms:{} {{ exit(); }}\n", options.duration->count());
    std::vector<std::string> words = {"bpftrace"};
    if (options.json)
        words.insert(words.end(), {"-f", "json"});
    if (options.pid)
        words.insert(words.end(), {"-p", std::to_string(options.pid)});
    else
        words.insert(words.end(), {"-c", joined(options.command)});
    words.insert(words.end(), {"-e", text});
    return words;
}

namespace {

// A script of several lines, say: bash, zsh and ksh read it. Escapes are those of printable(), and \n.
std::string escaped_word(const std::string& word)
{
    std::string text;
    for (char c : word)
        text += c == '\n'            ? "\\n"
            : c == '\t'              ? "\\t"
            : c == '\\' || c == '\'' ? std::string("\\") + c
                                     : std::string(1, c);
    return "$'" + printable(text) + "'";
}

} // namespace

std::string shell_line(const std::vector<std::string>& words)
{
    std::string line;
    for (const std::string& word : words) {
        if (printable(word) != word) {
            line += (line.empty() ? "" : " ") + escaped_word(word);
            continue;
        }
        const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
            return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
                || std::string_view("-_./=:,+").find(c) != std::string_view::npos;
        });
        line += (line.empty() ? "" : " ") + (plain ? word : shell_quoted(word));
    }
    return line;
}

std::string kernel_obstacle(const Options& options, const engine::Script* script)
{
    if (const std::string why = untellable(options, script); !why.empty())
        return why;
    if (geteuid() != 0)
        return "bpftrace needs root";
    if (in_search_path("bpftrace").empty())
        return "bpftrace is not installed";
    return {};
}

void run_kernel(const Options& options, const engine::Script* script)
{
    const std::vector<std::string> command = kernel_command(options, script);
    if (const std::string obstacle = kernel_obstacle(options, script); !obstacle.empty())
        give_up(fmt::format("--engine kernel: {}. The command is: {}", obstacle, shell_line(command)));
    std::vector<char*> words;
    for (const std::string& word : command)
        words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    execvp(words[0], words.data());
    give_up(fmt::format("bpftrace: {}", std::strerror(errno)));
}

} // namespace fastsdt::tracing
