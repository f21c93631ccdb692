// SPDX-License-Identifier: BSD-2-Clause
//
// Two tracers in one process; the remains of a killed tracer; and a process that forges such remains.
#include "program.h"
#include "script/parse.h"
#include "session.h"

#include <fstream>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <thread>

namespace fastsdt::engine {
namespace {

using namespace test;

// A child that arms `sites` and waits to be killed.
pid_t tracer(pid_t pid, const std::vector<Site>& sites)
{
    const pid_t child = fork();
    if (child == 0) {
        const auto target = open_outside(pid);
        Arming arming(*target, CountingStubs(), 4096);
        arming.arm(sites);
        raise(SIGSTOP);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, WUNTRACED);
    EXPECT_TRUE(WIFSTOPPED(status));
    return child;
}

void end(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
}

TEST(Tracers, TheSecondIsToldAndTakesTheRest)
{
    Program program;
    const auto sites = sites_of(program.pid());
    const pid_t first = tracer(program.pid(), {sites[0], sites[1]});
    const auto target = open_outside(program.pid());
    Arming arming(*target, CountingStubs(), 4096);
    arming.arm(sites);
    const std::string taken = "taken by tracer " + std::to_string(first);
    for (size_t i = 0; i < 4; ++i)
        EXPECT_EQ(text(arming.states()[i]), i < 2 ? taken : "armed");
    EXPECT_EQ(program.passes("run 2 200").wrong, 0);
    EXPECT_EQ(all_hits(*target, 4), 200u);
    arming.disarm();
    EXPECT_EQ(text(can_arm(*target, sites)[0]), taken); // its sites were left alone
    end(first);

    EXPECT_EQ(text(can_arm(*target, sites)[0]), "left by a tracer that has ended");
    EXPECT_EQ(program.passes("run 2 200").wrong, 0);
    arming.arm(sites);
    for (const SiteState& state : arming.states())
        EXPECT_EQ(text(state), "armed");
    EXPECT_EQ(program.passes("run 2 200").wrong, 0);
    EXPECT_EQ(all_hits(*target, 4), 600u);
    arming.disarm();
    for (const LiveFile& file : read_process(program.pid()).files)
        for (const LiveSite& site : file.sites)
            EXPECT_EQ(site.change, Change::untouched) << site.name;
}

#if defined(__x86_64__)
bool has_writable_text(pid_t pid)
{
    std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
    bool found = false;
    for (std::string line; std::getline(maps, line);)
        found = found || (line.find("rwxp") != line.npos && line.find("engine_target") != line.npos);
    return found;
}

// Each undoes its jumps while the other's memory is still there.
TEST(Tracers, TheLastOneTakesTheGuardAway)
{
    Program program;
    const std::string file = "uprobe:" + beside_us("engine_target");
    const Script pass = parse(file + ":short_one { @ = count(); }"),
                 other_pass = parse(file + ":short_other { @ = count(); }");
    const auto first = open_outside(program.pid()), second = open_outside(program.pid());
    Session one(pass, *first, {.moves = true}), other(other_pass, *second, {.moves = true});
    for (Session* session : {&one, &other}) {
        session->arm();
        ASSERT_EQ(session->states().size(), 1U);
        ASSERT_EQ(text(session->states()[0]), "armed");
    }
    EXPECT_TRUE(has_writable_text(program.pid()));
    one.disarm();
    EXPECT_TRUE(has_writable_text(program.pid())); // the other's jump is there
    other.disarm();
    EXPECT_FALSE(has_writable_text(program.pid()));
}
#endif

// A tracer that has ended is one that has ended, also where nobody waits for it.
TEST(Tracers, AZombieTracesNothing)
{
    Program program;
    const auto sites = sites_of(program.pid());
    const pid_t first = tracer(program.pid(), sites);
    const auto target = open_outside(program.pid());
    EXPECT_EQ(text(can_arm(*target, sites)[0]), "taken by tracer " + std::to_string(first));
    kill(first, SIGKILL);
    siginfo_t info;
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(first), &info, WEXITED | WNOWAIT), 0);
    EXPECT_EQ(text(can_arm(*target, sites)[0]), "left by a tracer that has ended");
    waitpid(first, nullptr, 0);
}

// One whose first thread has ended, and another has not.
TEST(Tracers, AFirstThreadMayEnd)
{
    int answer[2];
    ASSERT_EQ(pipe(answer), 0);
    const pid_t child = fork();
    if (child == 0) {
        const Tracer self = Tracer::self();
        std::thread([&] {
            const pid_t leader = getpid();
            char state = 0;
            while (state != 'Z') { // as its stat says
                std::ifstream in("/proc/" + std::to_string(leader) + "/stat");
                std::string number, name;
                in >> number >> name >> state;
            }
            (void)!write(answer[1], &self, sizeof self);
            for (;;)
                pause();
        }).detach();
        syscall(SYS_exit, 0); // this thread alone
    }
    Tracer tracer;
    ASSERT_EQ(read(answer[0], &tracer, sizeof tracer), static_cast<ssize_t>(sizeof tracer));
    EXPECT_EQ(tracer.pid, static_cast<uint32_t>(child));
    EXPECT_TRUE(tracer.may_run());
    end(child);
    EXPECT_FALSE(tracer.may_run());
    close(answer[0]);
    close(answer[1]);
}

