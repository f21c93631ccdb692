// SPDX-License-Identifier: BSD-2-Clause
// How far below the stack pointer a hit writes: own_site.h. A signal handler's stack may have little more than the kernel
// needs for itself.
#include "own_site.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <ucontext.h>

using namespace fastsdt::engine;

namespace {

constexpr size_t most = 512, red_zone = 128;

/// A stack with a page below it that nobody may touch.
class Stack {
public:
    static constexpr size_t size = 64 << 10;
    static constexpr unsigned char pattern = 0xa5;
    Stack()
        : all_(static_cast<unsigned char*>(mmap(nullptr, size + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)))
    {
        mprotect(start(), size, PROT_READ | PROT_WRITE);
        std::memset(start(), pattern, size);
    }
    Stack(const Stack&) = delete;
    Stack& operator=(const Stack&) = delete;
    ~Stack() { munmap(all_, size + 4096); }
    unsigned char* start() const { return all_ + 4096; }
    uint64_t lowest_written() const
    {
        return uint64_t(std::find_if(start(), start() + size, [](unsigned char c) { return c != pattern; }));
    }

private:
    unsigned char* all_;
};

Processor* passed;
ucontext_t back, there;

void pass_there()
{
    own_site_pass(passed);
}

/// One hit on the first `size` bytes of a stack.
Processor pass_on(const Stack& stack, size_t size, const void* text)
{
    Processor state;
    state.gpr[RAX] = state.gpr[RCX] = uint64_t(text);
    passed = &state;
    getcontext(&there);
    there.uc_stack.ss_sp = stack.start();
    there.uc_stack.ss_size = size;
    there.uc_link = &back;
    makecontext(&there, pass_there, 0);
    swapcontext(&back, &there);
    return state;
}

const char* const scripts[] = {
    "@ = count();",
    "@[arg0] = count();",
    "@[arg0, arg1] = hist(arg1);",
    "@[tid] = count(); @b[tid] = nsecs; delete(@b[tid]);",
    "@[str(arg0)] = count();",
    "@[str(arg0), str(arg1), \"a\", \"b\"] = count();",
    "@[str(arg0), str(arg1), \"a\"] = str(arg0);",
    "@[str(arg0)] = str(arg1); @b[str(arg0), str(arg1), \"a\"] = stats(arg0); @c = str(arg0);",
    "@[ustack, ustack(5), str(arg0), str(arg1), \"c\"] = count();",
    "@x[arg0] = arg1; @[@x[arg0], @x[arg1], str(arg0), str(arg1), \"c\"] = sum(arg0 * (arg1 + @x[1]));",
    "@[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32] = count();",
};

} // namespace

TEST(Stack, AHitWritesNoFurtherThan512BytesBelowTheRedZone)
{
    static const char fixed[] = "some text";
    auto* const heap =
        static_cast<char*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::strcpy(heap, fixed);
    size_t deepest = 0;
    for (const char* script : scripts)
        for (const bool in_memory : {false, true}) {
            const OwnRun run(std::string("usdt:*:p:n { ") + script + " }",
                             usdt(in_memory ? "8@%rax 8@(%rcx)" : "8@%rax 8@%rcx"));
            for (int hits = 0; hits < 3; ++hits) { // the first takes a slot and makes entries
                const Stack stack;
                const Processor state = pass_on(stack, Stack::size, heap);
                deepest = std::max<size_t>(deepest, state.gpr[RSP] - stack.lowest_written());
                EXPECT_LE(state.gpr[RSP] - stack.lowest_written(), red_zone + most) << script;
            }
            EXPECT_EQ(run.maps().dropped, 0u);
        }
    EXPECT_GT(deepest, red_zone + most / 2) << deepest; // it can be seen
    munmap(heap, 4096);
}

// The same on a stack that has no more.
TEST(Stack, AStackThatEndsThereIsEnough)
{
    size_t above = 0; // what the pass itself takes
    {
        const OwnRun run("usdt:*:p:n { @ = count(); }", usdt("8@%rax 8@%rcx"));
        const Stack stack;
        above = uint64_t(stack.start()) + Stack::size - pass_on(stack, Stack::size, "").gpr[RSP];
    }
    for (const char* script : scripts) {
        const OwnRun run(std::string("usdt:*:p:n { ") + script + " }", usdt("8@%rax 8@%rcx"));
        const Stack stack;
        const Processor state = pass_on(stack, (above + red_zone + most + 15) / 16 * 16, "text");
        EXPECT_LE(state.gpr[RSP] - uint64_t(stack.start()), red_zone + most + 16);
    }
}

TEST(Stack, WhatNeedsMoreIsRefusedWithThePlace)
{
    std::string keys = "str(arg0)";
    for (int i = 1; i < 60; ++i)
        keys += ", str(arg0)";
    try {
        parse("usdt:*:p:n {\n  @[" + keys + "] = count(); }");
        FAIL() << "it is not refused";
    } catch (const ScriptError& error) {
        EXPECT_EQ(error.where.start, std::string("usdt:*:p:n {\n  @[").size() + 4 * std::string("str(arg0), ").size());
        EXPECT_NE(std::string(error.what()).find("320 bytes of the stack"), std::string::npos) << error.what();
    }
    std::string deep = "arg0";
    for (int i = 0; i < 23; ++i)
        deep = "(arg0 + 1) * (" + deep + ")"; // the left operand waits for the right one
    EXPECT_EQ(
        refusal("usdt:*:p:n { @[str(arg0), str(arg0), str(arg0), str(arg0)] = sum(" + deep + "); }", usdt("8@%rax")),
        "wants more than 512 bytes of the stack for keys and operands");
}
