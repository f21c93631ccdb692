// SPDX-License-Identifier: BSD-2-Clause
#include "processes.h"

#include "arming/arena.h"
#include "base/nearest.h"
#include "base/unusable.h"
#include "proc/memory.h"
#include "proc/threads.h"
#include "proc/processes.h"
#include "movable/movable.h"
#include "process.h"
#include "process/known_function.h"
#include "process/outside.h"
#include "process/ptrace.h"
#include "process/signals_blocked.h"
#include "say.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <exception>
#include <future>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace fastsdt::trace_tool {

using engine::Probe;
using engine::Session;

namespace {

constexpr auto look_period = std::chrono::milliseconds(100); ///< for modules and processes that come and go
constexpr auto hear_period = std::chrono::milliseconds(10);  ///< while others work
constexpr auto told_period = std::chrono::seconds(10);       ///< for processes that the kernel tells of
constexpr auto busy_period = std::chrono::seconds(10); ///< for processes that another tracer has: a try takes seconds

// Several descriptors for each process.
void allow_many_files()
{
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

// The kernel sends one for each stop of a traced thread, and a process that is armed stops some hundred times. The thread that traces
// has all signals blocked, so each would wake this one, which has nothing to do with it.
void hear_no_child_signals()
{
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &child, nullptr);
}

// Of a thread that has a session's stubs and calls itself so: its process's number here, and its own. Zeros: there is none, or it is
// another than the first of a process in another pid namespace.
std::pair<pid_t, pid_t> known_as(pid_t number, Session& session)
{
    const auto has_stubs = [&](pid_t pid) {
        try {
            return session.copy_in(*engine::open_forked(pid)) != engine::Copy::none;
        } catch (const Unusable&) {
            return false;
        }
    };
    const auto is_called = [number](pid_t task) { return inner_number(task) == static_cast<uint64_t>(number); };
    if (const auto group = status_numbers(number, number, "Tgid:");
        !group.empty() && is_called(number) && has_stubs(static_cast<pid_t>(group[0])))
        return {static_cast<pid_t>(group[0]), number};
    for (const pid_t pid : listed_processes())
        if (is_called(pid) && has_stubs(pid))
            return {pid, pid};
    return {0, 0};
}

// Of names that no process has: the one that was meant, perhaps.
std::string near_comm(const Selection& selection)
{
    for (const std::string& comm : selection.of(Way::comm)) {
        NearestPattern nearest(comm);
        for (const pid_t pid : listed_processes())
            if (const auto stat = read_stat(std::to_string(pid)))
                nearest.look(stat->name);
        if (!nearest.word().empty())
            return did_you_mean(nearest);
    }
    return {};
}

} // namespace

Processes::Processes(Shared& shared)
    : shared_(shared), options_(shared.options), script_(shared.script),
      finds_((options_.follows() && options_.has_target()) || !options_.selection.empty()),
      finder_(options_.selection, script_, finds_), executed_event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      given_(shared.script)
{
    allow_many_files(); // not before a COMMAND was started, which would inherit both
    hear_no_child_signals();
}

void Processes::add(std::unique_ptr<Program> program, std::unique_ptr<Session> session)
{
    if (options_.follows())
        finder_.add_root(program->pid());
    finder_.settle(program->pid());
    for (const auto& [map, value] : assigned_)
        session->assign(map, value);
    if (shared_.profile)
        shared_.profile->open(program->pid());
    attached_.push_back(std::make_unique<Attached>(shared_, std::move(program), std::move(session)));
}

void Processes::add_named()
{
    for (const pid_t pid : options_.pids)
        attach(pid, When::at_first);
}

void Processes::add_others()
{
    if (finds_ && options_.command.empty())
        find(true);
}

void Processes::descriptors(std::vector<int>& to) const
{
    to.push_back(finder_.descriptor());
    to.push_back(executed_event_.get());
    for (const auto& process : attached_)
        for (const int descriptor : process->descriptors())
            to.push_back(descriptor);
}

void Processes::react(const std::vector<bool>& ready, size_t first)
{
    if (ready[first])
        hear();
    const size_t known = attached_.size(); // take_executed() adds to them
    for (size_t i = 0; i < known; ++i) {
        Attached& process = *attached_[i];
        const auto is_ready = [&](size_t which) { return ready[first + 2 + i * 3 + which]; };
        if (is_ready(0))
            process.process_ended();
        if (is_ready(1) && !process.over())
            process.next_held();
        if (is_ready(2) && !process.over()) {
            process.loaded(is_executing(process.pid())); // first: who executes another program is looked at in vain
            let_executing(process);
        }
    }
    if (ready[first + 1])
        take_executed();
}

