// SPDX-License-Identifier: BSD-2-Clause
//
// Arming fails at each step in turn: afterwards the process is as it was, and another try arms all sites. And what a run
// had mapped goes with it, whether it ended by itself or not.
#include "program.h"

#include "process/ptrace.h"

#include <array>
#include <fstream>
#include <memory>
#include <span>
#include <sys/ptrace.h>
#include <utility>

namespace fastsdt::engine {
namespace {

using namespace test;

/// Fails one of its calls, before or after the target has done what was asked for.
/// @param at_once  whether it maps all in one step, or the tables first
class Failing : public Target {
public:
    Failing(Target& target, unsigned call, bool done, bool at_once = false)
        : target_(target), left_(call), done_(done), at_once_(at_once)
    {}
    bool has_failed() const { return failed_; }

    ProcessView& view() override { return target_.view(); }
    std::vector<Mapping> mappings() override { return target_.mappings(); }
    std::vector<std::byte> read(uint64_t address, size_t size) override { return target_.read(address, size); }
    bool stores_thread_pointers() override { return target_.stores_thread_pointers(); }
    Window allocate_data(Needs needs) override
    {
        return try_call([&] { return target_.allocate_data(needs); });
    }
    Arena allocate_code(std::span<const uint64_t> near, size_t size) override
    {
        return try_call([&] { return target_.allocate_code(near, size); });
    }
    Window allocate(Needs needs, std::span<const WantedCode> wanted, const std::vector<Mapping>& mappings,
                    std::vector<Arena>& arenas) override
    {
        if (!at_once_)
            return Target::allocate(needs, wanted, mappings, arenas);
        return try_call([&] { return target_.allocate(needs, wanted, mappings, arenas); });
    }
    void free_code(const Arena& arena, size_t size) override // like all that the target is asked for, it may fail
    {
        if (!failed_ || std::exchange(freed_, true))
            target_.free_code(arena, size);
    }
    bool release(std::span<const Range> code, Range data, bool entered) override
    {
        return target_.release(code, data, entered);
    }
    void write_code(uint64_t address, std::span<const std::byte> bytes) override
    {
        try_call([&] { return target_.write_code(address, bytes), 0; });
    }
    std::vector<Outcome> patch(std::span<const Patch> patches, bool back) override
    {
        return try_call([&] { return target_.patch(patches, back); });
    }
    std::vector<std::byte> read_data(size_t offset, size_t size) override { return target_.read_data(offset, size); }
    bool change_data(size_t offset, uint64_t from, uint64_t to) override
    {
        return target_.change_data(offset, from, to);
    }
    void forget_data(std::span<const Piece> contents) override { target_.forget_data(contents); }
    void write_data(size_t offset, std::span<const std::byte> bytes) override { target_.write_data(offset, bytes); }

private:
    template <class Work> auto try_call(const Work& work) -> decltype(work())
    {
        const bool fails = left_ != 0 && --left_ == 0;
        failed_ = failed_ || fails;
        if (fails && !done_)
            throw Unusable("the test refuses this call");
        auto result = work();
        if (fails)
            throw Unusable("the test refuses this call afterwards");
        return result;
    }

