// SPDX-License-Identifier: BSD-2-Clause
// A tracer as a child of the test, which is killed at, or sees fail, one of its system calls.
#pragma once
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <elf.h>
#include <functional>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fastsdt::engine::test {

/// What becomes of the call: 0: the child is killed before it; else it is not made, and fails with this errno.
struct Fate {
    int error = 0;
};

struct Ended {
    bool came = false; ///< the child did come to that call
    int status = 0;    ///< as of waitpid
    uint64_t call = 0, arguments[4]{};
};

inline void let_fail(pid_t thread, int error, bool entry)
{
    user_regs_struct registers;
    iovec io{&registers, sizeof registers};
    ptrace(PTRACE_GETREGSET, thread, NT_PRSTATUS, &io);
#if defined(__aarch64__)
    if (entry) {
        int none = -1;
        iovec call{&none, sizeof none};
        ptrace(PTRACE_SETREGSET, thread, NT_ARM_SYSTEM_CALL, &call);
        return;
    }
    registers.regs[0] = static_cast<uint64_t>(-static_cast<int64_t>(error));
#else
    if (entry)
        registers.orig_rax = ~0ull;
    else
        registers.rax = static_cast<uint64_t>(-static_cast<int64_t>(error));
#endif
    ptrace(PTRACE_SETREGSET, thread, NT_PRSTATUS, &io);
}

/// Runs `tracer` in a child until it, or one of its threads, is about to make its call number `stop` of those that count.
/// @param tracer  its result is the child's status  @param looks_on  once this is false the child runs on without a stop at each call
inline Ended at_call(size_t stop, Fate fate, const std::function<bool(pid_t, const __ptrace_syscall_info&)>& counts,
                     const std::function<int()>& tracer, const std::function<bool()>& looks_on = {})
{
    const pid_t pid = fork();
    if (pid == 0) {
        raise(SIGSTOP);
        _exit(tracer());
    }
    Ended ended;
    waitpid(pid, nullptr, WUNTRACED);
    ptrace(PTRACE_SEIZE, pid, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE);
    kill(pid, SIGCONT);
    size_t seen = 0;
    pid_t failing = 0;
    for (;;) {
        int status = 0;
        const pid_t thread = waitpid(-1, &status, __WALL | __WNOTHREAD);
        if (thread < 0)
            return ended;
        if (!WIFSTOPPED(status)) {
            if (thread != pid)
                continue;
            ended.status = status;
            return ended;
        }
        int signal = status >> 16 ? 0 : WSTOPSIG(status);
        if (signal == (SIGTRAP | 0x80)) {
            signal = 0;
            __ptrace_syscall_info info{};
            if (thread == failing) {
                let_fail(thread, fate.error, false);
                failing = 0;
            } else if (ptrace(static_cast<__ptrace_request>(PTRACE_GET_SYSCALL_INFO), thread, sizeof info, &info) > 0
                       && info.op == PTRACE_SYSCALL_INFO_ENTRY && counts(thread, info) && seen++ == stop) {
                ended.came = true;
                ended.call = info.entry.nr;
                std::copy_n(info.entry.args, 4, ended.arguments);
                if (fate.error == 0) {
                    kill(pid, SIGKILL);
                } else {
                    let_fail(thread, fate.error, true);
                    failing = thread;
                }
            }
        }
        ptrace(looks_on && !looks_on() ? PTRACE_CONT : PTRACE_SYSCALL, thread, nullptr, static_cast<long>(signal));
    }
}

} // namespace fastsdt::engine::test
