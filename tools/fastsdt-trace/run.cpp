// SPDX-License-Identifier: BSD-2-Clause
// One run of the user-space engine: processes are held or attached to, armed, waited for and reported.
#include "actions.h"
#include "bpf/files.h"
#include "elf/archive.h"
#include "export.h"
#include "base/clock.h"
#include "base/output_file.h"
#include "base/printable.h"
#include "output.h"
#include "pprof.h"
#include "base/unusable.h"
#include "process.h"
#include "process/ahead.h"
#include "process/outside.h"
#include "processes.h"
#include "record.h"
#include "run.h"
#include "say.h"
#include "top.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace fastsdt::trace_tool {
namespace {

using engine::Probe;
using engine::Session;
using engine::Statement;
using Clock = std::chrono::steady_clock;

constexpr auto samples_period = std::chrono::milliseconds(50);

// Probes that match nothing, where the script does not say that it may be.
bool is_error(const engine::Script& script, const std::vector<const Probe*>& unmatched)
{
    return script.missing == engine::Script::Missing::error && !unmatched.empty();
}

// Something that is due again and again.
struct Timer {
    std::chrono::microseconds period{};
    Clock::time_point next;
    const engine::Clause* clause = nullptr; ///< nullptr: print all maps
    const Probe* probe = nullptr;           ///< of the clause
};

class Run {
public:
    Run(Shared& shared, Signals& signals, Recorder* recorder)
        : shared_(shared), options_(shared.options), script_(shared.script), signals_(signals), recorder_(recorder),
          output_(options_.top        ? top_output(script_, std::cout, options_)
                      : options_.json ? json_output(script_, std::cout, options_.is_newer)
                                      : text_output(script_, std::cout, options_.folded, options_.is_newer)),
          processes_(shared), actions_(shared, processes_, *output_), prints_(engine::has_events(script_))
    {
        processes_.interrupted = [this] {
            print_events(false);
            return exit_ = exit_ || hear(Clock::now());
        };
        if (!options_.pprof.empty())
            pprof_.emplace(options_.pprof); // what cannot be written is refused now
        if (options_.timeline)
            for (const FormFile& each : options_.timeline->files)
                files_.emplace_back(each.file);
        if (recorder_)
            recorder_->tells_ends = [this](const engine::Site& entry) { return processes_.tells_ends(entry); };
    }

    Processes& processes() { return processes_; }

    int run()
    {
        all_of(Probe::Kind::begin);
        if (!exit_ || options_.has_target())
            processes_.take_up();
        if (shared_.profile && !options_.has_target())
            shared_.profile->open(0);
        start_ = Clock::now();
        say_armed();
        wait();
        take_samples();
        processes_.end();
        const auto took = std::chrono::nanoseconds(Clock::now() - start_);
        print_events(true);
        shared_.attempt([&] { all_of(Probe::Kind::end); });
        output_->last();
        if (options_.is_newer && !options_.json && !options_.top)
            std::cout << '\n'; // behind what was printed
        const engine::Maps maps = processes_.read();
        if (script_.prints_maps && !takes_samples())
            print_all(maps);
        if (recorder_)
            recorder_->finish(std::cout);
        const Summary last = summary();
        output_->summary(last);
        finish_output(options_.output);
        if (pprof_)
            pprof_->write(engine::profile_of(script_, maps,
                                             [&](const engine::ValueType& type, const engine::Datum& datum) {
                                                 return text_of(type, datum, shared_.names.names(), Style::key);
                                             },
                                             "fastsdt-trace: " + script_.source, {began_, took.count()}));
        explain(last);
        if (takes_samples())
            recorder_->samples(samples_of(maps));
        if (recorder_)
            recorder_->write(last.text(), is_whole(last));
        processes_.finish();
        if (!files_.empty())
            write_files();
        if (const auto status = actions_.status())
            return *status;
        if (options_.exit_status)
            if (const auto status = processes_.first().exit_status())
                return *status;
        return is_whole(last) ? complete : incomplete;
    }

private:
    // Of a trace: then its script has that map alone.
    bool takes_samples() const { return options_.timeline && options_.timeline->samples != 0; }
    static std::map<std::string, uint64_t> samples_of(const engine::Maps& maps)
    {
        std::map<std::string, uint64_t> stacks; // entries that differ in frames' offsets alone are one
        for (const engine::Entry& entry : maps.maps.at(0))
            stacks[folded(entry.keys.at(0), false)] += static_cast<uint64_t>(entry.number);
        return stacks;
    }