// Who is about to execute another program goes on when it is traced, or at once if that cannot be.
void Processes::let_executing(Attached& process)
{
    Session& session = process.session();
    process.look_for_unanswered(); // first: from then on they wait again
    for (const engine::Target::Asker& asker : session.executing()) {
        const auto let = [&] { session.let_execute(asker.thread); };
        try {
            const auto [pid, thread] = known_as(asker.thread, session);
            const bool awaited = process.awaits_next() && pid == process.pid();
            if (pid && !is_executing(pid) && !(awaited && thread == pid)
                && engine::may_trace_execution(engine::ProcessView(pid), asker.program)) {
                if (awaited)
                    process.await_no_more();
                executing_.push_back(std::make_unique<engine::Executing>(pid, thread, executed_event_.get(), let));
                continue;
            }
        } catch (const std::exception&) {
            // Another traces it, or it has ended: what it executes is found later.
        }
        let();
    }
}

// Whether it executes another program now: what it was is not to be looked at any more.
bool Processes::is_executing(pid_t pid) const
{
    return std::any_of(executing_.begin(), executing_.end(), [pid](const auto& one) { return one->pid() == pid; });
}

// Whether it is traced, or about to be.
bool Processes::is_known(pid_t pid) const
{
    return is_executing(pid) || std::any_of(attached_.begin(), attached_.end(), [pid](const auto& process) {
               return process->pid() == pid && process->has_process();
           });
}

void Processes::take_executed()
{
    eventfd_t count = 0;
    eventfd_read(executed_event_.get(), &count);
    for (auto& one : executing_) {
        const auto state = one->state();
        if (state == engine::Executing::State::held) {
            for (const auto& process : attached_)
                if (process->pid() == one->pid() && process->has_process())
                    process->left();
            one->run([&] { attach(one->pid(), When::at_its_start); });
            hear();
        }
        if (state != engine::Executing::State::waits)
            one.reset();
    }
    std::erase(executing_, nullptr);
}

// Also between two processes of a long round: the kernel keeps what it tells only until its ring is full.
void Processes::hear()
{
    news_ = finder_.hear() || news_;
}

bool Processes::all_over() const
{
    return options_.selection.empty() && options_.has_target() && executing_.empty()
        && std::all_of(attached_.begin(), attached_.end(), [](const auto& process) { return process->over(); });
}

void Processes::verify(bool sleepers)
{
    for (const auto& process : attached_)
        if (!is_executing(process->pid()))
            process->verify(sleepers);
}

void Processes::end()
{
    executing_.clear();
    finder_.hear();
    count_missed(true);
    for (const auto& process : attached_)
        process->end();
    std::vector<Session*> sessions;
    for (const auto& process : attached_)
        sessions.push_back(&process->session());
    clear_forks(sessions);
    if (shared_.kernel)
        shared_.kernel->stop();
}

void Processes::finish()
{
    for (const auto& process : attached_)
        process->finish();
}

// Asked once for each function that is called. What comes later changes nothing for it.
bool Processes::tells_ends(const engine::Site& entry)
{
    size_t sites = 0;
    for (const auto& process : attached_)
        sites += process->session().sites().size();
    if (std::exchange(sites_with_ends_, sites) != sites) {
        ends_.clear();
        for (const auto& process : attached_) {
            const auto& all = process->session().sites();
            const auto& states = process->states();
            std::set<std::string> compiled; // files that were compiled with sites at exits: what has none never returns
            for (size_t i = 0; i < all.size() && i < states.size(); ++i)
                if (all[i].kind == engine::Probe::Kind::exit && !all[i].moves() && engine::is_recorded(states[i]))
                    compiled.insert(all[i].file);
            for (size_t i = 0; i < all.size() && i < states.size(); ++i) {
                if (all[i].kind != engine::Probe::Kind::exit)
                    continue;
                const bool tells = engine::is_recorded(states[i]) || states[i].state == engine::State::gone
                    || (states[i].state == engine::State::no_exit_sites && compiled.contains(all[i].file))
                    || (states[i].state == engine::State::cannot_move
                        && states[i].detail == text(Obstacle::never_returns));
                ends_.try_emplace({all[i].file, all[i].name}, true).first->second &= tells;
            }
        }
    }
    const auto found = ends_.find({entry.file, entry.name});
    return found != ends_.end() && found->second;
}

