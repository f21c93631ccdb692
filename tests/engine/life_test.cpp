// SPDX-License-Identifier: BSD-2-Clause
//
// Processes that do all kinds of things while they are armed: stop, sleep, mask signals, fork, vfork, execute, end,
// lose their first thread.
#include "nth_call.h"
#include "proc/maps.h"
#include "proc/processes.h"
#include "proc/threads.h"
#include "process/errand.h"
#include "process/follow.h"
#include "process/ptrace.h"
#include "program.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sched.h>

namespace fastsdt::engine {
namespace {

using namespace test;

class Life : public testing::Test {
protected:
    void arm()
    {
        arming.reset(); // before its target
        target = open_outside(program.pid());
        arming = std::make_unique<Arming>(*target, CountingStubs(), 4096);
        arming->arm(sites_of(program.pid()));
        for (const SiteState& state : arming->states())
            EXPECT_EQ(text(state), "armed");
    }
    void untouched()
    {
        for (const LiveFile& file : read_process(program.pid()).files)
            for (const LiveSite& site : file.sites)
                EXPECT_EQ(site.change, Change::untouched) << site.name;
    }
    size_t descriptors() const
    {
        const auto files = std::filesystem::directory_iterator("/proc/" + std::to_string(program.pid()) + "/fd");
        return static_cast<size_t>(std::distance(begin(files), end(files)));
    }
    // A stopped thread that is let go executes nothing, but it needs the CPU to come to its stop again. If it never
    // does, the test runs into its time limit.
    void is_stopped() const
    {
        while (state() != 'T')
            sched_yield();
    }
    char state() const
    {
        std::string name, state;
        std::ifstream in("/proc/" + std::to_string(program.pid()) + "/stat");
        in >> name >> name >> state;
        return state.empty() ? 0 : state[0];
    }

