// SPDX-License-Identifier: BSD-2-Clause
//
// The errand's code stands, while it is needed, behind the end of what a file has in an executable mapping: the rest of a
// page, which nobody executes or reads. The vdso has such a rest in every process. Two tracers cannot write there at once:
// each traces the process's first thread all the time.
//
// It is the process's memory, as all that a process has mapped: it can change even what only we may write, or map something else there. So
// nothing that comes back is believed, and the thread is fetched home if it does not come by itself.
#include "process/inject.h"

#include "base/addresses.h"
#include "base/descriptor.h"
#include "proc/memory.h"
#include "proc/threads.h"
#include "proc/processes.h"
#include "process/allowed.h"
#include "process/ptrace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <elf.h>
#include <exception>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace fastsdt::engine {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// An errand takes some ten microseconds of its thread, which on a busy machine has to get a CPU first. One that computes for a second
// is not on our code any more.
constexpr std::chrono::milliseconds errand_computes = 1s, calls_compute = 20ms, errand_takes = 60s, look_again = 50ms,
                                    fetched_within = 2s;

// Where the file's contents end in the executable mapping `text`, by the file's headers: behind its code, and behind
// its section headers, which debuggers read from the vdso. `first` is the file's mapping from offset 0.
std::optional<uint64_t> end_of_contents(int memory, const Mapping& first, const Mapping& text)
{
    const auto header = value_at<Elf64_Ehdr>(memory, first.start);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_phentsize != sizeof(Elf64_Phdr)
        || header->e_phnum > 64)
        return std::nullopt;
    std::optional<uint64_t> bias, end;
    std::vector<Elf64_Phdr> segments(header->e_phnum);
    const size_t size = segments.size() * sizeof(Elf64_Phdr);
    if (pread(memory, segments.data(), size, static_cast<off_t>(first.start + header->e_phoff))
        != static_cast<ssize_t>(size))
        return std::nullopt;
    for (const Elf64_Phdr& segment : segments) {
        if (segment.p_type != PT_LOAD)
            continue;
        if (!bias)
            bias = first.start - segment.p_vaddr / smallest_page * smallest_page;
        const uint64_t start = *bias + segment.p_vaddr, stop = start + segment.p_memsz;
        if (start >= text.start && start < text.end)
            end = std::max(end.value_or(0), stop);
        else if (stop > text.start && start < text.end)
            return std::nullopt;
    }
    if (end && first.start == text.start && header->e_shoff < text.end - text.start)
        end = std::max(*end, text.start + header->e_shoff + header->e_shnum * uint64_t{header->e_shentsize});
    return end && *end < text.end ? end : std::nullopt;
}

// The rest of a page behind a file's contents in an executable mapping: [start, end). All behind its first `used` bytes
// is zero. Those bytes are errands of tracers that were killed: nobody else writes there.
struct Rest {
    uint64_t start = 0, end = 0, used = 0;
};

// Of one mapping; `mappings` has the others of its file.
std::optional<Rest> find_rest(int memory, const std::vector<Mapping>& mappings, const Mapping& text)
{
    const auto first = std::find_if(mappings.begin(), mappings.end(), [&](const Mapping& m) {
        return m.offset == 0 && m.inode == text.inode && m.device == text.device && m.name == text.name;
    });
    const auto end = first != mappings.end() ? end_of_contents(memory, *first, text) : std::nullopt;
    if (!end)
        return std::nullopt;
    // One error in a header shall not lead into code: no more than the last page counts.
    Rest rest{(std::max(*end, text.end - smallest_page) + 15) / 16 * 16, text.end, 0};
    std::vector<std::byte> bytes(rest.end > rest.start ? rest.end - rest.start : 0);
    if (bytes.empty()
        || pread(memory, bytes.data(), bytes.size(), static_cast<off_t>(rest.start))
            != static_cast<ssize_t>(bytes.size()))
        return std::nullopt;
    const auto last = std::find_if(bytes.rbegin(), bytes.rend(), [](std::byte b) { return b != std::byte{0}; });
    rest.used = static_cast<uint64_t>(bytes.rend() - last);
    uint64_t magic = 0;
    if (rest.used >= sizeof magic)
        std::memcpy(&magic, bytes.data(), sizeof magic);
    if (rest.used != 0 && magic != errand_magic)
        return std::nullopt;
    return rest;
}

