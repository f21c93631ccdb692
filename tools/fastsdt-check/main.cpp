// SPDX-License-Identifier: BSD-2-Clause
#include "base/output_file.h"
#include "diff.h"
#include "elf/archive.h"
#include "files.h"
#include "options.h"
#include "output.h"
#include "tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

using namespace fastsdt;

namespace {

std::optional<std::string> kept; // the report, for a file

[[noreturn]] void cannot_write()
{
    std::fputs(fmt::format("fastsdt-check: cannot write the output: {}\n", std::strerror(errno)).c_str(), stderr);
    std::_Exit(unusable);
}

Status check_process(const Arguments& arguments)
{
    const Process process = read_process(arguments.pid, arguments.report.functions);
    for (const Error& trouble : process.troubles)
        std::fputs(fmt::format("fastsdt-check: {}\n", printable(trouble.text())).c_str(), stderr);
    const auto select = [&](const LiveSite& site) {
        const auto severity = fastsdt::severity(site.change);
        return arguments.selects(site.provider, site.name)
            && (!arguments.style.only || (severity && *severity >= *arguments.style.only));
    };
    if (arguments.json)
        print_process_json(process, select);
    else
        print_process_text(process, select, arguments.style);
    for (const LiveFile& file : process.files)
        for (const LiveSite& site : file.sites)
            if (const auto severity = fastsdt::severity(site.change);
                arguments.threshold && severity && *severity >= *arguments.threshold && select(site))
                return findings_found;
    return clean;
}

Status diff_files(const Arguments& arguments)
{
    const auto say = [](const fastsdt_reader_error& error) {
        const std::string text = Error{error.what, error.where, error.cure}.text();
        std::fputs(fmt::format("fastsdt-check: {}\n", text).c_str(), stderr);
        return unusable;
    };
    fastsdt_reader_options options{};
    options.size = sizeof options;
    options.flags = FASTSDT_READER_MAP;
    options.kernels = "";
    if (arguments.access.outside == Access::read)
        options.flags |= FASTSDT_READER_OUTSIDE;
    Status status = clean;
    Diff changes;
    for (const Diff::Side side : {Diff::before, Diff::after}) {
        fastsdt_reader_error error;
        const std::unique_ptr<fastsdt_reader, decltype(&fastsdt_reader_close)> file(
            fastsdt_reader_open(arguments.files[side].c_str(), &options, &error), fastsdt_reader_close);
        if (!file)
            status = say(error);
        for (size_t i = 0; const fastsdt_reader_error* trouble = fastsdt_reader_trouble_at(file.get(), i); ++i)
            status = say(*trouble);
        changes.add(side, file.get(), [&](std::string_view provider, std::string_view name) {
            return arguments.selects(provider, name);
        });
    }
    if (status != clean)
        return status;
    const bool differ = changes.print(arguments.files[0], arguments.files[1], arguments.json, arguments.style);
    return differ && arguments.threshold ? findings_found : clean;
}

Status plan_files(const Arguments& arguments)
{
    const Kernel kernel = arguments.report.kernels.front();
    Files files(arguments.access);
    PlanOutput output(arguments.style, arguments.json, kernel);
    for (const std::string& path : arguments.files)
        files.each_image(
            path,
            [&](const Image& image) {
                Notes notes = read_notes(image);
                if (!arguments.globs.empty()) {
                    std::erase_if(notes.probes,
                                  [&](const ProbeNote& probe) { return !arguments.report.select(probe); });
                    notes.entries.clear();
                    notes.exits.clear();
                }
                output.begin_image(image, notes.probes.size() + notes.entries.size());
                plan(image, notes, kernel, [&](const AttachPoint& point) { output.point(image, point); });
                output.end_image();
            },
            [&](const std::string& file, const std::string& message) { output.unusable(file, message); });
    output.finish();
    return files.all_read() && output.whole() ? clean : unusable;
}

Status armable_files(const Arguments& arguments)
{
    Files files(arguments.access);
    ArmableOutput output(arguments.style, arguments.json);
    for (const std::string& path : arguments.files)
        files.each_image(
            path,
            [&](const Image& image) {
                Notes notes = read_notes(image);
                std::erase_if(notes.probes,
                              [&](const ProbeNote& probe) { return !arguments.selects(probe.provider, probe.name); });
                output.image(image, notes);
            },
            [&](const std::string& file, const std::string& message) { output.unusable(file, message); });
    output.finish();
    return files.all_read() && output.whole() ? clean : unusable;
}

Status report_files(const Arguments& arguments)
{
    Files files(arguments.access);
    Status status = clean;
    const auto output = arguments.json ? json_output(arguments.report.kernels, arguments.style.only)
        : arguments.sarif
        ? sarif_output(arguments.style.only.value_or(arguments.style.verbose ? Severity::info : Severity::warning))
        : text_output(arguments.style);
    for (const std::string& path : arguments.files)
        files.each_image(
            path,
            [&](const Image& image) {
                const Notes notes = read_notes(image);
                const Report report(image, notes, arguments.report);
                output->report(report);
                for (size_t i = 0; arguments.threshold && i < report.severities.size(); ++i)
                    if (report.severities[i] > 0 && Severity(i) >= *arguments.threshold)
                        status = findings_found;
            },
            [&](const std::string& file, const std::string& message) { output->unusable(file, message); });
    output->finish();
    return files.all_read() && output->whole() ? status : unusable;
}

Status run_on_files(const Arguments& arguments)
{
    return arguments.pid    ? check_process(arguments)
        : arguments.diff    ? diff_files(arguments)
        : arguments.plan    ? plan_files(arguments)
        : arguments.armable ? armable_files(arguments)
                            : report_files(arguments);
}

// Replaces each directory by the files below it. False: some could not be read.
bool look_through_directories(Arguments& arguments)
{
    Tree tree =
        expand(arguments.files, arguments.jobs ? arguments.jobs : std::max(1u, std::thread::hardware_concurrency()),
               arguments.access);
    for (const Error& trouble : tree.troubles)
        std::fputs(fmt::format("fastsdt-check: {}\n", printable(trouble.text())).c_str(), stderr);
    arguments.files = std::move(tree.files);
    if (tree.directories > 0) {
        arguments.style.tree = true;
        arguments.style.summary |= !arguments.style.verbose;
        arguments.report.lines &= !arguments.style.summary || arguments.json || arguments.sarif;
        if (!arguments.json && !arguments.sarif)
            put(fmt::format("{} looked at, {} with probes\n",
                            plural(tree.looked_at, "ELF file or archive", "ELF files and archives"),
                            arguments.files.size()));
    }
    return tree.troubles.empty();
}

Status look(Arguments& arguments)
{
    if (!arguments.pid && !arguments.diff && !look_through_directories(arguments))
        return std::max(run_on_files(arguments), unusable);
    return run_on_files(arguments);
}

Status run(Arguments& arguments)
{
    try {
        if (arguments.output.empty())
            return look(arguments);
        OutputFile output(arguments.output); // what cannot be written is refused now
        kept.emplace();
        const Status status = look(arguments);
        output.write(*kept);
        return status;
    } catch (const Unusable& error) {
        std::fputs(fmt::format("fastsdt-check: {}\n", printable(error.what())).c_str(), stderr);
        return unusable;
    }
}

} // namespace

void put(std::string_view text)
{
    if (kept) {
        *kept += text;
        return;
    }
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
        cannot_write();
}

int main(int argc, char** argv)
{
    MappedFile::exit_when_shortened("\nfastsdt-check: a file was shortened while it was read\n", unusable);
    Arguments arguments;
    if (const auto status = read_arguments(argc, argv, arguments))
        return *status;
    Status status = run(arguments);
    for (const std::string& glob : arguments.unmatched()) {
        fmt::print(stderr,
                   "fastsdt-check: no probe of the files that were read matches \"{}\" (PROVIDER:NAME or NAME; without "
                   "--probe all are shown)\n",
                   printable(glob));
        status = unusable;
    }
    if (std::fflush(stdout) != 0)
        cannot_write();
    return status;
}
