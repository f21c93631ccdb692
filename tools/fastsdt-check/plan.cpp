// SPDX-License-Identifier: BSD-2-Clause
// --plan: where to attach, as commands and as JSON (docs/json.md, "plan").
#include "output.h"

#include <fastsdt/note.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace fastsdt;
using Json = nlohmann::ordered_json;

namespace {

Json point_json(const AttachPoint& point)
{
    const auto or_null = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
    Json json = {{"entry", point.entry},
                 {"provider", point.entry ? Json() : Json(point.provider)},
                 {"name", point.name},
                 {"note_address", point.note_address},
                 {"verdict_at_note", name(point.at_note.verdict)},
                 {"place", point.offset ? Json(point.place) : Json()},
                 {"offset", point.offset ? Json(*point.offset) : Json()},
                 {"address", point.offset ? Json(point.address) : Json()},
                 {"file_offset", point.offset ? Json(point.file_offset) : Json()},
                 {"semaphore_file_offset", point.semaphore_offset ? Json(point.semaphore_offset) : Json()},
                 {"verdict", name(point.judgement.verdict)},
                 {"why", point.judgement.why},
                 {"bpftrace", or_null(point.bpftrace)},
                 {"perf", or_null(point.perf)},
                 {"remarks", point.remarks}};
    return json;
}

} // namespace

PlanOutput::PlanOutput(Style style, bool json, const Kernel& kernel) : style_(style), json_(json), kernel_(kernel)
{
    if (json_)
        put(fmt::format("{{\n\"schema\": {},\n\"tool\": \"fastsdt-check {}\",\n\"kernel\": \"{}\",\n\"files\": [",
                        json_schema, FASTSDT_VERSION_STRING, kernel_.name()));
}

void PlanOutput::begin_file()
{
    put(files_++ ? ",\n" : "\n");
}

void PlanOutput::plan(const Image& image, const std::vector<AttachPoint>& points)
{
    if (json_) {
        begin_file();
        Json list = Json::array();
        for (const AttachPoint& point : points)
            list.push_back(point_json(point));
        put(Json{{"path", image.path()},
                 {"member", image.member().empty() ? Json() : Json(image.member())},
                 {"plan", std::move(list)}}
                .dump(1, ' ', false, Json::error_handler_t::replace));
        return;
    }
    std::string out;
    const auto to = std::back_inserter(out);
    const std::string_view bold = style_.colour ? "\033[1m" : "", dim = style_.colour ? "\033[2m" : "",
                           off = style_.colour ? "\033[0m" : "";
    fmt::format_to(to, "{}{}{}: ", bold, printable(image.name()), off);
    if (image.relocatable())
        out += "an object; link it first, then it has places to attach to\n";
    else if (points.empty())
        out += "nothing to attach to\n";
    else
        fmt::format_to(to, "{} to attach to on {}\n",
                       points.size() == 1 ? "1 place" : fmt::format("{} places", points.size()), kernel_.name());
    for (const AttachPoint& point : points) {
        fmt::format_to(to, "  {}{}{}  ", bold, printable(point.entry ? point.name : point.provider + ":" + point.name),
                       off);
        if (point.offset)
            fmt::format_to(to, "{:#x}{}  {}: {}\n", point.note_address,
                           *point.offset ? fmt::format("+{}", *point.offset) : "", point.place,
                           name(point.judgement.verdict));
        else
            fmt::format_to(to, "{:#x}  no place: {}\n", point.note_address, name(point.judgement.verdict));
        if (!point.bpftrace.empty())
            fmt::format_to(to, "    {}\n", printable(point.bpftrace));
        if (!point.perf.empty())
            fmt::format_to(to, "    {}\n", printable(point.perf));
        for (const std::string& remark : point.remarks)
            fmt::format_to(to, "    {}{}{}\n", dim, printable(remark), off);
        if (out.size() > 1 << 16) {
            put(out);
            out.clear();
        }
    }
    put(out);
}

void PlanOutput::unusable(const std::string& path, const std::string& message)
{
    if (!json_)
        return;
    begin_file();
    put(Json{{"path", path}, {"error", message}}.dump(1, ' ', false, Json::error_handler_t::replace));
}

void PlanOutput::finish()
{
    if (json_)
        put(files_ ? "\n]\n}\n" : "]\n}\n");
}
