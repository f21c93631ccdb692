// SPDX-License-Identifier: BSD-2-Clause
// `fastsdt-trace latency` only makes a script. A user who writes that script down gets the same report, and can change
// it.
#include "process/match.h"
#include "base/unusable.h"
#include "elf/image.h"
#include "elf/notes.h"
#include "elf/return_probes.h"
#include "options.h"
#include "say.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fnmatch.h>
#include <string_view>
#include <vector>

namespace fastsdt::trace_tool {
namespace {

// Accepts a word of a probe's name; anything else would become part of the script.
void check_name(const std::string& name, const char* who)
{
    const auto plain = [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
            || std::string_view("_.-*?:~<>&()/+[]").find(c) != std::string_view::npos;
    };
    if (name.empty() || !std::all_of(name.begin(), name.end(), plain))
        give_up(fmt::format("{}: \"{}\" is no name of a probe or function", who, name));
}

} // namespace

// NAME, PROVIDER:NAME or FILE:PROVIDER:NAME
std::string probe_place(const std::string& place, const char* who)
{
    check_name(place, who);
    if (const size_t slash = place.rfind('/'), colon = place.find(':');
        slash != std::string::npos && !(slash < colon && colon != std::string::npos))
        give_up(fmt::format("{}: \"{}\" is no probe: a FILE stands first, before a colon", who, place));
    switch (std::count(place.begin(), place.end(), ':')) {
    case 0: return "usdt:*:*:" + place;
    case 1: return "usdt:*:" + place;
    case 2: return "usdt:" + place;
    default: give_up(fmt::format("{}: \"{}\" is no probe: NAME, PROVIDER:NAME or FILE:PROVIDER:NAME", who, place));
    }
}

// [FILE:][cpp:]FUNCTION. A name with "::", parameters or a template's arguments is one of C++ or Rust, and needs no "cpp:"; one of Go needs
// no quotes.
std::string function_place(const std::string& place, const char* who)
{
    check_name(place, who);
    std::string file = "*", name = place;
    // The first ":" that is none of "::" ends the FILE.
    const auto take = [&name]() -> std::string {
        size_t colon = name.find(':');
        while (colon != name.npos && name.substr(colon).starts_with("::"))
            colon = name.find(':', colon + 2);
        if (colon == name.npos)
            return {};
        std::string word = name.substr(0, colon);
        name.erase(0, colon + 1);
        return word;
    };
    std::string word = take();
    if (!word.empty() && word != "cpp") {
        file = word;
        word = take();
    }
    // main.(*server).handle, main.first[go.shape.int], net/http.Get
    const bool is_go = word != "cpp" && name.find("::") == name.npos
        && (name.find(".(") != name.npos || name.find_first_of("[/") != name.npos);
    const bool is_source =
        !is_go && (word == "cpp" || name.find("::") != name.npos || name.find_first_of("(<") != name.npos);
    if ((!word.empty() && word != "cpp") || name.empty())
        give_up(fmt::format("{}: \"{}\" is no function: FUNCTION or FILE:FUNCTION; or name two probes", who, place));
    return is_source ? fmt::format("{}:cpp:\"{}\"", file, name)
        : is_go      ? fmt::format("{}:\"{}\"", file, name)
                     : fmt::format("{}:{}", file, name);
}

bool is_go(const std::string& file, const Options& options)
{
    bool go = false;
    try {
        const std::string path = engine::resolve(file.empty() ? program_of(options) : file);
        std::error_code error;
        if (std::filesystem::is_regular_file(path, error)) // and no pipe, which might have no writer
            Image::each(path, [&](const Image& image) { go = is_go_program(image); }, [](const Error&) {});
    } catch (const Unusable&) {
        // no program is named, or what is wrong with it is said when it is traced
    }
    return go;
}

// Wrong where a COMMAND executes a program that it names nowhere: the recorder says so then.
bool may_be_go(const engine::Script& script, const Options& options)
{
    const Selection& selection = options.selection;
    if (selection.of(Way::exe).empty() && !selection.empty())
        return true; // nobody knows who that will be
    std::vector<std::string> files = selection.of(Way::exe);
    files.emplace_back();                                                      // the program
    files.insert(files.end(), options.command.begin(), options.command.end()); // of env, nice, timeout it is a word
    for (const pid_t pid : options.pids)
        files.push_back(fmt::format("/proc/{}/exe", pid));
    for (const engine::Clause& clause : script.clauses)
        for (const engine::Probe& probe : clause.probes)
            if (probe.has_sites() && !probe.file.empty() && !engine::is_pattern(probe.file))
                files.push_back(probe.file);
    return std::ranges::any_of(files, [&](const std::string& file) { return is_go(file, options); });
}

std::string call_key(const std::vector<std::string>& places, const Options& options)
{
    const size_t colon = places.size() == 1 ? places[0].find(':') : std::string::npos;
    const std::string file = colon == std::string::npos ? std::string() : places[0].substr(0, colon);
    return !is_go(file, options) ? "tid" : engine::own_machine.arch == Arch::arm64 ? "reg(\"r28\")" : "reg(\"r14\")";
}

Place place_in_program(const std::string& place, const Options& options)
{
    std::vector<std::string> parts;
    for (size_t start = 0; start <= place.size();) {
        const size_t end = std::min(place.find(':', start), place.size());
        parts.push_back(place.substr(start, end - start));
        start = end + 1;
    }
    if (parts.size() < 2 || parts.size() > 3 || place.find("::") != place.npos || parts[1] == "cpp")
        return Place::unknown;
    bool probe = false, function = false;
    const auto look = [&](const std::string& file, const std::string& provider) {
        const auto fits = [](const std::string& wanted, std::string_view name) {
            return fnmatch(wanted.c_str(), std::string(name).c_str(), 0) == 0;
        };
        Image::each(
            file,
            [&](const Image& image) {
                const Notes notes = read_notes(image);
                probe = probe || std::ranges::any_of(notes.probes, [&](const ProbeNote& each) {
                            return fits(provider, each.provider) && fits(parts.back(), each.name);
                        });
                if (provider != "*")
                    return;
                image.find_names();
                for (const Function& each : image.functions()) {
                    function = function || fits(parts.back(), each.name);
                    for (const std::string_view alias : each.aliases)
                        function = function || fits(parts.back(), alias);
                }
            },
            [](const Error&) {});
    };
    try {
        std::error_code error;
        const std::string file = engine::resolve(parts[0]);
        if (parts.size() == 3)
            look(file, parts[1]);
        else if (std::filesystem::is_regular_file(file, error))
            look(file, "*");
        if (parts.size() == 2) { // a FILE may be a mapped one's name
            const std::string program = program_of(options);
            look(program, std::filesystem::path(program).filename() == parts[0] ? "*" : parts[0]);
        }
    } catch (const Unusable&) {
        // as above
    }
    return probe == function ? Place::unknown : probe ? Place::probe : Place::function;
}

std::string latency_script(const std::vector<std::string>& places, const std::string& key)
{
    std::string start, end;
    if (places.size() == 1) {
        start = "uprobe:" + function_place(places[0], "latency");
        end = "uretprobe:" + function_place(places[0], "latency");
    } else {
        start = probe_place(places[0], "latency");
        end = probe_place(places[1], "latency");
    }
    // The end comes first: a site that is both ends one time before it begins the next.
    return fmt::format("{0} /@start[{2}]/ {{ @ns = hist(nsecs - @start[{2}]); @total = stats(nsecs - @start[{2}]); "
                       "delete(@start[{2}]); }}\n"
                       "{1} {{ @start[{2}] = nsecs; }}\n"
                       "END {{ clear(@start); }}\n",
                       end, start, key);
}

} // namespace fastsdt::trace_tool
