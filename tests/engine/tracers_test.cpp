// SPDX-License-Identifier: BSD-2-Clause
//
// Two tracers in one process; what one leaves that was killed; and a process that lies about it.
#include "program.h"

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
    EXPECT_EQ(text(look(*target, sites)[0]), taken); // its sites were left alone
    end(first);

    EXPECT_EQ(text(look(*target, sites)[0]), "left by a tracer that has ended");
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
    EXPECT_EQ(text(look(*target, sites_of(program.pid(), "target", "counted"))[0]), "not armed");
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

// The front of an arena is the target's memory. One that claims other places, other bytes or other counters makes us write
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
    front.patches[1].before.fill(std::byte{0xc3}); // what it would put back is no nop10
    front.patches[2].semaphore = sites[2].patch;   // text as a counter
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
        EXPECT_EQ(text(look(*target, sites)[0]), "taken by a jump that is not ours");
    }
    end(first);
    EXPECT_EQ(program.passes("run 2 200").wrong, 0);
}

} // namespace
} // namespace fastsdt::engine
