// SPDX-License-Identifier: BSD-2-Clause
#include "options.h"
#include "record.h"
#include "top.h"

#include "base/demangle.h"
#include "base/nearest.h"
#include "base/output_file.h"
#include "base/search_path.h"
#include "base/similar_option.h"
#include "base/unusable.h"
#include "bpftrace.h"
#include "elf/debug_options.h"
#include "elf/elf_file.h"
#include "say.h"
#include "script/parse.h"

#include <fastsdt/note.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <linux/magic.h>
#include <pwd.h>
#include <span>
#include <string_view>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <wordexp.h>

namespace fastsdt::trace_tool {
namespace {

struct Given {
    std::string text, command;
    std::vector<std::string> words;   ///< the script's file and its parameters
    std::vector<std::string> places;  ///< of latency
    std::vector<std::string> scripts; ///< of serve
    ServeOptions serve;
    Timeline timeline;
    Export exported, reported;
    Top top;
    CLI::App *latency_command = nullptr, *serve_command = nullptr, *record_command = nullptr,
             *functions_command = nullptr, *export_command = nullptr, *top_command = nullptr, *report_command = nullptr;
    CLI::Option* list = nullptr;
    std::string search;
    DebugPlaces debug;
    std::optional<Nearest> subcommand; ///< that the script's FILE was meant for, perhaps
    std::vector<std::string> users;
    double duration = 0, interval = 0;
    uint64_t buffer = 0; // 0: the usual
};

std::string process_number(const std::string& text)
{
    int value = 0;
    const bool good = CLI::detail::lexical_cast(text, value) && value > 0;
    return good
        ? std::string()
        : fmt::format("\"{}\" is not the number of a process: --exe FILE and --comm NAME choose them by name", text);
}

std::string seconds(const std::string& text)
{
    double value = 0;
    constexpr double least = 0.001, most = 1e9; // a millisecond, some 30 years
    const bool good = CLI::detail::lexical_cast(text, value) && value >= least && value <= most;
    return good ? std::string() : fmt::format("\"{}\" is not a number of seconds from 0.001 up", text);
}

Options::Stage stage_of(const std::string& word)
{
    using Stage = Options::Stage;
    if (word != "ast" && word != "ir" && word != "code")
        give_up("-d wants ast, ir or code (the sites alone: --dry-run)");
    return word == "ast" ? Stage::ast : word == "ir" ? Stage::ir : Stage::code;
}

// CLI11 does not know about the words after --.
class Help : public CLI::Formatter {
    std::string make_usage(const CLI::App* app, std::string) const override
    {
        if (app->get_name() == "serve")
            return "Usage: fastsdt-trace serve [--listen ADDRESS:PORT] --config FILE\n"
                   "       fastsdt-trace serve [OPTIONS] [--listen ADDRESS:PORT] --exe FILE SCRIPT...\n"
                   "       fastsdt-trace serve [OPTIONS] [--listen ADDRESS:PORT] -p PID -e TEXT\n";
        if (app->get_name() == "record")
            return "Usage: fastsdt-trace record [OPTIONS] -o DIR [--functions PATTERN] [--probes PATTERN] -- "
                   "COMMAND...\n"
                   "       fastsdt-trace record [OPTIONS] -o DIR -e TEXT -p PID\n";
        if (app->get_name() == "functions")
            return "Usage: fastsdt-trace functions [OPTIONS] [--functions PATTERN] [-o DIR] -- COMMAND...\n"
                   "       fastsdt-trace functions [OPTIONS] [--functions PATTERN] [-o DIR] -p PID\n";
        if (app->get_name() == "top")
            return "Usage: fastsdt-trace top [OPTIONS] [--functions PATTERN] [--probes PATTERN] -p PID\n"
                   "       fastsdt-trace top [OPTIONS] [--functions PATTERN] [--probes PATTERN] --exe FILE\n";
        if (app->get_name() == "export")
            return "Usage: fastsdt-trace export DIR -o FILE.json\n"
                   "       fastsdt-trace export DIR -o FILE.otlp.json\n"
                   "       fastsdt-trace export DIR -o FILE.pftrace\n"
                   "       fastsdt-trace export DIR --otlp URL\n";
        if (app->get_name() == "report")
            return "Usage: fastsdt-trace report [OPTIONS] -o FILE.html [--functions PATTERN] [--probes PATTERN] -- "
                   "COMMAND...\n"
                   "       fastsdt-trace report [OPTIONS] -o FILE.html [--functions PATTERN] [--probes PATTERN] -p "
                   "PID\n"
                   "       fastsdt-trace report -o FILE.html DIR\n";
        if (app->get_name() == "latency")
            return "Usage: fastsdt-trace latency [OPTIONS] PROBE PROBE -p PID\n"
                   "       fastsdt-trace latency [OPTIONS] FUNCTION -- COMMAND...\n";
        return "Usage: fastsdt-trace [OPTIONS] -e TEXT -- COMMAND...\n"
               "       fastsdt-trace [OPTIONS] -p PID FILE\n"
               "       fastsdt-trace latency [OPTIONS] -p PID PROBE PROBE\n"
               "       fastsdt-trace latency [OPTIONS] -p PID FUNCTION\n"
               "       fastsdt-trace record [OPTIONS] -o DIR [--functions PATTERN] [--probes PATTERN] -p PID\n"
               "       fastsdt-trace functions [OPTIONS] -p PID\n"
               "       fastsdt-trace top [OPTIONS] -p PID\n"
               "       fastsdt-trace report [OPTIONS] -o FILE.html -p PID\n"
               "       fastsdt-trace export DIR -o FILE\n"
               "       fastsdt-trace serve --config FILE\n"
               "       fastsdt-trace serve [OPTIONS] --exe FILE SCRIPT...\n"
               "Each form takes -p PID, or --exe FILE and its like, or -- COMMAND.\n";
    }
};

void add_timelines(CLI::App& app, Given& given)
{
    const auto patterns = [](CLI::App* command, const char* name, std::vector<std::string>& to, const char* what) {
        command->add_option(name, to, what)->type_name("PATTERN")->delimiter(',')->allow_extra_args(false);
    };
    CLI::App* const record = given.record_command = app.add_subcommand(
        "record", "Write each hit with its time and arguments to a trace (CTF 1.8), which babeltrace2 and others read");
    record->add_option("-o,--output", given.timeline.folder, "Folder for the trace; it must not be there yet")
        ->type_name("DIR");
    patterns(record, "--functions", given.timeline.functions, "Functions, [FILE:]FUNCTION: their entries and exits");
    patterns(record, "--probes", given.timeline.probes,
             "Probes, [[FILE:]PROVIDER:]NAME, with all of their arguments; all of the program by default");
    const auto samples = [&given](CLI::App* command) {
        constexpr unsigned most = 10'000;
        command
            ->add_option("--samples", given.timeline.samples,
                         "Sample the threads' stacks so often in a second, too: 99, for example")
            ->type_name("HZ")
            ->check(CLI::Range(1U, most).description(""));
    };
    samples(record);
    record->footer("With -e TEXT or a FILE each printf() of the script is an event, with its values. The options of\n"
                   "fastsdt-trace mean what they mean without record; see fastsdt-trace --help.\n\n"
                   "Then: babeltrace2 DIR, or fastsdt-trace export DIR -o FILE.json. See fastsdt-trace(1), TIMELINES.");
    record->fallthrough();
    CLI::App* const functions = given.functions_command = app.add_subcommand(
        "functions", "Table of the program's functions: calls, and time with and without what they call");
    functions->add_option("-o,--output", given.timeline.folder, "Write the trace as record does, too")
        ->type_name("DIR");
    patterns(functions, "--functions", given.timeline.functions, "Only these, [FILE:]FUNCTION; all by default");
    functions->footer("See fastsdt-trace --help for the other options, and fastsdt-trace(1), TIMELINES.");
    functions->fallthrough();
    CLI::App* const report = given.report_command = app.add_subcommand(
        "report",
        "Make one HTML file of calls and probes, which needs no network: flame graph, table, latencies, timeline");
    report->add_option("DIR", given.reported.folder, "A trace that record has written; else what is recorded now")
        ->type_name("");
    report->add_option("-o,--output", given.reported.file, "The page")->type_name("FILE");
    patterns(report, "--functions", given.timeline.functions,
             "Functions, [FILE:]FUNCTION; all of the program if no --probes are named");
    patterns(report, "--probes", given.timeline.probes, "Probes, [[FILE:]PROVIDER:]NAME");
    samples(report);
    report->footer("Examples:\n"
                   "  fastsdt-trace report -o page.html -- ./shop\n"
                   "  fastsdt-trace report -o page.html -t 5 --functions 'serve_*' -p $(pidof shop)\n\n"
                   "See fastsdt-trace --help for the other options, and fastsdt-trace(1), TIMELINES.");
    report->fallthrough();
    CLI::App* const top = given.top_command =
        app.add_subcommand("top", "Table of probes by rate, and of functions by rate and time, again and again");
    patterns(top, "--functions", given.top.functions, "Functions, [FILE:]FUNCTION: how long their calls take");
    patterns(top, "--probes", given.top.probes,
             "Probes, [[FILE:]PROVIDER:]NAME; all of the program if neither --probes nor --functions is given");
    const CLI::TransformPairs<Top::Order> orders = {{"rate", Top::Order::rate}, {"total", Top::Order::total},
                                                    {"busy", Top::Order::busy}, {"p50", Top::Order::p50},
                                                    {"p99", Top::Order::p99},   {"name", Top::Order::name}};
    top->add_option("--sort", given.top.order, "rate, total, busy, p50, p99 or name; rate by default")
        ->type_name("COLUMN")
        ->transform(CLI::Transformer(orders).description(""))
        ->transform(CLI::IsMember(orders).description(""));
    top->add_option("--rows", given.top.rows, "Print so many at most where there is no terminal; 20 by default")
        ->type_name("N")
        ->check(CLI::Range(size_t(1), size_t(1) << 20).description(""));
    top->footer("A table each second, or as --interval says. On a terminal keys choose the order (r t b 5 9 n), pause\n"
                "(p) and end (q). Times are of calls that returned: P50 and P99 say up to which power of two.\n\n"
                "Examples:\n"
                "  fastsdt-trace top -p $(pidof shop)\n"
                "  fastsdt-trace top --functions 'shop:serve_*' --sort p99 --exe /usr/bin/shop\n\n"
                "See fastsdt-trace --help for the other options, and fastsdt-trace(1), TOP.");
    top->fallthrough();
    CLI::App* const exported = given.export_command = app.add_subcommand(
        "export", "Make a file for Perfetto, Chrome or speedscope of a trace that record has written");
    exported->add_option("DIR", given.exported.folder, "The trace's folder")->type_name("");
    exported
        ->add_option("-o,--output", given.exported.file,
                     "FILE.json: Chrome's trace events; FILE.otlp.json: OpenTelemetry's spans; FILE.pftrace: "
                     "Perfetto's protobuf")
        ->type_name("FILE");
    exported
        ->add_option("--otlp", given.exported.otlp, "Send the spans to an OpenTelemetry collector, http://HOST:4318")
        ->type_name("URL");
}

void add_options(CLI::App& app, Options& options, Given& given)
{
    app.name("fastsdt-trace");
    app.formatter(std::make_shared<Help>());
    app.set_version_flag("-V,--version", "fastsdt-trace " FASTSDT_VERSION_STRING);
    app.footer(
        "COMMAND, after --, is run and traced from its first instruction on; --pid attaches to a running process.\n"
        "Examples:\n"
        "  fastsdt-trace -e 'usdt:./app:shop:order { @[str(arg1)] = count(); }' -- ./app\n"
        "  fastsdt-trace functions --functions 'parse*' -p 4711\n"
        "Exit status: 0 complete, 1 a site was not armed, a probe matched nothing or something was not counted,\n"
        "2 unusable input, usage or permission. See fastsdt-trace(1).");
    app.add_option("FILE", given.words, "File with the script, and its parameters $1, $2, ...")->type_name("");
    app.add_option("-e,--execute", given.text, "The script itself")->type_name("TEXT");
    app.add_option("-c,--cmd", given.command, "Run this command and trace it: as behind --, in one word")
        ->type_name("CMD");
    app.add_option("-p,--pid", options.pids, "Attach to a running process, or to several: -p 1,2 -p 3")
        ->type_name("PID")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(process_number);
    const auto select = [&app](const char* name, std::vector<std::string>& to, const char* what, const char* type) {
        app.add_option(name, to, what)->type_name(type)->delimiter(',')->allow_extra_args(false);
    };
    select("--exe", options.selection.exes,
           "Attach to all processes that have this file mapped, and to those that start later", "FILE");
    select("--comm", options.selection.comms, "To all of this name, a pattern, that have mapped a file of the script",
           "NAME");
    select("--cgroup", options.selection.cgroups, "To all in this control group, or below it", "PATH");
    select("--container", options.selection.containers, "To all in the container whose number begins so", "ID");
    select("--user", given.users, "To all that run as this user", "USER");
    const CLI::TransformPairs<EngineChoice> engines = {{"auto", EngineChoice::automatic},
                                                       {"user", EngineChoice::user},
                                                       {"kernel", EngineChoice::kernel},
                                                       {"bpftrace", EngineChoice::bpftrace}};
    app.add_option(
           "--engine", options.engine,
           "user: sites are patched to count in the process; kernel: uprobes with BPF programs count; bpftrace: that "
           "program "
           "runs the script; auto: user, and kernel for what it cannot have; bpftrace for scripts that only it reads")
        ->type_name("ENGINE")
        ->transform(CLI::Transformer(engines, CLI::ignore_case).description(""))
        ->transform(CLI::IsMember(engines, CLI::ignore_case)); // checked first; its message names the engines
    app.add_option("-t,--duration", given.duration, "End after this time")->type_name("SECONDS")->check(seconds);
    app.add_option("-i,--interval", given.interval, "Print all maps at this interval")
        ->type_name("SECONDS")
        ->check(seconds);
    app.add_option_function<std::string>(
           "-d,--stage", [&options](const std::string& word) { options.stage = stage_of(word); },
           "Only show what becomes of the script: ast, as it was written; ir, its operations; code, as --dry-run")
        ->type_name("STAGE:{ast,ir,code}")
        ->expected(0, 1);
    app.add_flag("--dry-run", options.dry,
                 "Only show the sites, the instructions that would count there, and why a site cannot be armed; a "
                 "COMMAND is not run");
    app.add_flag_callback(
        "-f,--follow", [&options] { options.follow = true; },
        "Count the hits of forked children too, in the same maps, until the last of them has ended; with a COMMAND "
        "this is the default");
    app.add_flag_callback("--no-follow", [&options] { options.follow = false; }, "Count only the process itself");
    app.add_flag_callback(
        "--no-move", [&options] { options.moves = false; },
        "Arm only what was compiled for it; else the first instructions of other functions and probes are moved away");
    app.add_flag_callback(
        "--move-faulting", [&options] { options.moves_faulting = true; },
        "Move instructions that may raise a signal even if the program handles it: its handler may see the "
        "address of a copy");
    app.add_flag(
        "--read-memory", options.read_memory,
        "Read strings and arguments in the heap of a program that may set a seccomp filter, which could then kill it");
    app.add_option(
           "--buffer", given.buffer,
           "Buffer of each thread that prints, for what it prints between two looks of the tool; more is lost. 64K by "
           "default, 1M with --flight, 4M for record and functions")
        ->type_name("SIZE")
        ->transform(CLI::AsSizeValue(false).description(""))
        ->check(CLI::Range(uint64_t(4) << 10, uint64_t(1) << 30).description(""));
    app.add_flag("--flight", options.flight,
                 "Keep the newest events of each thread, as many as its buffer takes, and print them when the script "
                 "says dump(), at SIGUSR1, and at the end, also when the program crashes");
    app.add_flag("--unordered", options.unordered,
                 "Read no clock for what is printed at probes: faster, but only the lines of one thread are in order");
    app.add_option("-o,--output", options.output, "Print into this file; what the COMMAND prints stays where it is")
        ->type_name("FILE");
    app.add_flag("-j,--json", options.json, "Print as bpftrace -f json does");
    app.add_option_function<std::string>(
           "--like", [&options](const std::string& version) { options.is_newer = version == "0.27"; },
           "Print structures, pointers, statistics, empty maps and lists as this version of bpftrace does; 0.17 by "
           "default")
        ->type_name("VERSION")
        ->check(CLI::IsMember({"0.17", "0.27"}).description(""));
    app.add_flag_callback(
        "--no-warnings", [&options] { options.warns = false; },
        "Say nothing of warnf() and of what looks odd in a script");
    app.add_option("--include", options.includes,
                   "Read this C header before the script, as #include <FILE> does: types and constants")
        ->type_name("FILE")
        ->allow_extra_args(false);
    app.add_option("-I", options.include_folders, "Look for headers here too")
        ->type_name("DIR")
        ->allow_extra_args(false);
    app.add_option("--probe-filter", options.probe_filter,
                   "Leave out probes of the script that do not match this regular expression, but for BEGIN and END")
        ->type_name("REGEX");
    app.add_flag("--unsafe", options.unsafe, "Let scripts run commands, system(), and send signals, signal()");
    app.add_flag(
        "--uretprobe", options.return_probes,
        "Let bpftrace have return probes whose exits cannot be armed. The kernel replaces return addresses for these, "
        "which ends programs that check them. Refused where a file that is known beforehand is a Go program, throws "
        "exceptions or is marked for shadow stacks");
    app.add_flag("--folded", options.folded,
                 "Print counts and sums by stack as flamegraph.pl reads them: \"main;work;step 12\"");
    app.add_option(
           "--pprof", options.pprof,
           "Write counts and sums by stack into this file, and do not print them: a profile that go tool pprof, "
           "Pyroscope, Grafana and speedscope read")
        ->type_name("FILE");
    app.add_flag("--exit-status", options.exit_status,
                 "End with the COMMAND's status, 128 and the signal's number where one killed it; 2 remains for what "
                 "cannot be traced at all");
    add_debug_options(app, given.debug);
    app.add_flag_callback(
        "--no-demangle", [&options] { options.demangles = false; },
        "Show functions of C++ and Rust by the names that the linker has");
    given.list = app.add_option("-l,--list", given.search,
                                "List the probes and functions that scripts can name, with their arguments: of a FILE, "
                                "or of a process (--pid). SEARCH is a FILE, or a pattern such as "
                                "'usdt:FILE:*'; with -e, or with FILE.bt, those that the script means")
                     ->type_name("SEARCH")
                     ->expected(0, 1);
    app.require_subcommand(0, 1);
    CLI::App* const latency = given.latency_command = app.add_subcommand(
        "latency", "Time from one probe to another in the same thread, or from a function's entry to its exits");
    latency->add_option("PLACE", given.places, "Two probes, [FILE:]PROVIDER:NAME or NAME, or one [FILE:]FUNCTION")
        ->type_name("")
        ->expected(1, CLI::detail::expected_max_vector_size); // too many: check_latency()
    latency->footer("Prints a histogram of the times, @ns, and their number, mean and sum, @total.\n\n"
                    "Examples:\n"
                    "  fastsdt-trace latency shop:begin shop:end -p $(pidof shop)\n"
                    "  fastsdt-trace latency ./shop:serve -- ./shop\n\n"
                    "See fastsdt-trace --help for the other options, and fastsdt-trace(1), LATENCY.");
    latency->fallthrough();
    add_timelines(app, given);
    CLI::App* const serve = given.serve_command = app.add_subcommand(
        "serve", "Trace until a signal ends it, and export all maps to Prometheus over HTTP (OpenMetrics)");
    serve->add_option("SCRIPT", given.scripts, "Files with scripts");
    serve->add_option("--config", given.serve.config, "Scripts and their processes; SIGHUP reads it again")
        ->type_name("FILE");
    serve->add_option("--listen", given.serve.listen, "Where to be asked; 127.0.0.1:9946 by default")
        ->type_name("ADDRESS:PORT");
    serve
        ->add_option("--otlp", given.serve.otlp,
                     "Send the metrics to an OpenTelemetry collector too, http://HOST:4318, every 10 seconds")
        ->type_name("URL");
    serve->footer(
        "Without --config, the options -e, -p, --exe, --comm, --cgroup, --container, --user, -f, --no-follow and\n"
        "--read-memory mean what they mean without serve; see fastsdt-trace --help.\n\n"
        "Examples:\n"
        "  fastsdt-trace serve --config /etc/fastsdt/trace.json\n"
        "  fastsdt-trace serve --exe /usr/bin/shop -e 'usdt:*:shop:order { @orders[arg0] = count(); }'\n\n"
        "Then: curl http://127.0.0.1:9946/metrics. See fastsdt-trace(1), SERVE.");
    serve->fallthrough();
}

std::optional<std::chrono::milliseconds> duration(double seconds)
{
    if (seconds <= 0)
        return {};
    return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

uid_t user_of(const std::string& text)
{
    uid_t number = 0;
    if (const passwd* user = getpwnam(text.c_str()))
        return user->pw_uid;
    if (!CLI::detail::lexical_cast(text, number))
        throw Unusable(fmt::format("--user {}: there is no such user; a number is taken too", text));
    return number;
}

// What is left of the path of a cgroup's folder behind where the file system is mounted. Other paths stay.
std::string below_mount(const std::string& path)
{
    namespace fs = std::filesystem;
    std::error_code error;
    const fs::path folder = fs::canonical(path, error);
    struct stat status{}, above{};
    struct statfs system{};
    if (error || !path.starts_with('/') || stat(folder.c_str(), &status) < 0 || statfs(folder.c_str(), &system) < 0
        || (system.f_type != CGROUP2_SUPER_MAGIC && system.f_type != CGROUP_SUPER_MAGIC))
        return path;
    fs::path root = folder;
    while (root.has_relative_path() && stat(root.parent_path().c_str(), &above) == 0 && above.st_dev == status.st_dev)
        root = root.parent_path();
    return "/" + folder.lexically_relative(root).string();
}

// A hint for users who forget the --.
const char* dashes_hint(const Options& options)
{
    return options.has_target() ? "" : "; a command to be traced goes behind --";
}

// Where a script is expected, or nothing: the first of these words may be the program of a COMMAND, or one that is on the PATH.
void refuse_program(const Options& options, const std::vector<std::string>& words)
{
    if (words.empty() || options.has_target())
        return;
    const bool is_here = access(words[0].c_str(), F_OK) == 0;
    if (is_here ? is_elf_file(words[0]) : words[0].find('/') == std::string::npos && !in_search_path(words[0]).empty())
        give_up(command_behind_dashes(words));
}

void check_serve(Options& options, Given& given)
{
    options.serve = std::move(given.serve);
    complete_selection(options.selection, given.users);
    const bool named = !given.scripts.empty() || !given.words.empty() || !given.text.empty();
    const bool selects = !options.selection.empty() || !options.pids.empty();
    if (!options.command.empty())
        give_up("serve starts no command; name processes that others start");
    if (given.duration > 0 || given.interval > 0 || options.dry || options.json || !options.output.empty()
        || options.folded || !options.pprof.empty() || options.flight || options.unordered || options.exit_status
        || *given.list || given.latency_command->parsed() || options.in_kernel())
        give_up("serve prints no report and runs no bpftrace: --duration, --interval, --dry-run, --json, --output, "
                "--folded, --pprof, --flight, --unordered, "
                "--exit-status, --list, latency and --engine kernel cannot be combined with it");
    if (!options.serve->config.empty()) {
        if (named || selects || options.follow || options.read_memory)
            give_up("--config has the scripts and their processes; the command line cannot add to it");
        return;
    }
    if (!named || !selects)
        give_up("name a configuration with --config, or scripts and their processes");
    if (!options.selection.empty() && !options.pids.empty())
        give_up("--pid cannot be combined with --exe, --comm, --cgroup, --container or --user");
    if (!given.text.empty())
        options.serve->scripts.push_back({"-e", given.text});
    given.scripts.insert(given.scripts.begin(), given.words.begin(), given.words.end());
    for (const std::string& file : given.scripts)
        options.serve->scripts.push_back(read_script(file));
}

void check_list(Options& options, const Given& given)
{
    options.list = given.search;
    if (given.latency_command->parsed() || !options.selection.empty() || !given.users.empty()
        || !options.command.empty() || options.dry || options.exit_status || given.duration > 0 || given.interval > 0)
        give_up("--list runs no script: it takes SEARCH, --pid, -e and --json");
    if (!given.words.empty()) {
        if (!given.search.empty() || given.words.size() > 1)
            give_up("--list takes one SEARCH");
        options.list = given.words[0];
    }
    if (!given.text.empty() && !options.list->empty())
        give_up("--list takes one SEARCH, or -e TEXT");
    options.text = given.text;
    options.name = "-e";
    if (const std::string file = *options.list; file.ends_with(".bt")) {
        options.text = read_script(file).text;
        options.name = file;
        options.list->clear();
    }
}

// In words, as sh has it, but that no command is run for it.
std::vector<std::string> words_of(const std::string& command)
{
    wordexp_t found{};
    if (wordexp(command.c_str(), &found, WRDE_NOCMD | WRDE_UNDEF) != 0)
        give_up(
            fmt::format("-c \"{}\": that is no command: quotes that are not closed, one of |&;<>(){{}}, $(...), or a "
                        "variable that is not set; -- COMMAND... takes words as they are",
                        command));
    std::vector<std::string> words(found.we_wordv, found.we_wordv + found.we_wordc);
    wordfree(&found);
    if (words.empty())
        give_up("-c wants a command");
    return words;
}

bool is_timeline(const Given& given)
{
    return given.record_command->parsed() || given.functions_command->parsed() || given.report_command->parsed();
}

void check_timeline(Options& options, const Given& given, bool is_generated)
{
    Timeline& timeline = options.timeline.emplace(given.timeline);
    timeline.generated = is_generated;
    timeline.table = given.functions_command->parsed();
    const bool is_report = given.report_command->parsed();
    const char* const name = is_report ? "report" : timeline.table ? "functions" : "record";
    if (given.record_command->parsed() && given.functions_command->parsed())
        give_up("functions -o DIR records too: one command is enough");
    if (given.latency_command->parsed() || options.in_kernel() || options.dry || given.interval > 0)
        give_up(fmt::format("{} reads what threads of the process record: latency, --engine kernel, --dry-run and "
                            "--interval cannot be combined with it",
                            name));
    options.engine = EngineChoice::user;
    if (!is_generated && (timeline.table || !timeline.functions.empty() || !timeline.probes.empty()))
        give_up(timeline.table ? "functions takes no script: --functions PATTERN chooses among them"
                               : "one of a script and --functions or --probes is enough");
    if (is_report) {
        if (given.reported.file.empty())
            give_up("where shall the page go? -o FILE.html");
        timeline.page = timeline.folder = OutputFile(given.reported.file).path();
    }
    if (!is_generated && timeline.samples)
        give_up("--samples goes with --functions and --probes: a script has profile:hz:N and maps of its own");
    timeline.all_functions =
        timeline.functions.empty() && (timeline.table || (is_report && is_generated && timeline.probes.empty()));
    if (timeline.all_functions)
        timeline.functions.emplace_back("*");
    if (timeline.folder.empty() && !timeline.table)
        give_up("where shall the trace go? -o DIR");
}

void check_top(Options& options, const Given& given)
{
    options.top = given.top;
    if (!given.text.empty() || !given.words.empty() || given.latency_command->parsed() || is_timeline(given))
        give_up("top has its own script: --functions PATTERN and --probes PATTERN choose what it counts");
    if (options.in_kernel() || options.folded)
        give_up("top counts in the process: --engine kernel and --folded cannot be combined with it");
    options.engine = EngineChoice::user;
}

void check_export(Options& options, const Given& given)
{
    options.exported = given.exported;
    if (!given.text.empty() || !given.words.empty() || !options.pids.empty() || !options.selection.empty()
        || !options.command.empty())
        give_up("export only reads a trace: it takes DIR, and --output or --otlp");
    if (given.exported.folder.empty())
        give_up("which trace? export DIR, as record -o DIR has written it");
    if (!given.exported.otlp.empty() && !given.exported.file.empty())
        give_up("export either writes a file, --output, or sends the spans, --otlp");
    if (!given.exported.otlp.empty())
        return;
    if (given.exported.file.empty())
        give_up("where shall it go? -o FILE.json, FILE.otlp.json or FILE.pftrace, or --otlp URL");
    if (!given.exported.file.ends_with(".json") && !given.exported.file.ends_with(".pftrace"))
        give_up(fmt::format("{}: the name tells the format: .json for Chrome's trace events, .otlp.json for "
                            "OpenTelemetry, .pftrace for Perfetto",
                            given.exported.file));
}

void check_report(Options& options, const Given& given)
{
    options.reported = given.reported;
    if (!given.text.empty() || !given.words.empty() || options.has_target() || !given.timeline.functions.empty()
        || !given.timeline.probes.empty() || given.duration > 0 || given.interval > 0 || given.timeline.samples
        || options.json || options.flight || options.engine != EngineChoice::automatic)
        give_up(fmt::format(
            "report {} reads a trace and records nothing: it takes DIR and --output; a script goes behind -e",
            given.reported.folder));
    if (given.reported.file.empty())
        give_up("where shall the page go? -o FILE.html");
}

void check_latency(const Options& options, const std::vector<std::string>& places)
{
    for (size_t i = 0; i < places.size(); ++i)
        if (i >= 2 || is_elf_file(places[i]))
            refuse_program(options, {places.begin() + std::ptrdiff_t(i), places.end()});
    if (places.size() > 2)
        give_up(fmt::format("latency takes a function, or two probes: \"{}\" is one too many{}", places[2],
                            dashes_hint(options)));
    if (places.empty())
        give_up("latency wants a function, or two probes");
}

// Probes where functions are meant, and the other way round.
void check_places(const Options& options, const Given& given)
{
    const auto refuse = [&](const std::vector<std::string>& places, Place wanted, const char* sentence) {
        for (const std::string& place : places)
            if (const Place found = place_in_program(place, options); found != Place::unknown && found != wanted)
                give_up(fmt::format(fmt::runtime(sentence), place));
    };
    if (given.places.size() == 1)
        refuse(given.places, Place::function, "{0} is a probe: latency wants two places, latency {0} {0}");
    else
        refuse(given.places, Place::probe, "{0} is a function: latency takes it alone, latency {0}");
    for (const auto* each : {&given.timeline.functions, &given.top.functions})
        refuse(*each, Place::function,
               given.functions_command->parsed() ? "{0} is a probe, and no function" : "{0} is a probe: --probes {0}");
    for (const auto* each : {&given.timeline.probes, &given.top.probes})
        refuse(*each, Place::probe, "{0} is a function: --functions {0}");
}

// Checks what the parser cannot.
void check_options(Options& options, const Given& given)
{
    options.dry = options.dry || options.stage == Options::Stage::code;
    const bool is_latency = given.latency_command->parsed();
    const bool is_top = given.top_command->parsed();
    const bool is_generated = is_timeline(given) && given.text.empty() && given.words.empty();
    const bool is_file = given.text.empty() && !is_latency && !given.words.empty();
    if (given.text.empty())
        refuse_program(options, given.words);
    if (is_top)
        check_top(options, given);
    if (is_timeline(given))
        check_timeline(options, given, is_generated);
    options.parameters.assign(given.words.begin() + (is_file ? 1 : 0), given.words.end());
    // No command begins with "--": these are the script's, up to another "--".
    if (std::vector<std::string>& words = options.command; !words.empty() && engine::is_option(words[0])) {
        const auto end = std::find(words.begin(), words.end(), "--");
        options.parameters.insert(options.parameters.end(), words.begin(), end);
        words.erase(words.begin(), end == words.end() ? end : end + 1);
    }
    if (is_latency && (!given.text.empty() || !given.words.empty()))
        give_up(fmt::format("one script is enough: -e TEXT, FILE or latency{}", dashes_hint(options)));
    if (is_latency)
        check_latency(options, given.places);
    if (!is_latency && !is_top && !is_generated && given.text.empty() && !is_file)
        give_up("say what to do: -e SCRIPT, a script's FILE, or latency, top, functions, record, report, serve; see "
                "fastsdt-trace --help");
    if (!options.pprof.empty() && (options.dry || options.top || options.timeline))
        give_up("--pprof is for the maps of a script's report");
    if (options.json && options.folded)
        give_up("--json and --folded are two ways to print the maps: one is enough");
    complete_selection(options.selection, given.users);
    const bool selects = !options.selection.empty();
    const bool shows_text = options.stage == Options::Stage::ast || options.stage == Options::Stage::ir;
    if ((options.timeline || ((is_latency || is_top) && !shows_text)) && !options.has_target())
        give_up(no_process);
    if (!options.pids.empty() && (selects || !options.command.empty()))
        give_up(selects ? "--pid cannot be combined with --exe, --comm, --cgroup, --container or --user"
                        : "--pid cannot be combined with a command");
    if (selects && !options.command.empty())
        give_up("--exe, --comm, --cgroup, --container and --user cannot be combined with a command");
    std::sort(options.pids.begin(), options.pids.end());
    options.pids.erase(std::unique(options.pids.begin(), options.pids.end()), options.pids.end());
    if (options.pids.size() == 1)
        options.pid = options.pids[0];
    constexpr uint64_t of_timeline = uint64_t(4) << 20; // every hit is an event
    constexpr uint64_t of_flight = uint64_t(1) << 20;
    options.buffer = std::bit_ceil(given.buffer           ? given.buffer
                                       : options.timeline ? of_timeline
                                       : options.flight   ? of_flight
                                                          : engine::usual_ring_size);
    if (options.flight && (is_top || is_latency || options.in_kernel()))
        give_up("--flight keeps events of scripts in the process: top, latency and --engine kernel have none");
    if (options.unordered && (is_top || is_latency || options.timeline || options.in_kernel()))
        give_up(
            "--unordered is for scripts that print at probes: record and functions need the time, and top, latency and "
            "--engine kernel do not buffer events");
    if (options.flight || options.unordered)
        options.engine = EngineChoice::user;
    options.duration = duration(given.duration);
    options.interval = duration(given.interval > 0 ? given.interval : is_top ? 1 : 0);
    if (options.exit_status && options.command.empty())
        give_up("--exit-status is that of a command: -c CMD, or -- COMMAND");
    check_places(options, given);
    if (is_latency) {
        options.text = latency_script(given.places, options);
        options.pairs_by_thread = options.text.find("[tid]") != std::string::npos;
        options.name = "latency";
    } else if (is_top) {
        const std::string key = call_key({}, options);
        options.text = top_script(*options.top, key);
        options.pairs_by_thread = key == "tid";
        options.name = "top";
    } else if (is_generated) {
        options.text = timeline_script(*options.timeline);
        options.name = options.timeline->table ? "functions" : options.timeline->page.empty() ? "record" : "report";
    } else if (is_file) {
        const std::string& word = given.words[0];
        if (word.find('{') != word.npos && access(word.c_str(), F_OK) != 0)
            give_up("there is no file of that name; a script's text goes behind -e");
        // A subcommand that does not exist, or is misspelt, is no file either.
        if (!word.empty() && std::ranges::all_of(word, [](char c) { return c >= 'a' && c <= 'z'; })
            && access(word.c_str(), F_OK) != 0)
            give_up(fmt::format("{}: No such file or directory, and no subcommand; {}", word,
                                given.subcommand->word().empty()
                                    ? "see fastsdt-trace --help"
                                    : fmt::format("did you mean \"{}\"?", given.subcommand->word())));
        options.text = read_script(word).text;
        options.name = word;
    } else {
        options.text = given.text;
        options.name = "-e";
    }
}

} // namespace

std::string command_behind_dashes(const std::vector<std::string>& words)
{
    return fmt::format("\"{}\": a command goes behind --: fastsdt-trace ... -- {}", words[0], shell_line(words));
}

ScriptFile read_script(const std::string& file)
{
    constexpr size_t most = size_t(1) << 20; // nobody writes as much; a device has no end
    std::ifstream in(file == "-" ? "/dev/stdin" : file, std::ios::binary);
    if (!in)
        throw Unusable(fmt::format("{}: {}", file, std::strerror(errno)));
    std::string text(most + 1, '\0');
    errno = 0;
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (in.bad())
        throw Unusable(fmt::format("{}: {}", file, errno ? std::strerror(errno) : "it cannot be read"));
    text.resize(static_cast<size_t>(in.gcount()));
    if (text.starts_with(ELFMAG))
        throw Unusable(fmt::format("{} is a program, and no script", file));
    if (text.size() > most)
        throw Unusable(fmt::format("{}: more than {} bytes are no script", file, most));
    return {file, std::move(text)};
}

// As processes have them: the file's full path, a name's first 15 bytes (TASK_COMM_LEN, include/linux/sched.h), a cgroup's path below the
// file system.
void complete_selection(Selection& selection, const std::vector<std::string>& users)
{
    for (std::string& file : selection.exes) {
        const std::string found = file.find('/') == file.npos ? in_search_path(file) : file;
        std::error_code error;
        const std::string path = std::filesystem::canonical(found.empty() ? file : found, error);
        if (error)
            throw Unusable(fmt::format("--exe {}: {}", file, error.message()));
        file = path;
    }
    constexpr size_t most_of_name = 15;
    for (std::string& name : selection.comms)
        if (!engine::is_pattern(name))
            name.resize(std::min(name.size(), most_of_name));
    for (std::string& path : selection.cgroups) {
        path = below_mount(path);
        path = path == "/." ? "/" : path; // the whole of it
        path = "/" + path.substr(std::min(path.find_first_not_of('/'), path.size()));
        while (path.size() > 1 && path.ends_with('/'))
            path.pop_back();
    }
    constexpr size_t least_of_container = 6; // less would mean several
    for (const std::string& id : selection.containers)
        if (id.size() < least_of_container)
            throw Unusable(
                fmt::format("--container {}: at least {} characters of its number are wanted", id, least_of_container));
    std::transform(users.begin(), users.end(), std::back_inserter(selection.users), user_of);
}

namespace {

// Words of bpftrace's that mean something else here: -f json, -lv.
std::vector<std::string> own_words(std::span<char* const> given)
{
    std::vector<std::string> words;
    for (size_t i = 0; i < given.size(); ++i) {
        const std::string_view word = given[i], next = i + 1 < given.size() ? given[i + 1] : "";
        const bool is_form = word == "-f" && (next == "json" || next == "text");
        if (is_form && next == "json")
            words.emplace_back("--json");
        else if (!is_form)
            words.emplace_back(word == "-lv" ? "-l" : word);
        i += is_form;
    }
    return words;
}

} // namespace

std::optional<int> read_options(int argc, char** argv, Options& options)
{
    CLI::App app{"Traces USDT probes and functions with the language of bpftrace, without the kernel and without root: "
                 "sites that fastsdt made are patched to count in the process itself."};
    Given given;
    add_options(app, options, given);
    // CLI11 gives words after -- to positionals that are still empty.
    char** const end = argv + argc;
    char** const dashes = std::find_if(argv, end, [](const char* word) { return std::string_view(word) == "--"; });
    if (dashes != end) {
        options.command.assign(dashes + 1, end);
        if (options.command.empty())
            give_up("a command is wanted after --");
    }
    try {
        std::vector<std::string> words = own_words(std::span<char* const>(argv + 1, dashes));
        std::reverse(words.begin(), words.end()); // as CLI11 wants them
        app.name(argv[0]);
        app.parse(std::move(words));
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0)
            return app.exit(error); // --help, --version
        give_up(fmt::format(
            "{}{}; {}", error.what(),
            error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError) ? dashes_hint(options) : "",
            help_for(app, int(dashes - argv), argv)));
    }
    set_debug_places(given.debug);
    set_demangling(options.demangles);
    if (!given.words.empty()) {
        given.subcommand.emplace(given.words[0]);
        for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
            given.subcommand->look(command->get_name());
    }
    if (!given.command.empty()) {
        if (!options.command.empty())
            give_up("one command is enough: -c CMD, or -- COMMAND");
        options.command = words_of(given.command);
    }
    if (*given.list)
        check_list(options, given);
    else if (given.export_command->parsed())
        check_export(options, given);
    else if (given.report_command->parsed() && !given.reported.folder.empty())
        check_report(options, given);
    else if (given.serve_command->parsed())
        check_serve(options, given);
    else
        check_options(options, given);
    return {};
}

} // namespace fastsdt::trace_tool