    // Only now: docs/architecture.md, "Why a run writes a trace first".
    void write_files()
    {
        const Timeline& timeline = *options_.timeline;
        bool is_interrupted = false;
        const auto interrupted = [&] {
            while (const auto signal = signals_.next())
                is_interrupted = is_interrupted || signal->number != SIGUSR1;
            return is_interrupted;
        };
        try {
            const Recorded recorded(recorder_->folder());
            CallGaps gaps;
            for (size_t i = 0; i < files_.size(); ++i) {
                const Made made = write_form(recorded, timeline.files[i].form, files_[i], interrupted);
                tell_of(made, timeline.files[i].file);
                const uint64_t samples = std::max(gaps.samples, made.gaps.samples); // a page has them
                gaps = made.gaps;
                gaps.samples = samples;
            }
            gaps.lost = 0; // the report has said it
            if (!timeline.table)
                tell_of(gaps, "file");
        } catch (const Unusable& error) {
            if (!is_interrupted)
                throw;
            recorder_->keep_folder();
            throw Unusable(fmt::format("{}; what was recorded is in {}, of which fastsdt-trace export makes files",
                                       error.what(), recorder_->folder()));
        }
    }

    // Somebody who looks on waits for that; what a script reads stays as it is.
    void say_armed()
    {
        if (!isatty(STDERR_FILENO) || !(options_.has_target() || shared_.everyone()) || options_.top)
            return;
        const Summary now = summary();
        const bool ends = !options_.command.empty() || options_.duration;
        tell(fmt::format("{} of {} site{} armed{}{}", now.armed, now.sites, now.sites == 1 ? "" : "s",
                         shared_.everyone()       ? " in all processes"
                             : now.processes == 1 ? ""
                                                  : fmt::format(" in {} processes", now.processes),
                         ends ? "" : "; Ctrl-C ends"));
    }

    bool pairs_go_by_thread() const
    {
        for (size_t i = 0; options_.pairs_by_thread && i < shared_.names.names().size(); ++i)
            if (const engine::Site* const site = shared_.names.site(i); site && site->go)
                return true;
        return false;
    }

    bool is_whole(const Summary& last) const
    {
        return last.complete() && !pairs_go_by_thread() && processes_.whole()
            && !is_error(script_, processes_.unmatched()) && (!recorder_ || recorder_->whole())
            && !MappedFile::was_shortened();
    }

