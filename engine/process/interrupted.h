// SPDX-License-Identifier: BSD-2-Clause
// Calls that fail with EINTR when a stop interrupts them, though no signal came: signal(7), "Interruption of system calls and library
// functions by stop signals". Programs need not expect that, so the kernel is made to begin them again.
#pragma once
#include <cstdint>
#include <optional>
#include <sys/types.h>
#include <sys/user.h>

namespace fastsdt::engine {

/// The call that a thread sleeps in.
struct Sleeping {
    uint64_t call = 0, argument = 0; ///< its number, its first argument
    uint64_t stack = 0, counter = 0; ///< the thread's stack pointer and program counter
};
/// To be asked before the thread is stopped. Empty: it is in none, or this architecture does not need it.
std::optional<Sleeping> sleeping(pid_t pid, pid_t thread);

/// Changes the registers of a thread that is stopped, and about to get a signal if `signal`, so that a call which the stop interrupted
/// begins again when the thread goes on; where a signal's handler runs first, the call fails with EINTR as it is to.
/// @return  false: there is nothing to change
bool begin_again(user_regs_struct& registers, const std::optional<Sleeping>& before, pid_t pid, pid_t thread,
                 bool signal);

} // namespace fastsdt::engine