    Target& target_;
    unsigned left_;
    const bool done_, at_once_;
    bool failed_ = false, freed_ = false;
};

size_t count_mappings(pid_t pid)
{
    return mappings_of(pid).size();
}

void expect_text_of_file(pid_t pid)
{
    for (const LiveFile& file : read_process(pid).files)
        for (const LiveSite& site : file.sites)
            EXPECT_EQ(site.change, Change::untouched) << site.name;
}

TEST(Transaction, AFailureAtAnyStepLeavesTheProcessAsItWasAndAnotherTryArms)
{
    constexpr std::array<std::pair<bool, bool>, 4> modes = {
        {{false, true}, {true, true}, {false, false}, {true, false}}};
    const size_t most = rounds(50) < 50 ? 2 : modes.size(); // in a guest, those where it maps all at once
    for (const auto& [done, at_once] : std::span(modes).first(most))
        for (unsigned call = 1;; ++call) {
            SCOPED_TRACE(std::to_string(call) + (done ? " after" : " before") + (at_once ? ", all at once" : ""));
            Program program;
            program.passes("run 2 100"); // the stacks of its threads stay mapped
            const size_t before = count_mappings(program.pid());
            const auto outside = open_outside(program.pid());
            Failing target(*outside, call, done, at_once);
            auto owned = std::make_unique<Arming>(target, CountingStubs(), 4096);
            Arming& arming = *owned;
            const auto sites = sites_of(program.pid());
            const bool threw = [&] {
                try {
                    arming.arm(sites);
                    return false;
                } catch (const Unusable&) {
                    return true;
                }
            }();
            ASSERT_EQ(threw, target.has_failed());
            if (!threw) {
                EXPECT_GT(call, 4u); // tables, code, stubs, front, jumps
                break;
            }
            expect_text_of_file(program.pid());
            EXPECT_EQ(program.passes("run 2 1000").wrong, 0);
            try {
                arming.arm({});
            } catch (const Unusable&) { // what the failed try had mapped could not be unmapped yet
                arming.arm({});
            }
            for (const SiteState& state : arming.states())
                EXPECT_EQ(state.state, State::armed) << text(state);
            EXPECT_EQ(program.passes("run 2 1000").wrong, 0);
            EXPECT_EQ(all_hits(target, sites.size()), 2000u);
            arming.disarm();
            expect_text_of_file(program.pid());
            owned.reset();
            // Tables whose address was never learned stay until their tracer has ended: this process. So do code and mark that came with
            // them.
            EXPECT_EQ(count_mappings(program.pid()), before + (done && call == 1 ? (at_once ? 3 : 1) : 0));
        }
}

TEST(Memory, GoesWithTheRun)
{
    Program program;
    const auto sites = sites_of(program.pid());
    program.passes("run 2 100"); // the stacks of its threads stay mapped
    const size_t before = count_mappings(program.pid());
    for (int i = 0; i < rounds(50); ++i) {
        const auto target = open_outside(program.pid());
        Arming arming(*target, CountingStubs(), 1 << 20);
        arming.arm(sites);
        EXPECT_GT(count_mappings(program.pid()), before);
        EXPECT_EQ(program.passes("run 2 100").wrong, 0);
        EXPECT_EQ(all_hits(*target, sites.size()), 200u);
    }
    EXPECT_EQ(count_mappings(program.pid()), before);
    EXPECT_EQ(program.passes("run 2 100").wrong, 0);
}

#if defined(__x86_64__) // where a breakpoint takes one byte of the jump
// A kernel's probe or a debugger's breakpoint puts back what it hides: the jump of a tracer that was killed. Its stub stays for that.
TEST(Memory, StaysWhereABreakpointHidesAJump)
{
    Program program;
    const auto sites = sites_of(program.pid());
    const pid_t tracer = fork();
    if (tracer == 0) {
        const auto target = open_outside(program.pid());
        Arming arming(*target, CountingStubs(), 4096);
        arming.arm(sites);
        kill(getpid(), SIGKILL);
    }
    int status = 0;
    waitpid(tracer, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    const Descriptor memory(open(("/proc/" + std::to_string(program.pid()) + "/mem").c_str(), O_RDWR | O_CLOEXEC));
    const auto at = static_cast<off_t>(sites.at(0).patch);
    const unsigned char breakpoint = 0xcc;
    unsigned char hidden = 0;
    ASSERT_EQ(pread(memory.get(), &hidden, 1, at), 1);
    ASSERT_EQ(pwrite(memory.get(), &breakpoint, 1, at), 1);
    {
        const auto target = open_outside(program.pid());
        Arming arming(*target, CountingStubs(), 4096);
        arming.arm(sites);
    }
    ASSERT_EQ(pwrite(memory.get(), &hidden, 1, at), 1);
    EXPECT_EQ(program.passes("run 2 100").wrong, 0);
    {
        const auto target = open_outside(program.pid());
        Arming arming(*target, CountingStubs(), 4096);
        arming.arm(sites);
        EXPECT_EQ(program.passes("run 2 100").wrong, 0);
        EXPECT_EQ(all_hits(*target, sites.size()), 200u);
    }
    expect_text_of_file(program.pid());
}
#endif

TEST(Memory, OfATracerThatWasKilledGoesWithTheNext)
{
    Program program;
    const auto sites = sites_of(program.pid());
    program.passes("run 2 100"); // the stacks of its threads stay mapped
    const size_t before = count_mappings(program.pid());
    const pid_t tracer = fork();
    if (tracer == 0) {
        const auto target = open_outside(program.pid());
        Arming arming(*target, CountingStubs(), 1 << 20);
        arming.arm(sites);
        kill(getpid(), SIGKILL);
    }
    waitpid(tracer, nullptr, 0);
    EXPECT_GT(count_mappings(program.pid()), before);
    {
        const auto target = open_outside(program.pid());
        Arming arming(*target, CountingStubs(), 4096);
        arming.arm(sites);
        EXPECT_EQ(program.passes("run 2 100").wrong, 0);
        EXPECT_EQ(all_hits(*target, sites.size()), 200u);
    }
    EXPECT_EQ(count_mappings(program.pid()), before);
    expect_text_of_file(program.pid());
}

} // namespace
} // namespace fastsdt::engine