    // Sentences on what a report cannot have.
    void explain(const Summary& last)
    {
        if (last.unread) {
            const std::string why = processes_.no_system_calls();
            say(fmt::format(
                "{} hit{} not recorded: {} values in memory that only a system call can read safely, and {}{}",
                last.unread, last.unread == 1 ? " was" : "s were", last.unread == 1 ? "it has" : "they have",
                why.empty() ? "a filter refused one" : why,
                options_.read_memory ? "" : "; --read-memory allows them in a program that sets none"));
        }
        if (last.left_out)
            say(fmt::format(
                "{} not armed: {}{}",
                plural(last.left_out, "entry or exit of a function is", "entries and exits of functions are"),
                last.why_left_out(), where_each_is_told()));
        else if (last.has_immovable() && !where_each_is_told().empty())
            say("why a function cannot be armed" + where_each_is_told());
        if (const std::string cure = last.cure(); !cure.empty())
            say(cure);
        if (last.lost_samples)
            say(fmt::format("{} samples were lost, since they came faster than this tool reads them",
                            last.lost_samples));
        if (last.throttled)
            say("the kernel had no time for all samples that were asked for: kernel.perf_cpu_time_max_percent");
        if (shared_.profile && shared_.profile->without_kernel())
            say("time in the kernel has no samples: kernel.perf_event_paranoid is more than 1, and this is an ordinary "
                "user");
        if (last.lost)
            say(fmt::format(
                "{} event{} lost, since a thread recorded more than {} KiB before this tool came to read it; "
                "--buffer gives it more",
                last.lost, last.lost == 1 ? " was" : "s were", options_.buffer >> 10));
        if (last.overwritten)
            say(fmt::format("older events were overwritten: each thread kept its newest {} KiB; --buffer keeps more",
                            options_.buffer >> 10));
        if (last.between)
            say(fmt::format("{} event{} not kept: a thread records nothing between its dump() and the reading",
                            last.between, last.between == 1 ? " was" : "s were"));
        const uint64_t cut_samples = shared_.profile ? shared_.profile->cut() : 0;
        if (cut_samples != 0)
            say(fmt::format("{} stack{} of samples {} cut: the frames beyond {} KiB are not copied", cut_samples,
                            cut_samples == 1 ? "" : "s", cut_samples == 1 ? "was" : "were",
                            Profile::copied_stack >> 10));
        if (const uint64_t cut = last.cut - cut_samples; cut != 0)
            say(fmt::format("{} stack{} cut: the outer frames are {}{}{}", cut, cut == 1 ? " was" : "s were",
                            shared_.all_in_kernel
                                ? "on a page that is not there"
                                : "on a stack whose size is not known (a signal handler's, a coroutine's, the main "
                                  "thread's just after it grew)",
                            engine::unwinds(script_) ? ", or the code there has no .eh_frame" : "",
                            shared_.all_in_kernel ? ", or was mapped just before" : ""));
        if (last.forked)
            say(fmt::format("{} hit{} of forked children {} not counted; --follow counts them", last.forked,
                            last.forked == 1 ? "" : "s", last.forked == 1 ? "was" : "were"));
        if (last.found)
            say(fmt::format("{} process{} found after {} had begun: hits of the first {:.2f} s are missing, or less",
                            last.found, last.found == 1 ? " was" : "es were", last.found == 1 ? "it" : "they",
                            last.found_seconds));
        if (last.missed)
            say(fmt::format("{} process{} ended before {} could be traced: all {} hits are missing", last.missed,
                            last.missed == 1 ? "" : "es", last.missed == 1 ? "it" : "they",
                            last.missed == 1 ? "its" : "their"));
        if (pairs_go_by_thread())
            say(go_by_thread);
        for (const std::string& refused : processes_.refused_names())
            say(refused);
        if (MappedFile::was_shortened())
            say(Shared::shortened);
        if (last.missed_more)
            say("so many processes came at once that the kernel could not tell of all: more may be missing");
        if (const auto missing = processes_.unmatched(); shared_.said_what_is_missing || processes_.empty())
            for (const Probe* probe : as_written(options_, missing))
                say(fmt::format("nothing matched {}", words_of(options_, *probe)));
        else
            shared_.say_what_is_missing(missing, processes_.first().session().matcher(), last, "matched", ": ");
    }

    // Of the one file of the script's functions.
    std::string where_each_is_told() const
    {
        std::set<std::string> files;
        for (const Probe* const probe : engine::probes_with_sites(script_))
            if (probe->kind != Probe::Kind::usdt)
                files.insert(probe->file);
        const bool is_one =
            files.size() == 1 && !engine::is_pattern(*files.begin()) && !engine::only_a_name(*files.begin());
        return is_one ? fmt::format(": fastsdt-check --armable {} tells it of each", *files.begin()) : "";
    }

    Summary summary() const { return processes_.summary(); }

