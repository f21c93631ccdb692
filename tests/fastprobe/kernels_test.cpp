// SPDX-License-Identifier: BSD-2-Clause
// The plugins' short table of cheap entries against the kernel model, which is compared with real kernels elsewhere.
#include "judge/judge.h"
#include "kernels.h"

#include <gtest/gtest.h>

namespace {

struct Sample {
    fastprobe::Arch arch;
    fastprobe::First first;
    std::vector<unsigned char> bytes;
};

const Sample samples[] = {
    {fastprobe::Arch::x86_64, fastprobe::First::other, {0xf3, 0x0f, 0x1e, 0xfa}},        // endbr64
    {fastprobe::Arch::x86_64, fastprobe::First::other, {0x48, 0x83, 0xec, 0x08}},        // sub $8,%rsp
    {fastprobe::Arch::x86_64, fastprobe::First::other, {0x89, 0xf8}},                    // mov %edi,%eax
    {fastprobe::Arch::x86_64, fastprobe::First::nop, {0x90}},                            // nop
    {fastprobe::Arch::x86_64, fastprobe::First::long_nop, {0x0f, 0x1f, 0x40, 0x00}},     // nopl 0(%rax)
    {fastprobe::Arch::x86_64, fastprobe::First::frame_push, {0x55}},                     // push %rbp
    {fastprobe::Arch::x86_64, fastprobe::First::other_push, {0x53}},                     // push %rbx
    {fastprobe::Arch::x86_64, fastprobe::First::other_push, {0x41, 0x57}},               // push %r15
    {fastprobe::Arch::x86_64, fastprobe::First::branch, {0xe9, 0x10, 0x00, 0x00, 0x00}}, // jmp rel32
    {fastprobe::Arch::x86_64, fastprobe::First::branch, {0xeb, 0x10}},                   // jmp rel8
    {fastprobe::Arch::x86_64, fastprobe::First::call, {0xe8, 0x10, 0x00, 0x00, 0x00}},   // call rel32
    {fastprobe::Arch::arm64, fastprobe::First::other, {0x5f, 0x24, 0x03, 0xd5}},         // bti c
    {fastprobe::Arch::arm64, fastprobe::First::other, {0x3f, 0x23, 0x03, 0xd5}},         // paciasp
    {fastprobe::Arch::arm64, fastprobe::First::other, {0xff, 0x43, 0x00, 0xd1}},         // sub sp, sp, #16
    {fastprobe::Arch::arm64, fastprobe::First::nop, {0x1f, 0x20, 0x03, 0xd5}},           // nop
    {fastprobe::Arch::arm64, fastprobe::First::frame_push, {0xfd, 0x7b, 0xbe, 0xa9}},    // stp x29, x30, [sp, #-32]!
    {fastprobe::Arch::arm64, fastprobe::First::branch, {0x04, 0x00, 0x00, 0x14}},        // b
    {fastprobe::Arch::arm64, fastprobe::First::branch, {0x00, 0x02, 0x1f, 0xd6}},        // br x16
    {fastprobe::Arch::arm64, fastprobe::First::branch, {0xc0, 0x03, 0x5f, 0xd6}},        // ret
    {fastprobe::Arch::arm64, fastprobe::First::call, {0x04, 0x00, 0x00, 0x94}},          // bl
    {fastprobe::Arch::arm64, fastprobe::First::address, {0x00, 0x00, 0x00, 0x90}},       // adrp x0, .
    {fastprobe::Arch::arm64, fastprobe::First::address, {0x00, 0x00, 0x00, 0x10}},       // adr x0, .
};

// Every version that a boundary of the table or of the kernel might lie at.
const char* const versions[] = {"5.10",
                                "5.15",
                                "6.1",
                                "6.6",
                                "6.11",
                                "6.12",
                                "6.13",
                                "6.14",
                                "6.15",
                                "6.16",
                                "6.18",
                                "6.12+stp",
                                "6.13+stp",
                                "7.1",
                                "7.2",
                                "7.3",
                                "6.1.176",
                                "ubuntu-6.8",
                                "ubuntu-7.0.0-43",
                                "ubuntu-7.0.0-14+stp",
                                "rhel-9.6"};

TEST(kernels, table_agrees_with_the_kernel_model)
{
    for (const char* version : versions) {
        auto kernel = fastsdt::parse_kernel(version);
        ASSERT_TRUE(kernel) << version;
        fastprobe::Kernels one;
        ASSERT_TRUE(one.parse(version)) << version;
        for (const Sample& sample : samples) {
            auto arch = sample.arch == fastprobe::Arch::x86_64 ? fastsdt::Arch::x86_64 : fastsdt::Arch::arm64;
            std::vector<unsigned char> bytes = sample.bytes;
            bytes.resize(16, 0x90); // what follows does not matter
            auto judgement = fastsdt::judge(*kernel, arch, std::as_bytes(std::span(bytes)), 0x1000);
            EXPECT_EQ(one.cheap(sample.arch, sample.first), judgement.verdict >= fastsdt::Verdict::emulate)
                << version << " " << name(sample.arch) << " " << std::hex << int(sample.bytes[0]) << ": "
                << name(judgement.verdict) << ", " << judgement.why;
        }
    }
}

TEST(kernels, ranges)
{
    using namespace fastprobe;
    Kernels kernels;
    EXPECT_TRUE(kernels.cheap(Arch::x86_64, First::nop)) << "the default range";
    EXPECT_FALSE(kernels.cheap(Arch::arm64, First::nop)) << "5.10 to 6.12 single-step it";
    EXPECT_TRUE(kernels.nop_pays(Arch::arm64, First::other)) << "from 6.13 on";
    EXPECT_FALSE(kernels.nop_pays(Arch::arm64, First::branch));
    EXPECT_FALSE(kernels.nop_pays(Arch::x86_64, First::other_push));
    EXPECT_TRUE(kernels.nop_pays(Arch::x86_64, First::long_nop)) << "before 6.16";

    ASSERT_TRUE(kernels.parse("6.1-6.12"));
    EXPECT_FALSE(kernels.nop_pays(Arch::arm64, First::other)) << "no kernel of the range emulates a nop";
    ASSERT_TRUE(kernels.parse("6.16-"));
    EXPECT_FALSE(kernels.nop_pays(Arch::x86_64, First::long_nop));
    ASSERT_TRUE(kernels.parse("6.1,6.13"));
    EXPECT_TRUE(kernels.nop_pays(Arch::arm64, First::frame_push));
    EXPECT_FALSE(kernels.frame_as_cheap_as_nop(Arch::arm64));
    ASSERT_TRUE(kernels.parse("6.13-7.2+stp"));
    EXPECT_TRUE(kernels.frame_as_cheap_as_nop(Arch::arm64));
    EXPECT_TRUE(kernels.cheap(Arch::arm64, First::frame_push));
    ASSERT_TRUE(kernels.parse("ubuntu-6.17-7.0.0-43,6.16.3-")) << "ubuntu-6.17-7.0.0-43,6.16.3-";
    EXPECT_TRUE(kernels.cheap(Arch::x86_64, First::long_nop));
    // To the end: of a series that is the vendor's last, too, and of the newest.
    for (const char* open : {"rhel-10.1-", "rhel-10.0-", "rhel-9.6-", "ubuntu-7.0.0-43-", "7.2.5-", "7.2-", "6.12.3-",
                             "6.12.3-6.12", "rhel-10-"})
        EXPECT_TRUE(kernels.parse(open)) << open;
    ASSERT_TRUE(kernels.parse("7.2.5-"));
    EXPECT_TRUE(kernels.cheap(Arch::x86_64, First::long_nop));
    ASSERT_TRUE(kernels.parse("6.18,rhel-9.6"));
    EXPECT_FALSE(kernels.cheap(Arch::x86_64, First::long_nop)) << "nobody knows what that one has";
    ASSERT_TRUE(kernels.parse("6.13-7.2+stp"));

    for (const char* bad : {"",
                            "6",
                            "6.",
                            ".1",
                            "6.1-6.0",
                            "6.1--7.2",
                            "6.1,",
                            ",6.1",
                            "6.1 ",
                            "v6.1",
                            "6.1-7.2-7.3",
                            "6.99999",
                            "4.19",
                            "6.1+foo",
                            "-7.2",
                            "this",
                            "ubuntu-5.4",
                            "rhel-8.10",
                            "6.12.9-6.12.8",
                            "rhel-10.1-rhel-10.0",
                            "6.12-6.12.3-6.11"}) {
        const auto done = kernels.parse(bad);
        ASSERT_FALSE(done) << bad;
        EXPECT_FALSE(done.error().what.empty()) << bad;
    }
    EXPECT_EQ(kernels.text(), "6.13-7.2+stp") << "a failed parse changes nothing";
}

} // namespace
