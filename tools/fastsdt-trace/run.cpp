// SPDX-License-Identifier: BSD-2-Clause
// One run of the user-space engine: a process is held or attached to, armed, waited for and reported.
#include "run.h"
#include "follow.h"
#include "kernel.h"
#include "launch.h"
#include "live.h"
#include "output.h"
#include "outside.h"
#include "process.h"
#include "say.h"
#include "unusable.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iostream>
#include <memory>
#include <numeric>
#include <sys/wait.h>

namespace fastsdt::tracing {
namespace {

using engine::Probe;
using engine::Session;
using engine::State;
using engine::Statement;
using Clock = std::chrono::steady_clock;

constexpr auto look_period = std::chrono::milliseconds(100); ///< for modules that come and go
constexpr auto verify_period = std::chrono::seconds(1);      ///< for sites that have lost their jump

// The process: ours, held until its sites are armed, or one that runs.
class Traced {
public:
    Traced(const Options& options, const Signals& signals)
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

    Traced(const Traced&) = delete;
    Traced& operator=(const Traced&) = delete;
    // A program that is still held shall not run for the moment until its end: a dry run runs nothing.
    ~Traced()
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
    /// Instead: until another program is executed in its place, or let_go().
    void await_next() { held_->await_next(); }
    bool awaits_next() const { return held_ && held_->awaits_next(); }
    int next_descriptor() const { return held_ ? held_->descriptor() : -1; }
    bool next(Clock::time_point deadline) { return held_->next(deadline); }
    void pass_on(Signals::Signal signal) { launched_->pass_on(signal); }
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
};

// Something that is due again and again.
struct Timer {
    std::chrono::milliseconds period{};
    Clock::time_point next;
    const engine::Clause* clause = nullptr; ///< nullptr: print all maps
};

class Run {
public:
    Run(const Options& options, const engine::Script& script, Traced& traced, std::optional<Session>& session,
        Signals& signals)
        : options_(options), script_(script), traced_(traced), session_(session), signals_(signals),
          process_(open_process(traced.pid())),
          output_(options.json ? json_output(script, std::cout) : text_output(script, std::cout))
    {}

    int run()
    {
        // Who reads the report may leave before its end. The sites are put back all the same. Not before the program is forked,
        // which would inherit it.
        std::signal(SIGPIPE, SIG_IGN);
        all_of(Probe::Kind::begin);
        take_up();
        wait();
        traced_.let_go();
        if (!ended_ && !executed_)
            verify();
        if (!ended_)
            disarm();
        all_of(Probe::Kind::end);
        print_all();
        const Summary last = summary();
        output_->summary(last);
        std::cout.flush();
        if (!std::cout)
            give_up("standard output cannot be written");
        if (said_what_is_missing_)
            for (const Probe* probe : session_->matcher().unmatched())
                say(fmt::format("nothing matched {}", probe->text));
        else
            say_what_is_missing("matched", ": ");
        if (ended_)
            traced_.reap(options_.command.empty() ? std::string() : options_.command[0]);
        else
            traced_.finish(process_.get());
        return last.complete() && !executed_ && session_->matcher().unmatched().empty() ? complete : incomplete;
    }

private:
    // Arms and lets go. A program in which nothing matches may be there to execute another only: a script, env, nice.
    void take_up()
    {
        session_->arm();
        states_ = session_->states();
        follow_.emplace(traced_.pid());
        if (traced_.ours() && session_->matcher().probes().empty() && !session_->matcher().unmatched().empty()) {
            traced_.await_next(); // what is missing can wait until it is known to stay
        } else {
            traced_.let_go();
            if (!said_what_is_missing_)
                say_what_is_missing("matches", " so far: ");
        }
    }

    // It has executed another program, which is held.
    void take_up_next()
    {
        session_.emplace(script_, traced_.pid(), traced_.target());
        take_up();
        if (!session_->sites().empty() && options_.engine == EngineChoice::automatic)
            say(fmt::format("engine user: {} of {} sites of the program that the process executed are armed",
                            summary().armed, summary().sites));
    }

