// SPDX-License-Identifier: BSD-2-Clause
// One run of the user-space engine: processes are held or attached to, armed, waited for and reported.
#include "actions.h"
#include "elf/archive.h"
#include "hand_over.h"
#include "kernel.h"
#include "mixed.h"
#include "output.h"
#include "process.h"
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
#include <memory>
#include <numeric>
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

constexpr auto verify_period = std::chrono::seconds(1); ///< for sites that have lost their jump

// Something that is due again and again.
struct Timer {
    std::chrono::microseconds period{};
    Clock::time_point next;
    const engine::Clause* clause = nullptr; ///< nullptr: print all maps
    const Probe* probe = nullptr;           ///< of the clause
};

class Run {
public:
    Run(Shared& shared, Signals& signals, Recorder* recorder, KernelPart* kernel = nullptr)
        : shared_(shared), options_(shared.options), script_(shared.script), signals_(signals), recorder_(recorder),
          kernel_(kernel), output_(options_.top        ? top_output(script_, std::cout, options_)
                                       : options_.json ? json_output(script_, std::cout)
                                                       : text_output(script_, std::cout, options_.folded)),
          processes_(shared), actions_(shared, processes_, *output_), prints_(engine::has_events(script_))
    {
        processes_.interrupted = [this] {
            print_events(false);
            return exit_ = exit_ || hear(Clock::now());
        };
        if (recorder_)
            recorder_->tells_ends = [this](const engine::Site& entry) { return processes_.tells_ends(entry); };
        if (kernel_)
            processes_.elsewhere = [this] { return kernel_->read(); };
    }

    Processes& processes() { return processes_; }

    int run()
    {
        all_of(Probe::Kind::begin);
        if (!exit_ || options_.has_target())
            processes_.take_up();
        start_ = Clock::now();
        say_armed();
        wait();
        processes_.end();
        if (kernel_ && !kernel_->finish()) {
            say("bpftrace was ended, and what it had counted is lost");
            kernel_lost_ = true;
        }
        print_events(true);
        shared_.attempt([&] { all_of(Probe::Kind::end); });
        output_->last();
        if (script_.prints_maps)
            print_all();
        if (recorder_)
            recorder_->finish(std::cout);
        const Summary last = summary();
        output_->summary(last);
        finish_output(options_.output);
        explain(last);
        processes_.finish();
        if (const auto status = actions_.status())
            return *status;
        if (options_.exit_status)
            if (const auto status = processes_.first().exit_status())
                return *status;
        return last.complete() && !kernel_lost_ && !(kernel_ && last.followed) && processes_.whole()
                && processes_.unmatched().empty() && (!recorder_ || recorder_->whole())
            ? complete
            : incomplete;
    }

private:
    // Somebody who looks on waits for that; what a script reads stays as it is.
    void say_armed()
    {
        if (!isatty(STDERR_FILENO) || !options_.has_target() || options_.top)
            return;
        const Summary now = summary();
        const bool ends = !options_.command.empty() || options_.duration;
        say(fmt::format("{} of {} site{} armed{}{}", now.armed, now.sites, now.sites == 1 ? "" : "s",
                        now.processes == 1 ? "" : fmt::format(" in {} processes", now.processes),
                        ends ? "" : "; Ctrl-C ends"));
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
            say(fmt::format("{} that fit{} a pattern {} not armed: {}", last.left_out, last.left_out == 1 ? "s" : "",
                            last.left_out == 1 ? "is" : "are", last.why_left_out()));
        if (const std::string cure = last.cure(); !cure.empty())
            say(cure);
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
        if (last.cut)
            say(fmt::format("{} stack{} cut: the outer frames are on a stack whose size is not known (a signal "
                            "handler's, a coroutine's, "
                            "the main thread's just after it grew){}",
                            last.cut, last.cut == 1 ? " was" : "s were",
                            engine::unwinds(script_) ? ", or the code there has no .eh_frame" : ""));
        if (kernel_ && last.followed)
            say("hits of forked children are counted where the user engine has the sites, and not by the kernel");
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
        if (MappedFile::was_shortened())
            say("a file became shorter while it was read: some of its sites may be missing");
        if (last.missed_more)
            say("so many processes came at once that the kernel could not tell of all: more may be missing");
        if (const auto missing = processes_.unmatched(); shared_.said_what_is_missing || processes_.empty())
            for (const Probe* probe : missing)
                say(fmt::format("nothing matched {}", probe->text));
        else
            shared_.say_what_is_missing(missing, processes_.first().session().matcher(), last, "matched", ": ");
    }

