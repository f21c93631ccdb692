// SPDX-License-Identifier: BSD-2-Clause
#include "base/printable.h"
#include "base/search_path.h"
#include "base/unusable.h"
#include "bpftrace.h"
#include "elf/return_probes.h"
#include "hand_over.h"
#include "kernel.h"
#include "proc/maps.h"
#include "report/commands.h"
#include "say.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <set>
#include <sys/stat.h>
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

// What bpftrace compares with a number is the number that a process has in the first pid namespace of the machine. From
// within another there is no way to learn it: /proc, credentials and perf events all give the namespace's own.
bool in_first_namespace()
{
    struct stat ours{};
    constexpr ino_t first = 0xEFFFFFFC; // PROC_PID_INIT_INO, include/linux/proc_ns.h
    return stat("/proc/self/ns/pid", &ours) < 0 || ours.st_ino == first;
}

// @param first  see HandOver::first
std::vector<std::string> command_line(const Options& options, const engine::Script* script, std::string_view first)
{
    const std::string process = options.pid ? std::to_string(options.pid) : "cpid";
    std::string text = handed_over(options.text, {process, options.pid, script != nullptr, first});
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
    if (!first.empty())
        words.insert(words.end(),
                     {"-B", "line"}); // its output comes to us, and it would keep some thousand bytes of it back
    else if (!options.output.empty())
        words.insert(words.end(), {"-o", options.output});
    if (options.json)
        words.insert(words.end(), {"-f", "json"});
    if (options.pid)
        words.insert(words.end(), {"-p", process});
    else
        words.insert(words.end(), {"-c", joined(options.command)});
    words.insert(words.end(), {"-e", text});
    words.insert(words.end(), options.parameters.begin(), options.parameters.end());
    return words;
}

} // namespace

// bpftrace splits a command at blanks and knows no quotes (src/child.cpp). Before the command runs it knows only the
// files that the script names.
std::string untellable(const Options& options, const engine::Script* script)
{
    if (options.interval && !script)
        return "--interval cannot be added to a script that only bpftrace reads; write interval:s:N { print(@map) }";
    if (!options.one_process())
        return "bpftrace traces one process at a time";
    if (script && !script->beyond_bpftrace.empty())
        return fmt::format("bpftrace has no {}, {}", script->beyond_bpftrace,
                           engine::unwinds(*script) ? "which --engine user has; its ustack follows frame pointers"
                                                    : "the arguments of its probes are arg0 to arg9");
    try {
        command_line(options, script, {});
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
    return command_line(options, script, {});
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
    std::string why;
    const std::set<std::string> each(files.begin(), files.end());
    for (const std::string& file : each) {
        std::error_code error;
        if (!why.empty() || !std::filesystem::is_regular_file(file, error))
            continue;
        const std::string name =
            file.starts_with("/proc/") ? std::filesystem::read_symlink(file, error).string() : file;
        const auto look = [&](const Image& image) {
            if (const std::string reason = why_no_return_probe(image, name); !reason.empty())
                why = fmt::format("{} {}", printable(name), reason);
        };
        try {
            Image::each(file, look, [](const Error&) {});
        } catch (const Unusable&) {
            // no code of the program
        }
    }
    return why;
}

} // namespace

std::string return_probe_obstacle(const Options& options)
{
    const auto files = files_of_return_probes(options.text);
    if (files.empty())
        return {};
    if (!options.return_probes)
        return "a uretprobe of bpftrace replaces return addresses, which ends Go programs, programs that throw through "
               "the function, and those with a shadow stack; if this is none of these, give --uretprobe";
    const std::string why = why_no_return_probe(options, files);
    return why.empty() ? why : "a uretprobe could end the process: " + why;
}

std::string kernel_obstacle(const Options& options, const engine::Script* script, bool returns)
{
    if (const std::string why = untellable(options, script); !why.empty())
        return why;
    if (const std::string why = returns ? return_probe_obstacle(options) : ""; !why.empty())
        return why;
    if (options.follow.value_or(false))
        return "bpftrace counts one process, and --follow wants its children too";
    if (options.folded)
        return "bpftrace prints no folded stacks";
    if (geteuid() != 0)
        return "bpftrace needs root";
    if (in_search_path("bpftrace").empty())
        return "bpftrace is not installed";
    if (!in_first_namespace())
        return "bpftrace knows processes by their numbers in the machine's first pid namespace, which cannot be "
               "learned "
               "from within another: it would count other processes too";
    return {};
}

