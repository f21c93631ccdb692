// SPDX-License-Identifier: BSD-2-Clause
//
// judge(this kernel) against what this kernel does: real uprobes on generated code, each in a process of its own,
// because the out-of-line page, once there, stays.
#include "judge/judge.h"
#include "live_site.h"

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/wait.h>

#ifdef __x86_64__
namespace fastsdt {
namespace {

using Bytes = std::vector<uint8_t>;

// What a child process saw; its exit status.
enum Seen { saw_reject, saw_xol, saw_emulate, saw_nop5_call, saw_nop10_call, saw_miscount, saw_error };

Seen watch(const Bytes& code, size_t offset, bool run)
{
    test::LiveSite site(code, offset);
    test::Uprobe probe(site.path(), site.offset());
    if (probe.error())
        return saw_reject;
    if (!run)
        return saw_error;
    constexpr unsigned calls = 3;
    for (unsigned i = 0; i < calls; ++i)
        site.call();
    if (probe.hits() != calls)
        return saw_miscount;
    if (test::is_mapped("[uprobes-trampoline]"))
        return site.bytes()[0] == 0xe8 ? saw_nop5_call : saw_nop10_call;
    return test::is_mapped("[uprobes]") ? saw_xol : saw_emulate;
}

std::string observe(const Bytes& code, size_t offset, bool run)
{
    const pid_t child = fork();
    if (child == 0) {
        const rlimit no_core{0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        alarm(20);
        try {
            _exit(watch(code, offset, run));
        } catch (...) {
            _exit(saw_error);
        }
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return "cannot fork";
    if (WIFSIGNALED(status))
        return std::string("killed by ") + strsignal(WTERMSIG(status));
    switch (WEXITSTATUS(status)) {
    case saw_reject: return "reject";
    case saw_xol: return "xol";
    case saw_emulate: return "emulate";
    case saw_nop5_call: return "optimize-unsafe";
    case saw_nop10_call: return "optimize";
    case saw_miscount: return "hits are missing";
    case saw_error: return run ? "cannot set up" : "accepted";
    }
    return "?";
}

struct Case {
    Bytes code;            // ends in ret, after undoing what the first instruction did to the stack
    size_t offset = 0x100; // file offset, which decides the place in the page
};

class OnThisKernel : public testing::Test {
protected:
    void SetUp() override
    {
        if (auto why = test::why_no_uprobes(); !why.empty())
            GTEST_SKIP() << why;
    }
    static void compare(const Case& c, bool run = true)
    {
        static const Kernel kernel = parse_kernel("this").value();
        std::string hex;
        for (uint8_t byte : c.code) {
            char text[4];
            std::snprintf(text, sizeof text, "%02x ", byte);
            hex += text;
        }
        Bytes padded = c.code;
        padded.resize(32, 0xc3); // as LiveSite fills
        const auto judged = judge(kernel, Arch::x86_64, std::as_bytes(std::span(padded)), c.offset);
        if (run)
            EXPECT_EQ(name(judged.verdict == Verdict::emulate_unsafe ? Verdict::emulate : judged.verdict),
                      observe(c.code, c.offset, true))
                << hex << "(" << judged.why << ")";
        else
            EXPECT_EQ(name(judged.verdict) == "reject" ? "reject" : "accepted", observe(c.code, c.offset, false))
                << hex << "(" << judged.why << ")";
    }
};

TEST_F(OnThisKernel, Executed)
{
    const Case cases[] = {
        // nops
        {{0x90, 0xc3}},
        {{0x66, 0x90, 0xc3}},
        {{0xf3, 0x90, 0xc3}},
        {{0x41, 0x90, 0x41, 0x90, 0xc3}},
        {{0x48, 0x90, 0xc3}},
        {{0x67, 0x90, 0xc3}},
        {{0x64, 0x90, 0xc3}},
        {{0x0f, 0x1f, 0x00, 0xc3}},
        {{0x0f, 0x1f, 0x40, 0x00, 0xc3}},
        {{0x0f, 0x1f, 0x40, 0x01, 0xc3}},
        {{0x0f, 0x1f, 0xc0, 0xc3}},
        {{0x0f, 0x1f, 0xc8, 0xc3}},
        {{0x0f, 0x1f, 0x48, 0x00, 0xc3}},
        {{0x44, 0x0f, 0x1f, 0x00, 0xc3}},
        {{0x44, 0x0f, 0x1f, 0x40, 0x00, 0xc3}},
        {{0x48, 0x0f, 0x1f, 0x00, 0xc3}},
        {{0x0f, 0x1f, 0x44, 0x00, 0x00, 0xc3}},
        {{0x0f, 0x1f, 0x44, 0x00, 0x08, 0xc3}},
        {{0x0f, 0x1f, 0x44, 0x00, 0x00, 0xc3}, 0xffb},
        {{0x0f, 0x1f, 0x44, 0x00, 0x00, 0xc3}, 0xffc},
        {{0x0f, 0x1f, 0x44, 0x00, 0x00, 0xc3}, 0xfff},
        {{0x66, 0x0f, 0x1f, 0x40, 0x00, 0xc3}},
        {{0xf3, 0x0f, 0x1f, 0x40, 0x00, 0xc3}},
        {{0x66, 0x66, 0x66, 0x66, 0x90, 0xc3}},
        {{0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00, 0xc3}},
        {{0x0f, 0x1f, 0x80, 0, 0, 0, 0, 0xc3}},
        {{0x0f, 0x1f, 0x84, 0x00, 0, 0, 0, 0, 0xc3}},
        {{0x66, 0x0f, 0x1f, 0x84, 0x00, 0, 0, 0, 0, 0xc3}},
        {{0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0xc3}},
        {{0x66, 0x2e, 0x0f, 0x1f, 0x84, 0xe8, 1, 2, 3, 4, 0xc3}},
        {{0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0xc3}, 0xff6},
        {{0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0xc3}, 0xff7},
        {{0x2e, 0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0xc3}},
        {{0x0f, 0x19, 0xc0, 0xc3}},
        {{0x0f, 0x0d, 0x0c, 0x24, 0xc3}},
        {{0xf3, 0x0f, 0x1e, 0xfa, 0xc3}},
        // moves
        {{0x48, 0x89, 0xc0, 0xc3}},
        {{0x89, 0xc0, 0xc3}},
        {{0x48, 0x8b, 0xc0, 0xc3}},
        {{0x48, 0x89, 0xc8, 0xc3}},
        {{0x48, 0x8d, 0x40, 0x00, 0xc3}},
        {{0x48, 0x8d, 0x64, 0x24, 0x00, 0xc3}},
        {{0x48, 0x8d, 0x64, 0x24, 0x80, 0x48, 0x83, 0xec, 0x80, 0xc3}},
        {{0x48, 0x8d, 0x05, 1, 0, 0, 0, 0xc3}},
        {{0x31, 0xc0, 0xc3}},
        {{0x48, 0x85, 0xff, 0xc3}},
        {{0x48, 0x83, 0xec, 0x08, 0x58, 0xc3}},
        {{0x0f, 0xb6, 0xc0, 0xc3}},
        {{0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0, 0xc3}},
        {{0x8c, 0xd0, 0xc3}},
        // stack
        {{0x50, 0x58, 0xc3}},
        {{0x55, 0x5d, 0xc3}},
        {{0x41, 0x57, 0x41, 0x5f, 0xc3}},
        {{0x40, 0x55, 0x5d, 0xc3}},
        {{0x48, 0x55, 0x5d, 0xc3}},
        {{0x6a, 0x01, 0x58, 0xc3}},
        {{0xff, 0xf0, 0x58, 0xc3}},
        {{0x9c, 0x58, 0xc3}},
        {{0xc3}},
        {{0xf3, 0xc3}},
        // branches
        {{0xeb, 0x00, 0xc3}},
        {{0xeb, 0x01, 0xcc, 0xc3}},
        {{0xe9, 0, 0, 0, 0, 0xc3}},
        {{0xe9, 1, 0, 0, 0, 0xcc, 0xc3}},
        {{0xf2, 0xe9, 0, 0, 0, 0, 0xc3}},
        {{0x74, 0x00, 0xc3}},
        {{0x0f, 0x84, 0, 0, 0, 0, 0xc3}},
        {{0xe3, 0x00, 0xc3}},
        {{0xe8, 0, 0, 0, 0, 0xc3}}, // returns to itself once
        {{0x66, 0xeb, 0x00, 0xc3}},
        {{0x0f, 0x1f, 0x44, 0x00, 0x00, 0xc3}, 0x0},
    };
    for (const Case& c : cases)
        compare(c);
}

TEST_F(OnThisKernel, AcceptedOrRefused)
{
    // Not executed: they would fault, or change the state that the process depends on.
    const Bytes codes[] = {
        {0x2e, 0x90},
        {0x3e, 0x90},
        {0x26, 0x90},
        {0x36, 0x90},
        {0xf0, 0x90},
        {0x3e, 0xff, 0xe0},
        {0xcc},
        {0xcd, 0x80},
        {0xce},
        {0xcf},
        {0xf1},
        {0xf4},
        {0xfa},
        {0xfb},
        {0x06},
        {0x07},
        {0x0e},
        {0x16},
        {0x1e},
        {0x27},
        {0x2f},
        {0x37},
        {0x3f},
        {0x60},
        {0x61},
        {0x6c},
        {0x6d},
        {0x6e},
        {0x6f},
        {0x82, 0xc0, 0x01},
        {0x9a},
        {0xd4},
        {0xd6},
        {0xe4, 0x01},
        {0xe5, 0x01},
        {0xe6, 0x01},
        {0xec},
        {0xef},
        {0xea},
        {0x8e, 0xd0},
        {0x8e, 0xd8},
        {0x66, 0xe8, 0, 0, 0, 0},
        {0x66, 0xe9, 1, 0, 0, 0},
        {0x66, 0x0f, 0x84, 1, 0, 0, 0},
        {0x0f, 0x05},
        {0x0f, 0x34},
        {0x0f, 0x0b},
        {0x0f, 0xff, 0xc0},
        {0x0f, 0x30},
        {0x0f, 0x01, 0xd0},
        {0x0f, 0xae, 0xf0},
        {0xff, 0xf8},
        {0x8f, 0xc8},
        {0xfe, 0xd0},
        {0xc7, 0xc8, 1, 2, 3, 4},
        {0xd9, 0xd1},
        {0x0f, 0xba, 0xc0, 1},
        {0xc5, 0xf8, 0x77},
        {0xc5, 0xf1, 0xeb, 0xc2},
        {0xc4, 0xe2, 0x79, 0x18, 0xc0},
        {0xc5, 0xf8, 0x06},
        {0x62, 0xf1, 0x7c, 0x48, 0x28, 0xc1},
        {0xc5, 0xf1, 0x6c, 0xc2},
        {0xc5, 0xf1, 0x60, 0xc2},
        {0xc5, 0xf1, 0xfa, 0xc2},
        {0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x90},
        {0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x90},
        {0x66, 0xf2, 0xf3, 0x64, 0x65, 0x90},
        {0x66, 0xf2, 0xf3, 0x67, 0x90},
        {0x0f, 0x38, 0xff, 0xc0},
        {0x0f, 0x3a, 0xff, 0xc0, 0x01},
        {0x0f, 0x38, 0xf5, 0xc0},
        {0xd5, 0x10, 0x90},
    };
    for (const Bytes& code : codes)
        if (judge(parse_kernel("this").value(), Arch::x86_64, std::as_bytes(std::span(code)), 0).verdict
            != Verdict::unknown)
            compare({code}, false);
}

// How a process ends that runs `code` with a uprobe on its first instruction: 0, or the signal that killed it.
int signal_under_probe(const Bytes& code)
{
    const test::LiveSite site(code);
    const pid_t child = fork();
    if (child == 0) {
        const rlimit no_core{0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        test::Uprobe probe(site.path(), site.offset());
        if (!probe.error())
            site.call();
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

// vcmpps and vfnmadd132sd with nops behind them: taken for ret and popf.
TEST_F(OnThisKernel, VexOpcodeTakenForRetOrPopf)
{
    if (!__builtin_cpu_supports("fma"))
        GTEST_SKIP() << "no FMA";
    const auto judged = [](const Bytes& code) {
        return judge(parse_kernel("this").value(), Arch::x86_64, std::as_bytes(std::span(code)), 0x100).verdict;
    };
    for (auto [code, signal] :
         {std::pair(Bytes{0xc5, 0xf8, 0xc2, 0xc1, 0x00}, SIGSEGV),
          std::pair(Bytes{0xc4, 0xe2, 0xf1, 0x9d, 0xc1}, SIGTRAP), std::pair(Bytes{0xc5, 0xf8, 0x28, 0xc1, 0x90}, 0)}) {
        code.resize(30, 0x90); // more than the 16 bytes of an out-of-line slot
        code.push_back(0xc3);
        EXPECT_EQ(judged(code) == Verdict::xol_unsafe, signal != 0);
        EXPECT_EQ(signal_under_probe(code), signal) << "tell lib/arch/x86.cpp, default_xol_ops()";
    }
}

// vpor %xmm2,%xmm1,%xmm0 under a uprobe: the model says that the kernel takes eb for jmp rel8 and drops the effect.
TEST_F(OnThisKernel, VexOpcodeTakenForABranch)
{
    if (!__builtin_cpu_supports("avx"))
        GTEST_SKIP() << "no AVX";
    compare({{0xc5, 0xf1, 0xeb, 0xc2, 0xc3}});
    compare({{0xc5, 0xf8, 0x77, 0xc3}});
    compare({{0xc5, 0xf1, 0x74, 0xc2, 0xc3}});
    compare({{0xc5, 0xf8, 0x28, 0xc1, 0xc3}});
    // vpcmpeqd %xmm0,%xmm0,%xmm0 (opcode 76); vmovd %xmm0,%eax; ret
    test::LiveSite site({0xc5, 0xf9, 0x76, 0xc0, 0xc5, 0xf9, 0x7e, 0xc0, 0xc3});
    auto run = [&] {
        unsigned eax = 0;
        asm volatile("vpxor %%xmm0,%%xmm0,%%xmm0\n\tcall *%1" : "=a"(eax) : "r"(site.bytes()) : "xmm0", "memory", "cc");
        return eax;
    };
    EXPECT_EQ(run(), 0xffffffffu);
    test::Uprobe probe(site.path(), site.offset());
    ASSERT_EQ(probe.error(), 0);
    EXPECT_EQ(run(), 0u) << "this kernel no longer loses the instruction: tell lib/arch/x86.cpp";
}

} // namespace
} // namespace fastsdt
#endif
