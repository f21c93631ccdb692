// SPDX-License-Identifier: BSD-2-Clause
#include "program.h"

#include "process/outside.h"
#include "process/ptrace.h"
#include "say.h"

#include <fmt/format.h>

#include <csignal>
#include <sys/wait.h>
#include <utility>

namespace fastsdt::trace_tool {

Program::Program(pid_t pid) : Program(pid, engine::open_outside(pid)) {}

Program::Program(pid_t pid, std::unique_ptr<engine::Target> target) : pid_(pid), target_(std::move(target)) {}

Program::Program(const std::vector<std::string>& command, const Signals& signals) : name_(command[0])
{
    launched_.emplace(command, signals);
    pid_ = launched_->pid();
    held_ = std::make_unique<engine::Held>(*launched_);
}

Program::~Program()
{
    if (launched_ && !launched_->is_released() && launched_->pid() > 0)
        kill(pid_, SIGKILL);
}

void Program::let_go()
{
    if (held_)
        held_->let_go();
    if (launched_)
        launched_->release();
}

void Program::await_next()
{
    held_->await_next();
    launched_->release();
}

bool Program::stops(Signals::Signal signal)
{
    const bool stop = !ours() || interrupted_;
    if (ours())
        launched_->pass_on(signal);
    interrupted_ = true;
    return stop;
}

void Program::finish(int process)
{
    if (!launched_)
        return;
    kill(pid_, SIGTERM);
    wait_readable({process}, std::chrono::steady_clock::now() + std::chrono::seconds(1));
}

void Program::reap()
{
    if (!launched_)
        return;
    const auto end = launched_->reap();
    constexpr int of_signals = 128;
    status_ = WIFSIGNALED(end.wait_status) ? of_signals + WTERMSIG(end.wait_status) : WEXITSTATUS(end.wait_status);
    if (WIFSIGNALED(end.wait_status))
        say(fmt::format("{} was killed by signal {}", name_, WTERMSIG(end.wait_status)));
}

} // namespace fastsdt::trace_tool
