// SPDX-License-Identifier: BSD-2-Clause
//
// Programs that are started armed: what runs before main() is counted too.
#include "process/launch.h"
#include "process/ptrace.h"
#include "program.h"
#include "proc/threads.h"

#include <sys/prctl.h>

namespace fastsdt::engine {
namespace {

using namespace test;

class Launching : public testing::TestWithParam<const char*> {
protected:
    Signals signals;
};

TEST_P(Launching, ConstructorsAreCounted)
{
    Launched launched({beside_us(GetParam()), "42"}, signals);
    Held held(launched);
    const auto sites = sites_of(launched.pid(), "module");
    ASSERT_EQ(sites.size(), 4u);
#if defined(__x86_64__)
    // The loader has stored the thread pointer; a static program stores it itself, later on.
    EXPECT_EQ(held.target().stores_thread_pointers(), std::string(GetParam()).find("static") == std::string::npos);
#endif
    Arming arming(held.target(), CountingStubs(), 4096);
    arming.arm(sites);
    for (const SiteState& state : arming.states())
        EXPECT_EQ(text(state), "armed");
    held.let_go();
    const Launched::End end = launched.reap();
    EXPECT_TRUE(WIFEXITED(end.wait_status) && WEXITSTATUS(end.wait_status) == 42) << end.wait_status;
    // Read after the program's end.
    EXPECT_EQ(hits(held.target(), 0), 1u);
    EXPECT_EQ(hits(held.target(), 1), 100u);
    EXPECT_EQ(hits(held.target(), 2), 1u);
    EXPECT_EQ(hits(held.target(), 3), 1u);
}

// It is held in the function whose return becomes a jump to the stub that asks: with all that there is to see seen, it waits for no answer.
TEST_P(Launching, WaitsForNoAnswer)
{
    Launched launched({beside_us(GetParam()), "42"}, signals);
    Held held(launched);
    Arming arming(held.target(), CountingStubs(), 4096);
    arming.watch_loader();
    arming.arm(sites_of(launched.pid(), "module"));
    held.let_go();
    const Launched::End end = launched.reap();
    EXPECT_TRUE(WIFEXITED(end.wait_status) && WEXITSTATUS(end.wait_status) == 42) << end.wait_status;
    const uint32_t asked = held.target().take_question();
    EXPECT_LE(asked, 1u);
    EXPECT_TRUE(held.target().answer_loader(asked)) << "it went on alone";
}

INSTANTIATE_TEST_SUITE_P(Of, Launching,
                         testing::Values("engine_starter", "engine_starter_static", "engine_starter_static_pie"),
                         [](const auto& info) { return std::string(info.param).substr(7); });

// A program that executes another, which executes a third: each is held before its constructors.
TEST_P(Launching, WhatItExecutesIsHeld)
{
    Launched launched({"/usr/bin/env", "A=1", "/usr/bin/env", "B=2", beside_us(GetParam()), "42"}, signals);
    Held held(launched);
    for (int program = 0; program < 2; ++program) {
        EXPECT_TRUE(sites_of(launched.pid(), "module").empty());
        held.await_next();
        EXPECT_TRUE(held.awaits_next());
        // Its starter traces it, and nobody else.
        EXPECT_EQ(status_field(launched.pid(), launched.pid(), "TracerPid:"), std::to_string(getpid()));
        const Descriptor process = open_process(launched.pid());
        while (!held.next())
            ASSERT_FALSE(wait_readable({process.get(), held.descriptor()}, std::nullopt)[0]) << "it has ended";
        EXPECT_FALSE(held.awaits_next());
        EXPECT_EQ(status_field(launched.pid(), launched.pid(), "TracerPid:"), "0");
    }
    {
        Arming arming(held.target(), CountingStubs(), 4096);
        arming.arm(sites_of(launched.pid(), "module"));
        held.let_go();
        const Launched::End end = launched.reap();
        EXPECT_TRUE(WIFEXITED(end.wait_status) && WEXITSTATUS(end.wait_status) == 42) << end.wait_status;
    }
    EXPECT_EQ(hits(held.target(), 0), 1u);
    EXPECT_EQ(hits(held.target(), 1), 100u);
    EXPECT_EQ(hits(held.target(), 2), 1u);
    EXPECT_EQ(hits(held.target(), 3), 1u);
}

// A program may be let go while the next one is awaited, and then awaited again.
TEST(Launch, AwaitedAndLeftAlone)
{
    Signals signals;
    Launched launched({"/bin/sleep", "1000"}, signals);
    Held held(launched);
    for (int i = 0; i < 20; ++i) {
        held.await_next();
        EXPECT_FALSE(held.next());
        held.let_go();
        EXPECT_EQ(status_field(launched.pid(), launched.pid(), "TracerPid:"), "0");
    }
    held.await_next();
    kill(launched.pid(), SIGTERM);
    const Descriptor process = open_process(launched.pid());
    while (!wait_readable({process.get(), held.descriptor()}, std::nullopt)[0])
        EXPECT_FALSE(held.next());
    held.let_go();
    EXPECT_TRUE(WIFSIGNALED(launched.reap().wait_status));
}

TEST(Launch, WhatCannotBeExecutedIsSaid)
{
    Signals signals;
    Launched launched({"/nonexistent/program"}, signals);
    try {
        Held held(launched);
        FAIL();
    } catch (const Unusable& e) {
        EXPECT_STREQ(e.what(), "/nonexistent/program: No such file or directory");
    }
}

TEST(Launch, LeftAloneItRunsAsEver)
{
    Signals signals;
    Launched launched({"/bin/sh", "-c", "kill -TERM $$"}, signals);
    {
        Held held(launched);
    }
    const Launched::End end = launched.reap();
    EXPECT_TRUE(WIFSIGNALED(end.wait_status) && WTERMSIG(end.wait_status) == SIGTERM) << end.wait_status;
}

// Whoever started it is killed.
class Orphan : public testing::Test {
protected:
    Orphan() { prctl(PR_SET_CHILD_SUBREAPER, 1); }
    ~Orphan() override { prctl(PR_SET_CHILD_SUBREAPER, 0); }

