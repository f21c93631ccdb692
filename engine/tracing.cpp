// SPDX-License-Identifier: BSD-2-Clause
//
// A task is seized (it runs on), interrupted, and waited for. Threads that come in between are traced by the kernel for us
// (PTRACE_O_TRACECLONE), so that after one look at all threads none can be missed. A process that shares the memory without
// being a thread is found by kcmp(), or by the event of its making.
#include "tracing.h"

#include <fmt/format.h>

#include <algorithm>
#if defined(__aarch64__)
#include <asm/ptrace.h> // SVE_PT_*
#endif
#include <cerrno>
#include <csignal>
#include <cstring>
#include <elf.h>
#include <exception>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <linux/kcmp.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace fastsdt::engine {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// A thread that is asleep or runs stops within microseconds; on a busy machine it has to get a CPU first.
constexpr auto patience = 200ms;

// R, S, D, T, t, Z, X; 0: there is no such task.
char state_of(pid_t pid, pid_t thread)
{
    const std::string state = status_field(pid, thread, "State:");
    return state.empty() ? 0 : state[0];
}

bool ended(char state)
{
    return state == 0 || state == 'Z' || state == 'X';
}

void pause_briefly(unsigned round)
{
    if (round < 50)
        std::this_thread::yield();
    else
        std::this_thread::sleep_for(50us);
}

// What a stopped task was about to get.
long signal_of(const Traced::Task& task)
{
    return task.event || task.signal == (SIGTRAP | 0x80) ? 0 : task.signal;
}

bool own_child(pid_t pid)
{
    return status_field(pid, pid, "PPid:") == std::to_string(getpid());
}

} // namespace

std::string status_field(pid_t pid, pid_t thread, std::string_view name)
{
    std::ifstream in(fmt::format("/proc/{}/task/{}/status", pid, thread));
    for (std::string line; std::getline(in, line);)
        if (line.starts_with(name)) {
            const size_t start = line.find_first_not_of(" \t", name.size());
            return start == line.npos ? std::string() : line.substr(start);
        }
    return {};
}

void as_tracer(const std::function<void()>& work)
{
    std::exception_ptr thrown;
    pid_t tracer = 0;
    std::thread([&] {
        tracer = gettid();
        // Signals are for others: what interrupts the process, and SIGXFSZ, by which it would die of its own RLIMIT_FSIZE.
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, nullptr);
        try {
            work();
        } catch (...) {
            thrown = std::current_exception();
        }
    }).join();
    // Joined is not ended: the kernel wakes us in exit_mm(), and lets go what the thread traced in exit_notify(), before it
    // forgets the thread.
    for (unsigned round = 0; syscall(SYS_tgkill, getpid(), tracer, 0) == 0; ++round)
        pause_briefly(round);
    if (thrown)
        std::rethrow_exception(thrown);
}

void patiently(const std::function<void()>& work)
{
    const auto end = Clock::now() + 2s;
    for (auto pause = 1ms;; pause = std::min(2 * pause, 100ms)) {
        try {
            return work();
        } catch (const Busy&) {
            if (Clock::now() + pause > end)
                throw;
        }
        std::this_thread::sleep_for(pause);
    }
}

std::vector<Mapping> mappings_of(pid_t pid)
{
    for (const pid_t thread : living_threads(pid))
        if (auto mappings = read_maps(thread); !mappings.empty())
            return mappings;
    return {};
}

Memory open_memory(pid_t pid, int flags)
{
    for (const pid_t thread : living_threads(pid))
        if (Descriptor file(open(fmt::format("/proc/{}/task/{}/mem", pid, thread).c_str(), flags | O_CLOEXEC)); file)
            return {std::move(file), thread};
    return {};
}

bool memory_has_gone(int memory)
{
    char byte;
    // EIO from memory that lives: nothing is mapped at 0. Nothing at all from memory that has gone (mem_rw(), fs/proc/base.c).
    return pread(memory, &byte, 1, 0) == 0;
}

pid_t sharer_of_memory(pid_t pid)
{
    const std::vector<pid_t> threads = living_threads(pid);
    if (threads.empty())
        return 0;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
        const pid_t other = std::atoi(entry.path().filename().c_str());
        if (other > 0 && other != pid && syscall(SYS_kcmp, threads.front(), other, KCMP_VM, 0, 0) == 0)
            return other;
    }
    return 0;
}

Traced::Traced(pid_t pid) : pid_(pid), own_child_(own_child(pid)) {}

Traced::~Traced()
{
    for (const Task& task : tasks_)
        if (task.stopped)
            ptrace(PTRACE_DETACH, task.number, nullptr, signal_of(task));
}