    Program program;
    std::unique_ptr<Target> target;
    std::unique_ptr<Arming> arming; // destroyed before its target
};

TEST_F(Life, NothingIsLeftBehind)
{
    const size_t before = descriptors();
    for (int i = 0; i < rounds(20); ++i) {
        arm();
        EXPECT_EQ(program.passes("run 1 40").wrong, 0);
        EXPECT_EQ(all_hits(*target, 4), 40u);
        arming->disarm();
        untouched();
    }
    EXPECT_EQ(descriptors(), before);
    EXPECT_EQ(program.ask("mask"), "mask 0");
}

TEST_F(Life, SleepsAreNotCutShort)
{
    EXPECT_EQ(program.ask("sleep"), "sleeping");
    for (int i = 0; i < rounds(20); ++i) {
        arm();
        arming->disarm();
    }
    EXPECT_EQ(program.line(), "slept 0");
}

// A call that a stop interrupts goes on with the rest of its time: it ends before one that begins again with the last stop.
TEST_F(Life, SleepsAreNotBegunAgain)
{
    using std::chrono::milliseconds;
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(program.ask("nap"), "napping"); // for a second
    const auto passed = [&] {
        return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin);
    };
    milliseconds last{};
    for (int i = 0; i < 4 || last < milliseconds(3000); ++i) { // in an emulated guest, arming takes seconds
        last = passed();
        arm();
        arming->disarm();
    }
    const std::string answer = program.line();
    long ms = 0;
    EXPECT_EQ(std::sscanf(answer.c_str(), "napped %ld", &ms), 1) << answer;
    EXPECT_GE(ms, 1000);
    EXPECT_LT(ms, last.count() + 1000);
}

#if defined(__aarch64__)
// A thread that is stopped behind an indirect branch, or at the start of a signal handler, has a PSTATE.BTYPE by which
// guarded pages would demand a landing pad at the errand's start (Arm ARM, D8.4.4: BTI).
TEST(Errand, BeginsWithoutABranchType)
{
    user_regs_struct home{};
    home.pstate = 0x60000c00;
    EXPECT_EQ(sent_off(home, 4096).pstate, 0x60000000u);
}

// A system call may clear part of an arm64 thread's long vectors. A thread that works with them may have to run an
// errand.
TEST_F(Life, VectorsAreKept)
{
    if (program.ask("vectors") == "none")
        GTEST_SKIP() << "no registers that a system call changes";
    for (int i = 0; i < rounds(10); ++i) {
        arm();
        arming->disarm();
    }
    EXPECT_EQ(program.line(), "changed 0");
}
#endif

TEST_F(Life, StoppedProcessStaysStopped)
{
    kill(program.pid(), SIGSTOP);
    int status = 0;
    ASSERT_EQ(waitpid(program.pid(), &status, WUNTRACED), program.pid());
    arm();
    is_stopped();
    kill(program.pid(), SIGCONT);
    EXPECT_EQ(program.passes("run 2 200").passed, 400);
    EXPECT_EQ(all_hits(*target, 4), 400u);
    kill(program.pid(), SIGSTOP);
    ASSERT_EQ(waitpid(program.pid(), &status, WUNTRACED), program.pid());
    arming->disarm();
    is_stopped();
    kill(program.pid(), SIGCONT);
    EXPECT_EQ(program.passes("run 2 200").wrong, 0);
    EXPECT_EQ(all_hits(*target, 4), 400u);
}

// A forked child has the jumps and is not counted: its stubs do nothing.
TEST_F(Life, ForkedChildDoesNotCount)
{
    arm();
    const auto child = program.passes("fork 1000");
    EXPECT_EQ(child.passed, 1000);
    EXPECT_EQ(child.wrong, 0);
    EXPECT_EQ(all_hits(*target, 4), 0u);
    EXPECT_EQ(program.passes("run 1 400").passed, 400);
    EXPECT_EQ(all_hits(*target, 4), 400u);
}

// One that was forked while sites were armed has the jumps of some.
TEST_F(Life, ForkedChildIsKnownByItsJumps)
{
    target = open_outside(program.pid());
    arming =
        std::make_unique<Arming>(*target, CountingStubs(), 4096, [](Window) { return std::vector<FirstWord>(); }, true);
    const auto child = [&](const char* command) {
        const std::string answer = program.ask(command);
        EXPECT_TRUE(answer.starts_with("child ")) << answer;
        return open_forked(std::stoi(answer.substr(6)));
    };
    std::vector<Site> sites = sites_of(program.pid());
    const Site last = sites.back();
    sites.pop_back();
    EXPECT_EQ(arming->copy_in(*child("stay")), Copy::none);
    arming->arm(sites);
    const auto early = child("stay");
    EXPECT_EQ(arming->copy_in(*early), Copy::whole);
    arming->arm({last});
    EXPECT_EQ(arming->copy_in(*early), Copy::part);
    const auto late = child("stay");
    EXPECT_EQ(arming->copy_in(*late), Copy::whole);
    EXPECT_EQ(arming->copy_in(*child("vfork")), Copy::same);
    EXPECT_EQ(program.ask(""), "vforked");
    EXPECT_EQ(arming->copy_in(*target), Copy::same);
    Program other;
    EXPECT_EQ(arming->copy_in(*open_outside(other.pid())), Copy::none);
    for (Target* each : {early.get(), late.get()}) {
        EXPECT_TRUE(has_own_arena(*each, each->mappings()));
        clear_forked(*each);
        EXPECT_EQ(arming->copy_in(*each), Copy::none);
        EXPECT_FALSE(has_own_arena(*each, each->mappings()));
    }
}

// A child of vfork has the same memory but is another process: it would run while its parent's threads are stopped.
TEST_F(Life, NothingIsChangedUnderAVforkedChild)
{
    const std::string child = program.ask("vfork");
    ASSERT_TRUE(child.starts_with("child "));
    try {
        arm();
        ADD_FAILURE() << "armed";
    } catch (const Unusable& e) {
        EXPECT_NE(std::string(e.what()).find(child.substr(6)), std::string::npos) << e.what();
    }
    EXPECT_EQ(program.ask(""), "vforked");
    arm();
    EXPECT_EQ(program.passes("run 1 400").wrong, 0);
    EXPECT_EQ(all_hits(*target, 4), 400u);
}

// The same where nobody waits for the child: all threads stop, and it goes on.
TEST_F(Life, NothingIsChangedUnderAProcessThatSharesTheMemory)
{
    const auto refused = [&](const std::string& child, const auto& change) {
        ASSERT_TRUE(child.starts_with("child ")) << child;
        try {
            change();
            ADD_FAILURE() << "changed";
        } catch (const Unusable& e) {
            EXPECT_NE(std::string(e.what()).find("process " + child.substr(6) + " has the same memory"),
                      std::string::npos)
                << e.what();
        }
        EXPECT_EQ(program.ask("unshare"), "unshared");
    };
    refused(program.ask("share"), [&] { arm(); });
    untouched();
    std::ifstream maps("/proc/" + std::to_string(program.pid()) + "/maps");
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(maps), {}).find("memfd:fastsdt"), std::string::npos);
    arm();
    refused(program.ask("share"), [&] { arming->disarm(); });
    EXPECT_EQ(program.passes("run 1 400").wrong, 0);
    EXPECT_EQ(all_hits(*target, 4), 400u);
    arming->disarm();
    untouched();
}

