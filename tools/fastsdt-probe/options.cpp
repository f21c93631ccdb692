// SPDX-License-Identifier: BSD-2-Clause
#include "probe.h"

#include "base/search_path.h"
#include "base/similar_option.h"
#include "proc/processes.h"

#include <fastsdt/note.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

namespace fastsdt::probe {
namespace {

void add_options(CLI::App& app, Options& options)
{
    app.name("fastsdt-probe");
    app.set_version_flag("-V,--version", "fastsdt-probe " FASTSDT_VERSION_STRING);
    app.footer(
        "FILE is probed and run; COMMAND runs something else, --pid attaches to a running process. With --dry-run,\n"
        "and for a shared library without COMMAND, the probes are only tried.\n"
        "Examples, as root:\n"
        "  fastsdt-probe --probe 'shop:*' ./app              runs it, and says what each probe took\n"
        "  fastsdt-probe --probe shop:order --pid 4711 --live\n"
        "Exit status: 0 all attached, 1 some were not, 2 unusable input, usage or permission.");
    app.add_option("FILE", options.file,
                   "ELF file to probe: a program or a shared library; default with --pid: the program of the process")
        ->type_name("");
    app.add_option("COMMAND", options.command, "After --: what to run; FILE itself by default")->type_name("");
    const auto repeated = [&](const char* name, std::vector<std::string>& values, const char* type, const char* text) {
        app.add_option(name, values, text)->type_name(type)->allow_extra_args(false);
    };
    repeated("-P,--probe,--probes", options.probes, "GLOB", "USDT probes by name or provider:name");
    repeated("-e,--entry", options.entries, "GLOB", "Function entries that fastprobe selected");
    repeated("-x,--exit", options.exits, "GLOB", "All exits of functions that have exit sites");
    repeated("-s,--symbol", options.symbols, "NAME[+OFFSET]", "A function of the symbol table");
    repeated("-a,--address", options.addresses, "ADDRESS", "An ELF virtual address");
    repeated("-o,--offset", options.offsets, "OFFSET", "A file offset");
    app.add_flag("-r,--return", options.on_return, "Return probes too, at everything but USDT probes");
    app.add_flag("-n,--at-note", options.at_note,
                 "Attach at the notes' addresses, not where the plan for this kernel says");
    app.add_flag("-d,--dry-run", options.dry, "Only try the probes, run nothing");
    app.add_flag("-f,--force", options.force,
                 "Attach even where that breaks the program, and to a file that the process has not mapped");
    app.add_option("-p,--pid", options.pid, "Attach to a running process instead of running something")
        ->type_name("PID")
        ->check([](const std::string& text) {
            const std::string wrong = no_process_number(text);
            return wrong.empty() ? wrong : wrong + ": pidof NAME tells it";
        });
    app.add_flag("-l,--live", options.live, "With --pid: rates, modes and arguments on the terminal, once a second");
    app.add_flag("-c,--children,--follow", options.children,
                 "With --pid: count what the process forks from now on, too");
    app.add_option("-t,--seconds,--duration", options.seconds,
                   "With --pid: detach after this time; otherwise when the process ends or at an interrupt")
        ->check([](const std::string& text) {
            double seconds = 0;
            constexpr double most = 1e9; // some 30 years
            const bool good = CLI::detail::lexical_cast(text, seconds) && seconds > 0 && seconds <= most;
            return good ? std::string() : fmt::format("\"{}\" is not a number of seconds above 0", text);
        });
    app.add_option("--time", options.runs,
                   "Run the command RUNS times with and RUNS times without probes, and give the CPU time per hit")
        ->type_name("RUNS")
        ->check(CLI::Range(1u, 1000u).description(""));
    app.add_flag("-j,--json", options.json, "Report as JSON");
    app.add_option("--output", options.output, "Write the report to a file instead of standard output")
        ->type_name("FILE");
}

// Checks what the parser cannot.
void check_options(Options& options)
{
    if (options.pid && (!options.command.empty() || options.runs || options.dry))
        throw Unusable("--pid cannot be combined with a command, --time or --dry-run");
    if (options.seconds > 0 && !options.pid)
        throw Unusable("--seconds needs --pid");
    if (options.children && !options.pid)
        throw Unusable("--children needs --pid; when a program is run, everything that it starts is counted anyway");
    if (options.live && !options.pid)
        throw Unusable("--live needs --pid");
    if (options.live && !isatty(STDOUT_FILENO))
        throw Unusable("--live needs a terminal, and standard output is not one");
    if (options.file.empty() && !options.pid)
        throw Unusable("name the FILE to probe, or a process with --pid");
    if (!options.command.empty() && options.command[0].find('/') == std::string::npos
        && in_search_path(options.command[0]).empty())
        throw Unusable(fmt::format("\"{0}\" is no program: a COMMAND begins with one, as in -- {1} {0}",
                                   options.command[0], options.file));
    options.everything = options.probes.empty() && options.entries.empty() && options.exits.empty()
        && options.symbols.empty() && options.addresses.empty() && options.offsets.empty();
}

} // namespace

std::optional<int> read_options(int argc, char** argv, Options& options)
{
    CLI::App app{"Attaches real uprobes to a program, runs it, and says what the kernel did at each: refused, "
                 "single-stepped, emulated or optimized, how often, at what cost."};
    add_options(app, options);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0)
            return app.exit(error); // --help, --version
        throw Unusable({in_words(error.what()), {}, help_for(app, argc, argv)});
    }
    check_options(options);
    return {};
}

} // namespace fastsdt::probe
