// SPDX-License-Identifier: BSD-2-Clause
#include "archive.h"
#include "diff.h"
#include "output.h"

#include <fastsdt/note.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fnmatch.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

using namespace fastsdt;

namespace {

constexpr int clean = 0, findings_found = 1, unusable = 2;

// One line on a terminal that says what is being read, once that takes long enough to wonder.
class Progress {
public:
    ~Progress() { clear(); }
    void at(const std::string& name)
    {
        const auto now = std::chrono::steady_clock::now();
        if (!terminal_ || now - shown_ < std::chrono::milliseconds(200))
            return;
        shown_ = now;
        visible_ = true;
        fmt::print(stderr, "\r\033[Kchecking {:.70}", printable(name));
        std::fflush(stderr);
    }
    void clear()
    {
        if (visible_)
            fmt::print(stderr, "\r\033[K");
        visible_ = false;
    }

private:
    const bool terminal_ = isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO);
    bool visible_ = false;
    std::chrono::steady_clock::time_point shown_ = std::chrono::steady_clock::now();
};

bool matches(const std::vector<std::string>& globs, std::string_view provider, std::string_view probe)
{
    const std::string name(probe);
    const std::string full = fmt::format("{}:{}", provider, probe);
    for (const std::string& glob : globs)
        if (fnmatch(glob.c_str(), glob.find(':') == glob.npos ? name.c_str() : full.c_str(), 0) == 0)
            return true;
    return false;
}

int process_status(const Process& process, const std::function<bool(const LiveSite&)>& select,
                   std::optional<Severity> threshold)
{
    for (const LiveFile& file : process.files)
        for (const LiveSite& site : file.sites)
            if (const auto severity = fastsdt::severity(site.change);
                threshold && severity && *severity >= *threshold && select(site))
                return findings_found;
    return clean;
}

void list_findings()
{
    for (size_t i = 0; i < finding_count; ++i)
        put(fmt::format("{:<24} {:<8} {}\n", name(FindingId(i)), name(usual_severity(FindingId(i))),
                        meaning(FindingId(i))));
}

[[noreturn]] void cannot_write()
{
    fmt::print(stderr, "fastsdt-check: cannot write the output: {}\n", std::strerror(errno));
    std::_Exit(unusable);
}

// The status, once all output has left the program.
int written(int status)
{
    if (std::fflush(stdout) != 0)
        cannot_write();
    return status;
}

} // namespace

void put(std::string_view text)
{
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
        cannot_write();
}

