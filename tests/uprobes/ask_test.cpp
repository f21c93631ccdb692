// SPDX-License-Identifier: BSD-2-Clause
// What ask_running() finds out is compared with what the kernel's system call says. Before that, features are unknown
// or wrongly believed.
#include "ask.h"
#include "live_site.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <unistd.h>

namespace fastsdt {
namespace {

#if defined(__x86_64__)
constexpr Arch own = Arch::x86_64;
#else
constexpr Arch own = Arch::arm64;
#endif

Kernel asked(Knowledge before)
{
    Kernel kernel = parse_kernel("this").value();
    kernel.features = before;
    ask_running(kernel);
    return kernel;
}

class Ask : public testing::Test {
protected:
    void SetUp() override
    {
        if (auto why = test::why_no_uprobes(); !why.empty())
            GTEST_SKIP() << why;
    }
};

constexpr uint32_t all = (1u << unsigned(Feature::count)) - 1;

TEST_F(Ask, LeavesNothingOpenThatARuleAsks)
{
    const uint32_t open = asked({0, all}).features.unknown & features_for(own);
    // A kernel that emulates every NOP has no use for the table.
    EXPECT_EQ(open & ~bit(Feature::nop_table), 0u);
}

TEST_F(Ask, DoesNotDependOnWhatWasBelieved)
{
    const uint32_t rules = features_for(own);
    EXPECT_EQ(asked({all, 0}).features.has & rules, asked({0, 0}).features.has & rules);
}

#if defined(__x86_64__)
// The call outside of a trampoline fails: with ENOSYS before 6.18, ENXIO where a nop5 is optimized, EPROTO where a
// nop10 is. A seccomp filter may answer ENOSYS too.
TEST_F(Ask, AgreesWithTheSystemCall)
{
    const Knowledge features = asked({0, all}).features;
    errno = 0;
    ASSERT_EQ(syscall(336), -1);
    if (errno == ENXIO || errno == EPROTO) {
        EXPECT_TRUE(features.surely(Feature::optimize));
        EXPECT_EQ(features.surely(Feature::optimize_nop10), errno == EPROTO);
    }
}
#endif

} // namespace
} // namespace fastsdt
