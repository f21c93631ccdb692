// SPDX-License-Identifier: BSD-2-Clause
//
// x86-64: the kernel looks at the result of an interrupted call after the stop (arch_do_signal_or_restart()). With ERESTARTNOHAND
// it begins the call again if no handler is to run, and turns it into EINTR if one is.
//
// arm64: it has looked before the stop (do_signal()), and what the arguments were is lost by then. So they are read before, and the
// thread is set back to the instruction itself. A signal that comes between that and the thread's going on is handled before
// the call, which then begins again.
//
// A time-out of such a call begins anew: the kernel does not say how much of it was left.
#include "process/interrupted.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <sys/syscall.h>

#if defined(__aarch64__)
#include "process/ptrace.h"
#include "proc/threads.h"

#include <csignal>
#include <fmt/format.h>
#include <fstream>
#include <sstream>
#include <string>
#endif

namespace fastsdt::engine {
namespace {

// Those that return EINTR themselves, and whose call may be made twice: they wait first and act then. close() is none.
[[maybe_unused]] bool may_be_made_twice(uint64_t call)
{
    static constexpr long calls[] = {
        SYS_read,
        SYS_write,
        SYS_connect,
        SYS_accept,
        SYS_accept4,
        SYS_sendto,
        SYS_recvfrom,
        SYS_sendmsg,
        SYS_recvmsg,
        SYS_sendmmsg,
        SYS_recvmmsg,
        SYS_semop,
        SYS_semtimedop,
        SYS_io_getevents,
        SYS_rt_sigtimedwait,
        SYS_epoll_pwait,
        SYS_pselect6,
        SYS_ppoll,
#ifdef SYS_io_pgetevents
        SYS_io_pgetevents,
#endif
        426, // io_uring_enter, on all architectures
        441, // epoll_pwait2
#ifdef SYS_epoll_wait
        SYS_epoll_wait,
#endif
    };
    return std::find(std::begin(calls), std::end(calls), static_cast<long>(call)) != std::end(calls);
}

} // namespace

#if defined(__aarch64__)
std::optional<Sleeping> sleeping(pid_t pid, pid_t thread)
{
    std::ifstream in(fmt::format("/proc/{}/task/{}/syscall", pid, thread)); // NUMBER ARGUMENT... SP PC, or "running"
    Sleeping s;
    uint64_t others = 0;
    in >> std::dec >> s.call >> std::hex >> s.argument;
    for (int i = 1; i < 6; ++i)
        in >> others;
    if (in >> s.stack >> s.counter)
        return s;
    return {};
}

bool begin_again(user_regs_struct& registers, const std::optional<Sleeping>& before, pid_t pid, pid_t thread,
                 bool signal)
{
    if (signal || !before || static_cast<int64_t>(registers.regs[0]) != -EINTR || registers.regs[8] != before->call
        || registers.sp != before->stack || registers.pc != before->counter || !may_be_made_twice(before->call))
        return false;
    const auto set = [&](const char* name) -> uint64_t {
        const std::string text = status_field(pid, thread, name);
        return text.empty() ? 0 : std::stoull(text, nullptr, 16);
    };
    if ((set("SigPnd:") | set("ShdPnd:")) & set("SigCgt:") & ~set("SigBlk:"))
        return false; // a handler will run
    constexpr unsigned syscall_length = 4;
    registers.pc -= syscall_length;
    registers.regs[0] = before->argument;
    return true;
}
#else
std::optional<Sleeping> sleeping(pid_t, pid_t)
{
    return {};
}

#if defined(__x86_64__)
bool begin_again(user_regs_struct& registers, const std::optional<Sleeping>&, pid_t, pid_t, bool)
{
    constexpr int64_t erestartnohand = 514; // include/linux/errno.h
    if (static_cast<int64_t>(registers.orig_rax) < 0 || static_cast<int64_t>(registers.rax) != -EINTR
        || !may_be_made_twice(registers.orig_rax))
        return false;
    registers.rax = static_cast<uint64_t>(-erestartnohand);
    return true;
}
#else
bool begin_again(user_regs_struct&, const std::optional<Sleeping>&, pid_t, pid_t, bool)
{
    return false;
}
#endif
#endif

} // namespace fastsdt::engine
