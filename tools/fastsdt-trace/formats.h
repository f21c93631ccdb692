// SPDX-License-Identifier: BSD-2-Clause
// The files that `record`, `functions`, `report` and `export` make of a trace: by which ending of a name somebody asks for which, and who writes it.
#pragma once
#include "base/output_file.h"
#include "options.h"
#include "sink.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fastsdt::trace_tool {

/// Empty: the name says none.
std::optional<Form> form_of(std::string_view file);
/// "FILE.json (Chrome's trace events), FILE.pftrace (...)": all of them
std::string forms_text();

/// Passes on in large pieces what is put at its end.
class Pieces {
public:
    using Take = OutputFile::Append;
    explicit Pieces(Take take) : take_(std::move(take)) {}
    std::string text;
    /// To be called behind what belongs together.
    void pass_on(bool all = false)
    {
        constexpr size_t large = size_t(1) << 20;
        if (text.size() < large && !all)
            return;
        bytes_ += text.size();
        take_(text);
        text.clear();
    }
    uint64_t bytes() const { return bytes_ + text.size(); }

private:
    const Take take_;
    uint64_t bytes_ = 0;
};

/// Names as JSON has them, in quotes.
struct JsonNames {
    explicit JsonNames(const Recorded& recorded);
    std::vector<std::string> classes;
    std::vector<std::vector<std::string>> fields; ///< by class
};

// What they are given has to outlive them.
std::unique_ptr<Sink> chrome_json(const Recorded& recorded, Pieces& to);
std::unique_ptr<Sink> perfetto(const Recorded& recorded, Pieces& to);
std::unique_ptr<Sink> otlp_json(const Recorded& recorded, Pieces& to);
std::unique_ptr<Sink> page(const Recorded& recorded, Pieces& to); ///< in report.cpp
/// Of OpenTelemetry's collectors, which refuse requests beyond some size. @param deliver  takes a request; none if there is no span
std::unique_ptr<Sink> otlp_requests(const Recorded& recorded, std::function<void(const std::string&)> deliver);

struct Made {
    Told told;
    CallGaps gaps; ///< with what the trace lacks
    uint64_t bytes = 0;
};
/// The file appears whole, or not at all. @param interrupted  asked now and then: whether to end, by Unusable. Throws Unusable.
Made write_form(const Recorded& recorded, Form form, OutputFile& file, const std::function<bool()>& interrupted);

} // namespace fastsdt::trace_tool
