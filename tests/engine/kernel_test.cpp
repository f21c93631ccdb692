// SPDX-License-Identifier: BSD-2-Clause
//
// The kernel's uprobes on the same sites, before, while and after they are armed. Each side counts every pass that it
// should, and neither breaks what the other has written.
#include "live_site.h"
#include "program.h"
#include "uprobe.h"

namespace fastsdt::engine {
namespace {

using namespace test;

class WithKernel : public testing::Test {
protected:
    void SetUp() override
    {
        if (const std::string why = fastsdt::test::why_no_uprobes(); !why.empty())
            GTEST_SKIP() << why;
        for (const LiveFile& file : read_process(program.pid()).files)
            for (const LiveSite& live : file.sites)
                if (live.name == "s0") {
                    path = file.path;
                    nop1 = live.file_offset.value;
                    nop = nop1 + live.expected.patch_offset;
                }
        target = open_outside(program.pid());
        arming = std::make_unique<Arming>(*target, CountingStubs(), 4096);
        sites = {sites_of(program.pid()).at(0)};
    }
    // Empty if the kernel takes no probe there: before Linux 7.2 it refuses a nop10, since it does not know the cs
    // prefix.
    Descriptor attach(uint64_t offset) const
    {
        Descriptor probe = open_uprobe_event({path, offset, 0, false}, program.pid(), -1, false);
        constexpr int enotsupp = 524;
        EXPECT_TRUE(probe || (offset == nop && errno == enotsupp)) << strerror(errno);
        return probe;
    }
    static void skip() { GTEST_SKIP() << "this kernel takes no uprobe on a nop10 (Linux 7.2 does)"; }
    static uint64_t counted(const Descriptor& probe)
    {
        uint64_t count = 0;
        return read(probe.get(), &count, sizeof count) == sizeof count ? count : ~uint64_t{0};
    }
    std::string state() { return text(arming->verify().at(0)); }
    // Passes site 0 100 times, in the thread that the event counts.
    void pass()
    {
        const auto p = program.passes("pass 400");
        EXPECT_EQ(p.passed, 400);
        EXPECT_EQ(p.wrong, 0);
    }
    void untouched()
    {
        for (const LiveFile& file : read_process(program.pid()).files)
            for (const LiveSite& site : file.sites)
                EXPECT_EQ(site.change, Change::untouched) << site.name;
    }

    Program program;
    std::string path;
    uint64_t nop1 = 0, nop = 0; // file offsets of the probe and of our jump
    std::unique_ptr<Target> target;
    std::unique_ptr<Arming> arming;
    std::vector<Site> sites;
};

// bpftrace attaches at the nop1: both see every pass.
TEST_F(WithKernel, BothCountAtTheNop1)
{
    if (nop == nop1)
        GTEST_SKIP() << "sites have no nop1 here";
    Descriptor probe = attach(nop1);
    arming->arm(sites);
    EXPECT_EQ(state(), "armed");
    pass();
    EXPECT_EQ(counted(probe), 100u);
    EXPECT_EQ(hits(*target, 0), 100u);
    probe.reset();
    pass();
    EXPECT_EQ(hits(*target, 0), 200u);
    probe = attach(nop1);
    pass();
    arming->disarm();
    pass();
    EXPECT_EQ(counted(probe), 200u);
    EXPECT_EQ(hits(*target, 0), 300u);
    probe.reset();
    untouched();
}

TEST_F(WithKernel, BeforeUsOnThePatch)
{
    Descriptor probe = attach(nop);
    if (!probe)
        return skip();
    arming->arm(sites);
    EXPECT_EQ(state(), "taken by the kernel");
    pass();
    EXPECT_EQ(counted(probe), 100u);
    probe.reset();
    arming->arm({}); // after the probe has gone
    EXPECT_EQ(state(), "armed");
    pass();
    EXPECT_EQ(hits(*target, 0), 100u);
    arming->disarm();
    pass();
    EXPECT_EQ(hits(*target, 0), 100u);
}

class WhileArmed : public WithKernel, public testing::WithParamInterface<bool> {};

// The kernel's probe comes over our jump, is hit or not, and goes: the jump is there again, or the site can be armed
// again.
TEST_P(WhileArmed, OnThePatch)
{
    arming->arm(sites);
    Descriptor probe = attach(nop);
    if (!probe)
        return skip();
    EXPECT_EQ(state(), "taken by the kernel");
    uint64_t by_us = 0;
    if (GetParam()) {
        pass();
        EXPECT_EQ(counted(probe) + hits(*target, 0), 100u);
        EXPECT_EQ(counted(probe), 100u); // it takes them all
        by_us = hits(*target, 0);
    }
    probe.reset();
    arming->arm({});
    EXPECT_EQ(state(), "armed");
    pass();
    EXPECT_EQ(hits(*target, 0), by_us + 100u);
    arming->disarm();
    pass();
    EXPECT_EQ(hits(*target, 0), by_us + 100u);
}

// We disarm first, while the kernel's breakpoint stands on our jump.
TEST_P(WhileArmed, DisarmedUnderIt)
{
    arming->arm(sites);
    Descriptor probe = attach(nop);
    if (!probe)
        return skip();
    if (GetParam())
        pass();
    const uint64_t before = hits(*target, 0);
    arming->disarm();
    pass();
    EXPECT_EQ(counted(probe), GetParam() ? 200u : 100u);
    probe.reset();
    pass();
    EXPECT_EQ(hits(*target, 0), before);
    const std::string after = text(can_arm(*target, sites).at(0));
    EXPECT_EQ(after, "not armed");
}

// A breakpoint written by hand, so on every kernel: it keeps us out, it stays, and the bytes behind it are put right.
TEST_F(WithKernel, ABreakpointOnThePatch)
{
#if defined(__aarch64__)
    const std::vector<std::byte> breakpoint{std::byte{0}, std::byte{0}, std::byte{0x20}, std::byte{0xd4}}; // brk #0
#else
    const std::vector<std::byte> breakpoint{std::byte{0xcc}};
#endif
    const auto before = target->read(sites[0].patch, breakpoint.size());
    target->write_code(sites[0].patch, breakpoint);
    arming->arm(sites);
    EXPECT_EQ(state(), "taken by the kernel");
    target->write_code(sites[0].patch, before);
    arming->arm({});
    EXPECT_EQ(state(), "armed");
    target->write_code(sites[0].patch, breakpoint);
    EXPECT_EQ(state(), "taken by the kernel");
    arming->disarm();
    EXPECT_EQ(target->read(sites[0].patch, breakpoint.size()), breakpoint);
    target->write_code(sites[0].patch, before);
    untouched();
    pass();
    EXPECT_EQ(hits(*target, 0), 0u);
}

INSTANTIATE_TEST_SUITE_P(And, WhileArmed, testing::Bool(),
                         [](const auto& info) { return info.param ? "Hit" : "NotHit"; });

} // namespace
} // namespace fastsdt::engine
