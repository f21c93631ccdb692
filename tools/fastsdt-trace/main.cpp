// SPDX-License-Identifier: BSD-2-Clause
#include "arming/arena.h"
#include "base/printable.h"
#include "base/search_path.h"
#include "base/unusable.h"
#include "bpftrace.h"
#include "export.h"
#include "headers.h"
#include "list.h"
#include "proc/maps.h"
#include "options.h"
#include "pprof.h"
#include "process/debug_types.h"
#include "process/outside.h"
#include "record.h"
#include "run.h"
#include "say.h"
#include "serve.h"
#include "script/parse.h"

#include "elf/archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ext/stdio_filebuf.h>
#include <filesystem>
#include <iostream>
#include <new>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace fastsdt::trace_tool {

namespace {
std::vector<std::string> sentences;
constexpr size_t most_sentences = 1000;
} // namespace

const std::vector<std::string>& said()
{
    return sentences;
}

void say(const std::string& message)
{
    tell(message);
    if (sentences.size() < most_sentences)
        sentences.push_back(message);
}

void tell(const std::string& message)
{
    std::fputs(fmt::format("fastsdt-trace: {}\n", printable(message)).c_str(), stderr); // nobody may read it
}

void give_up(const std::string& message)
{
    say(message);
    throw GivenUp{};
}

void finish_output(const std::string& file)
{
    if (!std::cout.flush())
        give_up(fmt::format("{} cannot be written", file.empty() ? "standard output" : file));
}

