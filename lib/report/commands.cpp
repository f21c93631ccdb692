// SPDX-License-Identifier: BSD-2-Clause
// A point of the plan as command lines that a shell takes as they are:
//
//     bpftrace    bpftrace -e 'usdt:./app:shop:order { ... }', or uprobe:"/path":0x1136 where the place is not the note's
//     perf        echo 'p:shop/order /path:0x1136(0x4010) id=%di:s32' >>/sys/kernel/tracing/uprobe_events && perf record -a -e shop:order
//
// Names come from the file, which may be an attacker's: whoever pastes the line runs it as root. So a name or path that is not a plain word
// of the language that it would stand in (the shell, bpftrace's lexer, tracefs, perf) makes no command, and a remark says why.
#include "report/commands.h"

#include <fastsdt/note.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace fastsdt {
namespace {

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

// What bpftrace's lexer takes for one word in a probe's name, without wildcards (0.17 and 0.23, src/lexer.l). Any other
// name could be the beginning of a program: "n {} BEGIN { system(...) } END".
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

// The words of a type: "const char *" is {"const", "char", "*"}.
std::vector<std::string_view> words(std::string_view type)
{
    std::vector<std::string_view> found;
    for (size_t i = 0; i < type.size();) {
        size_t end = i + 1;
        while (only_of(type.substr(i, 1), "_") && end < type.size() && only_of(type.substr(end, 1), "_"))
            ++end;
        if (type[i] != ' ')
            found.push_back(type.substr(i, end - i));
        i = end;
    }
    return found;
}

// How bpftrace prints a value of this type: the format and what stands before and behind argN.
struct Printed {
    std::string_view format, before, behind;
};

Printed printed(std::string_view type)
{
    std::vector<std::string_view> all = words(type);
    const auto drop = [&](std::string_view word) { std::erase(all, word); };
    drop("const");
    drop("volatile");
    const size_t stars = std::count(all.begin(), all.end(), "*");
    const auto has = [&](std::string_view word) { return std::find(all.begin(), all.end(), word) != all.end(); };
    if ((stars == 1 && has("char")) || (stars == 0 && has("string")))
        return {"%s", "str(", ")"};
    // Floats are passed as their bits, and bpftrace has no floats.
    if (stars > 0 || has("float") || has("double"))
        return {"0x%lx", "", ""};
    return has("unsigned") || has("size_t") || (all.size() == 1 && all[0].starts_with("uint")) ? Printed{"%lu", "", ""}
                                                                                               : Printed{"%ld", "", ""};
}

// A program that prints the arguments by their names. Only plain words of the file get into it.
std::string print_arguments(std::string_view probe, const ArgumentNames& names)
{
    constexpr size_t most = 6; // argN that bpftrace 0.17 takes on x86-64
    std::string format(probe), values;
    for (size_t i = 0; i < std::min(most, names.arguments.size()); ++i) {
        const auto& [type, name] = names.arguments[i];
        const Printed how = printed(type);
        format += fmt::format(" {}={}", plain_name(name) ? std::string(name) : fmt::format("arg{}", i), how.format);
        values += fmt::format(", {}arg{}{}", how.before, i, how.behind);
    }
    return fmt::format("printf(\"{}\\n\"{});", format, values);
}

/// A result in registers, as bpftrace and uprobe_events read it.
struct RegisterResult {
    std::string format, bpftrace; ///< of printf(): the format, and the values, each after a comma
    std::string perf;
};

// Empty: there is no result, or none that both can read.
RegisterResult value_of(const Record& exit, Arch arch)
{
    const bool x86_64 = arch == Arch::x86_64;
    if ((!x86_64 && arch != Arch::arm64) || exit.tail_call())
        return {};
    const unsigned size = exit.flags >> FASTSDT_EXIT_SIZE_SHIFT;
    const std::string_view first = x86_64 ? "ax" : "r0", second = x86_64 ? "dx" : "r1";
    const std::string_view perf_first = x86_64 ? "ax" : "x0", perf_second = x86_64 ? "dx" : "x1";
    switch (exit.result) {
    case FASTSDT_RESULT_REGISTER: {
        const bool integer = size == 1 || size == 2 || size == 4 || size == 8;
        const unsigned bits = integer ? 8 * size : 64;
        if (!integer)
            return {"0x%llx", fmt::format(", reg(\"{}\")", first), fmt::format(" value=%{}:x64", perf_first)};
        const bool no_sign = exit.flags & FASTSDT_EXIT_UNSIGNED;
        return {no_sign ? "%llu" : "%lld", fmt::format(", ({}int{})reg(\"{}\")", no_sign ? "u" : "", bits, first),
                fmt::format(" value=%{}:{}{}", perf_first, no_sign ? 'u' : 's', bits)};
    }
    case FASTSDT_RESULT_PAIR:
        return {"0x%llx 0x%llx", fmt::format(", reg(\"{}\"), reg(\"{}\")", first, second),
                fmt::format(" value=%{}:x64 second=%{}:x64", perf_first, perf_second)};
    case FASTSDT_RESULT_MEMORY:
        if (x86_64)
            return {"at 0x%llx", fmt::format(", reg(\"{}\")", first), fmt::format(" value=%{}:x64", perf_first)};
        return {};
    default: return {};
    }
}

std::string absolute_path(const Image& image)
{
    std::error_code error;
    const std::string path = std::filesystem::absolute(image.path(), error).lexically_normal().string();
    return error ? image.path() : path;
}

} // namespace

