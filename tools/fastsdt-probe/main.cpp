// SPDX-License-Identifier: BSD-2-Clause
#include "output_file.h"
#include "printable.h"
#include "probe.h"
#include "process.h"
#include "unusable.h"

#include <fastsdt/note.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

namespace fastsdt::probe {

void say(const std::string& message)
{
    fmt::print(stderr, "fastsdt-probe: {}\n", printable(message));
}

void give_up(const std::string& message)
{
    say(message);
    std::exit(unusable);
}

namespace {

void add_options(CLI::App& app, Options& options)
{
    app.name("fastsdt-probe");
    app.set_version_flag("-V,--version", "fastsdt-probe " FASTSDT_VERSION_STRING);
    app.footer(
        "FILE is probed and run; COMMAND runs something else, --pid attaches to a running process. With --dry-run,\n"
        "and for a shared library without COMMAND, the probes are only tried.\n"
        "Exit status: 0 all attached, 1 some were not, 2 unusable input, usage or permission.");
    app.add_option("FILE", options.file, "ELF file to probe: a program or a shared library; with --pid its program");
    app.add_option("COMMAND", options.command, "After --: what to run; FILE itself by default");
    const auto repeated = [&](const char* name, std::vector<std::string>& values, const char* type, const char* text) {
        app.add_option(name, values, text)->type_name(type)->allow_extra_args(false);
    };
    repeated("-P,--probe", options.probes, "GLOB", "USDT probes by name or provider:name");
    repeated("-e,--entry", options.entries, "GLOB", "Function entries that fastprobe selected");
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
        ->check(CLI::PositiveNumber);
    app.add_flag("-l,--live", options.live, "With --pid: rates, modes and arguments on the terminal, once a second");
    app.add_flag("-c,--children", options.children, "With --pid: count what the process forks from now on, too");
    app.add_option("-t,--seconds", options.seconds,
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
        ->check(CLI::Range(1u, 1000u));
    app.add_flag("-j,--json", options.json, "Report as JSON");
    app.add_option("--output", options.output, "Write the report to a file instead of standard output")
        ->type_name("FILE");
}

// What the parser cannot see.
void check_options(Options& options)
{
    if (options.pid && (!options.command.empty() || options.runs || options.dry))
        give_up("--pid cannot be combined with a command, --time or --dry-run");
    if (options.seconds > 0 && !options.pid)
        give_up("--seconds needs --pid");
    if (options.children && !options.pid)
        give_up("--children needs --pid; when a program is run, everything that it starts is counted anyway");
    if (options.live && !options.pid)
        give_up("--live needs --pid");
    if (options.live && !isatty(STDOUT_FILENO))
        give_up("--live needs a terminal, and standard output is not one");
    if (options.file.empty() && !options.pid)
        give_up("name the FILE to probe, or a process with --pid");
    options.everything = options.probes.empty() && options.entries.empty() && options.symbols.empty()
        && options.addresses.empty() && options.offsets.empty();
}

// The file to probe in the process: its program, or one that it has mapped.
void choose_file(Options& options)
{
    const std::string program = fmt::format("/proc/{}/exe", options.pid);
    open_process(options.pid);
    if (is_zombie(options.pid))
        give_up(
            fmt::format("process {}: it has ended, and its parent has not waited for it yet (a zombie)", options.pid));
    std::error_code error;
    const std::string name = std::filesystem::read_symlink(program, error);
    if (options.file.empty()) {
        if (error == std::errc::no_such_file_or_directory && !first_thread_ended(options.pid))
            give_up(fmt::format("process {}: it has no program: a kernel thread, or it has exited", options.pid));
        if (error)
            give_up(fmt::format("{}: {}; name the FILE", program, error.message()));
        options.file = program;
        options.file_name = name;
        return;
    }
    if (options.force || first_thread_ended(options.pid))
        return;
    const MappedFile mapped = find_mapped(options.pid, options.file);
    if (mapped.mapped || !std::filesystem::exists(options.file))
        return;
    if (!mapped.replaced_by_other.empty())
        give_up(
            fmt::format("{}: process {} runs another file that had this name (replaced, for example by an upgrade); "
                        "its program is {}, and /proc/{}/map_files has the rest",
                        options.file, options.pid, program, options.pid));
    give_up(fmt::format("{}: process {} has not mapped this file; it runs {}, which is {}. --force attaches anyway",
                        options.file, options.pid, error ? "?" : name, program));
}

// Leaves out what would break the program, and what a kernel refuses without a word.
void skip_rows(std::vector<Row>& rows, const Options& options)
{
    for (Row& row : rows) {
        if (options.force)
            continue;
        if (breaks_program(row.model.verdict) && row.seen.verdict != Verdict::reject) {
            row.skipped = true;
            say(fmt::format("{}: not attached, the program would break: {}. --force attaches anyway", row.name,
                            row.model.why));
        } else if (!row.seen.verdict && row.seen.error == 0 && row.model.verdict == Verdict::reject) {
            row.skipped = true;
            say(fmt::format("{}: not attached, the kernel would refuse it silently: {}", row.name, row.model.why));
        }
    }
}

void write_report(const std::string& text, const std::optional<OutputFile>& file)
{
    if (!file) {
        if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
            give_up(fmt::format("cannot write the report: {}", std::strerror(errno)));
        return;
    }
    OutputFile(*file).write(text);
}

int probe(Options& options)
{
    if (const std::string why = cannot_attach(); !why.empty())
        give_up(why);
    std::optional<OutputFile> output;
    if (!options.output.empty())
        output.emplace(options.output);
    options.file_name = options.file;
    if (options.pid)
        choose_file(options);
    const auto kernel = parse_kernel("this");
    if (!kernel)
        give_up("cannot tell this kernel's version from \"" + release() + '"');

    std::vector<Row> rows;
    bool runnable = false;
    Image::each(
        options.file,
        [&](const Image& image) {
            if (image.relocatable() || !image.member().empty())
                give_up(fmt::format("{}: only linked programs and libraries can be probed", options.file_name));
            runnable = image.kind() == Image::Kind::executable || image.kind() == Image::Kind::pie;
            rows = find_rows(image, options, *kernel);
            std::vector<Target> targets;
            for (const Row& row : rows)
                targets.push_back(row.target);
            const auto seen = observe(targets, image.arch());
            for (size_t i = 0; i < rows.size(); ++i)
                rows[i].seen = seen[i];
        },
        [](const std::string& message) { give_up(message); });
    skip_rows(rows, options);

    const bool library = options.command.empty() && !options.pid && !runnable;
    if (options.command.empty())
        options.command = {std::filesystem::absolute(options.file)};
    Result result;
    if (!options.dry && !library)
        result = run(rows, options);
    write_report(options.json ? json_report(rows, options, result) : text_report(rows, options, result), output);
    if (!options.json && result.wait_status && WIFSIGNALED(*result.wait_status))
        say(fmt::format("{} was killed by signal {}", options.command[0], WTERMSIG(*result.wait_status)));
    const bool refused =
        std::any_of(rows.begin(), rows.end(), [](const Row& row) { return attach_result(row) != "ok"; });
    return refused ? some_refused : all_attached;
}

} // namespace
} // namespace fastsdt::probe

int main(int argc, char** argv)
{
    using namespace fastsdt::probe;
    CLI::App app{"Attaches real uprobes to a program, runs it, and says what the kernel did at each: refused, "
                 "single-stepped, emulated or optimized, how often, at what cost."};
    Options options;
    add_options(app, options);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? all_attached : unusable;
    }
    try {
        check_options(options);
        return probe(options);
    } catch (const fastsdt::Unusable& error) {
        give_up(error.what());
    }
}
