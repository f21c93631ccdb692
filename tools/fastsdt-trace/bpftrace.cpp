// SPDX-License-Identifier: BSD-2-Clause
#include "bpftrace.h"

#include "base/unusable.h"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fastsdt::trace_tool {

std::vector<char*> pointers(const std::vector<std::string>& words)
{
    std::vector<char*> found;
    for (const std::string& word : words)
        found.push_back(const_cast<char*>(word.c_str()));
    found.push_back(nullptr);
    return found;
}

Bpftrace::Bpftrace(const std::vector<std::string>& command, const Signals& signals)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        throw Unusable(fmt::format("pipe: {}", std::strerror(errno)));
    output_ = Descriptor(ends[0]);
    const Descriptor write_end(ends[1]);
    const Descriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
    const std::vector<char*> words = pointers(command);
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ < 0)
        throw Unusable(fmt::format("fork: {}", std::strerror(errno)));
    if (pid_ == 0) {
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent || setpgid(0, 0) < 0
            || dup2(nothing.get(), 0) < 0 || dup2(write_end.get(), 1) < 0)
            _exit(127);
        signals.as_before();
        execvp(words[0], words.data());
        _exit(127);
    }
    setpgid(pid_, pid_); // whoever is first
}

Bpftrace::~Bpftrace()
{
    if (pid_ < 0)
        return;
    kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
}

void Bpftrace::interrupt() const
{
    kill(pid_, SIGINT);
}

void Bpftrace::ask_for_maps() const
{
    kill(pid_, SIGUSR1);
}

void Bpftrace::remind() const
{
    siginfo_t info{};
    kill(pid_, SIGSTOP);
    while (waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WEXITED | WNOWAIT) < 0 && errno == EINTR) {}
    kill(pid_, SIGCONT);
}

void Bpftrace::end() const
{
    kill(-pid_, SIGKILL);
}

int Bpftrace::reap()
{
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {}
    kill(-pid_, SIGKILL);
    pid_ = -1;
    return status;
}

} // namespace fastsdt::trace_tool