    void wait()
    {
        std::vector<Timer> timers;
        if (options_.interval)
            timers.push_back({*options_.interval, start_ + *options_.interval});
        for (const engine::Clause& clause : script_.clauses)
            for (const Probe& probe : clause.probes)
                if (probe.kind == Probe::Kind::interval) {
                    const std::chrono::microseconds period(probe.interval_us);
                    timers.push_back({period, start_ + period, &clause, &probe});
                }
        std::optional<Clock::time_point> until;
        if (options_.duration)
            until = start_ + *options_.duration;
        if (timers.empty() && !until && !options_.has_target() && !engine::has_sites(script_) && !shared_.profile)
            return; // BEGIN and END alone
        auto check = start_ + verify_period;
        while (!exit_ && !processes_.all_over()) {
            auto next = until ? std::min(*until, processes_.next_look()) : processes_.next_look();
            for (const Timer& timer : timers)
                next = std::min(next, timer.next);
            if (prints_)
                next = std::min(next, next_events_);
            if (shared_.profile)
                next = std::min(next, next_samples_);
            if (hear(next))
                return;
            if (Clock::now() >= next_events_)
                print_events(false);
            if (shared_.profile && Clock::now() >= next_samples_)
                take_samples();
            if (std::exchange(asked_, false)) {
                processes_.ask_for_events();
                print_events(false);
                shared_.attempt([&] { print_now(); });
            }
            if (processes_.all_over() && processes_.finds()) // its children may execute what the script means
                processes_.look();
            if (processes_.all_over())
                return;
            const auto now = Clock::now();
            if (now >= processes_.next_look())
                processes_.look();
            if (now >= check && !exit_) {
                check = now + verify_period;
                processes_.verify(false);
                forget_intervals();
            }
            for (Timer& timer : timers)
                if (now >= timer.next && !exit_) {
                    timer.next = std::max(timer.next + timer.period, now);
                    shared_.attempt([&] { due(timer); });
                }
            if (until && now >= *until)
                return;
        }
    }

    // Waits until something happens, or the time has come. @return  whether a signal ends the run
    bool hear(Clock::time_point until)
    {
        std::vector<int> descriptors = {signals_.descriptor(), output_->keys()};
        const size_t own = descriptors.size();
        processes_.descriptors(descriptors);
        const auto ready = wait_readable(descriptors, until);
        processes_.react(ready, own);
        if (ready[1] && !output_->take_key())
            return true;
        return ready[0] && !processes_.all_over() && stopped_by_signal();
    }

    bool stopped_by_signal()
    {
        bool stop = false;
        while (const auto signal = signals_.next()) {
            if (signal->number == SIGUSR1) {
                asked_ = true;
                continue;
            }
            stop = options_.command.empty() || processes_.first().stops(*signal) || stop;
        }
        return stop;
    }

    void due(const Timer& timer)
    {
        if (!timer.clause)
            return print_now();
        perform(*timer.clause, *timer.probe);
        std::cout.flush();
        exit_ = exit_ || !std::cout;
    }

    void print_now()
    {
        processes_.verify();
        print_all(processes_.read());
        output_->summary(summary());
        std::cout.flush();
        exit_ = exit_ || !std::cout;
    }

    void all_of(Probe::Kind kind)
    {
        for (const engine::Clause& clause : script_.clauses)
            for (const Probe& probe : clause.probes)
                if (probe.kind == kind)
                    perform(clause, probe);
        std::cout.flush();
    }

    void perform(const engine::Clause& clause, const Probe& probe) { exit_ = !actions_.run(clause, probe) || exit_; }

    // Of a tseries(), those that are not printed any more: the kernel's and the stubs' maps have room for some thousand.
    void forget_intervals()
    {
        std::optional<engine::Maps> maps;
        for (size_t i = 0; i < script_.maps.size(); ++i) {
            const auto& series = script_.maps[i].series;
            if (!series)
                continue;
            if (!maps)
                maps = processes_.read();
            int64_t last = 0;
            for (const engine::Entry& entry : maps->maps[i])
                last = std::max(last, entry.keys.back().number);
            for (const engine::Entry& entry : maps->maps[i])
                if (entry.keys.back().number <= last - series->count)
                    processes_.remove(i, entry.keys);
        }
    }

