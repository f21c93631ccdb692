// SPDX-License-Identifier: BSD-2-Clause
// Another process as a target: stopped by ptrace for as long as a change takes, changed through /proc/PID/mem, and left
// running without a tracer in between, so that a debugger can come.
#pragma once
#include "arming/target.h"

#include <memory>
#include <sys/types.h>

namespace fastsdt::engine {

/// Throws Unusable with the reason if the process cannot be changed safely: somebody else traces it, the kernel forbids
/// it, a seccomp filter could kill it for our system calls, or it is a 32-bit process. Stops nothing yet but a thread that has a filter,
/// to read that.
std::unique_ptr<Target> open_outside(pid_t pid);
/// The same for clear_forked(), whatever filter stands: if that does not allow it, its memory stays mapped.
std::unique_ptr<Target> open_forked(pid_t pid);
/// open_outside(), of what open_forked() gave.
std::unique_ptr<Target> open_outside(pid_t pid, std::unique_ptr<Target> forked);

} // namespace fastsdt::engine
