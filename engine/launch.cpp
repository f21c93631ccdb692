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
#include "outside.h"
#include "tracing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <map>
#include <sys/ptrace.h>
#include <sys/wait.h>

namespace fastsdt::engine {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr unsigned char int3 = 0xcc;

class Start {
public:
    Start(Launched& launched) : launched_(launched), traced_(launched.pid()) {}

    void run()
    {
        traced_.seize(launched_.pid(), PTRACE_O_TRACEEXEC);
        launched_.go();
        Traced::Task& task = traced_.tasks().front();
        wait(traced_.wait(task, Clock::now() + 1h));
        while (task.event != PTRACE_EVENT_EXEC)
            go_on(PTRACE_CONT);
        memory_ = Descriptor(open(fmt::format("/proc/{}/mem", launched_.pid()).c_str(), O_RDWR | O_CLOEXEC));
        if (!memory_)
            throw Unusable(
                fmt::format("process {}: its memory cannot be opened: {}", launched_.pid(), std::strerror(errno)));
        read_auxv();
        if (auxv_[AT_BASE] != 0)
            run_loader();
        // Before it is let go: then there is no instruction between.
        kill(launched_.pid(), SIGSTOP);
        task.signal = 0;
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
            const uint64_t address = program_counter(registers) - sizeof int3;
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
            write(address, int3);
        }
        for (const auto& [address, byte] : breakpoints_)
            write(address, byte);
    }

    void wait(bool stopped) const
    {
        if (!stopped)
            throw Unusable(fmt::format("process {}: it ended before its program began", launched_.pid()));
    }
    void go_on(int request) { wait(traced_.go_on(traced_.tasks().front(), request, Clock::now() + 1h)); }

    template <class T> T read(uint64_t address) const
    {
        T value{};
        if (pread(memory_.get(), &value, sizeof value, static_cast<off_t>(address)) != sizeof value)
            value = T{};
        return value;
    }
    void write(uint64_t address, unsigned char byte) const
    {
        if (pwrite(memory_.get(), &byte, 1, static_cast<off_t>(address)) != 1)
            throw Unusable(
                fmt::format("process {}: its code cannot be written: {}", launched_.pid(), std::strerror(errno)));
    }
    void set(uint64_t address)
    {
        breakpoints_[address] = read<unsigned char>(address);
        write(address, int3);
    }

    void read_auxv()
    {
        const Descriptor file(open(fmt::format("/proc/{}/auxv", launched_.pid()).c_str(), O_RDONLY | O_CLOEXEC));
        ElfW(auxv_t) entry;
        while (::read(file.get(), &entry, sizeof entry) == sizeof entry && entry.a_type != AT_NULL)
            auxv_[entry.a_type] = entry.a_un.a_val;
    }

    // Runtime address of the loader's _dl_debug_state(), or 0.
    uint64_t debug_state() const
    {
        uint64_t address = 0;
        for (const Mapping& m : read_maps(launched_.pid())) {
            if (m.start != auxv_.at(AT_BASE))
                continue;
            try {
                Image::each(
                    fmt::format("/proc/{}/root{}", launched_.pid(), m.name),
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

    Launched& launched_;
    Traced traced_;
    Descriptor memory_;
    std::map<uint64_t, uint64_t> auxv_;
    std::map<uint64_t, unsigned char> breakpoints_; // and what they hide
};

} // namespace

Held::Held(Launched& launched) : pid_(launched.pid())
{
#ifndef __x86_64__
    throw Unusable("the user-space engine arms x86-64 programs only so far; trace it by the kernel");
#endif
    as_tracer([&] { Start(launched).run(); });
    siginfo_t info{}; // looked at only: its end is for Launched::reap()
    while (waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WEXITED | WNOWAIT) < 0 && errno == EINTR) {}
    if (info.si_code != CLD_STOPPED)
        throw Unusable(fmt::format("process {}: it ended before its program began", pid_));
    target_ = open_outside(pid_);
}

Held::~Held()
{
    let_go();
}

void Held::let_go()
{
    if (pid_ > 0)
        kill(pid_, SIGCONT);
    pid_ = -1;
}

} // namespace fastsdt::engine