    /// @return  how the command ended, as waitpid says it
    static int end_of(const std::function<void(Launched&)>& work, const std::string& command)
    {
        int ends[2];
        EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
        const pid_t starter = fork();
        if (starter == 0) {
            Signals signals;
            Launched launched({"/bin/sh", "-c", command}, signals);
            work(launched);
            const pid_t pid = launched.pid();
            EXPECT_EQ(write(ends[1], &pid, sizeof pid), ssize_t(sizeof pid));
            raise(SIGKILL);
        }
        close(ends[1]);
        pid_t pid = 0;
        EXPECT_EQ(read(ends[0], &pid, sizeof pid), ssize_t(sizeof pid));
        close(ends[0]);
        int status = 0;
        EXPECT_EQ(waitpid(starter, &status, 0), starter);
        EXPECT_TRUE(WIFSIGNALED(status));
        EXPECT_EQ(waitpid(pid, &status, 0), pid);
        while (waitpid(-1, nullptr, 0) > 0) {} // nobody else of it is left
        return status;
    }
};

TEST_F(Orphan, EndsIfItIsHeld)
{
    const auto hold = [](Launched& launched) { new Held(launched); };
    int status = end_of(hold, "exit 42");
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
    status = end_of([](Launched&) {}, "exit 42"); // and has not even been executed
    EXPECT_TRUE(WIFEXITED(status) || WIFSIGNALED(status)) << status;
    EXPECT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) == 42) << status;
}

TEST_F(Orphan, RunsToItsEndOnceItWasLetGo)
{
    const int status = end_of(
        [](Launched& launched) {
            Held held(launched);
            held.let_go();
            launched.release();
        },
        "exit 42");
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 42) << status;
}

} // namespace
} // namespace fastsdt::engine
