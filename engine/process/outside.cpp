// SPDX-License-Identifier: BSD-2-Clause
#include "process/outside_target.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h> // SYS_*
#include <thread>

namespace fastsdt::engine {

bool Outside::stores_thread_pointers()
{
    bool all = true;
    look_at_thread_pointers([&] { all = true; },
                            [&](pid_t, std::optional<uint64_t> pointer) {
                                all = all && pointer && value_at<uint64_t>(memory(), *pointer) == *pointer;
                            });
    return all;
}

Target::Tids Outside::tids_at(int32_t offset)
{
    Tids found = Tids::unknown;
    look_at_thread_pointers(
        [&] { found = Tids::unknown; },
        [&](pid_t thread, std::optional<uint64_t> pointer) {
            if (!pointer || *pointer == 0 || found == Tids::elsewhere)
                return;
            const auto numbers = status_numbers(pid_, thread, "NSpid:");
            const auto word = value_at<uint32_t>(memory(), *pointer + static_cast<uint64_t>(int64_t{offset}));
            found = word && !numbers.empty() && *word == numbers.back() ? Tids::there : Tids::elsewhere;
        });
    return found;
}

bool Outside::may_come()
{
    bool comes = false;
    patiently([&] { as_tracer([&] { comes = errand_under_way(pid_, memory()); }); });
    return comes;
}

// Without a tracer, where the kernel lets us: see hold().
void Outside::write_code(uint64_t address, std::span<const std::byte> bytes)
{
    if (pwrite(memory(), bytes.data(), bytes.size(), static_cast<off_t>(address)) == static_cast<ssize_t>(bytes.size()))
        return;
    patiently([&] {
        as_tracer([&] {
            Tracees tracees(pid_);
            for (const pid_t thread : threads_of(pid_))
                if (tracees.seize(thread, 0))
                    break;
            refuse_other_memory();
            hold(tracees);
            write(address, bytes.data(), bytes.size());
        });
    });
}

std::vector<std::byte> Outside::original(const Mapping& mapping, uint64_t address, size_t size)
{
    return read_at(view_.file(mapping), mapping.offset + (address - mapping.start), size);
}

bool Outside::guard(std::span<const Range> ranges, bool on)
{
    std::vector<Call> calls;
    for (const Range& range : ranges)
        calls.push_back(
            {SYS_mprotect, {range.start, range.size, PROT_READ | PROT_EXEC | (on ? uint64_t{PROT_WRITE} : 0)}});
    const auto results = call_in_turn(calls);
    return std::all_of(results.begin(), results.end(), [](int64_t result) { return result == 0; });
}

void Outside::want_stops()
{
    patiently([&] { refuse_sharer(pid_); });
}

std::vector<Target::Outcome> Outside::patch(std::span<const Patch> patches, bool back)
{
    std::vector<Outcome> outcomes;
    whereabouts_.look_ahead(patches, back);
    for (size_t from = 0, count = 0; from < patches.size(); from += count) {
        count = std::min(whereabouts_.prepare_stop(), patches.size() - from);
        while_stopped([&](Tracees& tracees) {
            const auto now = patches.subspan(from, count);
            const Standing standing = whereabouts_.of(tracees, now, back);
            outcomes.resize(from);
            for (const Patch& p : now) {
                const auto obstacle = whereabouts_.obstacle(p, back, standing);
                outcomes.push_back(obstacle ? *obstacle : patch_one(p, back, standing.of(p)));
            }
        });
    }
    waits_for_goroutine_ = false;
    for (size_t i = 0; i < patches.size(); ++i)
        waits_for_goroutine_ = waits_for_goroutine_ || (patches[i].of_go && outcomes[i] == Outcome::busy);
    return outcomes;
}

// A goroutine that was preempted where a jump is to be made goes on soon, when it is its turn.
bool Outside::tries_again(unsigned times)
{
    constexpr unsigned most = 30, doubled_every = 4;
    if (!waits_for_goroutine_ || times == 0)
        return Target::tries_again(times);
    if (times < most)
        std::this_thread::sleep_for(std::chrono::milliseconds(2U << std::min(times / doubled_every, 5U)));
    return times < most;
}

// By a lock on a file that only those can open who may trace the process. Who holds it forever ends the process's tracing, which
// he could do by ptrace as well.
void Outside::alone(const std::function<void()>& work)
{
    const pid_t thread = living_thread(pid_);
    const Descriptor file(
        thread ? open(fmt::format("/proc/{}/task/{}/maps", pid_, thread).c_str(), O_RDONLY | O_CLOEXEC) : -1);
    patiently([&] {
        if (file && flock(file.get(), LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
            throw Busy(fmt::format("process {}: another tracer is at work on it", pid_));
    });
    work();
}

bool Outside::change_data(size_t offset, uint64_t from, uint64_t to)
{
    if (!page_.at(offset)) {
        struct stat status{};
        // Sealed by take_over(): it cannot get shorter later.
        if (fstat(data_file_.get(), &status) < 0 || offset >= static_cast<uint64_t>(status.st_size))
            return false;
        page_ = PageOfData(data_file_.get(), offset / page * page);
    }
    return __atomic_compare_exchange_n(static_cast<uint64_t*>(page_.at(offset)), &from, to, false, __ATOMIC_SEQ_CST,
                                       __ATOMIC_SEQ_CST);
}

void Outside::write_data(size_t offset, std::span<const std::byte> bytes)
{
    if (pwrite(data_file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset))
        != static_cast<ssize_t>(bytes.size()))
        throw Unusable(fmt::format("process {}: its tables cannot be written: {}", pid_, std::strerror(errno)));
}

void Outside::forget_data(std::span<const Piece> contents)
{
    for (const Piece& piece : contents)
        write_data(piece.offset, std::vector<std::byte>(piece.size));
}

std::optional<Loader> Outside::loader()
{
    const auto debug = read_debug_state(read_auxv(view_), memory());
    if (!debug || !debug->value.r_brk)
        return std::nullopt;
    return Loader{debug->value.r_brk, debug->address + offsetof(r_debug, r_state)};
}

// Who is held before its constructors stands where the dynamic linker's jump is made, and all that it has mapped is seen.
void Outside::hear_loader()
{
    if (questions_)
        return;
    questions_ = std::make_unique<LoaderQuestions>(data_file_.get());
    const auto at = loader();
    const auto counter = stopped_at(pid_);
    if (at && counter && *counter >= at->breakpoint && *counter - at->breakpoint < loader_function)
        questions_->answer_next();
}

// In this order: whoever has set the state anew since has asked, or has mapped nothing yet.
bool Outside::holds_modules()
{
    const auto debug = questions_ ? read_debug_state(read_auxv(view_), memory()) : std::nullopt;
    return debug && (debug->value.r_state != r_debug::RT_CONSISTENT || questions_->is_open()) && held_all_modules();
}

void Outside::let_execute(pid_t thread)
{
    if (questions_)
        questions_->let_execute(thread);
}

// Of each thread. @param begin  is called first, and again where it is tried again
void Outside::look_at_thread_pointers(const std::function<void()>& begin,
                                      const std::function<void(pid_t thread, std::optional<uint64_t> pointer)>& look)
{
    patiently([&] {
        as_tracer([&] {
            Tracees tracees(pid_);
            tracees.seize_all(0);
            begin();
            tracees.look_at_each(
                [&](const Tracees::Task& task) { look(task.number, thread_pointer(Tracees::registers(task.number))); });
            refuse_other_memory();
        });
    });
}

// Before anything is changed: whether one that has a filter could make calls as they will be made. Each is judged again with its own
// addresses, on the thread that makes it.
void Outside::refuse_filters(const std::vector<pid_t>& threads) const
{
    const auto filtered =
        std::find_if(threads.begin(), threads.end(), [this](pid_t thread) { return has_seccomp(pid_, thread); });
    if (filtered == threads.end())
        return;
    std::vector<Call> calls = calls_for_data(page, MFD_CLOEXEC);
    add_calls_for_code(calls, {page, 2 * page});
    calls.push_back({SYS_munmap, {page, page}});
    patiently([&] {
        as_tracer([&] {
            Tracees tracees(pid_);
            if (tracees.seize(*filtered, 0)
                && tracees.stop(*filtered, std::chrono::steady_clock::now() + std::chrono::seconds(1)))
                refuse_filter(pid_, *filtered, calls);
        });
    });
}

// Runs `work` with all threads stopped, and with the memory open, checked to be still the same program's.
void Outside::while_stopped(const std::function<void(Tracees&)>& work)
{
    patiently([&] {
        as_tracer([&] {
            const Hurry hurry;
            Tracees tracees(pid_);
            tracees.seize_all();
            tracees.stop_all();
            refuse_other_memory();
            hold(tracees);
            work(tracees);
        });
    });
}

// Exchanges one instruction for another. All threads are stopped, and none stands inside it. The bytes lie within a
// page, so that the write is whole even if we are killed meanwhile.
Target::Outcome Outside::patch_one(const Patch& p, bool back, const std::vector<uint64_t>& counters)
{
    const auto& from = back ? p.after : p.before;
    const auto& to = back ? p.before : p.after;
    const auto now = read(p.at, p.length);
    if (now.size() != p.length)
        return Outcome::changed;
    if (std::equal(now.begin(), now.end(), to.begin())) {
        if (back && counted_.contains(p.at))
            count_down(p); // the jump was lost
        return Outcome::done;
    }
    // x86: a breakpoint on our jump, the kernel's or a debugger's, stays; what it hides begins like the nop10.
    const bool beside_breakpoint = own_machine.arch == Arch::x86_64 && now[0] == breakpoint && from[0] == to[0];
    const size_t kept = back && beside_breakpoint ? 1 : 0;
    if (!std::equal(now.begin() + kept, now.end(), from.begin() + kept))
        return Outcome::changed;
    // A thread may stand inside the nop10: before a kernel's former call, which begins at the sixth byte. Or between instructions
    // that move; where the jump is, none can.
    const auto inside = std::upper_bound(counters.begin(), counters.end(), p.at);
    if (inside != counters.end() && *inside < p.at + p.covers && !(back && p.moves()))
        return Outcome::busy;
    if (!back)
        count_up(p); // before: if we are killed in between, it is only one too many
    if (pwrite(memory(), to.data() + kept, p.length - kept, static_cast<off_t>(p.at + kept))
        != static_cast<ssize_t>(p.length - kept)) {
        const int error = errno;
        if (!back)
            count_down(p);
        throw Unusable(
            fmt::format("process {}: its code at {:#x} cannot be written: {}", pid_, p.at, std::strerror(error)));
    }
    if (back)
        count_down(p);
    return Outcome::done;
}

// A jump that was lost and is made again is counted once. A module that was unmapped and mapped again has a new semaphore: 0.
void Outside::count_up(const Patch& p)
{
    const auto value = p.semaphore ? value_at<uint16_t>(memory(), p.semaphore) : std::nullopt;
    if (value.value_or(0) == 0 || !counted_.contains(p.at))
        count_semaphore(p.semaphore, 1);
    if (value)
        counted_.insert(p.at);
}

void Outside::count_down(const Patch& p)
{
    count_semaphore(p.semaphore, -1);
    counted_.erase(p.at);
}

void Outside::count_semaphore(uint64_t address, int by)
{
    const auto value = address ? value_at<uint16_t>(memory(), address) : std::nullopt;
    if (!value || *value == (by < 0 ? 0 : UINT16_MAX))
        return;
    const auto now = static_cast<uint16_t>(*value + by);
    write(address, &now, sizeof now);
}

// Where proc_mem.force_override is "ptrace", only a thread's tracer may write code through its file (Linux 6.12, proc_mem_foll_force() in
// fs/proc/base.c; Debian's kernels).
void Outside::hold(Tracees& tracees)
{
    if (!tracees.find(view_.holder()) && !tracees.tasks().empty())
        view_.hold(tracees.tasks().front().number);
}

void Outside::write(uint64_t address, const void* bytes, size_t size)
{
    const ssize_t wrote = pwrite(memory(), bytes, size, static_cast<off_t>(address));
    if (wrote == static_cast<ssize_t>(size))
        return;
    const int error = errno;
    refuse_other_memory();
    throw Unusable(fmt::format("process {}: its memory at {:#x} cannot be written: {}", pid_, address,
                               wrote < 0 ? std::strerror(error) : "not all of it"));
}

void Outside::refuse_other_memory()
{
    if (view_.has_gone())
        throw Unusable(fmt::format("process {}: it has ended or executes another program", pid_));
}

std::vector<int64_t> Outside::call(const std::vector<Call>& calls, const std::string& text,
                                   const std::function<void(pid_t, size_t, int64_t)>& seen, const Gate& gate)
{
    std::vector<int64_t> results;
    patiently([&] { as_tracer([&] { results = send(pid_, memory(), calls, text, seen, gate); }); });
    return results;
}

// As many as one wants, none of which needs another's result: an errand has little room.
std::vector<int64_t> Outside::call_in_turn(std::span<const Call> calls)
{
    constexpr size_t at_once = 8;
    std::vector<int64_t> results;
    for (; !calls.empty(); calls = calls.subspan(std::min(calls.size(), at_once))) {
        const auto some = calls.first(std::min(calls.size(), at_once));
        const auto of_some = call({some.begin(), some.end()});
        results.insert(results.end(), of_some.begin(), of_some.end());
    }
    return results;
}

void Outside::need(int64_t result, const std::string& what) const
{
    if (result < 0 && result > -4096)
        throw Unusable(
            fmt::format("process {}: {} failed in it: {}", pid_, what, std::strerror(static_cast<int>(-result))));
}

std::unique_ptr<Target> open_outside(pid_t pid)
{
    return open_outside(pid, open_forked(pid));
}

std::unique_ptr<Target> open_forked(pid_t pid)
{
    return std::make_unique<Outside>(pid);
}

std::unique_ptr<Target> open_outside(pid_t, std::unique_ptr<Target> forked)
{
    dynamic_cast<const Outside&>(*forked).refuse_filters(); // of open_forked()
    return forked;
}

} // namespace fastsdt::engine
