// SPDX-License-Identifier: BSD-2-Clause
// Everything that fastsdt-check and fastsdt-index do with a file, for libFuzzer (fuzz.sh) and for replay.cpp: the report with
// --functions, as text, JSON and SARIF, the plan, what is armable, and the index. What they print and write stays in proportion to the file.
#include "../../tools/fastsdt-check/output.h"
#include "elf/image.h"
#include "elf/notes.h"
#include "indexer.h"
#include "report/findings.h"
#include "report/plan.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

using namespace fastsdt;

namespace {

size_t printed = 0; // by one kind of output

void require(bool condition, const char* what, size_t got, size_t size)
{
    if (condition)
        return;
    std::fprintf(stderr, "reader_fuzz: %s: %zu bytes for a file of %zu\n", what, got, size);
    std::abort();
}

// For one kind of output, of a file and the members that it has.
void require_short(const char* what, size_t size)
{
    require(printed <= (1 << 20) + 600 * size, what, printed, size);
    printed = 0;
}

enum Way { text, json, sarif, plan_text, plan_json, armable_text, armable_json, ways };

void print(Way way, const Image& image, const Notes& notes, const Report& report)
{
    static constexpr const char* names[] = {"text",         "JSON",    "SARIF",          "plan",
                                            "plan in JSON", "armable", "armable in JSON"};
    Style style;
    style.verbose = true;
    if (way == plan_text || way == plan_json) {
        const Kernel& kernel = report.options.kernels.front();
        PlanOutput output(style, way == plan_json, kernel);
        output.begin_image(image, notes.probes.size() + notes.entries.size());
        plan(image, notes, kernel, [&](const AttachPoint& point) { output.point(image, point); });
        output.end_image();
        output.finish();
    } else if (way == armable_text || way == armable_json) {
        ArmableOutput output(style, way == armable_json);
        output.image(image, notes);
        output.finish();
    } else {
        const auto output = way == text ? text_output(style)
            : way == json               ? json_output(report.options.kernels, {})
                                        : sarif_output(Severity::info);
        output->report(report);
        output->finish();
    }
    require_short(names[way], image.file().size());
}

} // namespace

// What the outputs write to.
void put(std::string_view text)
{
    printed += text.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    // A copy of its own on the heap, so that a read past the end is seen. libdwfl reads the same bytes from a file.
    const std::vector<std::byte> bytes(reinterpret_cast<const std::byte*>(data),
                                       reinterpret_cast<const std::byte*>(data) + size);
    static const int fd = ::memfd_create("input", MFD_CLOEXEC);
    if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, data, size, 0) != ssize_t(size))
        std::abort();
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    // Printing takes most of the time, so each input is printed in one way, which depends on nothing else.
    const Way way = Way(std::accumulate(data, data + size, size) % ways);
    try {
        Image::each(
            path, bytes,
            [&](const Image& image) {
                const Notes notes = read_notes(image);
                ReportOptions options;
                options.functions = true;
                const Report report(image, notes, options);
                print(way, image, notes, report);
                for (const Kernel& kernel : options.kernels)
                    plan(image, notes, kernel);
                for (const SiteReport& site : report.sites)
                    image.place(site.probe->address);
                image.build_id();
            },
            [](const std::string&) {});
    } catch (const Unusable&) {}
    try {
        const IndexResult result = index_notes(bytes);
        require(result.file.size() <= 2 * size + (1 << 17), "index", result.file.size(), size);
        if (result.changed)
            require(!index_notes(result.file).changed, "a second run of fastsdt-index", result.file.size(), size);
    } catch (const IndexError& error) {
        require(!std::strstr(error.what(), "is a bug"), error.what(), 0, size);
    }
    return 0;
}
