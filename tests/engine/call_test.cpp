// SPDX-License-Identifier: BSD-2-Clause
//
// A stub that calls a function which changes everything. All that the program can see is put back, with the upper
// halves of vector registers, the x87 stack and the control words. The function gets the site's values.
#include "arming/arm.h"
#include "maps/hit.h"
#include "own_site.h"
#include "process/self.h"

#include <Zydis/Zydis.h>
#include <gtest/gtest.h>

#include <csetjmp>
#include <csignal>
#include <cstring>
#include <thread>

namespace fastsdt::engine {
namespace {

struct Told {
    long calls = 0;
    Hit hit;
    uint64_t stack = 0, frame[2] = {};
    unsigned char area[64] = {};
};

// Changes all that the ABI lets a function change, and more.
[[gnu::noinline]] void wreck()
{
    asm volatile("fninit; fldpi; fldpi; fldpi\n"
                 "movabs $0xdeaddeaddeaddead, %%rax\n"
                 "mov %%rax, %%rcx; mov %%rax, %%rdx; mov %%rax, %%rsi; mov %%rax, %%rdi\n"
                 "mov %%rax, %%r8; mov %%rax, %%r9; mov %%rax, %%r10; mov %%rax, %%r11\n"
                 "movq %%rax, %%xmm0; movaps %%xmm0, %%xmm1; movaps %%xmm0, %%xmm2; movaps %%xmm0, %%xmm3\n"
                 "movaps %%xmm0, %%xmm4; movaps %%xmm0, %%xmm5; movaps %%xmm0, %%xmm6; movaps %%xmm0, %%xmm7\n"
                 "movaps %%xmm0, %%xmm8; movaps %%xmm0, %%xmm9; movaps %%xmm0, %%xmm10; movaps %%xmm0, %%xmm11\n"
                 "movaps %%xmm0, %%xmm12; movaps %%xmm0, %%xmm13; movaps %%xmm0, %%xmm14; movaps %%xmm0, %%xmm15\n"
                 "xor %%eax, %%eax\n" ::
                     : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3",
                       "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
                       "xmm15", "cc");
    const unsigned mxcsr = 0x9fc0; // flush to zero, as some library leaves it
    asm volatile("ldmxcsr %0" ::"m"(mxcsr));
    if (__builtin_cpu_supports("avx"))
        asm volatile("vzeroall" ::
                         : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
                           "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
    if (__builtin_cpu_supports("avx512f"))
        asm volatile(
            ".irp i, 16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n vpxorq %zmm\\i, %zmm\\i, %zmm\\i\n .endr\n"
            "kxorw %k1, %k1, %k1");
}

void called(uint64_t context, const Hit* hit)
{
    Told& told = *reinterpret_cast<Told*>(context);
    ++told.calls;
    told.hit = *hit;
    const auto* const frame = static_cast<const uint64_t*>(__builtin_frame_address(0));
    told.stack = uint64_t(frame);
    std::memcpy(told.frame, reinterpret_cast<const void*>(frame[0]), sizeof told.frame);
    wreck();
}

// Armed in this process by its own engine.
struct CallRun {
    explicit CallRun(Site site, const std::string& probes = "usdt:f:p:n",
                     const VectorState& vectors = VectorState::here())
        : script(parse(probes + " {}")), tables(lay_out(script)), target(open_self()),
          arming(
              *target,
              [this, vectors](std::span<const Site> sites, const Arena& arena) {
                  Environment environment = own_environment();
                  environment.threads_run = true;
                  environment.vectors = vectors;
                  return compile(script, tables, sites, arena, environment);
              },
              Needs{tables.least}, [this](Window window) { return first_words(tables, window); })
    {
        Statement call;
        call.kind = Statement::Kind::call;
        call.function = reinterpret_cast<uint64_t>(&called);
        call.context = reinterpret_cast<uint64_t>(&told);
        script.clauses[0].actions = {call};
        site.patch = site.address = reinterpret_cast<uint64_t>(own_site);
        site.length = 10;
        site.clauses = {0};
        arming.arm({site});
    }
    Told told;
    Script script;
    Tables tables;
    std::unique_ptr<Target> target;
    Arming arming;
};

Processor full()
{
    Processor state;
    for (size_t i = 0; i < 16; ++i) {
        state.gpr[i] = 0x1111111111111111 * i + 0x0123456789;
        state.red_zone[i] = ~state.gpr[i];
        for (size_t k = 0; k < 16; ++k)
            state.xmm[i][k] = static_cast<unsigned char>(16 * i + k);
    }
    return state;
}

constexpr uint64_t fixed_flag = 2, interrupts = 0x200, direction = 0x400;

TEST(Call, EverythingIsPutBack)
{
    for (const VectorState::By by : {VectorState::By::fxsave, VectorState::By::xsave, VectorState::By::xsavec}) {
        VectorState vectors = VectorState::here();
        if (by > vectors.by)
            continue; // this processor does not have it
        vectors.by = by;
        vectors.size =
            by == VectorState::By::fxsave ? 512 : std::max<size_t>(vectors.size, 2688); // of the standard format
        CallRun run(usdt("-4@%edi 8@%rsi 1@%al 8@$-5 4f@%xmm0"), "usdt:f:p:n", vectors);
        ASSERT_EQ(run.arming.states()[0].state, State::armed) << text(run.arming.states()[0]);
        // Each flag by itself, and all. Also the direction flag, which the function must find clear.
        for (const uint64_t flags : {uint64_t(0), uint64_t(1), uint64_t(4), uint64_t(0x10), uint64_t(0x40),
                                     uint64_t(0x80), uint64_t(0x800), arithmetic_flags, direction | arithmetic_flags}) {
            Processor state = full();
            state.flags = flags | fixed_flag | interrupts;
            Processor wanted = state;
            own_site_pass(&state);
            wanted.gpr[RSP] = state.gpr[RSP];
            EXPECT_EQ(std::memcmp(&state, &wanted, sizeof state), 0) << int(by) << " " << flags;
        }
        EXPECT_EQ(run.told.calls, 9);
    }
}

TEST(Call, UpperHalvesX87AndControlWords)
{
    CallRun run(usdt(""));
    unsigned char before[16][32], after[16][32];
    for (size_t i = 0; i < sizeof before; ++i)
        before[i / 32][i % 32] = static_cast<unsigned char>(i * 7 + 1);
    Processor state = full();
    std::memcpy(state.xmm, before, 0);
    for (size_t i = 0; i < 16; ++i)
        std::memcpy(state.xmm[i], before[i], 16);
    const unsigned mxcsr = 0x1fa0 | 0x4000; // another rounding mode
    const unsigned short control = 0x027f;
    unsigned mxcsr_after = 0, mxcsr_old = 0;
    unsigned short control_after = 0, control_old = 0;
    double left = 0;
    const double given = 1234.5;
    asm volatile("stmxcsr %0; fnstcw %1" : "=m"(mxcsr_old), "=m"(control_old));
    asm volatile("ldmxcsr %0; fldcw %1; fldl %2" ::"m"(mxcsr), "m"(control), "m"(given));
    const bool avx = __builtin_cpu_supports("avx");
    if (avx)
        asm volatile(".irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n vmovups 32*\\i(%0), %%ymm\\i\n .endr\n"
                     "call own_site_pass\n"
                     ".irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n vmovups %%ymm\\i, 32*\\i(%2)\n .endr\n"
                     "vzeroupper"
                     :
                     : "b"(before), "D"(&state), "r"((static_cast<unsigned char*>(after[0])))
                     : "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4",
                       "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15",
                       "memory", "cc");
    else
        own_site_pass(&state);
    asm volatile("fstpl %0" : "=m"(left));
    asm volatile("stmxcsr %0; fnstcw %1" : "=m"(mxcsr_after), "=m"(control_after));
    asm volatile("ldmxcsr %0; fldcw %1" ::"m"(mxcsr_old), "m"(control_old));
    EXPECT_EQ(run.told.calls, 1);
    EXPECT_EQ(left, given);
    EXPECT_EQ(mxcsr_after, mxcsr);
    EXPECT_EQ(control_after, control);
    if (avx) {
        EXPECT_EQ(std::memcmp(before, after, sizeof before), 0);
    }
}

TEST(Call, WhatItIsTold)
{
    CallRun run(usdt("-4@%edi 8@%rsi 1@%al 8@$-5 4f@%xmm0 -1@%cl"));
    Processor state = full();
    state.gpr[RDI] = 0xfffffffe;
    state.gpr[RCX] = 0x80;
    own_site_pass(&state);
    const Hit& hit = run.told.hit;
    EXPECT_EQ(hit.address, reinterpret_cast<uint64_t>(own_site));
    EXPECT_EQ(hit.count, 6u);
    EXPECT_EQ(hit.readable, 0x2fu); // not the float
    EXPECT_EQ(hit.arguments[0], -2);
    EXPECT_EQ(uint64_t(hit.arguments[1]), state.gpr[RSI]);
    EXPECT_EQ(uint64_t(hit.arguments[2]), state.gpr[RAX] & 0xff);
    EXPECT_EQ(hit.arguments[3], -5);
    EXPECT_EQ(hit.arguments[4], 0);
    EXPECT_EQ(hit.arguments[5], -128);
    // A walk by frame pointers comes to the site, and then to the program's rbp.
    EXPECT_EQ(run.told.frame[1], reinterpret_cast<uint64_t>(own_site));
    EXPECT_EQ(run.told.frame[0], state.gpr[RBP]);
    EXPECT_EQ(run.told.stack % 16, 0u); // rbp after a push
}

TEST(Call, OnlyWhatTheFilterLets)
{
    CallRun run(usdt("8@%rdi"), "usdt:f:p:n /arg0 % 3 == 0 && arg0 > 10/");
    Processor state = full();
    for (uint64_t i = 0; i < 100; ++i) {
        state.gpr[RDI] = i;
        own_site_pass(&state);
    }
    EXPECT_EQ(run.told.calls, 30); // 12, 15, ... 99
}

} // namespace
} // namespace fastsdt::engine
