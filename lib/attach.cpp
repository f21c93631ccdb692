// SPDX-License-Identifier: BSD-2-Clause
#include "attach.h"

#include "image.h"
#include "live.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace fastsdt {
namespace {

constexpr int enotsupp = 524; // ENOTSUPP, include/linux/errno.h of the kernel
constexpr uint64_t page_size = 4096;
// kernel/events/core.c: PERF_PROBE_CONFIG_IS_RETPROBE, PERF_UPROBE_REF_CTR_OFFSET_SHIFT
constexpr uint64_t config_is_retprobe = 1;
constexpr unsigned config_semaphore_shift = 32;

// The number of the `uprobe` event source, or -1.
int uprobe_type()
{
    static const int type = [] {
        std::ifstream in("/sys/bus/event_source/devices/uprobe/type");
        int number = -1;
        return in >> number ? number : -1;
    }();
    return type;
}

int open_event(const Target& target, pid_t task)
{
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = static_cast<uint32_t>(uprobe_type());
    attr.config = (target.on_return ? config_is_retprobe : 0) | target.semaphore_offset << config_semaphore_shift;
    attr.config1 = reinterpret_cast<uintptr_t>(target.path.c_str());
    attr.config2 = target.file_offset;
    return static_cast<int>(syscall(SYS_perf_event_open, &attr, task, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

// Registers of a stopped task: everything points to `pointer`, execution goes on at `pc`.
bool start_at(pid_t task, uint64_t pc, uint64_t pointer)
{
    user_regs_struct regs;
    iovec io{&regs, sizeof regs};
    if (ptrace(PTRACE_GETREGSET, task, NT_PRSTATUS, &io) < 0)
        return false;
#if defined(__x86_64__)
    regs.rax = regs.rbx = regs.rdx = regs.rsi = regs.rdi = regs.rbp = regs.rsp = pointer;
    regs.r8 = regs.r9 = regs.r10 = regs.r11 = regs.r12 = regs.r13 = regs.r14 = regs.r15 = pointer;
    regs.rcx = 1; // so that a repeated string instruction ends
    regs.orig_rax = ~0ull;
    regs.rip = pc;
#elif defined(__aarch64__)
    for (auto& reg : regs.regs)
        reg = pointer;
    regs.sp = pointer;
    regs.pc = pc;
#else
    return false;
#endif
    return ptrace(PTRACE_SETREGSET, task, NT_PRSTATUS, &io) == 0;
}

constexpr Arch own_arch()
{
#if defined(__x86_64__)
    return Arch::x86_64;
#elif defined(__aarch64__)
    return Arch::arm64;
#else
    return Arch::unknown;
#endif
}

// The pages of a file around one offset, mapped executable in this process and its children.
class MappedText {
public:
    MappedText(const std::string& path, uint64_t file_offset);
    MappedText(const MappedText&) = delete;
    MappedText& operator=(const MappedText&) = delete;
    ~MappedText() { munmap(start_, size_); }
    uint64_t address() const { return address_; } // runtime address of the byte at file_offset

private:
    void* start_ = nullptr;
    size_t size_ = 0;
    uint64_t address_ = 0;
};

MappedText::MappedText(const std::string& path, uint64_t file_offset)
{
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status{};
    if (fd < 0 || fstat(fd, &status) < 0) {
        const int error = errno;
        if (fd >= 0)
            close(fd);
        throw Unusable(fmt::format("{}: {}", path, std::strerror(error)));
    }
    const uint64_t first = file_offset / page_size * page_size;
    // The next page too, if the file has one: an instruction may cross.
    size_ = static_cast<uint64_t>(status.st_size) > first + page_size ? 2 * page_size : page_size;
    if (file_offset < static_cast<uint64_t>(status.st_size))
        start_ = mmap(nullptr, size_, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, static_cast<off_t>(first));
    else
        start_ = MAP_FAILED, errno = EINVAL;
    const int error = errno;
    close(fd);
    if (start_ == MAP_FAILED)
        throw Unusable(error == EINVAL
                           ? fmt::format("{}: the file ends before offset {:#x}", path, file_offset)
                           : fmt::format("{}: cannot be mapped executable ({})", path, std::strerror(error)));
    address_ = reinterpret_cast<uintptr_t>(start_) + (file_offset - first);
}

// A stopped child that dies with this process.
class Child {
public:
    Child()
    {
        const pid_t parent = getpid();
        pid_ = fork();
        if (pid_ == 0) {
            if (ptrace(PTRACE_TRACEME, 0, 0, 0) < 0 || getppid() != parent)
                _exit(1);
            raise(SIGSTOP);
            _exit(1);
        }
        stopped_ = pid_ > 0 && wait() && ptrace(PTRACE_SETOPTIONS, pid_, 0, PTRACE_O_EXITKILL) == 0;
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child()
    {
        if (pid_ > 0) {
            kill(pid_, SIGKILL);
            waitpid(pid_, nullptr, 0);
        }
    }
    bool stopped() const { return stopped_; }
    pid_t pid() const { return pid_; }
    /// Until the child stops for a signal. False: it ended.
    bool wait()
    {
        int status = 0;
        pid_t got;
        do {
            got = waitpid(pid_, &status, 0);
        } while (got < 0 && errno == EINTR);
        if (got == pid_ && !WIFSTOPPED(status))
            pid_ = -1;
        return got == pid_ && WIFSTOPPED(status);
    }

private:
    pid_t pid_ = -1;
    bool stopped_ = false;
};

} // namespace

std::string errno_name(int error)
{
    if (error == enotsupp)
        return "ENOTSUPP";
    if (error == 0)
        return "0";
    const char* name = strerrorname_np(error);
    return name ? name : std::to_string(error);
}

std::string cannot_attach()
{
    if (uprobe_type() < 0)
        return "this kernel has no uprobes (there is no /sys/bus/event_source/devices/uprobe/type: "
               "CONFIG_UPROBE_EVENTS is "
               "off, or /sys is not mounted)";
    // A probe on a file that does not exist: permission is checked first.
    const int fd = open_event({"/proc/self/fastsdt", 0, 0, false}, 0);
    const int error = errno;
    if (fd >= 0)
        close(fd);
    else if (error == EACCES || error == EPERM)
        return fmt::format("not allowed to attach uprobes ({}): run as root, or give the program CAP_PERFMON "
                           "(setcap cap_perfmon,cap_sys_ptrace+ep)",
                           std::strerror(error));
    else if (error == ENOSYS)
        return "this kernel, or a seccomp filter around this process, has no perf_event_open";
    return {};
}

Attachment::Attachment(const Target& target, pid_t task) : event_(open_event(target, task))
{
    if (event_ < 0)
        error_ = errno;
}

Attachment::Attachment(Attachment&& other) noexcept : event_(std::exchange(other.event_, -1)), error_(other.error_) {}

Attachment& Attachment::operator=(Attachment&& other) noexcept
{
    std::swap(event_, other.event_);
    std::swap(error_, other.error_);
    return *this;
}

Attachment::~Attachment()
{
    if (event_ >= 0)
        close(event_);
}

uint64_t Attachment::hits() const
{
    uint64_t count = 0;
    return event_ >= 0 && read(event_, &count, sizeof count) == sizeof count ? count : 0;
}

Observation observe(const Target& target, Arch arch)
{
    if (arch != own_arch())
        return {};
    constexpr size_t scratch_size = 1 << 20;
    const MappedText text(target.path, target.file_offset);
    void* scratch = mmap(nullptr, scratch_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (scratch == MAP_FAILED)
        return {};
    Observation result;
    {
        Child child;
        if (child.stopped()) {
            const Attachment probe({target.path, target.file_offset, 0, false}, child.pid());
            result.error = probe.error();
            if (probe.error() == enotsupp || probe.error() == EINVAL || probe.error() == ENOEXEC
                || probe.error() == EOPNOTSUPP)
                result.verdict = Verdict::reject;
            // One step, or whatever signal the instruction causes: either way the kernel has handled the breakpoint.
            else if (probe.error() == 0
                     && start_at(child.pid(), text.address(), reinterpret_cast<uintptr_t>(scratch) + scratch_size / 2)
                     && ptrace(PTRACE_SINGLESTEP, child.pid(), 0, 0) == 0 && child.wait() && probe.hits() > 0) {
                result.verdict = Verdict::emulate;
                std::ifstream maps(fmt::format("/proc/{}/maps", child.pid()));
                for (std::string line; std::getline(maps, line);) {
                    if (line.ends_with("[uprobes-trampoline]"))
                        result.verdict = Verdict::optimize;
                    else if (line.ends_with("[uprobes]") && result.verdict == Verdict::emulate)
                        result.verdict = Verdict::xol;
                }
            }
        }
    }
    munmap(scratch, scratch_size);
    return result;
}

std::optional<uint64_t> runtime_address(pid_t pid, const std::string& path, uint64_t file_offset)
{
    struct stat status{};
    if (stat(path.c_str(), &status) < 0)
        return std::nullopt;
    for (const Mapping& m : read_maps(pid))
        if (m.executable && m.inode == status.st_ino && file_offset >= m.offset
            && file_offset - m.offset < m.end - m.start)
            return m.start + (file_offset - m.offset);
    return std::nullopt;
}

std::vector<std::byte> read_memory(pid_t pid, uint64_t address, size_t size)
{
    std::vector<std::byte> bytes(size);
    const int fd = open(fmt::format("/proc/{}/mem", pid).c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return {};
    const ssize_t got = pread(fd, bytes.data(), size, static_cast<off_t>(address));
    close(fd);
    bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return bytes;
}

std::vector<pid_t> threads_of(pid_t pid)
{
    std::vector<pid_t> threads;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), error))
        threads.push_back(std::stoi(entry.path().filename()));
    return threads;
}

} // namespace fastsdt
