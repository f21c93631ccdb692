// SPDX-License-Identifier: BSD-2-Clause
//
// The errand's code stands, while it is needed, behind the end of what a file has in an executable mapping: the rest of a
// page, which nobody executes or reads. The vdso has such a rest in every process. Two tracers cannot write there at once:
// each traces the process's first thread all the time.
#include "inject.h"

#include "descriptor.h"
#include "live.h"
#include "tracing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <elf.h>
#include <exception>
#include <fcntl.h>
#include <optional>
#include <sys/ptrace.h>
#include <unistd.h>

namespace fastsdt::engine {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr uint64_t page = 4096;

template <class T> std::optional<T> read_at(int memory, uint64_t address)
{
    T value;
    if (pread(memory, &value, sizeof value, static_cast<off_t>(address)) != sizeof value)
        return std::nullopt;
    return value;
}

// Where what the file says about itself ends in the executable mapping `text`, of which `first` is the file's mapping from
// offset 0: behind its code, and behind its section headers, which debuggers read from the vdso.
std::optional<uint64_t> end_of_contents(int memory, const Mapping& first, const Mapping& text)
{
    const auto header = read_at<Elf64_Ehdr>(memory, first.start);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_phentsize != sizeof(Elf64_Phdr)
        || header->e_phnum > 64)
        return std::nullopt;
    std::optional<uint64_t> bias, end;
    for (unsigned i = 0; i < header->e_phnum; ++i) {
        const auto segment = read_at<Elf64_Phdr>(memory, first.start + header->e_phoff + i * sizeof(Elf64_Phdr));
        if (!segment)
            return std::nullopt;
        if (segment->p_type != PT_LOAD)
            continue;
        if (!bias)
            bias = first.start - segment->p_vaddr / page * page;
        const uint64_t start = *bias + segment->p_vaddr, stop = start + segment->p_memsz;
        if (start >= text.start && start < text.end)
            end = std::max(end.value_or(0), stop);
        else if (stop > text.start && start < text.end)
            return std::nullopt;
    }
    if (end && first.start == text.start && header->e_shoff < text.end - text.start)
        end = std::max(*end, text.start + header->e_shoff + header->e_shnum * uint64_t{header->e_shentsize});
    return end && *end < text.end ? end : std::nullopt;
}

// The rest of a page behind what a file has in an executable mapping: [start, end), of which the first `used` bytes are not
// zero. Those are errands of tracers that were killed: nobody else writes there.
struct Rest {
    uint64_t start = 0, end = 0, used = 0;
};

std::vector<Rest> find_rests(pid_t thread, int memory)
{
    const std::vector<Mapping> mappings = read_maps(thread);
    std::vector<Rest> rests;
    for (const Mapping& text : mappings) {
        const bool vdso = text.name == "[vdso]";
        if (!text.executable || text.shared || text.writable || (!text.inode && !vdso))
            continue;
        const auto first = std::find_if(mappings.begin(), mappings.end(), [&](const Mapping& m) {
            return m.offset == 0 && m.inode == text.inode && m.device == text.device && m.name == text.name;
        });
        const auto end = first != mappings.end() ? end_of_contents(memory, *first, text) : std::nullopt;
        if (!end)
            continue;
        // One error in a header shall not lead into code: no more than the last page counts.
        Rest rest{(std::max(*end, text.end - page) + 15) / 16 * 16, text.end, 0};
        std::vector<std::byte> bytes(rest.end > rest.start ? rest.end - rest.start : 0);
        if (bytes.empty()
            || pread(memory, bytes.data(), bytes.size(), static_cast<off_t>(rest.start))
                != static_cast<ssize_t>(bytes.size()))
            continue;
        const auto last = std::find_if(bytes.rbegin(), bytes.rend(), [](std::byte b) { return b != std::byte{0}; });
        rest.used = static_cast<uint64_t>(bytes.rend() - last);
        uint64_t magic = 0;
        if (rest.used >= sizeof magic)
            std::memcpy(&magic, bytes.data(), sizeof magic);
        if (rest.used == 0 || magic == errand_magic)
            rests.insert(vdso ? rests.begin() : rests.end(), rest);
    }
    return rests;
}

// An address for `size` bytes, no further from `home` than an errand may be; empty: anywhere. 0: there is none.
uint64_t find_room(const std::vector<Rest>& rests, size_t size, std::optional<uint64_t> home)
{
    for (const Rest& rest : rests) {
        const uint64_t at = rest.start + (rest.used ? (rest.used + 31) / 16 * 16 : 0);
        if (at + size <= rest.end && (!home || (at > *home ? at + size - *home : *home - at) <= errand_reach))
            return at;
    }
    return 0;
}

