// SPDX-License-Identifier: BSD-2-Clause
#include "commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace fastsdt {
namespace {

std::string shell_quoted(std::string_view text)
{
    std::string quoted = "'";
    for (char c : text)
        quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return quoted + "'";
}

bool only_of(std::string_view text, std::string_view more)
{
    return std::all_of(text.begin(), text.end(), [&](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || more.find(c) != more.npos;
    });
}

// What tracefs takes for a group's or event's name: is_good_name() of kernel/trace/trace_probe.h.
std::string event_name(std::string_view text)
{
    constexpr size_t longest = 60; // MAX_EVENT_NAME_LEN is 64, and a number may follow
    std::string name(text.substr(0, longest));
    for (char& c : name)
        if (!only_of(std::string_view(&c, 1), "_"))
            c = '_';
    if (name.empty() || (name[0] >= '0' && name[0] <= '9'))
        name.insert(0, "_");
    return name;
}

bool letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// What bpftrace's lexer takes for one word in a probe's name, without wildcards (0.17 and 0.23, src/lexer.l). A name is
// otherwise the beginning of a program: "n {} BEGIN { system(...) } END".
bool plain_name(std::string_view text)
{
    return !text.empty() && (letter(text[0]) || text[0] == '_') && only_of(text, "_.-");
}

// A path that can stand in quotes in a bpftrace program, where it is a pattern.
bool plain_path(std::string_view path)
{
    return std::none_of(path.begin(), path.end(), [](char c) {
        return (unsigned char)c < 0x20 || c == 0x7f || c == '"' || c == '\\' || c == '*' || c == '?' || c == '[';
    });
}

// A path that can stand in a line for uprobe_events: trace_parse_run_command() ends commands at '#' and at line ends,
// argv_split() words at blanks; some shells' echo takes a backslash for an escape.
bool plain_word(std::string_view path)
{
    return std::none_of(path.begin(), path.end(), [](char c) {
        return (unsigned char)c <= 0x20 || c == 0x7f || (unsigned char)c == 0xa0 || c == '#' || c == '\\';
    });
}

template <typename... Args> void remark(AttachPoint& point, fmt::format_string<Args...> text, Args&&... args)
{
    point.remarks.push_back(fmt::format(text, std::forward<Args>(args)...));
}

} // namespace

Commands::Commands(const Image& image)
{
    std::error_code error;
    path_ = std::filesystem::absolute(image.path(), error).lexically_normal().string();
    if (error)
        path_ = image.path();
}

void Commands::write(AttachPoint& point, std::string_view symbol)
{
    write_bpftrace(point, symbol);
    write_perf(point);
}

void Commands::write_bpftrace(AttachPoint& point, std::string_view symbol)
{
    if (!plain_path(path_)) {
        remark(point,
               "bpftrace cannot name this file: its path has a quotation mark, backslash, wildcard or control "
               "character.");
        return;
    }
    const std::string path = only_of(path_, "_./+-") ? path_ : '"' + path_ + '"';
    const bool named = point.entry ? plain_name(symbol) : plain_name(point.provider) && plain_name(point.name);
    const Verdict at_note = point.at_note.verdict;
    const bool at_note_works = at_note != Verdict::reject && at_note != Verdict::unknown;
    std::string probe, options;
    if (named && !point.entry && *point.offset == 0) {
        probe = fmt::format("usdt:{}:{}:{}", path, point.provider, point.name);
    } else if (named && !point.entry && point.semaphore_offset && at_note_works) {
        probe = fmt::format("usdt:{}:{}:{}", path, point.provider, point.name);
        remark(point,
               "The bpftrace command attaches at the note's pc ({}): at an address bpftrace would not raise the "
               "semaphore, and the program may skip the probe.",
               name(at_note));
    } else if (named && point.entry && *point.offset == 0) {
        probe = fmt::format("uprobe:{}:{}", path, symbol);
    } else {
        probe = fmt::format("uprobe:{}:0x{:x}", path, point.address);
        options = " --unsafe";
        if (!named && !(point.entry && symbol.empty()))
            remark(point, "bpftrace cannot take the name, which is not a plain word: the command has the address.");
        remark(point,
               "bpftrace attaches to an address inside a function only if it was built with support for "
               "offsets (Debian 12's 0.17 was not), or if the file has no symbols.");
        if (!point.entry && point.semaphore_offset)
            remark(point, "At an address bpftrace does not raise the semaphore: the program may skip the probe.");
        if (!point.entry && named && at_note_works)
            remark(point,
                   "At an address bpftrace decodes no probe arguments; usdt:{}:{}:{} does, at the note's pc ({}).",
                   path, point.provider, point.name, name(at_note));
    }
    point.bpftrace = fmt::format("bpftrace{} -e {}", options, shell_quoted(probe + " { @[probe] = count(); }"));
}

// Several probes may have one name.
std::string Commands::new_event(const std::string& group, const std::string& wanted)
{
    unsigned& number = next_number_[group + '/' + wanted];
    for (;;) {
        const std::string event = number == 0 ? wanted : fmt::format("{}_{}", wanted, number);
        ++number;
        if (events_.insert(group + '/' + event).second)
            return event;
    }
}

// uprobe_events takes file offsets and the semaphore; `perf probe` takes neither reliably.
void Commands::write_perf(AttachPoint& point)
{
    if (!plain_word(path_)) {
        remark(point,
               "uprobe_events cannot name this file: its path has a blank, '#', backslash or control character.");
        return;
    }
    const std::string group = event_name(point.entry ? "fastprobe" : point.provider);
    const std::string event = new_event(group, event_name(point.name));
    const std::string counter = point.semaphore_offset ? fmt::format("(0x{:x})", point.semaphore_offset) : "";
    const auto definition = fmt::format("p:{}/{} {}:0x{:x}{}", group, event, path_, point.file_offset, counter);
    point.perf = fmt::format("echo {} >>/sys/kernel/tracing/uprobe_events && perf record -a -e {}:{}",
                             shell_quoted(definition), group, event);
}

} // namespace fastsdt
