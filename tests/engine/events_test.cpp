// SPDX-License-Identifier: BSD-2-Clause
// Events and the statements around them, of stubs that run in this process: what is read is what was recorded, and what is missing was
// counted.
#include "expected.h"
#include "own_site.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <random>
#include <thread>
#include <ucontext.h>

using namespace fastsdt::engine;

namespace {

constexpr const char* print_argument = "printf(\"%d\", arg0);";

/// The number in the first block that a thread has: where its ring is.
size_t ring_of(const OwnRun& run)
{
    uint64_t block = 0, ring = 0;
    for (size_t slot = 0; slot < most_threads && block == 0; ++slot)
        std::memcpy(&block, run.data + Tables::slice + Tables::blocks + 8 * slot, 8);
    std::memcpy(&ring, reinterpret_cast<const void*>(block + *run.tables.ring), 8);
    return size_t(ring - uint64_t(run.data));
}

uint64_t& word_of_ring(OwnRun& run, size_t offset)
{
    return *reinterpret_cast<uint64_t*>(run.data + ring_of(run) + offset);
}

} // namespace

TEST(Statements, MeanWhatTheySay)
{
    const OwnRun run(various_statements, usdt("8@%rax"));
    expect_statements(run);
}

TEST(Statements, HaveLoopsAndTuples)
{
    const OwnRun run(wide_statements, usdt("8@%rax"));
    expect_wide_statements(run);
}

// As above, though a signal handler may come.
TEST(Statements, ThreadsAddToTheSameKeys)
{
    for (const char* what :
         {"@a += 3; if (@a > 0) { @b[arg0] += 2; if (@b[arg0] > 0) { @c[arg0, \"x\"]++; } } @seen = sum(@c[0, \"x\"]);",
          "@a += 3; @b[arg0] += 2; @c[arg0, \"x\"]++;"}) {
        OwnRun run(action("", what), usdt("8@%rax"));
        constexpr uint64_t threads = 4, rounds = 40, keys = 1500;
        std::vector<std::thread> all;
        for (uint64_t t = 0; t < threads; ++t)
            all.emplace_back([&run, t] {
                for (uint64_t i = 0; i < rounds * keys; ++i)
                    run.pass_argument((i + t * keys / threads) % keys);
            });
        for (std::thread& thread : all)
            thread.join();
        const Maps maps = run.maps();
        EXPECT_EQ(maps.dropped, 0u);
        const auto number = [&](size_t map, const Entry& entry) {
            return run.script.maps[map].kind == MapKind::integer ? entry.value.number : entry.number;
        };
        ASSERT_EQ(maps.maps[0].size(), 1u);
        EXPECT_EQ(number(0, maps.maps[0][0]), int64_t(3 * threads * rounds * keys)) << what;
        for (const size_t map : {1, 2}) {
            ASSERT_EQ(maps.maps[map].size(), keys);
            for (const Entry& entry : maps.maps[map])
                ASSERT_EQ(number(map, entry), int64_t((map == 1 ? 2 : 1) * threads * rounds)) << what;
        }
    }
}

TEST(Events, AreReadOnceInTheirOrder)
{
    OwnRun run(various_prints, usdt("8@%rax"));
    expect_printed_each_round(run, 1000);
    EXPECT_TRUE(run.events().empty());
    EXPECT_EQ(run.lost(), 0u);
    EXPECT_EQ(run.maps().dropped, 0u);
}

TEST(Events, TheOldestAreKeptAndTheOthersCounted)
{
    constexpr size_t size = 4096, hits = 1000;
    OwnRun run(action("", print_argument), usdt("8@%rax"), own_environment(), size_t(64) << 20, size);
    uint64_t lost = 0;
    for (int round = 0; round < 3; ++round) {
        for (uint64_t i = 0; i < hits; ++i)
            run.pass_argument(i);
        const std::vector<Event> events = run.events();
        ASSERT_EQ(events.size(), size / (Ring::values + 8));
        for (size_t i = 0; i < events.size(); ++i)
            ASSERT_EQ(events[i].values[0].number, int64_t(i));
        lost += hits - events.size();
        ASSERT_EQ(run.lost(), lost);
    }
}

