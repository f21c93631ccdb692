// SPDX-License-Identifier: BSD-2-Clause
#pragma once
#include "code/machine.h"
#include "maps/tables.h"
#include "script/script.h"
#include "selection.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace fastsdt::engine {
class Matcher;
}

namespace fastsdt::trace_tool {

/// What is said where a process is wanted and none was named.
constexpr const char* no_process = "name a process with --pid, all that have a file with --exe, or a command after --";

/// kernel: ours, by BPF. bpftrace: that program, for comparisons and for scripts that only it reads.
enum class EngineChoice { automatic, user, kernel, bpftrace };

/// A script as it was given.
struct ScriptFile {
    std::string name; ///< for messages
    std::string text;
};

/// `fastsdt-trace serve`
struct ServeOptions {
    std::string config; ///< a file; empty: `scripts`, of the processes that Options name
    std::vector<ScriptFile> scripts;
    std::optional<std::string> listen; ///< none: as the configuration says
    std::string otlp;                  ///< empty: likewise
};

/// What can be made of a trace: a file each.
enum class Form { chrome, perfetto, otlp, page };
struct FormFile {
    std::string file;
    Form form;
};

/// `fastsdt-trace record`, `functions`, and `report` of what is recorded now
struct Timeline {
    std::string folder;                         ///< for the trace; empty: none
    std::vector<FormFile> files;                ///< that are made of it
    bool passing = false;                       ///< the folder goes when these are made
    std::vector<std::string> functions, probes; ///< [FILE:]FUNCTION, [[FILE:]PROVIDER:]NAME; may be patterns
    bool generated = false;                     ///< the script is timeline_script()
    bool all_functions = false;                 ///< nobody chose among them
    bool table = false;                         ///< of calls
    unsigned samples = 0;                       ///< of the threads, in a second
};

/// `fastsdt-trace top`
struct Top {
    enum class Order { rate, total, busy, p50, p99, name };
    std::vector<std::string> functions, probes; ///< as Timeline has them
    Order order = Order::rate;                  ///< at first
    size_t rows = 20;                           ///< at most, where there is no screen
};

/// `fastsdt-trace export`, and `report` of a trace
struct Export {
    std::string folder, file;
    Form form = Form::page;
    std::string otlp = {}; ///< a collector's URL instead of a file
};

struct Options {
    std::string text;        ///< the script
    std::string name;        ///< of the script: its file's, "-e" or "latency"
    pid_t pid = 0;           ///< the process, where there is one and it is known
    std::vector<pid_t> pids; ///< --pid
    Selection selection;
    std::vector<std::string> command; ///< after --
    EngineChoice engine = EngineChoice::automatic;
    bool in_kernel() const { return engine == EngineChoice::kernel || engine == EngineChoice::bpftrace; }
    std::optional<std::chrono::milliseconds> duration, interval;
    enum class Stage { none, ast, ir, code } stage = Stage::none; ///< -d: what to print of the script, instead of a run
    bool dry = false, json = false, folded = false;
    std::string pprof;                ///< --pprof: the file
    std::vector<std::string> latency; ///< its two probes, or its function
    bool pairs_by_thread = false;     ///< latency, top: the script's key is tid
    bool is_newer = false;            ///< print as bpftrace does since 0.21, where that differs from 0.17
    bool warns = true;                ///< warnf() and warnings about the script
    bool unsafe = false;              ///< system() may run commands, and signal() may send signals
    std::optional<std::string> list;  ///< what to list instead: empty for all of the processes
    bool exit_status = false;         ///< end as the command does
    std::vector<std::string> includes, include_folders; ///< of C's headers, for scripts
    std::string probe_filter;                           ///< a regular expression; empty: all probes of the script
    std::vector<std::string> parameters;                ///< $1, $2 of the script
    std::map<std::string, std::string>
        words;                  ///< where a subcommand made the script: a probe's text, and what it was made of
    std::optional<bool> follow; ///< forked children record too; empty: those of a COMMAND, and of a selection
    bool follows() const { return follow.value_or(pids.empty()); }
    /// What a COMMAND and its descendants execute is held until it is armed.
    bool holds_executed() const { return !command.empty() && follows() && moves; }
    bool names(pid_t process) const { return std::find(pids.begin(), pids.end(), process) != pids.end(); }
    /// Whether probes are of chosen processes, or of those that serve finds. If not, they are of every process that has the probed files
    /// (Shared::everyone()), or the script has no probes but BEGIN, END, interval and profile.
    bool has_target() const { return serve || names_process(); }
    /// The command line chose them: by pid, by a selection, or as a COMMAND.
    bool names_process() const { return pid != 0 || !selection.empty() || !pids.empty() || !command.empty(); }
    bool one_process() const
    {
        return has_target() && !serve && selection.empty() && pids.size() <= 1;
    } ///< at the start
    size_t buffer = engine::usual_ring_size; ///< of a thread's events, in bytes: a power of two
    bool flight = false;                     ///< of these the newest are kept, and printed when somebody asks
    bool unordered = false;                  ///< events of different threads come in no order, and need no clock
    bool read_memory = false;                ///< stubs may make system calls in whatever program
    std::string output;                      ///< file for what is printed; empty: standard output
    bool moves = engine::own_machine.moved_jump != 0; ///< engine::Session::Options
    bool demangles = true;                            ///< base/demangle.h
    bool moves_faulting = false;                      ///< the same
    bool return_probes = false;                       ///< the kernel may replace return addresses
    std::optional<ServeOptions> serve;
    std::optional<Timeline> timeline;
    std::optional<Export> exported, reported;
    std::optional<Top> top;
    /// Whether the script is ours and its probes, all of them, are those of the program. Of all files, there would be thousands to move.
    bool whole_program() const
    {
        return (timeline && timeline->all_functions && moves)
            || (timeline && timeline->generated && timeline->functions.empty() && timeline->probes.empty())
            || (top && top->functions.empty() && top->probes.empty());
    }
};

/// A probe as somebody wrote it: "--functions main" or "main", where a subcommand has made uprobe:*:main of that.
std::string words_of(const Options& options, const engine::Probe& probe);
/// What there is instead of it, and what to say then.
std::string instead_of(const Options& options, const engine::Probe& probe, const engine::Matcher& matcher);
/// Each of those once, where such words have made an entry and an exit.
std::vector<const engine::Probe*> as_written(const Options& options, const std::vector<const engine::Probe*>& probes);

/// Reads the command line, and the script's file. A status: the program has to end with it; the message is printed
/// already.
std::optional<int> read_options(int argc, char** argv, Options& options);

/// A file that somebody wrote: a script or a configuration. Throws Unusable.
ScriptFile read_script(const std::string& file);

/// By what a script knows who calls: a thread, or a goroutine of a Go program, which goes on on another thread when it has waited, and whose register
/// for itself stays. @param places  of `latency`: one FILE:FUNCTION names the program, else it is the one that is traced
std::string call_key(const std::vector<std::string>& places, const Options& options);
/// What is said where that was "tid", and the program turned out to be Go.
inline constexpr const char* go_by_thread =
    "calls of Go functions are paired by thread, which is wrong where a goroutine goes on on another: name the "
    "program's file, as in ./app:main.work, or trace it by -p PID";
/// @param file  empty: the program that is traced
bool is_go(const std::string& file, const Options& options);
/// Whether the script may have functions of Go, by the files that it and the options name.
bool may_be_go(const engine::Script& script, const Options& options);
/// The script of `fastsdt-trace latency`: from a hit of the first place to the next of the second in the same thread, or goroutine.
/// @param places  two probes ("shop:begin", "begin", "./app:shop:begin"), or one function
/// @param key  of call_key()
std::string latency_script(const std::vector<std::string>& places, const std::string& key);
/// What FILE:FUNCTION or [FILE:]PROVIDER:NAME is, by the FILE or the program that the options name. A name alone may be one of a library.
enum class Place { unknown, function, probe };
Place place_in_program(const std::string& place, const Options& options);
/// What is said to somebody who forgets the -- before the words of a COMMAND.
std::string command_behind_dashes(const std::vector<std::string>& words);
/// The program that the options name: the process's, the command's or the selection's. Throws Unusable.
std::string program_of(const Options& options);
/// What a script calls a place: "usdt:*:shop:begin" of "shop:begin", "*:main" of "main". Others end the program. @param who  for the message
std::string probe_place(const std::string& place, const char* who);
std::string function_place(const std::string& place, const char* who);

} // namespace fastsdt::trace_tool
