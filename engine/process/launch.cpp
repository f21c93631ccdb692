// SPDX-License-Identifier: BSD-2-Clause
//
// The dynamic loader tells debuggers when the list of modules changes: it calls an empty function, _dl_debug_state(), and
// says in r_debug whether the list is complete (<link.h>). The second call finds all libraries of the program mapped and
// relocated, and none of their constructors run (glibc, elf/rtld.c: dl_main()). If the loader lacks that function, the
// program is held at its entry; musl calls constructors only after that.
//
// Then the program is stopped as by SIGSTOP and no longer traced, so that outside.cpp, which changes it, finds a
// stopped process.
#include "process/launch.h"

#include "code/machine.h"
#include "process/errand.h"
#include "process/known_function.h"
#include "process/loader.h"
#include "process/outside.h"
#include "process/ptrace.h"
#include "process/signals_blocked.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <elf.h>
#include <exception>
#include <fcntl.h>
#include <future>
#include <link.h>
#include <map>
#include <mutex>
#include <optional>
#include <sys/eventfd.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace fastsdt::engine {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Deadline = Tracees::Deadline;

constexpr std::chrono::seconds executes_within{1}; // since it said that it is about to

// The breakpoint instruction, and how far behind its first byte a thread stops that has executed it.
#if defined(__aarch64__)
using BreakpointBytes = std::array<unsigned char, 4>;
constexpr BreakpointBytes breakpoint_instruction = {0x00, 0x00, 0x20, 0xd4}; // brk #0
constexpr uint64_t behind_breakpoint = 0;
#else
using BreakpointBytes = std::array<unsigned char, 1>;
constexpr BreakpointBytes breakpoint_instruction = {0xcc}; // int3
constexpr uint64_t behind_breakpoint = 1;
#endif

class Start {
public:
    explicit Start(pid_t pid) : pid_(pid), tracees_(pid)
    {
        tracees_.heed_signals(); // it may wait for ever
        tracees_.seize(pid, PTRACE_O_TRACEEXEC);
    }

    /// Which executes may be another thread: then it takes the first one's place and number, and its tracer.
    void expect(pid_t thread) { tracees_.seize(thread, PTRACE_O_TRACEEXEC); }

    void run(Launched& launched)
    {
        launched.go();
        if (!executes(Clock::now() + 1h))
            wait(false);
        hold();
    }

    /// Waits until the process executes another program; it is stopped then. False: not by the deadline, or it has
    /// ended.
    bool executes(Clock::time_point deadline)
    {
        if (tracees_.tasks().empty())
            return false;
        if (tracees_.tasks().size() > 1)
            return one_executes(deadline);
        Tracees::Task& task = tracees_.tasks().front();
        if (!task.stopped)
            tracees_.wait(task, deadline);
        while (task.stopped && task.event != PTRACE_EVENT_EXEC)
            tracees_.go_on(task, stays_stopped(task) ? PTRACE_LISTEN : PTRACE_CONT, deadline);
        return task.stopped;
    }

    /// Takes the process from the stop at its exec to the place where its sites are armed. @return  stopped there
    Tracees& go_to_place()
    {
        memory_ = Descriptor(open(fmt::format("/proc/{}/mem", pid_).c_str(), O_RDWR | O_CLOEXEC));
        if (!memory_)
            throw Unusable(fmt::format("process {}: its memory cannot be opened: {}", pid_, std::strerror(errno)));
        auxv_ = read_auxv(ProcessView(pid_));
        if (auxv_[AT_BASE] != 0)
            run_loader();
        tracees_.tasks().front().signal = 0;
        return tracees_;
    }

    /// The same, and leaves it stopped as by SIGSTOP.
    void hold()
    {
        go_to_place();
        kill(pid_, SIGSTOP); // while the process is still traced, so that it executes no instruction before it stops
    }

    /// Stops the process, so that our destructor can let it go.
    void leave()
    {
        if (!tracees_.tasks().empty() && !tracees_.tasks().front().stopped)
            tracees_.stop(pid_, Clock::now() + 1s);
    }

private:
    static bool stays_stopped(const Tracees::Task& task)
    {
        return task.event == PTRACE_EVENT_STOP && task.signal != SIGTRAP; // by SIGSTOP or its like
    }