    // What has no match, and for what only the kernel can trace the command that does.
    void say_what_is_missing(const char* matches, const char* so_far)
    {
        said_what_is_missing_ = true;
        bool kernel_may = !summary().complete();
        for (const Probe* probe : session_->matcher().unmatched()) {
            say(fmt::format("nothing {} {}{}{}", matches, probe->text, so_far, session_->matcher().instead(*probe)));
            kernel_may = kernel_may || probe->kind != Probe::Kind::usdt; // probes are the same for bpftrace
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
        } catch (const Unusable& error) {
            if (!has_ended())
                say(fmt::format("the sites stay armed and count for nobody: {}", error.what()));
        }
    }

    bool has_ended() { return ended_ = ended_ || wait_readable({process_.get()}, Clock::now())[0]; }

    // What is known of a process that ends meanwhile is what was seen before. A site that has lost its jump is armed again: its
    // module was unmapped and mapped at the same place, or a kernel's probe has come and gone.
    void verify()
    {
        try {
            auto seen = session_->verify();
            const bool lost = std::any_of(seen.begin(), seen.end(),
                                          [](const engine::SiteState& s) { return s.state == State::ready; });
            if (lost) {
                session_->look_again();
                seen = session_->states();
            }
            if (!has_ended())
                states_ = seen;
        } catch (const Unusable&) {
            if (!has_ended())
                throw;
        }
    }

    Summary summary() const
    {
        Summary summary;
        summary.dropped = dropped_;
        const auto& sites = session_->sites();
        for (size_t i = 0; i < sites.size() && i < states_.size(); ++i) {
            if (states_[i].state == State::gone)
                continue;
            ++summary.sites;
            if (states_[i].state == State::armed)
                ++summary.armed;
            else
                ++summary.reasons[reason(sites[i], states_[i])];
        }
        return summary;
    }

    void wait()
    {
        const auto start = Clock::now();
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
        for (auto look = start + look_period; !exit_;) {
            auto next = until ? std::min(*until, look) : look;
            for (const Timer& timer : timers)
                next = std::min(next, timer.next);
            const auto ready = wait_readable({signals_.descriptor(), process_.get(), traced_.next_descriptor()}, next);
            if (ready[1]) {
                ended_ = true;
                return;
            }
            if (ready[0] && stopped_by_signal())
                return;
            if (ready[2] && traced_.next({}))
                take_up_next();
            const auto now = Clock::now();
            if (now >= look) {
                look = now + look_period;
                news();
            }
            if (now >= check && !exit_) {
                check = now + verify_period;
                verify();
            }
            for (Timer& timer : timers)
                if (now >= timer.next && !exit_) {
                    timer.next = std::max(timer.next + timer.period, now);
                    due(timer);
                }
            if (until && now >= *until)
                return;
        }
    }

    // A program of ours gets the first one, and may end in its own way.
    bool stopped_by_signal()
    {
        bool stop = false;
        while (const auto signal = signals_.next()) {
            stop = stop || !traced_.ours() || interrupted_;
            if (traced_.ours())
                traced_.pass_on(*signal);
            interrupted_ = true;
        }
        return stop;
    }

