// SPDX-License-Identifier: BSD-2-Clause
// One run of the user-space engine: a process is held or attached to, armed, waited for and reported.
#include "base/unusable.h"
#include "hand_over.h"
#include "kernel.h"
#include "live/live.h"
#include "output.h"
#include "process.h"
#include "process/follow.h"
#include "process/launch.h"
#include "process/outside.h"
#include "run.h"
#include "say.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <numeric>
#include <set>
#include <sys/wait.h>
#include <utility>

namespace fastsdt::trace_tool {
namespace {

using engine::Probe;
using engine::Session;
using engine::State;
using engine::Statement;
using Clock = std::chrono::steady_clock;

constexpr auto match_period = std::chrono::milliseconds(100); ///< for modules that come and go
constexpr auto verify_period = std::chrono::seconds(1);       ///< for sites that have lost their jump

// The traced process: one that we start and hold until its sites are armed, or one that runs already.
class Program {
public:
    Program(const Options& options, const Signals& signals)
    {
        if (options.pid) {
            refuse_zombie(options.pid);
            pid_ = options.pid;
            target_ = engine::open_outside(pid_);
        } else {
            launched_.emplace(options.command, signals);
            pid_ = launched_->pid();
            held_ = std::make_unique<engine::Held>(*launched_);
        }
    }

    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    // Kills a program that is still held before ~Held() lets it go: a dry run must run nothing.
    ~Program()
    {
        if (launched_ && launched_->pid() > 0)
            kill(pid_, SIGKILL);
    }

    pid_t pid() const { return pid_; }
    engine::Target& target() { return held_ ? held_->target() : *target_; }
    bool ours() const { return launched_.has_value(); }
    void let_go()
    {
        if (held_)
            held_->let_go();
    }
    /// Instead of let_go(): lets the process run, but traces it until it executes another program, or until let_go().
    void await_next() { held_->await_next(); }
    bool awaits_next() const { return held_ && held_->awaits_next(); }
    int next_descriptor() const { return held_ ? held_->descriptor() : -1; }
    bool next(Clock::time_point deadline) { return held_->next(deadline); }
    /// A program that we started gets the first signal, and may end in its own way; only the second stops the tracing.
    bool stops(Signals::Signal signal)
    {
        const bool stop = !ours() || interrupted_;
        if (ours())
            launched_->pass_on(signal);
        interrupted_ = true;
        return stop;
    }
    /// Ends a program of ours that still runs, as bpftrace does.
    void finish(int process)
    {
        if (!launched_)
            return;
        kill(pid_, SIGTERM);
        wait_readable({process}, Clock::now() + std::chrono::seconds(1));
    }
    void reap(const std::string& name)
    {
        if (!launched_)
            return;
        const auto end = launched_->reap();
        if (WIFSIGNALED(end.wait_status))
            say(fmt::format("{} was killed by signal {}", name, WTERMSIG(end.wait_status)));
    }

private:
    pid_t pid_ = 0;
    std::optional<Launched> launched_;
    std::unique_ptr<engine::Held> held_;
    std::unique_ptr<engine::Target> target_;
    bool interrupted_ = false;
};

// Something that is due again and again.
struct Timer {
    std::chrono::milliseconds period{};
    Clock::time_point next;
    const engine::Clause* clause = nullptr; ///< nullptr: print all maps
};

class Run {
public:
    Run(const Options& options, const engine::Script& script, Program& program, std::unique_ptr<Session> session,
        Signals& signals, bool kernel_may)
        : options_(options), script_(script), program_(program), session_(std::move(session)), signals_(signals),
          kernel_may_(kernel_may), process_(open_process(program.pid())),
          output_(options.json ? json_output(script, std::cout) : text_output(script, std::cout))
    {}

