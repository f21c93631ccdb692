// SPDX-License-Identifier: BSD-2-Clause
// ptrace, for as long as one change takes: all tasks of a process stopped, or one of them borrowed. What is traced is let
// go when the thread that traces ends, stopped or not, which the kernel sees to: hence as_tracer().
#pragma once
#include "descriptor.h"
#include "live.h"
#include "unusable.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <sys/user.h>
#include <vector>

namespace fastsdt::engine {

/// The process cannot be stopped for a change just now; it may be later.
struct Busy : Unusable {
    using Unusable::Unusable;
};

/// Runs `work` in a thread of its own and passes on what it throws. Afterwards nothing is traced that `work` traced.
void as_tracer(const std::function<void()>& work);

/// Tries until `work` throws no Busy any more, at most for about two seconds; then Busy is passed on.
void patiently(const std::function<void()>& work);

/// What a process has mapped; and its memory, opened by the name of one of its threads, with `flags` of open(2). A thread that ends
/// meanwhile has neither, so the next is asked. Empty: it has ended, or errno says why none can be opened.
std::vector<Mapping> mappings_of(pid_t pid);
struct Memory {
    Descriptor file;  ///< /proc/PID/task/TID/mem
    pid_t thread = 0; ///< TID
};
Memory open_memory(pid_t pid, int flags);

/// Whether the process of an open /proc/PID/mem has ended or executes another program.
bool memory_has_gone(int memory);

/// What /proc has of a thread after `name`, for example "Seccomp:". Empty: nothing.
std::string status_field(pid_t pid, pid_t thread, std::string_view name);

/// A process that has the memory of `pid` too and is not `pid`: vfork, clone(CLONE_VM). 0: none that can be seen.
pid_t sharer_of_memory(pid_t pid);

/// Tasks that this thread traces.
class Traced {
public:
    explicit Traced(pid_t pid);
    Traced(const Traced&) = delete;
    Traced& operator=(const Traced&) = delete;
    ~Traced(); ///< lets the stopped ones go; signals that they were about to get, they get

    struct Task {
        pid_t number = 0;
        bool stopped = false;
        int event = 0;  ///< PTRACE_EVENT_*; 0: about to get `signal`, or in a system call if that is SIGTRAP | 0x80
        int signal = 0; ///< of the stop
    };
    static const long
        children; ///< PTRACE_O_*: threads and processes that a task makes are traced too, and stop at once
    using Deadline = std::chrono::steady_clock::time_point;

    /// Traces a thread; it runs on. False: it has ended. Throws Unusable, Busy.
    /// @param options  PTRACE_O_*. The default: with all that it will make
    bool seize(pid_t thread, long options = children);
    /// All threads, and those that they will make.
    void seize_all();
    /// Stops all of them. Throws Busy if one does not stop in time, or if another process has the memory too.
    void stop_all();
    /// Stops one. False: it does not in time, or has ended.
    bool stop(pid_t thread, Deadline deadline);
    /// Lets a stopped one go on by `request`, which gets the signal that it was about to get, and waits as wait() does.
    bool go_on(Task& task, int request, Deadline deadline);
    /// Waits for the next stop of a thread that runs. False: it has ended, or the time is over.
    bool wait(Task& task, Deadline deadline);

    std::vector<Task>& tasks() { return tasks_; }
    Task* find(pid_t thread);
    pid_t pid() const { return pid_; }

    static user_regs_struct registers(pid_t thread);
    static void set_registers(pid_t thread, const user_regs_struct& registers);
    /// What a system call may clear of vector registers: arm64's SVE beyond the first 16 bytes. Empty: nothing.
    static std::vector<std::byte> wide_vectors(pid_t thread);
    static void set_wide_vectors(pid_t thread, const std::vector<std::byte>& vectors);

private:
    bool poll(Task& task); // true: stopped or ended
    void learn_child(const Task& task);
    [[noreturn]] void refuse(pid_t thread, int error) const;

    const pid_t pid_;
    const bool own_child_;
    std::vector<Task> tasks_; // in the order in which they came
    std::set<pid_t> ended_;
    pid_t sharer_ = 0;
};

} // namespace fastsdt::engine
