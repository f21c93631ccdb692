// SPDX-License-Identifier: BSD-2-Clause
//
// Programs that are started armed: what runs before main() is counted too.
#include "launch.h"
#include "program.h"

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

INSTANTIATE_TEST_SUITE_P(Of, Launching,
                         testing::Values("engine_starter", "engine_starter_static", "engine_starter_static_pie"),
                         [](const auto& info) { return std::string(info.param).substr(7); });

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

} // namespace
} // namespace fastsdt::engine