void write_all(int memory, uint64_t at, const std::vector<std::byte>& bytes, pid_t pid)
{
    if (pwrite(memory, bytes.data(), bytes.size(), static_cast<off_t>(at)) != static_cast<ssize_t>(bytes.size()))
        throw Unusable(fmt::format("process {}: its code cannot be written ({}): this kernel was started with "
                                   "proc_mem.force_override=never",
                                   pid, std::strerror(errno)));
}

// Wipes errands of killed tracers, unless one of the threads, which are all stopped, is still on such a way home.
void clear_errands(Traced& traced, int memory, const std::vector<Rest>& rests)
{
    traced.seize_all();
    traced.stop_all();
    for (const Rest& rest : rests) {
        const bool free = std::none_of(traced.tasks().begin(), traced.tasks().end(), [&](const Traced::Task& task) {
            const uint64_t pc = program_counter(Traced::registers(task.number));
            return pc >= rest.start && pc <= rest.end;
        });
        if (free && rest.used)
            write_all(memory, rest.start, std::vector<std::byte>(rest.used), traced.pid());
    }
}

// A restartable sequence would be left without its abort handler, if the thread were elsewhere in between.
bool in_restartable_sequence(pid_t thread, int memory, uint64_t pc)
{
    __ptrace_rseq_configuration rseq{};
    if (ptrace(static_cast<__ptrace_request>(PTRACE_GET_RSEQ_CONFIGURATION), thread, sizeof rseq, &rseq) <= 0
        || !rseq.rseq_abi_pointer)
        return false;
    constexpr uint64_t of_descriptor = 8; // struct rseq: rseq_cs
    struct Descriptor {                   // struct rseq_cs
        uint32_t version, flags;
        uint64_t start, length, abort;
    };
    const auto at = read_at<uint64_t>(memory, rseq.rseq_abi_pointer + of_descriptor);
    if (!at || !*at)
        return false;
    const auto descriptor = read_at<Descriptor>(memory, *at);
    return descriptor && pc - descriptor->start < descriptor->length;
}

// A thread that has been stopped where its registers can be exchanged: on its way to user space, about to get no signal.
// `slept`: it did not run before.
pid_t borrow(Traced& traced, bool& slept)
{
    const std::vector<pid_t> threads = living_threads(traced.pid());
    for (pid_t thread : threads) {
        // The first is traced as long as this lasts, which keeps a second tracer away.
        if (!traced.seize(thread, 0))
            continue;
        slept = !status_field(traced.pid(), thread, "State:").starts_with('R');
        const auto deadline = Clock::now() + 50ms;
        bool stopped = traced.stop(thread, deadline);
        Traced::Task& task = *traced.find(thread);
        while (stopped
               && task.event != PTRACE_EVENT_STOP) { // a signal, or a thread made: the stop asked for comes next
            ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
            stopped = traced.go_on(task, PTRACE_CONT, deadline);
        }
        if (stopped)
            return thread;
    }
    if (threads.empty())
        throw Unusable(fmt::format("process {}: it has ended", traced.pid()));
    if (const pid_t sharer = sharer_of_memory(traced.pid()))
        throw Busy(fmt::format("process {}: none of its threads stops while process {} has the same memory (vfork)",
                               traced.pid(), sharer));
    throw Busy(
        fmt::format("process {}: none of its threads stops; they wait in the kernel (state D in ps -L)", traced.pid()));
}

} // namespace

void refuse_filter(pid_t pid, pid_t thread)
{
    if (const std::string mode = status_field(pid, thread, "Seccomp:"); !mode.empty() && mode != "0")
        throw Unusable(fmt::format("process {}: its thread {} has a seccomp filter, which could kill it for the system "
                                   "calls that it would make for us; trace it with the kernel's probes",
                                   pid, thread));
}

