// SPDX-License-Identifier: BSD-2-Clause
// ptrace, for as long as one change takes: stops all tasks of a process, or borrows one. When the tracing thread ends,
// the kernel lets go of all that it traced, stopped or not: hence as_tracer().
#pragma once
#include "base/descriptor.h"
#include "base/unusable.h"
#include "process/interrupted.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <sys/user.h>
#include <thread>
#include <unordered_map>
#include <vector>

namespace fastsdt::engine {

/// The process cannot be stopped for a change just now; it may be later.
struct Busy : Unusable {
    using Unusable::Unusable;
};

/// A thread of this program. Throws Unusable where there can be none.
std::thread begin_thread(std::function<void()> work);

/// Runs `work` in a thread of its own and passes on what it throws. Afterwards nothing is traced that `work` traced.
void as_tracer(const std::function<void()>& work);

/// While one lives, as_tracer() takes the same thread again for the thread that made it, unless something may still be traced by it.
class TracerThread {
public:
    TracerThread();
    ~TracerThread();
    TracerThread(const TracerThread&) = delete;
    TracerThread& operator=(const TracerThread&) = delete;

private:
    friend void as_tracer(const std::function<void()>& work);
    struct Worker;
    void run(const std::function<void()>& work);
    void end();

    const bool first_; // of this thread: others leave the work to it
    std::unique_ptr<Worker> worker_;
};

/// For a thread for which others wait. Where many want a processor, one with short slices gets it sooner, and gets no more of it (Linux 6.12,
/// EEVDF; before, sched_runtime means nothing here).
void ask_for_short_slices();

/// While one lives, and a process stands still for it, its thread gets a processor before others where the kernel lets it.
class Hurry {
public:
    Hurry();
    ~Hurry();
    Hurry(const Hurry&) = delete;
    Hurry& operator=(const Hurry&) = delete;

private:
    struct Before;
    std::unique_ptr<Before> before_; // none: nothing was changed
};

/// Throws Busy where a process of its own has the process's memory: that would run on while this one stands still.
void refuse_sharer(pid_t pid);

/// Repeats `work` while it throws Busy, for about two seconds at most; then passes Busy on.
void patiently(const std::function<void()>& work);

/// SIGINT, SIGTERM, SIGHUP or SIGQUIT waits for this process, which has it blocked: whoever waits for another process without an end
/// in sight gives up.
bool asked_to_end();

/// The program counter of a process's first thread, if that stands in a stop and not in a system call.
std::optional<uint64_t> stopped_at(pid_t pid);

/// Another process that shares the memory of `pid`: vfork, clone(CLONE_VM). 0: none can be seen.
pid_t sharer_of_memory(pid_t pid);

/// Tasks that this thread traces.
class Tracees {
public:
    explicit Tracees(pid_t pid);
    Tracees(const Tracees&) = delete;
    Tracees& operator=(const Tracees&) = delete;
    ~Tracees(); ///< lets the stopped ones go; they get the signals that they were about to get

    struct Task {
        pid_t number = 0;
        bool stopped = false;
        int event = 0;  ///< PTRACE_EVENT_*; 0: about to get `signal`, or in a system call if that is SIGTRAP | 0x80
        int signal = 0; ///< of the stop
        uint64_t counter = 0;                  ///< program counter at the stop
        std::optional<Sleeping> sleeping = {}; ///< before it was asked to stop
        bool asked = false;                    ///< to stop, and it has not since
    };
    static const long
        children; ///< PTRACE_O_*: threads and processes that a task makes are traced too, and stop at once
    using Deadline = std::chrono::steady_clock::time_point;

    /// Traces a thread; it runs on. False: it has ended. Throws Unusable, Busy.
    /// @param options  PTRACE_O_*. The default also traces all tasks that it will make
    bool seize(pid_t thread, long options = children);
    /// All threads.
    void seize_all(long options = children);
    /// Stops all of them. Throws Busy if one does not stop in time, or if another process has the memory too.
    void stop_all();
    /// Stops each of them for a look, a few at a time, and lets it go for good. Throws Busy if one does not stop in time.
    void look_at_each(const std::function<void(const Task&)>& look);
    /// Stops one at the next stop there is, which may be for a signal. False: it does not in time, or has ended.
    bool stop(pid_t thread, Deadline deadline);
    /// The same on the way to user space, about to get no signal: where registers can be exchanged.
    bool rest(Task& task, Deadline deadline);
    /// Asks one to stop. It need not come to a stop for that: another stop may come first, and then the kernel forgets that it was asked.
    void interrupt(Task& task);
    /// Lets a stopped one go on by `request`, which gets the signal that it was about to get, and waits as wait() does. False too if it
    /// could not be let go.
    bool go_on(Task& task, int request, Deadline deadline);
    /// Waits for the next stop of a thread that runs. False: it has ended, or the time is over, or asked_to_end() if that is heeded.
    bool wait(Task& task, Deadline deadline);
    void heed_signals(bool heed = true) { heeds_signals_ = heed; }
    /// Lets all go for good, and forgets them. One that was asked to stop has to come to that first, since the system call that the kernel
    /// has cut short for it would fail with EINTR. Others that run are traced until the thread that traces ends.
    void release_all();

    std::vector<Task>& tasks() { return tasks_; }
    Task* find(pid_t thread);
    bool is_gone(const Task& task) const { return ended_.contains(task.number); }
    pid_t pid() const { return pid_; }

    static user_regs_struct registers(pid_t thread);
    static void set_registers(pid_t thread, const user_regs_struct& registers);
    /// The parts of vector registers that a system call may clear: arm64's SVE beyond the first 16 bytes. Empty: none.
    static std::vector<std::byte> wide_vectors(pid_t thread);
    static void set_wide_vectors(pid_t thread, const std::vector<std::byte>& vectors);

private:
    friend class Kept;
    bool poll(Task& task); // true: stopped or ended
    bool look_at(Task& task);
    void add(pid_t thread);
    void forget(const std::function<bool(const Task&)>& gone);
    void release(Task& task, Deadline deadline);
    void learn_child(const Task& task);
    bool await(Task& task, Deadline begin);
    [[noreturn]] void refuse(pid_t thread, int error) const;

    const pid_t pid_;
    const bool own_child_;
    std::vector<Task> tasks_;                   // in the order in which they came
    std::unordered_map<pid_t, size_t> indexes_; // of tasks_
    std::set<pid_t> ended_;
    pid_t sharer_ = 0;
    bool heeds_signals_ = false;
};

/// While one lives, the thread that made it keeps a task stopped that it traces, and as_tracer() is this thread: Tracees of the task's
/// process find it stopped, and leave it so.
class Kept {
public:
    /// Takes over the only task of `from`, which is stopped.
    explicit Kept(Tracees& from);
    Kept(const Kept&) = delete;
    Kept& operator=(const Kept&) = delete;
    ~Kept(); ///< lets it go for good

private:
    friend class Tracees;
    Tracees::Task task_;
};

} // namespace fastsdt::engine