    int run()
    {
        // The reader of the report may go away before its end; the sites are put back all the same. SIGPIPE is ignored
        // only after the program was forked, which would inherit that.
        std::signal(SIGPIPE, SIG_IGN);
        all_of(Probe::Kind::begin);
        take_up();
        wait();
        program_.let_go();
        if (!ended_ && !executed_)
            verify();
        if (!ended_ && !executed_)
            disarm();
        if (ended_ && !program_.ours())
            say(fmt::format("process {} ended after {:.1f} s", program_.pid(), seconds(Clock::now() - start_)));
        attempt([&] { all_of(Probe::Kind::end); });
        print_all();
        const Summary last = summary();
        output_->summary(last);
        std::cout.flush();
        if (!std::cout)
            give_up("standard output cannot be written");
        if (unread_) {
            const std::string& why = session_->no_system_calls();
            say(fmt::format(
                "{} hit{} not recorded: {} values in memory that only a system call can read safely, and {}{}", unread_,
                unread_ == 1 ? " was" : "s were", unread_ == 1 ? "it has" : "they have",
                why.empty() ? "a filter refused one" : why,
                options_.read_memory ? "" : "; --read-memory allows them in a program that sets none"));
        }
        if (said_what_is_missing_)
            for (const Probe* probe : session_->matcher().unmatched())
                say(fmt::format("nothing matched {}", probe->text));
        else
            say_what_is_missing("matched", ": ");
        if (ended_)
            program_.reap(options_.command.empty() ? std::string() : options_.command[0]);
        else
            program_.finish(process_.get());
        const bool whole = last.complete() && !executed_ && !stays_armed_ && !behind_ && !missed_
            && session_->matcher().unmatched().empty();
        return whole ? complete : incomplete;
    }

private:
    static double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

    // What is refused after the start is said once and tried again: counts that were made so far are not given up for it.
    // @return  whether it was done
    bool attempt(const std::function<void()>& work)
    {
        try {
            work();
            return true;
        } catch (const std::exception& error) { // Unusable, or no thread for the tracer
            if (!has_ended() && refusals_.insert(error.what()).second)
                say(fmt::format("{}; it is tried again", error.what()));
            return false;
        }
    }

    // Keeps what has become of the sites, and which of them were armed only some time after they could be hit. Those of
    // modules that the process waited for are not late.
    void keep(const std::vector<engine::SiteState>& seen, bool may_be_late = false)
    {
        waited_.resize(seen.size());
        late_.resize(seen.size());
        for (size_t i = 0; i < seen.size(); ++i) {
            const State state = seen[i].state;
            const bool fresh = i >= states_.size() || states_[i].state != State::armed;
            if (state == State::armed && (waited_[i] || ((behind_ || may_be_late) && fresh))) {
                late_[i] = true;
                covered_since_ = Clock::now();
            }
            // What is ready is about to be armed, and what is gone misses nothing.
            waited_[i] = state != State::armed && state != State::gone && state != State::ready;
        }
        states_ = seen;
    }

    // Arms the sites and lets the process go. A program of ours in which nothing matches may only execute another one,
    // as a script, env and nice do: it stays traced until then.
    void take_up()
    {
        session_->watch_loader();
        session_->arm();
        keep(session_->states());
        start_ = Clock::now();
        follow_.emplace(program_.pid());
        caught_up_ = false;
        if (program_.ours() && session_->matcher().probes().empty() && !session_->matcher().unmatched().empty()) {
            program_.await_next(); // what is missing is said when this program is known to stay
        } else {
            program_.let_go();
            if (!said_what_is_missing_)
                say_what_is_missing("matches", " so far: ");
        }
    }

    // The process has executed another program, which is held.
    void take_up_next()
    {
        try {
            auto next = std::make_unique<Session>(script_, program_.pid(), program_.target(), options_.read_memory);
            session_ = std::move(next);
            states_.clear();
            waited_.clear();
            late_.clear();
            take_up();
        } catch (const std::exception& error) {
            program_.let_go();
            if (!has_ended())
                say(fmt::format("the process has executed another program, and is not traced any more: {}",
                                error.what()));
            executed_ = exit_ = true;
            return;
        }
        if (!session_->sites().empty() && options_.engine == EngineChoice::automatic)
            say(fmt::format("engine user: {} of {} sites of the program that the process executed are armed",
                            summary().armed, summary().sites));
    }

    // Says which probes have no match, and names the bpftrace command if only the kernel may trace something.
    void say_what_is_missing(const char* matches, const char* so_far)
    {
        said_what_is_missing_ = true;
        bool kernel_may = kernel_may_ && !summary().complete();
        for (const Probe* probe : session_->matcher().unmatched()) {
            say(fmt::format("nothing {} {}{}{}", matches, probe->text, so_far, session_->matcher().instead(*probe)));
            kernel_may =
                kernel_may || (kernel_may_ && probe->kind != Probe::Kind::usdt); // bpftrace finds no other USDT probes
        }
        if (!kernel_may)
            return;
        if (const std::string why = untellable(options_, &script_); why.empty())
            say(fmt::format("bpftrace may do all of it, as root: {}", shell_line(kernel_command(options_, &script_))));
        else
            say(why);
    }