// The vdso's first.
std::vector<Rest> find_rests(const std::vector<Mapping>& mappings, int memory)
{
    constexpr size_t most_looks = 256; // a process may have mapped thousands of files, and one rest is enough
    std::vector<Rest> rests;
    size_t looks = 0;
    for (const bool vdso : {true, false})
        for (const Mapping& text : mappings) {
            if (looks == most_looks)
                break;
            if (!text.executable || text.shared || text.writable || (text.name == "[vdso]") != vdso
                || (!vdso && !text.inode))
                continue;
            ++looks;
            if (const auto rest = find_rest(memory, mappings, text))
                rests.push_back(*rest);
        }
    return rests;
}

// An address for `size` bytes, within an errand's reach of `home`; `home` empty: anywhere. Returns 0 if there is none.
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

// Of the stopped threads.
bool stands_in(const Rest& rest, const std::vector<Tracees::Task>& tasks)
{
    return std::any_of(tasks.begin(), tasks.end(), [&](const Tracees::Task& task) {
        return task.counter >= rest.start && task.counter <= rest.end;
    });
}

// Wipes errands of killed tracers, unless one of the threads is still on such a way home. On its way a thread takes no signal, so
// that none of them has put off the rest of the way to when its handler returns.
void clear_errands(Tracees& tracees, int memory, std::vector<Rest>& rests)
{
    tracees.seize_all();
    tracees.stop_all();
    for (Rest& rest : rests) {
        if (rest.used && !stands_in(rest, tracees.tasks())) {
            write_all(memory, rest.start, std::vector<std::byte>(rest.used), tracees.pid());
            rest.used = 0;
        }
    }
}

// In a restartable sequence a thread must not be sent elsewhere: it would leave the sequence without its abort handler.
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
    const auto at = value_at<uint64_t>(memory, rseq.rseq_abi_pointer + of_descriptor);
    if (!at || !*at)
        return false;
    const auto descriptor = value_at<Descriptor>(memory, *at);
    return descriptor && pc - descriptor->start < descriptor->length;
}

// How much a thread minds that it is borrowed, the least first. One that waits and does nothing else goes on with what is left of its
// time. One that runs loses time. One in another call may have done a part of its work, which then is all that it does.
int minds(pid_t pid, pid_t thread)
{
    static constexpr long waits[] = {
        SYS_futex, SYS_nanosleep, SYS_clock_nanosleep, SYS_wait4, SYS_waitid, SYS_rt_sigsuspend,
#ifdef SYS_poll
        SYS_poll,  SYS_select,    SYS_pause,
#endif
    };
    std::ifstream in(fmt::format("/proc/{}/task/{}/syscall", pid, thread)); // NUMBER ARGUMENT..., or "running"
    long number = 0;
    if (!(in >> number))
        return 1;
    return std::find(std::begin(waits), std::end(waits), number) != std::end(waits) ? 0 : 2;
}

// A thread that the kernel has made to work for the process, as io_uring's: it stops as others do, and never comes to user space.
bool works_in_kernel(pid_t pid, pid_t thread)
{
    constexpr uint64_t flags = 0x10 | 0x4000; // PF_IO_WORKER, PF_USER_WORKER: include/linux/sched.h
    const auto stat = read_stat(fmt::format("{}/task/{}", pid, thread));
    return stat && (stat->flags & flags) != 0;
}

