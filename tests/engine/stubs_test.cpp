// SPDX-License-Identifier: BSD-2-Clause
// Stubs that run in this process: that they leave the program's state alone, and what they record.
#include "expected.h"
#include "own_site.h"
#include "process/clock.h"

#include <fastsdt/note.h>
#include <fastsdt/recognize.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <map>
#include <random>
#include <sys/syscall.h>
#include <sys/time.h>
#include <chrono>
#include <thread>
#include <ucontext.h>

using namespace fastsdt::engine;

TEST(Stub, CountsPasses)
{
    OwnRun run(action("", "@ = count();"));
    run.pass(1000);
    const Maps maps = run.maps();
    EXPECT_EQ(only_number(maps), 1000);
    EXPECT_EQ(maps.threads, 1u);
    EXPECT_EQ(maps.dropped, 0u);
}

// Without rdfsbase, and with the thread's id read from the C library's data.
TEST(Stub, KnowsThreadsInOtherWays)
{
    Environment environment = own_environment();
    environment.rdfsbase = false;
    const auto* self = reinterpret_cast<const char*>(pthread_self()); // glibc: the thread pointer
    for (int32_t offset = 0; offset < 2048 && !environment.tid_offset; offset += 4)
        if (pid_t word; std::memcpy(&word, self + offset, sizeof word), word == syscall(SYS_gettid))
            environment.tid_offset = offset;
    ASSERT_TRUE(environment.tid_offset);
    environment.system_calls = false;
    OwnRun run(action("tid > 1", "@[tid] = count();"), usdt(""), environment);
    std::vector<int64_t> tids;
    for (int i = 0; i < 4; ++i)
        std::thread([&] {
            tids.push_back(syscall(SYS_gettid));
            run.pass(100);
        }).join();
    const Maps maps = run.maps();
    ASSERT_EQ(maps.maps[0].size(), tids.size()); // of threads, one after the other, maybe all in one slot
    for (const Entry& entry : maps.maps[0]) {
        EXPECT_EQ(entry.number, 100);
        EXPECT_NE(std::find(tids.begin(), tids.end(), entry.keys[0].number), tids.end());
    }
}