    void disarm()
    {
        try {
            session_->disarm();
            const auto& states = session_->states();
            const auto armed =
                std::count_if(states.begin(), states.end(), [](const auto& s) { return s.state == State::armed; });
            if (armed == 0)
                return;
            say(fmt::format("{} site{} armed, and nobody reads the counts: a thread keeps standing there", armed,
                            armed == 1 ? " stays" : "s stay"));
        } catch (const std::exception& error) {
            if (has_ended())
                return;
            if (follow_->news().executed) { // they are gone with the former program
                executed();
                return;
            }
            say(fmt::format("the sites stay armed, and nobody reads their counts: {}", error.what()));
        }
        stays_armed_ = true;
    }

    void executed()
    {
        say("the process has executed another program, and is not traced any more; name that program after --");
        executed_ = exit_ = true;
    }

    bool has_ended() { return ended_ = ended_ || wait_readable({process_.get()}, Clock::now())[0]; }

    // Looks at the sites; if the process ends meanwhile, the former states stay. A site that has lost its jump is armed
    // again: its module was unmapped and mapped at the same place, or a kernel's probe has come and gone.
    void verify()
    {
        attempt([&] {
            auto seen = session_->verify();
            const bool lost = std::any_of(seen.begin(), seen.end(),
                                          [](const engine::SiteState& s) { return s.state == State::ready; });
            if (lost || behind_) {
                match_and_arm();
                return;
            }
            if (!has_ended())
                keep(seen);
        });
    }

    // Where it throws, verify() tries again.
    // @param waits  the process: what has come has executed nothing yet
    void match_and_arm(bool waits = false)
    {
        const bool was_behind = std::exchange(behind_, true);
        session_->match_and_arm();
        behind_ = was_behind;
        if (!has_ended())
            keep(session_->states(), !waits);
        behind_ = false;
    }

    Summary summary() const
    {
        Summary summary;
        summary.dropped = dropped_;
        summary.unread = unread_;
        for (size_t i = 0; i < session_->sites().size(); ++i) {
            const engine::SiteState state = i < states_.size() ? states_[i] : engine::SiteState{};
            if (state.state == State::gone)
                continue;
            summary.count(state, state.state == State::armed);
            if (i < late_.size() && late_[i] && state.state == State::armed)
                ++summary.late;
        }
        if (summary.late)
            summary.late_seconds = seconds(covered_since_ - start_);
        return summary;
    }

    void wait()
    {
        const auto start = start_;
        std::vector<Timer> timers;
        if (options_.interval)
            timers.push_back({*options_.interval, start + *options_.interval, nullptr});
        for (const engine::Clause& clause : script_.clauses)
            for (const Probe& probe : clause.probes)
                if (probe.kind == Probe::Kind::interval) {
                    const std::chrono::milliseconds period(probe.interval_ms);
                    timers.push_back({period, start + period, &clause});
                }
        std::optional<Clock::time_point> until;
        if (options_.duration)
            until = start + *options_.duration;
        auto check = start + verify_period;
        for (auto match = start + match_period; !exit_;) {
            auto next = until ? std::min(*until, match) : match;
            for (const Timer& timer : timers)
                next = std::min(next, timer.next);
            const auto ready = wait_readable(
                {signals_.descriptor(), process_.get(), program_.next_descriptor(), session_->loader_descriptor()},
                next);
            if (ready[1]) {
                ended_ = true;
                return;
            }
            if (ready[0] && stopped_by_signal())
                return;
            if (ready[2] && holds_next({}))
                take_up_next();
            if (ready[3])
                loaded();
            const auto now = Clock::now();
            if (now >= match) {
                match = now + match_period;
                attempt([&] { news(); });
            }
            if (now >= check && !exit_) {
                check = now + verify_period;
                verify();
            }
            for (Timer& timer : timers)
                if (now >= timer.next && !exit_) {
                    timer.next = std::max(timer.next + timer.period, now);
                    attempt([&] { due(timer); });
                }
            if (until && now >= *until)
                return;
        }
    }

    bool stopped_by_signal()
    {
        bool stop = false;
        while (const auto signal = signals_.next())
            stop = program_.stops(*signal) || stop;
        return stop;
    }

    // Whether it has executed another program, which is held now.
    bool holds_next(Clock::time_point deadline)
    {
        bool held = false;
        attempt([&] { held = program_.next(deadline); });
        return held;
    }