    // While another thread takes the first one's place the process looks as if it had ended.
    bool one_executes(Deadline deadline)
    {
        for (; Clock::now() < deadline; std::this_thread::sleep_for(50us))
            for (Tracees::Task& task : tracees_.tasks()) {
                if (!task.stopped)
                    tracees_.wait(task, Clock::now());
                if (task.stopped && task.event == PTRACE_EVENT_EXEC)
                    return true;
                if (task.stopped)
                    tracees_.go_on(task, stays_stopped(task) ? PTRACE_LISTEN : PTRACE_CONT, Clock::now());
            }
        return false;
    }

    void run_loader()
    {
        set(auxv_[AT_ENTRY]);
        if (const uint64_t address = debug_state())
            set(address);
        for (;;) {
            go_on(PTRACE_CONT);
            const Tracees::Task& task = tracees_.tasks().front();
            if (task.event || task.signal != SIGTRAP)
                continue;
            user_regs_struct registers = Tracees::registers(task.number);
            const uint64_t address = program_counter(registers) - behind_breakpoint;
            if (!breakpoints_.contains(address))
                continue;
            set_program_counter(registers, address);
            Tracees::set_registers(task.number, registers);
            tracees_.tasks().front().signal = 0;
            if (address == auxv_[AT_ENTRY] || complete())
                break;
            write(address, breakpoints_[address]);
            go_on(PTRACE_SINGLESTEP);
            tracees_.tasks().front().signal = 0;
            write(address, breakpoint_instruction);
        }
        for (const auto& [address, hidden] : breakpoints_)
            write(address, hidden);
    }

    void wait(bool stopped) const
    {
        if (!stopped)
            throw Unusable(fmt::format("process {}: it ended before its program began", pid_));
    }
    void go_on(int request) { wait(tracees_.go_on(tracees_.tasks().front(), request, Clock::now() + 1h)); }

    void write(uint64_t address, const BreakpointBytes& bytes) const
    {
        if (pwrite(memory_.get(), bytes.data(), bytes.size(), static_cast<off_t>(address))
            != static_cast<ssize_t>(bytes.size()))
            throw Unusable(fmt::format("process {}: its code cannot be written: {}", pid_, std::strerror(errno)));
    }
    void set(uint64_t address)
    {
        breakpoints_[address] = value_at<BreakpointBytes>(memory_.get(), address).value_or(BreakpointBytes{});
        write(address, breakpoint_instruction);
    }

    // Runtime address of the loader's _dl_debug_state(), or 0.
    uint64_t debug_state() const
    {
        ProcessView view(pid_);
        for (const Mapping& m : view.look())
            if (m.start == auxv_.at(AT_BASE))
                return known_function(view, m, "_dl_debug_state");
        return 0; // the program's entry has to do
    }

    // r_debug says that the list of modules is complete.
    bool complete() const
    {
        const auto debug = read_debug_state(auxv_, memory_.get());
        return debug && debug->value.r_map && debug->value.r_state == r_debug::RT_CONSISTENT;
    }

    const pid_t pid_;
    Tracees tracees_;
    Descriptor memory_;
    std::map<uint64_t, uint64_t> auxv_;
    std::map<uint64_t, BreakpointBytes> breakpoints_; // by address, the instruction that each replaces
};

} // namespace

// Learns of the traced process's stops by SIGCHLD, which the calling thread has blocked as long as this lives.
class Held::Next {
public:
    explicit Next(pid_t pid)
    {
        sigset_t child;
        sigemptyset(&child);
        sigaddset(&child, SIGCHLD);
        pthread_sigmask(SIG_BLOCK, &child, &former_);
        descriptor_ = Descriptor(signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
        start_.emplace(pid);
    }
    Next(const Next&) = delete;
    Next& operator=(const Next&) = delete;
    ~Next()
    {
        start_->leave();
        start_.reset();
        pthread_sigmask(SIG_SETMASK, &former_, nullptr);
    }

    int descriptor() const { return descriptor_.get(); }
    bool held(Clock::time_point deadline)
    {
        signalfd_siginfo info;
        while (read(descriptor_.get(), &info, sizeof info) > 0) {}
        if (!start_->executes(deadline))
            return false;
        start_->hold();
        return true;
    }

private:
    sigset_t former_{};
    Descriptor descriptor_;
    std::optional<Start> start_;
};

struct Executing::Work {
    std::mutex mutex;
    std::condition_variable changed;
    State state = State::waits;
    const std::function<void()>* work = nullptr;
    bool let_go = false;
    std::exception_ptr thrown;

