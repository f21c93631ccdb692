// SPDX-License-Identifier: BSD-2-Clause
// Where arguments are by AAPCS64. The expectation is what aarch64-linux-gnu-gcc 12 -O1 makes of the function in the comment; x86-64's rules are
// tried by engine.passed, on functions that run.
#include "script/passes/passed.h"

#include <gtest/gtest.h>

namespace fastsdt::engine {
namespace {

ShapePtr record(std::initializer_list<ShapePtr> members)
{
    RecordBuilder made("struct s", false);
    for (const ShapePtr& each : members)
        made.add("m", each);
    return made.done();
}

const ShapePtr whole = integer_shape(8, true), half = integer_shape(4, true), real = real_shape(8),
               single = real_shape(4);
const ShapePtr three = record({real, real, real}), four = record({array_shape(single, 2), single}),
               two = record({whole, half}), mixed = record({real, whole}), big = record({array_shape(whole, 3)}),
               small = record({integer_shape(1, true), integer_shape(2, true)});

// "v1 v2 v3", "x0 x1", "stack 16", "at x1" of the last one.
std::string last(std::initializer_list<ShapePtr> shapes)
{
    DebugTypes::Signature function;
    function.result.is_void = true;
    for (const ShapePtr& each : shapes)
        function.parameters.emplace_back().shape = each;
    const Passed found = passed(function, Arch::arm64).back();
    if (found.kind == Passed::Kind::memory)
        return "stack " + std::to_string(found.offset);
    std::string text = found.kind == Passed::Kind::reference ? "at" : "";
    for (const Passed::Word& each : found.words)
        text += (text.empty() ? "" : " ") + std::string(each.is_vector ? "v" : "x") + std::to_string(each.index);
    return text;
}

TEST(Passed, OnArm64)
{
    EXPECT_EQ(last({half, three, three}),
              "v3 v4 v5"); // double f(int i, struct three x, struct three y) { return y.b; }: d4
    EXPECT_EQ(last({three, three, three}), "stack 0");        // ..., struct three z) { return z.c; }: [sp, 16]
    EXPECT_EQ(last({three, three, three, real}), "stack 24"); // ..., double d) { return d; }
    EXPECT_EQ(last({single, four}), "v1 v2 v3");              // float f(float f, struct four x) { return x.b; }: s3
    EXPECT_EQ(last({half, two}), "x1 x2");                    // long f(int i, struct two x) { return x.b; }: w2
    EXPECT_EQ(last({half, mixed}), "x1 x2");  // double f(int i, struct mixed x) { return x.a; }: fmov d0, x1
    EXPECT_EQ(last({half, big}), "at x1");    // long f(int i, struct big x) { return x.a[2]; }: [x1, 16]
    EXPECT_EQ(last({half, big, half}), "x2"); // ..., int j) { return j; }
    EXPECT_EQ(last({whole, whole, whole, whole, whole, whole, whole, two}), "stack 0");        // return x.b: [sp, 8]
    EXPECT_EQ(last({whole, whole, whole, whole, whole, whole, whole, two, half}), "stack 16"); // return j
    EXPECT_EQ(last({small}), "x0");        // int f(struct small s) { return s.b; }: sbfx x0, x0, 16, 16
    RecordBuilder either("union u", true); // double f(double d, union u { double a; double b; } x) { return x.b; }: d1
    either.add("a", real);
    either.add("b", real);
    EXPECT_EQ(last({real, either.done()}), "v1");
    DebugTypes::Value result;
    result.shape = four; // struct four f(float f) { struct four x = {{1, 2}, f}; return x; }: s0, s1, s2
    EXPECT_EQ(returned(result, Arch::arm64).words.size(), 3U);
    EXPECT_TRUE(returned(result, Arch::arm64).words[2].is_vector);
    result.shape = mixed; // struct mixed f(double d) { struct mixed x = {d, 5}; return x; }: fmov x0, d0
    EXPECT_FALSE(returned(result, Arch::arm64).words[0].is_vector);
}

// What is behind one that nobody knows is not known either, and the address for a large result is the first argument of x86-64.
TEST(Passed, UnknownAndHidden)
{
    DebugTypes::Signature function;
    function.result.is_void = true;
    function.parameters.resize(3);
    function.parameters[0].shape = function.parameters[2].shape = whole;
    const auto found = passed(function, Arch::x86_64);
    EXPECT_EQ(found[0].kind, Passed::Kind::registers);
    EXPECT_EQ(found[1].kind, Passed::Kind::unknown);
    EXPECT_EQ(found[2].kind, Passed::Kind::unknown);
    function.parameters.resize(1);
    function.result.is_void = false;
    function.result.shape = big;
    EXPECT_EQ(passed(function, Arch::x86_64)[0].words[0].index, 1U);
    EXPECT_EQ(passed(function, Arch::arm64)[0].words[0].index, 0U);
}

// A member that is outside of its structure, as a damaged file may say.
TEST(Passed, Damaged)
{
    Shape shape = *two;
    shape.members[1].offset = size_t(1) << 27;
    DebugTypes::Signature function;
    function.result.is_void = true;
    function.parameters.emplace_back().shape = std::make_shared<const Shape>(shape);
    for (const Arch arch : {Arch::x86_64, Arch::arm64})
        EXPECT_EQ(passed(function, arch).size(), 1U);
}

} // namespace
} // namespace fastsdt::engine