// A thread that has been stopped where its registers can be exchanged: on its way to user space, about to get no signal.
// `slept`: it did not run before.
pid_t borrow(Tracees& tracees, bool& slept)
{
    std::vector<pid_t> threads = living_threads(tracees.pid());
    constexpr size_t most_looks = 64;
    std::map<pid_t, int> mind;
    for (size_t i = 0; i < threads.size(); ++i)
        mind[threads[i]] = i < most_looks && threads.size() > 1 ? minds(tracees.pid(), threads[i]) : 3;
    std::stable_sort(threads.begin(), threads.end(), [&](pid_t a, pid_t b) { return mind[a] < mind[b]; });
    // On a busy machine a thread gets a processor late. So all are tried once, and more patiently then; those for long that only want a processor.
    for (const std::chrono::milliseconds patience : {50ms, 300ms, 2000ms})
        for (pid_t thread : threads) {
            const std::string state = status_field(tracees.pid(), thread, "State:");
            if ((patience > 50ms && state.starts_with('D')) || (patience > 300ms && !state.starts_with('R'))
                || works_in_kernel(tracees.pid(), thread) || !tracees.seize(thread, 0))
                continue;
            slept = !state.starts_with('R');
            if (tracees.rest(*tracees.find(thread), Clock::now() + patience))
                return thread;
        }
    if (threads.empty())
        throw Unusable(fmt::format("process {}: it has ended", tracees.pid()));
    if (const pid_t sharer = sharer_of_memory(tracees.pid()))
        throw Busy(fmt::format("process {}: none of its threads stops while process {} has the same memory (vfork)",
                               tracees.pid(), sharer));
    throw Busy(fmt::format(
        "process {}: none of its threads stops; they wait in the kernel (state D in ps -L), or get no processor",
        tracees.pid()));
}

// What a thread has computed so far.
std::chrono::nanoseconds processor_time_of(pid_t pid, pid_t thread)
{
    std::ifstream in(fmt::format("/proc/{}/task/{}/schedstat", pid, thread));
    int64_t ns = 0;
    in >> ns;
    return std::chrono::nanoseconds(ns);
}

// Where errands may be written. Errands of killed tracers are wiped first.
std::vector<Rest> cleared_rests(Tracees& tracees, int memory)
{
    // Before anything is stopped. Nobody else sends an errand while we trace the first thread.
    for (bool cleared = false;; cleared = true) {
        for (const pid_t thread : threads_of(tracees.pid()))
            if (tracees.seize(thread, 0))
                break;
        std::vector<Rest> rests = find_rests(mappings_of(tracees.pid()), memory);
        if (cleared || std::all_of(rests.begin(), rests.end(), [](const Rest& rest) { return rest.used == 0; }))
            return rests;
        clear_errands(tracees, memory, rests);
        tracees.release_all();
    }
}

// The address at which the errand of a thread that comes home to `home` is written.
uint64_t room_for(const Errand& errand, const user_regs_struct& home, const std::vector<Rest>& rests, pid_t pid,
                  pid_t thread)
{
    const size_t size = encode_errand(0, errand, home).bytes.size() + 64; // addresses may take longer instructions
    if (const uint64_t at = find_room(rests, size, program_counter(home)))
        return at;
    if (find_room(rests, size, std::nullopt))
        throw NoRoomNear(fmt::format("process {}: no room for {} bytes of code within {} MiB of where its thread {} is",
                                     pid, size, errand_reach >> 20, thread));
    throw NoRoom(fmt::format("process {}: no room for {} bytes of code behind its text or in its vdso", pid, size));
}

// How far a thread came on its errand.
struct Progress {
    std::vector<int64_t> results; // of the calls that it made
    bool done = false;            // it has made all, or all up to the gate
    bool passed = false;          // the gate
    bool refused = false;         // the program handles its system calls itself, and would see ours
    bool lost = false;            // it does not come to its next stop
    bool loops = false;           // though it gets processor time
    std::exception_ptr thrown;    // by `seen`
};

// The thread has made a call; behind the gate's it goes further where that opens.
void heed(Progress& progress, pid_t thread, const ErrandCode& code, const CallSeen& seen, const Gate& gate)
{
    const size_t made = progress.results.size();
    try {
        seen(thread, made - 1, progress.results.back());
        if (made == gate.behind && !progress.thrown && gate.opens()) {
            user_regs_struct registers = Tracees::registers(thread);
            set_program_counter(registers, code.further);
            Tracees::set_registers(thread, registers);
            progress.passed = true;
        }
    } catch (const Busy& error) { // calls were made: it is not to be tried again
        progress.thrown = std::make_exception_ptr(Unusable(error.what()));
    } catch (...) {
        progress.thrown = std::current_exception();
    }
}

