// SPDX-License-Identifier: BSD-2-Clause
#include "base/printable.h"
#include "base/search_path.h"
#include "base/unusable.h"
#include "bpftrace.h"
#include "elf/return_probes.h"
#include "hand_over.h"
#include "output_of.h"
#include "proc/maps.h"
#include "proc/processes.h"
#include "report/commands.h"
#include "say.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <unistd.h>

namespace fastsdt::trace_tool {
namespace {

std::string joined(const std::vector<std::string>& command)
{
    std::string line;
    for (const std::string& word : command)
        line += (line.empty() ? "" : " ") + word;
    return line;
}

std::vector<std::string> command_line(const Options& options)
{
    const std::string process = options.pid ? std::to_string(options.pid) : "cpid";
    std::string text = handed_over(options.text, process);
    if (options.duration)
        text += fmt::format("{}interval:ms:{} {{ exit(); }}\n", text.ends_with('\n') ? "" : "\n",
                            options.duration->count());
    std::vector<std::string> words = {"bpftrace"};
    if (!options.output.empty())
        words.insert(words.end(), {"-o", options.output});
    if (options.json)
        words.insert(words.end(), {"-f", "json"});
    if (options.unsafe)
        words.emplace_back("--unsafe");
    if (options.pid)
        words.insert(words.end(), {"-p", process});
    else
        words.insert(words.end(), {"-c", joined(options.command)});
    for (const std::string& folder : options.include_folders)
        words.insert(words.end(), {"-I", folder});
    for (const std::string& file : options.includes)
        words.insert(words.end(), {"--include", file});
    words.insert(words.end(), {"-e", text});
    words.insert(words.end(), options.parameters.begin(), options.parameters.end());
    return words;
}

} // namespace

// bpftrace splits a command at blanks and knows no quotes (src/child.cpp).
std::string untellable(const Options& options)
{
    if (options.interval)
        return "--interval cannot be added to a script that only bpftrace reads; write interval:s:N { print(@map) }";
    if (!options.one_process())
        return "bpftrace traces one process at a time";
    try {
        command_line(options);
    } catch (const Unusable& error) {
        return error.what();
    }
    if (options.pid)
        return {};
    for (const std::string& word : options.command)
        if (word.empty() || word.find(' ') != word.npos)
            return fmt::format(
                "bpftrace cannot run a command with \"{}\" in it, since it splits commands at blanks; start the "
                "command and use --pid",
                word);
    return {};
}

std::vector<std::string> bpftrace_command(const Options& options)
{
    if (const std::string why = untellable(options); !why.empty())
        give_up(why);
    return command_line(options);
}

namespace {

// A word with control characters, as a script of several lines has, in the form that bash, zsh and ksh read. Its
// escapes are those of printable(), \n and \t.
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

namespace {

// Of the files whose code runs in the process, as far as they are known: those that it has mapped, those of the script, the command.
std::string why_no_return_probe(const Options& options, std::vector<std::string> files)
{
    for (std::string& file : files)
        if (const std::string found = in_search_path(file); file.find('/') == file.npos && !found.empty())
            file = found;
    if (!options.command.empty())
        files.push_back(in_search_path(options.command[0]));
    if (options.pid)
        for (const Mapping& mapping : read_maps(options.pid))
            if (mapping.executable && mapping.inode)
                files.push_back(fmt::format("/proc/{}/map_files/{:x}-{:x}", options.pid, mapping.start, mapping.end));
    const std::set<std::string> each(files.begin(), files.end());
    for (const std::string& file : each) {
        std::error_code error;
        if (!std::filesystem::is_regular_file(file, error))
            continue;
        const std::string name =
            file.starts_with("/proc/") ? std::filesystem::read_symlink(file, error).string() : file;
        if (const std::string why = fastsdt::why_no_return_probe(file, name); !why.empty())
            return why;
    }
    return {};
}

} // namespace

std::string return_probe_obstacle(const Options& options)
{
    const auto files = files_of_return_probes(options.text);
    if (files.empty())
        return {};
    const bool has_go = std::ranges::any_of(files, [&](const std::string& file) { return is_go(file, options); });
    const std::string why = has_go || options.return_probes ? why_no_return_probe(options, files) : std::string();
    if (why.empty() && !options.return_probes)
        return "a uretprobe of bpftrace replaces return addresses, which ends Go programs, programs that throw through "
               "the function, and those with a shadow stack; if this is none of these, give --uretprobe";
    return why.empty() ? why : "a uretprobe could end the process: " + why;
}

namespace {

// N of "bpftrace v0.N.0", as the installed one says.
std::optional<unsigned> minor_version()
{
    const std::string program = in_search_path("bpftrace");
    const auto told = program.empty() ? std::nullopt : output_of(program, {"bpftrace", "--version"});
    constexpr std::string_view before = "bpftrace v0.";
    unsigned minor = 0;
    const bool tells = told && told->starts_with(before)
        && std::from_chars(told->data() + before.size(), told->data() + told->size(), minor).ec == std::errc();
    return tells ? std::optional(minor) : std::nullopt;
}

} // namespace

std::string too_old_bpftrace(unsigned since)
{
    const auto minor = since ? minor_version() : std::nullopt;
    return minor && *minor < since
        ? fmt::format("bpftrace has that since 0.{}, and 0.{} is installed here", since, *minor)
        : "";
}

std::string bpftrace_obstacle(const Options& options)
{
    if (const std::string why = untellable(options); !why.empty())
        return why;
    if (const std::string why = return_probe_obstacle(options); !why.empty())
        return why;
    if (options.follow.value_or(false))
        return "bpftrace counts one process, and --follow wants its children too";
    if (!options.pprof.empty())
        return "bpftrace writes no profiles";
    if (options.folded)
        return "bpftrace prints no folded stacks";
    if (geteuid() != 0)
        return "bpftrace needs root";
    if (in_search_path("bpftrace").empty())
        return "bpftrace is not installed";
    // From within another there is no way to learn it: /proc, credentials and perf events all give the namespace's own.
    if (inner_pid_namespace("self"))
        return "bpftrace knows processes by their numbers in the machine's first pid namespace, which cannot be "
               "learned from within another: it would count other processes too";
    return {};
}

void run_bpftrace(const Options& options)
{
    std::vector<std::string> command = bpftrace_command(options);
    if (const std::string obstacle = bpftrace_obstacle(options); !obstacle.empty())
        give_up(fmt::format("--engine bpftrace: {}. The command is: {}", obstacle, shell_line(command)));
    std::vector<char*> words;
    for (std::string& word : command)
        words.push_back(word.data());
    words.push_back(nullptr);
    execvp(words[0], words.data());
    give_up(fmt::format("bpftrace: {}", std::strerror(errno)));
}

} // namespace fastsdt::trace_tool