// If a thread's memory does not have its thread pointer, or has another number there, the processor tells the pointer.
TEST(Stub, KnowsThreadsByTheProcessor)
{
    if (!own_environment().rdfsbase)
        GTEST_SKIP() << "this kernel leaves the thread pointer to itself (Linux 5.9 does not)";
    Environment environment = own_environment();
    environment.stored_thread_pointers = false;
    {
        OwnRun run(action("", "@ = count();"), usdt(""), environment);
        run.pass(1000);
        EXPECT_EQ(only_number(run.maps()), 1000);
    }
    OwnRun run(action("", "@ = count();"));
    std::vector<std::thread> threads;
    for (uint64_t number = 0; number < 4; ++number)
        threads.emplace_back([&, number] {
            Processor state;
            run.pass(1000);
            for (int i = 0; i < 1000; ++i) {
                uint64_t kept = 0;
                // Until this is undone, no code may use the C library.
                asm volatile("mov %%fs:0, %0; mov %1, %%fs:0" : "=&r"(kept) : "r"(number % 2 ? number : 0) : "memory");
                own_site_pass(&state);
                asm volatile("mov %0, %%fs:0" : : "r"(kept) : "memory");
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    const Maps maps = run.maps();
    EXPECT_EQ(only_number(maps), 4 * 2000);
    EXPECT_EQ(maps.threads, 4u);
    EXPECT_EQ(maps.dropped, 0u);
}

// A thread that gets the slot of an ended one does not touch what that one left.
TEST(Stub, MapsByTidKeepWhatEndedThreadsLeft)
{
    OwnRun run(action("", "@v[tid] = @v[tid] + arg0; @gone[tid] = 1; delete(@gone[tid]);"), usdt("8@%rax"));
    std::map<int64_t, int64_t> expected;
    for (int i = 1; i <= 20; ++i)
        std::thread([&] {
            Processor state;
            state.gpr[RAX] = uint64_t(i);
            for (int pass = 0; pass < 10; ++pass)
                run.pass(state);
            expected[syscall(SYS_gettid)] += 10 * i;
        }).join();
    const Maps maps = run.maps();
    std::map<int64_t, int64_t> found;
    for (const Entry& entry : maps.maps[0])
        found[entry.keys[0].number] = entry.value.number;
    EXPECT_EQ(found, expected);
    EXPECT_TRUE(maps.maps[1].empty());
    EXPECT_EQ(maps.dropped, 0u);
}

TEST(Stub, TheSiteIsWhatTheRecognizerCallsAJump)
{
    OwnRun run(action("", "@ = count();"));
    fastsdt_recognized found;
    fastsdt_recognize(&found, FASTSDT_MACHINE_X86_64, FASTSDT_LAYOUT_NOP10, own_site, 10);
    EXPECT_EQ(found.state, FASTSDT_STATE_JUMP);
    EXPECT_EQ(uint64_t(own_site) + found.rel_end + int64_t(found.rel), run.code.stubs.at(0));
}

// Every register, every flag, 16 vector registers and the red zone, for every kind of statement.
TEST(Stub, LeavesTheProgramAsItIs)
{
    const char* const scripts[] = {
        "@ = count();",
        "@[arg0] = count();",
        "@ = sum(arg0);",
        "@ = min(arg1); @b = max(arg2);",
        "@ = hist(arg0);",
        "@ = lhist(arg0, 0, 1000, 7);",
        "@[arg0, arg1] = stats(arg2);",
        "@[arg0] = hist(arg1);",
        "@a[tid] = nsecs; @b = hist(nsecs - @a[tid]); delete(@a[tid]);",
        "@a[arg0] = arg1; @c[@a[arg0]] = count(); delete(@a[arg0]);",
        "@a = arg0; @b = sum(@a * arg1 / (arg2 + 1) % 77);",
        "@[str(arg3)] = count();",
        "@[probe, pid] = avg(arg4);",
        "@ = sum(arg5);",
        "@[ustack, ustack(3)] = count();",
        "@m[arg0] = sum(*(int16*)arg1); @w = sum(*(uint32*)(arg0 + 2));",
        "$t = (arg0, arg1); @t[$t.0] = $t; @u = sum(@t[$t.0].1);",
        "$i = 0; while ($i < 9) { @l = sum($i++); }",
        "@b = buf(arg0, arg1 % 9); @s = str(arg3, arg1 % 70);",
        "@[rand, bswap(arg0), reg(\"r12\"), cpu] = count(); @u[uid, gid] = count();",
    };
    std::mt19937_64 random(1);
    for (const char* actions : scripts) {
        OwnRun run(action("arg0 != 7 || arg1 < arg2", actions),
                   usdt("8@%rax -4@%ecx 2@%dx 8@%r12 -1@%ah 8@8(%rsp,%rbx,8)"));
        for (int i = 0; i < 2000; ++i) {
            const Processor before = random_state(random);
            Processor after = before;
            run.pass(after);
            after.gpr[RSP] = before.gpr[RSP]; // changed by the pass itself
            ASSERT_EQ(std::memcmp(&before, &after, sizeof before), 0) << actions;
        }
    }
}

TEST(Stub, AForkedChildRecordsNothing)
{
    OwnRun run(action("", "@ = count(); @b[arg0] = sum(arg0); @c[tid] = 1;"), usdt("8@%rax"));
    run.forked(true);
    run.pass(10);
    run.forked(false);
    for (const auto& map : run.maps().maps)
        EXPECT_TRUE(map.empty());
}

TEST(Stub, EachThreadHasItsSlot)
{
    OwnRun run(action("", "@ = count(); @k[arg0] = count();"), usdt("8@%rax"));
    constexpr int threads = 8, passes = 100'000;
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t)
        all.emplace_back([&run, t] {
            Processor state;
            for (int i = 0; i < passes; ++i) {
                state.gpr[RAX] = uint64_t(i % (10 + t));
                run.pass(state);
            }
        });
    for (auto& thread : all)
        thread.join();
    const Maps maps = run.maps();
    EXPECT_EQ(only_number(maps), threads * passes);
    EXPECT_LE(maps.threads, size_t(threads));
    std::map<int64_t, int64_t> expected;
    for (int t = 0; t < threads; ++t)
        for (int i = 0; i < passes; ++i)
            ++expected[i % (10 + t)];
    ASSERT_EQ(maps.maps[1].size(), expected.size());
    for (const Entry& entry : maps.maps[1])
        EXPECT_EQ(entry.number, expected[entry.keys[0].number]);
}

TEST(Stub, ThreadsBeyondTheSlotsAreCountedAsDropped)
{
    OwnRun run(action("", "@ = count();"));
    std::memset(run.data + Tables::slice + Tables::owners, 1, 8 * most_threads); // other threads have all slots
    run.pass(5);
    EXPECT_EQ(run.maps().dropped, 5u);
}

TEST(Stub, KeysBeyondTheTableAreCountedAsDropped)
{
    for (const char* what : {"@[arg0] = count();", "@[arg0, 1] = count();", "@[arg0] = 1;"}) {
        OwnRun run(action("", what), usdt("8@%rax"));
        Processor state;
        constexpr size_t keys = 20'000;
        for (size_t i = 0; i < keys; ++i) {
            state.gpr[RAX] = i;
            run.pass(state);
        }
        const Maps maps = run.maps();
        EXPECT_GE(maps.maps[0].size(), most_keys) << what;
        EXPECT_EQ(maps.maps[0].size() + maps.dropped, keys) << what;
    }
}

TEST(Stub, HoldsAsManyKeysAsBpftrace)
{
    std::mt19937_64 random(2);
    for (const char* what : {"@[arg0] = count();", "@[arg0, 1] = count();", "@[arg0] = 1;"}) {
        OwnRun run(action("", what), usdt("8@%rax"));
        Processor state;
        for (size_t i = 0; i < most_keys; ++i) {
            state.gpr[RAX] = random();
            run.pass(state);
        }
        EXPECT_EQ(run.maps().maps[0].size(), most_keys) << what;
        EXPECT_EQ(run.maps().dropped, 0u) << what;
    }
}

TEST(Stub, DeletedKeysMakeRoom)
{
    OwnRun run(action("", "@a[arg0] = arg1; @s = sum(@a[arg0]); delete(@a[arg0]);"), usdt("8@%rax 8@%rcx"));
    Processor state;
    uint64_t expected = 0;
    for (uint64_t i = 0; i < 100'000; ++i) {
        state.gpr[RAX] = i * 0x10001;
        state.gpr[RCX] = i;
        expected += i;
        run.pass(state);
    }
    const Maps maps = run.maps();
    EXPECT_TRUE(maps.maps[0].empty());
    EXPECT_EQ(maps.dropped, 0u);
    EXPECT_EQ(uint64_t(only_number(maps, 1)), expected);
}

TEST(Stub, KeyZeroIsAKey)
{
    expect_that_zero_is_a_key(OwnRun(zero_as_key, usdt("8@%rax")));
}

TEST(Stub, StringsEndWhereTheyEndOrCannotBeRead)
{
    // A page, and none behind it.
    auto* page = static_cast<char*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    munmap(page + 4096, 4096);
    const std::string longest(63, 'x');
    struct {
        char* at;
        std::string text, expected;
    } const cases[] = {
        {page, "a", "a"},
        {page + 100, "seven77", "seven77"},
        {page + 203, "eight888", "eight888"},
        {page + 300, std::string(80, 'x'), longest},
        {page + 401, longest, longest},
        {page + 4096 - 3, "abc", "abc"}, // no NUL on the page
        {page + 4096 - 1, "", ""},
        {page + 4096, "", ""},
        {nullptr, "", ""},
        {reinterpret_cast<char*>(~uintptr_t(7)), "", ""},
        {reinterpret_cast<char*>(uintptr_t(1) << 63), "", ""},
    };
    for (const auto& each : cases) {
        std::memset(page, 0, 4096);
        if (each.at >= page && each.at < page + 4096)
            std::memcpy(each.at, each.text.data(), each.text.size());
        OwnRun run(action("", "@[str(arg0)] = count();"), usdt("8@%r15"));
        Processor state;
        state.gpr[R15] = uint64_t(each.at);
        run.pass(state);
        const Maps maps = run.maps();
        ASSERT_EQ(maps.maps[0].size(), 1u);
        EXPECT_EQ(maps.maps[0][0].keys[0].text, each.expected);
    }
    munmap(page, 4096);
}

TEST(Stub, MapsOfStringsHoldTheLast)
{
    OwnRun run(action("", "@last = str(arg0); @by[arg1] = str(arg0); @name[arg1] = \"always\"; @p = probe;"),
               usdt("8@%rax 8@%rcx"));
    const char* const texts[] = {"one", "a longer one, of more than sixteen bytes", ""};
    Processor state;
    for (uint64_t i = 0; i < 3000; ++i) {
        state.gpr[RAX] = uint64_t(texts[i / 7 % 3]);
        state.gpr[RCX] = i % 5;
        run.pass(state);
        const Maps maps = run.maps();
        ASSERT_EQ(maps.maps[0].size(), 1u);
        ASSERT_EQ(maps.maps[0][0].value.text, texts[i / 7 % 3]) << i;
        if (i == 100)
            i = 2900;
    }
    const Maps maps = run.maps();
    ASSERT_EQ(maps.maps[1].size(), 5u);
    for (const Entry& entry : maps.maps[1]) {
        const uint64_t last = 2995 + uint64_t(entry.keys[0].number);
        EXPECT_EQ(entry.value.text, texts[last / 7 % 3]) << last;
    }
    EXPECT_EQ(maps.maps[2].at(4).value.text, "always");
    EXPECT_EQ(maps.dropped, 0u);
}

TEST(Stub, TidPidProbeAndLiterals)
{
    Site site = usdt("8@%rax");
    site.probe = 5;
    OwnRun run(action("", "@[tid, pid, probe, \"a text\", 1 << 40] = count();"), site);
    run.pass(2);
    const Maps maps = run.maps();
    ASSERT_EQ(maps.maps[0].size(), 1u);
    const auto& keys = maps.maps[0][0].keys;
    EXPECT_EQ(keys[0].number, syscall(SYS_gettid));
    EXPECT_EQ(keys[1].number, getpid());
    EXPECT_EQ(keys[2].number, 5);
    EXPECT_EQ(keys[3].text, "a text");
    EXPECT_EQ(keys[4].number, int64_t(1) << 40);
}

TEST(Stub, NsecsIsTheTimeSinceBoot)
{
    if (!own_environment().clock)
        GTEST_SKIP() << "the processor's counter is no clock here";
    OwnRun run(action("", "@ = nsecs; @max = max(nsecs); @min = min(nsecs);"));
    const auto now = [] {
        timespec t{};
        clock_gettime(CLOCK_BOOTTIME, &t);
        return int64_t(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
    };
    const int64_t before = now();
    run.pass();
    const int64_t value = run.maps().maps[0].at(0).value.number, after = now();
    // The counter was measured for 20 ms, to some parts in a million.
    EXPECT_GE(value, before - 100'000);
    EXPECT_LE(value, after + 100'000);
}

TEST(Stub, NsecsIsByTheClockOfNow)
{
    const auto clock = own_environment().clock;
    if (!clock)
        GTEST_SKIP() << "the processor's counter is no clock here";
    OwnRun run(action("", "@ = nsecs;"));
    const auto told = [&] {
        run.pass();
        return uint64_t(run.maps().maps[0].at(0).value.number);
    };
    uint64_t last = told();
    constexpr uint64_t hour = 3'600'000'000'000;
    for (size_t number = 1; number < 3 * Tables::most_clocks; ++number) {
        const CycleClock later{clock->base_counter, clock->base_ns + number * hour, clock->multiplier};
        for (const FirstWord& word : words_of_clock({uint64_t(run.data), run.data_size}, later, number))
            std::memcpy(run.data + word.offset, &word.value, sizeof word.value);
        const uint64_t value = told();
        EXPECT_GE(value, last + hour);
        EXPECT_LT(value, last + 2 * hour);
        last = value;
    }
}

// Many children that end, each with keys of its own, do not fill the tracer's memory; what is left out counts as dropped.
TEST(Maps, OfEndedProcessesAreBounded)
{
    const Script script = fastsdt::engine::parse("usdt:*:p:n { @n[arg0] = count(); @last[arg0] = arg1; }");
    Maps ended;
    ended.maps.resize(2);
    for (int child = 0; child < 10; ++child) {
        Maps one;
        one.maps.resize(2);
        one.maps[0].push_back({.keys = {{child, {}}}, .number = 100 + child});
        one.maps[1].push_back({.keys = {{7, {}}}, .value = {child, {}}});
        merge(script, one, ended);
        ended = std::move(one);
        drop_beyond(script, ended, 8);
    }
    ASSERT_EQ(ended.maps[0].size(), 8u);
    EXPECT_EQ(ended.dropped, 108u + 109u);
    ASSERT_EQ(ended.maps[1].size(), 1u);
    EXPECT_EQ(ended.maps[1][0].value.number, 9); // the last
}

TEST(Clock, IsCorrectedWithoutAStep)
{
    // A counter of 3 GHz that was measured 20 parts in a million too slow, beside a clock that is sped up and slowed down.
    CycleClock clock{1000, 5'000'000'000, uint64_t((1ULL << 32) / 3.0 * (1 + 20e-6))};
    const auto at = [&](uint64_t counter) {
        return clock.base_ns
            + uint64_t((__extension__(unsigned __int128)(counter - clock.base_counter)) * clock.multiplier >> 32);
    };
    fastsdt::engine::Moment before{clock.base_counter, clock.base_ns};
    for (int second = 1; second <= 200; ++second) {
        const double rate = second % 50 < 25 ? 1 + 5e-8 : 1 - 5e-8;
        const fastsdt::engine::Moment now{before.counter + 3'000'000'000, before.ns + uint64_t(1e9 * rate)};
        const uint64_t told = at(now.counter);
        if (second > 2)
            EXPECT_LE(std::abs(int64_t(told - now.ns)), 250) << second;
        clock = corrected(clock, before, now);
        EXPECT_EQ(at(now.counter), told);
        before = now;
    }
    // The machine was suspended for an hour: a step.
    const fastsdt::engine::Moment woken{before.counter + 3'000'000'000, before.ns + 3'601'000'000'000};
    clock = corrected(clock, before, woken);
    EXPECT_EQ(at(woken.counter), woken.ns);
    // The counter began anew.
    const fastsdt::engine::Moment anew{17, woken.ns + 5'000'000'000};
    clock = corrected(clock, woken, anew);
    EXPECT_EQ(at(anew.counter), anew.ns);
}

// The first pass takes the cold paths, where keys are new, and the second the hot ones.
TEST(Stub, OneHitHasOneTime)
{
    if (!own_environment().clock)
        GTEST_SKIP() << "the processor's counter is no clock here";
    OwnRun run(
        action("",
               "@a = nsecs; @by[arg0] = sum(arg0 * (nsecs - @a) + arg0); @mine[tid] = nsecs; @b[arg0, tid] = nsecs; "
               "@max = max(nsecs); @apart[@a == nsecs, @b[arg0, tid] - nsecs, nsecs - @mine[tid]] = count();"),
        usdt("8@%rax"));
    for (int pass = 1; pass <= 2; ++pass) {
        Processor state;
        state.gpr[RAX] = 7;
        run.pass(state);
        const Maps maps = run.maps();
        EXPECT_EQ(maps.maps[1].at(0).number, 7 * pass);
        EXPECT_EQ(maps.maps[4].at(0).number, maps.maps[0].at(0).value.number);
        ASSERT_EQ(maps.maps[5].size(), 1u);
        const auto& keys = maps.maps[5][0].keys;
        EXPECT_EQ(std::tuple(keys[0].number, keys[1].number, keys[2].number), std::tuple(1, 0, 0));
        EXPECT_EQ(maps.maps[5][0].number, pass);
    }
}

TEST(Stub, EntriesHaveParametersAndExitsAResult)
{
    Site entry;
    entry.kind = Probe::Kind::entry;
    entry.name = "f";
    OwnRun run("uprobe:*:f { @a = sum(arg0); @b = sum(arg5); @c = sum(arg3); }", entry);
    Processor state;
    state.gpr[RDI] = 11;
    state.gpr[R9] = 12;
    state.gpr[RCX] = 13;
    run.pass(state);
    const Maps maps = run.maps();
    EXPECT_EQ(only_number(maps, 0), 11);
    EXPECT_EQ(only_number(maps, 1), 12);
    EXPECT_EQ(only_number(maps, 2), 13);
}

// Arguments behind the return address, as many as the entry's record says.
extern "C" void on_stack_call();
extern "C" unsigned char on_stack_site[];
asm(R"(
    .text
    .globl on_stack_call, on_stack_site
on_stack_call:
    push $222
    push $111
    call on_stack_site
    add $16, %rsp
    ret
    .p2align 4
on_stack_site:
    .byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0
    ret
)");

TEST(Stub, EntriesHaveArgumentsOnTheStack)
{
    Site entry;
    entry.kind = Probe::Kind::entry;
    entry.patch = uint64_t(on_stack_site);
    entry.stack_bytes = 16;
    {
        OwnRun run("uprobe:*:f { @a = sum(sarg0); @b = sum(sarg1); }", entry);
        on_stack_call();
        EXPECT_EQ(only_number(run.maps(), 0), 111);
        EXPECT_EQ(only_number(run.maps(), 1), 222);
    }
    EXPECT_EQ(refusal("uprobe:*:f { @ = sum(sarg2); }", entry), "has no sarg2");
    entry.stack_bytes = fastsdt::unknown_bytes; // where no record says more, what stands there
    OwnRun run("uprobe:*:f { @a = sum(sarg0); @b = sum(sarg1); }", entry);
    on_stack_call();
    EXPECT_EQ(only_number(run.maps(), 0), 111);
    EXPECT_EQ(only_number(run.maps(), 1), 222);
}

TEST(Stub, ExitsHaveAResult)
{
    Site exit;
    exit.kind = Probe::Kind::exit;
    exit.result = FASTSDT_RESULT_REGISTER;
    const std::string text = "uretprobe:*:f { @ = max(retval); }";
    OwnRun run(text, exit);
    Processor state;
    state.gpr[RAX] = 99;
    run.pass(state);
    EXPECT_EQ(only_number(run.maps()), 99);
    exit.result = FASTSDT_RESULT_VECTOR;
    EXPECT_NE(refusal(text, exit), "");
}

TEST(Stub, ReadsConstantsInHexadecimal)
{
    for (const auto& [operand, value] :
         {std::pair("8@$0x7fff12345678", int64_t(0x7fff12345678)), {"-8@$-0x10", -16}, {"4@$0X1f", 31}}) {
        OwnRun run(action("", "@ = max(arg0);"), usdt(operand));
        Processor state;
        run.pass(state);
        EXPECT_EQ(only_number(run.maps()), value) << operand;
    }
}

TEST(Stub, SaysWhyAnArgumentCannotBeRead)
{
    const std::string text = action("", "@ = sum(arg0);");
    for (const char* operand :
         {"8@%xmm0", "4f@%eax", "8@symbol(%rip)", "8@%fs:-8", "3@%eax", "8@$symbol", "8@", "x", "8@(%eax)",
          "8@(%rax,%rsp)", "8@(%rax,%rbx,3)", "8@8(%rax", "2@%ah", "8@99999999999(%rax)"})
        EXPECT_NE(refusal(text, usdt(operand)), "") << operand;
    EXPECT_EQ(refusal(text, usdt("")), "has no arg0");
    EXPECT_EQ(refusal(text, usdt("8@-8(%rbp)")), "");
    EXPECT_EQ(refusal(text, usdt("8@$0x7fff12345678")), "");
    EXPECT_NE(refusal(text, usdt("8@$0x17fff1234567890ab")), "");
    EXPECT_NE(refusal(text, usdt("8@$0x7fffz")), "");
    // Without system calls memory is read where that is safe, and a thread's id is not known.
    EXPECT_EQ(refusal(text, usdt("8@-8(%rbp)"), false), "");
    EXPECT_EQ(refusal(action("", "@[str(arg0)] = count();"), usdt("8@%rax"), false), "");
    EXPECT_NE(refusal(action("", "@[tid] = count();"), usdt("8@%rax"), false), "");
}

// ---- Signals --------------------------------------------------------------------------------------------------------

namespace {

OwnRun* in_signal = nullptr;
std::atomic<uint64_t> begun = 0, handled = 0; // handlers
sigjmp_buf jump;
volatile sig_atomic_t may_jump = 0;

// A pass inside another, at any of its instructions. Sometimes the handler never returns.
void on_signal(int)
{
    begun.fetch_add(1, std::memory_order_relaxed);
    in_signal->pass();
    const uint64_t n = handled.fetch_add(1, std::memory_order_relaxed);
    if (may_jump && n % 3 == 0)
        siglongjmp(jump, 1);
}

} // namespace

// A timer of 20 microseconds interrupts passes at whatever instruction they are. Nothing is lost, and a pass that a
// siglongjmp cut short counts once or not at all: on a busy machine one jump leaves many handlers at once.
TEST(Stub, SignalHandlersMayHitTheSameSite)
{
    OwnRun run(action("", "@ = count(); @k[arg0] = count(); @m[arg0, tid] = count(); @a[arg0] = 1; delete(@a[arg0]);"),
               usdt("8@%rax"));
    in_signal = &run;
    begun = handled = 0;
    struct sigaction act = {}, old = {};
    act.sa_handler = on_signal;
    act.sa_flags = SA_NODEFER;
    sigaction(SIGALRM, &act, &old);
    const itimerval often{{0, 20}, {0, 20}}, never{};

    volatile uint64_t passes = 0, cut = 0;
    Processor state;
    setitimer(ITIMER_REAL, &often, nullptr);
    if (sigsetjmp(jump, 1) != 0)
        cut = cut + 1;
    may_jump = 1;
    while (passes < 1'000'000 || handled < 3000) {
        state.gpr[RAX] = passes % 16;
        run.pass(state);
        passes = passes + 1;
    }
    may_jump = 0;
    setitimer(ITIMER_REAL, &never, nullptr);
    sigaction(SIGALRM, &old, nullptr);

    const Maps maps = run.maps();
    const uint64_t least = passes + handled, most = passes + cut + begun;
    EXPECT_GE(uint64_t(only_number(maps, 0)), least);
    EXPECT_LE(uint64_t(only_number(maps, 0)), most);
    for (const size_t map : {1, 2}) {
        uint64_t sum = 0;
        for (const Entry& entry : maps.maps[map])
            sum += uint64_t(entry.number);
        EXPECT_GE(sum, least) << map;
        EXPECT_LE(sum, most) << map;
        EXPECT_EQ(maps.maps[map].size(), 16u);
    }
    // Each key has an entry from its first pass on, also while it is deleted: no later jump can take it away.
    EXPECT_EQ(maps.dropped, 0u);
    EXPECT_GT(cut, 100u);
}

namespace {

volatile sig_atomic_t steps = 0, last_step = 0;
uint64_t handlers_key = 0;

void pass_with(uint64_t key, uint64_t value, uint64_t flags = 0x202)
{
    Processor state;
    state.gpr[RAX] = key;
    state.gpr[RCX] = value;
    state.flags = flags;
    in_signal->pass(state);
}

void on_step(int, siginfo_t*, void* context)
{
    steps = steps + 1;
    if (steps != last_step)
        return;
    pass_with(handlers_key, 0);
    if (may_jump)
        siglongjmp(jump, 1);
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~0x100; // go on without steps
}

/// Makes one pass for each instruction of a pass; the handler comes at that instruction. Returns their number.
int passes_by_steps(uint64_t key)
{
    steps = 0;
    for (last_step = 0; steps >= last_step;) {
        last_step = last_step + 1;
        steps = 0;
        if (sigsetjmp(jump, 1) == 0)
            pass_with(key, 0, 0x302);
    }
    return last_step;
}

} // namespace

// At each instruction of a pass in turn a handler comes by single steps. It passes too, with the same key or another
// one, and returns
// or jumps. No entry is half made afterwards.
TEST(Stub, JumpsOutOfAnyInstructionLeaveAKeyItsPlace)
{
    OwnRun run(action("", "@a[arg0] = arg1; @s = sum(@a[arg0]); delete(@a[arg0]);"), usdt("8@%rax 8@%rcx"));
    in_signal = &run;
    struct sigaction act = {}, old = {};
    act.sa_sigaction = on_step;
    act.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &act, &old);
    constexpr uint64_t key = 7, other = 1'000'007;
    pass_with(key, 0);
    pass_with(other, 0);
    for (const int jumps : {0, 1})
        for (const uint64_t inner : {key, other}) {
            may_jump = jumps;
            handlers_key = inner;
            EXPECT_GT(passes_by_steps(key), 200);
        }
    may_jump = 0;
    sigaction(SIGTRAP, &old, nullptr);
    pass_with(key, 5);
    pass_with(other, 6);
    const Maps maps = run.maps();
    EXPECT_TRUE(maps.maps[0].empty());
    EXPECT_EQ(only_number(maps, 1), 11);
    EXPECT_EQ(maps.dropped, 0u);
    const Table& table = run.tables.maps[0];
    size_t used = 0, half_made = 0;
    uint64_t first = 0;
    std::memcpy(&first, run.data + table.offset, sizeof first);
    for (size_t i = 0; i < table.first; ++i) {
        const auto* const entry = reinterpret_cast<const unsigned char*>(first & ~uint64_t(63)) + i * table.entry_size;
        const unsigned tag = *entry & 7; // code/entries.cpp
        used += tag != 0;
        half_made += tag == 5;
    }
    EXPECT_EQ(used, 2u);
    EXPECT_EQ(half_made, 0u);
}

// Entries change from one key to another, and from deleted to there, while other threads look at them. No key ever gets
// another key's value.
TEST(Stub, ThreadsAssignAndDeleteTheSameKeys)
{
    // A value is made of 2^30, the key, and the thread's number. The first bucket has right values, the last the keys
    // that are not there.
    OwnRun run(action("",
                      "@a[arg0] = arg1; @h = lhist(@a[arg0] ^ (1 << 30 | arg0 << 8), 256, 1073741824, 1073741568); "
                      "delete(@a[arg0]);"),
               usdt("8@%rax 8@%rcx"));
    constexpr uint64_t threads = 4, passes = 200'000;
    std::vector<std::thread> all;
    for (uint64_t t = 0; t < threads; ++t)
        all.emplace_back([&run, t] {
            std::mt19937_64 random(t);
            Processor state;
            for (uint64_t i = 0; i < passes; ++i) {
                const uint64_t key = random() % (i % 2 ? 4 : 40'000); // many more than the table has entries
                state.gpr[RAX] = key;
                state.gpr[RCX] = uint64_t(1) << 30 | key << 8 | t;
                run.pass(state);
            }
        });
    for (auto& thread : all)
        thread.join();
    const Maps maps = run.maps();
    EXPECT_TRUE(maps.maps[0].empty());
    ASSERT_EQ(maps.maps[1].size(), 1u);
    const std::vector<uint64_t>& found = maps.maps[1][0].buckets;
    ASSERT_EQ(found.size(), 3u);
    EXPECT_EQ(found[1], 0u);
    EXPECT_GT(found[0], found[2]);
    EXPECT_EQ(found[0] + found[2], threads * passes);
    EXPECT_EQ(maps.dropped, 0u);
}

// ---- Growth ---------------------------------------------------------------------------------------------------------

namespace {

uint64_t word_at(const OwnRun& run, size_t offset)
{
    uint64_t word = 0;
    std::memcpy(&word, run.data + offset, sizeof word);
    return word;
}

uint64_t next_of(const OwnRun& run)
{
    return word_at(run, Tables::next);
}

void pass_key(const OwnRun& run, uint64_t key, uint64_t value = 0)
{
    Processor state;
    state.gpr[RAX] = key;
    state.gpr[RCX] = value;
    run.pass(state);
}

std::map<int64_t, int64_t> by_key(const std::vector<Entry>& map)
{
    std::map<int64_t, int64_t> numbers;
    for (const Entry& entry : map)
        EXPECT_TRUE(numbers.emplace(entry.keys.at(0).number, entry.number + entry.value.number).second);
    return numbers;
}

} // namespace

TEST(Growth, BeginsSmall)
{
    OwnRun run(action("", "@a[arg0] = count(); @b[arg0] = hist(arg1); @c[str(arg0)] = sum(arg1);"),
               usdt("8@%rax 8@%rcx"));
    EXPECT_LE(run.tables.least, size_t(256) << 10);
    const uint64_t before = next_of(run);
    std::thread([&] { pass_key(run, 1); }).join();
    EXPECT_LT(next_of(run) - before, 16384u);
    EXPECT_EQ(run.maps().maps[0].size(), 1u);
}

// Each thread has all keys that a map holds, and each pass counts, in whatever order the keys come.
TEST(Growth, AllKeysOfAllThreadsAreExact)
{
    for (const char* what : {"@[arg0] = count();", "@[arg0, 1] = count();", "@[arg0] = sum(arg1);",
                             "@[arg0] = hist(arg1);", "@[arg0, tid] = count(); @d = count();"}) {
        OwnRun run(action("", what), usdt("8@%rax 8@%rcx"));
        constexpr uint64_t threads = 4, rounds = 5;
        std::vector<std::thread> all;
        for (uint64_t t = 0; t < threads; ++t)
            all.emplace_back([&run, t] {
                std::mt19937_64 random(t);
                std::vector<uint64_t> keys(most_keys);
                for (uint64_t i = 0; i < most_keys; ++i)
                    keys[i] = i * 0x10001;
                for (uint64_t round = 0; round < rounds; ++round) {
                    std::shuffle(keys.begin(), keys.end(), random);
                    for (const uint64_t key : keys)
                        pass_key(run, key, 1);
                }
            });
        for (std::thread& thread : all)
            thread.join();
        const Maps maps = run.maps();
        EXPECT_EQ(maps.dropped, 0u) << what;
        const bool by_tid = std::strstr(what, "tid") != nullptr;
        EXPECT_EQ(maps.maps[0].size(), by_tid ? threads * most_keys : most_keys) << what;
        for (const Entry& entry : maps.maps[0])
            ASSERT_EQ(entry.buckets.empty() ? uint64_t(entry.number) : entry.buckets[2],
                      by_tid ? rounds : threads * rounds)
                << what;
    }
}

// Threads make one table grow at the same time. Each key has the value that it always gets.
TEST(Growth, OfATableThatThreadsShare)
{
    for (int repeated = 0; repeated < 10; ++repeated) {
        OwnRun run(action("", "@[arg0] = arg1; @t[arg0, 1] = arg1; @name[arg0] = \"same\"; @p[arg0] = probe;"),
                   usdt("8@%rax 8@%rcx"));
        constexpr uint64_t threads = 4, keys = 2000;
        std::atomic<uint64_t> ready = 0;
        std::vector<std::thread> all;
        for (uint64_t t = 0; t < threads; ++t)
            all.emplace_back([&, t] {
                ++ready;
                while (ready < threads)
                    ;
                for (uint64_t i = 0; i < keys; ++i)
                    pass_key(run, (i + t * keys / threads) % keys, (i + t * keys / threads) % keys + 7);
            });
        for (std::thread& thread : all)
            thread.join();
        const Maps maps = run.maps();
        EXPECT_EQ(maps.dropped, 0u);
        for (const size_t map : {0, 1}) {
            ASSERT_EQ(maps.maps[map].size(), keys);
            for (const Entry& entry : maps.maps[map])
                ASSERT_EQ(entry.value.number, entry.keys[0].number + 7);
        }
        ASSERT_EQ(maps.maps[2].size(), keys);
        for (const Entry& entry : maps.maps[2])
            ASSERT_EQ(entry.value.text, "same");
    }
}

// Two threads assign a text to a key at the same moment, when its entry is the first of those that the key may have. So one of
// the new entries may be found before the other.
TEST(Growth, OneTextOfTwoThatComeAtOnceStays)
{
    constexpr uint64_t keys = 4000;
    // On a busy machine one of the two may wait for its turn at each key.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    for (int repeated = 0; repeated < 200 && std::chrono::steady_clock::now() < end; ++repeated) {
        OwnRun run(action("", "@[arg0] = \"same\";"), usdt("8@%rax"));
        std::atomic<uint64_t> arrived = 0;
        const auto assign = [&](bool first) {
            for (uint64_t key = 0; key < keys; ++key) {
                if (first)
                    pass_key(run, key);
                ++arrived;
                for (int spun = 0; arrived < 2 * (key + 1); ++spun)
                    if (spun > 10'000)
                        std::this_thread::yield();
                pass_key(run, key);
            }
        };
        std::thread other(assign, false);
        assign(true);
        other.join();
        const Maps maps = run.maps();
        EXPECT_EQ(maps.dropped, 0u);
        ASSERT_EQ(maps.maps[0].size(), keys) << "after " << repeated << " times";
    }
}

// Without memory for a larger chunk the keys that are there go on, and what finds no room is counted.
TEST(Growth, WithoutMemoryIsCountedAsDropped)
{
    for (const char* what :
         {"@[arg0] = count();", "@[arg0, 1] = count();", "@[arg0] = hist(arg1);", "@[arg0, 1] = sum(1);"}) {
        OwnRun run(action("", what), usdt("8@%rax 8@%rcx"), own_environment(), 65536);
        uint64_t hits = 0;
        std::mt19937_64 random(3);
        for (int i = 0; i < 100'000; ++i, ++hits)
            pass_key(run, random() % 20'000);
        const auto count = [](const Maps& maps) {
            uint64_t sum = 0;
            for (const Entry& entry : maps.maps[0]) {
                sum += entry.buckets.empty() ? uint64_t(entry.number) : 0;
                for (const uint64_t bucket : entry.buckets)
                    sum += bucket;
            }
            return sum;
        };
        const Maps before = run.maps();
        EXPECT_GT(before.dropped, 0u) << what;
        EXPECT_EQ(count(before) + before.dropped, hits) << what;
        EXPECT_LE(next_of(run), uint64_t(run.data) + run.data_size) << what;
        for (const Entry& entry : before.maps[0])
            pass_key(run, uint64_t(entry.keys[0].number));
        const Maps after = run.maps();
        EXPECT_EQ(after.dropped, before.dropped) << what;
        EXPECT_EQ(count(after) - count(before), before.maps[0].size()) << what;
        EXPECT_EQ(after.maps[0].size(), before.maps[0].size()) << what;

        // Another thread may find no memory at all, then all of its hits are dropped.
        std::thread([&] {
            for (uint64_t i = 0; i < 100; ++i)
                pass_key(run, uint64_t(1) << 40 | i);
        }).join();
        const Maps last = run.maps();
        EXPECT_EQ(count(last) + last.dropped, hits + before.maps[0].size() + 100) << what;
    }
}

namespace {

// Handlers of SIGTRAP. The first, by single steps, keeps the addresses of a pass's instructions. The second comes by a
// breakpoint on one of them, which it takes away; it passes keys itself, and may jump.
std::vector<uint64_t> instructions;
unsigned char *broken = nullptr, hidden = 0;
uint64_t handlers_first_key = 0, handlers_keys = 0;

greg_t& counter_of(void* context)
{
    return static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
}

void on_instruction(int, siginfo_t*, void* context)
{
    instructions.push_back(counter_of(context));
}

void on_breakpoint(int, siginfo_t*, void* context)
{
    counter_of(context) -= 1;
    *broken = hidden;
    broken = nullptr;
    for (uint64_t i = 0; i < handlers_keys; ++i)
        pass_key(*in_signal, handlers_first_key + i, handlers_first_key + i);
    if (may_jump)
        siglongjmp(jump, 1);
}

void handle_traps(void (*handler)(int, siginfo_t*, void*))
{
    struct sigaction act = {};
    act.sa_sigaction = handler;
    act.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGTRAP, &act, nullptr);
}

} // namespace

// At each instruction of a pass that takes the thread's slot or makes a table grow, a handler comes. It passes too: with the
// same key, or with so many others that the table grows in the handler. It returns, or jumps.
TEST(Growth, HandlersAtEachInstruction)
{
    struct sigaction old = {};
    sigaction(SIGTRAP, nullptr, &old);
    constexpr uint64_t many_keys = 500, first_of_many = 1000;
    for (const char* what : {"@[arg0] = count();", "@[arg0, 1] = count();", "@[arg0] = arg1;", "@[arg0, 1] = arg1;"}) {
        const bool assigned = std::strstr(what, "arg1") != nullptr;
        OwnRun run(action("", what), usdt("8@%rax 8@%rcx"));
        in_signal = &run;
        std::vector<uint64_t> growing; // keys whose first pass needs memory
        for (uint64_t key = 1; growing.size() < 3; ++key) {
            const uint64_t before = next_of(run);
            pass_key(run, key, key);
            if (next_of(run) != before)
                growing.push_back(key);
        }
        for (const uint64_t key : growing) {
            const auto begin = [&] {
                run.reset();
                for (uint64_t i = 1; i < key; ++i)
                    pass_key(run, i, i);
            };
            begin();
            instructions.clear();
            handle_traps(on_instruction);
            pass_with(key, key, 0x302);
            const uint64_t size = run.code.bytes.size(),
                           first = run.code.stubs[0] - size; // routines come before the stub
            std::erase_if(instructions, [&](uint64_t at) { return at - first >= 2 * size; });
            std::sort(instructions.begin(), instructions.end());
            instructions.erase(std::unique(instructions.begin(), instructions.end()), instructions.end());
            ASSERT_GT(instructions.size(), 100u);
            handle_traps(on_breakpoint);
            for (const bool many : {false, true})
                for (const int jumps : {0, 1})
                    for (const uint64_t at : instructions) {
                        begin();
                        handlers_first_key = many ? first_of_many : key;
                        handlers_keys = many ? many_keys : 1;
                        may_jump = jumps;
                        broken = reinterpret_cast<unsigned char*>(at);
                        hidden = std::exchange(*broken, 0xcc);
                        if (sigsetjmp(jump, 1) == 0)
                            pass_key(run, key, key);
                        ASSERT_EQ(broken, nullptr);
                        pass_key(run, key, key); // the table is whole
                        const std::string where = std::string(what) + " key " + std::to_string(key) + " at +"
                            + std::to_string(at - instructions.front());
                        const Maps maps = run.maps();
                        ASSERT_EQ(maps.dropped, 0u) << where;
                        ASSERT_EQ(maps.threads, 1u) << where;
                        auto found = by_key(maps.maps[0]);
                        ASSERT_EQ(found.size(), many ? key + many_keys : key) << where;
                        for (const auto& [k, value] : found) {
                            if (assigned || k != int64_t(key)) {
                                ASSERT_EQ(value, assigned ? k : 1) << where << ", key " << k;
                            }
                        }
                        const int64_t passes = found[int64_t(key)] - (many ? 1 : 2);
                        ASSERT_TRUE(assigned || passes == 1 || (jumps && passes == 0)) << where << ": " << passes;
                    }
        }
    }
    sigaction(SIGTRAP, &old, nullptr);
}
