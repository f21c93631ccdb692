// SPDX-License-Identifier: BSD-2-Clause
// One run of the user-space engine: processes are held or attached to, armed, waited for and reported.
#include "arming/arena.h"
#include "attached.h"
#include "base/unusable.h"
#include "finder.h"
#include "hand_over.h"
#include "kernel.h"
#include "live/live.h"
#include "output.h"
#include "process/outside.h"
#include "process/ptrace.h"
#include "process.h"
#include "program.h"
#include "run.h"
#include "say.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <iostream>
#include <ctime>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <sys/resource.h>
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

constexpr auto look_period = std::chrono::milliseconds(100); ///< for modules and processes that come and go
constexpr auto verify_period = std::chrono::seconds(1);      ///< for sites that have lost their jump
constexpr auto busy_period = std::chrono::seconds(10); ///< for processes that another tracer has: a try takes seconds

// Something that is due again and again.
struct Timer {
    std::chrono::milliseconds period{};
    Clock::time_point next;
    const engine::Clause* clause = nullptr; ///< nullptr: print all maps
};

// Several descriptors for each process.
void allow_many_files()
{
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

class Run {
public:
    Run(Shared& shared, Signals& signals)
        : shared_(shared), options_(shared.options), script_(shared.script), signals_(signals),
          output_(options_.json ? json_output(script_, std::cout) : text_output(script_, std::cout)),
          finder_(options_.selection, script_), finds_(options_.follows() || !options_.selection.empty())
    {
        allow_many_files(); // not before a COMMAND was started, which would inherit that
    }

    /// A process that is traced from the start on.
    void add(std::unique_ptr<Program> program, std::unique_ptr<Session> session)
    {
        if (options_.follows())
            finder_.add_root(program->pid());
        attached_.push_back(std::make_unique<Attached>(shared_, std::move(program), std::move(session)));
    }

    /// Those that the options name.
    void add_named()
    {
        for (const pid_t pid : options_.pids)
            attach(pid, true);
    }
    /// Those that the options select, and descendants of those that are followed, as far as they run now.
    void add_others()
    {
        if (finds_ && options_.command.empty())
            find(true);
    }

    int run()
    {
        // The reader of the report may go away before its end; the sites are put back all the same. SIGPIPE is ignored
        // only after the program was forked, which would inherit that.
        std::signal(SIGPIPE, SIG_IGN);
        all_of(Probe::Kind::begin);
        take_up();
        start_ = Clock::now();
        wait();
        for (const auto& process : attached_)
            process->end();
        std::vector<Session*> sessions;
        for (const auto& process : attached_)
            sessions.push_back(&process->session());
        clear_forks(sessions);
        shared_.attempt([&] { all_of(Probe::Kind::end); });
        print_all();
        const Summary last = summary();
        output_->summary(last);
        std::cout.flush();
        if (!std::cout)
            give_up("standard output cannot be written");
        explain(last);
        const bool all_whole =
            std::all_of(attached_.begin(), attached_.end(), [](const auto& process) { return process->whole(); });
        for (const auto& process : attached_)
            process->finish();
        return last.complete() && all_whole && !gone_.not_whole && unmatched().empty() ? complete : incomplete;
    }

private:
    void take_up()
    {
        if (options_.one_process())
            attached_.at(0)->take_up();
        shared_.said_what_is_missing = shared_.said_what_is_missing || !options_.one_process();
        for (size_t i = options_.one_process() ? 1 : 0; i < attached_.size();) {
            Attached& process = *attached_[i];
            try {
                process.take_up();
                ++i;
            } catch (const std::exception& error) {
                refuse(process.pid(), error);
                attached_.erase(attached_.begin() + static_cast<ptrdiff_t>(i));
            }
        }
        if (options_.one_process())
            return;
        if (attached_.empty() && options_.selection.empty())
            give_up("none of the processes can be traced");
        if (attached_.empty())
            say("no process is traced so far: none that was asked for has mapped a file of the script");
        for (const Probe* probe : unmatched())
            if (!attached_.empty())
                say(fmt::format("nothing matches {} so far", probe->text));
    }

    // Sentences on what a report cannot have.
    void explain(const Summary& last)
    {
        if (last.unread) {
            const std::string why = no_system_calls();
            say(fmt::format(
                "{} hit{} not recorded: {} values in memory that only a system call can read safely, and {}{}",
                last.unread, last.unread == 1 ? " was" : "s were", last.unread == 1 ? "it has" : "they have",
                why.empty() ? "a filter refused one" : why,
                options_.read_memory ? "" : "; --read-memory allows them in a program that sets none"));
        }
        if (last.forked)
            say(fmt::format("{} hit{} of forked children {} not counted; --follow counts them", last.forked,
                            last.forked == 1 ? "" : "s", last.forked == 1 ? "was" : "were"));
        if (last.found)
            say(fmt::format("{} process{} found after {} had begun: hits of the first {:.2f} s are missing, or less",
                            last.found, last.found == 1 ? " was" : "es were", last.found == 1 ? "it" : "they",
                            last.found_seconds));
        if (const auto missing = unmatched(); shared_.said_what_is_missing || attached_.empty())
            for (const Probe* probe : missing)
                say(fmt::format("nothing matched {}", probe->text));
        else
            shared_.say_what_is_missing(missing, attached_[0]->session().matcher(), last, "matched", ": ");
    }

    // Why system calls are not made, of some process.
    std::string no_system_calls() const
    {
        for (const auto& process : attached_)
            if (!process->session().no_system_calls().empty())
                return process->session().no_system_calls();
        return gone_.no_system_calls;
    }

    // Probes that nothing has matched, in no process.
    std::vector<const Probe*> unmatched() const
    {
        std::vector<const Probe*> found = engine::probes_with_sites(script_);
        const auto leave_out = [&](const std::set<const Probe*>& matched) {
            std::erase_if(found, [&](const Probe* probe) { return matched.contains(probe); });
        };
        leave_out(gone_.matched);
        for (const auto& process : attached_)
            leave_out(process->session().matcher().matched());
        return found;
    }

    Summary summary() const
    {
        Summary summary = gone_.summary;
        for (const auto& process : attached_)
            process->count(summary);
        summary.dropped = seen_.dropped;
        summary.unread = seen_.unread;
        summary.forked = seen_.forked;
        summary.followed = seen_.processes;
        summary.refused = refused_.size();
        return summary;
    }

    void wait()
    {
        std::vector<Timer> timers;
        if (options_.interval)
            timers.push_back({*options_.interval, start_ + *options_.interval, nullptr});
        for (const engine::Clause& clause : script_.clauses)
            for (const Probe& probe : clause.probes)
                if (probe.kind == Probe::Kind::interval) {
                    const std::chrono::milliseconds period(probe.interval_ms);
                    timers.push_back({period, start_ + period, &clause});
                }
        std::optional<Clock::time_point> until;
        if (options_.duration)
            until = start_ + *options_.duration;
        auto check = start_ + verify_period;
        for (auto look = start_ + look_period; !exit_ && !all_over();) {
            auto next = until ? std::min(*until, look) : look;
            for (const Timer& timer : timers)
                next = std::min(next, timer.next);
            if (hear(next))
                return;
            if (all_over() && finds_) // its children may execute what the script means
                look_at_all();
            if (all_over())
                return;
            const auto now = Clock::now();
            if (now >= look) {
                look_at_all();
                // With many processes it takes long. It shall not take more than a tenth of the time.
                look = std::max(now + look_period, now + 10 * (Clock::now() - now - attaching_));
            }
            if (now >= check && !exit_) {
                check = now + verify_period;
                for (const auto& process : attached_)
                    process->verify();
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
        std::vector<int> descriptors = {signals_.descriptor()};
        for (const auto& process : attached_)
            for (const int descriptor : process->descriptors())
                descriptors.push_back(descriptor);
        const auto ready = wait_readable(descriptors, until);
        for (size_t i = 0; i < attached_.size(); ++i) {
            Attached& process = *attached_[i];
            const auto is_ready = [&](size_t which) { return ready[1 + i * 3 + which]; };
            if (is_ready(0))
                process.process_ended();
            if (is_ready(1) && !process.over())
                process.next_held();
            if (is_ready(2) && !process.over())
                process.loaded();
        }
        return ready[0] && !all_over() && stopped_by_signal();
    }

    bool stopped_by_signal()
    {
        bool stop = false;
        while (const auto signal = signals_.next()) {
            stop = options_.command.empty() || attached_.at(0)->stops(*signal) || stop;
        }
        return stop;
    }

    // Where others may be found, only a signal or the time ends the run.
    bool all_over() const
    {
        return options_.selection.empty()
            && std::all_of(attached_.begin(), attached_.end(), [](const auto& process) { return process->over(); });
    }

    void look_at_all()
    {
        for (const auto& process : attached_)
            process->look();
        if (!finds_)
            return;
        shared_.attempt([&] { find(false); });
        // What they recorded is kept, but for the first: it is told of when nothing else matched.
        for (size_t i = attached_.size(); i-- > 1;)
            if (attached_[i]->over())
                forget(i);
    }

    // Jumps in forked children lead to stubs that nobody reads, or that do nothing.
    void clear_forks(const std::vector<Session*>& sessions)
    {
        const auto clear = [&] {
            for (const std::string& trouble : Session::clear_forks(sessions)) {
                say(fmt::format("sites stay armed in a forked child: {}", trouble));
                gone_.not_whole = true;
            }
        };
        if (!shared_.attempt(clear, "; sites may stay armed in forked children"))
            gone_.not_whole = true;
    }

    void forget(size_t index)
    {
        Attached& process = *attached_[index];
        process.end();
        clear_forks({&process.session()});
        engine::merge(script_, gone_.maps, process.session().read());
        engine::drop_beyond(script_, gone_.maps, engine::most_ended_keys);
        process.count(gone_.summary);
        gone_.not_whole = gone_.not_whole || !process.whole();
        if (gone_.no_system_calls.empty())
            gone_.no_system_calls = process.session().no_system_calls();
        gone_.matched.merge(std::set(process.session().matcher().matched()));
        attached_.erase(attached_.begin() + static_cast<ptrdiff_t>(index));
    }

    // Attaches to what has come. @param first  the run has not begun yet
    void find(bool first)
    {
        std::set<pid_t> traced;
        for (const auto& process : attached_)
            if (process->has_process())
                traced.insert(process->pid());
            else if (process->take_executed())
                finder_.forget(process->pid());
        const auto begin = Clock::now();
        for (auto& [process, refused] : refused_)
            if (refused.busy && begin - refused.tried >= busy_period)
                finder_.forget(process.first);
        const std::vector<pid_t> found = finder_.find(traced);
        const auto found_at = Clock::now();
        for (const pid_t pid : found) {
            attach(pid, first);
            exit_ = exit_ || (!first && hear(Clock::now())); // others may wait meanwhile
            if (exit_)
                break;
        }
        attaching_ = Clock::now() - found_at;
        last_look_ = begin;
        for (const Finder::Refused& refused : finder_.take_refused())
            refuse(refused.pid, Unusable(refused.why));
    }

    void attach(pid_t pid, bool first)
    {
        try {
            if (is_recorded(pid))
                return;
            auto program = std::make_unique<Program>(pid);
            auto session = std::make_unique<Session>(script_, pid, program->target(), shared_.session_options());
            if (session->matcher().matched().empty()) {
                if (const auto missing = session->matcher().unmatched(); options_.names(pid) && !missing.empty())
                    throw Unusable(fmt::format("process {}: nothing in it matches {}: {}", pid, missing[0]->text,
                                               session->matcher().instead(*missing[0])));
                return;
            }
            add(std::move(program), std::move(session));
            if (!first)
                take_up_late();
        } catch (const std::exception& error) {
            if (options_.names(pid) || may_match(pid))
                refuse(pid, error);
        }
    }

    // For a process that cannot be traced: whether that is a loss.
    bool may_match(pid_t pid) const
    {
        try {
            engine::ProbeNames names;
            engine::Matcher matcher(script_, pid, names);
            matcher.find_new();
            return !matcher.matched().empty();
        } catch (const std::exception&) {
            return true;
        }
    }

    // Whether a forked child has loaded something that matches.
    bool has_more(pid_t pid, engine::Target& memory, pid_t parent) const
    {
        if (engine::modules_of(memory.mappings()) == engine::modules_of(engine::mappings_of(parent)))
            return false;
        engine::ProbeNames names;
        engine::Matcher matcher(script_, pid, names);
        const auto states = engine::can_arm(memory, matcher.find_new());
        return std::any_of(states.begin(), states.end(), engine::can_be_armed);
    }

    // Whether a process was forked by a traced one, and its hits count there. Where only some would, the jumps that it has are taken
    // from it.
    bool is_recorded(pid_t pid) const
    {
        const auto memory = engine::open_forked(pid);
        if (!engine::has_own_arena(*memory))
            return false;
        for (const auto& process : attached_) {
            const engine::Copy copy = process->session().copy_in(*memory);
            if (copy == engine::Copy::same || (copy == engine::Copy::whole && !has_more(pid, *memory, process->pid())))
                return true;
        }
        engine::clear_forked(*memory);
        return false;
    }

    // The last one added, after the run has begun.
    void take_up_late()
    {
        Attached& process = *attached_.back();
        const auto stat = read_stat(std::to_string(process.pid()));
        try {
            process.take_up();
        } catch (...) {
            clear_forks({&process.session()});
            attached_.pop_back();
            throw;
        }
        const Clock::time_point since = stat ? missing_since(*stat) : last_look_;
        const auto refused = refused_.extract({process.pid(), stat ? stat->start : 0});
        const auto time = Clock::now() - (refused ? refused.mapped().missing_since : since);
        ++gone_.summary.found;
        gone_.summary.found_seconds =
            std::max(gone_.summary.found_seconds, std::chrono::duration<double>(time).count());
    }

    // Since when a process has not been traced that was found just now: not longer than since the last look, nor than it lives.
    Clock::time_point missing_since(const Stat& stat) const
    {
        timespec now{};
        clock_gettime(CLOCK_BOOTTIME, &now);
        const double lives = static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9
            - static_cast<double>(stat.start) / static_cast<double>(sysconf(_SC_CLK_TCK));
        const auto began =
            Clock::now() - std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(lives));
        return std::max(began, last_look_);
    }

    // One that has ended is no loss, unless it was asked for by its number.
    void refuse(pid_t pid, const std::exception& error)
    {
        const auto stat = read_stat(std::to_string(pid));
        if (!options_.names(pid) && engine::start_time_of(std::to_string(pid)) == 0)
            return;
        Refused& refused = refused_[{pid, stat ? stat->start : 0}];
        if (refused.tried == Clock::time_point())
            refused.missing_since = stat ? missing_since(*stat) : Clock::now();
        refused.tried = Clock::now();
        refused.busy = dynamic_cast<const engine::Busy*>(&error);
        if (shared_.refusals.insert(error.what()).second)
            say(fmt::format("{}; it is not traced", error.what()));
    }

    void due(const Timer& timer)
    {
        if (timer.clause) {
            perform(*timer.clause);
        } else {
            for (const auto& process : attached_)
                process->verify();
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
            case Statement::Kind::clear:
                for (const auto& process : attached_)
                    process->session().clear(statement.map, before && before->map == statement.map);
                if (!gone_.maps.maps.empty())
                    gone_.maps.maps[statement.map].clear();
                break;
            case Statement::Kind::printf: output_->text(statement.text); break;
            case Statement::Kind::exit: exit_ = true; return;
            default: break; // of sites
            }
        }
    }

    engine::Maps read()
    {
        engine::Maps maps;
        for (const auto& process : attached_)
            engine::merge(script_, maps, process->session().read());
        engine::merge(script_, maps, gone_.maps); // at last: what living ones assigned is newer
        seen_ = maps;
        seen_.maps.clear();
        return maps;
    }

    void print(const Statement& statement)
    {
        const engine::Maps maps = read();
        output_->map(statement.map, maps.maps[statement.map], shared_.names.names(), statement.top, statement.div);
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
            output_->map(map, maps.maps[map], shared_.names.names());
    }

    Shared& shared_;
    const Options& options_;
    const engine::Script& script_;
    Signals& signals_;
    const std::unique_ptr<Output> output_;
    std::vector<std::unique_ptr<Attached>> attached_;
    Finder finder_;
    const bool finds_;
    Clock::time_point start_ = Clock::now(), last_look_ = Clock::now();
    Clock::duration attaching_{}; // of the last look
    engine::Maps seen_;           // by the last read(): its counters, no maps
    bool exit_ = false;
    struct Refused {
        Clock::time_point missing_since, tried;
        bool busy = false; ///< it may not be for long
    };
    std::map<std::pair<pid_t, uint64_t>, Refused> refused_; // by process and its start
    /// What is left of processes that are over.
    struct {
        engine::Maps maps;
        Summary summary;
        std::set<const Probe*> matched;
        std::string no_system_calls;
        bool not_whole = false;
    } gone_;
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
                    obstacle.empty() ? "; what the process forks is not counted" : "; " + obstacle));
    return obstacle.empty();
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
    return WEXITSTATUS(*status);
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
    Shared shared{.options = options, .script = script, .kernel_may = options.one_process()};
    if (!options.one_process()) {
        if (options.dry)
            give_up("--dry-run shows one process: name it with --pid");
        Run run(shared, signals);
        run.add_named();
        run.add_others();
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
        const Summary summary = summary_of(preview);
        if (options.json)
            json_output(script, std::cout)->summary(summary);
        else
            std::cout << fmt::format("{} of {} sites can be armed\n", summary.armed, summary.sites);
        return summary.complete() && session->matcher().unmatched().empty() ? complete : incomplete;
    }
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
            if (const auto status = run_by_kernel(beside, script, program, signals))
                return *status == complete && !left_out.empty() ? incomplete : *status;
            say("engine user: bpftrace ended before it had attached all probes");
            shared.kernel_may = false;
        }
    }
    if (!options.follows()) // a descendant may match
        refuse_unmatched(*session, options);
    Run run(shared, signals);
    run.add(std::move(owned), std::move(session));
    run.add_others();
    return run.run();
}

} // namespace fastsdt::trace_tool