bool Processes::whole() const
{
    return !gone_.not_whole
        && std::all_of(attached_.begin(), attached_.end(), [](const auto& process) { return process->whole(); });
}

void Processes::remove(size_t map, const engine::Given::Keys& keys)
{
    given_.remove(map, keys);
    if (script_.maps[map].keys.empty())
        return clear(map, false);
    for (const auto& process : attached_)
        process->session().remove(map, keys);
    if (shared_.kernel)
        shared_.kernel->remove(map, keys);
    if (!gone_.maps.maps.empty())
        std::erase_if(gone_.maps.maps[map], [&](const engine::Entry& entry) { return entry.keys == keys; });
}

void Processes::assign(size_t map, int64_t value)
{
    assigned_[map] = value;
    for (const auto& process : attached_)
        process->session().assign(map, value);
    if (shared_.kernel)
        shared_.kernel->assign(map, value);
}

void Processes::clear(size_t map, bool as_read)
{
    given_.clear(map);
    assigned_.erase(map);
    for (const auto& process : attached_)
        process->session().clear(map, as_read);
    if (shared_.kernel)
        shared_.kernel->clear(map, as_read);
    if (!gone_.maps.maps.empty())
        gone_.maps.maps[map].clear();
}

Summary Processes::present() const
{
    Summary summary;
    for (const auto& process : attached_)
        if (!process->over())
            process->count(summary);
    return summary;
}

size_t Processes::living() const
{
    return static_cast<size_t>(
        std::count_if(attached_.begin(), attached_.end(), [](const auto& process) { return !process->over(); }));
}

// The next look finds them again. Those that have ended are only counted from now on.
void Processes::try_refused_again(Clock::time_point now)
{
    std::erase_if(refused_, [&](const auto& one) {
        const auto stat = read_stat(std::to_string(one.first.first));
        if (stat && stat->start == one.first.second)
            return false;
        ++gone_.summary.refused;
        return true;
    });
    for (auto& [process, refused] : refused_)
        if (now - refused.tried >= (refused.busy || !retry ? busy_period : *retry) && (refused.busy || retry))
            finder_.forget(process.first);
}

void Processes::take_up()
{
    next_look_ = Clock::now() + look_period;
    if (shared_.everyone())
        shared_.kernel->start();
    if (options_.one_process())
        attached_.at(0)->take_up();
    shared_.said_what_is_missing = shared_.said_what_is_missing || !options_.one_process();
    take_up_from(options_.one_process() ? 1 : 0);
    if (options_.one_process() || !options_.has_target())
        return;
    if (attached_.empty() && options_.selection.empty() && !options_.serve)
        give_up("none of the processes can be traced");
    if (attached_.empty())
        say(fmt::format(
            "no process is traced so far: {}",
            finder_.selected() == 0
                ? fmt::format("there is none for {}{}", options_.selection.words(), near_comm(options_.selection))
                : "none that was asked for has mapped a file of the script, as far as this user may see"));
    for (const Probe* probe : unmatched())
        if (!attached_.empty())
            say(fmt::format("nothing matches {} so far", probe->text));
}

// Several at a time: each process stands still for its own moment, and most of the time is the kernel's. Those that cannot be traced are
// left out.
void Processes::take_up_from(size_t first)
{
    std::vector<std::exception_ptr> failed(attached_.size());
    std::atomic<size_t> next = first;
    const auto work = [&] {
        const engine::TracerThread tracer;
        for (size_t i = next++; i < attached_.size(); i = next++)
            try {
                attached_[i]->take_up();
            } catch (...) {
                failed[i] = std::current_exception();
            }
    };
    constexpr size_t most_threads = 4;
    const size_t threads =
        std::min({attached_.size() - first, size_t{std::thread::hardware_concurrency()}, most_threads});
    std::vector<std::future<void>> others;
    {
        const engine::SignalsBlocked blocked; // they are for the thread that expects them
        for (size_t i = 0; threads > 1 && i < threads; ++i)
            try {
                others.push_back(std::async(std::launch::async, work));
            } catch (const std::system_error&) {
                break; // there are no more threads
            }
    }
    if (others.empty())
        work();
    for (std::future<void>& other : others)
        while (other.wait_for(hear_period) != std::future_status::ready)
            hear();
    for (size_t i = first; i < attached_.size(); ++i)
        if (failed[i]) {
            try {
                std::rethrow_exception(failed[i]);
            } catch (const std::exception& error) {
                refuse(attached_[i]->pid(), error);
            }
            attached_[i].reset();
        }
    std::erase(attached_, nullptr);
}

