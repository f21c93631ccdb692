// SPDX-License-Identifier: BSD-2-Clause
// --plan: where to attach, as commands and as JSON (docs/json.md, "plan").
#include "json.h"
#include "output.h"
#include "report/commands.h"

#include <fastsdt/note.h>

#include <fmt/format.h>

using namespace fastsdt;

namespace {

Json point_json(const AttachPoint& point, const std::vector<NamedCommand>& by_name)
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
    if (!by_name.empty()) {
        Json& lines = json["by_name"] = Json::object();
        for (const NamedCommand& command : by_name)
            lines[std::string(command.tracer)] = command.line;
    }
    if (!point.exits.empty()) {
        Json exits = Json::array();
        for (const AttachPoint& exit : point.exits)
            exits.push_back({{"tail_call", exit.exit->tail_call()},
                             {"result", result_name(exit.exit->result)},
                             {"note_address", exit.note_address},
                             {"verdict_at_note", name(exit.at_note.verdict)},
                             {"place", exit.offset ? Json(exit.place) : Json()},
                             {"offset", exit.offset ? Json(*exit.offset) : Json()},
                             {"address", exit.offset ? Json(exit.address) : Json()},
                             {"file_offset", exit.offset ? Json(exit.file_offset) : Json()},
                             {"verdict", name(exit.judgement.verdict)},
                             {"why", exit.judgement.why},
                             {"remarks", exit.remarks}});
        json["exits"] = std::move(exits);
        json["exits_bpftrace"] = or_null(point.exits_bpftrace);
        json["exits_perf"] = or_null(point.exits_perf);
    }
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

void PlanOutput::begin_image(const Image& image, size_t points)
{
    budget_.begin(image, 1);
    if (json_) {
        begin_file();
        const std::string head =
            dump({{"path", image.path()}, {"member", image.member().empty() ? Json() : Json(image.member())}});
        // Without the closing brace; the points follow one by one.
        out_ = head.substr(0, head.size() - 2) + ",\n \"plan\": [";
        first_ = true;
        return;
    }
    const auto to = std::back_inserter(out_);
    fmt::format_to(to, "{}{}{}: ", on(ansi::bold), printable(image.name()), on(ansi::reset));
    if (image.relocatable())
        out_ += "an object; link it first, then it has places to attach to\n";
    else if (points == 0)
        out_ += "nothing to attach to\n";
    else
        fmt::format_to(to, "{} to attach to on {}\n", points == 1 ? "1 place" : fmt::format("{} places", points),
                       kernel_.name());
}

void PlanOutput::point(const Image& image, const AttachPoint& point)
{
    if (!budget_.spend(0))
        return;
    const size_t before = out_.size();
    std::vector<NamedCommand> by_name;
    if (style_.verbose)
        by_name = commands_by_name(image, point);
    if (json_) {
        out_ += first_ ? "\n" : ",\n";
        first_ = false;
        out_ += dump(point_json(point, by_name));
    } else {
        const std::string_view bold = on(ansi::bold), dim = on(ansi::dim), off = on(ansi::reset);
        const auto to = std::back_inserter(out_);
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
        for (const NamedCommand& command : by_name)
            fmt::format_to(to, "    {}\n", printable(command.line));
        for (const AttachPoint& exit : point.exits)
            fmt::format_to(to, "    {}  {:#x}{}  {}\n", exit.exit->tail_call() ? "tail call" : "return",
                           exit.note_address, exit.offset.value_or(0) ? fmt::format("+{}", *exit.offset) : "",
                           name(exit.judgement.verdict));
        for (const std::string& command : {point.exits_bpftrace, point.exits_perf})
            if (!command.empty())
                fmt::format_to(to, "    {}\n", printable(command));
        for (const std::string& remark : point.remarks)
            fmt::format_to(to, "    {}{}{}\n", dim, printable(remark), off);
    }
    budget_.spend(out_.size() - before);
    if (out_.size() > 1 << 16)
        flush();
}

void PlanOutput::end_image()
{
    if (json_)
        out_ += first_ ? "]\n}" : "\n ]\n}";
    flush();
}

void PlanOutput::flush()
{
    put(out_);
    out_.clear();
}

std::string_view PlanOutput::on(std::string_view code) const
{
    return style_.colour ? code : "";
}

void PlanOutput::unusable(const std::string& path, const std::string& message)
{
    if (!json_)
        return;
    begin_file();
    put(dump({{"path", path}, {"error", message}}));
}

void PlanOutput::finish()
{
    if (json_)
        put(files_ ? "\n]\n}\n" : "]\n}\n");
}
