// SPDX-License-Identifier: BSD-2-Clause
#include "ask.h"
#include "base/output_file.h"
#include "base/printable.h"
#include "base/unusable.h"
#include "proc/threads.h"
#include "proc/processes.h"
#include "proc/text.h"
#include "probe.h"
#include "process.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

namespace fastsdt::probe {

void say(const std::string& message)
{
    std::fputs(fmt::format("fastsdt-probe: {}\n", printable(message)).c_str(), stderr); // nobody may read it
}

namespace {

// The file to probe in the process: its program, or one that it has mapped.
void choose_file(Options& options)
{
    const std::string program = fmt::format("/proc/{}/exe", options.pid);
    refuse_thread(options.pid);
    open_process(options.pid);
    refuse_zombie(options.pid);
    std::error_code error;
    const std::string name = std::filesystem::read_symlink(program, error);
    if (options.file.empty()) {
        if (error == std::errc::no_such_file_or_directory && !first_thread_ended(options.pid))
            throw Unusable({"it has no program: a kernel thread, or it has exited", process_name(options.pid)});
        if (error)
            throw Unusable({error.message(), program, "name the FILE", error.value()});
        options.file = program;
        options.file_name = name;
        return;
    }
    if (options.force || first_thread_ended(options.pid))
        return;
    const FoundMapping mapped = find_mapped(options.pid, options.file);
    if (mapped.mapped || !std::filesystem::exists(options.file))
        return;
    if (!mapped.replaced_by_other.empty())
        throw Unusable(
            {fmt::format("process {} runs another file that had this name (replaced, for example by an upgrade)",
                         options.pid),
             options.file,
             fmt::format("its program is {}, and /proc/{}/map_files has the rest", program, options.pid)});
    throw Unusable({fmt::format("process {} has not mapped this file", options.pid), options.file,
                    fmt::format("it runs {}, which is {}. --force attaches anyway", error ? "?" : name, program)});
}

// Leaves out probes that would break the program, and probes that the kernel would refuse silently.
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
            throw Unusable(Error::of_system(errno, "cannot write the report"));
        return;
    }
    OutputFile(*file).write(text);
}

// The rows of the file, each with the model's and the kernel's answer; and whether the file can be run.
std::vector<Row> read_rows(const Options& options, bool& runnable)
{
    auto kernel = parse_kernel("this");
    if (!kernel)
        throw Unusable("cannot tell this kernel's version from \"" + release() + '"');
    ask_running(*kernel);
    std::vector<Row> rows;
    const auto visit = [&](const Image& image) {
        if (image.relocatable() || !image.member().empty())
            throw Unusable({"only linked programs and libraries can be probed", options.file_name});
        runnable = image.kind() == Image::Kind::executable || image.kind() == Image::Kind::pie;
        rows = find_rows(image, options, *kernel);
        std::vector<Target> targets;
        for (const Row& row : rows)
            targets.push_back(row.target);
        const auto seen = observe(targets, image.arch());
        for (size_t i = 0; i < rows.size(); ++i)
            rows[i].seen = seen[i];
    };
    Image::each(options.file, visit, [](const Error& error) { throw Unusable(error); });
    skip_rows(rows, options);
    return rows;
}

int probe(Options& options)
{
    if (const std::string why = cannot_attach(); !why.empty())
        throw Unusable(why);
    std::optional<OutputFile> output;
    if (!options.output.empty())
        output.emplace(options.output);
    options.file_name = options.file;
    if (options.file.find(':') != options.file.npos && options.file.find('/') == options.file.npos
        && access(options.file.c_str(), F_OK) != 0)
        throw Unusable(fmt::format("there is no FILE {0}; a probe is named by --probe {0}", options.file));
    if (options.pid)
        choose_file(options);
    bool runnable = false;
    std::vector<Row> rows = read_rows(options, runnable);

    const bool library = options.command.empty() && !options.pid && !runnable;
    if (options.command.empty())
        options.command = {std::filesystem::absolute(options.file)};
    Result result;
    std::optional<Signals>
        signals; // blocked until the report is written: one that comes just after the process's end loses nothing
    if (!options.dry && !library)
        result = run(rows, options, signals.emplace());
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
    try {
        Options options;
        if (const auto status = read_options(argc, argv, options))
            return *status;
        return probe(options);
    } catch (const fastsdt::Unusable& error) {
        say(error.what());
        return unusable;
    }
}
