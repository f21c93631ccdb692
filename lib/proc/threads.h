// SPDX-License-Identifier: BSD-2-Clause
// The threads of a process, as /proc says.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace fastsdt {

/// R, S, D, T, t, Z, X, as /proc says it of a thread; 0: there is no such thread.
char state_of(pid_t pid, pid_t thread);
bool has_ended(char state);

/// The value after `name`, for example "Seccomp:", in /proc/PID/task/TID/status. Empty: there is none.
std::string status_field(pid_t pid, pid_t thread, std::string_view name);
/// The same where it is numbers: several for "NSpid:", the last of which is of the process' own namespace.
std::vector<uint64_t> status_numbers(pid_t pid, pid_t thread, std::string_view name);

/// Whether a thread has a seccomp filter, or is in strict mode.
bool has_seccomp(pid_t pid, pid_t thread);

/// Living threads of a process by their numbers, the first one first. Empty: it has ended.
std::vector<pid_t> living_threads(pid_t pid);
/// The first of them; 0: it has ended.
pid_t living_thread(pid_t pid);
/// The first thread has ended and others run: the process looks like a zombie, but lives.
bool first_thread_ended(pid_t pid);

} // namespace fastsdt