// What finds no memory for a ring is dropped.
TEST(Events, WithoutMemoryAreCountedAsDropped)
{
    OwnRun run(action("", print_argument), usdt("8@%rax"), own_environment(), size_t(80) << 10);
    run.pass(5);
    EXPECT_TRUE(run.events().empty());
    EXPECT_EQ(run.maps().dropped, 5u);
}

TEST(Events, ThreadsRecordWhileOthersAreRead)
{
    constexpr uint64_t threads = 4, hits = 100'000;
    OwnRun run(action("", "printf(\"%d %s\", arg0, \"text\");"), usdt("8@%rax"), own_environment(), size_t(64) << 20,
               16384);
    std::atomic<uint64_t> working = threads;
    std::vector<std::thread> all;
    for (uint64_t t = 0; t < threads; ++t)
        all.emplace_back([&, t] {
            for (uint64_t i = 0; i < hits; ++i)
                run.pass_argument(t << 32 | i);
            --working;
        });
    std::vector<int64_t> next(threads);
    std::vector<uint64_t> clock(threads);
    uint64_t count = 0;
    for (bool last = false; !last;) {
        last = working == 0;
        for (const Event& event : run.events(last)) {
            const auto thread = size_t(event.values[0].number >> 32);
            const int64_t number = event.values[0].number & 0xffffffff;
            ASSERT_LT(thread, threads);
            ASSERT_GE(number, next[thread]); // some may be lost in between
            ASSERT_GE(event.clock, clock[thread]);
            ASSERT_EQ(event.values[1].text, "text");
            next[thread] = number + 1;
            clock[thread] = event.clock;
            ++count;
        }
    }
    for (std::thread& thread : all)
        thread.join();
    EXPECT_EQ(count + run.lost(), threads * hits);
    EXPECT_GT(count, 0u);
}

namespace {

OwnRun* in_handler = nullptr;
sigjmp_buf jump;
volatile sig_atomic_t steps = 0, last_step = 0, may_jump = 0;
constexpr uint64_t of_handler = 1'000'000;

void on_step(int, siginfo_t*, void* context)
{
    steps = steps + 1;
    if (steps != last_step)
        return;
    in_handler->pass_argument(of_handler + uint64_t(last_step));
    if (may_jump)
        siglongjmp(jump, 1);
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~0x100; // go on without steps
}

} // namespace

// At each instruction of a pass in turn a handler comes, which records too and returns or jumps. If all return, all is read. A record
// that a jump left incomplete is counted as lost, and hides none.
TEST(Events, HandlersAtEachInstruction)
{
    struct sigaction act = {}, old = {};
    act.sa_sigaction = on_step;
    act.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &act, &old);
    for (const int jumps : {0, 1}) {
        OwnRun run(action("", "@n++; printf(\"%d %s\", arg0, \"text\"); if (@n > 0) { @m[arg0] += 1; }"),
                   usdt("8@%rax"), own_environment(), size_t(64) << 20, size_t(1) << 20);
        in_handler = &run;
        may_jump = jumps;
        steps = 0;
        for (last_step = 0; steps >= last_step;) {
            last_step = last_step + 1;
            steps = 0;
            Processor state;
            state.gpr[RAX] = uint64_t(last_step);
            state.flags = 0x302;
            if (sigsetjmp(jump, 1) == 0)
                run.pass(state);
        }
        const auto passes = uint64_t(last_step);
        ASSERT_GT(passes, 100u);
        std::vector<Event> events = run.events();
        EXPECT_EQ(run.lost(), 0u);
        const std::vector<Event> others = run.events(true);
        EXPECT_EQ(others.empty(), !jumps) << "the reader waits for what may still be completed";
        events.insert(events.end(), others.begin(), others.end());
        std::set<int64_t> seen;
        uint64_t clock = 0;
        for (const Event& event : events) {
            EXPECT_TRUE(seen.insert(event.values[0].number).second);
            EXPECT_EQ(event.values[1].text, "text");
            EXPECT_GE(event.clock, clock);
            clock = event.clock;
        }
        // The last pass had no handler: it has fewer steps.
        for (uint64_t i = 1; i < passes; ++i)
            EXPECT_TRUE(seen.contains(int64_t(of_handler + i))) << i;
        EXPECT_TRUE(seen.contains(int64_t(passes)));
        const uint64_t outer = seen.size() - (passes - 1);
        if (jumps) {
            EXPECT_GT(run.lost(), 0u);
            EXPECT_LE(outer + run.lost(), passes);
        } else {
            EXPECT_EQ(outer, passes);
            EXPECT_EQ(run.lost(), 0u);
            const Maps maps = run.maps();
            EXPECT_EQ(maps.maps[0].at(0).value.number, int64_t(2 * passes - 1));
            EXPECT_EQ(maps.maps[1].size(), 2 * passes - 1);
        }
    }
    sigaction(SIGTRAP, &old, nullptr);
}