std::string shell_quoted(std::string_view text)
{
    std::string quoted = "'";
    for (char c : text)
        quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return quoted + "'";
}

std::vector<NamedCommand> commands_by_name(const Image& image, const AttachPoint& point)
{
    const std::string path = absolute_path(image);
    // lttng and bcc separate the parts by colons.
    if (point.entry || !plain_name(point.provider) || !plain_name(point.name) || !plain_path(path)
        || path.find(':') != path.npos)
        return {};
    const std::string& provider = point.provider;
    const std::string& name = point.name;
    std::vector<NamedCommand> commands;
    const auto add = [&](std::string_view tracer, std::string_view before, const std::string& word,
                         std::string_view behind = "") {
        commands.push_back({tracer, fmt::format("{} {}{}", before, shell_quoted(word), behind)});
    };
    // gdb attaches by ptrace, so what the kernel does with a uprobe there does not matter.
    add("gdb", "gdb -ex", fmt::format("break -probe-stap {}:{}", provider, name), ' ' + shell_quoted(path));
    if (point.at_note.verdict == Verdict::reject || point.at_note.verdict == Verdict::unknown)
        return commands;
    add("systemtap", "stap -e",
        fmt::format("probe process(\"{}\").provider(\"{}\").mark(\"{}\") {{ println(pn()) }}", path, provider, name));
    add("bcc", "trace-bpfcc", fmt::format("u:{}:{}", path, name));
    if (!point.semaphore_offset) // lttng-enable-event(1), 2.13: no probes with a semaphore
        add("lttng", "lttng enable-event --kernel", fmt::format("--userspace-probe=sdt:{}:{}:{}", path, provider, name),
            fmt::format(" {}_{}", provider, name));
    return commands;
}

Commands::Commands(const Image& image) : path_(absolute_path(image)), arch_(image.arch()) {}

void Commands::write(AttachPoint& point, std::string_view symbol, const ArgumentNames* names)
{
    write_bpftrace(point, symbol, names);
    write_perf(point);
}

void Commands::write_bpftrace(AttachPoint& point, std::string_view symbol, const ArgumentNames* names)
{
    if (!plain_path(path_)) {
        remark(point,
               "bpftrace cannot name this file: its path has a quotation mark, backslash, wildcard or control "
               "character.");
        return;
    }
    const std::string path = bpftrace_path();
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
    const std::string action =
        names && probe.starts_with("usdt:") ? print_arguments(point.name, *names) : "@[probe] = count();";
    point.bpftrace = fmt::format("bpftrace{} -e {}", options, shell_quoted(probe + " { " + action + " }"));
}