    // What comes after exit() is not performed.
    void take_samples()
    {
        next_samples_ = Clock::now() + samples_period;
        if (!shared_.profile)
            return;
        constexpr auto soon = std::chrono::milliseconds(5);
        for (const Profile::Hit& hit : shared_.profile->take()) {
            if (exit_)
                break;
            exit_ = !actions_.run(hit);
            shared_.profile->count();
        }
        if (shared_.profile->is_busy())
            next_samples_ = Clock::now() + soon;
        std::cout.flush();
        exit_ = exit_ || !std::cout;
    }

    // Prints what threads have recorded since the last time. What comes after exit() is not printed. Nobody tells when something is
    // recorded. So it looks soon again where there was something, and where there was nothing later each time.
    void print_events(bool last)
    {
        constexpr auto soonest = std::chrono::milliseconds(1), latest = std::chrono::milliseconds(10);
        constexpr size_t many = 256;
        if (!prints_ || ended_)
            return;
        const auto begin = Clock::now();
        if (options_.flight && !last && !processes_.is_asked_for_events()) {
            next_events_ = begin + std::max<Clock::duration>(latest, 10 * (Clock::now() - begin)); // of many processes
            return;
        }
        std::vector<engine::Event> events;
        const uint64_t recorded = recorder_ ? recorder_->events() : 0;
        shared_.attempt([&] { events = processes_.take_events(last); });
        const uint64_t count = events.size() + (recorder_ ? recorder_->events() : 0) - recorded;
        if (recorder_)
            recorder_->keep();
        exit_ = exit_ || (recorder_ && !recorder_->failure().empty());
        for (const engine::Event& event : events) {
            ended_ = !actions_.perform(event);
            if (ended_)
                break;
        }
        exit_ = exit_ || ended_;
        if (!events.empty())
            std::cout.flush();
        exit_ = exit_ || !std::cout;
        events_period_ = count >= many ? std::chrono::milliseconds(0)
            : count != 0               ? soonest
                                       : std::clamp(2 * events_period_, soonest, latest);
        const auto now = Clock::now();
        next_events_ =
            now + std::max<Clock::duration>(events_period_, count == 0 ? 10 * (now - begin) : Clock::duration());
    }

    // In the order of names: bpftrace has its maps in a std::map.
    void print_all(const engine::Maps& maps)
    {
        if (!options_.latency.empty() && !options_.json
            && std::ranges::all_of(maps.maps, [](const auto& entries) { return entries.empty(); })) {
            const auto& places = options_.latency;
            std::cout << printable(
                fmt::format("no {} in {:.3g} s",
                            places.size() == 1 ? fmt::format("call of {} that returned", places[0])
                                               : fmt::format("{} behind {} in the same thread", places[1], places[0]),
                            std::chrono::duration<double>(Clock::now() - start_).count()))
                      << '\n';
            return;
        }
        std::vector<size_t> order(script_.maps.size());
        std::iota(order.begin(), order.end(), 0);
        std::sort(order.begin(), order.end(),
                  [&](size_t a, size_t b) { return script_.maps[a].name < script_.maps[b].name; });
        for (size_t map : order)
            if (!pprof_ || !engine::is_profile(script_.maps[map]))
                output_->map(map, maps.maps[map], shared_.names.names(), 0, 0, false);
    }

