// SPDX-License-Identifier: BSD-2-Clause
//
// A process whose threads sit in system calls that wait, while it is armed and disarmed: no call fails with EINTR for that, and
// each does for a signal that comes in the same moment.
#include "process/ptrace.h"
#include "program.h"

#include <atomic>
#include <chrono>
#include <thread>

namespace fastsdt::engine {
namespace {

using namespace test;

class Blocked : public testing::Test {
protected:
    void arm_and_disarm()
    {
        const auto target = open_outside(program.pid());
        EXPECT_EQ(target->stores_thread_pointers(), own_machine.arch == Arch::x86_64);
        Arming arming(*target, CountingStubs(), 4096);
        arming.arm(sites);
        for (const SiteState& state : arming.states())
            EXPECT_EQ(text(state), "armed");
        arming.disarm();
    }
    size_t calls()
    {
        size_t number = 0;
        EXPECT_EQ(std::sscanf(program.ask("calls").c_str(), "calls %zu", &number), 1);
        return number;
    }

    Program program{{beside_us("engine_blocked")}};
    const std::vector<Site> sites = sites_of(program.pid(), "blocked", "answered");
};

TEST_F(Blocked, NoCallIsCutShort)
{
    ASSERT_EQ(sites.size(), 1u);
    EXPECT_GE(calls(), 50u);
    for (int i = 0; i < 20; ++i)
        arm_and_disarm();
    EXPECT_EQ(program.ask("report"), "returned 0:");
}

// As where no thread stops in time on a busy machine: the wait for it is over at once.
TEST_F(Blocked, NoCallIsCutShortForAThreadThatIsGivenUp)
{
    for (int i = 0; i < 20; ++i)
        as_tracer([&] {
            Tracees tracees(program.pid());
            tracees.seize_all(0);
            for (const pid_t thread : threads_of(program.pid()))
                tracees.stop(thread, std::chrono::steady_clock::now() - std::chrono::seconds(1));
        });
    EXPECT_EQ(program.ask("report"), "returned 0:");
}

TEST_F(Blocked, ASignalInTheSameMomentCutsAllShort)
{
    constexpr size_t rounds = 100;
    program.say("signal " + std::to_string(rounds));
    std::atomic<bool> done = false;
    std::thread waits([&] {
        EXPECT_EQ(program.line(), "signalled");
        done = true;
    });
    while (!done)
        arm_and_disarm();
    waits.join();
    const std::string report = program.ask("report");
    size_t returned = 0, times = 0;
    ASSERT_EQ(std::sscanf(report.c_str(), "returned %zu:", &returned), 1) << report;
    const std::string each = "(" + std::to_string(rounds) + ", EINTR)";
    for (size_t at = report.find(each); at != report.npos; at = report.find(each, at + 1))
        ++times;
    EXPECT_EQ(times, calls()) << report;
    EXPECT_EQ(returned, rounds * times) << report;
}

} // namespace
} // namespace fastsdt::engine
