// SPDX-License-Identifier: BSD-2-Clause
//
// The dynamic loader tells debuggers when the list of modules changes: it calls an empty function, _dl_debug_state(), and
// says in r_debug whether the list is complete (<link.h>). The second call finds all libraries of the program mapped and
// relocated, and none of their constructors run (glibc, elf/rtld.c: dl_main()). A loader without that function is held at the
// program's entry; musl calls constructors only behind it.
//
// Then the program is stopped as by SIGSTOP, and is no longer traced: what changes it (outside.cpp) finds a stopped process.
#include "launch.h"

#include "errand.h"
#include "image.h"
#include "live.h"
#include "machine.h"
#include "outside.h"
#include "tracing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <map>
#include <optional>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fastsdt::engine {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// What a breakpoint is, and how far behind its first byte a thread stands that has come to it.
#if defined(__aarch64__)
using Instruction = std::array<unsigned char, 4>;
constexpr Instruction breakpoint = {0x00, 0x00, 0x20, 0xd4}; // brk #0
constexpr uint64_t behind = 0;
#else
using Instruction = std::array<unsigned char, 1>;
constexpr Instruction breakpoint = {0xcc}; // int3
constexpr uint64_t behind = 1;
#endif

class Start {
public:
    explicit Start(pid_t pid) : pid_(pid), traced_(pid) { traced_.seize(pid, PTRACE_O_TRACEEXEC); }

    void run(Launched& launched)
    {
        launched.go();
        if (!executes(Clock::now() + 1h))
            wait(false);
        hold();
    }

    /// It executes another program, and is stopped at that. False: not by then, or it has ended.
    bool executes(Clock::time_point deadline)
    {
        if (traced_.tasks().empty())
            return false;
        Traced::Task& task = traced_.tasks().front();
        if (!task.stopped)
            traced_.wait(task, deadline);
        while (task.stopped && task.event != PTRACE_EVENT_EXEC) {
            const bool stays =
                task.event == PTRACE_EVENT_STOP && task.signal != SIGTRAP; // stopped by SIGSTOP or its like
            traced_.go_on(task, stays ? PTRACE_LISTEN : PTRACE_CONT, deadline);
        }
        return task.stopped;
    }

    /// From a stop at which it executes a program to where its sites are to be armed.
    void hold()
    {
        Traced::Task& task = traced_.tasks().front();
        memory_ = Descriptor(open(fmt::format("/proc/{}/mem", pid_).c_str(), O_RDWR | O_CLOEXEC));
        if (!memory_)
            throw Unusable(fmt::format("process {}: its memory cannot be opened: {}", pid_, std::strerror(errno)));
        read_auxv();
        if (auxv_[AT_BASE] != 0)
            run_loader();
        // Before it is let go: then there is no instruction between.
        kill(pid_, SIGSTOP);
        task.signal = 0;
    }

    /// To a stop, from which the end of this lets it go.
    void leave()
    {
        if (!traced_.tasks().empty() && !traced_.tasks().front().stopped)
            traced_.stop(pid_, Clock::now() + 1s);
    }

private:
    void run_loader()
    {
        set(auxv_[AT_ENTRY]);
        if (const uint64_t address = debug_state())
            set(address);
        for (;;) {
            go_on(PTRACE_CONT);
            const Traced::Task& task = traced_.tasks().front();
            if (task.event || task.signal != SIGTRAP)
                continue;
            user_regs_struct registers = Traced::registers(task.number);
            const uint64_t address = program_counter(registers) - behind;
            if (!breakpoints_.contains(address))
                continue;
            set_program_counter(registers, address);
            Traced::set_registers(task.number, registers);
            traced_.tasks().front().signal = 0;
            if (address == auxv_[AT_ENTRY] || complete())
                break;
            write(address, breakpoints_[address]);
            go_on(PTRACE_SINGLESTEP);
            traced_.tasks().front().signal = 0;
            write(address, breakpoint);
        }
        for (const auto& [address, hidden] : breakpoints_)
            write(address, hidden);
    }