    Shared& shared_;
    const Options& options_;
    const engine::Script& script_;
    Signals& signals_;
    Recorder* const recorder_;
    const std::unique_ptr<Output> output_;
    Processes processes_;
    Actions actions_;
    const bool prints_;               // at sites
    std::optional<OutputFile> pprof_; // --pprof
    std::vector<OutputFile> files_;   // Timeline::files
    Clock::time_point start_ = Clock::now();
    const int64_t began_ = clock_ns(CLOCK_REALTIME);
    Clock::time_point next_events_ = start_, next_samples_ = start_;
    std::chrono::milliseconds events_period_{};
    bool exit_ = false;
    bool asked_ = false; // by SIGUSR1, for the maps as they are, as with bpftrace
    bool ended_ = false; // by exit() in a probe
};

Summary summary_of(const Session::Preview& preview)
{
    Summary summary;
    for (size_t i = 0; i < preview.states.size(); ++i)
        summary.count(preview.sites[i], preview.states[i], engine::can_be_armed(preview.states[i]));
    return summary;
}

// Why the kernel's engine cannot be had; empty: it is there. @param pid  the process, where it is one at first
std::string make_kernel(Shared& shared, pid_t pid)
{
    const Options& options = shared.options;
    const bool only = options.one_process() && !options.follows();
    constexpr size_t least_ring = size_t(4) << 20; // it is of all threads
    try {
        shared.kernel = std::make_unique<engine::bpf::Kernel>(
            shared.script,
            engine::bpf::Kernel::Options{.only = only ? pid : 0,
                                         .everyone = shared.everyone(),
                                         .follows = options.follows(),
                                         .return_probes = options.return_probes,
                                         .child = options.command.empty() ? 0 : pid,
                                         .start_ns = shared.start_ns,
                                         .ring_size = std::max(least_ring, options.buffer)});
        return {};
    } catch (const Unusable& error) {
        return error.what();
    }
}

// Why the user engine cannot take a process at all: a seccomp filter, another tracer, 32-bit code. Empty: it can, or there is none.
std::string refusal(pid_t pid)
{
    try {
        engine::open_outside(pid);
        return {};
    } catch (const Unusable& error) {
        return engine::start_time_of(std::to_string(pid)) != 0 ? error.what() : "";
    }
}

// @param refused  why the user engine cannot have the process; empty: it was not wanted
void make_kernel_or_give_up(Shared& shared, pid_t pid, const std::string& refused)
{
    if (const std::string obstacle = make_kernel(shared, pid); !obstacle.empty())
        give_up(refused.empty() ? fmt::format("--engine kernel: {}", obstacle) : refused);
}

// For --engine auto: whether the kernel's engine shall have what stubs cannot. Says which engine it takes, and why.
// @param preview  of the first process
void choose(Shared& shared, pid_t pid, const Session& session, const Session::Preview& preview)
{
    const Summary summary = summary_of(preview);
    const bool lacks = !session.matcher().unmatched().empty() && !shared.options.moves;
    if (summary.complete() && !lacks) {
        if (summary.sites)
            say(fmt::format("engine user: {} of {} sites can be armed", summary.armed, summary.sites));
        return;
    }
    const std::string why = summary.complete()
        ? fmt::format("fastprobe has not recorded {}, and --no-move leaves it alone",
                      session.matcher().unmatched()[0]->text)
        : summary.text();
    const std::string cure = summary.cure();
    if (const std::string obstacle = make_kernel(shared, pid); !obstacle.empty()) {
        say(fmt::format("engine user: {}; {}", why, obstacle));
        return;
    }
    shared.all_in_kernel = !engine::adds_up(shared.script);
    if (shared.all_in_kernel && summary.armed != 0 && !lacks)
        if (const size_t can = session.sites_for(*shared.kernel); can <= summary.armed) {
            say(fmt::format("engine user: {}; what hits leave for each other stays on one engine, and the kernel's can "
                            "have {} of the {}",
                            why, can, preview.sites.size()));
            shared.kernel.reset();
            shared.all_in_kernel = shared.kernel_may = false;
            return;
        }
    say(fmt::format("engine {}: {}", shared.all_in_kernel ? "kernel" : "user, and kernel where it cannot", why));
    if (!cure.empty())
        say(cure);
}

// --pid: without any match there is nothing to wait for.
void refuse_unmatched(const engine::Script& script, const Session& session, const Options& options)
{
    const auto unmatched = session.matcher().unmatched();
    if (options.pid && session.matcher().matched().empty() && is_error(script, unmatched))
        give_up(fmt::format("process {}: nothing in it matches {}: {}", options.pid, words_of(options, *unmatched[0]),
                            instead_of(options, *unmatched[0], session.matcher())));
}

// Why no process can have a probe, whatever the COMMAND loads. Empty: one may.
std::string absence(const engine::Script& script, const Session& session, const Probe& probe, const Options& options)
{
    // "usdt:shop:order", where the program's provider is shop
    if (probe.kind == Probe::Kind::usdt && probe.provider == "*" && engine::only_a_name(probe.file)
        && place_in_program(fmt::format("{}:{}", probe.file, probe.name), options) == Place::probe)
        return session.matcher().instead(probe);
    return engine::absence(script, probe);
}

// A COMMAND, which is held, does not run where nothing can match, whatever it loads or executes.
void refuse_absent(const engine::Script& script, const Session& session, const Options& options)
{
    const auto unmatched = as_written(options, session.matcher().unmatched());
    if (options.command.empty() || options.whole_program() || !session.matcher().matched().empty()
        || engine::has_samples(script) || !is_error(script, unmatched))
        return;
    std::vector<std::string> sentences;
    for (const Probe* const probe : unmatched)
        if (const std::string why = absence(script, session, *probe, options); !why.empty())
            sentences.push_back(fmt::format("nothing matches {}: {}", words_of(options, *probe), why));
    const bool runs = sentences.size() < unmatched.size();
    constexpr size_t most = 3;
    for (size_t i = 0; i < std::min(sentences.size(), most); ++i)
        say(sentences[i]);
    if (!runs)
        give_up(options.words.empty() ? "the COMMAND is not run; with config = { missing_probes = warn } it is"
                                      : "the COMMAND is not run");
}

// args.NAME that the files say no site of the script has is a mistake in the script: nothing is run.
void refuse_argument(const engine::Script& script, Session& session)
{
    const auto probes = engine::probes_with_sites(script);
    if (!script.beyond_bpftrace.starts_with("args.") || !session.matcher().unmatched().empty()
        || std::ranges::any_of(probes, [](const Probe* probe) { return engine::is_pattern(probe->file); }))
        return;
    const Session::Preview preview = session.preview();
    const auto lacks = [](const engine::SiteState& state) { return state.state == engine::State::no_named_argument; };
    if (preview.states.empty() || !std::ranges::all_of(preview.states, lacks))
        return;
    const engine::SiteState& state = preview.states[0];
    give_up(fmt::format("args.{}: {} has no argument of that name{}", state.detail,
                        session.probes()[preview.sites[0].probe],
                        state.instead.empty() ? ", and no other" : "; it has " + state.instead));
}

// Libraries that the process has not loaded yet: it does not wait until we see that it has. Where its numbers are others than ours, programs for
// it cannot be made for a file alone.
void attach_to_what_may_come(Shared& shared, pid_t pid, const Session& session)
{
    const std::vector<const Probe*> missing = session.matcher().unmatched();
    const auto its = inner_pid_namespace(std::to_string(pid)), own = inner_pid_namespace("self");
    const bool is_other = its.has_value() != own.has_value() || (its && its->inode != own->inode);
    if (!missing.empty() && !is_other)
        shared.files = engine::bpf::attach_to_files(*shared.kernel, shared.script, shared.names, missing);
}

// Without a process: the kernel counts in whoever has the files of the probes.
void attach_for_everyone(Shared& shared)
{
    const Options& options = shared.options;
    shared.all_in_kernel = true;
    if (options.engine != EngineChoice::kernel && engine::unwinds(shared.script))
        give_up(fmt::format("{}: ustack(dwarf) needs to know what a process has mapped", no_process));
    if (const std::string why = make_kernel(shared, 0); !why.empty())
        give_up(options.engine == EngineChoice::kernel
                    ? fmt::format("--engine kernel: {}", why)
                    : fmt::format("no process is named, and only the kernel can count in all of them: {}. "
                                  "Without such rights, {}",
                                  why, no_process));
    shared.files = engine::bpf::attach_to_files(*shared.kernel, shared.script, shared.names,
                                                engine::probes_with_sites(shared.script));
    for (const Probe* const probe : engine::unmatched_probes(shared.script, shared.files->matched)) {
        const std::string sentence =
            fmt::format("nothing matches {}: {}", probe->text, shared.files->unmatched.at(probe));
        if (is_error(shared.script, {probe}))
            give_up(sentence);
        say(sentence);
    }
    if (options.engine == EngineChoice::automatic)
        say("engine kernel: no process is named, so the hits of all count");
}

} // namespace