// One that is made while all stop was not there when somebody looked for such, and stops with them: it is another process all the same.
TEST_F(Life, AChildThatIsMadeDuringTheStopIsFound)
{
    ASSERT_EQ(program.ask("vforks"), "vforking");
    unsigned stopped = 0, refused = 0;
    for (int round = 0; round < 10000 && (stopped < 20 || refused < 20); ++round)
        try {
            as_tracer([&] {
                Tracees tracees(program.pid());
                tracees.seize_all();
                tracees.stop_all();
                ++stopped;
                ASSERT_EQ(sharer_of_memory(program.pid()), 0) << "round " << round;
            });
        } catch (const Busy&) {
            ++refused;
        }
    EXPECT_GE(stopped, 1u);
    EXPECT_GE(refused, 1u);
}

// Asked of several processes one after the other, not all are compared with all: before the first round the sharer is there, later it comes.
TEST_F(Life, ASharerIsFoundAmongSeveralProcesses)
{
    Program other;
    for (int round = 0; round < 3; ++round) {
        const std::string before = round == 0 ? program.ask("share") : std::string();
        EXPECT_EQ(sharer_of_memory(other.pid()), 0);
        const std::string child = round == 0 ? before : program.ask("share");
        ASSERT_TRUE(child.starts_with("child ")) << child;
        EXPECT_EQ("child " + std::to_string(sharer_of_memory(program.pid())), child);
        EXPECT_EQ(sharer_of_memory(other.pid()), 0);
        EXPECT_EQ(program.ask("unshare"), "unshared");
        EXPECT_EQ(sharer_of_memory(program.pid()), 0);
    }
}

TEST_F(Life, AnotherProgramIsLeftAlone)
{
    arm();
    Follow follow(target->view());
    EXPECT_EQ(program.passes("run 1 400").passed, 400);
    EXPECT_EQ(program.ask("exec"), "ready");
    const Follow::News news = follow.news();
    EXPECT_TRUE(news.executed);
    EXPECT_FALSE(news.ended);
    EXPECT_EQ(all_hits(*target, 4), 400u); // what the first counted
    EXPECT_THROW(arming->disarm(), Unusable);
    untouched();
    EXPECT_EQ(program.passes("run 1 400").wrong, 0);
    arming.reset();
    arm();
    EXPECT_EQ(program.passes("run 1 40").passed, 40);
    EXPECT_EQ(all_hits(*target, 4), 40u);
    EXPECT_FALSE(Follow(target->view()).news().executed);
}

TEST_F(Life, CountsOutliveIt)
{
    arm();
    Follow follow(target->view());
    EXPECT_EQ(program.passes("run 1 400").passed, 400);
    kill(program.pid(), SIGKILL);
    siginfo_t info;
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(program.pid()), &info, WEXITED | WNOWAIT), 0);
    EXPECT_TRUE(follow.news().ended);
    EXPECT_EQ(all_hits(*target, 4), 400u);
    EXPECT_THROW(arming->disarm(), Unusable);
}

TEST_F(Life, FirstThreadHasEnded)
{
    EXPECT_EQ(program.ask("leave"), "left");
    EXPECT_EQ(program.line(), "ready");
    arm();
    EXPECT_EQ(program.passes("run 2 200").wrong, 0);
    EXPECT_EQ(all_hits(*target, 4), 400u);
    arming->disarm();
    untouched();
}

TEST_F(Life, SemaphoreIsUpWhileArmed)
{
    target = open_outside(program.pid());
    const auto counted = sites_of(program.pid(), "target", "counted");
    ASSERT_EQ(counted.size(), 1u);
    ASSERT_NE(counted[0].semaphore, 0u);
    {
        Arming first(*target, CountingStubs(), 4096);
        first.arm(counted);
        EXPECT_EQ(program.ask("semaphore"), "active 1");
        first.arm(counted); // the semaphore is raised once, however often this is called
        EXPECT_EQ(program.ask("semaphore"), "active 1");
        first.disarm();
        EXPECT_EQ(program.ask("semaphore"), "active 0");
        first.arm({});
        EXPECT_EQ(program.ask("semaphore"), "active 1");
    }
    EXPECT_EQ(program.ask("semaphore"), "active 0");
}

