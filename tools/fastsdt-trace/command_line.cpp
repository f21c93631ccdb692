// SPDX-License-Identifier: BSD-2-Clause
#include "command_line.h"

#include "collector.h"
#include "formats.h"
#include "say.h"
#include "proc/processes.h"

#include <fastsdt.h>

#include <fmt/format.h>

#include <charconv>
#include <memory>

namespace fastsdt::trace_tool {
namespace {

std::string process_number(const std::string& text)
{
    const std::string wrong = no_process_number(text);
    return wrong.empty() ? wrong : wrong + ": --exe FILE and --comm NAME choose them by name";
}

std::string refuse_seconds(const std::string& text)
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
            return "Usage: fastsdt-trace record [OPTIONS] -o DIR|FILE [--functions PATTERN] [--probes PATTERN] -- "
                   "COMMAND...\n"
                   "       fastsdt-trace record [OPTIONS] -o DIR|FILE -e TEXT -p PID\n";
        if (app->get_name() == "functions")
            return "Usage: fastsdt-trace functions [OPTIONS] [--functions PATTERN] [-o DIR|FILE] -- COMMAND...\n"
                   "       fastsdt-trace functions [OPTIONS] [--functions PATTERN] [-o DIR|FILE] -p PID\n";
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
               "       fastsdt-trace record [OPTIONS] -o DIR|FILE [--functions PATTERN] [--probes PATTERN] -p PID\n"
               "       fastsdt-trace functions [OPTIONS] -p PID\n"
               "       fastsdt-trace top [OPTIONS] -p PID\n"
               "       fastsdt-trace report [OPTIONS] -o FILE.html -p PID\n"
               "       fastsdt-trace export DIR -o FILE\n"
               "       fastsdt-trace serve --config FILE\n"
               "       fastsdt-trace serve [OPTIONS] --exe FILE SCRIPT...\n"
               "Each form takes -p PID, or --exe FILE and its like, or -- COMMAND.\n";
    }
};

void patterns(CLI::App* command, const char* name, std::vector<std::string>& to, const char* what)
{
    // No name begins so: the pattern was forgotten.
    const auto check = [](const std::string& value) {
        return value.starts_with('-') ? fmt::format("\"{}\" is an option, and a PATTERN is wanted", value) : "";
    };
    command->add_option(name, to, what)
        ->type_name("PATTERN")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::Validator(check, ""));
}

void add_timelines(CLI::App& app, Given& given)
{
    CLI::App* const record = given.record_command = app.add_subcommand(
        "record", "Write each hit with its time and arguments to a trace (CTF 1.8), which babeltrace2 and others read");
    const auto outputs = [&given](CLI::App* command, const std::string& what) {
        command->add_option("-o,--output", given.outputs, what + forms_text() + "; may be repeated")
            ->type_name("DIR|FILE")
            ->allow_extra_args(false);
    };
    outputs(record, "Folder for the trace, which must not be there yet, or ");
    patterns(record, "--functions", given.timeline.functions, "Functions, [FILE:]FUNCTION: their entries and exits");
    patterns(record, "--probes,--probe", given.timeline.probes,
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
                   "Then: babeltrace2 DIR, or fastsdt-trace export DIR -o FILE.json, if not recorded with -o "
                   "FILE.json. See fastsdt-trace(1), SUBCOMMANDS.");
    record->fallthrough();
    CLI::App* const functions = given.functions_command = app.add_subcommand(
        "functions", "Table of the program's functions: calls, and time with and without what they call");
    outputs(functions, "Write the trace as record does, too: folder, or ");
    patterns(functions, "--functions", given.timeline.functions, "Only these, [FILE:]FUNCTION; all by default");
    functions->footer("See fastsdt-trace --help for the other options, and fastsdt-trace(1), SUBCOMMANDS.");
    functions->fallthrough();
    CLI::App* const report = given.report_command = app.add_subcommand(
        "report",
        "Make one HTML file of calls and probes, which needs no network: flame graph, table, latencies, timeline");
    report->add_option("DIR", given.reported.folder, "A trace that record has written; else what is recorded now")
        ->type_name("");
    report->add_option("-o,--output", given.reported.file, "The page")->type_name("FILE");
    patterns(report, "--functions", given.timeline.functions,
             "Functions, [FILE:]FUNCTION; all of the program if no --probes are named");
    patterns(report, "--probes,--probe", given.timeline.probes, "Probes, [[FILE:]PROVIDER:]NAME");
    samples(report);
    report->footer("Examples:\n"
                   "  fastsdt-trace report -o page.html -- ./shop\n"
                   "  fastsdt-trace report -o page.html -t 5 --functions 'serve_*' -p $(pidof shop)\n\n"
                   "See fastsdt-trace --help for the other options, and fastsdt-trace(1), SUBCOMMANDS.");
    report->fallthrough();
    CLI::App* const top = given.top_command =
        app.add_subcommand("top", "Table of probes by rate, and of functions by rate and time, again and again");
    patterns(top, "--functions", given.top.functions, "Functions, [FILE:]FUNCTION: how long their calls take");
    patterns(top, "--probes,--probe", given.top.probes,
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
                "See fastsdt-trace --help for the other options, and fastsdt-trace(1), SUBCOMMANDS.");
    top->fallthrough();
    CLI::App* const exported = given.export_command = app.add_subcommand(
        "export", "Make a file for Perfetto, Chrome or speedscope of a trace that record has written");
    exported->add_option("DIR", given.exported.folder, "The trace's folder")->type_name("");
    exported->add_option("-o,--output", given.exported.file, forms_text())->type_name("FILE");
    exported
        ->add_option("--otlp", given.exported.otlp, "Send the spans to an OpenTelemetry collector, http://HOST:4318")
        ->type_name("URL")
        ->check(no_collector);
}

