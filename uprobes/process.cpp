// SPDX-License-Identifier: BSD-2-Clause
#include "process.h"

#include "elf/image.h"
#include "proc/maps.h"
#include "proc/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <linux/perf_event.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fastsdt {
namespace {

[[noreturn]] void cannot(const std::string& what)
{
    throw Unusable(Error::of_system(errno, what));
}

struct FileId {
    dev_t device = 0;
    ino_t inode = 0;
    auto operator<=>(const FileId&) const = default;
};

std::optional<FileId> id_of(const std::string& path)
{
    struct stat status{};
    if (stat(path.c_str(), &status) < 0)
        return std::nullopt;
    return FileId{status.st_dev, status.st_ino};
}

// The file behind a mapping. On overlayfs and btrfs the device in maps is not that of stat(), so map_files is asked,
// which needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE.
std::optional<FileId> id_of(pid_t pid, const Mapping& mapping)
{
    if (const auto id = id_of(fmt::format("/proc/{}/map_files/{:x}-{:x}", pid, mapping.start, mapping.end)))
        return id;
    unsigned major = 0, minor = 0;
    if (std::sscanf(mapping.device.c_str(), "%x:%x", &major, &minor) != 2)
        return std::nullopt;
    return FileId{makedev(major, minor), mapping.inode};
}

bool is_of(pid_t pid, const Mapping& mapping, const FileId& file)
{
    return mapping.executable && mapping.inode == file.inode && id_of(pid, mapping) == file;
}

} // namespace

Signals::Signals()
{
    sigset_t set;
    sigemptyset(&set);
    for (int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGPWR,
                       SIGXCPU, SIGXFSZ})
        sigaddset(&set, signal);
    for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal)
        sigaddset(&set, signal);
    if (sigprocmask(SIG_BLOCK, &set, &former_) < 0)
        cannot("sigprocmask");
    former_pipe_ = signal(SIGPIPE, SIG_IGN);
    descriptor_ = Descriptor(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!descriptor_)
        cannot("signalfd");
}

Signals::~Signals()
{
    while (next()) {} // discards signals: what they were to stop is over
    as_before();
}

void Signals::as_before() const
{
    signal(SIGPIPE, former_pipe_);
    sigprocmask(SIG_SETMASK, &former_, nullptr);
}

std::optional<Signals::Signal> Signals::next()
{
    signalfd_siginfo info;
    if (read(descriptor_.get(), &info, sizeof info) != sizeof info)
        return std::nullopt;
    return Signal{static_cast<int>(info.ssi_signo), info.ssi_code == SI_KERNEL};
}

namespace {

// Ends the program if `until` ends without a byte. It holds no file of ours open, and takes no signal: those of the terminal are for all.
[[noreturn]] void guard(pid_t program, int until)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, nullptr);
    const auto process = static_cast<int>(syscall(SYS_pidfd_open, program, 0));
    for (int descriptor = 0, most = static_cast<int>(sysconf(_SC_OPEN_MAX)); descriptor < most; ++descriptor) {
        if (descriptor == until || descriptor == process)
            continue;
        if (descriptor > std::max(until, process)
            && syscall(SYS_close_range, static_cast<unsigned>(descriptor), ~0U, 0U) == 0)
            break;
        close(descriptor);
    }
    char byte = 0;
    ssize_t got = 0;
    while ((got = read(until, &byte, 1)) < 0 && errno == EINTR) {}
    if (got == 0 && (process < 0 || syscall(SYS_pidfd_send_signal, process, SIGKILL, nullptr, 0) < 0))
        kill(program, SIGKILL); // before Linux 5.3
    _exit(0);
}

} // namespace

Launched::Launched(const std::vector<std::string>& command, const Signals& signals) : name_(command.front())
{
    int go[2], failed[2];
    if (pipe2(go, O_CLOEXEC) < 0)
        cannot("pipe");
    Descriptor go_read(go[0]);
    go_ = Descriptor(go[1]);
    if (pipe2(failed, O_CLOEXEC) < 0)
        cannot("pipe");
    failed_ = Descriptor(failed[0]);
    Descriptor failed_write(failed[1]);
    std::vector<char*> words;
    for (const std::string& word : command)
        words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    pid_ = fork();
    if (pid_ < 0)
        cannot("fork");
    if (pid_ == 0) {
        go_.reset();
        char byte;
        if (read(go_read.get(), &byte, 1) != 1) // its end, with ours
            _exit(127);
        signals.as_before();
        execvp(words[0], words.data());
        const int error = errno;
        [[maybe_unused]] ssize_t n = write(failed_write.get(), &error, sizeof error);
        _exit(127);
    }
    int held[2];
    if (pipe2(held, O_CLOEXEC) < 0)
        cannot("pipe");
    const Descriptor until(held[0]);
    held_ = Descriptor(held[1]);
    guard_ = fork();
    if (guard_ < 0)
        cannot("fork");
    if (guard_ == 0)
        guard(pid_, until.get());
}

