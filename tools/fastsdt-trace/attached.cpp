// SPDX-License-Identifier: BSD-2-Clause
#include "attached.h"

#include "proc/threads.h"
#include "say.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <exception>
#include <utility>

namespace fastsdt::trace_tool {

using engine::Probe;
using engine::Session;
using engine::State;

namespace {

constexpr unsigned seldom = 10; ///< one look of so many is made although nobody tells of a change
constexpr auto quiet_period = std::chrono::seconds(1); ///< for processes of which the kernel tells nothing new

double seconds_of(Attached::Clock::duration time)
{
    return std::chrono::duration<double>(time).count();
}

} // namespace

Session::Options Shared::session_options()
{
    return {.calls = options.read_memory,
            .moves = options.moves,
            .moves_faulting = options.moves_faulting,
            .follow = options.follows(),
            .names = &names,
            .ring_size = options.buffer,
            .overwrites = options.flight,
            .ordered = !options.unordered,
            .start_ns = start_ns,
            .sink = sink,
            .kernel = kernel.get(),
            .all_in_kernel = all_in_kernel};
}

void Shared::say_once(const std::string& sentence)
{
    if (refusals.insert(sentence).second)
        say(sentence);
}

bool Shared::attempt(const std::function<void()>& work, std::string_view next, const std::function<bool()>& is_expected)
{
    try {
        work();
        return true;
    } catch (const std::exception& error) { // Unusable, or no thread for the tracer
        if (!is_expected() && refusals.insert(error.what()).second)
            say(fmt::format("{}{}", error.what(), next));
        return false;
    }
}

void Shared::say_what_is_missing(const std::vector<const Probe*>& probes, const engine::Matcher& matcher,
                                 const Summary& summary, const char* matches, const char* so_far)
{
    said_what_is_missing = true;
    bool may = kernel_may && !kernel && !summary.complete();
    for (const Probe* probe : as_written(options, probes)) {
        say(fmt::format("nothing {} {}{}{}", matches, words_of(options, *probe), so_far,
                        instead_of(options, *probe, matcher)));
        may =
            may || (kernel_may && !kernel && probe->kind != Probe::Kind::usdt && !options.moves); // it finds no others
    }
    if (may)
        say("--engine kernel may do all of it, as root");
}

Attached::Attached(Shared& shared, std::unique_ptr<Program> program, std::unique_ptr<Session> session)
    : shared_(shared), program_(std::move(program)), session_(std::move(session)),
      process_(open_process(program_->pid())), start_(Clock::now())
{
    say_troubles();
}

// Files that could not be read: their sites are missing.
void Attached::say_troubles()
{
    for (const std::string& trouble : session_->matcher().troubles())
        shared_.say_once(trouble);
}

bool Attached::attempt(const std::function<void()>& work, std::string_view next)
{
    return shared_.attempt(work, next, [this] { return has_ended(); });
}

// Keeps what has become of the sites, and which of them were armed only some time after they could be hit. Those of
// modules that the process waited for are not late.
void Attached::keep(const std::vector<engine::SiteState>& seen, bool may_be_late)
{
    waited_.resize(seen.size());
    late_.resize(seen.size());
    for (size_t i = 0; i < seen.size(); ++i) {
        const State state = seen[i].state;
        const bool fresh = i >= states_.size() || !is_recorded(states_[i]);
        if (is_recorded(seen[i]) && (waited_[i] || ((behind_ || may_be_late) && fresh))) {
            late_[i] = true;
            covered_since_ = Clock::now();
        }
        // What is ready is about to be armed, and what is gone misses nothing.
        waited_[i] = !is_recorded(seen[i]) && state != State::gone && state != State::ready;
    }
    states_ = seen;
}

void Attached::take_up(bool says)
{
    follow_.emplace(program_->target().view()); // first: it may execute another program while it is armed, or just then
    const std::vector<std::string> modules = follow_->modules();
    session_->watch_loader();
    if (shared_.options.holds_executed())
        session_->watch_executing();
    session_->arm();
    keep(session_->states());
    start_ = Clock::now();
    caught_up_ = modules == session_->modules_at_first();
    if (program_->ours() && session_->matcher().matched().empty() && !session_->matcher().unmatched().empty()) {
        program_->await_next(); // what is missing is said when this program is known to stay
    } else {
        program_->let_go();
        if (says && !shared_.said_what_is_missing)
            say_what_is_missing("matches", " so far: ");
    }
}

// The process has executed another program, which is held.
void Attached::take_up_next()
{
    try {
        auto next = std::make_unique<Session>(shared_.script, program_->target(), shared_.session_options());
        session_ = std::move(next);
        states_.clear();
        waited_.clear();
        late_.clear();
        take_up();
    } catch (const std::exception& error) {
        program_->let_go();
        if (!has_ended())
            say(fmt::format("the process has executed another program, and is not traced any more: {}", error.what()));
        executed_ = over_ = untraced_ = true;
        return;
    }
    if (!session_->sites().empty() && shared_.options.engine == EngineChoice::automatic) {
        Summary summary;
        count(summary);
        say(fmt::format("engine user: {} of {} sites of the program that the process executed are armed", summary.armed,
                        summary.sites));
    }
}

void Attached::say_what_is_missing(const char* matches, const char* so_far)
{
    Summary summary;
    count(summary);
    shared_.say_what_is_missing(session_->matcher().unmatched(), session_->matcher(), summary, matches, so_far);
}

std::array<int, 3> Attached::descriptors() const
{
    if (over_)
        return {-1, -1, -1};
    return {only_forks_ ? -1 : process_.get(), executed_ ? -1 : program_->next_descriptor(),
            session_->loader_descriptor()};
}

void Attached::process_ended()
{
    ended_ = true;
    over_ = !is_outlived();
}

void Attached::next_held()
{
    if (holds_next({}))
        take_up_next();
}

void Attached::loaded(bool passes)
{
    if (passes || only_forks_ || executed_) { // only what it has forked may ask, and that it may have no answer to
        session_->answer_loader([] {});
        return;
    }
    const bool said = behind_; // a refusal, in which it may have waited in vain
    const std::vector<engine::SiteState> before = states_;
    const bool waited = session_->answer_loader([&] { attempt([&] { news(true); }); });
    for (size_t i = 0; !waited && i < states_.size(); ++i)
        if (is_recorded(states_[i]) && (i >= before.size() || !is_recorded(before[i]))) {
            late_[i] = true;
            covered_since_ = Clock::now();
        }
    if (!waited && !said && !behind_)
        say_libraries_missed();
    missed_ = missed_ || !waited;
}

void Attached::say_libraries_missed()
{
    missed_ = true;
    say("the process loaded libraries while this tool did not answer: their hits until it armed them are missing");
}

void Attached::look_for_unanswered()
{
    if (!session_->take_unanswered())
        return;
    missed_ = true;
    shared_.say_once("other programs were executed while this tool did not answer: their hits may be missing");
}

void Attached::look()
{
    if (over_)
        return;
    // That a process ends is told by its descriptor. A new filter of system calls or a handler, which stubs have to heed, nobody tells of.
    const auto now = Clock::now();
    if (!changed_ && !session_->is_to_be_watched() && !only_forks_ && now - looked_ < quiet_period)
        return;
    looked_ = now;
    if (only_forks_) {
        over_ = !is_outlived();
        return;
    }
    // Nor of what is unmapped, or happens on a processor that was switched on since: so the maps are read from time to time all the same.
    const bool told = !changed_ && ++quiet_looks_ % seldom != 0;
    if (!executed_ && !(told && sleeps(slept_at_news_))) {
        const bool heard = attempt([&] { news(false, told); });
        changed_ = changed_ && !heard;
        if (!heard || behind_)
            slept_at_news_ = {}; // it was refused, and is tried again
    }
    attempt([&] { session_->follow_stack(); });
    attempt([&] { session_->free_slots(); });
    attempt([&] { look_for_forks(false); });
}

// Whether it has executed nothing since it was asked last. Now and then it is no: others can change its memory, too.
bool Attached::sleeps(Sleep& sleep) const
{
    clockid_t clock{};
    timespec used{};
    if (clock_getcpuclockid(pid(), &clock) != 0 || clock_gettime(clock, &used) != 0)
        return false;
    const uint64_t before =
        std::exchange(sleep.used_ns, uint64_t(used.tv_sec) * 1'000'000'000 + uint64_t(used.tv_nsec));
    return before == sleep.used_ns && ++sleep.times % seldom != 0;
}

void Attached::verify(bool sleepers)
{
    if (over_)
        return;
    const bool waits = behind_ || std::ranges::count(waited_, true);
    if (only_forks_ || executed_ || (!sleepers && !waits && sleeps(slept_at_sites_))) {
        attempt([&] { session_->keep_time(); });
        return;
    }
    attempt([&] {
        auto seen = session_->verify();
        const bool lost = std::any_of(seen.begin(), seen.end(), [](const engine::SiteState& s) {
            return s.state == State::ready || s.state == State::left_over; // by one that was killed since
        });
        for (size_t i = 0; i < seen.size() && i < states_.size(); ++i) {
            const bool gone = states_[i].state == State::armed && seen[i].state == State::ready;
            waited_[i] = waited_[i] || gone;
            if (gone && !std::exchange(said_gone_, true))
                say("some jumps were gone, and are made again: the program got its code from its file once more "
                    "(madvise, mmap), or another tool wrote there; up to a second of hits is missing each time");
        }
        if (lost || behind_) {
            match_and_arm();
            return;
        }
        if (has_memory())
            keep(seen);
    });
}

// Where it throws, verify() tries again.
// @param waits  the process: what has come has executed nothing yet
void Attached::match_and_arm(bool waits)
{
    const bool held = session_->holds_modules();
    const bool was_behind = std::exchange(behind_, true);
    try {
        session_->match_and_arm();
        say_troubles();
    } catch (...) {
        if (!has_memory()) // nothing of it is left to arm
            behind_ = was_behind;
        throw;
    }
    behind_ = was_behind;
    // We may be quicker than the dynamic linker's question, and what it maps may come between our two looks.
    const bool is_held = session_->holds_modules() || held;
    if (has_memory())
        keep(session_->states(), !waits && (missed_ || !is_held || !session_->held_all_modules()));
    behind_ = false;
}

// @param waits  the process, until its sites are armed
void Attached::news(bool waits, bool told)
{
    const auto news = follow_->news(told && caught_up_);
    if (news.ended)
        return;
    attempt([&] {
        if (!news.executed && session_->look_for_filters())
            say(fmt::format("from now on no system call reads what a hit has in memory: {}",
                            session_->no_system_calls()));
    });
    attempt([&] {
        if (!news.executed && session_->look_for_handlers())
            keep(session_->states());
    });
    if (news.executed) {
        // The traced thread comes to its stop, unless another thread of the process called exec.
        if (program_->awaits_next() && holds_next(Clock::now() + std::chrono::seconds(1)))
            return take_up_next();
        return has_executed();
    }
    if (!waits && !shared_.said_what_is_missing && program_->awaits_next())
        say_what_is_missing("matches", " so far: ");
    const bool awaited = program_->awaits_next(); // arming needs to trace it, and only one tracer can
    // Something may have come after the match and before the first look.
    const bool caught_up = std::exchange(caught_up_, true);
    if (!news.modules && (caught_up || awaited))
        return;
    if (awaited)
        program_->let_go();
    attempt([&] { match_and_arm(waits && caught_up); });
    if (awaited && session_->matcher().matched().empty())
        program_->await_next();
}

void Attached::has_executed()
{
    executed_ = fresh_program_ = true;
    if (shared_.options.follows()) // found again: Finder
        return;
    over_ = true;
    say("the process has executed another program, and is not traced any more; name that program after --");
    untraced_ = true;
}

// Whether it has executed another program, which is held now.
bool Attached::holds_next(Clock::time_point deadline)
{
    bool held = false;
    attempt([&] { held = program_->next(deadline); });
    return held;
}

bool Attached::has_ended()
{
    return ended_ = ended_ || wait_readable({process_.get()}, Clock::now())[0];
}

// Whether what was seen of the sites is true: a process that ends, or executes another program, loses its memory first.
bool Attached::has_memory()
{
    return !has_ended() && !(follow_ && follow_->is_gone());
}

void Attached::look_for_forks(bool now)
{
    session_->look_for_forks(now);
    if (session_->take_forks_given_up() == 0 || !shared_.options.follows()) // the others record nothing
        return;
    given_up_ = true;
    shared_.say_once(
        "a forked child has come to handle a signal that moved code may raise: such code is not armed there any more");
}

// Whether forked children have outlived the process, and are followed.
bool Attached::is_outlived()
{
    if (!shared_.options.follows())
        return false;
    attempt([&] {
        look_for_forks(false);
        if (session_->forks() == 0) // one may have been missed
            look_for_forks(true);
    });
    return only_forks_ = session_->forks() != 0;
}

void Attached::end()
{
    program_->let_go();
    look_for_unanswered();
    // A question may have come just now. Without a look at it a library that goes and comes would seem to have lost its jumps; who asks from
    // now on waits until they are undone.
    if (!ended_ && !executed_ && !only_forks_)
        loaded(false);
    else if (!session_->answer_loader([] {}))
        say_libraries_missed();
    if (!ended_ && !executed_)
        verify();
    if (!ended_ && !executed_)
        disarm();
    if (ended_ && shared_.options.names(pid()))
        say(fmt::format("process {} ended after {:.1f} s", pid(), seconds_of(Clock::now() - start_)));
    over_ = true;
}

void Attached::disarm()
{
    const auto armed = [this] {
        const auto& states = session_->states();
        return std::count_if(states.begin(), states.end(), [](const auto& s) { return s.state == State::armed; });
    };
    try {
        session_->disarm();
        const auto count = armed();
        if (count == 0)
            return;
        say(fmt::format("{} site{} armed, and nobody reads the counts: a thread keeps standing there", count,
                        count == 1 ? " stays" : "s stay"));
    } catch (const std::exception& error) {
        if (has_ended())
            return;
        bool executed = false;
        try {
            executed = follow_->news().executed;
        } catch (const Unusable&) {
            // Nobody may look at it any more.
        }
        if (executed) // they are gone with the former program
            return has_executed();
        say(armed() == 0 ? error.what()
                         : fmt::format("the sites stay armed, and nobody reads their counts: {}", error.what()));
    }
    stays_armed_ = true;
}

void Attached::finish()
{
    if (has_ended())
        program_->reap();
    else
        program_->finish(process_.get());
}

void Attached::count(Summary& summary) const
{
    summary.processes += !session_->sites().empty();
    summary.overwritten = summary.overwritten || session_->has_overwritten();
    summary.between += session_->events_between();
    for (size_t i = 0; i < session_->sites().size(); ++i) {
        const engine::SiteState state = i < states_.size() ? states_[i] : engine::SiteState{};
        if (state.state == State::gone)
            continue;
        summary.count(session_->sites()[i], state, is_recorded(state));
        if (i >= late_.size() || !late_[i] || !is_recorded(state))
            continue;
        ++summary.late;
        summary.late_seconds = std::max(summary.late_seconds, seconds_of(covered_since_ - start_));
    }
}

} // namespace fastsdt::trace_tool
