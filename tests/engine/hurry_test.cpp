// SPDX-License-Identifier: BSD-2-Clause
//
// On a busy machine: the tracer runs before others while a process stands for it, and only then; a thread that gets no processor for a while
// is waited for.
#include "nth_call.h"
#include "process/inject.h"
#include "process/ptrace.h"
#include "proc/threads.h"
#include "program.h"

#include <filesystem>
#include <array>
#include <fstream>
#include <sched.h>
#include <sys/resource.h>
#include <thread>
#include <utility>

namespace fastsdt::engine {
namespace {

using namespace test;

struct Scheduling {
    int policy = 0, nice = 0;
    bool operator==(const Scheduling&) const = default;
};

// Of the thread that asks, as the kernel has it.
Scheduling scheduling()
{
    return {sched_getscheduler(0), getpriority(PRIO_PROCESS, 0)};
}

bool may_be_round_robin()
{
    bool may = false;
    std::thread([&] {
        const sched_param first{1};
        may = sched_setscheduler(0, SCHED_RR, &first) == 0;
    }).join();
    return may;
}

// Not what is usual; and no ordinary user may have less than he has.
int usual_nice()
{
    return std::max(5, getpriority(PRIO_PROCESS, 0));
}

// What a thread has before, while a Hurry lives, and behind it. @param user  it is an ordinary user's, with these limits
std::array<Scheduling, 3> with_hurry(bool user, rlim_t priority, rlim_t nice)
{
    rlimit before[2]{};
    prlimit(0, RLIMIT_RTPRIO, nullptr, &before[0]);
    prlimit(0, RLIMIT_NICE, nullptr, &before[1]);
    const rlimit now[2] = {{priority, before[0].rlim_max}, {nice, before[1].rlim_max}};
    prlimit(0, RLIMIT_RTPRIO, &now[0], nullptr);
    prlimit(0, RLIMIT_NICE, &now[1], nullptr);
    std::array<Scheduling, 3> seen;
    std::thread([&] {
        if (user && syscall(SYS_setresuid, 65534, 65534, 65534) < 0) // of this thread alone
            return;
        setpriority(PRIO_PROCESS, 0, usual_nice());
        seen[0] = scheduling();
        {
            const Hurry hurry;
            seen[1] = scheduling();
            const Hurry another;
            EXPECT_EQ(scheduling(), seen[1]);
        }
        seen[2] = scheduling();
    }).join();
    prlimit(0, RLIMIT_RTPRIO, &before[0], nullptr);
    prlimit(0, RLIMIT_NICE, &before[1], nullptr);
    return seen;
}

TEST(Hurry, AsFarAsTheKernelLetsIt)
{
    const Scheduling usual{SCHED_OTHER, usual_nice()};
    if (may_be_round_robin()) {
        EXPECT_EQ(with_hurry(false, 0, 0), (std::array{usual, Scheduling{SCHED_RR, usual.nice}, usual}));
    }
    if (geteuid() != 0)
        return;
    EXPECT_EQ(with_hurry(true, 0, 0), (std::array{usual, usual, usual}));
    rlimit nice{}, priority{};
    getrlimit(RLIMIT_NICE, &nice);
    getrlimit(RLIMIT_RTPRIO, &priority);
    const rlimit most{40, std::max<rlim_t>(40, nice.rlim_max)}, first{1, std::max<rlim_t>(1, priority.rlim_max)};
    if (setrlimit(RLIMIT_NICE, &most) == 0) {
        EXPECT_EQ(with_hurry(true, 0, 40), (std::array{usual, Scheduling{SCHED_OTHER, -20}, usual}));
    }
    if (setrlimit(RLIMIT_RTPRIO, &first) == 0) {
        EXPECT_EQ(with_hurry(true, 1, 40), (std::array{usual, Scheduling{SCHED_RR, usual.nice}, usual}));
    }
    setrlimit(RLIMIT_NICE, &nice);
    setrlimit(RLIMIT_RTPRIO, &priority);
}

// Whether a thread of the process stands in a stop of that tracer.
bool stands(pid_t pid, pid_t tracer)
{
    if (status_field(pid, pid, "TracerPid:") != std::to_string(tracer))
        return false;
    std::error_code error;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", error)) {
        std::ifstream in(thread.path() / "stat");
        std::string line;
        std::getline(in, line);
        if (const size_t name = line.rfind(')'); name != std::string::npos && line.compare(name, 3, ") t") == 0)
            return true;
    }
    return false;
}

TEST(Hurry, AProcessStandsForNoOther)
{
    if (!may_be_round_robin())
        GTEST_SKIP() << "no thread may be of SCHED_RR here";
    Program program;
    const auto sites = sites_of(program.pid());
    ASSERT_EQ(sites.size(), 4u);
    ASSERT_EQ(program.ask("start 3"), "started");
    size_t in_stops = 0, slow = 0, ends = 0, late = 0;
    const auto look = [&](pid_t thread, const __ptrace_syscall_info& info) {
        const int policy = sched_getscheduler(thread);
        if (info.entry.nr == SYS_exit) {
            ++ends;
            late += policy != SCHED_OTHER;
        } else if (info.entry.nr != SYS_sched_setattr && stands(program.pid(), thread)) {
            ++in_stops;
            slow += policy != SCHED_RR;
        }
        return false;
    };
    const Ended tracer = at_call(0, {}, look, [&] {
        const auto target = open_outside(program.pid());
        Arming arming(*target, CountingStubs(), 4096);
        arming.arm(sites);
        arming.disarm();
        return 0;
    });
    EXPECT_TRUE(WIFEXITED(tracer.status) && WEXITSTATUS(tracer.status) == 0) << tracer.status;
    EXPECT_GT(in_stops, 10u);
    EXPECT_EQ(slow, 0u);
    EXPECT_GT(ends, 0u);
    EXPECT_EQ(late, 0u);
    program.ask("stop");
}

// A control group that has a processor for 10 milliseconds of 200, and these before others: what else runs here delays nothing but us.
class Throttled : public testing::Test {
protected:
    Throttled()
    {
        const auto write = [this](const char* file, const char* text) {
            std::ofstream out(group_ / file);
            return bool(out << text << std::flush);
        };
        for (const char* root : {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup"}) {
            group_ = std::filesystem::path(root) / ("fastsdt-test." + std::to_string(getpid()));
            std::error_code error;
            if (!std::filesystem::create_directory(group_, error))
                continue;
            if ((write("cpu.max", "10000 200000") && write("cpu.weight", "10000"))
                || (write("cpu.cfs_period_us", "200000") && write("cpu.cfs_quota_us", "10000")
                    && write("cpu.shares", "262144")))
                return;
            rmdir(group_.c_str());
        }
        group_.clear();
    }
    ~Throttled() override
    {
        if (child_ > 0) {
            kill(child_, SIGKILL);
            waitpid(child_, nullptr, 0);
        }
        if (!group_.empty())
            rmdir(group_.c_str());
    }
    std::filesystem::path group_;
    pid_t child_ = 0;
};

TEST_F(Throttled, AThreadThatGetsNoProcessorForAWhile)
{
    if (group_.empty())
        GTEST_SKIP() << "no control group for processors can be made here";
    child_ = fork();
    if (child_ == 0)
        for (;;) {}
    std::ofstream(group_ / "cgroup.procs") << child_ << std::flush;
    const Descriptor memory(open(("/proc/" + std::to_string(child_) + "/mem").c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_TRUE(memory);
    std::chrono::nanoseconds longest{};
    clockid_t processor_time;
    ASSERT_EQ(clock_getcpuclockid(child_, &processor_time), 0);
    // Until the group has had its share: the child loops, and its processor time stands still. (cpu.stat counts a period at its end,
    // when the group has its next share.)
    const auto throttled = [processor_time] {
        timespec before{}, now{};
        for (auto since = std::chrono::steady_clock::now();
             std::chrono::steady_clock::now() - since < std::chrono::milliseconds(20);) {
            clock_gettime(processor_time, &now);
            if (now.tv_sec != before.tv_sec || now.tv_nsec != before.tv_nsec)
                since = std::chrono::steady_clock::now();
            before = now;
        }
    };
    // On a busy machine we may come so late that the group has its next share: then once more.
    for (int i = 0; i < 5 || (i < 100 && longest <= std::chrono::milliseconds(50)); ++i) {
        throttled();
        const auto begin = std::chrono::steady_clock::now();
        std::vector<int64_t> results;
        ASSERT_NO_THROW(as_tracer(
            [&] { results = send(child_, memory.get(), {{SYS_getpid, {}}}, "", [](pid_t, size_t, int64_t) {}); }));
        EXPECT_EQ(results, std::vector<int64_t>{child_});
        longest = std::max<std::chrono::nanoseconds>(longest, std::chrono::steady_clock::now() - begin);
    }
    EXPECT_GT(longest, std::chrono::milliseconds(50)) << "it always had a processor";
}

} // namespace
} // namespace fastsdt::engine
