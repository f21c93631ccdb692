// SPDX-License-Identifier: BSD-2-Clause
//
// Modules that come and go while others are armed.
#include "process/follow.h"
#include "program.h"

namespace fastsdt::engine {
namespace {

using namespace test;

long number(const std::string& line)
{
    long n = -1;
    std::sscanf(line.c_str(), "%*s %ld", &n);
    return n;
}

TEST(Following, ModulesComeAndGo)
{
    Program program;
    const auto target = open_outside(program.pid());
    Arming arming(*target, CountingStubs(), 4096);
    Follow follow(target->view());
    arming.arm(sites_of(program.pid()));
    EXPECT_FALSE(follow.news().modules);
    uint64_t expected = 0;
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(number(program.ask("load " + beside_us("libengine_module.so"))), 100);
        EXPECT_TRUE(follow.news().modules);
        auto module = sites_of(program.pid(), "module");
        ASSERT_EQ(module.size(), 2u);
        for (Site& site : module)
            site.probe += 10;
        arming.arm(module);
        const std::vector<SiteState>& states = arming.states();
        EXPECT_EQ(text(states.back()), "armed");
        EXPECT_EQ(number(program.ask("call")), 100);
        EXPECT_EQ(hits(*target, 11), expected += 100);
        EXPECT_EQ(program.ask("unload"), "unloaded");
        EXPECT_TRUE(follow.news().modules);
        EXPECT_NE(text(arming.verify().back()), "armed");
        EXPECT_EQ(text(arming.verify().front()), "armed");
    }
    EXPECT_FALSE(follow.news().modules);
    arming.disarm(); // though some sites are not mapped any more
    EXPECT_EQ(program.passes("run 1 100").wrong, 0);
}

} // namespace
} // namespace fastsdt::engine
