// SPDX-License-Identifier: BSD-2-Clause
#include "export.h"

#include "base/printable.h"
#include "collector.h"
#include "formats.h"
#include "say.h"

#include <fmt/format.h>

#include <string>

namespace fastsdt::trace_tool {

void tell_of(const Made& made, const std::string& file)
{
    tell(fmt::format("{}, {} bytes: {}", plural(made.told.events, "event"), made.bytes, file));
}

int export_trace(const Export& wanted)
{
    CallGaps gaps;
    if (wanted.otlp.empty()) {
        OutputFile file(wanted.file);
        const Made made = write_form(Recorded(wanted.folder), wanted.form, file, [] { return false; });
        if (wanted.form == Form::page)
            tell_of(made, file.path());
        gaps = made.gaps;
    } else {
        Collector collector(wanted.otlp);
        const Recorded recorded(wanted.folder);
        const auto sink =
            otlp_requests(recorded, [&](const std::string& request) { collector.deliver("traces", request); });
        const Told told = tell_all(recorded, *sink, [] {});
        gaps = sink->finish();
        gaps.lost = told.lost;
    }
    tell_of(gaps, wanted.form == Form::page ? "page" : "trace");
    return gaps.lost ? incomplete : complete;
}

} // namespace fastsdt::trace_tool
