// SPDX-License-Identifier: BSD-2-Clause
//
// Which place is planned on which kernel, on this program's own sites. That the commands work is tested by plan.sh.
// With arguments, it prints the plan for it: plan_test FILE KERNEL.
#define FASTSDT_ALLOW_NOP5_FORK_CRASH_ON_LINUX_6_18_TO_7_1
#define FASTSDT_ALLOW_NOP10_UNTRACEABLE_BEFORE_LINUX_7_2
#include "report/plan.h"

#include <fastsdt.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace fastsdt {
namespace {

std::vector<AttachPoint> plan_of(const std::string& path, const char* kernel)
{
    std::vector<AttachPoint> points;
    Image::each(
        path, [&](const Image& image) { points = plan(image, read_notes(image), parse_kernel(kernel).value()); },
        [](const Error&) {});
    return points;
}

#ifdef __x86_64__
void sites(int value)
{
    FASTSDT_WITH(nop1, none, plan, one, value);
    FASTSDT_WITH(nop5, none, plan, five);
    FASTSDT_WITH(nop1_nop5, none, plan, one_five);
    FASTSDT_WITH(nop10, none, plan, ten);
    FASTSDT_WITH(nop1_nop10, none, plan, one_ten);
    FASTSDT_WITH(nop1_nop10, implicit, plan, counted);
}

AttachPoint find(const char* name, const char* kernel)
{
    const auto points = plan_of("/proc/self/exe", kernel);
    const auto found = std::find_if(points.begin(), points.end(),
                                    [&](const AttachPoint& p) { return p.provider == "plan" && p.name == name; });
    return found == points.end() ? AttachPoint() : *found;
}

void expect(const char* name, const char* kernel, std::optional<uint64_t> offset, Verdict verdict)
{
    const AttachPoint point = find(name, kernel);
    EXPECT_EQ(point.offset, offset) << name << " on " << kernel;
    EXPECT_EQ(fastsdt::name(point.judgement.verdict), fastsdt::name(verdict)) << name << " on " << kernel;
    EXPECT_EQ(point.bpftrace.empty(), !offset.has_value());
    EXPECT_EQ(point.perf.empty(), !offset.has_value());
    if (offset) {
        EXPECT_EQ(point.address, point.note_address + *offset);
    }
}

TEST(Plan, PlaceByKernel)
{
    sites(1);
    for (const char* kernel : {"6.1", "6.12", "6.18", "7.1"}) {
        expect("one", kernel, 0, Verdict::emulate);
        expect("one_five", kernel, 0, Verdict::emulate); // never the unsafe nop5 behind it
        expect("one_ten", kernel, 0, Verdict::emulate);
        expect("ten", kernel, {}, Verdict::reject);
    }
    expect("one_ten", "7.2", 1, Verdict::optimize);
    expect("counted", "7.2", 1, Verdict::optimize);
    expect("ten", "7.2", 0, Verdict::optimize);
    expect("one_five", "7.2", 0, Verdict::emulate);
    expect("five", "6.12", 0, Verdict::xol);
    expect("five", "6.17", 0, Verdict::emulate);
    expect("five", "6.18", 0, Verdict::optimize_unsafe); // there is nothing else, and it says so
    EXPECT_NE(find("five", "6.18").remarks.front().find("UNSAFE"), std::string::npos);
    EXPECT_NE(find("ten", "6.18").remarks.front().find("refuses"), std::string::npos);
}

TEST(Plan, Commands)
{
    const AttachPoint pc = find("one_ten", "6.18"), moved = find("one_ten", "7.2"), counted = find("counted", "7.2");
    EXPECT_NE(pc.bpftrace.find("usdt:/"), std::string::npos) << pc.bpftrace;
    EXPECT_NE(pc.bpftrace.find(":plan:one_ten {"), std::string::npos) << pc.bpftrace;
    EXPECT_NE(moved.bpftrace.find(fmt::format(":0x{:x} {{", moved.address)), std::string::npos) << moved.bpftrace;
    EXPECT_NE(moved.perf.find(fmt::format(":0x{:x}'", moved.file_offset)), std::string::npos) << moved.perf;
    // With a semaphore, perf goes to the better place and bpftrace, which could not raise it there, does not.
    EXPECT_NE(counted.perf.find(fmt::format(":0x{:x}(0x{:x})'", counted.file_offset, counted.semaphore_offset)),
              std::string::npos)
        << counted.perf;
    EXPECT_NE(counted.bpftrace.find(":plan:counted {"), std::string::npos) << counted.bpftrace;
}
#endif

TEST(Plan, RelocatableObjectsHaveNoPlace)
{
    ASSERT_EQ(std::system("echo 'int f(void) { return 0; }' | cc -x c -c - -o plan_test.o"), 0);
    EXPECT_TRUE(plan_of("plan_test.o", "7.2").empty());
}

} // namespace
} // namespace fastsdt

int main(int argc, char** argv)
{
    if (argc == 3) {
        for (const auto& point : fastsdt::plan_of(argv[1], argv[2])) {
            std::fputs(fmt::format("{}\t{}\t{}\t{}\t{}\n", point.name, name(point.judgement.verdict), point.place,
                                   point.bpftrace, point.perf)
                           .c_str(),
                       stdout);
            for (const auto& remark : point.remarks)
                std::fputs(fmt::format("# {}\n", remark).c_str(), stdout);
        }
        return 0;
    }
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