std::vector<int64_t> send(pid_t pid, int opened, const std::vector<Call>& calls, const std::string& text,
                          const std::function<void(pid_t thread, size_t index, int64_t result)>& seen)
{
    Traced traced(pid);
    bool slept = false;
    const pid_t thread = borrow(traced, slept);
    refuse_filter(pid, thread); // now that it is stopped: it may have one since it was opened
    if (memory_has_gone(opened))
        throw Unusable(fmt::format("process {}: it has ended or executes another program", pid));
    // Of this thread, since only its tracer may write code where /proc/PID/mem is restricted (Outside::hold()).
    const fastsdt::Descriptor file(open(fmt::format("/proc/{}/task/{}/mem", pid, thread).c_str(), O_RDWR | O_CLOEXEC));
    const int memory = file.get();
    const user_regs_struct stopped = Traced::registers(thread);
    if (!is_64_bit(stopped))
        throw Unusable(fmt::format("process {}: it executes 32-bit code", pid));
    const auto instruction = read_at<uint32_t>(memory, program_counter(stopped)).value_or(0);
    const user_regs_struct home = as_interrupted(stopped, instruction, slept);
    if (in_restartable_sequence(thread, memory, program_counter(home)))
        throw Busy(fmt::format("process {}: its thread {} is in a restartable sequence", pid, thread));
    Errand errand{calls, text, 0};
    if (ptrace(PTRACE_GETSIGMASK, thread, sizeof errand.signal_mask, &errand.signal_mask) < 0)
        throw Busy(fmt::format("thread {}: its signal mask cannot be read: {}", thread, std::strerror(errno)));

    const std::vector<std::byte> vectors = Traced::wide_vectors(thread);
    const size_t size = encode_errand(0, errand, home).bytes.size() + 64; // addresses may take longer instructions
    std::vector<Rest> rests = find_rests(thread, memory);
    uint64_t at = find_room(rests, size, program_counter(home));
    if (!at) {
        clear_errands(traced, memory, rests);
        at = find_room(rests = find_rests(thread, memory), size, program_counter(home));
    }
    if (!at && find_room(rests, size, std::nullopt))
        throw Busy(fmt::format("process {}: no room for {} bytes of code within {} MiB of where its thread {} is", pid,
                               size, errand_reach >> 20, thread));
    if (!at)
        throw Unusable(
            fmt::format("process {}: no room for {} bytes of code behind its text or in its vdso", pid, size));
    const ErrandCode code = encode_errand(at, errand, home);
    write_all(memory, at, code.bytes, pid);

    // From here on the thread comes home with or without us. Without us it has lost what a system call clears of vector registers,
    // unless it was in one.
    Traced::set_registers(thread, sent_off(home, code.start));
    Traced::Task& task = *traced.find(thread); // stays where it is: nothing more is traced
    std::vector<int64_t> results;
    std::exception_ptr thrown;
    bool begun = false, done = false, refused = false;
    const auto go_on = [&](int request) {
        if (!traced.go_on(task, request, Clock::now() + 10min))
            throw Unusable(fmt::format("process {}: it ended while it was prepared", pid));
    };
    while (!done) {
        go_on(PTRACE_SYSCALL);
        if (task.event || task.signal != (SIGTRAP | 0x80)) {
            if (task.event || begun)
                continue;
            // A signal, before there was time to mask it. SIGSYS is the answer to our call: the program wants to see its
            // system calls itself (PR_SET_SYSCALL_USER_DISPATCH).
            refused = task.signal == SIGSYS;
            if (refused)
                task.signal = 0;
            break;
        }
        __ptrace_syscall_info info{};
        if (ptrace(static_cast<__ptrace_request>(PTRACE_GET_SYSCALL_INFO), thread, sizeof info, &info) <= 0
            || info.op != PTRACE_SYSCALL_INFO_EXIT)
            continue;
        begun = true;
        done = info.instruction_pointer == code.after_all;
        if (results.size() < calls.size() && info.instruction_pointer == code.after_calls[results.size()]) {
            results.push_back(info.exit.rval);
            try {
                seen(thread, results.size() - 1, results.back());
            } catch (...) {
                thrown = std::current_exception();
            }
        }
    }
    if (done) { // to a stop from which an interrupted system call is begun again
        ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
        go_on(PTRACE_CONT);
    }
    Traced::set_registers(thread, home);
    Traced::set_wide_vectors(thread, vectors);
    write_all(memory, at, std::vector<std::byte>(code.bytes.size()), pid);
    if (refused)
        throw Unusable(
            fmt::format("process {}: it handles its system calls itself (PR_SET_SYSCALL_USER_DISPATCH), and would "
                        "see ours",
                        pid));
    if (!done)
        throw Busy(fmt::format("process {}: a signal came first", pid));
    if (thrown)
        std::rethrow_exception(thrown);
    return results;
}

} // namespace fastsdt::engine
