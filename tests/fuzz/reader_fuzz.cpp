// SPDX-License-Identifier: BSD-2-Clause
// Everything that fastsdt-check and fastsdt-index do with a file, for libFuzzer (fuzz.sh) and for replay.cpp: the report with
// --functions, as text, JSON and SARIF, the plan, what is armable, and the index; and all that libfastsdt tells. What they print and write
// stays in proportion to the file.
#include "../../tools/fastsdt-check/output.h"
#include "elf/image.h"
#include "elf/notes.h"
#include "indexer.h"
#include "report/findings.h"
#include "report/plan.h"

#include <fastsdt/reader.h>

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

size_t told = 0; // by libfastsdt
void see(const char* text)
{
    told += text ? std::strlen(text) : 0;
}
void see(const unsigned char* bytes, size_t size)
{
    told += size ? bytes[0] + bytes[size - 1] : 0;
}
void see(const fastsdt_reader_finding* finding)
{
    see(finding->id);
    see(finding->message);
    see(finding->section);
}
void see(const fastsdt_reader_place* place)
{
    see(place->section);
    see(place->layout_name);
    see(place->state_name);
    see(place->bytes, place->byte_count);
    for (size_t i = 0; const fastsdt_reader_verdict* verdict = fastsdt_reader_verdict_at(place, i); ++i) {
        see(verdict->name);
        see(verdict->why);
        see(verdict->patch_why);
    }
}

// Every pointer of a reader leads to what is there, also beyond the counts, and what it tells agrees with itself.
void walk(const std::vector<std::byte>& bytes)
{
    fastsdt_reader_options options{};
    options.size = sizeof options;
    options.flags = FASTSDT_READER_FUNCTIONS;
    options.kernels = "6.12,7.2";
    fastsdt_reader_error error;
    fastsdt_reader* const reader = fastsdt_reader_open_memory(bytes.data(), bytes.size(), &options, &error);
    require(reader ? error.kind == 0 : error.kind == FASTSDT_READER_UNUSABLE && *error.what, "libfastsdt's error", 0,
            bytes.size());
    const auto count = [&](const char* what, size_t counted, size_t said) {
        require(counted == said, what, counted, said);
    };
    for (size_t i = 0; const fastsdt_reader_error* trouble = fastsdt_reader_trouble_at(reader, i); ++i)
        see(trouble->what);
    for (size_t i = 0; const fastsdt_reader_image* image = fastsdt_reader_image_at(reader, i); ++i) {
        see(image->path);
        see(image->build_id);
        size_t probes = 0, functions = 0, findings = 0;
        for (; const auto* finding = fastsdt_reader_image_finding_at(image, findings); ++findings)
            see(finding);
        for (; const auto* probe = fastsdt_reader_probe_at(image, probes); ++probes) {
            see(probe->place);
            see(probe->provider);
            see(probe->name);
            see(probe->argument_string);
            size_t arguments = 0;
            for (; const auto* argument = fastsdt_reader_argument_at(probe, arguments); ++arguments) {
                see(argument->operand);
                see(argument->name);
                see(argument->type);
                for (size_t j = 0; const auto* reading = fastsdt_reader_reading_at(argument, j); ++j)
                    see(reading->why);
            }
            count("arguments", arguments, probe->arguments);
            size_t of_it = 0;
            for (; const auto* finding = fastsdt_reader_probe_finding_at(probe, of_it); ++of_it)
                see(finding);
            count("findings of a probe", of_it, probe->findings);
        }
        for (; const auto* function = fastsdt_reader_function_at(image, functions); ++functions) {
            see(function->place);
            see(function->name);
            size_t aliases = 0, exits = 0, of_it = 0;
            for (; const char* alias = fastsdt_reader_alias_at(function, aliases); ++aliases)
                see(alias);
            count("aliases", aliases, function->aliases);
            for (; const auto* exit = fastsdt_reader_exit_at(function, exits); ++exits) {
                see(exit->place);
                for (size_t j = 0; const auto* finding = fastsdt_reader_exit_finding_at(exit, j); ++j)
                    see(finding);
            }
            count("exits", exits, function->exits);
            for (; const auto* finding = fastsdt_reader_function_finding_at(function, of_it); ++of_it)
                see(finding);
            count("findings of a function", of_it, function->findings);
        }
        count("findings of a file", findings, image->findings);
        count("probes", probes, image->probes);
        count("functions", functions, image->functions);
    }
    fastsdt_reader_close(reader);
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
            [](const Error&) {});
    } catch (const Unusable&) {}
    walk(bytes);
    try {
        const IndexResult result = index_notes(bytes);
        require(result.file.size() <= 2 * size + (1 << 17), "index", result.file.size(), size);
        if (result.changed)
            require(!index_notes(result.file).changed, "a second run of fastsdt-index", result.file.size(), size);
    } catch (const Unusable& error) {
        require(!std::strstr(error.what(), "is a bug"), error.what(), 0, size);
    }
    return 0;
}