void Traced::refuse(pid_t thread, int error) const
{
    const std::string tracer = status_field(pid_, thread, "TracerPid:");
    if (!tracer.empty() && tracer != "0") {
        std::ifstream in(fmt::format("/proc/{}/comm", tracer));
        std::string name;
        std::getline(in, name);
        throw Busy(fmt::format("process {}: process {} ({}) traces it, and only one can; detach that first", pid_,
                               tracer, name));
    }
    if (error == EPERM || error == EACCES) {
        std::ifstream in("/proc/sys/kernel/yama/ptrace_scope");
        int scope = 0;
        in >> scope;
        if (scope >= 3)
            throw Unusable(fmt::format("process {}: kernel.yama.ptrace_scope is {}: nothing on this machine may be "
                                       "traced until it is started again",
                                       pid_, scope));
        if (geteuid() != 0 && scope > 0)
            throw Unusable(fmt::format("process {}: kernel.yama.ptrace_scope is {}: start the program under this tool, "
                                       "or run as root",
                                       pid_, scope));
        const std::string owner = status_field(pid_, thread, "Uid:");
        if (geteuid() != 0 && owner.starts_with(std::to_string(geteuid()) + "\t"))
            throw Unusable(fmt::format("process {}: it does not let its user look into it (it changed its user, its "
                                       "file cannot be read, or PR_SET_DUMPABLE is 0); run as root",
                                       pid_));
        throw Unusable(fmt::format("process {}: it is another user's; run as that user or as root", pid_));
    }
    throw Unusable(fmt::format("process {}: ptrace: {}", pid_, std::strerror(error)));
}

const long Traced::children = PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;

bool Traced::seize(pid_t thread, long options)
{
    if (find(thread))
        return true;
    if (ptrace(PTRACE_SEIZE, thread, nullptr, options | PTRACE_O_TRACESYSGOOD) < 0) {
        const int error = errno;
        if (error == ESRCH || ended(state_of(pid_, thread)))
            return false;
        // Already ours, if a thread that is traced has made it.
        const std::string tracer = status_field(pid_, thread, "TracerPid:");
        if (tracer != std::to_string(gettid()))
            refuse(thread, error);
    }
    tasks_.push_back({thread});
    return true;
}

void Traced::seize_all()
{
    for (bool found = true; found;) {
        found = false;
        for (pid_t thread : living_threads(pid_))
            if (!find(thread) && seize(thread))
                found = true;
    }
    if (tasks_.empty())
        throw Unusable(fmt::format("process {}: it has ended", pid_));
}

Traced::Task* Traced::find(pid_t thread)
{
    for (Task& task : tasks_)
        if (task.number == thread)
            return &task;
    return nullptr;
}

// A task that is stopped at its making of another: that one is traced too, and stops by itself.
void Traced::learn_child(const Task& task)
{
    unsigned long child = 0;
    if (ptrace(PTRACE_GETEVENTMSG, task.number, nullptr, &child) < 0 || child == 0)
        return;
    const auto number = static_cast<pid_t>(child);
    if (access(fmt::format("/proc/{}/task/{}", pid_, number).c_str(), F_OK) != 0
        && syscall(SYS_kcmp, task.number, number, KCMP_VM, 0, 0) == 0)
        sharer_ = number;
    if (!find(number))
        tasks_.push_back({number});
}

bool Traced::poll(Task& task)
{
    siginfo_t info{};
    // The end of our own child is not taken from whoever waits for it.
    const int ends = task.number == pid_ && own_child_ ? 0 : WEXITED;
    if (waitid(P_PID, static_cast<id_t>(task.number), &info, WNOHANG | WSTOPPED | ends | __WALL | __WNOTHREAD) < 0) {
        if (errno == ECHILD)
            ended_.insert(task.number);
        return errno == ECHILD;
    }
    if (info.si_pid == 0)
        return ends == 0 && ended(state_of(pid_, task.number)) && ended_.insert(task.number).second;
    if (info.si_code != CLD_TRAPPED) {
        ended_.insert(task.number);
        return true;
    }
    task.stopped = true;
    task.signal = info.si_status & 0xff;
    task.event = info.si_status >> 8;
    return true;
}

bool Traced::wait(Task& task, Deadline deadline)
{
    for (unsigned round = 0; !poll(task); ++round) {
        if (Clock::now() > deadline)
            return false;
        pause_briefly(round);
    }
    return task.stopped;
}

bool Traced::go_on(Task& task, int request, Deadline deadline)
{
    task.stopped = false;
    ptrace(static_cast<__ptrace_request>(request), task.number, nullptr, signal_of(task));
    return wait(task, deadline);
}

