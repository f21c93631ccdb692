// SPDX-License-Identifier: BSD-2-Clause
#include "base/printable.h"
#include "judge/evaluate.h"
#include "probe.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <sys/utsname.h>
#include <sys/wait.h>

namespace fastsdt::probe {
namespace {

using Json = nlohmann::ordered_json;

int error_of(const Row& row)
{
    return row.counted.error ? row.counted.error : row.seen.error;
}

std::string hex(const std::vector<std::byte>& bytes)
{
    constexpr size_t enough = 12; // bytes of the longest layout
    std::string text;
    for (size_t i = 0; i < std::min(bytes.size(), enough); ++i)
        text += fmt::format("{}{:02x}", i ? " " : "", std::to_integer<unsigned>(bytes[i]));
    return text;
}

std::string_view scope_name(Scope scope)
{
    switch (scope) {
    case Scope::process: return "process";
    case Scope::tree: return "tree";
    case Scope::everyone: break;
    }
    return "everyone";
}

} // namespace

std::string release()
{
    utsname system{};
    uname(&system);
    return system.release;
}

std::string attach_result(const Row& row)
{
    if (row.skipped)
        return breaks_program(row.model.verdict) ? "unsafe" : "untried";
    return error_of(row) ? errno_name(error_of(row)) : "ok";
}

std::string_view mode(const Row& row)
{
    if (breaks_program(row.model.verdict) && (!row.seen.verdict || row.seen.verdict == mechanism(row.model.verdict)))
        return name(row.model.verdict);
    if (!row.seen.verdict)
        return row.counted.error || row.skipped ? "reject" : "unknown";
    // A site that could be optimized and still has its breakpoint was emulated.
    if (*row.seen.verdict == Verdict::optimize && row.counted.hits > 1 && !row.counted.live.empty()
        && !shows_call(row.arch, row.counted.live))
        return name(Verdict::emulate);
    return name(*row.seen.verdict);
}

std::string text_report(const std::vector<Row>& rows, const Options& options, const Result& result)
{
    std::string out;
    std::vector<std::string> names;
    size_t width = 4;
    for (const Row& row : rows) {
        names.push_back(printable(row.name) + (row.target.on_return ? " (return)" : ""));
        width = std::max(width, names.back().size());
    }
    out += fmt::format("{:<{}}  {:<18}  {:>10}  {:<14}  {:<15}", "NAME", width, "ADDRESS", "ATTACH", "MODE", "MODEL");
    if (result.ran)
        out += fmt::format("  {:>12}  {}{}", "HITS", options.runs ? "  NS/HIT  " : "", "LIVE BYTES");
    out += '\n';
    for (size_t i = 0; i < rows.size(); ++i) {
        const Row& row = rows[i];
        out += fmt::format("{:<{}}  {:#018x}  {:>10}  {:<14}  {:<15}", names[i], width, row.address, attach_result(row),
                           mode(row), name(row.model.verdict));
        if (result.ran) {
            out += fmt::format("  {:>12}  ", row.counted.hits);
            if (options.runs)
                out += row.ns_per_hit ? fmt::format("{:>8.0f}  ", *row.ns_per_hit) : "       -  ";
            out += row.counted.live.empty() ? "-" : hex(row.counted.live);
        }
        while (out.ends_with(' '))
            out.pop_back();
        out += '\n';
    }
    return out;
}

std::string json_report(const std::vector<Row>& rows, const Options& options, const Result& result)
{
    Json json = {{"file", options.file_name}, {"release", release()}};
    if (result.ran)
        json["scope"] = scope_name(result.scope);
    json["targets"] = Json::array();
    for (const Row& row : rows) {
        Json target = {{"kind", row.kind},
                       {"name", row.name},
                       {"return", row.target.on_return},
                       {"place", row.place},
                       {"address", row.address},
                       {"file_offset", row.target.file_offset},
                       {"attach", attach_result(row)},
                       {"mode", mode(row)},
                       {"model", name(row.model.verdict)}};
        if (result.ran) {
            target["hits"] = row.counted.hits;
            target["live"] = row.counted.live.empty() ? Json() : Json(hex(row.counted.live));
            target["ns_per_hit"] = row.ns_per_hit ? Json(*row.ns_per_hit) : Json();
        }
        json["targets"].push_back(std::move(target));
    }
    if (result.wait_status && WIFSIGNALED(*result.wait_status))
        json["killed_by"] = WTERMSIG(*result.wait_status);
    else if (result.wait_status)
        json["exit_status"] = WEXITSTATUS(*result.wait_status);
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

} // namespace fastsdt::probe