// Lets the thread run from stop to stop until it has made all calls, or cannot.
Progress accompany(Tracees& tracees, Tracees::Task& task, const ErrandCode& code, size_t calls, const CallSeen& seen,
                   const Gate& gate)
{
    const pid_t pid = tracees.pid(), thread = task.number;
    const auto deadline = Clock::now() + errand_takes;
    std::optional<std::chrono::nanoseconds> before; // as of the first time that it did not come at once
    std::optional<Clock::time_point> asked;         // to end, since when: a thread under way gets some more time
    const auto is_late = [&] {
        const auto now = Clock::now();
        if (asked_to_end() && !asked)
            asked = now;
        return now >= deadline || (asked && now >= *asked + fetched_within);
    };
    Progress progress;
    // To its next stop. False: it does not come to one.
    const auto go_on = [&] {
        bool stopped = tracees.go_on(task, PTRACE_SYSCALL, Clock::now() + look_again);
        while (!stopped && !task.stopped && !tracees.is_gone(task) && !is_late()) {
            const auto now = processor_time_of(pid, thread);
            progress.loops = now - before.value_or(now) >= calls_compute;
            if (now - before.value_or(now) >= errand_computes)
                break;
            before = before.value_or(now);
            stopped = tracees.wait(task, Clock::now() + look_again);
        }
        return stopped;
    };
    constexpr unsigned most_stops = 1000; // two for each call, and some for what the thread is told
    bool begun = false;
    bool in_call = false;
    for (unsigned stops = 1; !progress.done; ++stops) {
        if (stops > most_stops || !go_on()) {
            if (tracees.is_gone(task))
                throw Unusable(fmt::format("process {}: it ended while it was prepared", pid));
            if (task.stopped && stops <= most_stops) // it comes home when it is let go
                throw Unusable(
                    fmt::format("process {}: its thread {} cannot be traced: {}", pid, thread, std::strerror(errno)));
            progress.lost = true;
            progress.loops = progress.loops || stops > most_stops;
            break;
        }
        if (task.event || task.signal != (SIGTRAP | 0x80)) {
            if (task.event || begun)
                continue;
            // A signal, though all are masked. SIGSYS is the answer to our call: the program wants to see its
            // system calls itself (PR_SET_SYSCALL_USER_DISPATCH).
            progress.refused = task.signal == SIGSYS;
            if (progress.refused)
                task.signal = 0;
            break;
        }
        in_call = !in_call;
        if (in_call) // the call begins; its end is the next of these stops
            continue;
        __ptrace_syscall_info info{};
        if (ptrace(static_cast<__ptrace_request>(PTRACE_GET_SYSCALL_INFO), thread, sizeof info, &info) <= 0) {
            if (errno != EIO) // before Linux 5.3
                continue;
            const user_regs_struct registers = Tracees::registers(thread);
            info.instruction_pointer = program_counter(registers);
            info.exit.rval = result_of(registers);
            info.op = PTRACE_SYSCALL_INFO_EXIT;
        }
        in_call = info.op != PTRACE_SYSCALL_INFO_EXIT;
        if (in_call)
            continue;
        begun = true;
        progress.done = info.instruction_pointer == code.after_all;
        const size_t made = progress.results.size();
        if (made < calls && info.instruction_pointer == code.after_calls[made]) {
            progress.results.push_back(info.exit.rval);
            heed(progress, thread, code, seen, gate);
        }
    }
    return progress;
}

} // namespace

bool errand_under_way(pid_t pid, int opened)
{
    const std::vector<Rest> rests = find_rests(mappings_of(pid), opened);
    if (std::all_of(rests.begin(), rests.end(), [](const Rest& rest) { return rest.used == 0; }))
        return false;
    Tracees tracees(pid);
    tracees.seize_all(0);
    tracees.stop_all();
    return std::any_of(rests.begin(), rests.end(), [&](const Rest& rest) { return stands_in(rest, tracees.tasks()); });
}

