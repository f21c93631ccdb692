// SPDX-License-Identifier: BSD-2-Clause
//
// One process, the nursery, maps the file and never runs: one BPF link puts all probes into its memory at once. For each
// place the nursery is made to clone itself. The clone has the breakpoints and executes one instruction; its state then
// shows what the kernel did. Each place needs a clone of its own, because the page for out-of-line copies stays once it
// is there. Where BPF cannot do that, each place has a process and a perf event of its own.
#include "observe.h"

#include "bpf_program.h"

#include "elf/image.h"
#include "proc/maps.h"

#include <fastsdt/recognize.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <fstream>
#include <map>
#include <sched.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace fastsdt {
namespace {

#if defined(__x86_64__)
constexpr unsigned char call_kernel[] = {0x0f, 0x05, 0xcc}; // syscall; int3
#elif defined(__aarch64__)
constexpr unsigned char call_kernel[] = {0x01, 0x00, 0x00, 0xd4, 0x00, 0x00, 0x20, 0xd4}; // svc #0; brk #0
#else
constexpr unsigned char call_kernel[] = {0};
#endif

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

// Makes a stopped task begin clone(flags, 0, 0, 0, 0) at call_kernel.
bool start_clone(pid_t task, uint64_t pc, unsigned long flags)
{
    user_regs_struct regs;
    iovec io{&regs, sizeof regs};
    if (ptrace(PTRACE_GETREGSET, task, NT_PRSTATUS, &io) < 0)
        return false;
#if defined(__x86_64__)
    regs.rax = SYS_clone;
    regs.rdi = flags;
    regs.rsi = regs.rdx = regs.r10 = regs.r8 = 0;
    regs.orig_rax = ~0ull;
    regs.rip = pc;
#elif defined(__aarch64__)
    regs.regs[8] = SYS_clone;
    regs.regs[0] = flags;
    regs.regs[1] = regs.regs[2] = regs.regs[3] = regs.regs[4] = 0;
    regs.pc = pc;
#else
    (void)pc;
    (void)flags;
    return false;
#endif
    return ptrace(PTRACE_SETREGSET, task, NT_PRSTATUS, &io) == 0;
}

// What a system call returned to a stopped task.
std::optional<long> returned(pid_t task)
{
    user_regs_struct regs;
    iovec io{&regs, sizeof regs};
    if (ptrace(PTRACE_GETREGSET, task, NT_PRSTATUS, &io) < 0)
        return std::nullopt;
#if defined(__x86_64__)
    return static_cast<long>(regs.rax);
#elif defined(__aarch64__)
    return static_cast<long>(regs.regs[0]);
#else
    return std::nullopt;
#endif
}

// A file, all of it mapped executable in this process and its children.
class MappedText {
public:
    explicit MappedText(const std::string& path);
    MappedText(const MappedText&) = delete;
    MappedText& operator=(const MappedText&) = delete;
    ~MappedText() { munmap(start_, size_); }
    uint64_t address(uint64_t file_offset) const { return reinterpret_cast<uintptr_t>(start_) + file_offset; }
    std::span<const unsigned char> bytes(uint64_t file_offset) const
    {
        return {static_cast<const unsigned char*>(start_) + file_offset, size_ - file_offset};
    }
    uint64_t size() const { return size_; }

private:
    void* start_ = nullptr;
    size_t size_ = 0;
};

MappedText::MappedText(const std::string& path)
{
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status{};
    if (!file || fstat(file.get(), &status) < 0)
        throw Unusable(Error::of_system(errno, path));
    size_ = static_cast<size_t>(status.st_size);
    start_ = mmap(nullptr, size_, PROT_READ | PROT_EXEC, MAP_PRIVATE, file.get(), 0);
    if (start_ == MAP_FAILED)
        throw Unusable({fmt::format("cannot be mapped executable ({})", std::strerror(errno)), path, {}, errno});
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
    /// A clone of `other`, which is at call_kernel then.
    Child(Child& other, uint64_t call_kernel_at)
    {
        // CLONE_PARENT: our child; CLONE_PTRACE: traced by us, with the same options.
        if (!start_clone(other.pid_, call_kernel_at, CLONE_PARENT | CLONE_PTRACE | SIGCHLD)
            || ptrace(PTRACE_CONT, other.pid_, 0, 0) < 0 || !other.wait())
            return;
        const auto pid = returned(other.pid_);
        if (!pid || *pid <= 0)
            return;
        pid_ = static_cast<pid_t>(*pid);
        stopped_ = wait();
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child()
    {
        if (pid_ > 0) {
            kill(pid_, SIGKILL);
            waitpid(pid_, nullptr, __WALL);
        }
    }
    bool stopped() const { return stopped_; }
    pid_t pid() const { return pid_; }
    /// Waits until the child stops for a signal. False: it ended.
    bool wait()
    {
        int status = 0;
        pid_t got;
        do {
            got = waitpid(pid_, &status, __WALL);
        } while (got < 0 && errno == EINTR);
        if (got == pid_ && !WIFSTOPPED(status))
            pid_ = -1;
        return got == pid_ && WIFSTOPPED(status);
    }

private:
    pid_t pid_ = -1;
    bool stopped_ = false;
};

// One step, or whatever signal the instruction causes: either way the kernel has handled the breakpoint.
std::optional<Verdict> step(Child& child, uint64_t address, uint64_t pointer)
{
    if (!start_at(child.pid(), address, pointer) || ptrace(PTRACE_SINGLESTEP, child.pid(), 0, 0) < 0 || !child.wait())
        return std::nullopt;
    Verdict verdict = Verdict::emulate;
    std::ifstream maps(fmt::format("/proc/{}/maps", child.pid()));
    for (std::string line; std::getline(maps, line);) {
        if (line.ends_with("[uprobes-trampoline]"))
            verdict = Verdict::optimize;
        else if (line.ends_with("[uprobes]") && verdict == Verdict::emulate)
            verdict = Verdict::xol;
    }
    return verdict;
}

bool refuses_place(int error)
{
    constexpr int enotsupp = 524;
    return error == enotsupp || error == EINVAL || error == ENOEXEC || error == EOPNOTSUPP;
}

class Observer {
public:
    Observer(std::span<const Target> targets)
        : text_(targets.front().path),
          scratch_(static_cast<unsigned char*>(
              mmap(nullptr, scratch_size, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)))
    {
        if (scratch_ == MAP_FAILED)
            throw Unusable(Error::of_system(errno, "mmap"));
        std::memcpy(scratch_, call_kernel, sizeof call_kernel);
    }
    ~Observer() { munmap(scratch_, scratch_size); }

    std::vector<Observation> run(std::span<const Target> targets)
    {
        // Of places that look the same only the first is tried.
        std::vector<size_t> like(targets.size());
        std::vector<Target> places;
        std::map<std::vector<unsigned char>, size_t> known;
        for (size_t i = 0; i < targets.size(); ++i) {
            const auto [entry, fresh] = known.try_emplace(looks(targets[i]), places.size());
            if (fresh)
                places.push_back({targets[i].path, targets[i].file_offset, 0, false});
            like[i] = entry->second;
        }
        std::vector<Observation> seen(places.size());
        if (multi_support() == MultiSupport::full && try_together(places, seen)) {
        } else {
            for (size_t i = 0; i < places.size(); ++i)
                seen[i] = try_alone(places[i]);
        }
        std::vector<Observation> result;
        for (size_t index : like)
            result.push_back(seen[index]);
        return result;
    }

private:
    static constexpr size_t scratch_size = 1 << 20;
    uint64_t pointer() const { return reinterpret_cast<uintptr_t>(scratch_) + scratch_size / 2; }

    // All that the kernel's answer depends on: the instruction, and how near the end of the page it is. For a known
    // layout these are its own bytes; for anything else they are as many as an instruction can have.
    std::vector<unsigned char> looks(const Target& target) const
    {
        constexpr size_t longest = 16; // MAX_UINSN_BYTES
        if (target.file_offset >= text_.size())
            throw Unusable({fmt::format("the file ends before offset {:#x}", target.file_offset), target.path});
        const auto bytes = text_.bytes(target.file_offset);
        size_t length = std::min(bytes.size(), longest);
        fastsdt_recognized known;
        fastsdt_recognize(&known, own_arch == Arch::arm64 ? FASTSDT_MACHINE_ARM64 : FASTSDT_MACHINE_X86_64,
                          FASTSDT_LAYOUT_OTHER, bytes.data(), length);
        if (known.length && known.state == FASTSDT_STATE_PRISTINE && !known.breakpoints)
            length = std::min<size_t>(length, known.lead + known.length);
        std::vector<unsigned char> looks(bytes.begin(), bytes.begin() + length);
        looks.push_back(
            static_cast<unsigned char>(std::min<uint64_t>(page_size() - target.file_offset % page_size(), longest)));
        return looks;
    }

    bool try_together(const std::vector<Target>& places, std::vector<Observation>& seen)
    {
        Child nursery;
        const Descriptor program = load_empty_uprobe_program();
        if (!nursery.stopped() || !program)
            return false;
        std::vector<Descriptor> links;
        attach(places, 0, places.size(), program.get(), nursery, seen, links);
        for (size_t i = 0; i < places.size(); ++i) {
            if (seen[i].error)
                continue;
            Child clone(nursery, reinterpret_cast<uintptr_t>(scratch_));
            if (!clone.stopped())
                return false;
            seen[i].verdict = step(clone, text_.address(places[i].file_offset), pointer());
        }
        return true;
    }

    // All at once; if one is refused, halves find out which.
    static void attach(const std::vector<Target>& places, size_t first, size_t last, int program, const Child& nursery,
                       std::vector<Observation>& seen, std::vector<Descriptor>& links)
    {
        Descriptor link = link_uprobes(program, std::span(places).subspan(first, last - first), nursery.pid(),
                                       std::vector<uint64_t>(last - first));
        if (link) {
            links.push_back(std::move(link));
        } else if (last - first == 1) {
            seen[first].error = errno;
            if (refuses_place(errno))
                seen[first].verdict = Verdict::reject;
        } else {
            const size_t middle = first + (last - first) / 2;
            attach(places, first, middle, program, nursery, seen, links);
            attach(places, middle, last, program, nursery, seen, links);
        }
    }

    Observation try_alone(const Target& place) const
    {
        Observation result;
        Child child;
        if (!child.stopped())
            return result;
        const Descriptor event = open_uprobe_event(place, child.pid(), -1, false);
        if (!event) {
            result.error = errno;
            if (refuses_place(errno))
                result.verdict = Verdict::reject;
            return result;
        }
        const auto verdict = step(child, text_.address(place.file_offset), pointer());
        uint64_t hits = 0;
        if (read(event.get(), &hits, sizeof hits) == sizeof hits && hits > 0)
            result.verdict = verdict;
        return result;
    }

    MappedText text_;
    unsigned char* scratch_;
};

} // namespace

std::vector<Observation> observe(std::span<const Target> targets, Arch arch)
{
    if (arch != own_arch || targets.empty())
        return std::vector<Observation>(targets.size());
    return Observer(targets).run(targets);
}

} // namespace fastsdt