    // The process waits, with modules whose constructors it has not called.
    void loaded()
    {
        const bool said = behind_; // a refusal, in which it may have waited in vain
        const bool waited = session_->answer_loader([&] { attempt([&] { news(true); }); });
        missed_ = missed_ || !waited;
        if (!waited && !said && !behind_)
            say("the process loaded libraries while this tool did not answer: hits of their constructors may be "
                "missing");
    }

    // @param waits  the process, until its sites are armed
    void news(bool waits = false)
    {
        const auto news = follow_->news();
        if (news.ended)
            return;
        attempt([&] {
            if (!news.executed && session_->look_for_filters())
                say(fmt::format("from now on no system call reads what a hit has in memory: {}",
                                session_->no_system_calls()));
        });
        if (news.executed) {
            // The traced thread comes to its stop, unless another thread of the process called exec.
            if (program_.awaits_next() && holds_next(Clock::now() + std::chrono::seconds(1)))
                return take_up_next();
            return executed();
        }
        if (!waits && !said_what_is_missing_ && program_.awaits_next())
            say_what_is_missing("matches", " so far: ");
        const bool awaited = program_.awaits_next(); // arming needs to trace it, and only one tracer can
        // Something may have come after the match and before the first look.
        const bool caught_up = std::exchange(caught_up_, true);
        if (!news.modules && (caught_up || awaited))
            return;
        if (awaited)
            program_.let_go();
        attempt([&] { match_and_arm(waits && caught_up); });
        if (awaited && session_->matcher().probes().empty())
            program_.await_next();
    }

    void due(const Timer& timer)
    {
        if (timer.clause) {
            perform(*timer.clause);
        } else {
            verify();
            print_all();
            output_->summary(summary());
        }
        std::cout.flush();
        if (!std::cout)
            exit_ = true;
    }

    void all_of(Probe::Kind kind)
    {
        for (const engine::Clause& clause : script_.clauses)
            for (const Probe& probe : clause.probes)
                if (probe.kind == kind)
                    perform(clause);
        std::cout.flush();
    }

    void perform(const engine::Clause& clause)
    {
        const Statement* shown = nullptr; // by the statement before
        for (const Statement& statement : clause.actions) {
            const Statement* const before = std::exchange(shown, nullptr);
            switch (statement.kind) {
            case Statement::Kind::print:
                print(statement);
                shown = &statement;
                break;
            case Statement::Kind::clear: session_->clear(statement.map, before && before->map == statement.map); break;
            case Statement::Kind::printf: output_->text(statement.text); break;
            case Statement::Kind::exit: exit_ = true; return;
            default: break; // of sites
            }
        }
    }

    engine::Maps read()
    {
        engine::Maps maps = session_->read();
        dropped_ = maps.dropped;
        unread_ = maps.unread;
        return maps;
    }

    void print(const Statement& statement)
    {
        const engine::Maps maps = read();
        output_->map(statement.map, maps.maps[statement.map], session_->matcher().probes(), statement.top,
                     statement.div);
    }

    // In the order of names: bpftrace has its maps in a std::map.
    void print_all()
    {
        const engine::Maps maps = read();
        std::vector<size_t> order(script_.maps.size());
        std::iota(order.begin(), order.end(), 0);
        std::sort(order.begin(), order.end(),
                  [&](size_t a, size_t b) { return script_.maps[a].name < script_.maps[b].name; });
        for (size_t map : order)
            output_->map(map, maps.maps[map], session_->matcher().probes());
    }

