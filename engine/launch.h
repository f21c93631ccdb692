// SPDX-License-Identifier: BSD-2-Clause
// A program that we start: held when all its libraries are mapped and none of their constructors has run.
#pragma once
#include "process.h"
#include "target.h"

#include <chrono>
#include <memory>

namespace fastsdt::engine {

/// Executes `launched` (Launched::go()) and holds it where its sites are to be armed: at the last stop of its dynamic
/// loader before constructors, or before the first instruction of a static program. What it executes in its place, as
/// shells' scripts, env and nice do, can be held there too.
class Held {
public:
    /// Throws Unusable: the command cannot be executed, or ended before it came so far.
    explicit Held(Launched& launched);
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held(); ///< lets it go

    Target& target() { return *target_; } ///< to be used before and after let_go()
    void let_go();                        ///< it runs, without a tracer

    /// Instead of let_go(), or after it: it runs, and the calling thread traces it until next() or let_go(). All that are
    /// called in between, by that thread: descriptor(), next().
    void await_next();
    bool awaits_next() const { return next_ != nullptr; }
    /// Becomes readable when next() may have something to do.
    int descriptor() const;
    /// True: another program is held, and target() is its; the last one's stays until the next. Waits no longer than to the
    /// deadline. Throws Unusable.
    bool next(std::chrono::steady_clock::time_point deadline = {});

private:
    class Next;

    const pid_t pid_;
    bool held_ = true;
    std::unique_ptr<Target> target_, former_;
    std::unique_ptr<Next> next_;
};

} // namespace fastsdt::engine
