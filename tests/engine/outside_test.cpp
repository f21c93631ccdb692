// SPDX-License-Identifier: BSD-2-Clause
//
// A process is armed and disarmed from outside while it runs. The stubs' counts are compared with those of the process
// itself.
#include "program.h"

namespace fastsdt::engine {
namespace {

using namespace test;

void all_are(const std::vector<SiteState>& states, State state)
{
    for (const SiteState& s : states)
        EXPECT_EQ(text(s), text({state}));
}

class Outside : public testing::TestWithParam<const char*> {
protected:
    Program program{{beside_us(GetParam())}};
};

TEST_P(Outside, EveryPassIsCountedAndNothingElseChanges)
{
    const auto target = open_outside(program.pid());
    const auto sites = sites_of(program.pid());
    ASSERT_EQ(sites.size(), 4u);
    EXPECT_EQ(target->stores_thread_pointers(), own_machine.arch == Arch::x86_64);
    Arming arming(*target, CountingStubs(), 4096);
    arming.arm(sites);
    all_are(arming.states(), State::armed);
    const auto first = program.passes("run 2 10000");
    EXPECT_EQ(first.passed, 20000);
    EXPECT_EQ(first.wrong, 0);
    for (size_t i = 0; i < 4; ++i)
        EXPECT_EQ(hits(*target, i), 5000u);
    arming.disarm();
    all_are(arming.states(), State::ready);
    EXPECT_EQ(program.passes("run 1 1000").wrong, 0);
    EXPECT_EQ(all_hits(*target, 4), 20000u);
    for (const LiveFile& file : read_process(program.pid()).files)
        for (const LiveSite& site : file.sites)
            EXPECT_EQ(site.change, Change::untouched) << site.name;
}

INSTANTIATE_TEST_SUITE_P(Of, Outside, testing::Values("engine_target", "engine_target_static"),
                         [](const auto& info) { return info.index ? "Static" : "Dynamic"; });

} // namespace
} // namespace fastsdt::engine
