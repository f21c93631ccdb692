// SPDX-License-Identifier: BSD-2-Clause
#include "options.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

namespace fastprobe {

const char entry_choices[] = "auto, auto-frame, frame, nop, nop10, none";
const char exit_choices[] = "none, nop, nop10";

const char options_help[] =
    "  entry=MODE      how a function shall begin behind its landing pad (default: auto)\n"
    "                    auto        leave an entry that is cheap to probe, else put one nop first\n"
    "                    auto-frame  the frame push in functions that call others, auto in the rest\n"
    "                    frame       the frame push: push %rbp; stp x29, x30, [sp, #-N]!\n"
    "                    nop         one nop. A probe on a nop does not see the caller's frame in\n"
    "                                frame-pointer stacks; on the frame push it does\n"
    "                    nop10       x86-64: nop1+nop10 inside 16 aligned bytes, optimized from Linux 7.2 on\n"
    "                    none        change nothing, only record\n"
    "  exit=MODE       a site in front of every return and tail call (default: none)\n"
    "                    none        no sites\n"
    "                    nop         one nop\n"
    "                    nop10       x86-64: nop1+nop10 inside one cache line\n"
    "  kernels=RANGE   kernels that auto aims at: V, V-V, V- or a list of them; V+stp: arm64 with the\n"
    "                  stp patch (default: 5.10-)\n"
    "  include=REGEX   only functions whose symbol or source name matches; may be repeated\n"
    "  list=FILE       only functions named in FILE, one a line; adds to include\n"
    "  exclude=REGEX   not these; wins over include and list\n"
    "  min-insns=N     only functions of N instructions or more\n"
    "  report=FILE     append one JSON line per function\n"
    "  verbose         say what was done to each function\n"
    "  disable         do nothing\n";

namespace {

constexpr std::pair<Entry, std::string_view> entries[] = {
    {Entry::automatic, "auto"}, {Entry::auto_frame, "auto-frame"}, {Entry::frame, "frame"},
    {Entry::nop, "nop"},        {Entry::nop10, "nop10"},           {Entry::none, "none"},
};

constexpr std::pair<Exit, std::string_view> exits[] = {
    {Exit::none, "none"}, {Exit::nop, "nop"}, {Exit::nop10, "nop10"}};

template <typename Value, size_t size>
std::string_view name_in(const std::pair<Value, std::string_view> (&names)[size], Value value)
{
    for (const auto& [one, name] : names)
        if (one == value)
            return name;
    return "";
}

template <typename Value, size_t size>
std::optional<Value> value_in(const std::pair<Value, std::string_view> (&names)[size], std::string_view text)
{
    for (const auto& [value, name] : names)
        if (name == text)
            return value;
    return std::nullopt;
}

/// ccache returns an object of an earlier compilation if all inputs that it knows of are the same. It does not know of
/// the list: an object made with an older list would pass for a new one.
bool list_is_hidden_from_ccache(const char* path)
{
    if (!getenv("UNCACHED_ERR_FD")) // ccache sets it for the compilers that it starts
        return false;
    const char* known = getenv("CCACHE_EXTRAFILES");
    std::string_view files = known ? known : "";
    for (size_t at = 0; at < files.size();) {
        const size_t end = std::min(files.find(':', at), files.size());
        std::error_code none;
        if (std::filesystem::equivalent(files.substr(at, end - at), path, none))
            return false;
        at = end + 1;
    }
    return true;
}

} // namespace

std::string_view name(Entry entry)
{
    return name_in(entries, entry);
}

std::optional<Entry> parse_entry(std::string_view text)
{
    return value_in(entries, text);
}

std::string_view name(Exit exit)
{
    return name_in(exits, exit);
}

std::optional<Exit> parse_exit(std::string_view text)
{
    return value_in(exits, text);
}

fastsdt::Result<void> Options::set(std::string_view key, const char* value)
{
    const std::string where = "argument '" + std::string(key) + "'";
    const auto fail = [&](std::string why) { return fastsdt::Error{std::move(why), where}; };
    if (key == "verbose" || key == "disable") {
        if (value)
            return fail("takes no value");
        (key == "verbose" ? verbose : disable) = true;
        return {};
    }
    for (std::string_view known : {"entry", "exit", "kernels", "include", "exclude", "list", "min-insns", "report"})
        if (key == known && (!value || !*value))
            return fail("needs a value");

    if (key == "entry") {
        std::optional<Entry> parsed = parse_entry(value);
        if (!parsed)
            return fail("'" + std::string(value) + "' is not one of " + entry_choices);
        entry = *parsed;
    } else if (key == "exit") {
        std::optional<Exit> parsed = parse_exit(value);
        if (!parsed)
            return fail("'" + std::string(value) + "' is not one of " + exit_choices);
        exit = *parsed;
    } else if (key == "kernels") {
        if (const auto done = kernels.parse(value); !done)
            return done.error().at(where);
    } else if (key == "include") {
        if (const auto done = selection.add_include(value); !done)
            return done.error().at(where);
    } else if (key == "exclude") {
        if (const auto done = selection.add_exclude(value); !done)
            return done.error().at(where);
    } else if (key == "list") {
        if (const auto done = selection.add_list(value); !done)
            return done.error().at(where);
        if (list_is_hidden_from_ccache(value))
            return fail("ccache does not know of '" + std::string(value)
                        + "' and would take objects made with an older one: name it in CCACHE_EXTRAFILES");
        lists.push_back(value);
    } else if (key == "min-insns") {
        char* end = nullptr;
        errno = 0;
        unsigned long number = strtoul(value, &end, 10);
        if (*value < '0' || *value > '9' || *end || errno || number > 0x7fffffff)
            return fail("'" + std::string(value) + "' is not a number of instructions");
        min_insns = static_cast<unsigned>(number);
    } else if (key == "report") {
        report = value;
    } else {
        return fastsdt::Error{
            "unknown " + where
            + " (known: entry, exit, kernels, include, exclude, list, min-insns, report, verbose, disable)"};
    }
    return {};
}

bool wants_frame(Entry entry, Arch arch, const Kernels& kernels, bool leaf)
{
    if (entry == Entry::frame)
        return true;
    if (entry != Entry::auto_frame || !kernels.frame_as_cheap_as_nop(arch))
        return false;
    // A leaf function can do with a nop, unless the frame push is all that the kernels emulate.
    return !leaf || !kernels.cheap(arch, First::nop);
}

Decision decide(Entry entry, Arch arch, const Kernels& kernels, First found, bool branch_target)
{
    using Add = Decision::Add;
    switch (entry) {
    case Entry::none: return {};
    case Entry::nop:
        if (found == First::nop && !branch_target)
            return {};
        return {Add::nop, false, ""};
    case Entry::nop10:
        if (arch == Arch::x86_64)
            return {Add::nop1_nop10, false, ""};
        if (found == First::nop && !branch_target)
            return {Add::nothing, false, no_nop10};
        return {Add::nop, false, no_nop10};
    case Entry::frame:
        if (found == First::frame_push && !branch_target)
            return {};
        return {Add::nop, true, "the frame push is not the first instruction: nop instead"};
    case Entry::auto_frame:
        if (found == First::frame_push && !branch_target && kernels.frame_as_cheap_as_nop(arch))
            return {};
        break;
    case Entry::automatic: break;
    }
    if (branch_target)
        return {Add::nop, false, "the function branches back to its first instruction"};
    if (kernels.nop_pays(arch, found))
        return {Add::nop, false, ""};
    if (!kernels.cheap(arch, found))
        return {Add::nothing, false, "no form is cheap on the kernels asked for"};
    return {};
}

} // namespace fastprobe