std::vector<int64_t> send(pid_t pid, int opened, const std::vector<Call>& calls, const std::string& text,
                          const CallSeen& seen, const Gate& gate)
{
    const Hurry hurry;
    Tracees tracees(pid);
    tracees.heed_signals();
    const std::vector<Rest> rests = cleared_rests(tracees, opened);
    bool slept = false;
    const pid_t thread = borrow(tracees, slept);
    refuse_filter(pid, thread, calls);
    if (memory_has_gone(opened))
        throw Unusable(fmt::format("process {}: it has ended or executes another program", pid));
    // This thread's file: where /proc/PID/mem is restricted only the thread's tracer may write code (Outside::hold()).
    const fastsdt::Descriptor file(open(fmt::format("/proc/{}/task/{}/mem", pid, thread).c_str(), O_RDWR | O_CLOEXEC));
    const int memory = file.get();
    const user_regs_struct stopped = Tracees::registers(thread);
    if (!is_64_bit(stopped))
        throw Unusable(fmt::format("process {}: it executes 32-bit code", pid));
    const auto instruction = value_at<uint32_t>(memory, program_counter(stopped)).value_or(0);
    const user_regs_struct home = as_interrupted(stopped, instruction, slept);
    if (in_restartable_sequence(thread, memory, program_counter(home)))
        throw Busy(fmt::format("process {}: its thread {} is in a restartable sequence", pid, thread));
    Errand errand{calls, text, gate.behind, 0};
    if (ptrace(PTRACE_GETSIGMASK, thread, sizeof errand.signal_mask, &errand.signal_mask) < 0)
        throw Busy(fmt::format("thread {}: its signal mask cannot be read: {}", thread, std::strerror(errno)));

    const std::vector<std::byte> vectors = Tracees::wide_vectors(thread);
    const uint64_t at = room_for(errand, home, rests, pid, thread);
    const ErrandCode code = encode_errand(at, errand, home);
    write_all(memory, at, code.bytes, pid);

    // From here on the thread comes home with or without us. Without us it loses what a system call clears of vector
    // registers, unless it was in a system call anyway.
    Tracees::set_registers(thread, sent_off(home, code.start));
    // It masks signals itself, but for one that would come before. SIGSYS must not be masked: see accompany().
    const auto mask_signals = [&](uint64_t mask) { ptrace(PTRACE_SETSIGMASK, thread, sizeof mask, &mask); };
    mask_signals(~(uint64_t{1} << (SIGSYS - 1)));
    Tracees::Task& task = *tracees.find(thread); // stays where it is: nothing more is traced
    const Progress progress = accompany(tracees, task, code, calls.size(), seen, gate);
    // Whoever asks us to end waits so long: the thread may stand in our code, and on a busy machine gets a processor late.
    tracees.heed_signals(false);
    // To a stop from which an interrupted system call is begun again. One that keeps running in the kernel comes home by itself later, and so
    // does one that got too little processor time for its calls: what it has opened it closes on its way.
    const auto is_before_calls = [&] {
        const uint64_t at = program_counter(Tracees::registers(thread));
        return at >= code.start && at < code.after_calls.front();
    };
    const bool rests_now = (!progress.done && !progress.lost)
        || (tracees.rest(task, Clock::now() + fetched_within)
            && (progress.done || progress.loops || is_before_calls()));
    if (rests_now) {
        Tracees::set_registers(thread, home);
        Tracees::set_wide_vectors(thread, vectors);
        mask_signals(errand.signal_mask);
        write_all(memory, at, std::vector<std::byte>(code.bytes.size()), pid);
    }
    const size_t expected = gate.behind < calls.size() && !progress.passed ? gate.behind : calls.size();
    if (progress.lost || !rests_now || (progress.done && progress.results.size() != expected))
        throw Unusable(
            fmt::format("process {}: its thread {} did not come back from the system calls that it was to make "
                        "for us{}",
                        pid, thread,
                        asked_to_end() ? ", and a signal asks this tool to end"
                                       : ": it gets no processor time, or the process changes our code"));
    if (progress.refused)
        throw Unusable(
            fmt::format("process {}: it handles its system calls itself (PR_SET_SYSCALL_USER_DISPATCH), and would "
                        "see ours",
                        pid));
    if (!progress.done)
        throw Busy(fmt::format("process {}: a signal came first", pid));
    if (progress.thrown)
        std::rethrow_exception(progress.thrown);
    return progress.results;
}

} // namespace fastsdt::engine