    const Options& options_;
    const engine::Script& script_;
    Program& program_;
    std::unique_ptr<Session> session_;
    std::optional<engine::Follow> follow_;
    Signals& signals_;
    const bool kernel_may_; ///< it has not been tried in vain
    const Descriptor process_;
    const std::unique_ptr<Output> output_;
    std::vector<engine::SiteState> states_; // when they were last seen
    uint64_t dropped_ = 0, unread_ = 0;
    std::vector<char> waited_, late_; // by site: see keep()
    Clock::time_point start_ = Clock::now(), covered_since_;
    std::set<std::string> refusals_; // that were said
    bool ended_ = false, executed_ = false, exit_ = false, said_what_is_missing_ = false;
    bool missed_ = false;      // libraries ran before they were armed
    bool caught_up_ = true;    // what came since the last match is looked for
    bool behind_ = false;      // arming was refused: modules that came may not be armed
    bool stays_armed_ = false; // a site could not be put back
};

Summary summary_of(const Session::Preview& preview)
{
    Summary summary;
    for (const engine::SiteState& state : preview.states)
        summary.count(state, engine::can_be_armed(state));
    return summary;
}

// Probes of functions that fastprobe did not record, in a file that the process has: bpftrace can attach to them.
std::vector<const Probe*> only_for_kernel(const Session& session, pid_t pid)
{
    std::vector<const Probe*> found = session.matcher().unmatched();
    std::erase_if(found, [&](const Probe* p) { return p->kind == Probe::Kind::usdt || !has_function(*p, pid); });
    return found;
}

// For --engine auto: true for the kernel. Takes user where every site can be armed. Says which engine it takes, and
// why.
// @param options  for bpftrace: with the number of the process
bool choose_kernel(const Session& session, const Session::Preview& preview, const Options& options,
                   const engine::Script& script)
{
    const Summary summary = summary_of(preview);
    const auto others = only_for_kernel(session, options.pid);
    if (summary.complete() && others.empty()) {
        if (summary.sites)
            say(fmt::format("engine user: {} of {} sites can be armed", summary.armed, summary.sites));
        return false;
    }
    const std::string obstacle = kernel_obstacle(options, &script);
    const std::string why =
        summary.complete() ? fmt::format("fastprobe has not recorded {}", others[0]->text) : summary.text();
    say(fmt::format("engine {}: {}{}", obstacle.empty() ? "kernel" : "user", why,
                    obstacle.empty() ? "" : "; " + obstacle));
    return obstacle.empty();
}

// Runs bpftrace on the process. Empty: it could not attach, and the process is as it was.
std::optional<int> run_by_kernel(const Options& options, const engine::Script& script, Program& program,
                                 Signals& signals, const std::string& name)
{
    const Descriptor process = open_process(program.pid());
    const auto status = run_beside(options, script, signals,
                                   {[&] { program.let_go(); }, [&](Signals::Signal s) { return program.stops(s); }});
    if (!status)
        return {};
    if (wait_readable({process.get()}, Clock::now())[0])
        program.reap(name);
    else
        program.finish(process.get());
    if (WIFSIGNALED(*status))
        give_up(fmt::format("bpftrace was killed by signal {}, and its report is lost", WTERMSIG(*status)));
    return WEXITSTATUS(*status);
}

// --pid: without any match there is nothing to wait for.
void refuse_unmatched(const Session& session, const Options& options)
{
    const auto unmatched = session.matcher().unmatched();
    if (options.pid && session.matcher().probes().empty() && !unmatched.empty())
        give_up(fmt::format("process {}: nothing in it matches {}: {}", options.pid, unmatched[0]->text,
                            session.matcher().instead(*unmatched[0])));
}

} // namespace

int run(const Options& options, const engine::Script& script)
{
    Signals signals;
    Program program(options, signals);
    auto session = std::make_unique<Session>(script, program.pid(), program.target(), options.read_memory);
    for (const std::string& trouble : session->matcher().troubles())
        say(trouble);
    if (options.dry) {
        refuse_unmatched(*session, options);
        const Session::Preview preview = session->preview();
        print_preview(preview, session->matcher().probes(), options.json, std::cout);
        for (const Probe* probe : session->matcher().unmatched())
            say(fmt::format("nothing matches {}: {}", probe->text, session->matcher().instead(*probe)));
        if (!session->no_system_calls().empty())
            say(fmt::format("no system call would read what a hit has in memory: {}", session->no_system_calls()));
        const Summary summary = summary_of(preview);
        if (options.json)
            json_output(script, std::cout)->summary(summary);
        else
            std::cout << fmt::format("{} of {} sites can be armed\n", summary.armed, summary.sites);
        return summary.complete() && session->matcher().unmatched().empty() ? complete : incomplete;
    }
    bool kernel_may = true;
    if (options.engine == EngineChoice::automatic) {
        Options beside = options;
        beside.pid = program.pid();
        beside.command.clear();
        const Session::Preview preview = session->preview();
        if (choose_kernel(*session, preview, beside, script)) {
            std::vector<std::string> left_out;
            beside.text = without_unreadable(script, preview.sites, left_out);
            for (const std::string& probe : left_out)
                say(fmt::format("left out, since bpftrace cannot read its arguments: {}", probe));
            const std::string name = options.command.empty() ? std::string() : options.command[0];
            if (const auto status = run_by_kernel(beside, script, program, signals, name))
                return *status == complete && !left_out.empty() ? incomplete : *status;
            say("engine user: bpftrace ended before it had attached all probes");
            kernel_may = false;
        }
    }
    refuse_unmatched(*session, options);
    return Run(options, script, program, std::move(session), signals, kernel_may).run();
}

} // namespace fastsdt::trace_tool
