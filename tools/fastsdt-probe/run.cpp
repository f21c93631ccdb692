// SPDX-License-Identifier: BSD-2-Clause
#include "probe.h"
#include "process.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace fastsdt::probe {
namespace {

using Clock = std::chrono::steady_clock;

// The rows that are attached, in their order.
std::vector<Row*> attached_rows(std::vector<Row>& rows)
{
    std::vector<Row*> attached;
    for (Row& row : rows)
        if (!row.skipped && row.seen.verdict != Verdict::reject)
            attached.push_back(&row);
    return attached;
}

class Watched {
public:
    Watched(const std::vector<Row*>& rows, pid_t pid, Scope scope, const Options& options)
        : rows_(rows), options_(options), pid_(pid), process_(open_process(pid)), counter_(targets(rows), pid, scope)
    {
        if (!counter_.limitation().empty() && !rows.empty())
            say(fmt::format("{}: hits of all processes that have {} mapped are counted", counter_.limitation(),
                            options.file_name));
    }

    Counter& counter() { return counter_; }

    /// Waits until the process and all in scope have ended, the time is over, or a signal ends the wait.
    /// @param program  it was started here: signals go to it
    /// @return  false: the process still runs
    bool wait(Signals& signals, Launched* program, std::optional<Clock::time_point> until)
    {
        constexpr auto refresh = std::chrono::seconds(1);
        std::optional<Clock::time_point> screen;
        LiveScreen live;
        if (options_.live)
            screen = Clock::now();
        bool told = false;
        std::optional<Clock::time_point> tell;
        for (;;) {
            if (ended_ && !counter_.others_live())
                return true;
            if (screen && Clock::now() >= *screen) {
                for (size_t i = 0; i < rows_.size(); ++i)
                    rows_[i]->counted = counter_.counted(i);
                live.show(rows_, options_);
                screen = *screen + refresh;
            }
            auto next = until;
            if (screen)
                next = next ? std::min(*next, *screen) : *screen;
            if (tell && !told)
                next = next ? std::min(*next, *tell) : *tell;
            const auto ready =
                wait_readable({signals.descriptor(), ended_ ? -1 : process_.get(), counter_.notices()}, next);
            if (ready[0])
                while (const auto signal = signals.next()) {
                    if (!program || ended_)
                        return ended_;
                    program->pass_on(*signal);
                    interrupted_ = true;
                }
            if (ready[1]) {
                ended_ = true;
                counter_.root_ended();
                tell = Clock::now() + std::chrono::seconds(1);
            }
            if (ready[2])
                counter_.handle_notice();
            if (until && Clock::now() >= *until)
                return ended_;
            if (tell && !told && Clock::now() >= *tell && counter_.others_live()) {
                say("the program has ended; what it started runs on and is counted until it ends or an interrupt");
                told = true;
            }
        }
    }

    /// Collects the counts. To be called before the probes go, so that the process's memory still shows them.
    void collect()
    {
        counter_.stop();
        for (size_t i = 0; i < rows_.size(); ++i) {
            Row& row = *rows_[i];
            row.counted = counter_.counted(i);
            if (ended_)
                continue;
            try {
                if (const auto address = runtime_address(pid_, row.target.path, row.target.file_offset))
                    if (auto live = read_memory(pid_, *address, seen_size); !live.empty())
                        row.counted.live = std::move(live);
            } catch (const Unusable&) {
                ended_ = true; // meanwhile
            }
        }
        if (const uint64_t lost = counter_.lost_tasks())
            say(fmt::format("there was no room to follow {} threads or processes: their hits are missing", lost));
        if (counter_.attached_again())
            say(fmt::format(
                "process {} executed a program from another thread than its first, and was attached to again: "
                "hits in between are missing (--children misses none)",
                pid_));
    }

    bool interrupted() const { return interrupted_; }

private:
    static std::vector<Target> targets(const std::vector<Row*>& rows)
    {
        std::vector<Target> targets;
        for (const Row* row : rows)
            targets.push_back(row->target);
        return targets;
    }

    const std::vector<Row*>& rows_;
    const Options& options_;
    const pid_t pid_;
    Descriptor process_;
    Counter counter_;
    bool ended_ = false, interrupted_ = false;
};

size_t attached_count(const Counter& counter, size_t size)
{
    size_t count = 0;
    for (size_t i = 0; i < size; ++i)
        count += counter.counted(i).error == 0;
    return count;
}

Result watch_process(const std::vector<Row*>& rows, const Options& options, Signals& signals)
{
    Watched watched(rows, options.pid, options.children ? Scope::tree : Scope::process, options);
    Counter& counter = watched.counter();
    counter.start();
    say(fmt::format(
        "attached {} of {} probes to process {}: all its threads{}", attached_count(counter, rows.size()), rows.size(),
        options.pid,
        options.children ? ", and what it forks from now on" : "; what it forks is not counted (--children)"));
    std::optional<Clock::time_point> until;
    if (options.seconds > 0)
        until =
            Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.seconds));
    watched.wait(signals, nullptr, until);
    watched.collect();
    return {true, counter.scope(), {}};
}

struct OneRun {
    Scope scope;
    Launched::End end;
    bool interrupted;
};

OneRun run_once(const std::vector<Row*>& rows, const Options& options, Signals& signals)
{
    Launched program(options.command, signals);
    Watched watched(rows, program.pid(), Scope::tree, options);
    watched.counter().start_at_exec();
    program.go();
    program.release();
    watched.wait(signals, &program, {});
    watched.collect();
    return {watched.counter().scope(), program.reap(), watched.interrupted()};
}

Result run_program(std::vector<Row*>& rows, const Options& options, Signals& signals)
{
    Result result{true, Scope::tree, {}};
    double with = 0, without = 0;
    bool interrupted = false;
    for (unsigned run = 0; run < std::max(options.runs, 1u) && !interrupted; ++run) {
        const OneRun probed = run_once(rows, options, signals);
        result.scope = probed.scope;
        result.wait_status = probed.end.wait_status;
        interrupted = probed.interrupted;
        with = run == 0 ? probed.end.cpu_seconds : std::min(with, probed.end.cpu_seconds);
        if (options.runs && !interrupted) {
            const std::vector<Row*> none;
            const OneRun plain = run_once(none, options, signals);
            interrupted = plain.interrupted;
            without = run == 0 ? plain.end.cpu_seconds : std::min(without, plain.end.cpu_seconds);
        }
    }
    uint64_t hits = 0;
    for (const Row* row : rows)
        hits += row->counted.hits;
    // One figure for all probes: from outside nobody can tell what each of them cost.
    if (options.runs && hits && !interrupted)
        for (Row* row : rows)
            if (row->counted.hits)
                row->ns_per_hit = std::max(0.0, (with - without) * 1e9 / static_cast<double>(hits));
    return result;
}

} // namespace

Result run(std::vector<Row>& rows, const Options& options, Signals& signals)
{
    std::vector<Row*> attached = attached_rows(rows);
    if (options.pid)
        return watch_process(attached, options, signals);
    return run_program(attached, options, signals);
}

} // namespace fastsdt::probe
