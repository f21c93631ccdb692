// SPDX-License-Identifier: BSD-2-Clause
//
// A task is seized (it runs on), interrupted, and waited for: all are interrupted before the first is waited for, so that they stop
// side by side, and each is waited for by its number, so that no stop is another's. Threads that come in between are traced by the kernel for us
// (PTRACE_O_TRACECLONE), so that after one look at all threads none can be missed. A process that shares the memory without
// being a thread is found by kcmp(), or by the event of its making.
#include "process/ptrace.h"

#include "process/errand.h"
#include "proc/memory.h"
#include "proc/threads.h"
#include "proc/processes.h"

#include <fmt/format.h>

#include <algorithm>
#if defined(__aarch64__)
#include <asm/ptrace.h> // SVE_PT_*
#endif
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <exception>
#include <fcntl.h>
#include <fstream>
#include <linux/kcmp.h>
#include <map>
#include <mutex>
#include <new>
#include <sched.h>
#include <semaphore>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <unordered_map>
#include <utility>

namespace fastsdt::engine {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// A thread that is asleep or runs stops within microseconds. On a busy machine it has to get a CPU first. In state D it may wait for long.
constexpr std::chrono::milliseconds patience = 200ms, patience_for_a_processor = 2s;

// Sleeps for an eighth of the time that it has waited, 3 ms at most: on a single slow processor, whom we wait for gets no further in 50 us than to
// be interrupted by us (Hurry).
void pause_briefly(unsigned round)
{
    constexpr unsigned yields = 50;
    if (round < yields)
        std::this_thread::yield();
    else
        std::this_thread::sleep_for(50us * (1U << std::min((round - yields) / 8, 6U)));
}

thread_local Kept* kept = nullptr;

// The signal that a stopped task was about to get.
long signal_of(const Tracees::Task& task)
{
    return task.event || task.signal == (SIGTRAP | 0x80) ? 0 : task.signal;
}

struct SchedulingAttributes { // sched_attr, include/uapi/linux/sched/types.h, which glibc's sched.h excludes
    uint32_t size = 0, policy = 0;
    uint64_t flags = 0;
    int32_t nice = 0;
    uint32_t priority = 0;
    uint64_t runtime = 0, deadline = 0, period = 0;
};

bool set_scheduling(SchedulingAttributes attributes)
{
    return syscall(SYS_sched_setattr, 0, &attributes, 0) == 0;
}

bool is_thread_of(pid_t pid, pid_t number)
{
    return access(fmt::format("/proc/{}/task/{}", pid, number).c_str(), F_OK) == 0;
}

// Whether the kernel may still have this thread trace something: whatever was not let go in a stop.
thread_local bool may_trace = false;

// What another of our threads traces would look like one too, but cannot be traced by this one.
bool own_child(pid_t pid)
{
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
}

} // namespace

void ask_for_short_slices()
{
    constexpr uint64_t shortest = 100'000; // ns: the kernel takes no less, __setparam_fair() in kernel/sched/syscalls.c
    SchedulingAttributes attributes;
    if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) < 0 || attributes.policy != SCHED_OTHER)
        return;
    attributes.runtime = shortest;
    (void)!set_scheduling(attributes);
}

struct Hurry::Before : SchedulingAttributes {};

// Those that wait for a processor wait for us too: we run before them where we may, as root or by RLIMIT_RTPRIO and RLIMIT_NICE.
Hurry::Hurry() : before_(std::make_unique<Before>())
{
    constexpr uint32_t first_version = 48; // SCHED_ATTR_SIZE_VER0
    if (syscall(SYS_sched_getattr, 0, before_.get(), sizeof(SchedulingAttributes), 0) < 0
        || before_->policy != SCHED_OTHER) {
        before_.reset();
        return;
    }
    SchedulingAttributes now{.size = first_version, .policy = SCHED_RR, .priority = 1};
    if (set_scheduling(now))
        return;
    now = *before_;
    now.nice = -20;
    if (before_->nice == now.nice || !set_scheduling(now))
        before_.reset();
}