// An incomplete record ends the waiting after a while, so that what is behind it is read though the thread never comes back.
TEST(Events, AnIncompleteRecordIsSkipped)
{
    OwnRun run(action("", print_argument), usdt("8@%rax"));
    run.pass_argument(1);
    word_of_ring(run, Ring::head) += 24; // as if a handler had jumped out of the middle
    run.pass_argument(2);
    EXPECT_EQ(run.events().size(), 1u);
    EXPECT_TRUE(run.events().empty());
    const std::vector<Event> rest = run.events(true);
    ASSERT_EQ(rest.size(), 1u);
    EXPECT_EQ(rest[0].values[0].number, 2);
    EXPECT_EQ(run.lost(), 1u);
}

// A thread that ends in the middle has not executed the probe's instruction: a process that exits while another thread is in a stub has lost nothing.
TEST(Events, AnIncompleteRecordAtTheEndIsNone)
{
    OwnRun run(action("", print_argument), usdt("8@%rax"));
    run.pass_argument(1);
    word_of_ring(run, Ring::head) += 24;
    EXPECT_EQ(run.events(true).size(), 1u);
    EXPECT_EQ(run.lost(), 0u);
}

// An incomplete record where the ring begins anew behind it: it is one record, and one second.
TEST(Events, AnIncompleteRecordAtTheEndOfTheRing)
{
    constexpr size_t size = 4096, record = Ring::values + 8;
    OwnRun run(action("", print_argument), usdt("8@%rax"), own_environment(), size_t(1) << 20, size);
    for (size_t i = 0; i < size / record; ++i)
        run.pass_argument(i);
    EXPECT_EQ(run.events().size(), size / record);
    word_of_ring(run, Ring::head) += record;
    run.pass_argument(1000);
    const auto start = std::chrono::steady_clock::now();
    std::vector<Event> events;
    while (events.empty() && std::chrono::steady_clock::now() - start < std::chrono::seconds(20))
        events = run.events();
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].values[0].number, 1000);
    EXPECT_EQ(run.lost(), 1u);
}

// The process can write what it wants.
TEST(Events, AForgedRingIsSurvived)
{
    std::mt19937_64 random(5);
    for (int round = 0; round < 300; ++round) {
        OwnRun run(various_prints, usdt("8@%rax"), own_environment(), size_t(1) << 20, 4096);
        run.pass(3);
        (void)run.events();
        run.pass(3);
        const size_t ring = ring_of(run);
        for (uint64_t i = 0; i < run.tables.ring_bytes() - 8; i += 8 * (1 + random() % 4)) {
            uint64_t word = random() % 3 ? random() % 0x10000 : random();
            if (random() % 4 == 0) // what looks committed
                word = random() % 3 << 32 | Ring::committed(i - Ring::header);
            std::memcpy(run.data + ring + i, &word, 8);
        }
        for (int again = 0; again < 4; ++again) {
            word_of_ring(run, Ring::head) = random() % 2 ? random() % 8192 / 8 * 8 : random();
            EXPECT_LE(run.events(again == 3).size(), 4096u / Ring::values);
        }
        uint64_t anywhere = uint64_t(run.data) + random() % (size_t(2) << 20);
        uint64_t block = 0;
        for (size_t slot = 0; slot < most_threads && block == 0; ++slot)
            std::memcpy(&block, run.data + Tables::slice + Tables::blocks + 8 * slot, 8);
        std::memcpy(reinterpret_cast<void*>(block + *run.tables.ring), &anywhere, 8);
        (void)run.events(true);
    }
}