// Why system calls are not made, of some process.
std::string Processes::no_system_calls() const
{
    for (const auto& process : attached_)
        if (!process->session().no_system_calls().empty())
            return process->session().no_system_calls();
    return gone_.no_system_calls;
}

std::set<std::string> Processes::refused_names() const
{
    std::set<std::string> all = gone_.refused_names;
    for (const auto& process : attached_)
        all.merge(process->session().refused_names());
    if (shared_.kernel)
        all.merge(shared_.kernel->refused_names());
    return all;
}

// Probes that nothing has matched, in no process.
std::vector<const Probe*> Processes::unmatched() const
{
    std::set<const Probe*> matched = gone_.matched;
    for (const auto& process : attached_)
        matched.insert(process->session().matcher().matched().begin(), process->session().matcher().matched().end());
    if (shared_.files)
        matched.insert(shared_.files->matched.begin(), shared_.files->matched.end());
    return engine::unmatched_probes(script_, matched);
}

Summary Processes::summary() const
{
    Summary summary = gone_.summary;
    for (const auto& process : attached_)
        process->count(summary);
    if (shared_.everyone())
        for (size_t i = 0; i < shared_.files->sites.size(); ++i)
            summary.count(shared_.files->sites[i], shared_.files->states[i],
                          engine::is_recorded(shared_.files->states[i]));
    summary.dropped = seen_.dropped;
    summary.unread = seen_.unread;
    summary.lost = seen_.lost;
    summary.cut = seen_.cut;
    summary.forked = seen_.forked;
    summary.followed = seen_.processes;
    summary.refused += refused_.size();
    if (shared_.profile) {
        summary.samples = shared_.profile->samples();
        summary.lost_samples = shared_.profile->lost();
        summary.throttled = shared_.profile->throttled() != 0;
        summary.cut += shared_.profile->cut();
    }
    return summary;
}

void Processes::look()
{
    const auto begin = Clock::now();
    bool due =
        finder_.take_forked() || finder_.has_lost() || !finder_.is_told_of_all() || begin - last_look_ >= told_period;
    const auto changed = finder_.take_changed();
    for (const auto& process : attached_) {
        if (!changed || changed->contains(process->pid()))
            process->has_changed();
        if (is_executing(process->pid()))
            continue;
        process->look();
        due = due || process->has_fresh_program();
        hear();
    }
    due = std::exchange(news_, false) || due;
    if (finds_ && due)
        shared_.attempt([&] { find(false); });
    // What they recorded is kept, but for the first: it is told of when nothing else matched.
    if (finds_)
        forget_those_over(1);
    // With many processes it takes long. It shall not take more than a tenth of the time.
    soonest_look_ = begin + 10 * (Clock::now() - begin - std::exchange(attaching_, {}));
    next_look_ = std::max(begin + look_period, soonest_look_);
}

// Jumps in forked children lead to stubs that nobody reads, or that do nothing.
void Processes::clear_forks(const std::vector<Session*>& sessions)
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

// From an index on. Forked children are looked for once for all of them, since that reads files of all processes.
void Processes::forget_those_over(size_t first)
{
    std::vector<Session*> sessions;
    for (size_t i = first; i < attached_.size(); ++i)
        if (attached_[i]->over()) {
            attached_[i]->end();
            sessions.push_back(&attached_[i]->session());
        }
    if (sessions.empty())
        return;
    clear_forks(sessions);
    for (size_t i = first; i < attached_.size(); ++i)
        if (attached_[i]->over())
            keep_of(*attached_[i]);
    const auto behind = attached_.begin() + static_cast<ptrdiff_t>(first);
    attached_.erase(std::remove_if(behind, attached_.end(), [](const auto& process) { return process->over(); }),
                    attached_.end());
}

void Processes::keep_of(Attached& process)
{
    process.session().read_events(events_, true);
    ask_for_events();
    engine::merge(script_, gone_.maps, process.session().read());
    engine::drop_beyond(script_, gone_.maps, engine::most_ended_keys);
    process.count(gone_.summary);
    gone_.not_whole = gone_.not_whole || !process.whole();
    if (gone_.no_system_calls.empty())
        gone_.no_system_calls = process.session().no_system_calls();
    gone_.refused_names.merge(process.session().refused_names());
    gone_.matched.merge(std::set(process.session().matcher().matched()));
}