    void set(State now, int event)
    {
        const std::lock_guard lock(mutex);
        state = now;
        changed.notify_all();
        (void)!eventfd_write(event, 1);
    }
    // Until it is to be let go.
    void serve()
    {
        std::unique_lock lock(mutex);
        for (;;) {
            changed.wait(lock, [this] { return work || let_go; });
            if (!work)
                return;
            try {
                (*work)();
            } catch (...) {
                thrown = std::current_exception();
            }
            work = nullptr;
            changed.notify_all();
        }
    }
};

// What the process does before it executes is its own: it may do it for as long as it likes, but untraced.
Executing::Executing(pid_t pid, pid_t thread, int event, const std::function<void()>& traced)
    : pid_(pid), work_(std::make_unique<Work>())
{
    std::promise<void> begun;
    const SignalsBlocked blocked; // they are for the threads that expect them
    thread_ = begin_thread([this, thread, event, &begun] {
        bool told = false;
        try {
            Start start(pid_);
            start.expect(thread);
            begun.set_value();
            told = true;
            if (start.executes(Clock::now() + executes_within)) {
                const Kept kept(start.go_to_place());
                work_->set(State::held, event);
                work_->serve();
            } else {
                start.leave();
            }
        } catch (...) {
            if (!told)
                begun.set_exception(std::current_exception());
        }
        work_->set(State::over, event);
    });
    try {
        begun.get_future().get();
    } catch (...) {
        thread_.join();
        throw;
    }
    traced();
}

Executing::~Executing()
{
    {
        const std::lock_guard lock(work_->mutex);
        work_->let_go = true;
        work_->changed.notify_all();
    }
    thread_.join();
}

Executing::State Executing::state() const
{
    const std::lock_guard lock(work_->mutex);
    return work_->state;
}

void Executing::run(const std::function<void()>& work)
{
    std::unique_lock lock(work_->mutex);
    work_->work = &work;
    work_->changed.notify_all();
    work_->changed.wait(lock, [this] { return !work_->work; });
    if (const auto thrown = std::exchange(work_->thrown, nullptr))
        std::rethrow_exception(thrown);
}

namespace {

// The target of a process that was stopped as by SIGSTOP.
std::unique_ptr<Target> open_stopped(pid_t pid)
{
    siginfo_t info{}; // WNOWAIT: if the process has ended, Launched::reap() still has to see that
    while (waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WEXITED | WNOWAIT) < 0 && errno == EINTR) {}
    if (info.si_code != CLD_STOPPED)
        throw Unusable(fmt::format("process {}: it ended before its program began", pid));
    return open_outside(pid);
}

} // namespace

Held::Held(Launched& launched) : pid_(launched.pid())
{
    if (!arms_nothing.empty())
        throw Unusable(fmt::format("the user-space engine {}; trace it with --engine kernel", arms_nothing));
    as_tracer([&] { Start(pid_).run(launched); });
    target_ = open_stopped(pid_);
}

Held::~Held()
{
    let_go();
}

void Held::let_go()
{
    next_.reset();
    if (held_)
        kill(pid_, SIGCONT);
    held_ = false;
}

void Held::await_next()
{
    next_ = std::make_unique<Next>(pid_);
    if (held_)
        kill(pid_, SIGCONT);
    held_ = false;
}

int Held::descriptor() const
{
    return next_ ? next_->descriptor() : -1;
}

bool Held::next(Clock::time_point deadline)
{
    if (!next_ || !next_->held(deadline))
        return false;
    held_ = true;
    next_.reset();
    former_ = std::move(target_);
    target_ = open_stopped(pid_);
    return true;
}

} // namespace fastsdt::engine
