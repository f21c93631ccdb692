// SPDX-License-Identifier: BSD-2-Clause
//
// A thread is brought, instruction by instruction, to each place at which a change could hurt it. It is stopped there
// while its site is armed or disarmed, and then runs on. Nothing here depends on luck or time.
#include "process/errand.h"
#include "process/ptrace.h"
#include "program.h"

#include <sys/ptrace.h>

namespace fastsdt::engine {
namespace {

using namespace test;
using namespace std::chrono_literals;

class Parked : public testing::Test {
protected:
    void SetUp() override
    {
        target = open_outside(program.pid());
        sites = {sites_of(program.pid()).at(0)};
        site = sites[0].patch;
    }

    // The first thread begins four passes, one of each site, and is stopped before the instruction for which `here` is true.
    // @return  addresses of the instructions executed from the site's nop1 on
    std::vector<uint64_t> park(const std::function<bool(uint64_t)>& here)
    {
        std::vector<uint64_t> trail;
        as_tracer([&] {
            Tracees tracees(program.pid());
            ASSERT_TRUE(tracees.seize(program.pid(), 0));
            ASSERT_TRUE(tracees.stop(program.pid(), deadline()));
            poke(site - 1, 0xcc); // int3
            program.say("pass 4");
            Tracees::Task& task = *tracees.find(program.pid());
            do
                ASSERT_TRUE(tracees.go_on(task, PTRACE_CONT, deadline()));
            while (task.event || task.signal != SIGTRAP);
            poke(site - 1, 0x90); // nop1
            user_regs_struct registers = Tracees::registers(task.number);
            ASSERT_EQ(program_counter(registers), site);
            set_program_counter(registers, site - 1);
            Tracees::set_registers(task.number, registers);
            task.signal = 0; // not the breakpoint's signal
            for (trail = {site - 1}; !here(trail.back());) {
                ASSERT_TRUE(tracees.go_on(task, PTRACE_SINGLESTEP, deadline()));
                if (!task.event && task.signal == SIGTRAP)
                    task.signal = 0; // not the step's signal
                trail.push_back(program_counter(Tracees::registers(task.number)));
            }
            kill(program.pid(), SIGSTOP);
        });
        int status = 0;
        EXPECT_EQ(waitpid(program.pid(), &status, WUNTRACED), program.pid());
        EXPECT_TRUE(WIFSTOPPED(status));
        return trail;
    }
    // One byte of the stopped program.
    void poke(uint64_t address, unsigned char byte) const
    {
        const long word = ptrace(PTRACE_PEEKTEXT, program.pid(), address, nullptr);
        ASSERT_EQ(ptrace(PTRACE_POKETEXT, program.pid(), address, (word & ~0xffl) | byte), 0);
    }
    void set_pc(uint64_t pc)
    {
        as_tracer([&] {
            Tracees tracees(program.pid());
            ASSERT_TRUE(tracees.seize(program.pid(), 0));
            ASSERT_TRUE(tracees.stop(program.pid(), deadline()));
            user_regs_struct registers = Tracees::registers(program.pid());
            set_program_counter(registers, pc);
            Tracees::set_registers(program.pid(), registers);
        });
    }
    void finish()
    {
        kill(program.pid(), SIGCONT);
        long passed = 0, wrong = -1;
        EXPECT_EQ(std::sscanf(program.line().c_str(), "passed %ld wrong %ld", &passed, &wrong), 2);
        EXPECT_EQ(passed, 4);
        EXPECT_EQ(wrong, 0);
    }
    std::vector<std::byte> bytes() { return target->read(site, 10); }
    static Tracees::Deadline deadline() { return std::chrono::steady_clock::now() + 60s; }
    static std::string state(const Arming& arming) { return text(arming.states().at(0)); }

