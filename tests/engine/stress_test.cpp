// SPDX-License-Identifier: BSD-2-Clause
//
// Sites are switched while eight threads pass them, each with a signal every 100 us whose handler passes sites too and often
// leaves by siglongjmp. Every pass has to go through one of two stubs, so each is accounted for. There are 10^5
// switches; the environment variable FASTSDT_TOGGLES sets another number.
#include "program.h"

#include <cstdlib>

namespace fastsdt::engine {
namespace {

using namespace test;

// From the stubs of `a` to those of `b`.
std::vector<Patch> between(const std::vector<Patch>& a, const std::vector<Patch>& b)
{
    std::vector<Patch> patches = a;
    for (size_t i = 0; i < a.size(); ++i) {
        patches[i].before = a[i].after;
        patches[i].after = b[i].after;
    }
    return patches;
}

TEST(Stress, EveryPassIsAccountedFor)
{
    const char* const wanted = std::getenv("FASTSDT_TOGGLES");
    const size_t toggles = wanted ? std::strtoull(wanted, nullptr, 10) : 100'000;
    Program program;
    EXPECT_EQ(program.ask("many"), "many");
    EXPECT_EQ(program.ask("signals"), "signals");
    const auto target = open_outside(program.pid());
    const auto sites = sites_of(program.pid(), "target", "many");
    ASSERT_EQ(sites.size(), 256u);

    target->allocate_data({2 * 8 * sites.size()});
    std::vector<uint64_t> near;
    for (const Site& site : sites)
        near.push_back(site.patch);
    std::vector<Patch> patches[2];
    for (size_t set = 0; set < 2; ++set) {
        const Arena arena = target->allocate_code(near, CountingStubs::length * sites.size());
        ASSERT_NE(arena.code, 0u);
        const Code code = CountingStubs(set * sites.size())(sites, arena);
        target->write_code(arena.code, code.bytes);
        patches[set] = code.patches;
    }
    const auto all_done = [&](const std::vector<Patch>& some, bool back) {
        for (const Target::Outcome outcome : target->patch(some, back))
            ASSERT_EQ(outcome, Target::Outcome::done);
    };

    // Between two stubs: the sum is exact, less the passes that a handler's jump ended before they were counted.
    all_done(patches[0], false);
    EXPECT_EQ(program.ask("start 8"), "started");
    const auto other = between(patches[0], patches[1]);
    size_t done = 0;
    for (bool back = false; done < toggles / 2 || back; back = !back, done += sites.size())
        all_done(other, back);
    const auto exact = program.passes("stop");
    EXPECT_GT(exact.passed, 0);
    EXPECT_EQ(exact.wrong, 0);
    for (size_t i = 0; i < sites.size(); ++i) {
        const auto counted = static_cast<long>(hits(*target, i) + hits(*target, sites.size() + i));
        EXPECT_GE(counted, exact.passed) << i;
        EXPECT_LE(counted, exact.passed + exact.left) << i;
    }
    EXPECT_GT(all_hits(*target, 2 * sites.size()), 0u);

    // Between a stub and the program's own bytes: no hit too many, and none at all after the last switch.
    all_done(patches[0], true);
    const uint64_t before = all_hits(*target, 2 * sites.size());
    EXPECT_EQ(program.ask("start 8"), "started");
    for (bool back = false; done < toggles || back; back = !back, done += sites.size())
        all_done(patches[0], back);
    const auto some = program.passes("stop");
    EXPECT_EQ(some.wrong, 0);
    const auto counted = static_cast<long>(all_hits(*target, 2 * sites.size()) - before);
    EXPECT_LE(counted, (some.passed + some.left) * static_cast<long>(sites.size()));
    EXPECT_EQ(program.passes("run 2 100").wrong, 0);
    EXPECT_EQ(static_cast<long>(all_hits(*target, 2 * sites.size()) - before), counted);
    std::printf("%zu switches, %ld passes of %zu sites\n", done, exact.passed + some.passed, sites.size());
}

} // namespace
} // namespace fastsdt::engine