// In a namespace below ours it has another number here.
TEST(Tracers, InAnotherNamespaceOfProcesses)
{
    if (geteuid() != 0)
        GTEST_SKIP() << "needs root";
    int answer[2];
    ASSERT_EQ(pipe(answer), 0);
    const pid_t starter = fork();
    if (starter == 0) {
        pid_t inner = -1;
        if (unshare(CLONE_NEWPID) == 0 && (inner = fork()) == 0) {
            const Tracer self = Tracer::self();
            (void)!write(answer[1], &self, sizeof self);
            for (;;)
                pause();
        }
        const Tracer none{};
        if (inner < 0)
            (void)!write(answer[1], &none, sizeof none);
        waitpid(inner, nullptr, 0);
        _exit(0);
    }
    Tracer tracer;
    ASSERT_EQ(read(answer[0], &tracer, sizeof tracer), static_cast<ssize_t>(sizeof tracer));
    if (tracer.pid == 0)
        GTEST_SKIP() << "no namespaces of processes";
    EXPECT_EQ(tracer.pid, 1u);
    EXPECT_NE(tracer.pid_namespace, Tracer::self().pid_namespace);
    EXPECT_TRUE(tracer.may_run());
    std::ifstream in("/proc/" + std::to_string(starter) + "/task/" + std::to_string(starter) + "/children");
    pid_t inner = 0;
    in >> inner;
    kill(inner, SIGKILL);
    waitpid(starter, nullptr, 0);
    struct stat own{};
    ASSERT_EQ(stat("/proc/self/ns/pid", &own), 0);
    // Only the first namespace of a machine sees all processes.
    EXPECT_EQ(tracer.may_run(), own.st_ino != 0xeffffffc);
    close(answer[0]);
    close(answer[1]);
}

// Sites that the later tracer has no use for are put right too, with their semaphores.
TEST(Tracers, WhatIsLeftIsClearedAway)
{
    Program program;
    end(tracer(program.pid(), sites_of(program.pid(), "target", "counted")));
    EXPECT_EQ(program.ask("semaphore"), "active 1");
    const auto target = open_outside(program.pid());
    Arming arming(*target, CountingStubs(), 4096);
    arming.arm({sites_of(program.pid())[0]});
    EXPECT_EQ(program.ask("semaphore"), "active 0");
    EXPECT_EQ(text(can_arm(*target, sites_of(program.pid(), "target", "counted"))[0]), "not armed");
}

// A jump of somebody else, which no front names.
TEST(Tracers, AForeignJumpIsLeftAlone)
{
    Program program;
    const auto sites = sites_of(program.pid());
    const auto target = open_outside(program.pid());
    const uint8_t jump[] = {0x66, 0x2e, 0x48, 0xe9, 2, 0, 0, 0}; // to behind the site
    const auto* p = reinterpret_cast<const std::byte*>(jump);
    target->write_code(sites[0].patch, {p, sizeof jump});
    Arming arming(*target, CountingStubs(), 4096);
    arming.arm(sites);
    EXPECT_EQ(text(arming.states()[0]), "taken by a jump that is not ours");
    EXPECT_EQ(program.passes("run 1 400").wrong, 0);
    EXPECT_EQ(all_hits(*target, 4), 300u);
    arming.disarm();
    EXPECT_EQ(target->read(sites[0].patch, sizeof jump), std::vector<std::byte>(p, p + sizeof jump));
}

// The front of an arena is in the target's memory. If it claims other places, other bytes or other semaphores, we write
// none of them.
TEST(Tracers, AFrontThatLies)
{
    Program program;
    const auto sites = sites_of(program.pid());
    const pid_t first = tracer(program.pid(), sites);
    const auto target = open_outside(program.pid());
    auto fronts = find_arenas(*target);
    ASSERT_EQ(fronts.size(), 1u);
    Front front = fronts[0];
    ASSERT_EQ(front.patches.size(), 4u);
    EXPECT_EQ(front.tracer.pid, static_cast<uint32_t>(first));
    front.patches[0].at = sites[0].patch - 100; // code that is no site
    front.patches[0].after = {};
    front.patches[1].before.fill(std::byte{0xc3}); // the bytes to be put back are no nop10
    front.patches[2].semaphore = sites[2].patch;   // code as a semaphore
    front.patches[3].semaphore = 0x10;             // nothing is mapped there
    target->write_code(front.start, encode(front));
    end(first);
    const auto code = target->read(sites[0].patch - 100, 100);
    Arming arming(*target, CountingStubs(), 4096);
    arming.arm(sites);
    EXPECT_EQ(target->read(sites[0].patch - 100, 100), code);
    EXPECT_EQ(text(arming.states()[0]), "left by a tracer that has ended");
    EXPECT_EQ(text(arming.states()[1]), "left by a tracer that has ended");
    EXPECT_EQ(text(arming.states()[2]), "armed");
    EXPECT_EQ(text(arming.states()[3]), "armed");
    EXPECT_EQ(program.passes("run 2 200").wrong, 0);
    EXPECT_EQ(all_hits(*target, 4), 200u);
}

// A front with more records than the arena has room for, and one of another version.
TEST(Tracers, AFrontThatIsNone)
{
    Program program;
    const auto sites = sites_of(program.pid());
    const pid_t first = tracer(program.pid(), sites);
    const auto target = open_outside(program.pid());
    const Front front = find_arenas(*target).at(0);
    for (const size_t field : {8u, 12u}) { // version, number of records
        auto bytes = encode(front);
        bytes[field] = bytes[field + 3] = std::byte{0x7f};
        target->write_code(front.start, bytes);
        EXPECT_TRUE(find_arenas(*target).empty());
        EXPECT_EQ(text(can_arm(*target, sites)[0]), "taken by a jump that is not ours");
    }
    end(first);
    EXPECT_EQ(program.passes("run 2 200").wrong, 0);
}

} // namespace
} // namespace fastsdt::engine