// Attaches to what has come. @param first  the run has not begun yet
void Processes::find(bool first)
{
    std::set<pid_t> traced;
    for (const auto& one : executing_)
        traced.insert(one->pid());
    for (const auto& process : attached_)
        if (process->has_process())
            traced.insert(process->pid());
        else if (process->take_executed())
            finder_.forget(process->pid());
    const auto begin = Clock::now();
    try_refused_again(begin);
    finder_.hear();
    const std::vector<pid_t> found = finder_.find(traced);
    const auto found_at = Clock::now();
    for (const pid_t pid : found) {
        if (is_known(pid)) // it has executed another program since
            continue;
        attach(pid, first ? When::at_first : When::late);
        hear();
        if (!first && interrupted())
            break;
    }
    attaching_ = Clock::now() - found_at;
    last_look_ = begin;
    for (const Finder::Refused& refused : finder_.take_refused())
        refuse(refused.pid, Unusable(refused.why));
    count_missed(false);
}

void Processes::count_missed(bool at_end)
{
    const size_t missed = finder_.take_missed(at_end);
    gone_.summary.missed += shared_.covers_files() ? 0 : missed;
    gone_.summary.missed_more = finder_.take_lost() || gone_.summary.missed_more;
}

// Whether it has ended, or is about to. A kernel thread that was named is none of these.
bool Processes::is_over(pid_t pid) const
{
    return engine::start_time_of(std::to_string(pid)) == 0 || (!options_.names(pid) && is_ending(pid));
}

void Processes::attach(pid_t pid, When when)
{
    const auto told = finder_.take_told(pid);
    try {
        auto memory = engine::open_forked(pid);
        const std::vector<Mapping> mappings = memory->mappings();
        if (is_recorded(*memory, mappings))
            return;
        auto target = shared_.all_in_kernel ? std::move(memory) : engine::open_outside(pid, std::move(memory));
        auto program = std::make_unique<Program>(pid, std::move(target));
        auto session = std::make_unique<Session>(script_, program->target(), shared_.session_options());
        if (session->matcher().matched().empty() && !shared_.profile) {
            if (const auto missing = session->matcher().unmatched(); options_.names(pid) && !missing.empty())
                throw Unusable(fmt::format("process {}: nothing in it matches {}: {}", pid,
                                           words_of(options_, *missing[0]),
                                           instead_of(options_, *missing[0], session->matcher())));
            if (when != When::at_its_start)
                return;
        }
        add(std::move(program), std::move(session));
        if (when != When::at_first)
            take_up_now(when == When::late, told);
    } catch (const std::exception& error) {
        const bool has_gone = is_over(pid);
        if (told && has_gone)
            gone_.summary.missed += !shared_.covers_files();
        else if (options_.names(pid) || may_match(pid))
            refuse(pid, error);
        if (has_gone && !told)
            finder_.unsettle(pid); // what is told later counts it
        else
            finder_.settle(pid);
    }
}

// For a process that cannot be traced: whether that is a loss.
bool Processes::may_match(pid_t pid) const
{
    if (shared_.profile)
        return true;
    try {
        engine::ProbeNames names;
        engine::ProcessView view(pid);
        engine::Matcher matcher(script_, view, names, options_.moves, options_.moves_faulting);
        matcher.find_new();
        return !matcher.matched().empty();
    } catch (const std::exception&) {
        return true;
    }
}

// Whether a forked child has loaded something that matches.
bool Processes::has_more(engine::Target& memory, pid_t parent) const
{
    if (engine::modules_of(memory.view().mappings()) == engine::modules_of(mappings_of(parent)))
        return false;
    engine::ProbeNames names;
    engine::Matcher matcher(script_, memory.view(), names, options_.moves, options_.moves_faulting);
    const auto states = engine::can_arm(memory, matcher.find_new());
    return std::any_of(states.begin(), states.end(), engine::can_be_armed);
}

// Whether a process was forked by a traced one, and its hits count there. Where only some would, the jumps that it has are taken
// from it.
bool Processes::is_recorded(engine::Target& memory, const std::vector<Mapping>& mappings) const
{
    if (!engine::has_own_arena(memory, mappings))
        return false;
    for (const auto& process : attached_) {
        const engine::Copy copy = process->session().copy_in(memory);
        if (copy == engine::Copy::same || (copy == engine::Copy::whole && !has_more(memory, process->pid())))
            return true;
    }
    engine::clear_forked(memory);
    return false;
}

