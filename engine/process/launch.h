// SPDX-License-Identifier: BSD-2-Clause
// A program that we start: held when all its libraries are mapped and none of their constructors has run.
#pragma once
#include "arming/target.h"
#include "process.h"

#include <chrono>
#include <functional>
#include <memory>
#include <sys/types.h>
#include <thread>

namespace fastsdt::engine {

/// Executes `launched` (Launched::go()) and holds it where its sites are to be armed: at the last stop of its dynamic
/// loader before constructors, or before the first instruction of a static program. A program that it executes in its
/// own place, as shell scripts, env and nice do, can be held at the same point.
class Held {
public:
    /// Throws Unusable if the command cannot be executed, or ends before that point.
    explicit Held(Launched& launched);
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held(); ///< lets it go

    Target& target() { return *target_; } ///< to be used before and after let_go()
    void let_go();                        ///< the program runs on, without a tracer

    /// Instead of let_go(), or after it: the program runs on, traced by the calling thread until next() or let_go().
    /// Until then only descriptor() and next() may be called, by the same thread.
    void await_next();
    bool awaits_next() const { return next_ != nullptr; }
    /// Becomes readable when next() may have something to do.
    int descriptor() const;
    /// True: another program is held, and target() is that program's. The former program's target lives until the next
    /// call that returns true. Waits until the deadline at most. Throws Unusable.
    bool next(std::chrono::steady_clock::time_point deadline = {});

private:
    class Next;

    const pid_t pid_;
    bool held_ = true;
    std::unique_ptr<Target> target_, former_;
    std::unique_ptr<Next> next_;
};

/// A process that said that it is about to execute another program (code/executing.h). It is traced by a thread of its own until it has,
/// for a second at most, and held where that program's sites are to be armed. It stays in a stop of ptrace: its parent sees none.
class Executing {
public:
    enum class State {
        waits,
        held,
        over ///< it executed nothing, or has ended
    };
    /// @param thread  of the process, which is about to execute  @param event  an eventfd that says when state() has changed
    /// @param traced  called when it is traced
    /// Throws Unusable, Busy.
    Executing(pid_t pid, pid_t thread, int event, const std::function<void()>& traced);
    Executing(const Executing&) = delete;
    Executing& operator=(const Executing&) = delete;
    ~Executing(); ///< lets it go. What waits is waited for

    pid_t pid() const { return pid_; }
    State state() const;
    /// What `work` does with the process it does as the thread that traces it, where that is held. Throws what `work` throws.
    void run(const std::function<void()>& work);

private:
    struct Work;

    const pid_t pid_;
    const std::unique_ptr<Work> work_;
    std::thread thread_;
};

} // namespace fastsdt::engine
