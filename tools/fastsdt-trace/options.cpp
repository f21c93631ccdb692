// SPDX-License-Identifier: BSD-2-Clause
#include "options.h"
#include "say.h"

#include <fastsdt/note.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>

namespace fastsdt::trace_tool {
namespace {

struct Given {
    std::string text, file;
    std::vector<std::string> places; ///< of latency
    double duration = 0, interval = 0;
};

std::string process_number(const std::string& text)
{
    int value = 0;
    const bool good = CLI::detail::lexical_cast(text, value) && value > 0;
    return good ? std::string() : fmt::format("\"{}\" is not the number of a process", text);
}

std::string seconds(const std::string& text)
{
    double value = 0;
    constexpr double least = 0.001, most = 1e9; // a millisecond, some 30 years
    const bool good = CLI::detail::lexical_cast(text, value) && value >= least && value <= most;
    return good ? std::string() : fmt::format("\"{}\" is not a number of seconds from 0.001 up", text);
}

// CLI11 does not know about the words after --.
class Help : public CLI::Formatter {
    std::string make_usage(const CLI::App*, std::string) const override
    {
        return "Usage: fastsdt-trace [OPTIONS] -e TEXT -- COMMAND...\n"
               "       fastsdt-trace [OPTIONS] -p PID FILE\n"
               "       fastsdt-trace latency [OPTIONS] -p PID PROBE PROBE\n"
               "       fastsdt-trace latency [OPTIONS] -p PID FUNCTION\n"
               "Each form takes -p PID or -- COMMAND.\n";
    }
};

CLI::App* add_options(CLI::App& app, Options& options, Given& given)
{
    app.name("fastsdt-trace");
    app.formatter(std::make_shared<Help>());
    app.set_version_flag("-V,--version", "fastsdt-trace " FASTSDT_VERSION_STRING);
    app.footer(
        "COMMAND, after --, is run and traced from its first instruction on; --pid attaches to a running process.\n"
        "Exit status: 0 complete, 1 a site was not armed, a probe matched nothing or something was not counted,\n"
        "2 unusable input, usage or permission. See fastsdt-trace(1).");
    app.add_option("FILE", given.file, "File with the script");
    app.add_option("-e,--execute", given.text, "The script itself")->type_name("TEXT");
    app.add_option("-p,--pid", options.pid, "Attach to a running process")->type_name("PID")->check(process_number);
    const CLI::TransformPairs<EngineChoice> engines = {
        {"auto", EngineChoice::automatic}, {"user", EngineChoice::user}, {"kernel", EngineChoice::kernel}};
    app.add_option(
           "--engine", options.engine,
           "user: sites are patched to count in the process; kernel: bpftrace runs the script; auto: user where every "
           "site can be armed, else kernel if bpftrace can be run")
        ->transform(CLI::Transformer(engines, CLI::ignore_case).description(""))
        ->transform(CLI::IsMember(engines, CLI::ignore_case)); // checked first; its message names the engines
    app.add_option("-t,--duration", given.duration, "End after this time")->type_name("SECONDS")->check(seconds);
    app.add_option("-i,--interval", given.interval, "Print all maps at this interval")
        ->type_name("SECONDS")
        ->check(seconds);
    app.add_flag("-d,--dry-run", options.dry,
                 "Only show the sites, the instructions that would count there, and why a site cannot be armed; a "
                 "COMMAND is not run");
    app.add_flag(
        "--read-memory", options.read_memory,
        "Read strings and arguments in the heap of a program that may set a seccomp filter, which could then kill it");
    app.add_flag("-j,--json", options.json, "Print as bpftrace -f json does");
    app.require_subcommand(0, 1);
    CLI::App* const latency = app.add_subcommand(
        "latency", "Time from one probe to another in the same thread, or from a function's entry to its exits");
    latency->add_option("PLACE", given.places, "Two probes, [FILE:]PROVIDER:NAME or NAME, or one [FILE:]FUNCTION")
        ->required()
        ->expected(1, 2);
    latency->fallthrough();
    return latency;
}

std::string read_script(const std::string& file)
{
    constexpr size_t most = size_t(1) << 20; // nobody writes as much; a device has no end
    std::ifstream in(file, std::ios::binary);
    if (!in)
        give_up(fmt::format("{}: {}", file, std::strerror(errno)));
    std::string text(most + 1, '\0');
    errno = 0;
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (in.bad())
        give_up(fmt::format("{}: {}", file, errno ? std::strerror(errno) : "it cannot be read"));
    text.resize(static_cast<size_t>(in.gcount()));
    if (text.size() > most)
        give_up(fmt::format("{}: more than {} bytes are no script", file, most));
    return text;
}

std::optional<std::chrono::milliseconds> duration(double seconds)
{
    if (seconds <= 0)
        return {};
    return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

// A hint for users who forget the --.
const char* dashes_hint(const Options& options)
{
    return options.command.empty() && !options.pid ? "; a command to be traced goes behind --" : "";
}

// Checks what the parser cannot.
void check_options(const CLI::App& latency, Options& options, const Given& given)
{
    const bool is_latency = latency.parsed();
    const int scripts = int(is_latency) + int(!given.text.empty()) + int(!given.file.empty());
    if (scripts != 1)
        give_up(scripts ? fmt::format("one script is enough: -e TEXT, FILE or latency{}", dashes_hint(options))
                        : "the script is missing: -e TEXT, FILE or latency; see fastsdt-trace --help");
    if ((options.pid != 0) == !options.command.empty())
        give_up(options.pid ? "--pid cannot be combined with a command"
                            : "name a process with --pid, or a command after --");
    options.duration = duration(given.duration);
    options.interval = duration(given.interval);
    if (is_latency) {
        options.text = latency_script(given.places);
        options.name = "latency";
    } else if (given.text.empty()) {
        options.text = read_script(given.file);
        options.name = given.file;
    } else {
        options.text = given.text;
        options.name = "-e";
    }
}

} // namespace

std::optional<int> read_options(int argc, char** argv, Options& options)
{
    CLI::App app{"Traces USDT probes and functions with the language of bpftrace, without the kernel and without root: "
                 "sites that fastsdt made are patched to count in the process itself."};
    Given given;
    const CLI::App* const latency = add_options(app, options, given);
    // CLI11 gives words after -- to positionals that are still empty.
    char** const end = argv + argc;
    char** const dashes = std::find_if(argv, end, [](const char* word) { return std::string_view(word) == "--"; });
    if (dashes != end) {
        options.command.assign(dashes + 1, end);
        if (options.command.empty())
            give_up("a command is wanted after --");
    }
    try {
        app.parse(static_cast<int>(dashes - argv), argv);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0)
            return app.exit(error); // --help, --version
        give_up(fmt::format(
            "{}{}; see fastsdt-trace --help", error.what(),
            error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError) ? dashes_hint(options) : ""));
    }
    check_options(*latency, options, given);
    return {};
}

} // namespace fastsdt::trace_tool
