// SPDX-License-Identifier: BSD-2-Clause
#include "options.h"

#include "ask.h"
#include "base/printable.h"
#include "base/similar_option.h"
#include "elf/debug_options.h"
#include "proc/processes.h"

#include <fastsdt/note.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <iterator>
#include <unistd.h>

#include <cstdlib>

using namespace fastsdt;

namespace {

// Words of the command line that are not kept as they are.
struct Words {
    std::string kernels, only, fail_on = "error", colour = "auto";
    DebugPlaces debug;
    bool no_lines = false, list_findings = false, outside = false;
};

void add_options(CLI::App& app, Arguments& arguments, Words& words)
{
    app.name("fastsdt-check");
    app.set_version_flag("-V,--version", "fastsdt-check " FASTSDT_VERSION_STRING);
    app.footer(
        "Examples:\n"
        "  fastsdt-check --kernel 6.12,7.2 ./app     what these kernels do at each probe of a program\n"
        "  fastsdt-check --pid 4711                  what stands there in a process now\n"
        "Exit status: 0 clean, 1 findings at or above --fail-on, 2 unusable input or usage. See fastsdt-check(1).");
    app.add_option("FILE", arguments.files,
                   "ELF files, ar archives, and directories: all such files below them that have probes")
        ->type_name("");
    app.add_option("-k,--kernel", words.kernels,
                   "Kernels to judge for: 6.1,6.12.90 or 6.1-7.2 or ubuntu-7.0.0-43 or rhel-9.6 or this; +stp, +bti, "
                   "+endbr: patched")
        ->type_name("LIST");
    app.add_option("-P,--probe,--probes", arguments.globs,
                   "Only probes whose name, or provider:name, matches; can be repeated")
        ->type_name("GLOB")
        ->allow_extra_args(false);
    app.add_option("--only", words.only, "Show only probes with a finding at least this bad")
        ->type_name("LEVEL")
        ->check(CLI::IsMember({"info", "warning", "error"}));
    app.add_flag("-f,--functions", arguments.report.functions,
                 "Judge the entries of all functions in the symbol table too");
    app.add_flag("-s,--summary", arguments.style.summary, "Counts instead of single probes");
    app.add_flag("-v,--verbose", arguments.style.verbose,
                 "Show findings of level info too, each function with --functions, more tracers with --plan");
    app.add_option("-p,--pid", arguments.pid, "Read a running process instead of files: what its sites hold now")
        ->type_name("PID")
        ->check([](const std::string& text) {
            const std::string wrong = no_process_number(text);
            return wrong.empty() ? wrong : wrong + ": pidof NAME tells it";
        });
    app.add_flag(
        "--plan", arguments.plan,
        "Where to attach for the best result on one --kernel (default: this), with bpftrace and perf commands");
    app.add_flag("--armable", arguments.armable,
                 "Which entries, exits and one-byte sites fastsdt-trace can arm by moving instructions");
    app.add_flag("--diff", arguments.diff,
                 "Two files, OLD and NEW: which probes are gone, have other arguments or are new");
    app.add_flag("-j,--json", arguments.json, "JSON, as docs/json.md describes it");
    app.add_option("-o,--output", arguments.output, "Write the report to a file instead of standard output")
        ->type_name("FILE");
    app.add_flag("--sarif", arguments.sarif, "Findings as SARIF 2.1.0, for code hosts; infos with --verbose");
    app.add_option("-J,--jobs", arguments.jobs, "Threads that look through directories (default: all processors)")
        ->type_name("N")
        ->check(CLI::Range(1u, 1024u).description(""));
    app.add_flag("--outside", words.outside, "Read the members of thin archives outside their directory too");
    app.add_flag("--no-lines", words.no_lines, "Do not look for source lines");
    add_debug_options(app, words.debug);
    app.add_option("--fail-on", words.fail_on,
                   "Lowest level of a finding that makes the exit status 1: info, warning, error (default), never")
        ->type_name("LEVEL")
        ->check(CLI::IsMember({"info", "warning", "error", "never"}));
    app.add_option("--color", words.colour, "auto (default), always, never")
        ->type_name("WHEN")
        ->check(CLI::IsMember({"auto", "always", "never"}));
    app.add_flag("--list-findings", words.list_findings, "List the identifiers of findings and what they mean");
}

void list_findings()
{
    for (size_t i = 0; i < finding_count; ++i)
        put(fmt::format("{:<24} {:<8} {}\n", name(FindingId(i)), name(usual_severity(FindingId(i))),
                        meaning(FindingId(i))));
}

// Says which options do not go together. Empty: all do.
std::string conflict(const Arguments& a, const Words& words)
{
    if (a.pid != 0 && !a.files.empty())
        return "--pid reads the files that the process has mapped; name no others";
    if (a.pid == 0 && a.files.empty())
        return "no files; see fastsdt-check --help";
    if (a.diff && a.files.size() != 2)
        return "--diff compares two files: OLD NEW";
    if (a.diff && (a.plan || a.report.functions))
        return "--diff cannot be combined with --plan or --functions";
    if (a.armable
        && (a.plan || a.diff || a.sarif || a.pid != 0 || a.report.functions || !words.kernels.empty()
            || !words.only.empty()))
        return "--armable is for files, and judges no kernels: leave out --plan, --diff, --sarif, --pid, --functions, "
               "--kernel and --only";
    if (a.sarif && (a.json || a.plan || a.diff || a.pid != 0))
        return "--sarif reports the findings in files: leave out --json, --plan, --diff and --pid";
    if (a.plan && a.pid != 0)
        return "--plan is for files; name the program";
    if (a.plan && a.report.kernels.size() != 1)
        return "--plan is for one kernel, for example --kernel 7.2";
    if (a.plan && a.report.functions)
        return "--plan lists the functions that fastprobe selected, and no others: leave out --functions";
    if (a.plan && !words.only.empty())
        return "--plan reports no findings: leave out --only";
    return {};
}

bool colour_wanted(const std::string& when)
{
    const char* const terminal = std::getenv("TERM");
    return when == "always"
        || (when == "auto" && isatty(STDOUT_FILENO) && !std::getenv("NO_COLOR") && terminal
            && std::string_view(terminal) != "dumb");
}

} // namespace

