// SPDX-License-Identifier: BSD-2-Clause
#include "list.h"

#include "arch/args.h"
#include "process/match.h"
#include "base/demangle.h"
#include "base/printable.h"
#include "elf/elf_file.h"
#include "elf/image.h"
#include "elf/notes.h"
#include "headers.h"
#include "live/live.h"
#include "process/debug_types.h"
#include "report/armable.h"
#include "run.h"
#include "say.h"
#include "script/parse.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fnmatch.h>
#include <glob.h>
#include <map>
#include <unistd.h>
#include <utility>

namespace fastsdt::trace_tool {
namespace {

struct Argument {
    std::string type, name;
};

// By how a script names it. A probe that stands at several places may have other arguments at each: those of the first are shown.
using Found = std::map<std::string, std::vector<Argument>>;

// "int32", or nothing where the size is not told.
std::string argument_type(const fastsdt::Argument& argument)
{
    if (argument.size == 0)
        return {};
    return fmt::format("{}{}", argument.is_float ? "float" : argument.is_signed ? "int" : "uint", argument.size * 8);
}

std::vector<Argument> arguments_of(std::string_view text, Arch arch, const std::vector<std::string>& names)
{
    std::vector<Argument> found;
    for (const fastsdt::Argument& one : parse_arguments(text, arch)) {
        const size_t i = found.size();
        found.push_back(
            {argument_type(one), i < names.size() && !names[i].empty() ? names[i] : fmt::format("arg{}", i)});
    }
    return found;
}

bool can_move(const Window& window)
{
    return window.obstacle == Obstacle::none;
}

// What --no-move leaves out. `latency` and `functions` want all exits of a function, and so does a script.
void find_movable(const Image& image, const Notes& notes, const std::string& path, Found& found)
{
    armable(
        image, notes,
        [&](const ArmableFunction& function) {
            if (can_move(function.entry))
                found.try_emplace(fmt::format("uprobe:{}:{}", path, function.function.name));
            if (!function.exits.empty() && function.movable_exits() == function.exits.size())
                found.try_emplace(fmt::format("uretprobe:{}:{}", path, function.function.name));
        },
        [](const ArmableSite&) {}); // listed with the others
}

void find_in_file(const std::string& path, bool moves, Found& found)
{
    Image::each(
        path,
        [&](const Image& image) {
            const Notes notes = read_notes(image);
            for (const ProbeNote& probe : notes.probes) {
                std::vector<std::string> names;
                if (const ArgumentNames* said =
                        notes.names_of(probe, parse_arguments(probe.arguments, image.arch()).size()))
                    names = said->only_names();
                found.try_emplace(fmt::format("usdt:{}:{}:{}", path, probe.provider, probe.name),
                                  arguments_of(probe.arguments, image.arch(), names));
            }
            if (moves)
                find_movable(image, notes, path, found);
            std::map<uint64_t, bool> entries; // by address: whether all exits are recorded
            for (const Record& entry : notes.entries)
                entries[entry.address] = (entry.flags & FASTSDT_ENTRY_EXITS) != 0;
            if (entries.empty())
                return;
            image.find_names();
            for (const Function& function : image.functions())
                if (const auto entry = entries.find(function.address); entry != entries.end()) {
                    found.try_emplace(fmt::format("uprobe:{}:{}", path, function.name));
                    if (entry->second)
                        found.try_emplace(fmt::format("uretprobe:{}:{}", path, function.name));
                }
        },
        [](const Error& trouble) { say(trouble.text()); });
}

void find_in_process(pid_t pid, bool moves, Found& found)
{
    Unrecorded all;
    all.file = [](const auto&) { return true; };
    all.entry = all.exit = [](const auto&, const Function& function) { return function.name; };
    all.probe = [](const auto&, const auto&, const auto&) { return true; };
    const Process process = read_process(pid, true, moves ? &all : nullptr);
    const uint8_t handled = engine::handled_faults(engine::ProcessView(pid));
    for (const Error& trouble : process.troubles)
        say(trouble.text());
    for (const LiveFile& file : process.files)
        for (const LiveSite& site : file.sites)
            if (!site.entry && !site.exit) {
                found.try_emplace(fmt::format("usdt:{}:{}:{}", file.path, site.provider, site.name),
                                  arguments_of(site.arguments, file.arch, site.argument_names));
            } else if (site.window) {
                if (can_move(*site.window) && !(site.window->faults & handled))
                    found.try_emplace(
                        fmt::format("{}:{}:{}", site.entry ? "uprobe" : "uretprobe", file.path, site.name));
            } else if (site.entry) {
                found.try_emplace(fmt::format("uprobe:{}:{}", file.path, site.name));
                if (site.exits)
                    found.try_emplace(fmt::format("uretprobe:{}:{}", file.path, site.name));
            }
}

// Of a function, where its file has debug information.
std::vector<Argument> arguments_of(const std::string& probe, engine::DebugFiles& debug)
{
    constexpr std::string_view kind = "uprobe:";
    const size_t colon = probe.rfind(':');
    if (!probe.starts_with(kind) || colon < kind.size())
        return {};
    std::vector<Argument> found;
    engine::Probe entry;
    entry.kind = engine::Probe::Kind::entry;
    entry.file = probe.substr(kind.size(), colon - kind.size());
    entry.name = probe.substr(colon + 1);
    if (const auto signature = debug.signature(entry))
        for (const engine::DebugTypes::Parameter& one : signature->parameters)
            found.push_back({one.type, one.name});
    return found;
}

// "uprobe:FILE" and the name that the linker has.
std::pair<std::string, std::string> parts_of_function(const std::string& probe)
{
    const size_t colon = probe.rfind(':');
    return {probe.substr(0, colon), probe.substr(colon + 1)};
}

// As a script may name it, for people: uprobe:FILE:cpp:"ns::f(int)" of uprobe:FILE:_ZN2ns1fEi.
std::string shown(const std::string& probe)
{
    const auto [where, name] = parts_of_function(probe);
    const std::string text = probe.starts_with('u') && !probe.starts_with("usdt:") ? shown_name(name) : name;
    return text == name ? probe : fmt::format("{}:cpp:\"{}\"", where, text);
}

bool fits(const std::string& pattern, const std::string& probe)
{
    for (const std::string_view language : {":cpp:", ":rust:"})
        if (const size_t at = pattern.find(language); at != pattern.npos) {
            std::string wanted = pattern.substr(at + language.size());
            std::erase(wanted, '"');
            const auto [where, name] = parts_of_function(probe);
            return fnmatch(pattern.substr(0, at).c_str(), where.c_str(), 0) == 0 && has_source_name(name, wanted);
        }
    return fnmatch(pattern.c_str(), probe.c_str(), 0) == 0;
}

bool has_kind(const std::string& search)
{
    const size_t colon = search.find(':');
    const std::string kind = search.substr(0, colon);
    return colon != search.npos && std::ranges::any_of(std::array{"usdt", "uprobe", "uretprobe"}, [&](const char* one) {
               return fnmatch(kind.c_str(), one, 0) == 0;
           });
}

// The FILE of "KIND:FILE:...", where KIND may be a pattern, or the text itself, if it is a file's path.
std::string file_of(const std::string& search)
{
    const size_t colon = search.find(':');
    return has_kind(search) ? search.substr(colon + 1, search.find(':', colon + 1) - colon - 1) : search;
}

// The pattern for a process's files, which are known by their full paths: a script may name one by its path from here, or by its name alone.
std::string pattern_in_process(const std::string& search)
{
    std::string file = file_of(search);
    if (file.empty() || engine::is_pattern(file))
        return search;
    std::error_code error;
    if (const std::string here = std::filesystem::canonical(engine::resolve(file), error); !error)
        file = here;
    else if (file.find('/') == file.npos)
        file.insert(0, "*/");
    if (!has_kind(search))
        return fmt::format("*:{}:*", file);
    const size_t colon = search.find(':');
    const size_t behind = search.find(':', colon + 1);
    return search.substr(0, colon + 1) + file + (behind == search.npos ? ":*" : search.substr(behind));
}

// A FILE may be a pattern, of paths or of names in the folder.
std::vector<std::string> files_of(const std::string& file)
{
    std::vector<std::string> files;
    glob_t all{};
    if (!engine::is_pattern(file))
        files.push_back(engine::resolve(file));
    else if (file.find('/') != file.npos && glob(file.c_str(), 0, nullptr, &all) == 0)
        files.assign(all.gl_pathv, all.gl_pathv + all.gl_pathc);
    globfree(&all);
    std::erase_if(files, [&](const std::string& each) { return each != file && !is_elf_file(each); });
    return files;
}

// "./app:shop:order", where "usdt:" is missing.
void refuse_without_kind(const std::string& search)
{
    const size_t colon = search.find(':');
    if (colon == search.npos || has_kind(search) || access(search.c_str(), F_OK) == 0)
        return;
    const bool has_file = access(search.substr(0, colon).c_str(), F_OK) == 0;
    const bool has_provider = search.find(':', colon + 1) != search.npos;
    give_up(fmt::format("--list: there is no file {}{}", search,
                        has_file ? did_you_mean(fmt::format("{}:{}", has_provider ? "usdt" : "uprobe", search))
                                 : "; a search is FILE, or usdt:FILE:*, uprobe:FILE:*, uretprobe:FILE:*"));
}

// Patterns for what was found, of a search. Without processes its files are looked into.
std::vector<std::string> patterns_of(const std::string& search, const Options& options, Found& found)
{
    if (!options.pids.empty())
        return {search.empty() ? search : pattern_in_process(search)};
    std::vector<std::string> patterns;
    refuse_without_kind(search);
    for (const std::string& file : files_of(file_of(search))) {
        if (file.empty())
            continue;
        find_in_file(file, options.moves, found);
        const size_t at = search.find(':');
        const size_t behind = at == search.npos ? at : search.find(':', at + 1);
        patterns.push_back(behind == search.npos ? "" : search.substr(0, at + 1) + file + search.substr(behind));
    }
    if (const std::string file = file_of(search); patterns.empty() && file.find('/') != file.npos)
        give_up(fmt::format(
            "--list: there is no file {}; a search is FILE, or usdt:FILE:*, uprobe:FILE:*, uretprobe:FILE:*", file));
    if (patterns.empty())
        give_up("--list wants a FILE to look into, or a process: usdt:FILE:*, or FILE, or --pid PID");
    return patterns;
}

// interval:*, profile:*: the forms that a script may have.
bool lists_timers(const std::string& search, std::ostream& out)
{
    const std::string kind = search.substr(0, search.find(':'));
    if (search.find(':') == search.npos || (kind != "interval" && kind != "profile"))
        return false;
    for (const char* const unit : {"hz", "ms", "s", "us"})
        if (const std::string form = fmt::format("{}:{}:", kind, unit);
            fnmatch(search.c_str(), form.c_str(), 0) == 0 || search == kind + ":")
            out << form << '\n';
    return true;
}

// What was meant by a search for which nothing was found, of what there is in its FILE: "usdt:FILE:shop:*" of "usdt:FILE:shp:*".
std::string meant_by(const std::string& search, const Found& found)
{
    const size_t behind = search.find(':', search.find(':') + 1);
    if (!has_kind(search) || behind == search.npos)
        return {};
    const std::string kind = search.substr(0, search.find(':'));
    const std::string wanted = search.substr(behind + 1);
    const size_t colon = kind == "usdt" ? wanted.find(':') : wanted.npos;
    const bool providers = colon != wanted.npos && wanted.ends_with(":*");
    NearestPattern nearest(providers ? wanted.substr(0, colon) : wanted);
    for (const auto& [probe, arguments] : found) {
        const size_t own_kind = probe.find(':'), own_file = probe.find(':', own_kind + 1);
        if (own_file == probe.npos || fnmatch(kind.c_str(), probe.substr(0, own_kind).c_str(), 0) != 0)
            continue;
        const std::string name = probe.substr(own_file + 1);
        nearest.look(providers ? name.substr(0, name.find(':')) : name);
    }
    return nearest.word().empty() ? "" : search.substr(0, behind + 1) + nearest.word() + (providers ? ":*" : "");
}

// What is searched for: one word, or the probes of a script. Those that belong to no file are printed as they are.
std::vector<std::string> searches(const Options& options, engine::DebugFiles& debug, std::ostream& out)
{
    if (options.text.empty())
        return {*options.list};
    std::vector<std::string> all;
    CompiledHeaders headers(options.include_folders);
    const engine::Script script =
        engine::parse(options.text, options.parameters, &debug, surroundings(options, headers));
    for (const engine::Clause& clause : script.clauses)
        for (const engine::Probe& probe : clause.probes)
            if (probe.has_sites())
                all.push_back(probe.text);
            else if (const size_t last = probe.text.rfind(':'); last != probe.text.npos) // the form of a timer
                out << printable(probe.text.substr(0, last + 1)) << '\n';
    return all;
}

} // namespace

int list(const Options& options, std::ostream& out)
{
    Found found;
    if (options.text.empty() && lists_timers(*options.list, out))
        return complete;
    for (const pid_t pid : options.pids)
        find_in_process(pid, options.moves, found);
    std::vector<std::string> patterns;
    engine::DebugFiles debug{engine::ProcessView(options.pid)};
    const std::vector<std::string> wanted = searches(options, debug, out);
    if (wanted.empty())
        return complete;
    for (const std::string& search : wanted)
        for (std::string& pattern : patterns_of(search, options, found))
            patterns.push_back(std::move(pattern));
    const bool is_all = std::all_of(patterns.begin(), patterns.end(), [](const auto& each) { return each.empty(); });
    bool any = false;
    for (auto& [name, arguments] : found) {
        if (std::none_of(patterns.begin(), patterns.end(),
                         [&probe = name](const std::string& each) { return each.empty() || fits(each, probe); }))
            continue;
        any = true;
        if (options.is_newer && !options.json) { // as bpftrace -l, which shows arguments with -v only
            out << printable(shown(name)) << '\n';
            continue;
        }
        if (arguments.empty())
            arguments = arguments_of(name, debug);
        if (options.json) {
            nlohmann::json values = nlohmann::json::array();
            for (const Argument& one : arguments)
                values.push_back({{"type", one.type}, {"name", one.name}});
            out << nlohmann::json({{"type", "probe"}, {"data", {{"probe", shown(name)}, {"arguments", values}}}})
                       .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
                << '\n';
            continue;
        }
        std::vector<std::string> words;
        for (const Argument& one : arguments)
            words.push_back(one.type.empty() ? one.name : one.type + ' ' + one.name);
        out << printable(words.empty() ? shown(name) : fmt::format("{}  ({})", shown(name), fmt::join(words, ", ")))
            << '\n';
    }
    const std::string meant = !any && wanted.size() == 1 ? meant_by(wanted[0], found) : "";
    if (!any)
        say(!is_all
                ? fmt::format(
                      "nothing matches {}{}", fmt::join(wanted, ", "),
                      !meant.empty() ? fmt::format("; did you mean \"{}\"?", meant)
                          : wanted.size() == 1 && options.pids.empty() && !engine::is_pattern(file_of(wanted[0]))
                          ? fmt::format("; --list {} shows all that there is", file_of(wanted[0]))
                          : "")
                : fmt::format("there are no probes and no functions that {}{}",
                              options.moves ? "can be armed" : "fastprobe recorded; without --no-move others are shown",
                              options.moves && options.pids.empty() ? "; fastsdt-check --armable FILE says why" : ""));
    return any ? complete : incomplete;
}

} // namespace fastsdt::trace_tool