Hurry::~Hurry()
{
    if (before_)
        (void)!set_scheduling(*before_);
}

// Where memory ends in the middle of its work a thread may not come to undo it: the C++ library ends the program where it finds none for the
// name of a folder. So there has to be some at first.
static bool has_room()
{
    constexpr size_t room = size_t{4} << 20;
    void* const found = mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return found != MAP_FAILED && munmap(found, room) == 0;
}

std::thread begin_thread(std::function<void()> work)
{
    std::error_code error = std::make_error_code(std::errc::not_enough_memory);
    try {
        if (has_room())
            return std::thread(std::move(work));
    } catch (const std::system_error& thrown) {
        error = thrown.code();
    }
    // What is to be undone takes a thread too: whoever keeps memory for that gives it now.
    if (const std::new_handler give = std::get_new_handler())
        try {
            give();
        } catch (const std::bad_alloc&) {
            // It is given.
        }
    throw Unusable(fmt::format("no thread can be started: {} (ulimit -u, -v)", error.message()));
}

struct TracerThread::Worker {
    std::binary_semaphore asked{0}, done{0};
    const std::function<void()>* work = nullptr; // null: end
    std::exception_ptr thrown;
    bool traces = false; // it may still
    pid_t number = 0;
    std::thread thread;

    void run()
    {
        number = gettid();
        // Other threads take the process's signals. Also blocked is SIGXFSZ: RLIMIT_FSIZE of this process shall not end
        // it.
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, nullptr);
        prctl(PR_SET_TIMERSLACK, 1UL); // ns; the pauses are not made longer
        ask_for_short_slices();
        for (asked.acquire(); work; asked.acquire()) {
            try {
                (*work)();
            } catch (...) {
                thrown = std::current_exception();
            }
            traces = may_trace;
            done.release();
        }
    }
};

namespace {
thread_local TracerThread* tracer_thread = nullptr;
}

TracerThread::TracerThread() : first_(!tracer_thread)
{
    if (first_)
        tracer_thread = this;
}

TracerThread::~TracerThread()
{
    end();
    if (first_)
        tracer_thread = nullptr;
}

void TracerThread::end()
{
    if (!worker_)
        return;
    worker_->work = nullptr;
    worker_->asked.release();
    worker_->thread.join();
    // A joined thread has not ended yet: the kernel wakes us in exit_mm(), and lets go of the thread's tracees later,
    // in exit_notify(). When the kernel does not know the thread any more, that is done.
    for (unsigned round = 0; syscall(SYS_tgkill, getpid(), worker_->number, 0) == 0; ++round)
        pause_briefly(round);
    worker_.reset();
}

void TracerThread::run(const std::function<void()>& work)
{
    if (!worker_) {
        auto fresh = std::make_unique<Worker>();
        fresh->thread = begin_thread([worker = fresh.get()] { worker->run(); });
        worker_ = std::move(fresh);
    }
    worker_->work = &work;
    worker_->asked.release();
    worker_->done.acquire();
    const std::exception_ptr thrown = std::exchange(worker_->thrown, nullptr);
    if (worker_->traces)
        end();
    if (thrown)
        std::rethrow_exception(thrown);
}

void as_tracer(const std::function<void()>& work)
{
    if (kept)
        return work();
    if (tracer_thread)
        return tracer_thread->run(work);
    TracerThread().run(work);
}

// A child that was stopped as by SIGSTOP runs for a moment when its tracer leaves it: until it is in that stop again.
static bool is_stopping_child(pid_t pid)
{
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WEXITED | WNOHANG | WNOWAIT) == 0
        && info.si_code == CLD_STOPPED;
}

