// SPDX-License-Identifier: BSD-2-Clause
//
// PERF_COUNT_SW_CONTEXT_SWITCHES has an event each time that a thread stops running, with its stack; PERF_RECORD_SWITCH says when it runs again.
// PERF_COUNT_SW_CPU_CLOCK counts while a thread runs: cpu_clock_event_start() in kernel/events/core.c. An event of a thread that new threads
// inherit has to be of one processor, to have a ring; so there is one for each thread and processor, and one ring for each processor.
#include "samples.h"

#include "base/clock.h"
#include "base/unusable.h"
#include "proc/processes.h"
#include "proc/threads.h"
#include "uprobe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <fstream>
#include <set>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <string>
#include <unistd.h>
#include <utility>

namespace fastsdt {
namespace {

// What an ordinary user may lock for each processor, by default: kernel.perf_event_mlock_kb, less the page in front.
constexpr size_t most_ring = size_t(512) << 10, least_ring = size_t(16) << 10;
// A thread may stop running many times in a moment, each time with a copy of its stack. Only root may have as much, of each processor and of all.
constexpr size_t most_waits_ring = size_t(16) << 20, most_rings = size_t(64) << 20;
constexpr size_t without_stack = 512; // of a sample
// What one call of take() makes: this process, or the machine, may have been stopped for a day.
constexpr size_t most_at_once = 100'000;
constexpr uint64_t least_period_ns = 10'000;  // the kernel's: perf_swevent_start_hrtimer()
constexpr uint64_t ended_ns = 10'000'000'000; // for which a thread's number is kept

// Which registers, and where each DWARF number is among those that come, the lowest bit first: asm/perf_regs.h, and the psABI's numbers.
#if defined __x86_64__
constexpr uint64_t all_registers = 0xff01ff; // ax bx cx dx si di bp sp ip, r8 to r15
constexpr std::array<uint8_t, 17> by_dwarf = {0, 3, 2, 1, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 8};
#elif defined __aarch64__
constexpr uint64_t all_registers = (uint64_t(1) << 33) - 1; // x0 to x30, sp, pc
constexpr std::array<uint8_t, 33> by_dwarf = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                                              17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};
#else
constexpr uint64_t all_registers = 0;
constexpr std::array<uint8_t, 0> by_dwarf = {};
#endif

perf_event_attr attributes(const Samples::Wish& wish, bool switches)
{
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = switches ? PERF_COUNT_SW_CONTEXT_SWITCHES : PERF_COUNT_SW_CPU_CLOCK;
    attr.sample_period = switches ? 1 : std::max(wish.period_ns, least_period_ns);
    attr.context_switch = switches;
    attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD
        | PERF_SAMPLE_CALLCHAIN;
    attr.exclude_callchain_kernel = 1;
    if (wish.stack_bytes) {
        attr.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
        attr.sample_regs_user = all_registers;
        attr.sample_stack_user = static_cast<uint32_t>(wish.stack_bytes);
    }
    attr.exclude_hv = 1;
    attr.inherit = 1;
    attr.task = attr.comm = 1;
    attr.sample_id_all = 1;
    attr.use_clockid = 1;
    attr.clockid = CLOCK_BOOTTIME;
    attr.watermark = 1;
    attr.wakeup_watermark = 1; // nobody waits for it
    return attr;
}

// Where records have what: perf_event_open(2). Those that are no samples end with pid, tid, time, cpu and an unused word: sample_id_all. The period
// tells the two events apart, since what a new thread inherits may have another event's id.
constexpr size_t time_in_sample = 24, period_in_sample = 40, own_at_end = 24;

uint64_t now_ns()
{
    return static_cast<uint64_t>(clock_ns(CLOCK_BOOTTIME));
}

size_t processors()
{
    return static_cast<size_t>(std::max(1L, sysconf(_SC_NPROCESSORS_CONF)));
}

// Whose run it is: each processor has a thread 0.
pid_t run_of(pid_t thread, uint32_t cpu)
{
    return thread != 0 ? thread : -2 - static_cast<pid_t>(cpu); // -1 is one that has ended
}

uint64_t start_of(pid_t pid)
{
    const auto stat = read_stat(std::to_string(pid));
    return stat ? stat->start : 0;
}

} // namespace

Samples::Samples(const Wish& wish) : wish_(wish) {}
Samples::~Samples() = default;