namespace {

// By its path, or one on the PATH.
bool is_program(const std::string& word)
{
    std::error_code error;
    return word.find('/') == word.npos
        ? !in_search_path(word).empty()
        : std::filesystem::is_regular_file(word, error) && access(word.c_str(), X_OK) == 0;
}

// A word too many is a mistake: a second script, or a command without its --.
void refuse_parameters(const Options& options, const engine::Script& script)
{
    std::vector<std::string> words; // without those of getopt()
    std::copy_if(options.parameters.begin(), options.parameters.end(), std::back_inserter(words),
                 [](const std::string& each) { return !engine::is_option(each); });
    if (words.size() <= script.parameters)
        return;
    const std::string& word = words[script.parameters];
    if (!options.has_target() && is_program(word))
        give_up(command_behind_dashes({words.begin() + std::ptrdiff_t(script.parameters), words.end()}));
    if (script.parameters == 0 && options.name == "-e")
        give_up(fmt::format("one script is enough: -e TEXT, FILE or latency; \"{}\" is no parameter, since the script "
                            "has no $1; a command to be traced goes behind --",
                            word));
    give_up(
        fmt::format("\"{}\" is one parameter more than the script has; a command to be traced goes behind --", word));
}

// Of all files of the process, libraries have probes that nobody asked for.
void limit_to_program(engine::Script& script, const std::string& program)
{
    for (engine::Clause& clause : script.clauses)
        for (engine::Probe& probe : clause.probes) {
            if (!clause.has_sites())
                continue;
            using Kind = engine::Probe::Kind;
            probe.file = program;
            probe.text = probe.kind == Kind::usdt
                ? fmt::format("usdt:{}:*:*", program)
                : fmt::format("{}:{}:*", probe.kind == Kind::entry ? "uprobe" : "uretprobe", program);
        }
}

// --probe-filter: what is matched is a probe as it is written.
void filter_probes(engine::Script& script, const std::string& filter)
{
    if (filter.empty())
        return;
    try {
        const std::regex wanted(filter, std::regex::extended);
        for (engine::Clause& clause : script.clauses)
            std::erase_if(clause.probes, [&](const engine::Probe& probe) {
                return probe.kind != engine::Probe::Kind::begin && probe.kind != engine::Probe::Kind::end
                    && !std::regex_search(probe.text, wanted);
            });
    } catch (const std::regex_error&) {
        give_up(fmt::format("--probe-filter: \"{}\" is no regular expression", filter));
    }
    std::erase_if(script.clauses, [](const engine::Clause& clause) { return clause.probes.empty(); });
    if (script.clauses.empty())
        give_up(fmt::format("--probe-filter: no probe of the script matches \"{}\"", filter));
}

// What is printed goes there from now on. The file is not the COMMAND's, and std::cout needs the buffer to the very end.
void print_to(const std::string& path)
{
    if (path.empty())
        return;
    std::FILE* const file = std::fopen(path.c_str(), "we");
    if (!file)
        give_up(fmt::format("{}: {}", path, std::strerror(errno)));
    std::cout.rdbuf(new __gnu_cxx::stdio_filebuf<char>(file, std::ios::out));
}

// What an option wants of the script, and what it changes in it.
void fit_options(const Options& options, engine::Script& script)
{
    if (options.flight && !engine::has_events(script))
        give_up("--flight keeps events, and the script makes none at a probe: printf(), print()");
    if (!options.pprof.empty()) {
        if (std::none_of(script.maps.begin(), script.maps.end(), engine::is_profile))
            give_up("--pprof is for counts and sums by stack, @[ustack] = count(), and the script has none");
        script.stack_form = engine::StackForm::perf;
    }
    if (options.folded || options.timeline) // a frame is a name there
        script.has_lines = false;
    if (options.unordered && !engine::has_events(script))
        give_up("--unordered is for printf() and print() at a probe, and the script has none");
    if (!options.flight && engine::has_dump(script))
        give_up("dump() prints what --flight keeps, which is not given");
}

// Where no process is named. @return  false: there is nothing to do, --dry-run of a script without sites
bool wants_all_processes(const Options& options, const engine::Script& script)
{
    const auto probes = engine::probes_with_sites(script);
    const auto pattern = std::find_if(probes.begin(), probes.end(),
                                      [](const engine::Probe* probe) { return engine::is_pattern(probe->file); });
    const bool may_be_everyone = pattern == probes.end() && !options.timeline && options.engine != EngineChoice::user
        && options.engine != EngineChoice::bpftrace;
    if (!probes.empty() && !may_be_everyone)
        give_up(fmt::format("{}: {} is a probe of a program", no_process,
                            (pattern != probes.end() ? *pattern : probes[0])->text));
    if (options.dry && probes.empty())
        return false;
    if (options.dry)
        give_up("--dry-run shows the sites of a process: name it with --pid, or a command after --");
    return true;
}

// Of a script with an error: bpftrace runs it, where it can; or else what is wrong. @return  the exit status
int refused(const Options& options, const engine::ScriptError& error)
{
    const std::string too_old = too_old_bpftrace(error.since);
    if (options.in_kernel() && error.kernel_can && !options.dry
        && (too_old.empty() || options.engine == EngineChoice::bpftrace))
        run_bpftrace(options);
    if (options.engine == EngineChoice::automatic && error.kernel_can && !options.dry && options.has_target()
        && too_old.empty() && bpftrace_obstacle(options).empty()) {
        const engine::Position where = engine::position(options.text, error.where);
        say(fmt::format("engine bpftrace: {}:{}:{}: {}; what the process forks is not counted", options.name,
                        where.line, where.column, error.what()));
        run_bpftrace(options);
    }
    std::fputs(fmt::format("{}", explain(error, options.text, options.name)).c_str(), stderr);
    if (!too_old.empty()) {
        say(too_old);
    } else if (error.kernel_can && untellable(options).empty()) { // then the script can be told apart
        const std::string why = return_probe_obstacle(options);
        const std::string since = error.since ? fmt::format(" since 0.{}", error.since) : "";
        say(why.empty() ? fmt::format("bpftrace does it{}, as root: {}", since, shell_line(bpftrace_command(options)))
                        : why);
    }
    return unusable;
}

int trace(const Options& options)
{
    try {
        engine::DebugFiles debug{engine::ProcessView(options.pid)};
        CompiledHeaders headers(options.include_folders);
        engine::Script script = engine::parse(options.text, options.parameters, &debug, surroundings(options, headers));
        refuse_parameters(options, script);
        filter_probes(script, options.probe_filter);
        for (const std::string& map : script.unused)
            if (options.warns)
                say(fmt::format("WARNING: Unused map: {}", map));
        if (const engine::Statement* const found = engine::unsafe_statement(script); found && !options.unsafe)
            throw engine::ScriptError(found->where,
                                      found->kind == engine::Statement::Kind::system
                                          ? "system() runs commands: it needs --unsafe"
                                          : "signal() sends signals to the program: it needs --unsafe");
        if (options.stage == Options::Stage::ast || options.stage == Options::Stage::ir) {
            print_to(options.output);
            print_stage(options, script, std::cout);
            finish_output(options.output);
            return 0;
        }
        fit_options(options, script);
        if (!options.has_target() && !wants_all_processes(options, script))
            return 0;             // it is a script, and has no sites
        print_to(options.output); // a script with an error leaves the last report as it was
        if (options.whole_program())
            limit_to_program(script, program_of(options));
        if (options.timeline)
            complete_script(script, options);
        if (options.engine == EngineChoice::bpftrace && !options.dry) {
            if (!script.beyond_bpftrace.empty())
                give_up(fmt::format("bpftrace has no {}, {}", script.beyond_bpftrace,
                                    engine::unwinds(script) ? "its ustack follows frame pointers"
                                                            : "the arguments of its probes are arg0 to arg9"));
            run_bpftrace(options);
        }
        return run(options, script);
    } catch (const engine::ScriptError& error) {
        return refused(options, error);
    }
}

// Address space for the ways out: where there is no memory left for the work, there is still some for undoing it, which takes a thread. And what
// a small work takes has to be there at first: where the C++ library finds no memory for the name of a folder, it ends the program.
void keep_a_reserve()
{
    constexpr size_t size = size_t(32) << 20, work = size_t(16) << 20;
    static void* reserve = mmap(nullptr, size + work, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserve == MAP_FAILED)
        throw std::bad_alloc();
    munmap(static_cast<char*>(reserve) + size, work);
    std::set_new_handler([] {
        std::set_new_handler(nullptr);
        munmap(reserve, size);
        throw std::bad_alloc();
    });
}

} // namespace
} // namespace fastsdt::trace_tool

int main(int argc, char** argv)
{
    using namespace fastsdt::trace_tool;
    fastsdt::MappedFile::survive_shortening();
    Options options;
    try {
        keep_a_reserve();
        if (const auto status = read_options(argc, argv, options))
            return *status;
        if (options.list) {
            print_to(options.output);
            const int status = list(options, std::cout);
            finish_output(options.output);
            return status;
        }
        if (options.exported)
            return export_trace(*options.exported);
        if (options.reported)
            return export_trace(*options.reported);
        if (!options.serve)
            return trace(options);
#ifdef FASTSDT_SERVE
        return serve(options);
#else
        give_up("serve is not in this build: it needs libmicrohttpd (FASTSDT_SERVE)");
#endif
    } catch (const GivenUp&) {
    } catch (const std::bad_alloc&) {
        say("fastsdt-trace itself has no memory left (ulimit -v); trace fewer files, or with a smaller --buffer");
    } catch (const std::exception& error) { // Unusable, mostly
        say(error.what());
    }
    return unusable;
}