int main(int argc, char** argv)
{
    MappedFile::exit_when_shortened("\nfastsdt-check: a file was shortened while it was read\n", unusable);
    CLI::App app{
        "Says what each Linux kernel and tracer does at the USDT probes of programs, libraries, objects and archives."};
    app.name("fastsdt-check");
    app.set_version_flag("-V,--version", "fastsdt-check " FASTSDT_VERSION_STRING);
    app.footer(
        "Exit status: 0 clean, 1 findings at or above --fail-on, 2 unusable input or usage. See fastsdt-check(1).");

    std::vector<std::string> files, globs;
    std::string kernel_list, fail_on = "error", colour = "auto", only;
    pid_t pid = 0;
    bool json = false, plan = false, diff = false, summary = false, functions = false, verbose = false,
         no_lines = false, list = false;
    app.add_option("FILE", files, "ELF files and ar archives");
    app.add_option("-k,--kernel", kernel_list,
                   "Kernels to judge for: 6.1,6.12 or 6.1-7.2 or this; +stp for arm64 kernels with stp emulation")
        ->type_name("LIST");
    app.add_option("-P,--probe", globs, "Only probes whose name, or provider:name, matches; can be repeated")
        ->type_name("GLOB")
        ->allow_extra_args(false);
    app.add_option("--only", only, "Show only probes with a finding at least this bad")
        ->type_name("LEVEL")
        ->check(CLI::IsMember({"info", "warning", "error"}));
    app.add_flag("-f,--functions", functions, "Judge the entries of all functions in the symbol table too");
    app.add_flag("-s,--summary", summary, "Counts instead of single probes");
    app.add_flag("-v,--verbose", verbose, "Show infos too, and single functions with --functions");
    app.add_option("-p,--pid", pid, "A running process instead of files: what stands at its sites now")
        ->type_name("PID")
        ->check(CLI::Range(1, 4194304));
    app.add_flag(
        "--plan", plan,
        "Where to attach for the best result on one --kernel (default: this), with bpftrace and perf commands");
    app.add_flag("--diff", diff, "Two files, OLD and NEW: which probes and arguments went, changed or came");
    app.add_flag("-j,--json", json, "JSON, as docs/json.md describes it");
    app.add_flag("--no-lines", no_lines, "Do not look for source lines");
    app.add_option("--fail-on", fail_on,
                   "Findings from which on the exit status is 1: info, warning, error (default), never")
        ->type_name("LEVEL")
        ->check(CLI::IsMember({"info", "warning", "error", "never"}));
    app.add_option("--color", colour, "auto (default), always, never")
        ->type_name("WHEN")
        ->check(CLI::IsMember({"auto", "always", "never"}));
    app.add_flag("--list-findings", list, "List the identifiers of findings and what they mean");
    const auto usage = [](const std::string& what) {
        fmt::print(stderr, "fastsdt-check: {}\n", printable(what));
        return unusable;
    };
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0)
            return app.exit(error); // --help, --version
        return usage(fmt::format("{}; see fastsdt-check --help", error.what()));
    }
    if (list) {
        list_findings();
        return clean;
    }
    if (pid != 0 && !files.empty())
        return usage("--pid reads the files that the process has mapped; name no others");
    if (pid == 0 && files.empty())
        return usage("no files; see fastsdt-check --help");
    if (diff && (plan || functions || files.size() != 2))
        return usage(files.size() != 2 ? "--diff compares two files: OLD NEW"
                                       : "--diff cannot be combined with --plan or --functions");

    Options options;
    if (plan && kernel_list.empty())
        kernel_list = "this";
    if (!kernel_list.empty()) {
        std::string error;
        options.kernels = parse_kernels(kernel_list, error);
        if (options.kernels.empty())
            return usage("--kernel: " + error);
        for (const Kernel& kernel : options.kernels)
            if (const std::string what = doubt(kernel); !what.empty())
                fmt::print(stderr, "fastsdt-check: {}\n", what);
    }
    if (plan && (options.kernels.size() != 1 || pid != 0))
        return usage(pid != 0 ? "--plan is for files; name the program" : "--plan is for one kernel: --kernel 7.2");
    if (plan && functions)
        return usage("--plan has the functions that fastprobe selected, and no others: leave out --functions");
    if (plan && !only.empty())
        return usage("--plan has no findings: leave out --only");
    options.functions = functions;
    options.lines = !no_lines && !summary;
    if (!globs.empty())
        options.select = [&](const Probe& probe) { return matches(globs, probe.provider, probe.name); };

    Style style;
    style.colour = colour == "always"
        || (colour == "auto" && isatty(STDOUT_FILENO) && !std::getenv("NO_COLOR") && std::getenv("TERM")
            && std::string_view(std::getenv("TERM")) != "dumb");
    style.summary = summary;
    style.verbose = verbose;
    style.only = parse_severity(only);
    const auto threshold = parse_severity(fail_on);

    if (pid != 0) {
        try {
            const Process process = read_process(pid, functions);
            for (const std::string& trouble : process.troubles)
                fmt::print(stderr, "fastsdt-check: {}\n", printable(trouble));
            const auto select = [&](const LiveSite& site) {
                const auto severity = fastsdt::severity(site.change);
                return (globs.empty() || matches(globs, site.provider, site.name))
                    && (!style.only || (severity && *severity >= *style.only));
            };
            if (json)
                print_process_json(process, select);
            else
                print_process_text(process, select, style);
            return written(process_status(process, select, threshold));
        } catch (const Unusable& error) {
            fmt::print(stderr, "fastsdt-check: {}\n", printable(error.what()));
            return unusable;
        }
    }

    Progress progress;
    int status = clean;
    // Calls `visit` for each image of the file; `unread` for what cannot be read.
    const auto one_file = [&](const std::string& file, const std::function<void(const Image&)>& visit,
                              const std::function<void(const std::string&, const std::string&)>& unread) {
        const auto cannot = [&](const std::string& message) {
            progress.clear();
            fmt::print(stderr, "fastsdt-check: {}\n", printable(message));
            unread(file, message);
            status = unusable;
        };
        try {
            progress.at(file);
            Image::each(
                file,
                [&](const Image& image) {
                    progress.at(image.name());
                    visit(image);
                },
                cannot);
        } catch (const Unusable& error) {
            cannot(error.what());
        } catch (const std::bad_alloc&) {
            cannot(file + ": not enough memory to read it");
        }
    };
    const auto each_file = [&](const auto& visit, const auto& unread) {
        for (const std::string& file : files)
            one_file(file, visit, unread);
    };

    if (diff) {
        Diff changes;
        for (const Diff::Side side : {Diff::before, Diff::after})
            one_file(
                files[side], [&](const Image& image) { changes.add(side, image, options.select); },
                [](const std::string&, const std::string&) {});
        progress.clear();
        if (status == clean && changes.print(files[0], files[1], json, style) && threshold)
            status = findings_found;
    } else if (plan) {
        PlanOutput output(style, json, options.kernels.front());
        each_file(
            [&](const Image& image) {
                Notes notes = read_notes(image);
                if (!globs.empty()) {
                    std::erase_if(notes.probes, [&](const Probe& probe) { return !options.select(probe); });
                    notes.entries.clear();
                }
                progress.clear();
                output.begin_image(image, notes.probes.size() + notes.entries.size());
                fastsdt::plan(image, notes, options.kernels.front(),
                              [&](const AttachPoint& point) { output.point(point); });
                output.end_image();
            },
            [&](const std::string& file, const std::string& message) { output.unusable(file, message); });
        output.finish();
    } else {
        const auto output = json ? json_output(options.kernels, style.only) : text_output(style);
        each_file(
            [&](const Image& image) {
                const Notes notes = read_notes(image);
                const Report report(image, notes, options);
                progress.clear();
                output->report(report);
                for (size_t i = 0; threshold && i < report.severities.size(); ++i)
                    if (report.severities[i] > 0 && Severity(i) >= *threshold && status == clean)
                        status = findings_found;
            },
            [&](const std::string& file, const std::string& message) { output->unusable(file, message); });
        output->finish();
    }
    return written(status);
}