// The last one added, after the run has begun. @param late  it has run untraced  @param told  when the kernel told of it
void Processes::take_up_now(bool late, std::optional<Clock::time_point> told)
{
    Attached& process = *attached_.back();
    const auto stat = read_stat(std::to_string(process.pid()));
    const size_t sites_before = shared_.kernel ? shared_.kernel->sites() : 0;
    try {
        process.take_up(late);
    } catch (...) {
        clear_forks({&process.session()});
        attached_.pop_back();
        throw;
    }
    if (!late) {
        if (!process.session().has_memory()) // nothing matches, and it cannot ask us either
            attached_.pop_back();
        return;
    }
    if (shared_.all_in_kernel && options_.selection.empty() && shared_.kernel->sites() == sites_before)
        return; // what a traced process forks counts from its start on, in files that have their probes
    const Clock::time_point since = told ? *told : stat ? missing_since(*stat) : last_look_;
    const auto refused = refused_.extract({process.pid(), stat ? stat->start : 0});
    const auto time = Clock::now() - (refused ? refused.mapped().missing_since : since);
    ++gone_.summary.found;
    gone_.summary.found_seconds = std::max(gone_.summary.found_seconds, std::chrono::duration<double>(time).count());
}

// Since when a process has not been traced that was found just now: not longer than since the last look, nor than it lives.
Processes::Clock::time_point Processes::missing_since(const Stat& stat) const
{
    const double lives = static_cast<double>(engine::boot_time()) / 1e9
        - static_cast<double>(stat.start) / static_cast<double>(sysconf(_SC_CLK_TCK));
    const auto began = Clock::now() - std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(lives));
    return std::max(began, last_look_);
}

// One that has ended is no loss, unless it was asked for by its number.
void Processes::refuse(pid_t pid, const std::exception& error)
{
    const auto stat = read_stat(std::to_string(pid));
    if (is_over(pid) && !options_.names(pid))
        return;
    Refused& refused = refused_[{pid, stat ? stat->start : 0}];
    if (refused.tried == Clock::time_point())
        refused.missing_since = stat ? missing_since(*stat) : Clock::now();
    refused.tried = Clock::now();
    refused.busy = dynamic_cast<const engine::Busy*>(&error);
    const std::string_view why = error.what();
    const std::string prefix = fmt::format("process {}: ", pid);
    if (options_.names(pid) || !why.starts_with(prefix))
        shared_.say_once(fmt::format("{}; it is not traced", why));
    else if (shared_.refusals.insert(std::string(why.substr(prefix.size())))
                 .second) // of a thousand that is true, perhaps
        say(fmt::format("{}; it is not traced, and others of which that is true are counted as refused", why));
}

// What was recorded before this began is read by its end, if the thread was not interrupted while it recorded that.
std::vector<engine::Event> Processes::take_events(bool last)
{
    const uint64_t now = engine::read_counter();
    for (const auto& process : attached_)
        process->session().read_events(events_, last);
    if (shared_.kernel)
        shared_.kernel->read_events(events_);
    std::stable_sort(events_.begin(), events_.end(),
                     [](const engine::Event& a, const engine::Event& b) { return a.clock < b.clock; });
    const auto end = std::find_if(events_.begin(), events_.end(),
                                  [&](const engine::Event& event) { return !last && event.clock >= now; });
    std::vector<engine::Event> taken(std::make_move_iterator(events_.begin()), std::make_move_iterator(end));
    events_.erase(events_.begin(), end);
    return taken;
}

bool Processes::is_asked_for_events()
{
    bool asked = std::exchange(asked_for_events_, false);
    for (const auto& process : attached_)
        asked = process->session().is_asked_for_events() || asked;
    return asked;
}

engine::Maps Processes::read()
{
    engine::Maps maps;
    for (const auto& process : attached_)
        engine::merge(script_, maps, process->session().read());
    engine::merge(script_, maps, gone_.maps); // at last: what living ones assigned is newer
    if (shared_.kernel)
        engine::merge(script_, maps, shared_.kernel->read());
    engine::merge(script_, maps, shared_.profile ? shared_.profile->named(given_.maps()) : given_.maps());
    for (const auto& [map, value] : assigned_) // there was no process that had it
        if (maps.maps[map].empty())
            maps.maps[map].emplace_back().value.number = value;
    seen_ = maps;
    seen_.maps.clear();
    return maps;
}

} // namespace fastsdt::trace_tool
