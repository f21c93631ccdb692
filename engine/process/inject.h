// SPDX-License-Identifier: BSD-2-Clause
// System calls that another process makes for us.
#pragma once
#include "base/unusable.h"
#include "process/errand.h"
#include "process/ptrace.h"

#include <functional>
#include <sys/types.h>
#include <vector>

namespace fastsdt::engine {

/// Behind so many of the calls the thread goes home, unless `opens` says that it is to make the others too.
struct Gate {
    size_t behind = SIZE_MAX;
    std::function<bool()> opens;
};

/// What has no room behind the text or in the vdso: fewer calls may.
struct NoRoom : Unusable {
    using Unusable::Unusable;
};
/// The same within reach of where the thread is.
struct NoRoomNear : Busy {
    using Busy::Busy;
};

/// `thread` is held behind call number `index`, which returned `result` (-errno).
using CallSeen = std::function<void(pid_t thread, size_t index, int64_t result)>;

/// One thread of `pid` makes the calls, the others run on. To be run as_tracer(). If it throws Busy, no call was made; nor where a
/// seccomp filter does not allow them.
/// @param opened  /proc/PID/mem, opened for the program that is meant: throws Unusable if the process executes another
/// @param seen    is called behind each call
/// @return        what the calls returned, up to the gate if that stayed closed
std::vector<int64_t> send(pid_t pid, int opened, const std::vector<Call>& calls, const std::string& text,
                          const CallSeen& seen, const Gate& gate = {});

/// Whether a thread still makes calls for a tracer that was killed. To be run as_tracer().
bool errand_under_way(pid_t pid, int opened);

} // namespace fastsdt::engine
