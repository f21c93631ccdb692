// SPDX-License-Identifier: BSD-2-Clause
#include "arming/place.h"

#include <gtest/gtest.h>

namespace fastsdt::engine {
namespace {

constexpr uint64_t page = 4096, mega = 1 << 20, giga = 1 << 30;

Mapping mapping(uint64_t start, uint64_t end, std::string name = {})
{
    Mapping m;
    m.start = start;
    m.end = end;
    m.name = std::move(name);
    return m;
}

void fits(const std::vector<Mapping>& mappings, std::vector<uint64_t> near, uint64_t size)
{
    const uint64_t at = find_place(mappings, near, size, machine_x86_64);
    ASSERT_NE(at, 0u);
    EXPECT_EQ(at % page, 0u);
    for (const Mapping& m : mappings)
        EXPECT_TRUE(at + size < m.start || at > m.end) << std::hex << at << " at " << m.start;
    for (const uint64_t address : near) {
        EXPECT_LT(address > at ? address - at : at + size - address, 2 * giga - page);
        EXPECT_LT(address > at + size ? address - at - size : at - address + size, 2 * giga);
    }
}

TEST(Place, BelowAPositionIndependentProgram)
{
    const uint64_t text = 0x555555554000;
    const std::vector<Mapping> mappings = {mapping(text, text + mega), mapping(text + mega, text + 2 * mega, "[heap]"),
                                           mapping(0x7ffff7d00000, 0x7ffff7fff000),
                                           mapping(0x7ffffffde000, 0x7ffffffff000, "[stack]")};
    fits(mappings, {text + 100}, 16 * page);
    EXPECT_LT(find_place(mappings, std::vector<uint64_t>{text}, 16 * page, machine_x86_64), text);
}

TEST(Place, UnderAStaticProgram)
{
    const std::vector<Mapping> mappings = {mapping(0x400000, 0x500000), mapping(0x1000000, 0x1020000, "[heap]")};
    fits(mappings, {0x401000}, 16 * page);
    EXPECT_LT(find_place(mappings, std::vector<uint64_t>{0x401000}, 16 * page, machine_x86_64), 0x400000u);
    // Too large for that gap: between the program and its heap.
    fits(mappings, {0x401000}, 5 * mega);
}

// As far from the heap as can be reached.
TEST(Place, BesideTheHeapOnlyIfNothingElseIsFree)
{
    const std::vector<Mapping> mappings = {mapping(0x10000, 0x400000), mapping(0x400000, 0x500000),
                                           mapping(0x500000, 0x600000, "[heap]")};
    fits(mappings, {0x401000}, 16 * page);
    EXPECT_GT(find_place(mappings, std::vector<uint64_t>{0x401000}, 16 * page, machine_x86_64), 0x600000 + giga);
}

TEST(Place, NoneWithinReach)
{
    const uint64_t text = 8 * giga;
    const std::vector<Mapping> all = {mapping(page, text), mapping(text, text + giga),
                                      mapping(text + giga, text + 4 * giga)};
    EXPECT_EQ(find_place(all, std::vector<uint64_t>{text + 100}, page, machine_x86_64), 0u);
    // More than 2 GiB apart: no place reaches both.
    const std::vector<Mapping> two = {mapping(text, text + page), mapping(text + 5 * giga, text + 5 * giga + page)};
    EXPECT_EQ(find_place(two, std::vector<uint64_t>{text, text + 5 * giga}, page, machine_x86_64), 0u);
    EXPECT_NE(find_place(two, std::vector<uint64_t>{text}, page, machine_x86_64), 0u);
}

TEST(Place, NeverRightUnderTheStack)
{
    const uint64_t stack = 0x7ffffffde000;
    const std::vector<Mapping> mappings = {mapping(stack - 4 * giga, stack - giga),
                                           mapping(stack, stack + 0x21000, "[stack]")};
    EXPECT_EQ(find_place(mappings, std::vector<uint64_t>{stack - giga - 100}, page, machine_x86_64), 0u);
}

TEST(Place, GroupsAreWithinReach)
{
    const std::vector<uint64_t> addresses = {0x7ffff7d00000, 0x555555554000, 0x555555654000, 0x7ffff7e00000,
                                             0x555555554100};
    const auto groups = group_by_reach(addresses, 64 * mega, machine_x86_64);
    EXPECT_EQ(groups[1], groups[2]);
    EXPECT_EQ(groups[1], groups[4]);
    EXPECT_EQ(groups[0], groups[3]);
    EXPECT_NE(groups[0], groups[1]);
}

// A branch spans 128 MiB, pages have up to 64 KiB, and libraries lie above 2^47.
TEST(Place, OfArm64)
{
    const uint64_t text = 0xaaaaaaaa0000, library = 0xfffff7e00000;
    const std::vector<Mapping> mappings = {mapping(text, text + mega), mapping(text + mega, text + 2 * mega, "[heap]"),
                                           mapping(library, library + mega),
                                           mapping(0xfffffffdf000, 0x1000000000000, "[stack]")};
    for (const uint64_t near : {text + 100, library + 100}) {
        const uint64_t at = find_place(mappings, std::vector<uint64_t>{near}, 65536, machine_arm64);
        EXPECT_EQ(at % 65536, 0u);
        EXPECT_LT(at, near);
        EXPECT_LT(near - at, 128 * mega);
    }
    const std::vector<Mapping> full = {mapping(65536, text + 2 * giga)};
    EXPECT_EQ(find_place(full, std::vector<uint64_t>{text}, 65536, machine_arm64), 0u);
    const std::vector<uint64_t> addresses = {text, text + 40 * mega, text + 60 * mega};
    const auto groups = group_by_reach(addresses, machine_arm64.most_code, machine_arm64);
    EXPECT_EQ(groups[0], groups[1]);
    EXPECT_NE(groups[0], groups[2]);
}

} // namespace
} // namespace fastsdt::engine