bool Traced::stop(pid_t thread, Deadline deadline)
{
    Task* task = find(thread);
    if (!task || ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr) < 0)
        return false;
    return wait(*task, deadline);
}

void Traced::stop_all()
{
    if (const pid_t sharer = sharer_of_memory(pid_))
        throw Busy(fmt::format("process {}: process {} has the same memory (vfork, or clone with CLONE_VM), and would "
                               "not be stopped with it",
                               pid_, sharer));
    for (const Task& task : tasks_)
        ptrace(PTRACE_INTERRUPT, task.number, nullptr, nullptr); // fails for one that ends, which poll() sees
    const auto deadline = Clock::now() + patience;
    for (unsigned round = 0;; ++round) {
        bool all = true;
        for (size_t i = 0; i < tasks_.size(); ++i) { // learn_child() adds to them
            if (tasks_[i].stopped || ended_.contains(tasks_[i].number))
                continue;
            if (!poll(tasks_[i]))
                all = false;
            else if (tasks_[i].event == PTRACE_EVENT_CLONE || tasks_[i].event == PTRACE_EVENT_FORK
                     || tasks_[i].event == PTRACE_EVENT_VFORK)
                learn_child(Task(tasks_[i]));
        }
        if (all && std::all_of(tasks_.begin(), tasks_.end(), [&](const Task& t) {
                return t.stopped || ended_.contains(t.number);
            }))
            break;
        if (Clock::now() > deadline)
            throw Busy(
                fmt::format("process {}: not all of its threads stop; one waits in the kernel for something that "
                            "does not come (state D in ps -L)",
                            pid_));
        pause_briefly(round);
    }
    if (sharer_)
        throw Busy(
            fmt::format("process {}: process {} has the same memory (vfork, or clone with CLONE_VM)", pid_, sharer_));
    std::erase_if(tasks_, [&](const Task& t) { return ended_.contains(t.number); });
    if (tasks_.empty())
        throw Unusable(fmt::format("process {}: it has ended", pid_));
}

user_regs_struct Traced::registers(pid_t thread)
{
    user_regs_struct registers;
    iovec io{&registers, sizeof registers};
    if (ptrace(PTRACE_GETREGSET, thread, NT_PRSTATUS, &io) < 0)
        throw Busy(fmt::format("thread {}: its registers cannot be read: {}", thread, std::strerror(errno)));
    if (io.iov_len != sizeof registers) // the kernel gives a compat task's own, shorter set
        throw Unusable(fmt::format("thread {}: it executes 32-bit code", thread));
    return registers;
}

void Traced::set_registers(pid_t thread, const user_regs_struct& registers)
{
    user_regs_struct copy = registers;
    iovec io{&copy, sizeof copy};
    if (ptrace(PTRACE_SETREGSET, thread, NT_PRSTATUS, &io) < 0)
        throw Busy(fmt::format("thread {}: its registers cannot be set: {}", thread, std::strerror(errno)));
}

std::vector<std::byte> Traced::wide_vectors([[maybe_unused]] pid_t thread)
{
#if defined(__aarch64__)
    std::vector<std::byte> vectors(16384); // for the longest that there may be
    iovec io{vectors.data(), vectors.size()};
    constexpr int streaming_vectors = 0x40b; // NT_ARM_SSVE, include/uapi/linux/elf.h
    if (ptrace(PTRACE_GETREGSET, thread, streaming_vectors, &io) == 0) {
        user_sve_header header;
        std::memcpy(&header, vectors.data(), sizeof header);
        if ((header.flags & SVE_PT_REGS_MASK) == SVE_PT_REGS_SVE)
            throw Busy(fmt::format("thread {}: it is in streaming mode (SME), which a system call ends", thread));
    }
    io = {vectors.data(), vectors.size()};
    if (ptrace(PTRACE_GETREGSET, thread, NT_ARM_SVE, &io) == 0) {
        vectors.resize(io.iov_len);
        return vectors;
    }
#endif
    return {};
}

void Traced::set_wide_vectors([[maybe_unused]] pid_t thread, [[maybe_unused]] const std::vector<std::byte>& vectors)
{
#if defined(__aarch64__)
    std::vector<std::byte> copy = vectors;
    iovec io{copy.data(), copy.size()};
    if (!copy.empty() && ptrace(PTRACE_SETREGSET, thread, NT_ARM_SVE, &io) < 0)
        throw Busy(fmt::format("thread {}: its vector registers cannot be set: {}", thread, std::strerror(errno)));
#endif
}

} // namespace fastsdt::engine