    void wait(bool stopped) const
    {
        if (!stopped)
            throw Unusable(fmt::format("process {}: it ended before its program began", pid_));
    }
    void go_on(int request) { wait(traced_.go_on(traced_.tasks().front(), request, Clock::now() + 1h)); }

    template <class T> T read(uint64_t address) const
    {
        T value{};
        if (pread(memory_.get(), &value, sizeof value, static_cast<off_t>(address)) != sizeof value)
            value = T{};
        return value;
    }
    void write(uint64_t address, const Instruction& bytes) const
    {
        if (pwrite(memory_.get(), bytes.data(), bytes.size(), static_cast<off_t>(address))
            != static_cast<ssize_t>(bytes.size()))
            throw Unusable(fmt::format("process {}: its code cannot be written: {}", pid_, std::strerror(errno)));
    }
    void set(uint64_t address)
    {
        breakpoints_[address] = read<Instruction>(address);
        write(address, breakpoint);
    }

    void read_auxv()
    {
        const Descriptor file(open(fmt::format("/proc/{}/auxv", pid_).c_str(), O_RDONLY | O_CLOEXEC));
        ElfW(auxv_t) entry;
        while (::read(file.get(), &entry, sizeof entry) == sizeof entry && entry.a_type != AT_NULL)
            auxv_[entry.a_type] = entry.a_un.a_val;
    }

    // Runtime address of the loader's _dl_debug_state(), or 0.
    uint64_t debug_state() const
    {
        uint64_t address = 0;
        for (const Mapping& m : read_maps(pid_)) {
            if (m.start != auxv_.at(AT_BASE))
                continue;
            try {
                Image::each(
                    fmt::format("/proc/{}/root{}", pid_, m.name),
                    [&](const Image& image) {
                        for (const Function& f : image.functions())
                            if (f.name == "_dl_debug_state"
                                || std::find(f.aliases.begin(), f.aliases.end(), "_dl_debug_state") != f.aliases.end())
                                address = f.address + m.start - image.segments().front().address;
                    },
                    [](const std::string&) {});
            } catch (const Unusable&) {
                // It runs, so that it could be read; if not, the entry has to do.
            }
        }
        return address;
    }

    // r_debug says that the list of modules is complete.
    bool complete() const
    {
        const uint64_t headers = auxv_.at(AT_PHDR);
        uint64_t bias = 0, dynamic = 0, size = 0;
        for (uint64_t i = 0; i < auxv_.at(AT_PHNUM); ++i) {
            const auto header = read<ElfW(Phdr)>(headers + i * sizeof(ElfW(Phdr)));
            if (header.p_type == PT_PHDR)
                bias = headers - header.p_vaddr;
            if (header.p_type == PT_DYNAMIC) {
                dynamic = header.p_vaddr;
                size = header.p_memsz;
            }
        }
        for (uint64_t at = bias + dynamic; dynamic && at < bias + dynamic + size; at += sizeof(ElfW(Dyn))) {
            const auto entry = read<ElfW(Dyn)>(at);
            if (entry.d_tag == DT_DEBUG && entry.d_un.d_ptr) {
                const auto debug = read<r_debug>(entry.d_un.d_ptr);
                return debug.r_map && debug.r_state == r_debug::RT_CONSISTENT;
            }
        }
        return false;
    }

    const pid_t pid_;
    Traced traced_;
    Descriptor memory_;
    std::map<uint64_t, uint64_t> auxv_;
    std::map<uint64_t, Instruction> breakpoints_; // and what they hide
};

} // namespace

// The tracer is told by SIGCHLD, which the thread has blocked as long as this lives.
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

namespace {

// Of a process that was stopped as by SIGSTOP.
std::unique_ptr<Target> open_stopped(pid_t pid)
{
    siginfo_t info{}; // looked at only: its end is for Launched::reap()
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