    void news()
    {
        const auto news = follow_->look();
        if (news.ended)
            return;
        if (news.executed) {
            // It comes to its stop, unless it was another of its threads that executed.
            if (traced_.awaits_next() && traced_.next(Clock::now() + std::chrono::seconds(1)))
                return take_up_next();
            say("the process has executed another program, and is not traced any more; name that program after --");
            executed_ = exit_ = true;
            return;
        }
        if (!said_what_is_missing_ && traced_.awaits_next())
            say_what_is_missing("matches", " so far: ");
        if (!news.modules)
            return;
        const bool awaited = traced_.awaits_next(); // only one can trace it, and arming wants to
        if (awaited)
            traced_.let_go();
        try {
            session_->look_again();
            states_ = session_->states();
        } catch (const Unusable&) {
            if (!has_ended())
                throw;
        }
        if (awaited && session_->matcher().probes().empty())
            traced_.await_next();
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
        for (const Statement& statement : clause.actions) {
            switch (statement.kind) {
            case Statement::Kind::print: print(statement); break;
            case Statement::Kind::clear: session_->clear(statement.map); break;
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
        return maps;
    }

    void print(const Statement& statement)
    {
        const engine::Maps maps = read();
        output_->map(statement.map, maps.maps[statement.map], session_->matcher().probes(), statement.top,
                     statement.div);
    }

    // By name, as bpftrace has them in a std::map.
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
    Traced& traced_;
    std::optional<Session>& session_;
    std::optional<engine::Follow> follow_;
    Signals& signals_;
    const Descriptor process_;
    const std::unique_ptr<Output> output_;
    std::vector<engine::SiteState> states_; // when they were last seen
    uint64_t dropped_ = 0;
    bool ended_ = false, executed_ = false, exit_ = false, interrupted_ = false, said_what_is_missing_ = false;
};

Summary summary_of(const Session::Preview& preview)
{
    Summary summary;
    summary.sites = preview.sites.size();
    for (size_t i = 0; i < preview.sites.size(); ++i) {
        const State state = preview.states[i].state;
        if (state == State::ready || state == State::left_over)
            ++summary.armed;
        else
            ++summary.reasons[reason(preview.sites[i], preview.states[i])];
    }
    return summary;
}

// --engine auto: user where every site can be armed. Says which it is, and why.
bool choose_kernel(const Session::Preview& preview, const Options& options, const engine::Script& script)
{
    const Summary summary = summary_of(preview);
    if (summary.complete()) {
        if (summary.sites)
            say(fmt::format("engine user: {} of {} sites can be armed", summary.armed, summary.sites));
        return false;
    }
    const std::string obstacle = kernel_obstacle(options, &script);
    say(fmt::format("engine {}: {}{}", obstacle.empty() ? "kernel" : "user", summary.text(),
                    obstacle.empty() ? "" : "; " + obstacle));
    return obstacle.empty();
}

} // namespace

int run(const Options& options, const engine::Script& script)
{
    Signals signals;
    std::optional<Traced> traced;
    traced.emplace(options, signals);
    std::optional<Session> session;
    session.emplace(script, traced->pid(), traced->target());
    for (const std::string& trouble : session->matcher().troubles())
        say(trouble);
    if (const auto unmatched = session->matcher().unmatched();
        options.pid && session->matcher().probes().empty() && !unmatched.empty())
        give_up(fmt::format("process {}: nothing in it matches {}: {}", options.pid, unmatched[0]->text,
                            session->matcher().instead(*unmatched[0])));
    const bool choosing = options.engine == EngineChoice::automatic;
    if (options.dry || choosing) {
        const Session::Preview preview = session->preview();
        if (options.dry) {
            print_preview(preview, session->matcher().probes(), options.json, std::cout);
            for (const Probe* probe : session->matcher().unmatched())
                say(fmt::format("nothing matches {}: {}", probe->text, session->matcher().instead(*probe)));
            const Summary summary = summary_of(preview);
            if (options.json)
                json_output(script, std::cout)->summary(summary);
            else
                std::cout << fmt::format("{} of {} sites can be armed\n", summary.armed, summary.sites);
            return summary.complete() && session->matcher().unmatched().empty() ? complete : incomplete;
        }
        if (choose_kernel(preview, options, script)) {
            session.reset();
            traced.reset(); // has not executed anything of its own yet
            run_kernel(options, &script);
        }
    }
    return Run(options, script, *traced, session, signals).run();
}

} // namespace fastsdt::tracing