void run_kernel(const Options& options, const engine::Script* script)
{
    const std::vector<std::string> command = kernel_command(options, script);
    if (const std::string obstacle = return_probe_obstacle(options); !obstacle.empty())
        give_up(fmt::format("--engine kernel: {}", obstacle));
    if (const std::string obstacle = kernel_obstacle(options, script); !obstacle.empty())
        give_up(fmt::format("--engine kernel: {}. The command is: {}", obstacle, shell_line(command)));
    const std::vector<char*> words = pointers(command);
    execvp(words[0], words.data());
    give_up(fmt::format("bpftrace: {}", std::strerror(errno)));
}

namespace {

using Clock = std::chrono::steady_clock;

// With --pid bpftrace has another name for the file of a USDT probe than the script: /proc/PID/root/PATH. What to write in
// place of what.
using Names = std::vector<std::pair<std::string, std::string>>;

Names names_of_files(const engine::Script& script, pid_t pid)
{
    Names names;
    const std::string theirs = fmt::format("usdt:/proc/{}/root/", pid);
    for (const engine::Clause& clause : script.clauses)
        for (const engine::Probe& probe : clause.probes) {
            std::error_code error;
            const std::string path = std::filesystem::canonical(probe.file, error);
            if (probe.kind == engine::Probe::Kind::usdt && !error)
                names.emplace_back(fmt::format("{}{}:", theirs, path.substr(1)), fmt::format("usdt:{}:", probe.file));
        }
    names.emplace_back(theirs, "usdt:/");
    return names;
}

// Passes on what bpftrace prints, from the line on that says that its probes are attached.
class Passed {
public:
    Passed(std::string_view first, Names names) : first_(first), names_(std::move(names)) {}

    /// True: these bytes have the line.
    bool take(std::string_view bytes)
    {
        held_ += bytes;
        if (began_) {
            pass_on();
            return false;
        }
        const size_t found = held_.find(first_);
        const size_t end = found == held_.npos ? found : held_.find('\n', found);
        if (end == held_.npos)
            return false;
        began_ = true;
        held_.erase(held_.rfind('\n', found) + 1, end - held_.rfind('\n', found)); // npos + 1 is 0
        pass_on();
        return true;
    }
    bool began() const { return began_; }
    bool failed() const { return !std::cout; } ///< it takes no more

private:
    void pass_on()
    {
        for (const auto& [theirs, ours] : names_)
            for (size_t at = 0; (at = held_.find(theirs, at)) != held_.npos; at += ours.size())
                held_.replace(at, theirs.size(), ours);
        std::cout << held_ << std::flush;
        held_.clear();
    }

    std::string_view first_;
    Names names_;
    std::string held_;
    bool began_ = false;
};

} // namespace

std::optional<int> run_beside(const Options& options, const engine::Script& script, Signals& signals,
                              const Traced& traced)
{
    Bpftrace bpftrace(command_line(options, &script, attached_line), signals);
    Passed passed(attached_line, names_of_files(script, options.pid));
    unsigned stops = 0;
    auto pause = std::chrono::milliseconds(100);
    std::optional<Clock::time_point> again;
    // It detaches and prints its maps; a second interrupt is for who does not want to wait for that.
    const auto stop = [&] {
        if (++stops == 1)
            bpftrace.interrupt();
        else
            bpftrace.end();
        again = Clock::now() + pause;
    };
    for (;;) {
        const auto ready = wait_readable({bpftrace.output(), signals.descriptor()}, again);
        if (again && Clock::now() >= *again) {
            bpftrace.remind();
            again = Clock::now() + (pause *= 2);
        }
        while (const auto signal = ready[1] ? signals.next() : std::nullopt)
            if (signal->number == SIGUSR1) {
                if (passed.began())
                    bpftrace.ask_for_maps();
            } else if (!passed.began() || traced.stops(*signal)) {
                stop();
            }
        if (!ready[0])
            continue;
        std::array<char, 65536> buffer;
        const ssize_t got = read(bpftrace.output(), buffer.data(), buffer.size());
        if (got == 0 || (got < 0 && errno != EINTR))
            break;
        if (got > 0 && passed.take({buffer.data(), static_cast<size_t>(got)}))
            traced.begin();
        if (passed.failed() && stops == 0)
            stop();
    }
    const int status = bpftrace.reap();
    if (stops > 0 && !passed.began())
        give_up("interrupted before all probes were attached");
    return passed.began() ? std::optional(status) : std::nullopt;
}

} // namespace fastsdt::trace_tool