bool Arguments::selects(std::string_view provider, std::string_view probe) const
{
    const std::string name(probe);
    const std::string full = fmt::format("{}:{}", provider, probe);
    bool any = globs.empty();
    for (const std::string& glob : globs)
        if (fnmatch(glob.c_str(), glob.find(':') == glob.npos ? name.c_str() : full.c_str(), 0) == 0) {
            matched_.insert(glob);
            any = true;
        }
    return any;
}

std::vector<std::string> Arguments::unmatched() const
{
    std::vector<std::string> left;
    std::copy_if(globs.begin(), globs.end(), std::back_inserter(left),
                 [&](const std::string& glob) { return !matched_.contains(glob); });
    return left;
}

std::optional<Status> read_arguments(int argc, char** argv, Arguments& arguments)
{
    CLI::App app{
        "Says what each Linux kernel and tracer does at the USDT probes of programs, libraries, objects and archives."};
    Words words;
    add_options(app, arguments, words);
    const auto usage = [](const std::string& what) {
        std::fputs(fmt::format("fastsdt-check: {}\n", printable(what)).c_str(), stderr);
        return unusable;
    };
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0)
            return Status(app.exit(error)); // --help, --version
        return usage(fmt::format("{}; {}", in_words(error.what()), help_for(app, argc, argv)));
    }
    set_debug_places(words.debug);
    if (words.list_findings) {
        list_findings();
        return clean;
    }
    if (arguments.plan && words.kernels.empty())
        words.kernels = "this";
    if (!words.kernels.empty()) {
        auto kernels = parse_kernels(words.kernels);
        if (!kernels)
            return usage(kernels.error().at("--kernel").text());
        arguments.report.kernels = *std::move(kernels);
        for (Kernel& kernel : arguments.report.kernels)
            if (kernel.running)
                ask_running(kernel);
    }
    if (const std::string what = conflict(arguments, words); !what.empty())
        return usage(what);
    if (!words.kernels.empty())
        for (const Kernel& kernel : arguments.report.kernels)
            if (const std::string what = doubt(kernel); !what.empty())
                std::fputs(fmt::format("fastsdt-check: {}\n", what).c_str(), stderr);
    if (words.outside)
        arguments.access.outside = Access::read;
    arguments.report.lines = !words.no_lines && !arguments.style.summary;
    if (!arguments.globs.empty())
        arguments.report.select = [&arguments](const ProbeNote& probe) {
            return arguments.selects(probe.provider, probe.name);
        };
    arguments.style.colour =
        colour_wanted(words.colour == "auto" && !arguments.output.empty() ? "never" : words.colour);
    arguments.style.only = parse_severity(words.only);
    arguments.threshold = parse_severity(words.fail_on);
    return {};
}
