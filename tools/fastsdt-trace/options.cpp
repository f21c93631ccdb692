// SPDX-License-Identifier: BSD-2-Clause
#include "command_line.h"

#include "base/demangle.h"
#include "base/output_file.h"
#include "base/search_path.h"
#include "base/similar_option.h"
#include "base/unusable.h"
#include "bpftrace.h"
#include "elf/elf_file.h"
#include "formats.h"
#include "process/match.h"
#include "record.h"
#include "say.h"
#include "script/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <span>
#include <string_view>
#include <unistd.h>
#include <wordexp.h>

namespace fastsdt::trace_tool {
namespace {

std::optional<std::chrono::milliseconds> duration(double seconds)
{
    if (seconds <= 0)
        return {};
    return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
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
    options.selection.complete();
    const bool named = !given.scripts.empty() || !given.words.empty() || !given.text.empty();
    const bool selects = options.names_process();
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
        give_up("--pid cannot be combined with " + names_of_ways());
    if (!given.text.empty())
        options.serve->scripts.push_back({"-e", given.text});
    given.scripts.insert(given.scripts.begin(), given.words.begin(), given.words.end());
    for (const std::string& file : given.scripts)
        options.serve->scripts.push_back(read_script(file));
}

void check_list(Options& options, const Given& given)
{
    options.list = given.search;
    if (given.latency_command->parsed() || (options.names_process() && options.pids.empty())
        || !options.selection.empty() || !options.command.empty() || options.dry || options.exit_status
        || given.duration > 0 || given.interval > 0)
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
std::vector<std::string> split_words(const std::string& command)
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
    if (is_report && given.reported.file.empty())
        give_up("where shall the page go? -o FILE.html");
    if (is_report)
        timeline.files = {{given.reported.file, Form::page}};
    for (const std::string& each : given.outputs) {
        if (const auto form = form_of(each))
            timeline.files.push_back({each, *form});
        else if (!timeline.folder.empty())
            give_up(fmt::format("-o {} and -o {}: one folder is enough, and a file says by its name what it is: {}",
                                timeline.folder, each, forms_text()));
        else
            timeline.folder = each;
    }
    timeline.passing = timeline.folder.empty();
    if (timeline.passing && !timeline.files.empty())
        timeline.folder = OutputFile(timeline.files[0].file).path();
    if (!is_generated && timeline.samples)
        give_up("--samples goes with --functions and --probes: a script has profile:hz:N and maps of its own");
    timeline.all_functions =
        timeline.functions.empty() && (timeline.table || (is_report && is_generated && timeline.probes.empty()));
    if (timeline.all_functions)
        timeline.functions.emplace_back("*");
    if (timeline.folder.empty() && !timeline.table)
        give_up("where shall the trace go? -o DIR, " + forms_text());
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
    if (!given.text.empty() || !given.words.empty() || options.names_process())
        give_up("export only reads a trace: it takes DIR, and --output or --otlp");
    if (given.exported.folder.empty())
        give_up("which trace? export DIR, as record -o DIR has written it");
    if (!given.exported.otlp.empty() && !given.exported.file.empty())
        give_up("export either writes a file, --output, or sends the spans, --otlp");
    if (!given.exported.otlp.empty())
        return;
    if (given.exported.file.empty())
        give_up(fmt::format("where shall it go? -o {}, or --otlp URL", forms_text()));
    const auto form = form_of(given.exported.file);
    if (!form)
        give_up(fmt::format("{}: the name tells the format: {}", given.exported.file, forms_text()));
    options.exported->form = *form;
}

void check_report(Options& options, const Given& given)
{
    options.reported = given.reported;
    if (std::error_code error; options.has_target() && !std::filesystem::is_directory(given.reported.folder, error))
        give_up(fmt::format("report {0}: there is no trace {0}; where the page goes is said by -o {0}",
                            given.reported.folder));
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

// Remembers what probes of a subcommand's script are made of. @param option  that named the places; empty: latency has them as words
void take_words(Options& options, const std::string& option, const std::vector<std::string>& places, bool functions)
{
    for (const std::string& place : places) {
        const std::string words = option.empty() ? place : option + " " + place;
        const char* const who = option.empty() ? "latency" : option.c_str();
        if (!functions)
            options.words[probe_place(place, who)] = words;
        else
            for (const char* const kind : {"uprobe:", "uretprobe:"})
                options.words[kind + function_place(place, who)] = words;
    }
}

// By its name alone, as the shell has it.
void refuse_no_command(const std::vector<std::string>& command)
{
    if (command.empty() || command[0].find('/') != command[0].npos || !in_search_path(command[0]).empty())
        return;
    give_up(fmt::format("{0}: No such file or directory{1}", command[0],
                        access(command[0].c_str(), X_OK) == 0 ? did_you_mean("./" + command[0]) : ""));
}

// A script on the command line, or a subcommand that does not exist or is misspelt, in the place of a script's file.
void refuse_no_file(const std::string& word, const Given& given)
{
    if (word.find('{') != word.npos && access(word.c_str(), F_OK) != 0)
        give_up("there is no file of that name; a script's text goes behind -e");
    if (!word.empty() && std::ranges::all_of(word, [](char c) { return c >= 'a' && c <= 'z'; })
        && access(word.c_str(), F_OK) != 0) {
        const bool is_option = word == "list" || word == "help" || word == "version";
        const std::string meant = is_option ? "--" + word : given.subcommand->word();
        give_up(fmt::format("{}: No such file or directory, and no subcommand; {}", word,
                            meant.empty() ? "see fastsdt-trace --help" : fmt::format("did you mean \"{}\"?", meant)));
    }
}

// -p $(pidof PROGRAM), where there are several: the others stand where a script, a place or a trace is wanted.
void refuse_more_pids(const Options& options, const Given& given)
{
    if (options.pids.empty() || !given.text.empty())
        return;
    std::vector<std::string> words = given.places;
    words.push_back(given.reported.folder);
    if (!given.words.empty())
        words.push_back(given.words[0]);
    for (const std::string& word : words)
        if (!word.empty() && word.find_first_not_of("0123456789") == word.npos && access(word.c_str(), F_OK) != 0
            && access(("/proc/" + word).c_str(), F_OK) == 0)
            give_up(fmt::format("{}: several processes are -p {},{}; --exe PROGRAM has all of a program", word,
                                options.pids.back(), word));
}

void take_parameters(Options& options, const Given& given, bool is_file)
{
    options.parameters.assign(given.words.begin() + (is_file ? 1 : 0), given.words.end());
    // No command begins with "--": these are the script's, up to another "--".
    if (std::vector<std::string>& words = options.command; !words.empty() && engine::is_option(words[0])) {
        const auto end = std::find(words.begin(), words.end(), "--");
        options.parameters.insert(options.parameters.end(), words.begin(), end);
        words.erase(words.begin(), end == words.end() ? end : end + 1);
    }
}

void check_processes(Options& options, const Given& given)
{
    const bool is_latency = given.latency_command->parsed(), is_top = given.top_command->parsed();
    options.selection.complete();
    const bool selects = !options.selection.empty();
    const bool shows_text = options.stage == Options::Stage::ast || options.stage == Options::Stage::ir;
    if ((options.timeline || ((is_latency || is_top) && !shows_text)) && !options.has_target())
        give_up(no_process);
    if (!options.pids.empty() && (selects || !options.command.empty()))
        give_up("--pid cannot be combined with " + (selects ? names_of_ways() : "a command"));
    if (selects && !options.command.empty())
        give_up(names_of_ways("and") + " cannot be combined with a command");
    std::sort(options.pids.begin(), options.pids.end());
    options.pids.erase(std::unique(options.pids.begin(), options.pids.end()), options.pids.end());
    if (options.pids.size() == 1)
        options.pid = options.pids[0];
}

void check_events(Options& options, const Given& given)
{
    const bool is_latency = given.latency_command->parsed(), is_top = given.top_command->parsed();
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
}

// Its text and its name. @param is_generated  of record and the like  @param is_file  the first word names it
void take_script(Options& options, const Given& given, bool is_generated, bool is_file)
{
    const bool is_latency = given.latency_command->parsed(), is_top = given.top_command->parsed();
    const std::string key =
        is_latency || is_top ? call_key(is_top ? given.top.functions : given.places, options) : std::string();
    options.pairs_by_thread = key == "tid";
    if (is_latency) {
        options.text = latency_script(given.places, key);
        options.name = "latency";
        options.latency = given.places;
        take_words(options, "", given.places, given.places.size() == 1);
    } else if (is_top) {
        options.text = top_script(*options.top, key);
        options.name = "top";
        take_words(options, "--functions", given.top.functions, true);
        take_words(options, "--probes", given.top.probes, false);
    } else if (is_generated) {
        options.text = timeline_script(*options.timeline);
        options.name = options.timeline->table ? "functions" : given.report_command->parsed() ? "report" : "record";
        take_words(options, "--functions", given.timeline.functions, true);
        take_words(options, "--probes", given.timeline.probes, false);
    } else if (is_file) {
        const std::string& word = given.words[0];
        refuse_no_file(word, given);
        options.text = read_script(word).text;
        options.name = word;
    } else {
        options.text = given.text;
        options.name = "-e";
    }
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
    take_parameters(options, given, is_file);
    refuse_no_command(options.command);
    if (is_latency && (!given.text.empty() || !given.words.empty()))
        give_up(fmt::format("one script is enough: -e TEXT, FILE or latency{}", dashes_hint(options)));
    if (is_latency)
        check_latency(options, given.places);
    if (!is_latency && !is_top && !is_generated && given.text.empty() && !is_file
        && std::ranges::find(options.command, "-e") != options.command.end())
        give_up("what stands behind -- is the command's: -e TEXT and other options come before it");
    if (!is_latency && !is_top && !is_generated && given.text.empty() && !is_file)
        give_up("say what to do: -e SCRIPT, a script's FILE, or latency, top, functions, record, report, serve; see "
                "fastsdt-trace --help");
    if (!options.pprof.empty() && (options.dry || options.top || options.timeline))
        give_up("--pprof is for the maps of a script's report");
    if (options.json && options.folded)
        give_up("--json and --folded are two ways to print the maps: one is enough");
    check_processes(options, given);
    check_events(options, given);
    options.duration = duration(given.duration);
    options.interval = duration(given.interval > 0 ? given.interval : is_top ? 1 : 0);
    if (options.exit_status && options.command.empty())
        give_up("--exit-status is that of a command: -c CMD, or -- COMMAND");
    check_places(options, given);
    take_script(options, given, is_generated, is_file);
}

} // namespace

std::string words_of(const Options& options, const engine::Probe& probe)
{
    if (options.whole_program()) // main.cpp has named its file
        return fmt::format("{} of {}", probe.kind == engine::Probe::Kind::usdt ? "the probes" : "the functions",
                           probe.file);
    const auto found = options.words.find(probe.text);
    return found == options.words.end() ? probe.text : found->second;
}

std::string instead_of(const Options& options, const engine::Probe& probe, const engine::Matcher& matcher)
{
    const bool all_probes = options.whole_program() && probe.kind == engine::Probe::Kind::usdt;
    return matcher.instead(probe) + (all_probes ? "; --functions 'PATTERN' names functions" : "");
}

std::vector<const engine::Probe*> as_written(const Options& options, const std::vector<const engine::Probe*>& probes)
{
    std::vector<const engine::Probe*> once;
    for (const engine::Probe* const probe : probes)
        if (std::ranges::none_of(once, [&](const engine::Probe* other) {
                return words_of(options, *other) == words_of(options, *probe);
            }))
            once.push_back(probe);
    return once;
}

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
    CLI::App app{
        "Traces probes and functions of programs, those of unmodified ones too, with the language of bpftrace: "
        "hits are counted in the process itself, without the kernel and without root."};
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
        const std::string what = in_words(error.what());
        give_up(fmt::format(
            "{}{}{}; {}", what, what.starts_with("--pid: 1 required") ? " (was there no such process?)" : "",
            error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError) ? dashes_hint(options) : "",
            help_for(app, int(dashes - argv), argv)));
    }
    refuse_more_pids(options, given);
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
        options.command = split_words(given.command);
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