// A jump that was lost, as to a kernel's probe that came and went, has been counted already; and is no more after the end.
TEST_F(Life, SemaphoreIsCountedOnceForAJumpThatWasLost)
{
    target = open_outside(program.pid());
    const auto counted = sites_of(program.pid(), "target", "counted");
    const auto original = target->read(counted[0].patch, own_machine.length);
    Arming first(*target, CountingStubs(), 4096);
    first.arm(counted);
    EXPECT_EQ(program.ask("semaphore"), "active 1");
    target->write_code(counted[0].patch, original);
    EXPECT_EQ(text(first.verify()[0]), "not armed");
    first.arm({});
    EXPECT_EQ(text(first.states()[0]), "armed");
    EXPECT_EQ(program.ask("semaphore"), "active 1");
    target->write_code(counted[0].patch, original);
    first.disarm();
    EXPECT_EQ(program.ask("semaphore"), "active 0");
    first.arm({});
    first.disarm();
    EXPECT_EQ(program.ask("semaphore"), "active 0");
}

// Threads begin and end all the time while sites are armed and disarmed.
TEST_F(Life, ThreadsComeAndGo)
{
    long passed = 0, wrong = 0;
    for (int i = 0; i < rounds(10); ++i) {
        program.say("run 40 10");
        arm();
        arming->disarm();
        long p = 0, w = 0;
        EXPECT_EQ(std::sscanf(program.line().c_str(), "passed %ld wrong %ld", &p, &w), 2);
        passed += p;
        wrong += w;
        untouched();
    }
    EXPECT_EQ(passed, rounds(10) * 400);
    EXPECT_EQ(wrong, 0);
}

// A child that is forked while the tracer has the process make its tables has a descriptor of theirs, or has them mapped, and no stubs.
TEST(EarlyForks, HaveNothingOfTheTables)
{
    const auto file_in = [](pid_t pid) {
        std::error_code error;
        for (const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", pid), error))
            if (std::filesystem::read_symlink(entry, error).string().starts_with("/memfd:"))
                return true;
        return false;
    };
    const auto tables_in = [](pid_t pid) {
        const auto mappings = read_maps(pid);
        return std::any_of(mappings.begin(), mappings.end(),
                           [](const Mapping& m) { return m.name.starts_with("/memfd:"); });
    };
    // One try. False: nothing was forked in between.
    const auto forks_between = [&](bool mapped) {
        Program program;
        const auto sites = sites_of(program.pid());
        const auto is_between = [&] {
            return mapped ? tables_in(program.pid()) && !file_in(program.pid()) : file_in(program.pid());
        };
        // That thread is borrowed: the first one, which forks, waits for what it reads.
        EXPECT_EQ(program.ask("start 1"), "started");
        bool asked = false, between = false;
        pid_t child = 0;
        const auto take_child = [&] { std::sscanf(program.line().c_str(), "child %d", &child); };
        const Ended tracer = at_call(
            0, {},
            [&](pid_t, const __ptrace_syscall_info& info) {
                if (child != 0 || info.entry.nr != SYS_ptrace || !(asked || is_between())) // each errand ends with one
                    return false;
                if (!std::exchange(asked, true))
                    program.say("stay");
                // On a busy machine the other thread does not come to be borrowed, and the first one is: it answers when it is let go.
                while (child == 0 && !status_field(program.pid(), program.pid(), "State:").starts_with('t'))
                    if (program.has_line()) {
                        take_child();
                        between = is_between();
                    }
                return false;
            },
            [&] {
                const auto target = open_outside(program.pid());
                Arming arming(*target, CountingStubs(), 4096);
                arming.arm(sites);
                // As a session at its end.
                std::vector<Target::Begun> living;
                for (const pid_t pid : listed_processes())
                    living.push_back({pid, start_time_of(std::to_string(pid))});
                const auto clear = [&] { target->clear_early_forks(living); };
                clear();
                arming.disarm();
                clear();
                return 0;
            },
            [&] { return child == 0; });
        EXPECT_TRUE(WIFEXITED(tracer.status) && WEXITSTATUS(tracer.status) == 0) << tracer.status;
        if (asked && child == 0)
            take_child();
        if (!between)
            return false;
        EXPECT_FALSE(file_in(child));
        EXPECT_FALSE(tables_in(child));
        // A thread may have been in a stub just then; the next tracer clears up.
        for (int i = 0; i < 100 && tables_in(program.pid()); ++i) {
            const auto target = open_outside(program.pid());
            Arming(*target, CountingStubs(), 4096).arm(sites);
        }
        EXPECT_FALSE(tables_in(program.pid()));
        program.passes("stop");
        return true;
    };
    for (const bool mapped : {false, true}) {
        SCOPED_TRACE(mapped ? "mapped" : "open");
        bool forked = false;
        for (int tries = 0; tries < 20 && !forked; ++tries)
            forked = forks_between(mapped);
        EXPECT_TRUE(forked) << "nothing was forked in between";
    }
}

} // namespace
} // namespace fastsdt::engine
