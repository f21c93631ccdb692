// SPDX-License-Identifier: BSD-2-Clause
#include <fastsdt/recognize.h>

#include "live_site.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

namespace {

using Bytes = std::vector<unsigned char>;

fastsdt_recognized recognize(const Bytes& bytes, int machine = FASTSDT_MACHINE_X86_64,
                             int expected = FASTSDT_LAYOUT_OTHER)
{
    fastsdt_recognized r;
    // Of exactly this size, for AddressSanitizer.
    std::unique_ptr<unsigned char[]> exact(new unsigned char[bytes.size()]);
    std::copy(bytes.begin(), bytes.end(), exact.get());
    EXPECT_EQ(fastsdt_recognize(&r, machine, expected, exact.get(), bytes.size()), r.layout);
    return r;
}

Bytes operator+(Bytes a, const Bytes& b)
{
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

// Bytes as the assembler and the kernel sources give them, not from fastsdt.h.
const Bytes nop1{0x90}, nop4{0x0f, 0x1f, 0x40, 0x00}, nop5{0x0f, 0x1f, 0x44, 0x00, 0x00},
    nop10{0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00}, ret{0xc3, 0xc3, 0xc3, 0xc3}, int3{0xcc},
    endbr64{0xf3, 0x0f, 0x1e, 0xfa}, endbr32{0xf3, 0x0f, 0x1e, 0xfb};
const Bytes call{0xe8, 0x78, 0x56, 0x34, 0x12}, call_back{0xe8, 0xfe, 0xff, 0xff, 0xff};
const Bytes lea_rsp{0x48, 0x8d, 0x64, 0x24, 0x80};
const Bytes jump8{0x66, 0x2e, 0x48, 0xe9, 0x78, 0x56, 0x34, 0x12};
Bytes tail(const Bytes& b, size_t from = 1)
{
    return {b.begin() + from, b.end()};
}

void expect(const Bytes& bytes, int layout, int state, int breakpoints = 0, int expected = FASTSDT_LAYOUT_OTHER)
{
    for (const Bytes& pad : {Bytes{}, endbr64, endbr32}) {
        const auto r = recognize(pad + bytes, FASTSDT_MACHINE_X86_64, expected);
        EXPECT_EQ(r.layout, layout) << testing::PrintToString(pad + bytes);
        EXPECT_EQ(r.state, state) << testing::PrintToString(pad + bytes);
        EXPECT_EQ(r.breakpoints, breakpoints) << testing::PrintToString(pad + bytes);
        EXPECT_EQ(r.lead, pad.size());
        const bool nop1_first = layout == FASTSDT_LAYOUT_NOP1_NOP4 || layout == FASTSDT_LAYOUT_NOP1_NOP5
            || layout == FASTSDT_LAYOUT_NOP1_NOP10;
        EXPECT_EQ(r.patch_offset, nop1_first ? 1 : 0);
        if (r.patch_length) {
            EXPECT_EQ(r.patch_offset + r.patch_length, r.length);
        }
    }
}

constexpr int pristine = FASTSDT_STATE_PRISTINE, on_nop1 = FASTSDT_BREAKPOINT_NOP1, on_patch = FASTSDT_BREAKPOINT_PATCH;

TEST(X86_64, Pristine)
{
    expect(nop1 + ret, FASTSDT_LAYOUT_NOP, pristine);
    expect(nop1 + nop4 + ret, FASTSDT_LAYOUT_NOP1_NOP4, pristine);
    expect(nop5 + ret, FASTSDT_LAYOUT_NOP5, pristine);
    expect(nop1 + nop5 + ret, FASTSDT_LAYOUT_NOP1_NOP5, pristine);
    expect(nop10 + ret, FASTSDT_LAYOUT_NOP10, pristine);
    expect(nop1 + nop10 + ret, FASTSDT_LAYOUT_NOP1_NOP10, pristine);
    // The note settles whether what follows a nop1 belongs to the site.
    expect(nop1 + nop4, FASTSDT_LAYOUT_NOP, pristine, 0, FASTSDT_LAYOUT_NOP);
    expect(nop1 + nop10, FASTSDT_LAYOUT_NOP, pristine, 0, FASTSDT_LAYOUT_NOP);
    expect(nop1 + nop10, FASTSDT_LAYOUT_NOP1_NOP10, pristine, 0, FASTSDT_LAYOUT_NOP5); // a wrong note is contradicted
    EXPECT_EQ(recognize(nop1 + nop10).patch_length, 10);
    EXPECT_EQ(recognize(nop1).patch_length, 1);
}

TEST(X86_64, Breakpoint)
{
    expect(int3 + nop4, FASTSDT_LAYOUT_NOP1_NOP4, pristine, on_nop1);
    expect(int3 + nop5, FASTSDT_LAYOUT_NOP1_NOP5, pristine, on_nop1);
    expect(int3 + nop10, FASTSDT_LAYOUT_NOP1_NOP10, pristine, on_nop1);
    expect(nop1 + int3 + tail(nop4), FASTSDT_LAYOUT_NOP1_NOP4, pristine, on_patch);
    expect(int3 + tail(nop5), FASTSDT_LAYOUT_NOP5, pristine, on_patch);
    expect(nop1 + int3 + tail(nop5), FASTSDT_LAYOUT_NOP1_NOP5, pristine, on_patch);
    expect(int3 + tail(nop10), FASTSDT_LAYOUT_NOP10, pristine, on_patch);
    expect(nop1 + int3 + tail(nop10), FASTSDT_LAYOUT_NOP1_NOP10, pristine, on_patch);
    expect(int3 + int3 + tail(nop10), FASTSDT_LAYOUT_NOP1_NOP10, pristine, on_nop1 | on_patch);
    // Alone it hides what it stands on, unless that is known.
    expect(int3 + ret, FASTSDT_LAYOUT_OTHER, FASTSDT_STATE_UNKNOWN, on_patch);
    expect(int3 + ret, FASTSDT_LAYOUT_NOP, pristine, on_patch, FASTSDT_LAYOUT_NOP);
    expect(int3 + nop10, FASTSDT_LAYOUT_NOP, pristine, on_patch, FASTSDT_LAYOUT_NOP);
    expect(int3 + ret, FASTSDT_LAYOUT_PUSH, pristine, on_patch, FASTSDT_LAYOUT_PUSH);

    const auto r = recognize(int3 + tail(endbr64) + nop1 + nop10);
    EXPECT_EQ(r.layout, FASTSDT_LAYOUT_NOP1_NOP10);
    EXPECT_EQ(r.lead, 4);
    EXPECT_EQ(r.breakpoints, FASTSDT_BREAKPOINT_PAD);
}

TEST(X86_64, PatchedByNop5Kernels)
{
    expect(call + ret, FASTSDT_LAYOUT_NOP5, FASTSDT_STATE_CALL, 0, FASTSDT_LAYOUT_NOP5);
    expect(nop1 + call, FASTSDT_LAYOUT_NOP1_NOP5, FASTSDT_STATE_CALL, 0, FASTSDT_LAYOUT_NOP1_NOP5);
    expect(int3 + call, FASTSDT_LAYOUT_NOP1_NOP5, FASTSDT_STATE_CALL, on_nop1, FASTSDT_LAYOUT_NOP1_NOP5);
    expect(int3 + tail(call), FASTSDT_LAYOUT_NOP5, FASTSDT_STATE_CALL, on_patch, FASTSDT_LAYOUT_NOP5); // in mid-update
    // A function call behind a plain probe is nobody's patch.
    expect(nop1 + call, FASTSDT_LAYOUT_NOP, pristine);
    expect(nop1 + call, FASTSDT_LAYOUT_NOP, pristine, 0, FASTSDT_LAYOUT_NOP);
    expect(call + ret, FASTSDT_LAYOUT_OTHER, FASTSDT_STATE_UNKNOWN);

    auto r = recognize(nop1 + call, FASTSDT_MACHINE_X86_64, FASTSDT_LAYOUT_NOP1_NOP5);
    EXPECT_EQ(r.rel_end, 6);
    EXPECT_EQ(r.rel, 0x12345678);
    r = recognize(endbr64 + call_back, FASTSDT_MACHINE_X86_64, FASTSDT_LAYOUT_NOP5);
    EXPECT_EQ(r.rel_end, 9);
    EXPECT_EQ(r.rel, -2);
}

TEST(X86_64, PatchedByNop10Kernels)
{
    for (const auto& [lead, layout] :
         {std::pair(Bytes{}, FASTSDT_LAYOUT_NOP10), std::pair(nop1, FASTSDT_LAYOUT_NOP1_NOP10)}) {
        const Bytes nop10_head(nop10.begin(), nop10.begin() + 5);
        expect(lead + lea_rsp + call, layout, FASTSDT_STATE_LEA_CALL);
        expect(lead + nop10_head + call, layout, FASTSDT_STATE_STALE_CALL);
        expect(lead + nop10_head + Bytes{1, 2, 3, 4, 5}, layout, FASTSDT_STATE_OTHER_TAIL);
        expect(lead + jump8 + Bytes{0, 0}, layout, FASTSDT_STATE_JUMP);
        expect(lead + Bytes{0x66} + tail(lea_rsp) + call, layout, FASTSDT_STATE_DAMAGED);
        // The steps of int3_update_optimize() and int3_update_unoptimize().
        expect(lead + int3 + tail(lea_rsp) + call, layout, FASTSDT_STATE_LEA_CALL, on_patch);
        expect(lead + int3 + tail(nop10_head) + call, layout, FASTSDT_STATE_STALE_CALL, on_patch);
        expect(lead + int3 + tail(jump8) + Bytes{0, 0}, layout, FASTSDT_STATE_JUMP, on_patch);
    }
    // A second tracer at the note's pc, which is the nop1.
    expect(int3 + lea_rsp + call, FASTSDT_LAYOUT_NOP1_NOP10, FASTSDT_STATE_LEA_CALL, on_nop1);
    // lea without its call is not the kernel's work.
    expect(lea_rsp + Bytes{0x90, 0, 0, 0, 0}, FASTSDT_LAYOUT_OTHER, FASTSDT_STATE_UNKNOWN);

    auto r = recognize(nop1 + lea_rsp + call_back);
    EXPECT_EQ(r.rel_end, 11);
    EXPECT_EQ(r.rel, -2);
    r = recognize(nop1 + jump8 + Bytes{0, 0});
    EXPECT_EQ(r.rel_end, 9);
    EXPECT_EQ(r.rel, 0x12345678);
}

TEST(X86_64, Push)
{
    for (int reg = 0; reg < 8; ++reg) {
        expect(Bytes{static_cast<unsigned char>(0x50 + reg)} + ret, FASTSDT_LAYOUT_PUSH, pristine);
        EXPECT_EQ(recognize({static_cast<unsigned char>(0x50 + reg)}).operand, reg);
        EXPECT_EQ(recognize({0x41, static_cast<unsigned char>(0x50 + reg)}).operand, 8 + reg);
        EXPECT_EQ(recognize({0x41, static_cast<unsigned char>(0x50 + reg)}).length, 2);
    }
    expect({0x48, 0x55}, FASTSDT_LAYOUT_OTHER, FASTSDT_STATE_UNKNOWN);
    expect({0x41, 0x58}, FASTSDT_LAYOUT_OTHER, FASTSDT_STATE_UNKNOWN);
    EXPECT_EQ(recognize({0x55}, FASTSDT_MACHINE_I386).layout, FASTSDT_LAYOUT_OTHER);
}

TEST(I386, OnlyItsNop)
{
    for (const Bytes& site : {nop1 + ret, nop1 + nop5, nop1 + nop10, endbr32 + nop1})
        EXPECT_EQ(recognize(site, FASTSDT_MACHINE_I386).layout, FASTSDT_LAYOUT_NOP);
    EXPECT_EQ(recognize(nop5, FASTSDT_MACHINE_I386).layout, FASTSDT_LAYOUT_OTHER);
}

Bytes word(unsigned insn)
{
    return {static_cast<unsigned char>(insn), static_cast<unsigned char>(insn >> 8),
            static_cast<unsigned char>(insn >> 16), static_cast<unsigned char>(insn >> 24)};
}

TEST(Arm64, Entries)
{
    auto arm64 = [](const Bytes& bytes, int expected = FASTSDT_LAYOUT_OTHER) {
        return recognize(bytes, FASTSDT_MACHINE_ARM64, expected);
    };
    // bti, bti c, bti j, bti jc, paciasp, pacibsp
    const Bytes pads[] = {
        {}, word(0xd503241f), word(0xd503245f), word(0xd503249f), word(0xd50324df), word(0xd503233f), word(0xd503237f)};
    for (const Bytes& pad : pads) {
        auto r = arm64(pad + word(0xd503201f));
        EXPECT_EQ(r.layout, FASTSDT_LAYOUT_NOP);
        EXPECT_EQ(r.lead, pad.size());
        EXPECT_EQ(r.patch_length, 4);
        r = arm64(pad + word(0xa9bf7bfd)); // stp x29, x30, [sp, #-16]!
        EXPECT_EQ(r.layout, FASTSDT_LAYOUT_STP);
        EXPECT_EQ(r.operand, -16);
        EXPECT_EQ(r.patch_length, 0);
        EXPECT_EQ(arm64(pad + word(0xa9b97bfd)).operand, -112);
        EXPECT_EQ(arm64(pad + word(0xa9a07bfd)).operand, -512);
        EXPECT_EQ(arm64(pad + word(0xd65f03c0)).layout, FASTSDT_LAYOUT_OTHER); // ret
        EXPECT_EQ(arm64(pad + word(0xa9bf53f3)).layout, FASTSDT_LAYOUT_OTHER); // stp x19, x20
        EXPECT_EQ(arm64(pad + word(0xa9817bfd)).layout, FASTSDT_LAYOUT_OTHER); // [sp, #16]!
        EXPECT_EQ(arm64(pad + word(0xa9017bfd)).layout, FASTSDT_LAYOUT_OTHER); // [sp, #16]
        EXPECT_EQ(arm64(pad).layout, FASTSDT_LAYOUT_OTHER);
        // b .+0x1000 and b .-4: only where a nop is expected.
        EXPECT_EQ(arm64(pad + word(0x14000400)).layout, FASTSDT_LAYOUT_OTHER);
        for (const auto& [branch, distance] : {std::pair(0x14000400u, 0x1000), {0x17ffffffu, -4}}) {
            r = arm64(pad + word(branch), FASTSDT_LAYOUT_NOP);
            EXPECT_EQ(r.layout, FASTSDT_LAYOUT_NOP);
            EXPECT_EQ(r.state, FASTSDT_STATE_JUMP);
            EXPECT_EQ(r.rel_end + r.rel, int(pad.size()) + distance);
        }
        EXPECT_EQ(arm64(pad + word(0x94000400), FASTSDT_LAYOUT_NOP).layout, FASTSDT_LAYOUT_OTHER); // bl
    }
    // autiasp and the other hints are no landing pads.
    for (unsigned hint : {0xd50323bfu, 0xd503203fu, 0xd503231fu, 0xd50320dfu})
        EXPECT_EQ(arm64(word(hint) + word(0xd503201f)).lead, 0);
    // Breakpoints: brk #5 is the kernel's, brk #0 gdb's.
    for (unsigned brk : {0xd42000a0u, 0xd4200000u}) {
        EXPECT_EQ(arm64(word(brk)).breakpoints, on_patch);
        EXPECT_EQ(arm64(word(brk)).layout, FASTSDT_LAYOUT_OTHER);
        EXPECT_EQ(arm64(word(brk), FASTSDT_LAYOUT_NOP).layout, FASTSDT_LAYOUT_NOP);
        EXPECT_EQ(arm64(word(brk), FASTSDT_LAYOUT_STP).layout, FASTSDT_LAYOUT_STP);
        EXPECT_EQ(arm64(word(0xd503245f) + word(brk), FASTSDT_LAYOUT_NOP).lead, 4);
    }
}

TEST(OtherArchitectures, NativeNop)
{
    const struct {
        int machine;
        Bytes nop;
    } rows[] = {
        {FASTSDT_MACHINE_ARM, word(0xe320f000)},       {FASTSDT_MACHINE_ARM, {0x00, 0xbf}},
        {FASTSDT_MACHINE_RISCV, word(0x13)},           {FASTSDT_MACHINE_RISCV, {0x01, 0x00}},
        {FASTSDT_MACHINE_PPC64, word(0x60000000)},     {FASTSDT_MACHINE_PPC64, {0x60, 0, 0, 0}},
        {FASTSDT_MACHINE_PPC, {0x60, 0, 0, 0}},        {FASTSDT_MACHINE_S390, {0x47, 0, 0, 0}},
        {FASTSDT_MACHINE_S390, {0x07, 0x00}},          {FASTSDT_MACHINE_S390, {0x07, 0x07}},
        {FASTSDT_MACHINE_LOONGARCH, word(0x03400000)}, {FASTSDT_MACHINE_MIPS, word(0)},
    };
    for (const auto& row : rows) {
        const auto r = recognize(row.nop, row.machine);
        EXPECT_EQ(r.layout, FASTSDT_LAYOUT_NOP) << row.machine;
        EXPECT_EQ(r.patch_length, row.nop.size()) << row.machine;
        EXPECT_EQ(recognize({0x12, 0x34, 0x56, 0x78}, row.machine).layout, FASTSDT_LAYOUT_OTHER);
    }
    EXPECT_EQ(recognize(nop1, 0).layout, FASTSDT_LAYOUT_OTHER);
    EXPECT_EQ(recognize(nop1, 9999).layout, FASTSDT_LAYOUT_OTHER);
}

// AddressSanitizer watches; what is found must fit into what was given.
TEST(Bounds, EveryLengthOfEveryForm)
{
    const Bytes forms[] = {nop1 + nop10,
                           nop10,
                           nop1 + nop5,
                           nop5,
                           nop1 + nop4,
                           endbr64 + nop1 + nop10,
                           endbr32 + nop5,
                           nop1 + lea_rsp + call,
                           int3 + lea_rsp + call,
                           nop1 + call,
                           jump8 + Bytes{0, 0},
                           Bytes{0x66} + tail(lea_rsp) + call,
                           int3 + tail(endbr64) + nop1,
                           {0x41, 0x57},
                           int3,
                           word(0xd503245f) + word(0xa9bf7bfd),
                           word(0xd503201f),
                           word(0xe320f000),
                           word(0x13),
                           word(0)};
    const int machines[] = {0, 3, 8, 20, 21, 22, 40, 62, 183, 243, 258};
    for (const Bytes& form : forms)
        for (size_t size = 0; size <= form.size(); ++size)
            for (int machine : machines)
                for (int expected = 0; expected <= FASTSDT_LAYOUT_STP; ++expected) {
                    const auto r = recognize({form.begin(), form.begin() + size}, machine, expected);
                    ASSERT_LE(r.lead + r.length, size);
                    ASSERT_LE(r.patch_offset + r.patch_length, r.length);
                    ASSERT_LE(r.rel_end, size);
                }
    EXPECT_EQ(recognize(nop1 + Bytes(nop10.begin(), nop10.end() - 1)).layout, FASTSDT_LAYOUT_NOP);
    EXPECT_EQ(recognize(Bytes(nop10.begin(), nop10.end() - 1)).layout, FASTSDT_LAYOUT_OTHER);
}

TEST(Bounds, AnyBytes)
{
    unsigned state = 1;
    auto next = [&] { return static_cast<unsigned char>((state = state * 1103515245 + 12345) >> 16); };
    const unsigned char likely[] = {0x90, 0xcc, 0x0f, 0x1f, 0x44, 0x40, 0x84, 0x66,
                                    0x2e, 0x48, 0x8d, 0x64, 0x24, 0x80, 0xe8, 0};
    for (int i = 0; i < 200000; ++i) {
        Bytes bytes(next() % 17);
        for (auto& b : bytes)
            b = next() % 4 ? likely[next() % 16] : next();
        const auto r = recognize(bytes, next() % 2 ? 62 : 183, next() % 18);
        ASSERT_LE(r.lead + r.length, bytes.size());
        ASSERT_LE(r.rel_end, bytes.size());
        ASSERT_EQ(r.layout == FASTSDT_LAYOUT_OTHER, r.length == 0);
    }
}

// ---- as this kernel leaves them ----

#ifdef __x86_64__
class Live : public testing::Test {
    void SetUp() override
    {
        if (auto why = fastsdt::test::why_no_uprobes(); !why.empty())
            GTEST_SKIP() << why;
    }
};

fastsdt_recognized look(const fastsdt::test::LiveSite& site, int expected)
{
    return recognize(Bytes(site.bytes(), site.bytes() + 16), FASTSDT_MACHINE_X86_64, expected);
}

TEST_F(Live, BreakpointAndBack)
{
    for (const auto& [code, layout] : {std::pair(nop1 + ret, FASTSDT_LAYOUT_NOP),
                                       {nop1 + nop4 + ret, FASTSDT_LAYOUT_NOP1_NOP4},
                                       {nop1 + nop10 + ret, FASTSDT_LAYOUT_NOP1_NOP10}}) {
        fastsdt::test::LiveSite site(code);
        EXPECT_EQ(look(site, layout).state, pristine);
        EXPECT_EQ(look(site, layout).breakpoints, 0);
        {
            fastsdt::test::Uprobe probe(site.path(), site.offset());
            ASSERT_EQ(probe.error(), 0);
            site.call();
            EXPECT_EQ(probe.hits(), 1u);
            const auto r = look(site, layout);
            EXPECT_EQ(r.layout, layout);
            EXPECT_EQ(r.breakpoints, layout == FASTSDT_LAYOUT_NOP ? on_patch : on_nop1);
        }
        EXPECT_EQ(look(site, layout).breakpoints, 0);
    }
}

// Whatever this kernel optimizes: a nop5 (6.18 to 7.1), a nop10 (7.2 and later) or neither.
TEST_F(Live, OptimizedAndBack)
{
    errno = 0;
    syscall(336);
    const int answer = errno;
    if (answer != ENXIO && answer != EPROTO)
        GTEST_SKIP() << "this kernel optimizes nothing";
    const bool is_nop5 = answer == ENXIO;
    const int layout = is_nop5 ? FASTSDT_LAYOUT_NOP1_NOP5 : FASTSDT_LAYOUT_NOP1_NOP10;
    fastsdt::test::LiveSite site(nop1 + (is_nop5 ? nop5 : nop10) + ret);
    {
        fastsdt::test::Uprobe probe(site.path(), site.offset() + 1);
        ASSERT_EQ(probe.error(), 0);
        auto r = look(site, layout);
        EXPECT_EQ(r.layout, layout);
        EXPECT_EQ(r.breakpoints, on_patch);
        site.call();
        site.call();
        EXPECT_EQ(probe.hits(), 2u);
        r = look(site, layout);
        EXPECT_EQ(r.layout, layout);
        EXPECT_EQ(r.state, is_nop5 ? FASTSDT_STATE_CALL : FASTSDT_STATE_LEA_CALL);
        EXPECT_EQ(r.breakpoints, 0);
        // The call goes where the trampoline is mapped.
        const auto target = reinterpret_cast<uintptr_t>(site.bytes()) + r.rel_end + r.rel;
        std::ifstream maps("/proc/self/maps");
        bool found = false;
        for (std::string line; std::getline(maps, line);)
            if (line.ends_with("[uprobes-trampoline]"))
                found |= std::stoul(line, nullptr, 16) == target;
        EXPECT_TRUE(found) << std::hex << target;
        // A second tracer on the nop1.
        fastsdt::test::Uprobe second(site.path(), site.offset());
        ASSERT_EQ(second.error(), 0);
        r = look(site, layout);
        EXPECT_EQ(r.breakpoints, on_nop1);
        EXPECT_EQ(r.state, is_nop5 ? FASTSDT_STATE_CALL : FASTSDT_STATE_LEA_CALL);
    }
    const auto r = look(site, layout);
    EXPECT_EQ(r.layout, layout);
    EXPECT_EQ(r.breakpoints, 0);
    EXPECT_EQ(r.state, is_nop5 ? FASTSDT_STATE_PRISTINE : FASTSDT_STATE_STALE_CALL);
}
#endif

} // namespace