    Summary summary()
    {
        Summary all = processes_.summary();
        if (kernel_) {
            all.by_kernel = kernel_->sites();
            all.sites += all.by_kernel;
            all.armed += all.by_kernel;
        }
        return all;
    }

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
        auto check = start_ + verify_period;
        while (!exit_ && !processes_.all_over()) {
            auto next = until ? std::min(*until, processes_.next_look()) : processes_.next_look();
            for (const Timer& timer : timers)
                next = std::min(next, timer.next);
            if (prints_)
                next = std::min(next, next_events_);
            if (hear(next))
                return;
            if (Clock::now() >= next_events_)
                print_events(false);
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
                processes_.verify();
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
        std::vector<int> descriptors = {signals_.descriptor(), output_->keys(), kernel_ ? kernel_->descriptor() : -1};
        const size_t own = descriptors.size();
        processes_.descriptors(descriptors);
        const auto ready = wait_readable(descriptors, until);
        processes_.react(ready, own);
        if (ready[1] && !output_->take_key())
            return true;
        if (ready[2])
            kernel_->take();
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
        print_all();
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
    void print_all()
    {
        const engine::Maps maps = processes_.read();
        std::vector<size_t> order(script_.maps.size());
        std::iota(order.begin(), order.end(), 0);
        std::sort(order.begin(), order.end(),
                  [&](size_t a, size_t b) { return script_.maps[a].name < script_.maps[b].name; });
        for (size_t map : order)
            output_->map(map, maps.maps[map], shared_.names.names());
    }

    Shared& shared_;
    const Options& options_;
    const engine::Script& script_;
    Signals& signals_;
    Recorder* const recorder_;
    KernelPart* const kernel_; // has some of the sites
    const std::unique_ptr<Output> output_;
    Processes processes_;
    Actions actions_;
    const bool prints_; // at sites
    Clock::time_point start_ = Clock::now();
    Clock::time_point next_events_ = start_;
    std::chrono::milliseconds events_period_{};
    bool exit_ = false;
    bool asked_ = false; // by SIGUSR1, for the maps as they are, as with bpftrace
    bool ended_ = false; // by exit() in a probe
    bool kernel_lost_ = false;
};

Summary summary_of(const Session::Preview& preview)
{
    Summary summary;
    for (size_t i = 0; i < preview.states.size(); ++i)
        summary.count(preview.sites[i], preview.states[i], engine::can_be_armed(preview.states[i]));
    return summary;
}

// Probes of functions that fastprobe did not record, in a file that the process has: bpftrace can attach to them.
std::vector<const Probe*> only_for_kernel(const Session& session, pid_t pid)
{
    std::vector<const Probe*> found = session.matcher().unmatched();
    std::erase_if(found, [&](const Probe* p) { return p->kind == Probe::Kind::usdt || !has_function(*p, pid); });
    return found;
}

enum class Choice { user, kernel, both };

// For --engine auto: user where every site can be armed. Says which engine it takes, and why.
// @param options  for bpftrace: with the number of the process
Choice choose(const Session& session, const Session::Preview& preview, const KernelSites& sites, const Options& options,
              const engine::Script& script)
{
    const Summary summary = summary_of(preview);
    const auto others = only_for_kernel(session, options.pid);
    if (summary.complete() && others.empty()) {
        if (summary.sites)
            say(fmt::format("engine user: {} of {} sites can be armed", summary.armed, summary.sites));
        return Choice::user;
    }
    const bool both = others.empty() && adds_up(script) && !sites.empty();
    const std::string obstacle = kernel_obstacle(options, &script, !both || sites.has_exits());
    const std::string why = summary.complete()
        ? fmt::format("fastprobe has not recorded {}{}", others[0]->text,
                      options.moves || !engine::own_machine.moved_jump ? "" : ", and --no-move leaves it alone")
        : summary.text();
    const std::string cure = summary.cure();
    if (!obstacle.empty()) {
        say(fmt::format("engine user: {}; {}", why, obstacle));
        return Choice::user;
    }
    say(both ? fmt::format("engine user, and kernel where it cannot: {}; what the process forks is not counted there",
                           why)
             : fmt::format("engine kernel: {}; what the process forks is not counted", why));
    if (!cure.empty())
        say(cure);
    return both ? Choice::both : Choice::kernel;
}

// Runs bpftrace on the process. Empty: it could not attach, and the process is as it was.
std::optional<int> run_by_kernel(const Options& options, const engine::Script& script, Program& program,
                                 Signals& signals)
{
    const Descriptor process = open_process(program.pid());
    const auto status = run_beside(options, script, signals,
                                   {[&] { program.let_go(); }, [&](Signals::Signal s) { return program.stops(s); }});
    if (!status)
        return {};
    if (wait_readable({process.get()}, Clock::now())[0])
        program.reap();
    else
        program.finish(process.get());
    if (WIFSIGNALED(*status))
        give_up(fmt::format("bpftrace was killed by signal {}, and its report is lost", WTERMSIG(*status)));
    return options.exit_status && program.status() ? *program.status() : WEXITSTATUS(*status);
}

// --pid: without any match there is nothing to wait for.
void refuse_unmatched(const Session& session, const Options& options)
{
    const auto unmatched = session.matcher().unmatched();
    if (options.pid && session.matcher().matched().empty() && !unmatched.empty())
        give_up(fmt::format("process {}: nothing in it matches {}: {}", options.pid, unmatched[0]->text,
                            session.matcher().instead(*unmatched[0])));
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
    if (!options.one_process()) {
        if (options.dry)
            give_up("--dry-run shows one process: name it with --pid");
        Run run(shared, signals, records);
        run.processes().add_named();
        run.processes().add_others();
        return run.run();
    }
    auto owned =
        options.pid ? std::make_unique<Program>(options.pid) : std::make_unique<Program>(options.command, signals);
    Program& program = *owned;
    auto session = std::make_unique<Session>(script, program.pid(), program.target(), shared.session_options());
    for (const std::string& trouble : session->matcher().troubles())
        say(trouble);
    if (options.dry) {
        refuse_unmatched(*session, options);
        const Session::Preview preview = session->preview();
        print_preview(preview, session->probes(), options.json, std::cout);
        for (const Probe* probe : session->matcher().unmatched())
            say(fmt::format("nothing matches {}: {}", probe->text, session->matcher().instead(*probe)));
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
        return summary.complete() && session->matcher().unmatched().empty() ? complete : incomplete;
    }
    std::unique_ptr<KernelPart> kernel;
    if (options.engine == EngineChoice::automatic) {
        Options beside = options;
        beside.pid = program.pid();
        beside.command.clear();
        const Session::Preview preview = session->preview();
        const KernelSites sites(preview, script);
        Choice choice = choose(*session, preview, sites, beside, script);
        if (choice == Choice::both) {
            shared.kernel_may = false;
            try {
                kernel = std::make_unique<KernelPart>(beside, script, sites, signals);
            } catch (const Unusable& error) {
                say(fmt::format("engine kernel: {}", error.what()));
                choice = Choice::kernel;
            }
            if (kernel && kernel->attach()) {
                shared.elsewhere = [sites](const engine::Site& site) { return sites.has(site); };
                session = std::make_unique<Session>(script, program.pid(), program.target(), shared.session_options());
            } else if (kernel) {
                say("engine user: bpftrace ended before it had attached its probes");
                kernel.reset();
            }
        }
        if (choice == Choice::kernel) {
            std::vector<std::string> left_out;
            beside.text = without_unreadable(script, preview.sites, left_out);
            for (const std::string& probe : left_out)
                say(fmt::format("left out, since bpftrace cannot read its arguments: {}", probe));
            if (const auto status = run_by_kernel(beside, script, program, signals))
                return *status == complete && !left_out.empty() && !options.exit_status ? incomplete : *status;
            say("engine user: bpftrace ended before it had attached all probes");
            shared.kernel_may = false;
        }
    }
    if (!options.follows()) // a descendant may match
        refuse_unmatched(*session, options);
    Run run(shared, signals, records, kernel.get());
    run.processes().add(std::move(owned), std::move(session));
    run.processes().add_others();
    return run.run();
}

} // namespace fastsdt::trace_tool