Launched::~Launched()
{
    if (held_ && pid_ > 0) {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
    release();
}

void Launched::release()
{
    if (!held_)
        return;
    [[maybe_unused]] const ssize_t n = write(held_.get(), "", 1);
    held_.reset();
    while (waitpid(guard_, nullptr, 0) < 0 && errno == EINTR) {}
}

void Launched::go()
{
    if (write(go_.get(), "", 1) != 1)
        cannot(name_);
    go_.reset();
    int error = 0;
    ssize_t got;
    while ((got = read(failed_.get(), &error, sizeof error)) < 0 && errno == EINTR) {}
    failed_.reset();
    if (got > 0)
        throw Unusable(Error::of_system(error, name_)); // nobody else writes to the pipe
}

Launched::End Launched::reap()
{
    End end;
    rusage usage{};
    while (wait4(pid_, &end.wait_status, 0, &usage) < 0 && errno == EINTR) {}
    pid_ = -1;
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    end.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    return end;
}

void Launched::pass_on(Signals::Signal signal)
{
    if (pid_ > 0 && !(signal.from_terminal && getpgid(pid_) == getpgrp()))
        kill(pid_, signal.number);
}

Descriptor open_process(pid_t pid)
{
    Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    if (process)
        return process;
    // Before Linux 5.3: an event that counts nothing. poll() says that its thread has ended, the process's first, as long as there is a
    // buffer. So the buffer stays mapped: two pages for each process, as long as this program runs.
    if (errno == ENOSYS) {
        perf_event_attr nothing{};
        nothing.type = PERF_TYPE_SOFTWARE, nothing.size = sizeof nothing, nothing.config = PERF_COUNT_SW_DUMMY;
        nothing.exclude_kernel = nothing.exclude_hv = 1; // what an ordinary user may have
        process =
            Descriptor(static_cast<int>(syscall(SYS_perf_event_open, &nothing, pid, -1, -1, PERF_FLAG_FD_CLOEXEC)));
        const size_t pages = 2 * static_cast<size_t>(sysconf(_SC_PAGESIZE));
        if (process && mmap(nullptr, pages, PROT_READ | PROT_WRITE, MAP_SHARED, process.get(), 0) != MAP_FAILED)
            return process;
    }
    if (errno == ESRCH)
        throw Unusable(unreadable(pid, ESRCH));
    if (errno == EINVAL) // also what older kernels say to the number of a thread
        throw Unusable({"that is a thread of another process", process_name(pid), "name the process"});
    cannot(process_name(pid));
}

std::vector<bool> wait_readable(const std::vector<int>& descriptors,
                                std::optional<std::chrono::steady_clock::time_point> until)
{
    using namespace std::chrono;
    std::vector<pollfd> polled;
    for (int descriptor : descriptors)
        polled.push_back({descriptor, POLLIN, 0}); // poll() passes over negative ones
    for (;;) {
        timespec left{};
        if (until) {
            const auto rest = std::max(nanoseconds(0), duration_cast<nanoseconds>(*until - steady_clock::now()));
            left = {static_cast<time_t>(rest.count() / 1'000'000'000), static_cast<long>(rest.count() % 1'000'000'000)};
        }
        const int ready = ppoll(polled.data(), polled.size(), until ? &left : nullptr, nullptr);
        if (ready >= 0)
            break;
        if (errno != EINTR)
            cannot("poll");
    }
    std::vector<bool> readable;
    for (const pollfd& p : polled)
        readable.push_back(p.revents != 0);
    return readable;
}

FoundMapping find_mapped(pid_t pid, const std::string& path)
{
    return find_mapped(pid, path, read_maps(pid));
}

FoundMapping find_mapped(pid_t pid, const std::string& path, const std::vector<Mapping>& mappings)
{
    FoundMapping result;
    const auto file = id_of(path);
    std::error_code error;
    const std::string real = std::filesystem::canonical(path, error);
    for (const Mapping& mapping : mappings) {
        if (!mapping.executable || !mapping.inode)
            continue;
        if (file && is_of(pid, mapping, *file))
            result.mapped = true;
        else if (mapping.name == real || mapping.name == real + " (deleted)")
            result.replaced_by_other = mapping.name;
    }
    return result;
}

std::optional<uint64_t> runtime_address(pid_t pid, const std::string& path, uint64_t file_offset)
{
    const auto file = id_of(path);
    if (!file)
        return std::nullopt;
    for (const Mapping& m : read_maps(pid))
        if (file_offset >= m.offset && file_offset - m.offset < m.end - m.start && is_of(pid, m, *file))
            return m.start + (file_offset - m.offset);
    return std::nullopt;
}

std::vector<std::byte> read_memory(pid_t pid, uint64_t address, size_t size)
{
    return read_at(Descriptor(open(fmt::format("/proc/{}/mem", pid).c_str(), O_RDONLY | O_CLOEXEC)), address, size);
}

} // namespace fastsdt
