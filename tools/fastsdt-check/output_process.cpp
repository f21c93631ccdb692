// SPDX-License-Identifier: BSD-2-Clause
// --pid: a running process, as text and as JSON (docs/json.md, "process").
#include "json.h"
#include "output.h"

#include "live/live.h"
#include "proc/maps.h"

#include <fastsdt/note.h>

#include <fmt/format.h>
#include <functional>

#include <map>

using namespace fastsdt;

namespace {

std::string_view colour_of(Change change)
{
    switch (change) {
    case Change::untouched: return "";
    case Change::optimized: return ansi::green;
    case Change::damaged:
    case Change::foreign_call: return ansi::red;
    default: return ansi::yellow;
    }
}

Json mapping_json(const Mapping& mapping)
{
    return {{"start", mapping.start}, {"end", mapping.end}};
}

Json site_json(const LiveSite& site, Arch arch)
{
    Json json = {{"entry", site.entry},
                 {"exit", site.exit},
                 {"provider", site.entry || site.exit ? Json() : Json(site.provider)},
                 {"name", site.name},
                 {"address", site.address},
                 {"file_offset", site.file_offset},
                 {"runtime", site.runtime},
                 {"layout", layout_name(site.expected.layout, arch)},
                 {"change", name(site.change)},
                 {"file_bytes", hex(site.file_bytes)},
                 {"live_bytes", hex(site.live_bytes)},
                 {"target", site.target ? Json(*site.target) : Json()},
                 {"semaphore",
                  site.semaphore ? Json{{"address", site.semaphore},
                                        {"value", site.semaphore_value ? Json(*site.semaphore_value) : Json()}}
                                 : Json()},
                 {"argument_string", site.arguments}};
    return json;
}

} // namespace

void print_process_json(const Process& process, const std::function<bool(const LiveSite&)>& select)
{
    Json json = {{"schema", json_schema}, {"tool", "fastsdt-check " FASTSDT_VERSION_STRING}};
    Json& p = json["process"] = {{"pid", process.pid}, {"name", process.name}, {"files_seen", process.files_seen}};
    p["trampolines"] = Json::array();
    for (const Mapping& mapping : process.trampolines)
        p["trampolines"].push_back(mapping_json(mapping));
    p["out_of_line"] = process.out_of_line ? mapping_json(*process.out_of_line) : Json();
    p["troubles"] = Json::array();
    for (const Error& trouble : process.troubles)
        p["troubles"].push_back(trouble.text());
    p["files"] = Json::array();
    for (const LiveFile& file : process.files) {
        Json sites = Json::array();
        for (const LiveSite& site : file.sites)
            if (select(site))
                sites.push_back(site_json(site, file.arch));
        p["files"].push_back(
            {{"path", file.path}, {"start", file.start}, {"deleted", file.deleted}, {"sites", std::move(sites)}});
    }
    put(dump(json) + "\n");
}

void print_process_text(const Process& process, const std::function<bool(const LiveSite&)>& select, Style style)
{
    const auto on = [&](std::string_view colour) { return style.colour && !colour.empty() ? colour : ""; };
    const auto off = [&](std::string_view colour) { return style.colour && !colour.empty() ? ansi::reset : ""; };
    std::string out;
    const auto to = std::back_inserter(out);
    fmt::format_to(to, "process {} ({}): {} mapped, {} with probes\n", process.pid, printable(process.name),
                   plural(process.files_seen, "executable file"), process.files.size());
    for (const Mapping& mapping : process.trampolines)
        fmt::format_to(to, "  trampoline at {:#x}: optimized sites call there\n", mapping.start);
    if (process.out_of_line)
        fmt::format_to(to, "  out-of-line slots at {:#x}: some probe is single-stepped\n", process.out_of_line->start);
    std::map<Change, size_t> counts;
    for (const LiveFile& file : process.files) {
        fmt::format_to(to, "{}{}{} at {:#x}{}: {}\n", on(ansi::bold), printable(file.path), off(ansi::bold), file.start,
                       file.deleted ? " (deleted)" : "", plural(file.sites.size(), "site"));
        for (const LiveSite& site : file.sites) {
            if (!select(site))
                continue;
            ++counts[site.change];
            if (style.summary)
                continue;
            const auto colour = colour_of(site.change);
            fmt::format_to(to, "  {}{}{}  {:#x}  {}  {}{}{}", on(ansi::bold),
                           printable(site.entry      ? site.name
                                         : site.exit ? site.name + " (exit)"
                                                     : site.provider + ":" + site.name),
                           off(ansi::bold), site.runtime, layout_name(site.expected.layout, file.arch), on(colour),
                           name(site.change), off(colour));
            if (site.target)
                fmt::format_to(to, " to {:#x}", *site.target);
            if (site.semaphore)
                fmt::format_to(to, "  semaphore {}",
                               site.semaphore_value ? fmt::format("{}", *site.semaphore_value) : "unreadable");
            out += '\n';
            if (site.change != Change::untouched || style.verbose)
                fmt::format_to(to, "    file  {}\n    live  {}\n", hex(site.file_bytes, " "),
                               hex(site.live_bytes, " "));
            if (out.size() > 1 << 16) {
                put(out);
                out.clear();
            }
        }
    }
    if (!counts.empty()) {
        std::string_view title = "sites";
        for (const auto& [change, count] : counts) {
            fmt::format_to(to, "{:<8}{:>7}  {}\n", title, count, name(change));
            title = "";
        }
    }
    put(out);
}