void add_subcommands(CLI::App& app, Given& given)
{
    CLI::App* const latency = given.latency_command = app.add_subcommand(
        "latency", "Time from one probe to another in the same thread, or from a function's entry to its exits");
    latency->add_option("PLACE", given.places, "Two probes, [FILE:]PROVIDER:NAME or NAME, or one [FILE:]FUNCTION")
        ->type_name("")
        ->expected(1, CLI::detail::expected_max_vector_size); // too many: check_latency()
    latency->footer("Prints a histogram of the times, @ns, and their number, mean and sum, @total.\n\n"
                    "Examples:\n"
                    "  fastsdt-trace latency shop:begin shop:end -p $(pidof shop)\n"
                    "  fastsdt-trace latency ./shop:serve -- ./shop\n\n"
                    "See fastsdt-trace --help for the other options, and fastsdt-trace(1), SUBCOMMANDS.");
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
        ->type_name("URL")
        ->check(no_collector);
    serve->footer("Without --config, the options -e, -p, -f, --no-follow, --read-memory,\n" + names_of_ways("and")
                  + "\n"
                    "mean what they mean without serve; see fastsdt-trace --help.\n\n"
                    "Examples:\n"
                    "  fastsdt-trace serve --config /etc/fastsdt/trace.json\n"
                    "  fastsdt-trace serve --exe /usr/bin/shop -e 'usdt:*:shop:order { @orders[arg0] = count(); }'\n\n"
                    "Then: curl http://127.0.0.1:9946/metrics. See fastsdt-trace(1), SUBCOMMANDS.");
    serve->fallthrough();
}

// The script, and whom to trace.
void add_targets(CLI::App& app, Options& options, Given& given)
{
    app.add_option("FILE", given.words, "File with the script, and its parameters $1, $2, ...")->type_name("");
    app.add_option("-e,--execute", given.text, "The script itself")->type_name("TEXT");
    app.add_option("-c,--cmd", given.command, "Run this command and trace it: as behind --, in one word")
        ->type_name("CMD");
    app.add_option("-p,--pid", options.pids, "Attach to a running process, or to several: -p 1,2 -p 3")
        ->type_name("PID")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(process_number);
    for (size_t i = 0; i < way_count; ++i)
        app.add_option(fmt::format("--{}", ways()[i].name), options.selection.values[i], ways()[i].what)
            ->type_name(ways()[i].type)
            ->delimiter(',')
            ->allow_extra_args(false);
}

// "64K" becomes "65536". @return  what is wrong with it; empty: nothing
std::string buffer_size(std::string& text)
{
    constexpr uint64_t least = uint64_t(4) << 10, most = uint64_t(1) << 30;
    std::string number = text;
    uint64_t size = 0;
    try {
        if (CLI::AsSizeValue(false)(number).empty())
            std::from_chars(number.data(), number.data() + number.size(), size);
    } catch (const CLI::Error&) { // an unknown unit
    }
    if (size < least || size > most)
        return fmt::format("\"{}\" is no size from 4K to 1G", text);
    text = number;
    return {};
}

// How hits are seen.
void add_ways(CLI::App& app, Options& options, Given& given)
{
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
    app.add_option("-t,--duration,--seconds", given.duration, "End after this time")
        ->type_name("SECONDS")
        ->check(refuse_seconds);
    app.add_option("-i,--interval", given.interval, "Print all maps at this interval")
        ->type_name("SECONDS")
        ->check(refuse_seconds);
    app.add_option_function<std::string>(
           "-d,--stage", [&options](const std::string& word) { options.stage = stage_of(word); },
           "Only show what becomes of the script: ast, as it was written; ir, its operations; code, as --dry-run")
        ->type_name("STAGE:{ast,ir,code}")
        ->expected(0, 1);
    app.add_flag("--dry-run", options.dry,
                 "Only show the sites, the instructions that would count there, and why a site cannot be armed; a "
                 "COMMAND is not run");
    app.add_flag_callback(
        "-f,--follow,--children", [&options] { options.follow = true; },
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
        ->transform(CLI::Validator(buffer_size, ""));
    app.add_flag("--flight", options.flight,
                 "Keep the newest events of each thread, as many as its buffer takes, and print them when the script "
                 "says dump(), at SIGUSR1, and at the end, also when the program crashes");
    app.add_flag("--unordered", options.unordered,
                 "Read no clock for what is printed at probes: faster, but only the lines of one thread are in order");
}

// What is printed, and what a script is and may.
void add_output(CLI::App& app, Options& options)
{
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
        "Let the kernel's engine, or bpftrace, have return probes whose exits cannot be armed. The kernel replaces "
        "return addresses for these, "
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
}

} // namespace

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
    add_targets(app, options, given);
    add_ways(app, options, given);
    add_output(app, options);
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
    add_subcommands(app, given);
}

} // namespace fastsdt::trace_tool
