// SPDX-License-Identifier: BSD-2-Clause
//
// A process whose only thread is always in a restartable sequence. It is not sent away from there: what it does in a sequence
// would be torn.
#include "program.h"

#include <cerrno>
#include <sys/syscall.h>

#ifndef SYS_rseq
#define SYS_rseq 334
#endif

namespace fastsdt::engine {
namespace {

using namespace test;

TEST(Sequence, IsNotTorn)
{
    if (syscall(SYS_rseq, nullptr, 0, 0, 0) < 0 && errno == ENOSYS)
        GTEST_SKIP() << "this kernel has no restartable sequences (CONFIG_RSEQ)";
    Program program{{beside_us("engine_sequence")}};
    const auto sites = sites_of(program.pid(), "sequence", "answered");
    ASSERT_EQ(sites.size(), 1u);
    const auto target = open_outside(program.pid());
    Arming arming(*target, CountingStubs(), 4096);
    const uint64_t place = std::stoull(program.line(), nullptr, 16);
    while (target->read(place, 8) == std::vector<std::byte>(8)) // it speaks before the first one
        continue;
    bool is_refused = false;
    try {
        arming.arm(sites); // a try may find it between two sequences
    } catch (const Unusable& e) {
        is_refused = true;
        EXPECT_NE(std::string(e.what()).find("is in a restartable sequence"), std::string::npos) << e.what();
    }
    kill(program.pid(), SIGUSR1);
    unsigned long aborted = 0, taken = ~0ul;
    const std::string report = program.line();
    ASSERT_EQ(std::sscanf(report.c_str(), "aborted %lu taken %lu", &aborted, &taken), 2) << report;
    if (is_refused)
        EXPECT_GT(aborted, 1u); // each stop ended one
    EXPECT_EQ(taken, 0u);
    arming.arm(sites);
    EXPECT_EQ(text(arming.states().at(0)), "armed");
    EXPECT_EQ(program.ask("now"), "answered");
    EXPECT_EQ(hits(*target, 0), 1u);
}

} // namespace
} // namespace fastsdt::engine