std::optional<uint64_t> stopped_at(pid_t pid)
{
    std::string call; // -1: none
    uint64_t stack = 0, counter = 0;
    for (;;) {
        std::ifstream in(fmt::format("/proc/{}/syscall", pid));
        call.clear();
        if (in >> call && call == "-1" && in >> std::hex >> stack >> counter)
            return counter;
        constexpr timespec moment{0, 100'000}; // it wants a processor
        if (call != "running" || !is_stopping_child(pid))
            return std::nullopt;
        nanosleep(&moment, nullptr);
    }
}

bool asked_to_end()
{
    sigset_t waiting;
    if (sigpending(&waiting) < 0)
        return false;
    return sigismember(&waiting, SIGINT) == 1 || sigismember(&waiting, SIGTERM) == 1
        || sigismember(&waiting, SIGHUP) == 1 || sigismember(&waiting, SIGQUIT) == 1;
}

void patiently(const std::function<void()>& work)
{
    const auto end = Clock::now() + 2s;
    for (auto pause = 1ms;; pause = std::min(2 * pause, 100ms)) {
        try {
            return work();
        } catch (const Busy&) {
            if (Clock::now() + pause > end)
                throw;
        }
        std::this_thread::sleep_for(pause);
    }
}

namespace {

bool has_memory_of(pid_t other, pid_t thread)
{
    return syscall(SYS_kcmp, thread, other, KCMP_VM, 0, 0) == 0;
}

// The kernel gives numbers in ascending order, from the lowest again when it has come to the highest. This is the last one that it gave
// in our pid namespace.
pid_t newest_number()
{
    std::ifstream in("/proc/loadavg");
    std::string skipped;
    pid_t number = 0;
    in >> skipped >> skipped >> skipped >> skipped >> number;
    return number;
}

// How many tasks were made since the machine started. 0: not known.
uint64_t tasks_made()
{
    uint64_t count = 0;
    std::ifstream in("/proc/stat");
    for (std::string line; std::getline(in, line);)
        if (constexpr std::string_view name = "processes "; line.starts_with(name))
            count = std::strtoull(line.c_str() + name.size(), nullptr, 10);
    return count;
}

// What is the same in all processes that share a memory, and seldom the same in two others. Zeros: it is not said.
using Marks = decltype(Stat::memory);
Marks marks_of_memory(const std::optional<Stat>& stat)
{
    return stat && stat->memory.back() != 0 ? stat->memory : Marks{};
}

// It has no memory of its own, and shares none with a process.
bool is_kernel_thread(const std::optional<Stat>& stat)
{
    constexpr uint64_t flag = 0x200000; // PF_KTHREAD, include/linux/sched.h
    return stat && (stat->flags & flag) != 0;
}

// All processes at a time, and which number was the newest before.
struct Listed {
    pid_t newest = 0;
    uint64_t made = 0;
    Clock::time_point at;
    std::map<Marks, std::vector<pid_t>> by_marks;
    std::unordered_map<pid_t, Marks> marks;
};
std::mutex listed_mutex;
Listed listed;

// Whether all numbers that were given since are those from listed.newest on, and few.
bool is_recent(const Listed& before, pid_t newest)
{
    constexpr std::chrono::milliseconds soon = 100ms, later = 1s; // so soon the numbers cannot have come around
    constexpr pid_t few = 100;                                    // each is compared with
    if (before.newest == 0 || newest < before.newest || newest - before.newest >= few)
        return false;
    const auto age = Clock::now() - before.at;
    if (age < soon)
        return true;
    const uint64_t made = age < later && before.made ? tasks_made() : 0;
    return made >= before.made && made - before.made < few;
}

Listed list_all()
{
    Listed now;
    now.at = Clock::now();
    now.made = tasks_made();
    now.newest = newest_number();
    for (const pid_t pid : listed_processes()) {
        const auto stat = read_stat(std::to_string(pid));
        if (is_kernel_thread(stat))
            continue;
        const Marks marks = marks_of_memory(stat);
        now.by_marks[marks].push_back(pid);
        now.marks.emplace(pid, marks);
    }
    return now;
}

} // namespace

// A process comes to share another's memory when it is made, and at no other time. So whoever shares it was there when all were listed,
// with the same marks, or has a number that was given since. Among thousands, to compare with each takes a millisecond.
pid_t sharer_of_memory(pid_t pid)
{
    const pid_t thread = living_thread(pid);
    if (!thread)
        return 0;
    const auto shares = [&](pid_t other) { return other != pid && has_memory_of(other, thread); };
    const std::lock_guard lock(listed_mutex);
    pid_t newest = newest_number();
    const auto known = [&] {
        const auto found = listed.marks.find(pid);
        return found != listed.marks.end() && found->second != Marks{};
    };
    if (!known() || !is_recent(listed, newest)) {
        listed = list_all();
        newest = newest_number();
    }
    if (!known() || newest < listed.newest) { // it is not said how its memory can be told
        for (const auto& [other, marks] : listed.marks)
            if (shares(other))
                return other;
    } else {
        for (const Marks& marks : {listed.marks[pid], Marks{}})
            if (const auto same = listed.by_marks.find(marks); same != listed.by_marks.end())
                for (const pid_t other : same->second)
                    if (shares(other))
                        return other;
    }
    for (pid_t other = listed.newest + 1; other <= newest; ++other)
        if (shares(other) && !is_thread_of(pid, other))
            return other;
    return 0;
}

Kept::Kept(Tracees& from) : task_(from.tasks().front())
{
    from.tasks_.clear();
    from.indexes_.clear();
    kept = this;
}

Kept::~Kept()
{
    kept = nullptr;
    ptrace(PTRACE_DETACH, task_.number, nullptr, signal_of(task_)); // fails for one that has been killed
}

Tracees::Tracees(pid_t pid) : pid_(pid), own_child_(own_child(pid)) {}

Tracees::~Tracees()
{
    release_all();
}

void Tracees::release(Task& task, Deadline deadline)
{
    if (kept && kept->task_.number == task.number) {
        if (!task.stopped && !is_gone(task))
            rest(task, deadline);
        if (task.stopped)
            kept->task_ = task;
        return;
    }
    if (task.asked && !task.stopped && !is_gone(task) && state_of(pid_, task.number) != 'D') {
        try {
            wait(task, deadline);
        } catch (const Unusable&) {
            // Its registers could not be looked at: it is let go as it is.
        }
    }
    if (!task.stopped || ptrace(PTRACE_DETACH, task.number, nullptr, signal_of(task)) < 0)
        may_trace = true;
    task.stopped = false;
}

void Tracees::add(pid_t thread)
{
    indexes_[thread] = tasks_.size();
    tasks_.push_back({thread});
}

void Tracees::forget(const std::function<bool(const Task&)>& gone)
{
    if (std::erase_if(tasks_, gone) != 0)
        may_trace = true; // nobody may have waited for its end
    indexes_.clear();
    for (size_t i = 0; i < tasks_.size(); ++i)
        indexes_[tasks_[i].number] = i;
}

void Tracees::release_all()
{
    const bool heeded = std::exchange(heeds_signals_, false); // a signal ends us, and not what the process waits for
    const auto deadline = Clock::now() + patience_for_a_processor;
    for (Task& task : tasks_)
        release(task, deadline);
    heeds_signals_ = heeded;
    tasks_.clear();
    indexes_.clear();
}

void Tracees::refuse(pid_t thread, int error) const
{
    const std::string tracer = status_field(pid_, thread, "TracerPid:");
    if (!tracer.empty() && tracer != "0") {
        std::ifstream in(fmt::format("/proc/{}/comm", tracer));
        std::string name;
        std::getline(in, name);
        throw Busy(fmt::format("process {}: process {} ({}) traces it, and only one can; detach that first", pid_,
                               tracer, name));
    }
    if (error == EPERM || error == EACCES) {
        // The same rights open its memory: so it was refused for a tracer that has gone meanwhile.
        if (Descriptor(open(fmt::format("/proc/{}/task/{}/mem", pid_, thread).c_str(), O_RDONLY | O_CLOEXEC)))
            throw Busy(fmt::format("process {}: another tracer came and went; try again", pid_));
        std::ifstream in("/proc/sys/kernel/yama/ptrace_scope");
        int scope = 0;
        in >> scope;
        if (scope >= 3)
            throw Unusable(fmt::format("process {}: kernel.yama.ptrace_scope is {}: nothing on this machine may be "
                                       "traced until it is started again",
                                       pid_, scope));
        if (geteuid() != 0 && scope > 0)
            throw Unusable(fmt::format("process {}: kernel.yama.ptrace_scope is {}: start the program under this tool, "
                                       "or run as root",
                                       pid_, scope));
        const std::string owner = status_field(pid_, thread, "Uid:");
        if (geteuid() != 0 && owner.starts_with(std::to_string(geteuid()) + "\t"))
            throw Unusable(fmt::format("process {}: it does not let its user look into it (it changed its user, its "
                                       "file cannot be read, or PR_SET_DUMPABLE is 0); run as root",
                                       pid_));
        throw Unusable(fmt::format("process {}: it is another user's; run as that user or as root", pid_));
    }
    throw Unusable(fmt::format("process {}: ptrace: {}", pid_, std::strerror(error)));
}

const long Tracees::children = PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;

bool Tracees::seize(pid_t thread, long options)
{
    if (find(thread))
        return true;
    if (kept && kept->task_.number == thread) {
        ptrace(PTRACE_SETOPTIONS, thread, nullptr, options | PTRACE_O_TRACESYSGOOD);
        add(thread);
        tasks_.back() = kept->task_;
        return true;
    }
    if (ptrace(PTRACE_SEIZE, thread, nullptr, options | PTRACE_O_TRACESYSGOOD) < 0) {
        const int error = errno;
        if (error == ESRCH || has_ended(state_of(pid_, thread)))
            return false;
        // It is traced by us already if a traced thread has made it.
        const std::string tracer = status_field(pid_, thread, "TracerPid:");
        if (tracer != std::to_string(gettid()))
            refuse(thread, error);
    }
    add(thread);
    return true;
}

void Tracees::seize_all(long options)
{
    for (bool found = true; found;) {
        found = false;
        for (pid_t thread : threads_of(pid_))
            if (!find(thread) && !ended_.contains(thread) && seize(thread, options))
                found = true;
    }
    if (tasks_.empty())
        throw Unusable(fmt::format("process {}: it has ended", pid_));
}

Tracees::Task* Tracees::find(pid_t thread)
{
    const auto found = indexes_.find(thread);
    return found == indexes_.end() ? nullptr : &tasks_[found->second];
}

// For a task that stopped because it made another: the new one is traced too, and stops by itself.
void Tracees::learn_child(const Task& task)
{
    unsigned long child = 0;
    if (ptrace(PTRACE_GETEVENTMSG, task.number, nullptr, &child) < 0 || child == 0) {
        may_trace = true;
        return;
    }
    const auto number = static_cast<pid_t>(child);
    if (!is_thread_of(pid_, number) && has_memory_of(number, task.number))
        sharer_ = number;
    if (!find(number))
        add(number);
}

bool Tracees::poll(Task& task)
{
    siginfo_t info{};
    // Does not reap our own child: somebody else here waits for its end.
    const int ends = task.number == pid_ && own_child_ ? 0 : WEXITED;
    if (waitid(P_PID, static_cast<id_t>(task.number), &info, WNOHANG | WSTOPPED | ends | __WALL | __WNOTHREAD) < 0) {
        if (errno == ECHILD)
            ended_.insert(task.number);
        return errno == ECHILD;
    }
    if (info.si_pid == 0)
        return ends == 0 && has_ended(state_of(pid_, task.number)) && ended_.insert(task.number).second;
    if (info.si_code != CLD_TRAPPED) {
        ended_.insert(task.number);
        return true;
    }
    task.signal = info.si_status & 0xff;
    task.event = info.si_status >> 8;
    return look_at(task);
}

// False: it has been killed since it stopped, and poll() will say so.
bool Tracees::look_at(Task& task)
{
    task.stopped = true; // even if what follows throws: it is let go then
    task.asked = false;
    const bool in_call = task.event == 0 && task.signal == (SIGTRAP | 0x80);
    if (in_call) // of an errand: its registers are nobody's
        return true;
    user_regs_struct registers;
    iovec io{&registers, sizeof registers};
    if (ptrace(PTRACE_GETREGSET, task.number, NT_PRSTATUS, &io) < 0) {
        task.stopped = errno != ESRCH;
        return task.stopped;
    }
    const bool compat = io.iov_len != sizeof registers;
    task.counter = compat ? 0 : program_counter(registers);
    const bool delivers = task.event == 0;
    if (!compat && (delivers || task.event == PTRACE_EVENT_STOP)
        && begin_again(registers, task.sleeping, pid_, task.number, delivers))
        set_registers(task.number, registers);
    task.sleeping.reset();
    return true;
}

bool Tracees::wait(Task& task, Deadline deadline)
{
    constexpr unsigned soon = 80; // rounds: some 5 ms
    for (unsigned round = 0; !poll(task); ++round) {
        if (Clock::now() > deadline || (heeds_signals_ && round > soon && asked_to_end()))
            return false;
        pause_briefly(round);
    }
    return task.stopped;
}

bool Tracees::go_on(Task& task, int request, Deadline deadline)
{
    if (ptrace(static_cast<__ptrace_request>(request), task.number, nullptr, signal_of(task)) < 0 && errno != ESRCH)
        return false; // it stays where it is
    task.stopped = false;
    return wait(task, deadline);
}

void Tracees::interrupt(Task& task)
{
    task.sleeping = sleeping(pid_, task.number);
    task.asked = true;
    ptrace(PTRACE_INTERRUPT, task.number, nullptr, nullptr); // fails for one that ends, which poll() sees
}

bool Tracees::stop(pid_t thread, Deadline deadline)
{
    Task* task = find(thread);
    if (!task)
        return false;
    if (task->stopped)
        return true;
    interrupt(*task);
    return wait(*task, deadline);
}

bool Tracees::rest(Task& task, Deadline deadline)
{
    if (!task.stopped)
        interrupt(task);
    bool stopped = task.stopped || wait(task, deadline);
    while (stopped && task.event != PTRACE_EVENT_STOP) { // a signal, or a thread made: the stop asked for comes next
        interrupt(task);
        stopped = go_on(task, PTRACE_CONT, deadline);
    }
    return stopped;
}

// False: it has ended.
bool Tracees::await(Task& task, Deadline begin)
{
    if (wait(task, begin + patience))
        return true;
    if (!is_gone(task) && state_of(pid_, task.number) != 'D' && wait(task, begin + patience_for_a_processor))
        return true;
    if (is_gone(task))
        return false;
    if (const pid_t sharer = sharer_of_memory(pid_))
        throw Busy(
            fmt::format("process {}: not all of its threads stop while process {} has the same memory (vfork, or "
                        "clone with CLONE_VM)",
                        pid_, sharer));
    throw Busy(
        fmt::format("process {}: its thread {} does not stop; it waits in the kernel for something that does not "
                    "come (state D in ps -L), or gets no processor",
                    pid_, task.number));
}

void refuse_sharer(pid_t pid)
{
    if (const pid_t sharer = sharer_of_memory(pid))
        throw Busy(fmt::format("process {}: process {} has the same memory (vfork, or clone with CLONE_VM), and would "
                               "not be stopped with it",
                               pid, sharer));
}

void Tracees::stop_all()
{
    refuse_sharer(pid_);
    for (Task& task : tasks_)
        if (!task.stopped)
            interrupt(task);
    const auto begin = Clock::now();
    for (size_t i = 0; i < tasks_.size(); ++i) { // learn_child() adds to them
        if (tasks_[i].stopped || is_gone(tasks_[i]))
            continue;
        await(tasks_[i], begin);
        if (const int event = tasks_[i].event;
            event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK)
            learn_child(Task(tasks_[i]));
    }
    if (sharer_)
        throw Busy(
            fmt::format("process {}: process {} has the same memory (vfork, or clone with CLONE_VM)", pid_, sharer_));
    // A call of clone() that had begun when its thread was seized tells of no child, and was perhaps not done at the first look.
    refuse_sharer(pid_);
    forget([&](const Task& t) { return is_gone(t); });
    if (tasks_.empty())
        throw Unusable(fmt::format("process {}: it has ended", pid_));
}

void Tracees::look_at_each(const std::function<void(const Task&)>& look)
{
    constexpr size_t at_once = 16; // those that run stop side by side, and none stands for long until its turn comes
    for (size_t from = 0; from < tasks_.size(); from += at_once) {
        const size_t to = std::min(from + at_once, tasks_.size());
        for (size_t i = from; i < to; ++i)
            if (!tasks_[i].stopped)
                interrupt(tasks_[i]);
        const auto begin = Clock::now();
        for (size_t i = from; i < to; ++i) {
            if (tasks_[i].stopped || await(tasks_[i], begin))
                look(tasks_[i]);
            release(tasks_[i], begin + patience_for_a_processor);
        }
    }
    tasks_.clear(); // let go already, each
    indexes_.clear();
}

user_regs_struct Tracees::registers(pid_t thread)
{
    user_regs_struct registers;
    iovec io{&registers, sizeof registers};
    if (ptrace(PTRACE_GETREGSET, thread, NT_PRSTATUS, &io) < 0)
        throw Busy(fmt::format("thread {}: its registers cannot be read: {}", thread, std::strerror(errno)));
    if (io.iov_len != sizeof registers) // the kernel gives a compat task's shorter set
        throw Unusable(fmt::format("thread {}: it executes 32-bit code", thread));
    return registers;
}

void Tracees::set_registers(pid_t thread, const user_regs_struct& registers)
{
    user_regs_struct copy = registers;
    iovec io{&copy, sizeof copy};
    if (ptrace(PTRACE_SETREGSET, thread, NT_PRSTATUS, &io) < 0)
        throw Busy(fmt::format("thread {}: its registers cannot be set: {}", thread, std::strerror(errno)));
}

std::vector<std::byte> Tracees::wide_vectors([[maybe_unused]] pid_t thread)
{
#if defined(__aarch64__)
    std::vector<std::byte> vectors(16384); // enough for the longest vectors
    iovec io{vectors.data(), vectors.size()};
    constexpr int streaming_vectors = 0x40b; // NT_ARM_SSVE, include/uapi/linux/elf.h
    if (ptrace(PTRACE_GETREGSET, thread, streaming_vectors, &io) == 0) {
        user_sve_header header;
        std::memcpy(&header, vectors.data(), sizeof header);
        if ((header.flags & SVE_PT_REGS_MASK) == SVE_PT_REGS_SVE)
            throw Busy(fmt::format("thread {}: it is in streaming mode (SME), which a system call ends", thread));
    }
    io = {vectors.data(), vectors.size()};
    if (ptrace(PTRACE_GETREGSET, thread, NT_ARM_SVE, &io) == 0) {
        vectors.resize(io.iov_len);
        return vectors;
    }
#endif
    return {};
}

void Tracees::set_wide_vectors([[maybe_unused]] pid_t thread, [[maybe_unused]] const std::vector<std::byte>& vectors)
{
#if defined(__aarch64__)
    std::vector<std::byte> copy = vectors;
    iovec io{copy.data(), copy.size()};
    if (!copy.empty() && ptrace(PTRACE_SETREGSET, thread, NT_ARM_SVE, &io) < 0)
        throw Busy(fmt::format("thread {}: its vector registers cannot be set: {}", thread, std::strerror(errno)));
#endif
}

} // namespace fastsdt::engine
