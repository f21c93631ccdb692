// SPDX-License-Identifier: BSD-2-Clause
// fastsdt-index: arguments, files and messages. indexer.cpp does the work.
#include "base/output_file.h"
#include "base/printable.h"
#include "base/similar_option.h"
#include "base/unusable.h"
#include "elf/archive.h"
#include "indexer.h"
#include "say.h"
#include "toolexec.h"

#include <CLI/CLI.hpp>
#include <fastsdt/note.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <optional>

using namespace fastsdt;

namespace {

enum { done = 0, unusable = 2 };

void print_text(const std::string& path, const IndexResult& result, bool verbose)
{
    const std::string sites = plural(result.sites, "site"), entries = plural(result.entries, "entry", "entries");
    std::string line = result.exits
        ? fmt::format("{}: {}, {} and {}", printable(path), sites, entries, plural(result.exits, "exit"))
        : fmt::format("{}: {} and {}", printable(path), sites, entries);
    line += result.changed
        ? fmt::format(" indexed, .note.fastsdt {} -> {} bytes", result.layout_bytes_before, result.layout_bytes_after)
        : ", nothing to do";
    if (result.made)
        line += fmt::format(", {} noted that the code has", plural(result.made, "probe"));
    if (result.joined)
        line += fmt::format(", {} .note.stapsdt sections joined", result.joined + 1);
    if (!result.removed.empty())
        line += fmt::format(", {} removed", plural(result.removed.size(), "dangling note"));
    if (result.base_restored)
        line += ", .stapsdt.base restored";
    if (result.rebased)
        line += fmt::format(", the base of {} corrected", plural(result.rebased, "probe"));
    fmt::print("{}\n", line);
    if (verbose)
        for (const RemovedNote& note : result.removed)
            fmt::print("  removed: {} at {:#x}: {}\n", printable(note.what), note.address, note.why);
}

nlohmann::json to_json(const std::string& path, const IndexResult& result)
{
    const auto list = [](const std::vector<RemovedNote>& notes) {
        nlohmann::json array = nlohmann::json::array();
        for (const RemovedNote& note : notes)
            array.push_back({{"note", note.what}, {"address", note.address}, {"why", note.why}});
        return array;
    };
    return {{"file", path},
            {"changed", result.changed},
            {"sites", result.sites},
            {"entries", result.entries},
            {"exits", result.exits},
            {"probes", result.probes},
            {"made", result.made},
            {"rebased", result.rebased},
            {"base_restored", result.base_restored},
            {"joined", result.joined},
            {"removed", list(result.removed)},
            {"left_out", list(result.left_out)},
            {"layout_bytes", {{"before", result.layout_bytes_before}, {"after", result.layout_bytes_after}}},
            {"stapsdt_bytes", {{"before", result.stapsdt_bytes_before}, {"after", result.stapsdt_bytes_after}}}};
}

void say_left_out(const std::string& path, const IndexResult& result)
{
    for (const RemovedNote& note : result.left_out)
        say(fmt::format("{}: {} at {:#x} has no notes: {}", path, note.what, note.address, note.why));
}

struct Options {
    std::vector<std::string> paths;
    std::string output; // empty: each file is changed in place
    bool dry_run = false, quiet = false, verbose = false, json = false;
};

// If it returns a status, the program ends with it; every message is printed already.
std::optional<int> read_options(int argc, char** argv, Options& options)
{
    CLI::App app{"Merges the probe layout notes of executables and libraries into one sorted index, and removes notes"
                 " whose code the linker dropped."};
    app.name("fastsdt-index");
    app.set_version_flag("-V,--version", "fastsdt-index " FASTSDT_VERSION_STRING);
    app.footer("Examples:\n"
               "  fastsdt-index ./app                   after the link, in place\n"
               "  fastsdt-index --dry-run ./app         what it would change\n"
               "  go build -toolexec 'fastsdt-index --toolexec'\n"
               "                                        after each link that go does\n"
               "Exit status: 0 done, 2 unusable input or usage. See fastsdt-index(1).");
    app.add_option("FILE", options.paths, "Linked ELF files; changed in place unless -o is given")
        ->type_name("")
        ->option_text("..."); // not required(): a wrong option is the first thing to say
    app.add_option("-o,--output", options.output, "Write the result here (one FILE only)")->type_name("FILE");
    app.add_flag("-n,--dry-run", options.dry_run, "Say what would change and write nothing");
    app.add_flag("-q,--quiet", options.quiet, "Print nothing but errors");
    app.add_flag("-v,--verbose", options.verbose, "Name every removed note");
    app.add_flag("-j,--json", options.json, "Report as JSON");
    bool toolexec = false; // main() has looked for it
    app.add_flag("--toolexec", toolexec,
                 "For go build -toolexec: run the command that follows; index what go's linker writes");
    try {
        app.parse(argc, argv);
        if (toolexec)
            throw CLI::ValidationError("--toolexec", "comes first, and a command follows");
        if (options.paths.empty())
            throw CLI::RequiredError("FILE");
        if (!options.output.empty() && options.paths.size() != 1)
            throw CLI::ValidationError("--output", "needs exactly one FILE");
        // Not by ->excludes(), which --help would print in front of what the options do.
        if (options.quiet && (options.verbose || options.json))
            throw CLI::ExcludesError(options.verbose ? "--verbose" : "--json", "--quiet");
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0)
            return app.exit(error); // --help, --version
        say(fmt::format("{}; {}", error.what(), help_for(app, argc, argv)));
        return unusable;
    }
    return {};
}

IndexResult index_file(const std::string& path, const Options& options)
{
    // Where a file is changed in place, symbolic links are followed once, for reading and for writing.
    std::optional<OutputFile> target;
    if (!options.dry_run && options.output.empty())
        target.emplace(path, false); // there may be nothing to do
    const MappedFile file(target ? target->path() : path);
    IndexResult result;
    try {
        result = index_notes(file.bytes());
    } catch (const Unusable& error) {
        throw Unusable(error.error().at(path));
    }
    if (!options.dry_run && (result.changed || !options.output.empty())) {
        if (target) {
            target->change(result.file, file.descriptor());
        } else {
            target.emplace(options.output);
            target->write(result.changed ? result.file : file.bytes(), file.descriptor());
        }
        if (target->other_names() > 0)
            say(fmt::format("{}: has {} other names (hard links), which keep the old contents", target->path(),
                            target->other_names()));
    }
    return result;
}

} // namespace

int main(int argc, char** argv)
{
    if (argc > 2 && std::string_view(argv[1]) == "--toolexec")
        return toolexec(argv + 2, [](const std::string& path) {
            Options options;
            say_left_out(path, index_file(path, options));
        });
    Options options;
    if (const auto status = read_options(argc, argv, options))
        return *status;
    MappedFile::exit_when_shortened("fastsdt-index: a file was shortened while it was read\n", unusable);
    int status = done;
    nlohmann::json report = nlohmann::json::array();
    for (const std::string& path : options.paths) {
        try {
            const IndexResult result = index_file(path, options);
            if (options.json) {
                report.push_back(to_json(path, result));
                continue;
            }
            say_left_out(path, result);
            if (!options.quiet)
                print_text(path, result, options.verbose);
        } catch (const Unusable& error) {
            say(error.what());
            status = unusable;
        } catch (const std::exception& error) {
            say(fmt::format("{}: {}", path, error.what()));
            status = unusable;
        }
    }
    if (options.json)
        fmt::print("{}\n", report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    return status;
}
