// SPDX-License-Identifier: BSD-2-Clause
#include "process/allowed.h"

#include "base/unusable.h"
#include "proc/threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

namespace fastsdt::engine {
namespace {

#if defined(__x86_64__)
constexpr uint32_t audit_arch = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t audit_arch = AUDIT_ARCH_AARCH64;
#else
constexpr uint32_t audit_arch = 0;
#endif
static_assert(std::endian::native == std::endian::little, "the low half of an argument is its first");

using KnownWord = std::optional<uint32_t>; // empty: not known

struct FilterMachine {
    KnownWord a = 0, x = 0;
    std::array<KnownWord, BPF_MEMWORDS> memory{};
};

// What struct seccomp_data has at an offset.
KnownWord data_at(const AskedCall& call, uint32_t offset)
{
    if (offset == offsetof(seccomp_data, nr))
        return static_cast<uint32_t>(call.number);
    if (offset == offsetof(seccomp_data, arch))
        return audit_arch;
    const size_t first = offsetof(seccomp_data, args);
    if (offset < first || offset >= sizeof(seccomp_data))
        return std::nullopt;
    const auto& argument = call.arguments[(offset - first) / sizeof(uint64_t)];
    if (!argument)
        return std::nullopt;
    return static_cast<uint32_t>(*argument >> ((offset - first) % sizeof(uint64_t) ? 32 : 0));
}

KnownWord alu_result(uint16_t operation, KnownWord left, KnownWord right)
{
    if (operation == BPF_NEG)
        return left ? KnownWord(0 - *left) : left;
    if (!left || !right)
        return std::nullopt;
    switch (operation) {
    case BPF_ADD: return *left + *right;
    case BPF_SUB: return *left - *right;
    case BPF_MUL: return *left * *right;
    case BPF_DIV: return *left / *right;
    case BPF_AND: return *left & *right;
    case BPF_OR: return *left | *right;
    case BPF_XOR: return *left ^ *right;
    case BPF_LSH: return *left << (*right & 31);
    case BPF_RSH: return *left >> (*right & 31);
    default: return std::nullopt;
    }
}

// Empty: not known.
std::optional<bool> holds(uint16_t condition, KnownWord left, KnownWord right)
{
    if (!left || !right)
        return std::nullopt;
    switch (condition) {
    case BPF_JEQ: return *left == *right;
    case BPF_JGT: return *left > *right;
    case BPF_JGE: return *left >= *right;
    default: return (*left & *right) != 0; // BPF_JSET
    }
}

// Follows both ways where it is not known which one is taken. A filter has no loops.
bool passes(std::span<const sock_filter> filter, const AskedCall& call, size_t at, FilterMachine machine,
            unsigned& steps)
{
    for (; at < filter.size() && steps; --steps) {
        const sock_filter& i = filter[at++];
        const KnownWord operand = BPF_SRC(i.code) == BPF_X ? machine.x : KnownWord(i.k);
        switch (BPF_CLASS(i.code)) {
        case BPF_LD:
        case BPF_LDX: {
            KnownWord& to = BPF_CLASS(i.code) == BPF_LD ? machine.a : machine.x;
            switch (BPF_MODE(i.code)) {
            case BPF_IMM: to = i.k; break;
            case BPF_ABS: to = data_at(call, i.k); break;
            case BPF_LEN: to = static_cast<uint32_t>(sizeof(seccomp_data)); break;
            case BPF_MEM: to = i.k < BPF_MEMWORDS ? machine.memory[i.k] : KnownWord(); break;
            default: return false;
            }
            break;
        }
        case BPF_ST:
        case BPF_STX:
            if (i.k >= BPF_MEMWORDS)
                return false;
            machine.memory[i.k] = BPF_CLASS(i.code) == BPF_ST ? machine.a : machine.x;
            break;
        case BPF_ALU:
            if (BPF_OP(i.code) == BPF_DIV && operand.value_or(0) == 0)
                return false; // by 0: the filter's result is 0, which kills the thread
            machine.a = alu_result(BPF_OP(i.code), machine.a, operand);
            break;
        case BPF_JMP: {
            if (BPF_OP(i.code) == BPF_JA) {
                at += i.k;
                break;
            }
            const auto taken = holds(BPF_OP(i.code), machine.a, operand);
            if (!taken && !passes(filter, call, at + i.jt, machine, steps))
                return false;
            at += taken && *taken ? i.jt : i.jf;
            break;
        }
        case BPF_MISC:
            if (BPF_MISCOP(i.code) == BPF_TAX)
                machine.x = machine.a;
            else
                machine.a = machine.x;
            break;
        case BPF_RET: {
            const KnownWord result = BPF_RVAL(i.code) == BPF_A ? machine.a : KnownWord(i.k);
            const uint32_t action = result.value_or(0) & SECCOMP_RET_ACTION_FULL;
            return result && (action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG);
        }
        }
    }
    return false;
}

AskedCall asked(const Call& call)
{
    AskedCall asked{call.number, {}};
    for (size_t i = 0; i < call.arguments.size(); ++i)
        if (call.arguments[i].kind == Call::Argument::Kind::number)
            asked.arguments[i] = call.arguments[i].value;
    return asked;
}

const char* name_of_call(long number)
{
    switch (number) {
    case SYS_memfd_create: return "memfd_create";
    case SYS_mmap: return "mmap";
    case SYS_mprotect: return "mprotect";
    case SYS_madvise: return "madvise";
    case SYS_munmap: return "munmap";
    case SYS_close: return "close";
    case SYS_openat: return "openat";
    case SYS_process_vm_readv: return "process_vm_readv";
    case SYS_getpid: return "getpid";
    case SYS_gettid: return "gettid";
    case SYS_getuid: return "getuid";
    case SYS_getgid: return "getgid";
    case SYS_getcpu: return "getcpu";
    case SYS_prctl: return "prctl";
    case SYS_futex: return "futex";
    case SYS_clock_gettime: return "clock_gettime";
    case SYS_rt_sigprocmask: return "rt_sigprocmask";
    case SYS_restart_syscall: return "restart_syscall";
    default: return "a system call";
    }
}

} // namespace

bool lets_pass(std::span<const sock_filter> filter, const AskedCall& call)
{
    unsigned steps = 1'000'000; // a filter has 4,096 instructions at most
    return passes(filter, call, 0, {}, steps);
}

std::optional<uint64_t> number_of_filters(pid_t pid, pid_t thread)
{
    const std::vector<uint64_t> number = status_numbers(pid, thread, "Seccomp_filters:");
    return number.empty() ? std::nullopt : std::optional(number.front());
}

// One that has ended says nothing.
bool has_other_filters(pid_t pid, pid_t thread, uint64_t allowing)
{
    return allowing ? number_of_filters(pid, thread).value_or(allowing) != allowing : has_seccomp(pid, thread);
}

void refuse_filter(pid_t pid, pid_t thread, const std::vector<Call>& calls)
{
    std::vector<AskedCall> all;
    std::transform(calls.begin(), calls.end(), std::back_inserter(all), asked);
    all.push_back({SYS_rt_sigprocmask, {}});
    all.push_back({SYS_restart_syscall, {}});
    refuse_filter(pid, thread, all, "as we would have it made");
}

void refuse_filter(pid_t pid, pid_t thread, std::span<const AskedCall> calls, const char* whose)
{
    if (!has_seccomp(pid, thread))
        return;
    for (uintptr_t number = 0;; ++number) {
        const auto at = reinterpret_cast<void*>(number); // NOLINT: of the filter
        const long length = ptrace(PTRACE_SECCOMP_GET_FILTER, thread, at, nullptr);
        std::vector<sock_filter> filter(length > 0 ? static_cast<size_t>(length) : 0);
        if (length < 0 || ptrace(PTRACE_SECCOMP_GET_FILTER, thread, at, filter.data()) != length) {
            if (number != 0 && errno == ENOENT) // there are no more
                return;
            throw Unusable(
                fmt::format("process {}: its thread {} has a seccomp filter, which could kill it for the system "
                            "calls that it would make for us, and what it allows cannot be read ({}); run as root "
                            "outside of containers, or trace it with the kernel's probes",
                            pid, thread, std::strerror(errno)));
        }
        for (const AskedCall& call : calls)
            if (!lets_pass(filter, call))
                throw Unusable(
                    fmt::format("process {}: its thread {} has a seccomp filter, which does not allow {}() {}; "
                                "trace it with the kernel's probes",
                                pid, thread, name_of_call(call.number), whose));
    }
}

} // namespace fastsdt::engine
