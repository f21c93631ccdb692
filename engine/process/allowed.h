// SPDX-License-Identifier: BSD-2-Clause
// What the seccomp filters of a thread say of a system call that it is to make for us. A filter is a program of classic BPF; it is
// executed here as the kernel would execute it, before the call is made.
#pragma once
#include "process/errand.h"

#include <array>
#include <cstdint>
#include <linux/filter.h>
#include <optional>
#include <span>
#include <string>
#include <sys/types.h>
#include <vector>

namespace fastsdt::engine {

/// A system call of a thread; arguments that are not known before it is made are empty.
struct AskedCall {
    long number = 0;
    std::array<std::optional<uint64_t>, 6> arguments{};
};

/// Whether a filter lets the call pass, perhaps with a line in a log, whatever those values are that are not known: the empty
/// arguments, and the address of the instruction. As seccomp_check_filter() and seccomp_run_filters() have it (kernel/seccomp.c).
bool lets_pass(std::span<const sock_filter> filter, const AskedCall& call);

/// Throws Unusable if a filter of a stopped tracee does not let one of the calls pass, or rt_sigprocmask(), by which an errand ends, or
/// restart_syscall(), by which an interrupted sleep goes on after any stop; or if its filters cannot be read: that takes CAP_SYS_ADMIN, a tracer
/// without filters, and CONFIG_CHECKPOINT_RESTORE (PTRACE_SECCOMP_GET_FILTER). A thread without filters passes.
void refuse_filter(pid_t pid, pid_t thread, const std::vector<Call>& calls);
/// The same of other calls: throws Unusable with the first that some filter of the thread does not let pass.
void refuse_filter(pid_t pid, pid_t thread, std::span<const AskedCall> calls, const char* whose);
/// What may be asked of a thread by its filters: those that it has are as many as this. Empty: the kernel does not say (before Linux 5.9).
std::optional<uint64_t> number_of_filters(pid_t pid, pid_t thread);
/// Whether the thread has other filters than so many that allow what stubs call; 0: any.
bool has_other_filters(pid_t pid, pid_t thread, uint64_t allowing);

} // namespace fastsdt::engine
