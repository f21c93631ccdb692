// SPDX-License-Identifier: BSD-2-Clause
// The three kinds of addresses: what the compiler refuses, and that each prints as its number.
#include "base/addresses.h"

#include <gtest/gtest.h>
#include <type_traits>

namespace {

using namespace fastsdt;

template <class A, class B>
concept Compares = requires(A a, B b) { a < b; };
template <class A, class B>
concept Subtracts = requires(A a, B b) { a - b; };
template <class A, class B>
concept Adds = requires(A a, B b) { a + b; };

template <class A, class B>
constexpr bool apart = !std::is_convertible_v<A, B> && !std::is_constructible_v<A, B> && !std::is_assignable_v<A&, B>
    && !Compares<A, B> && !Subtracts<A, B> && !Adds<A, B>;

static_assert(apart<FileOffset, Vaddr> && apart<Vaddr, FileOffset>);
static_assert(apart<FileOffset, RuntimeAddress> && apart<RuntimeAddress, FileOffset>);
static_assert(apart<Vaddr, RuntimeAddress> && apart<RuntimeAddress, Vaddr>);
// A number becomes one, and one a number, only where that is written.
static_assert(!std::is_convertible_v<uint64_t, Vaddr> && !std::is_convertible_v<Vaddr, uint64_t>);
static_assert(!std::is_assignable_v<Vaddr&, uint64_t> && !Compares<Vaddr, uint64_t>);
// Two of a kind have a distance, and no sum.
static_assert(std::is_same_v<decltype(Vaddr() - Vaddr()), uint64_t> && !Adds<Vaddr, Vaddr>);
static_assert(sizeof(Vaddr) == sizeof(uint64_t) && std::is_trivially_copyable_v<Vaddr>);

TEST(Addresses, AreNumbersInTexts)
{
    EXPECT_EQ(fmt::format("{:#x} 0x{:x} {}", FileOffset(0x1040), Vaddr(0x401040), RuntimeAddress(7)),
              "0x1040 0x401040 7");
    EXPECT_EQ(Vaddr(0x401fff).down_to(0x1000), Vaddr(0x401000));
    EXPECT_EQ(RuntimeAddress(0x7000) + 0x10 - RuntimeAddress(0x7000), 0x10U);
}

} // namespace