int run(const Options& options, const engine::Script& script)
{
    Signals signals;
    Shared shared{.options = options, .script = script, .kernel_may = options.one_process() && !options.timeline};
    std::optional<Recorder> recorder;
    if (options.timeline)
        shared.sink = &recorder.emplace(options, script, shared.names);
    Recorder* const records = recorder ? &*recorder : nullptr;
    if (engine::has_samples(script) && !options.dry)
        shared.profile = std::make_unique<Profile>(script, options.follows());
    const bool wants_kernel = options.engine == EngineChoice::kernel && !options.dry && options.has_target();
    const std::string refused =
        options.engine == EngineChoice::automatic && options.pid && !options.dry ? refusal(options.pid) : "";
    if (wants_kernel || !refused.empty()) {
        shared.all_in_kernel = true;
        if (options.command.empty())
            make_kernel_or_give_up(shared, options.pid, refused);
    }
    if (shared.everyone())
        attach_for_everyone(shared);
    if (!shared.all_in_kernel && options.moves && !options.dry)
        engine::read_ahead(script);
    if (!options.one_process()) {
        if (options.dry)
            give_up("--dry-run shows one process: name it with --pid");
        Run run(shared, signals, records);
        run.processes().add_named();
        run.processes().add_others();
        return run.run();
    }
    auto owned = options.pid
        ? std::make_unique<Program>(
              options.pid, shared.all_in_kernel ? engine::open_forked(options.pid) : engine::open_outside(options.pid))
        : std::make_unique<Program>(options.command, signals);
    Program& program = *owned;
    if (shared.all_in_kernel && !shared.kernel)
        make_kernel_or_give_up(shared, program.pid(), refused);
    if (shared.all_in_kernel && !options.command.empty() && options.follows())
        shared.files =
            engine::bpf::attach_to_files(*shared.kernel, script, shared.names, engine::probes_with_sites(script));
    auto session = std::make_unique<Session>(script, program.target(), shared.session_options());
    if (!refused.empty()) // only now: what refuses both engines is one error
        say(fmt::format("engine kernel: {}", refused));
    for (const std::string& trouble : session->matcher().troubles())
        shared.say_once(trouble);
    if (options.dry) {
        refuse_unmatched(script, *session, options);
        const Session::Preview preview = session->preview();
        print_preview(preview, session->probes(), options.json, std::cout);
        for (const Probe* probe : as_written(options, session->matcher().unmatched()))
            say(fmt::format("nothing matches {}: {}", words_of(options, *probe),
                            instead_of(options, *probe, session->matcher())));
        if (!session->no_system_calls().empty())
            say(fmt::format("no system call would read what a hit has in memory: {}", session->no_system_calls()));
        if (preview.cost.pages != 0)
            say(fmt::format("arming would take {} KiB of the process's memory: copies of {} page{} of code, and stubs",
                            preview.cost.bytes() >> 10, preview.cost.pages, preview.cost.pages == 1 ? "" : "s"));
        const Summary summary = summary_of(preview);
        if (options.json)
            json_output(script, std::cout)->summary(summary);
        else
            std::cout << fmt::format("{} of {} sites can be armed\n", summary.armed, summary.sites);
        return summary.complete() && !is_error(script, session->matcher().unmatched()) ? complete : incomplete;
    }
    refuse_absent(script, *session, options);
    refuse_argument(script, *session);
    if (options.engine == EngineChoice::automatic && !shared.kernel) {
        choose(shared, program.pid(), *session, session->preview());
        if (shared.kernel)
            session = std::make_unique<Session>(script, program.target(), shared.session_options());
    }
    if (!options.follows()) // a descendant may match
        refuse_unmatched(script, *session, options);
    if (shared.all_in_kernel && !options.follows())
        attach_to_what_may_come(shared, program.pid(), *session);
    Run run(shared, signals, records);
    run.processes().add(std::move(owned), std::move(session));
    run.processes().add_others();
    return run.run();
}

} // namespace fastsdt::trace_tool