// None, where the thread has ended or the processor is switched off.
Descriptor Samples::open_event(pid_t thread, int cpu, bool switches)
{
    perf_event_attr attr = attributes(wish_, switches);
    attr.exclude_kernel = without_kernel_ && !switches; // a switch is in the kernel
    const auto open = [&] {
        return Descriptor(static_cast<int>(syscall(SYS_perf_event_open, &attr, thread, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
    };
    Descriptor event = open();
    const auto is_refused = [&] { return !event && (errno == EACCES || errno == EPERM); };
    if (is_refused() && !without_kernel_ && !switches) {
        attr.exclude_kernel = 1;
        event = open();
        without_kernel_ = event.get() >= 0;
    }
    if (event || errno == ESRCH || errno == ENODEV)
        return event;
    if (errno == EMFILE)
        throw Unusable(
            {fmt::format("{} threads on this machine's processors take more descriptors than this process may open",
                         processes_.size()),
             {},
             "ulimit -n"});
    if (is_refused() && thread == -1)
        throw Unusable({"only root may sample the whole machine",
                        {},
                        "name processes of your own: --pid, --exe, or a command behind --"});
    if (is_refused() && switches)
        throw Unusable({"no samples of threads that wait",
                        {},
                        "kernel.perf_event_paranoid is more than 1, which allows them to root only; profile:hz:99 has "
                        "those that run"});
    throw Unusable({fmt::format("no samples: {}", errno_name(errno)),
                    {},
                    is_refused() ? "kernel.perf_event_paranoid allows no user to do so; root may" : ""});
}

void Samples::put_into_ring(Descriptor event, int cpu)
{
    if (const auto ring = rings_.find(cpu); ring != rings_.end()) {
        if (ioctl(event.get(), PERF_EVENT_IOC_SET_OUTPUT, ring->second->event()) < 0)
            throw Unusable(fmt::format("no samples: {}", errno_name(errno)));
        events_.push_back(std::move(event));
        return;
    }
    std::unique_ptr<PerfRing> ring;
    size_t size = most_ring;
    if (wish_.stack_bytes) {
        constexpr uint64_t second_ns = 1'000'000'000;
        const uint64_t samples = second_ns / std::max(wish_.period_ns, least_period_ns);
        const size_t a_second =
            wish_.waiting ? most_waits_ring : std::bit_ceil(samples * (wish_.stack_bytes + without_stack));
        size = std::clamp(std::min(std::bit_floor(most_rings / processors()), a_second), most_ring, most_waits_ring);
    }
    for (; !ring && size >= least_ring; size /= 2)
        ring = PerfRing::map(event, size);
    if (!ring)
        throw Unusable({fmt::format("no samples: {}", errno_name(errno)),
                        {},
                        "kernel.perf_event_mlock_kb is what all of a user's events may lock"});
    rings_.emplace(cpu, std::move(ring));
}

void Samples::open_thread(pid_t thread, int cpu)
{
    if (wish_.running)
        if (Descriptor event = open_event(thread, cpu, false))
            put_into_ring(std::move(event), cpu);
    if (wish_.waiting)
        if (Descriptor event = open_event(thread, cpu, true))
            put_into_ring(std::move(event), cpu);
}

// A thread that waits already: its stack is not known, but where it has called the kernel.
void Samples::look_at(pid_t pid, pid_t thread)
{
    const std::string path = fmt::format("{}/task/{}", pid, thread);
    const auto stat = read_stat(path);
    waits_.erase(thread);
    if (!stat || stat->state == 'R')
        return;
    Wait wait;
    wait.sample.pid = pid;
    wait.sample.tid = thread;
    wait.since = now_ns();
    std::ifstream call("/proc/" + path + "/syscall");
    std::string last;
    for (std::string word; call >> word;)
        last = word; // number, arguments, stack pointer, program counter
    if (last.starts_with("0x"))
        wait.sample.address = std::strtoull(last.c_str(), nullptr, 16);
    if (wait.sample.address != 0)
        wait.sample.calls.push_back(wait.sample.address);
    waits_.emplace(thread, std::move(wait));
}

// One of those that are lost may have said that a thread runs again.
void Samples::look_again()
{
    std::vector<std::pair<pid_t, pid_t>> threads;
    for (const auto& [thread, wait] : waits_)
        threads.emplace_back(wait.sample.pid, thread);
    for (const auto& [pid, thread] : threads)
        look_at(pid, thread);
}

// Those that are due until then. The rest of a period carries over to the thread's next wait. Else short waits in step with our clock, as the
// scheduler's are, would have no sample, or always one.
void Samples::add_waiting(pid_t thread, uint64_t until, std::vector<Sample>& to)
{
    const auto found = waits_.find(thread);
    if (found == waits_.end() || until <= found->second.since)
        return;
    Wait& wait = found->second;
    const uint64_t period = wish_.period_ns;
    uint64_t& left = left_.try_emplace(thread, wait.since % period).first->second; // by chance at first
    const uint64_t first = wait.since + period - left;
    left = (left + until - wait.since) % period;
    wait.sample.comm = name_of(wait.sample.pid, thread);
    for (uint64_t tick = first; tick <= until; tick += period) {
        if (to.size() >= most_at_once) {
            lost_ += (until - tick) / period + 1;
            break;
        }
        wait.sample.time = tick;
        to.push_back(wait.sample);
    }
    wait.since = until;
}

// A sample of a thread that runs, or its stack where it stops. The kernel's timer may be late (a hypervisor) or left out (throttling), and fires once
// then, however many periods have passed: perf_swevent_hrtimer(), hrtimer_forward_now(). So samples are counted by the time that the thread ran.
void Samples::add_running(const Sample& sample, bool stops, std::vector<Sample>& to)
{
    if (!wish_.running)
        return;
    const auto period = static_cast<int64_t>(std::max(wish_.period_ns, least_period_ns));
    int64_t count = stops ? 0 : 1;
    if (wish_.waiting) { // else nobody says when it began to run
        Run& run = runs_[run_of(sample.tid, sample.cpu)];
        if (run.since != 0) {
            const int64_t passed = run.left + static_cast<int64_t>(sample.time - std::min(run.since, sample.time));
            const int64_t rounded = stops ? passed : passed + period / 2; // behind a late one the next is early
            count = std::max<int64_t>(0, rounded / period);
            run.left = passed - count * period;
        }
        run.since = stops ? 0 : sample.time;
    }
    const auto room = static_cast<int64_t>(most_at_once - std::min(most_at_once, to.size()));
    lost_ += static_cast<uint64_t>(count - std::min(count, room));
    for (int64_t each = std::min(count, room); each > 0; --each) {
        to.push_back(sample);
        to.back().time -= static_cast<uint64_t>((each - 1) * period);
        to.back().comm = name_of(sample.pid, sample.tid);
    }
}

bool Samples::open(pid_t pid)
{
    const uint64_t start = start_of(pid);
    if (const auto known = processes_.find(pid); known != processes_.end() && known->second == start)
        return false;
    processes_[pid] = start;
    allow_many_descriptors();
    std::set<pid_t> known;
    // A thread may come from one that had no event yet.
    for (bool more = true; more;) {
        more = false;
        for (const pid_t thread : pid ? living_threads(pid) : std::vector<pid_t>{-1}) {
            if (!known.insert(thread).second)
                continue;
            more = pid != 0;
            for (int cpu = 0; cpu < static_cast<int>(processors()); ++cpu)
                open_thread(thread, cpu);
            if (wish_.waiting && pid)
                look_at(pid, thread);
        }
    }
    return true;
}

const std::string& Samples::name_of(pid_t pid, pid_t thread)
{
    const auto [found, fresh] = names_.try_emplace(thread);
    if (fresh) {
        if (thread == 0)
            return found->second = "swapper"; // each processor's own, which /proc does not list
        std::ifstream file(fmt::format("/proc/{}/task/{}/comm", pid, thread));
        std::getline(file, found->second);
    }
    return found->second;
}

// In the order of perf_event_open(2): address, pid, tid, time, cpu, unused, period, calls, registers, stack.
Samples::Sample Samples::read(const PerfRing::Record& record)
{
    size_t at = sizeof(perf_event_header);
    const auto next = [&]<class Number>(Number) {
        const Number number = PerfRing::number_at<Number>(record, at);
        at += sizeof number;
        return number;
    };
    Sample sample;
    sample.address = next(uint64_t());
    sample.pid = next(pid_t());
    sample.tid = next(pid_t());
    sample.time = next(uint64_t());
    sample.cpu = next(uint32_t());
    next(uint32_t());
    next(uint64_t());
    for (auto calls = std::min<uint64_t>(next(uint64_t()), record.size() / sizeof(uint64_t)); calls > 0; --calls)
        if (const uint64_t address = next(uint64_t()); address < PERF_CONTEXT_MAX) // a mark
            sample.calls.push_back(address);
    if (!sample.calls.empty())
        sample.address = sample.calls.front();
    if (wish_.stack_bytes == 0)
        return sample;
    if (next(uint64_t()) == PERF_SAMPLE_REGS_ABI_NONE)
        return sample; // and no stack
    for (const uint8_t each : by_dwarf)
        sample.registers.push_back(PerfRing::number_at<uint64_t>(record, at + sizeof(uint64_t) * each));
    at += sizeof(uint64_t) * by_dwarf.size();
    const auto room = std::min<uint64_t>(next(uint64_t()), record.size() - at);
    const uint64_t copied = std::min(room, PerfRing::number_at<uint64_t>(record, at + room));
    sample.stack = std::make_shared<const std::vector<char>>(record.begin() + static_cast<ptrdiff_t>(at),
                                                             record.begin() + static_cast<ptrdiff_t>(at + copied));
    return sample;
}

void Samples::keep(const PerfRing::Record& record, std::vector<Sample>& to)
{
    const auto number = [&]<class Number>(size_t at, Number) { return PerfRing::number_at<Number>(record, at); };
    switch (number(offsetof(perf_event_header, type), uint32_t())) {
    case PERF_RECORD_SAMPLE: {
        Sample sample = read(record);
        if (number(period_in_sample, uint64_t()) == 1) { // of a switch: it waits from now on
            const pid_t thread = sample.tid;
            const uint64_t since = sample.time;
            if (ended_.contains(thread))
                return;
            add_running(sample, true, to);
            if (thread > 0) // a processor that has nothing to do does not wait
                waits_.insert_or_assign(thread, Wait{std::move(sample), since});
            return;
        }
        add_running(sample, false, to);
        return;
    }
    case PERF_RECORD_SWITCH:
    case PERF_RECORD_SWITCH_CPU_WIDE: { // of the whole machine
        const size_t own = record.size() - own_at_end;
        const auto thread = number(own + 4, pid_t());
        if (number(offsetof(perf_event_header, misc), uint16_t()) & PERF_RECORD_MISC_SWITCH_OUT)
            return;
        const auto time = number(own + 8, uint64_t());
        add_waiting(thread, time, to);
        waits_.erase(thread);
        if (wish_.running)
            runs_[run_of(thread, number(own + 16, uint32_t()))].since = time;
        return;
    }
    case PERF_RECORD_LOST: lost_ += number(16, uint64_t()), runs_.clear(); return; // id, lost
    case PERF_RECORD_THROTTLE: throttled_ += !wish_.waiting; return; // else the next one stands for them: add_running()
    case PERF_RECORD_COMM:                                           // pid, tid, comm
        names_[number(12, pid_t())] = std::string(record.data() + 16, strnlen(record.data() + 16, record.size() - 16));
        return;
    case PERF_RECORD_FORK: // pid, ppid, tid, ptid
        names_[number(16, pid_t())] = name_of(number(12, pid_t()), number(20, pid_t()));
        ended_.erase(number(16, pid_t()));
        runs_.erase(number(16, pid_t()));
        if (const auto pid = number(8, pid_t()); pid != number(12, pid_t())) // a thread else
            processes_[pid] = start_of(pid);
        return;
    case PERF_RECORD_EXIT:
        names_.erase(number(16, pid_t()));
        waits_.erase(number(16, pid_t()));
        left_.erase(number(16, pid_t()));
        ended_[number(16, pid_t())] = number(24, uint64_t()); // pid, ppid, tid, ptid, time
        return;
    default: return;
    }
}

// What happened meanwhile is left for the next call: a thread's name could come before the fork that has made the thread.
std::vector<Samples::Sample> Samples::take()
{
    const uint64_t until = now_ns(), lost = lost_;
    is_busy_ = false;
    for (const auto& [cpu, ring] : rings_) {
        size_t bytes = 0;
        ring->read([this, &bytes](const perf_event_header& header, PerfRing::Record record) {
            bytes += record.size();
            const size_t at = header.type == PERF_RECORD_SAMPLE ? time_in_sample : record.size() - own_at_end + 8;
            records_.emplace(PerfRing::number_at<uint64_t>(record, at), std::move(record));
        });
        is_busy_ = is_busy_ || bytes > ring->size() / 8;
    }
    std::vector<Sample> samples;
    const auto end = records_.upper_bound(until);
    for (auto each = records_.begin(); each != end; ++each)
        keep(each->second, samples);
    records_.erase(records_.begin(), end);
    if (lost_ != lost)
        look_again();
    std::erase_if(ended_, [&](const auto& each) {
        const bool is_over = each.second + ended_ns < until;
        if (is_over)
            runs_.erase(each.first); // it ran on behind the record of its end
        return is_over;
    });
    std::vector<pid_t> threads; // that wait still
    for (const auto& [thread, wait] : waits_)
        threads.push_back(thread);
    for (const pid_t thread : threads)
        add_waiting(thread, until, samples);
    std::stable_sort(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) { return a.time < b.time; });
    return samples;
}

} // namespace fastsdt