std::string Commands::bpftrace_path() const
{
    return only_of(path_, "_./+-") ? path_ : '"' + path_ + '"';
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

void Commands::write_exits(AttachPoint& point, std::string_view symbol)
{
    for (const AttachPoint& exit : point.exits)
        if (!exit.offset) {
            remark(point, "Not every exit can be attached to: {}.", exit.judgement.why);
            return;
        }
    const Record& record = *point.exits.front().exit;
    if (value_of(record, arch_).format.empty() && record.result != FASTSDT_RESULT_NONE && !record.tail_call())
        remark(point, "The result (in {}) is where neither bpftrace nor uprobe_events can read it.",
               result_name(record.result));
    write_exits_bpftrace(point, symbol);
    write_exits_perf(point);
}

// The key is the stack pointer. An activation has the same one at its entry and at its exit, and no other activation of
// the thread has it meanwhile. So a recursive function's activations are told apart, and what an activation that
// longjmp() ended leaves behind is overwritten.
void Commands::write_exits_bpftrace(AttachPoint& point, std::string_view symbol)
{
    if (!plain_path(path_))
        return; // write_bpftrace() has said why
    const std::string path = bpftrace_path();
    const std::string name = plain_name(symbol) ? std::string(symbol) : fmt::format("0x{:x}", point.note_address);
    const std::string start = R"(@start[tid, reg("sp")])";
    std::string program = *point.offset == 0 && plain_name(symbol)
        ? fmt::format("uprobe:{}:{}", path, symbol)
        : fmt::format("uprobe:{}:0x{:x}", path, point.address);
    program += fmt::format(" {{ {} = nsecs; }}", start);
    for (const bool tail_call : {false, true}) {
        std::string places;
        const Record* record = nullptr;
        for (const AttachPoint& exit : point.exits)
            if (exit.exit->tail_call() == tail_call) {
                places += fmt::format("{}uprobe:{}:0x{:x}", places.empty() ? " " : ", ", path, exit.address);
                record = exit.exit;
            }
        if (!record)
            continue;
        const RegisterResult value = value_of(*record, arch_);
        const std::string what = tail_call          ? ": tail call"
            : record->result == FASTSDT_RESULT_NONE ? ""
            : value.format.empty()                  ? " = ?"
                                                    : " = " + value.format;
        program += fmt::format("{} /{}/ {{ printf(\"{}{}, %lld ns\\n\"{}, nsecs - {}); "
                               "@ns = hist(nsecs - {}); delete({}); }}",
                               places, start, name, what, value.bpftrace, start, start, start);
    }
    program += " END { clear(@start); }";
    point.exits_bpftrace = fmt::format("bpftrace --unsafe -e {}", shell_quoted(program));
}

// Exits of one kind are one event: from 5.5 on, an event may have several places if their values are alike.
void Commands::write_exits_perf(AttachPoint& point)
{
    if (!plain_word(path_))
        return; // write_perf() has said why
    constexpr std::string_view group = "fastprobe";
    const auto define = [&](const std::string& event, FileOffset offset, const std::string& value) {
        return " " + shell_quoted(fmt::format("p:{}/{} {}:0x{:x}{}", group, event, path_, offset, value));
    };
    const std::string name = event_name(point.name);
    const std::string entry = new_event(std::string(group), name + "_entry");
    std::string definitions = define(entry, point.file_offset, ""), events = fmt::format(" -e {}:{}", group, entry);
    for (const bool tail_call : {false, true}) {
        std::string event;
        for (const AttachPoint& exit : point.exits) {
            if (exit.exit->tail_call() != tail_call)
                continue;
            if (event.empty()) {
                event = new_event(std::string(group), name + (tail_call ? "_tail_call" : "_return"));
                events += fmt::format(" -e {}:{}", group, event);
            }
            definitions += define(event, exit.file_offset, value_of(*exit.exit, arch_).perf);
        }
    }
    point.exits_perf =
        fmt::format("printf '%s\\n'{} >>/sys/kernel/tracing/uprobe_events && perf record -a{}", definitions, events);
}

} // namespace fastsdt
