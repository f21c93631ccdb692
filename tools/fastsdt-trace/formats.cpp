// SPDX-License-Identifier: BSD-2-Clause
#include "formats.h"

#include "base/unusable.h"
#include "values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace fastsdt::trace_tool {
namespace {

struct Ending {
    std::string_view ending;
    Form form;
    std::string_view what;
    std::unique_ptr<Sink> (*sink)(const Recorded& recorded, Pieces& to);
};
// A name has the longest one that it ends with.
constexpr std::array<Ending, 4> endings = {{
    {".json", Form::chrome, "Chrome's trace events", chrome_json},
    {".otlp.json", Form::otlp, "OpenTelemetry's spans", otlp_json},
    {".pftrace", Form::perfetto, "Perfetto's protobuf", perfetto},
    {".html", Form::page, "the page of report", page},
}};

} // namespace

std::optional<Form> form_of(std::string_view file)
{
    const Ending* found = nullptr;
    for (const Ending& one : endings)
        if (file.ends_with(one.ending) && (!found || one.ending.size() > found->ending.size()))
            found = &one;
    return found ? std::optional(found->form) : std::nullopt;
}

std::string forms_text()
{
    std::string text;
    for (const Ending& one : endings)
        text += fmt::format("{}FILE{} ({})", text.empty() ? "" : ", ", one.ending, one.what);
    return text;
}

JsonNames::JsonNames(const Recorded& recorded)
{
    for (const Drawn& one : recorded.drawn)
        classes.push_back(json_string(one.name));
    for (const CtfClass& one : recorded.trace.classes()) {
        auto& own = fields.emplace_back();
        for (const CtfField& field : one.fields)
            own.push_back(json_string(field.name));
    }
}

Made write_form(const Recorded& recorded, Form form, OutputFile& file, const std::function<bool()>& interrupted)
{
    const auto* const one =
        std::find_if(endings.begin(), endings.end(), [&](const Ending& each) { return each.form == form; });
    Made made;
    file.write([&](const OutputFile::Append& append) {
        Pieces pieces(append);
        const std::unique_ptr<Sink> sink = one->sink(recorded, pieces);
        made.told = tell_all(recorded, *sink, [&] {
            append({}); // looks for signals
            if (interrupted())
                throw Unusable({"interrupted, nothing was written", file.path()});
        });
        made.gaps = sink->finish();
        made.gaps.lost = made.told.lost;
        pieces.pass_on(true);
        made.bytes = pieces.bytes();
    });
    return made;
}

} // namespace fastsdt::trace_tool