    Program program;
    std::unique_ptr<Target> target;
    std::vector<Site> sites;
    uint64_t site = 0;
};

TEST_F(Parked, WhereAnInstructionBegins)
{
    const auto original = bytes();
    for (const int offset : {-1, 0, 10}) {
        SCOPED_TRACE(offset);
        target = open_outside(program.pid());
        Arming arming(*target, CountingStubs(), 4096);
        park([&](uint64_t pc) { return pc == site + static_cast<uint64_t>(offset); });
        arming.arm(sites);
        EXPECT_EQ(state(arming), "armed");
        finish();
        EXPECT_EQ(hits(*target, 0), offset == 10 ? 0u : 1u);
        park([&](uint64_t pc) { return pc == site + static_cast<uint64_t>(offset); });
        arming.disarm();
        EXPECT_EQ(bytes(), original);
        finish();
        // Disarmed before the thread came to the jump: no hit. After that: the hit is counted.
        EXPECT_EQ(hits(*target, 0), 1u);
    }
}

// At every instruction of the stub: the stub stays mapped, so the thread gets through it and counts.
TEST_F(Parked, InAStub)
{
    const auto original = bytes();
    std::vector<uint64_t> trail;
    {
        Arming arming(*target, CountingStubs(), 4096);
        arming.arm(sites);
        trail = park([&](uint64_t pc) { return pc == site + 10; });
        finish();
    }
    ASSERT_EQ(trail.size(), 18u); // nop1, the jump, fifteen of the stub; and behind the site
    for (size_t instruction = 2; instruction + 1 < trail.size(); ++instruction) {
        SCOPED_TRACE(instruction);
        const auto fresh = open_outside(program.pid());
        Arming arming(*fresh, CountingStubs(), 4096);
        arming.arm(sites);
        size_t executed = 0;
        park([&](uint64_t) { return executed++ == instruction; });
        arming.disarm();
        EXPECT_EQ(bytes(), original);
        arming.arm(sites); // again, while the thread still stands in the old stub
        EXPECT_EQ(state(arming), "armed");
        arming.disarm();
        EXPECT_EQ(bytes(), original);
        finish();
        EXPECT_EQ(hits(*fresh, 0), 1u);
    }
}

// Inside the nop10 a thread can stand only before a kernel's call that was left there (byte 5). Here it is put at each
// byte.
// A stub is unmapped only when no thread is in it, and none will come back to it from a signal handler.
TEST_F(Parked, AStubStaysWhileAThreadComesBackToIt)
{
    const size_t before = mappings_of(program.pid()).size();
    for (const char* const handler : {"", "handler", "handler own"}) {
        SCOPED_TRACE(handler);
        if (*handler) {
            ASSERT_EQ(program.ask(handler), "installed");
        }
        uint64_t stub = 0;
        {
            Arming arming(*target, CountingStubs(), 4096);
            arming.arm(sites);
            park([&](uint64_t pc) { return pc < site - 1 || pc > site + 10; });
            stub = find_arenas(*target).at(0).start;
            if (*handler) { // it comes when the thread goes on, and stops the process once more
                kill(program.pid(), SIGUSR2);
                kill(program.pid(), SIGCONT);
                int status = 0;
                do
                    ASSERT_EQ(waitpid(program.pid(), &status, WUNTRACED), program.pid());
                while (WSTOPSIG(status) != SIGSTOP);
            }
        }
        const auto mappings = mappings_of(program.pid());
        EXPECT_TRUE(mapping_at(mappings, stub)) << "the stub was unmapped under a thread";
        finish();
        EXPECT_EQ(hits(*target, 0), 1u);
        {
            Arming next(*target, CountingStubs(1), 4096);
            next.arm(sites);
        }
        EXPECT_EQ(mappings_of(program.pid()).size(), before);
    }
}

TEST_F(Parked, InsideTheInstruction)
{
    const auto original = bytes();
    for (uint64_t inside = 1; inside < 10; ++inside) {
        SCOPED_TRACE(inside);
        const auto fresh = open_outside(program.pid());
        Arming arming(*fresh, CountingStubs(), 4096);
        park([&](uint64_t pc) { return pc == site; });
        set_pc(site + inside);
        arming.arm(sites);
        EXPECT_EQ(state(arming), "has a thread standing in it");
        EXPECT_EQ(bytes(), original);
        set_pc(site);
        arming.arm(sites);
        EXPECT_EQ(state(arming), "armed");
        const auto armed = bytes();
        set_pc(site + inside);
        arming.disarm();
        EXPECT_EQ(bytes(), armed);
        set_pc(site);
        finish();
        EXPECT_EQ(hits(*fresh, 0), 1u);
        arming.disarm();
        EXPECT_EQ(bytes(), original);
    }
}

// A site as Linux 7.2 leaves it after optimizing it. Disarming brings these bytes back.
TEST_F(Parked, AtAKernelsStaleCall)
{
    const uint8_t stale[] = {0x66, 0x2e, 0x0f, 0x1f, 0x84, 0xe8, 0x11, 0x22, 0x33, 0x44};
    const auto* p = reinterpret_cast<const std::byte*>(stale);
    target->write_code(site, {p, sizeof stale});
    Arming arming(*target, CountingStubs(), 4096);
    park([&](uint64_t pc) { return pc == site; });
    set_pc(site + 5);
    arming.arm(sites);
    EXPECT_EQ(state(arming), "has a thread standing in it");
    EXPECT_EQ(bytes(), std::vector<std::byte>(p, p + sizeof stale));
    set_pc(site);
    arming.arm(sites);
    EXPECT_EQ(state(arming), "armed");
    finish();
    EXPECT_EQ(hits(*target, 0), 1u);
    arming.disarm();
    EXPECT_EQ(bytes(), std::vector<std::byte>(p, p + sizeof stale));
    EXPECT_EQ(program.passes("pass 4").wrong, 0);
}

} // namespace
} // namespace fastsdt::engine
