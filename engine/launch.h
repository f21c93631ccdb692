// SPDX-License-Identifier: BSD-2-Clause
// A program that we start: held when all its libraries are mapped and none of their constructors has run.
#pragma once
#include "process.h"
#include "target.h"

#include <memory>

namespace fastsdt::engine {

/// Executes `launched` (Launched::go()) and holds it where its sites are to be armed: at the last stop of its dynamic
/// loader before constructors, or before the first instruction of a static program.
class Held {
public:
    /// Throws Unusable: the command cannot be executed, or ended before it came so far.
    explicit Held(Launched& launched);
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held(); ///< lets it go

    Target& target() { return *target_; } ///< to be used before and after let_go()
    void let_go();                        ///< it runs, without a tracer

private:
    pid_t pid_; // -1: let go
    std::unique_ptr<Target> target_;
};

} // namespace fastsdt::engine
