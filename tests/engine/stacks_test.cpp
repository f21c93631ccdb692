// SPDX-License-Identifier: BSD-2-Clause
// Stacks that stubs walk in this process: own_site.h. Frames are made by hand, on stacks of each kind.
#include "own_site.h"
#include "process/environment.h"
#include "process/lasting.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <functional>
#include <map>
#include <random>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <ucontext.h>

using namespace fastsdt::engine;

namespace {

constexpr uint64_t site_address = 0x1234;
using Frames = std::vector<uint64_t>;

struct Frame {
    uint64_t next, address;
};

Environment with_stacks()
{
    Environment environment = own_environment();
    ProcessView view(getpid());
    LastingMemory(view).look(environment, view.mappings());
    environment.thread_stack = find_thread_stack(view);
    return environment;
}

Site site()
{
    Site site = usdt("");
    site.address = site_address;
    return site;
}

void pass_with_frame(const OwnRun& run, const void* frame)
{
    Processor state;
    state.gpr[RBP] = uint64_t(frame);
    run.pass(state);
}

/// The one stack of a hit with this frame pointer.
Frames stack_of(OwnRun& run, const void* frame)
{
    run.reset();
    pass_with_frame(run, frame);
    const auto stacks = run.stacks();
    return stacks.size() == 1 ? stacks[0] : Frames();
}

/// Frames that lie one behind the other, with addresses from 0x1000 on; the last one's `next` is 0.
template <size_t count> void chain(std::array<Frame, count>& frames)
{
    for (size_t i = 0; i < count; ++i)
        frames[i] = {i + 1 < count ? uint64_t(&frames[i + 1]) : 0, 0x1000 + i};
}

Frames expected(size_t count)
{
    Frames frames = {site_address};
    for (size_t i = 0; i < count; ++i)
        frames.push_back(0x1000 + i);
    return frames;
}

/// Runs `work` on memory of its own, nothing before and behind it.
class OtherStack {
public:
    static constexpr size_t size = 64 << 10, page = 4096;
    OtherStack()
        : all_(static_cast<char*>(mmap(nullptr, size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)))
    {
        mprotect(start(), size, PROT_READ | PROT_WRITE);
    }
    OtherStack(const OtherStack&) = delete;
    OtherStack& operator=(const OtherStack&) = delete;
    ~OtherStack() { munmap(all_, size + 2 * page); }
    char* start() const { return all_ + page; }
    char* end() const { return start() + size; }
    void run(const std::function<void()>& work)
    {
        static const std::function<void()>* now = nullptr;
        now = &work;
        ucontext_t back{}, there{};
        getcontext(&there);
        there.uc_stack.ss_sp = start();
        there.uc_stack.ss_size = size;
        there.uc_link = &back;
        makecontext(&there, [] { (*now)(); }, 0);
        swapcontext(&back, &there);
    }

private:
    char* all_;
};

int on_cloned(void* work)
{
    (*static_cast<const std::function<void()>*>(work))();
    return 0;
}

/// In a thread that no C library knows of. What `work` may do is little. @param control_block  nullptr: that of this thread
void in_cloned(const OtherStack& stack, std::function<void()> work, void* control_block = nullptr)
{
    const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | SIGCHLD | (control_block ? CLONE_SETTLS : 0);
    const pid_t child = clone(on_cloned, stack.end(), flags, &work, nullptr, control_block);
    ASSERT_GT(child, 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

} // namespace

TEST(Stacks, AreWalkedByFramePointers)
{
    OwnRun run(action("", "@[ustack] = count();"), site(), with_stacks());
    std::array<Frame, 10> frames{};
    chain(frames);
    EXPECT_EQ(stack_of(run, frames.data()), expected(10));
    EXPECT_EQ(stack_of(run, &frames[9]), (Frames{site_address, 0x1009}));
    EXPECT_EQ(run.maps().cut, 0u);

    const auto ends_at = [&](uint64_t next, size_t length) {
        frames[3].next = next;
        EXPECT_EQ(stack_of(run, frames.data()), expected(length)) << next;
        chain(frames);
    };
    for (const uint64_t no_frame :
         {uint64_t(0), uint64_t(1), ~uint64_t(0), uint64_t(1) << 63, uint64_t(&frames[5]) + 4})
        ends_at(no_frame, 4);
    ends_at(uint64_t(&frames[3]), 4); // not further up
    ends_at(uint64_t(&frames[0]), 4);
    frames[4].address = 0;
    EXPECT_EQ(stack_of(run, frames.data()), expected(4));
    EXPECT_EQ(stack_of(run, nullptr), expected(0));
}

TEST(Stacks, HaveAsManyFramesAsIsWanted)
{
    std::array<Frame, 200> frames{};
    chain(frames);
    for (const auto& [what, count] : {std::pair("ustack", 127), std::pair("ustack(1)", 1), std::pair("ustack(2)", 2),
                                      std::pair("ustack(bpftrace, 17)", 17)}) {
        OwnRun run(action("", std::string("@[") + what + "] = count();"), site(), with_stacks());
        EXPECT_EQ(stack_of(run, frames.data()), expected(size_t(count) - 1));
        EXPECT_EQ(run.maps().cut, 0u);
    }
}

TEST(Stacks, OfThreadsAreWalkedToTheirEnds)
{
    OwnRun run(action("", "@[ustack] = count();"), site(), with_stacks());
    std::thread([&] {
        std::array<Frame, 50> frames{};
        chain(frames);
        EXPECT_EQ(stack_of(run, frames.data()), expected(50));
        EXPECT_EQ(run.maps().cut, 0u);
    }).join();
}

// Of a stack that nobody knows the page is read that the stack pointer is in.
TEST(Stacks, ThatNobodyKnowsAreCut)
{
    OwnRun run(action("", "@[ustack] = count();"), site(), with_stacks());
    std::array<Frame, 3> outer{};
    chain(outer);
    OtherStack other;
    Frames onto_main;
    const auto last = reinterpret_cast<Frame*>(other.end()) - 1; // makecontext() has its own there
    const auto walk = [&] {
        Frame near{uint64_t(last), 0x77};
        const Frame kept = *last;
        *last = {0, 0x88};
        run.reset();
        const bool one_page = ((uint64_t(&near) ^ uint64_t(last)) >> 12) == 0;
        pass_with_frame(run, &near);
        const Frames found = run.stacks().at(0);
        if (one_page) {
            EXPECT_EQ(found, (Frames{site_address, 0x77, 0x88}));
        }
        EXPECT_EQ(run.maps().cut, 0u);
        near.next = uint64_t(other.end()) + 256; // behind it, on the page that is not there
        run.reset();
        pass_with_frame(run, &near);
        EXPECT_EQ(run.stacks().at(0), (Frames{site_address, 0x77}));
        EXPECT_EQ(run.maps().cut, 1u);
        near.next = uint64_t(outer.data()); // as that of a signal handler on a stack of its own
        run.reset();
        pass_with_frame(run, &near);
        onto_main = run.stacks().at(0);
        *last = kept;
    };
    char* const page = other.end() - OtherStack::page;
    other.run([&] {
        if (uint64_t(__builtin_frame_address(0)) - 1024 > uint64_t(page))
            walk();
    });
    EXPECT_EQ(onto_main, (Frames{site_address, 0x77, 0x1000, 0x1001, 0x1002}));
}

namespace {

// Whatever is in the frame pointer and in memory, and wherever the stack is: near the ends of what may be read, most of all.

/// @param prepare  before each hit, with the stack pointer
void storm_on_each_stack(OwnRun& run, const Environment& environment, std::mt19937_64& random,
                         const std::function<void()>& prepare)
{
    const auto storm = [&](uint64_t start, uint64_t end) {
        uint64_t hits = 0;
        const std::array<uint64_t, 4> ends = {start, end, environment.stack.start, environment.stack.end};
        for (int i = 0; i < 100'000; ++i, ++hits) {
            const uint64_t sp = uint64_t(__builtin_frame_address(0));
            const std::array<uint64_t, 4> around = {ends[random() % 4], sp, sp | 4095, sp & ~uint64_t(4095)};
            uint64_t frame =
                random() % 8 ? around[random() % 4] + random() % 512 - 256 : start + random() % (end - start);
            if (random() % 2)
                frame &= ~uint64_t(7);
            prepare();
            pass_with_frame(run, reinterpret_cast<const void*>(frame));
        }
        return hits;
    };
    const auto limits = [](uint64_t& start, uint64_t& end) {
        pthread_attr_t attributes;
        void* at = nullptr;
        size_t size = 0;
        ASSERT_EQ(pthread_getattr_np(pthread_self(), &attributes), 0);
        pthread_attr_getstack(&attributes, &at, &size);
        pthread_attr_destroy(&attributes);
        start = uint64_t(at);
        end = start + size;
    };
    uint64_t start = 0, end = 0, hits = 0;
    limits(start, end);
    hits += storm(start, end);
    for (int i = 0; i < 4; ++i)
        std::thread([&] {
            limits(start, end);
            hits += storm(start, end);
        }).join();
    OtherStack other;
    other.run([&] { hits += storm(uint64_t(other.start()), uint64_t(other.end())); });
    std::thread([&] {
        OtherStack of_thread;
        of_thread.run([&] { hits += storm(uint64_t(of_thread.start()), uint64_t(of_thread.end())); });
    }).join();
    const OtherStack cloned;
    in_cloned(cloned, [&] { hits += storm(uint64_t(cloned.start()), uint64_t(cloned.end())); });
    // Control blocks with nothing true in them, at the ends of their memory too.
    OtherStack block;
    for (const size_t before_end : {64, 2048, 4096, 8192}) {
        const auto words = reinterpret_cast<uint64_t*>(block.end() - before_end);
        for (size_t i = 0; i < before_end / 8; ++i)
            words[i] = i % 2 ? uint64_t(1) << 35 : 4096;
        in_cloned(cloned, [&] { hits += storm(uint64_t(cloned.start()), uint64_t(cloned.end())); }, words);
    }
    const Maps maps = run.maps();
    uint64_t counted = maps.dropped;
    for (const Entry& entry : maps.maps[0])
        counted += uint64_t(entry.number);
    EXPECT_EQ(counted, hits);
    EXPECT_GT(maps.cut, 0u);
}

} // namespace

TEST(Stacks, NeverFault)
{
    const Environment environment = with_stacks();
    OwnRun run(action("", "@[ustack] = count();"), site(), environment, size_t(256) << 20);
    std::mt19937_64 random(1);
    storm_on_each_stack(run, environment, random, [] {});
}

// Whatever the rows say, and whatever is on the stack.
TEST(Stacks, NeverFaultByRows)
{
    const Environment environment = with_stacks();
    OwnRun run(action("", "@[ustack(dwarf)] = count();"), site(), environment, size_t(256) << 20);
    std::mt19937_64 random(1);
    std::vector<UnwindRow> rows(OwnRun::most_rows);
    const auto other_rows = [&] {
        for (size_t i = 0; i < rows.size(); ++i) {
            UnwindRow& row = rows[i];
            row.start = uint32_t(i * 16);
            row.rule = UnwindRow::Rule(random() % 8); // two that there are not
            row.saved = random() % 4 ? UnwindRow::unchanged : uint8_t(random());
            row.offset = random() % 8 ? int16_t(random() % 32) : int16_t(random());
        }
        run.unwind_by(rows);
    };
    uint64_t hits = 0;
    storm_on_each_stack(run, environment, random, [&] {
        if (hits++ % 64 == 0)
            other_rows();
        // What the next hit finds above its stack pointer: addresses of code that the rows have, of the stack, and any number.
        volatile uint64_t words[64];
        for (volatile uint64_t& word : words)
            word = random() % 4 ? random() % (16 * rows.size())
                : random() % 2  ? uint64_t(&words[random() % 64])
                                : random();
    });
}

// The frames that rows describe: each rule, and both ways in which the caller's frame pointer is kept.
TEST(Stacks, AreWalkedByRows)
{
    constexpr uint32_t code = site_address;
    std::array<uint64_t, 16> stack{};
    stack[3] = uint64_t(&stack[8]); // the frame pointer leads here
    stack[4] = code + 0x21;
    stack[8] = uint64_t(&stack[14]);
    stack[9] = code + 0x31;
    stack[13] = uint64_t(stack.data() + 16); // of what aligns its stack
    stack[15] = code + 0x41;
    const std::array<UnwindRow, 5> rows = {
        UnwindRow{code, UnwindRow::frame_pointer, UnwindRow::at_own, 2},
        UnwindRow{code + 0x20, UnwindRow::frame_pointer, 2, 2},
        UnwindRow{code + 0x30, UnwindRow::at_frame_pointer, UnwindRow::unchanged, -1},
        UnwindRow{code + 0x40, UnwindRow::outermost},
        UnwindRow{code + 0x50, UnwindRow::unknown},
    };
    OwnRun run(action("", "@[ustack(dwarf)] = count();"), site(), with_stacks());
    run.unwind_by(rows);
    const auto stack_by_rows = [&] {
        pass_with_frame(run, &stack[3]);
        const auto stacks = run.stacks();
        return stacks.size() == 1 ? stacks[0] : Frames();
    };
    EXPECT_EQ(stack_by_rows(), (Frames{site_address, code + 0x21, code + 0x31, code + 0x41}));
    EXPECT_EQ(run.maps().cut, 0u);
}

// Threads that intern the same stacks at once: all hits are counted, and each with its stack.
TEST(Stacks, ThreadsInternTheSame)
{
    constexpr size_t kinds = 300;
    constexpr int rounds = 200;
    OwnRun run(action("", "@[ustack] = count();"), site(), with_stacks());
    std::atomic<int> ready = 0;
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread)
        threads.emplace_back([&] {
            std::array<Frame, 3> frames{};
            ++ready;
            while (ready < 4)
                sched_yield();
            for (int round = 0; round < rounds; ++round)
                for (size_t kind = 0; kind < kinds; ++kind) {
                    chain(frames);
                    frames[2].address = 0x10000 + kind;
                    pass_with_frame(run, frames.data());
                }
        });
    for (std::thread& thread : threads)
        thread.join();
    const Maps maps = named(run.script, run.maps(), [&](const ValueType&, uint64_t address) {
        std::string text;
        const auto reader = [&](size_t offset, size_t size) {
            const auto* first = reinterpret_cast<const std::byte*>(run.data) + offset;
            return std::vector<std::byte>(first, first + std::min(size, run.data_size - offset));
        };
        for (const uint64_t frame : stack_at(run.tables, {uint64_t(run.data), run.data_size}, reader, address))
            text += std::to_string(frame) + " ";
        return text;
    });
    EXPECT_EQ(maps.dropped, 0u);
    ASSERT_EQ(maps.maps[0].size(), kinds);
    for (const Entry& entry : maps.maps[0])
        EXPECT_EQ(entry.number, 4 * rounds) << entry.keys[0].text;
}

namespace {

const OwnRun* stepped = nullptr;
const void* frame_of_handler = nullptr;
uint64_t steps = 0;

void on_step(int)
{
    ++steps;
    pass_with_frame(*stepped, frame_of_handler);
}

} // namespace

// A handler at each instruction of a hit that walks another stack, the same one, or one that nobody has interned yet.
TEST(Stacks, HandlersAtEachInstruction)
{
    struct sigaction act = {}, old = {};
    act.sa_handler = on_step;
    sigaction(SIGTRAP, &act, &old);
    OwnRun run(action("", "@[ustack] = count();"), site(), with_stacks());
    stepped = &run;
    std::array<Frame, 5> frames{}, others{};
    chain(frames);
    chain(others);
    others[2].address = 0x5000;
    for (const void* const handlers : {frames.data(), others.data()})
        for (int hit = 0; hit < 2; ++hit) { // the first one interns
            if (hit == 0)
                run.reset();
            frame_of_handler = handlers;
            steps = 0;
            const Maps before = run.maps();
            Processor state;
            state.gpr[RBP] = uint64_t(frames.data());
            state.flags |= 0x100; // a trap behind each instruction
            run.pass(state);
            EXPECT_GT(steps, 100u);
            uint64_t counted = 0;
            const Maps after = run.maps();
            for (const Entry& entry : after.maps[0])
                counted += uint64_t(entry.number);
            for (const Entry& entry : before.maps[0])
                counted -= uint64_t(entry.number);
            EXPECT_EQ(counted, steps + 1);
            EXPECT_EQ(after.dropped, 0u);
            EXPECT_EQ(run.stacks().size(), handlers == frames.data() ? 1u : 2u);
        }
    sigaction(SIGTRAP, &old, nullptr);
}

TEST(Stacks, WithoutRoomAreCountedAsDropped)
{
    for (const size_t window : {size_t(512) << 10, size_t(64) << 20}) {
        OwnRun run(action("", "@[ustack] = count();"), site(), with_stacks(), window);
        constexpr uint64_t hits = 40'000;
        std::array<Frame, 2> frames{};
        for (uint64_t i = 0; i < hits; ++i) {
            chain(frames);
            frames[1].address = 0x10000 + i;
            pass_with_frame(run, frames.data());
        }
        const Maps maps = run.maps();
        uint64_t counted = 0;
        for (const Entry& entry : maps.maps[0])
            counted += uint64_t(entry.number);
        EXPECT_GT(maps.dropped, 0u);
        EXPECT_EQ(maps.unread, 0u);
        EXPECT_EQ(counted + maps.dropped, hits);
    }
}
