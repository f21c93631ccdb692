// SPDX-License-Identifier: BSD-2-Clause
#include "follow.h"

#include "image.h"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace fastsdt {
namespace {

constexpr long follow_options = PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXIT;

// One descriptor per target and thread.
void allow_many_descriptors()
{
    rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

} // namespace

Follower::~Follower()
{
    // Tracees that are left are released by the kernel; a launched program is killed by it (PTRACE_O_EXITKILL) only when
    // this process ends, so do it now.
    if (launched_ && !tasks_.empty())
        kill(first_, SIGKILL);
}

void Follower::launch(const std::vector<std::string>& command)
{
    int go[2], failed[2];
    if (pipe2(go, O_CLOEXEC) < 0 || pipe2(failed, O_CLOEXEC) < 0)
        throw Unusable(fmt::format("pipe: {}", std::strerror(errno)));
    std::vector<char*> words;
    for (const std::string& word : command)
        words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    first_ = fork();
    if (first_ < 0)
        throw Unusable(fmt::format("fork: {}", std::strerror(errno)));
    if (first_ == 0) {
        // Before any probe's descriptor exists: the program inherits none.
        char byte;
        close(go[1]);
        if (read(go[0], &byte, 1) == 1) {
            execvp(words[0], words.data());
            const int error = errno;
            [[maybe_unused]] ssize_t n = write(failed[1], &error, sizeof error);
        }
        _exit(127);
    }
    launched_ = true;
    allow_many_descriptors(); // not for the program
    close(go[0]);
    close(failed[1]);
    if (ptrace(PTRACE_SEIZE, first_, 0, follow_options | PTRACE_O_EXITKILL) < 0) {
        const int error = errno;
        kill(first_, SIGKILL);
        waitpid(first_, nullptr, 0);
        throw Unusable(fmt::format("cannot trace {}: {}", command[0], std::strerror(error)));
    }
    counted_.assign(targets_.size(), {});
    add_task(first_);
    [[maybe_unused]] ssize_t n = write(go[1], "", 1);
    close(go[1]);
    int error = 0;
    // The pipe closes at the exec; a stop before it is handled here.
    fcntl(failed[0], F_SETFL, O_NONBLOCK);
    for (;;) {
        const ssize_t got = read(failed[0], &error, sizeof error);
        if (got == 0)
            break;
        if (got > 0) {
            close(failed[0]);
            // It stops once more on its way out, where no signal reaches it any longer.
            for (int status; waitpid(first_, &status, __WALL) == first_ && WIFSTOPPED(status);)
                ptrace(PTRACE_CONT, first_, 0, 0);
            tasks_.clear();
            throw Unusable(fmt::format("{}: {}", command[0], std::strerror(error)));
        }
        int status;
        if (const pid_t task = waitpid(first_, &status, __WALL | WNOHANG); task > 0) {
            if (!WIFSTOPPED(status)) {
                wait_status_ = status;
                end_task(task);
                break;
            }
            on_stop(task, status);
        }
        std::this_thread::yield();
    }
    close(failed[0]);
}

void Follower::seize(pid_t pid)
{
    allow_many_descriptors();
    counted_.assign(targets_.size(), {});
    first_ = pid;
    // Threads that appear meanwhile: once more until there is nothing new.
    for (bool again = true; again;) {
        again = false;
        const auto threads = threads_of(pid);
        if (threads.empty())
            throw Unusable(fmt::format("process {}: there is no such process", pid));
        for (pid_t task : threads) {
            if (tasks_.contains(task))
                continue;
            if (ptrace(PTRACE_SEIZE, task, 0, follow_options) < 0) {
                if (errno == ESRCH)
                    continue;
                throw Unusable(
                    fmt::format("process {}: cannot be traced ({}); another tracer, for example a debugger, may have "
                                "it, or run as root",
                                pid, std::strerror(errno)));
            }
            add_task(task);
            again = true;
        }
    }
}

void Follower::add_task(pid_t task)
{
    auto [entry, fresh] = tasks_.try_emplace(task);
    if (!fresh)
        return;
    for (size_t i = 0; i < targets_.size(); ++i) {
        entry->second.emplace_back(targets_[i], task);
        const int error = entry->second.back().error();
        if (error && error != ESRCH && !counted_[i].error)
            counted_[i].error = error;
    }
}

void Follower::take_hits(pid_t task)
{
    const auto found = tasks_.find(task);
    if (found == tasks_.end())
        return;
    for (size_t i = 0; i < found->second.size(); ++i)
        counted_[i].hits += found->second[i].hits();
    found->second.clear();
}

void Follower::end_task(pid_t task)
{
    take_hits(task);
    tasks_.erase(task);
}

void Follower::look(pid_t pid)
{
    for (size_t i = 0; i < targets_.size(); ++i)
        try {
            if (const auto address = runtime_address(pid, targets_[i].path, targets_[i].file_offset))
                counted_[i].live = read_memory(pid, *address, live_size_);
        } catch (const Unusable&) {
            return; // it is gone
        }
}

void Follower::on_stop(pid_t task, int status)
{
    const int event = status >> 16;
    int signal = 0;
    switch (event) {
    case PTRACE_EVENT_CLONE:
    case PTRACE_EVENT_FORK:
    case PTRACE_EVENT_VFORK: {
        unsigned long fresh = 0;
        // The new task is stopped until it is waited for: no hit is missed.
        if (ptrace(PTRACE_GETEVENTMSG, task, 0, &fresh) == 0)
            add_task(static_cast<pid_t>(fresh));
        break;
    }
    case PTRACE_EVENT_EXIT:
        if (task == first_)
            look(task);
        // Its end is still to be waited for.
        take_hits(task);
        break;
    case PTRACE_EVENT_STOP:
        // The first stop of a new task, or a stop of the whole group (SIGSTOP and its like), which is kept.
        if (const int by = WSTOPSIG(status); by == SIGSTOP || by == SIGTSTP || by == SIGTTIN || by == SIGTTOU) {
            ptrace(PTRACE_LISTEN, task, 0, 0);
            return;
        }
        add_task(task);
        break;
    case 0: signal = WSTOPSIG(status); break;
    default: break;
    }
    ptrace(PTRACE_CONT, task, 0, signal);
}

void Follower::let_go()
{
    look(first_);
    while (!tasks_.empty()) {
        const pid_t task = tasks_.begin()->first;
        int status;
        if (ptrace(PTRACE_INTERRUPT, task, 0, 0) == 0 && waitpid(task, &status, __WALL) == task && WIFSTOPPED(status))
            ptrace(PTRACE_DETACH, task, 0, (status >> 16) == 0 ? WSTOPSIG(status) : 0);
        end_task(task);
    }
}

void Follower::run(const std::atomic<int>& stop, std::chrono::milliseconds time)
{
    using clock = std::chrono::steady_clock;
    const auto start = clock::now();
    // A time limit is kept by looking now and then: waitpid has none. (max() itself would overflow in a comparison.)
    const bool limited = !launched_ && time != std::chrono::milliseconds::max();
    int sent = 0;
    while (!tasks_.empty()) {
        if (const int signal = stop; signal && !launched_) {
            let_go();
            return;
        } else if (signal && sent != signal) {
            kill(first_, signal);
            sent = signal;
        }
        if (limited && clock::now() - start >= time) {
            let_go();
            return;
        }
        int status;
        rusage usage;
        const pid_t task = wait4(-1, &status, __WALL | (limited ? WNOHANG : 0), &usage);
        if (task == 0) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            continue;
        }
        if (task < 0) {
            if (errno == EINTR)
                continue;
            break;
        }
        if (WIFSTOPPED(status)) {
            on_stop(task, status);
            continue;
        }
        end_task(task);
        if (task == first_) {
            wait_status_ = status;
            const auto seconds = [](const timeval& t) {
                return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
            };
            cpu_seconds_ = seconds(usage.ru_utime) + seconds(usage.ru_stime);
        }
    }
}

} // namespace fastsdt
