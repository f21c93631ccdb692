// SPDX-License-Identifier: BSD-2-Clause
//
// The tracer is killed before each of its system calls in turn, as strace would see them. Each time the target goes on
// unharmed, and a later tracer finds what was left, makes use of the sites, and leaves no memory behind. Of calls that only read, one after another
// makes no difference, so that those are left out unless the environment variable FASTSDT_EVERY_CALL is set.
#include "nth_call.h"
#include "process/ptrace.h"
#include "program.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

namespace fastsdt::engine {
namespace {

using namespace test;

bool counts(pid_t, const __ptrace_syscall_info& info)
{
    static const bool every = std::getenv("FASTSDT_EVERY_CALL") != nullptr;
    const auto call = info.entry.nr;
    return every || call == SYS_ptrace || call == SYS_pwrite64 || call == SYS_pidfd_getfd || call == SYS_ftruncate
        || call == SYS_exit_group;
}

TEST(Killed, BeforeEachOfItsSystemCalls)
{
    Program program;
    const auto sites = sites_of(program.pid());
    const auto descriptors = [&] {
        const auto files = std::filesystem::directory_iterator("/proc/" + std::to_string(program.pid()) + "/fd");
        return std::distance(begin(files), end(files));
    };
    const auto open_before = descriptors();
    const auto mapped = [&] {
        std::string text;
        for (const Mapping& m : mappings_of(program.pid()))
            text += fmt::format("{:x}-{:x} {}\n", m.start, m.end, m.name);
        return text;
    };
    EXPECT_EQ(program.passes("run 2 100").wrong, 0); // the C library keeps the threads' stacks
    const std::string mapped_before = mapped();
    size_t stop = 0;
    for (bool killed = true; killed; ++stop) {
        SCOPED_TRACE(stop);
        const Ended tracer = at_call(stop, {}, counts, [&] {
            const auto target = open_outside(program.pid());
            Arming arming(*target, CountingStubs(), 4096);
            arming.watch_loader(); // with an arena of its own
            arming.arm(sites);
            arming.disarm();
            return 0;
        });
        killed = WIFSIGNALED(tracer.status);
        ASSERT_EQ(killed, tracer.came);
        // Whatever is armed counts for nobody; the program sees nothing of it.
        const auto alone = program.passes("run 2 100");
        ASSERT_EQ(alone.passed, 200);
        ASSERT_EQ(alone.wrong, 0);
        ASSERT_EQ(descriptors(), open_before);
        ASSERT_EQ(program.ask("mask"), "mask 0");

        {
            const auto target = open_outside(program.pid());
            Arming arming(*target, CountingStubs(), 4096);
            arming.arm(sites);
            for (const SiteState& state : arming.states())
                ASSERT_EQ(text(state), "armed");
            ASSERT_EQ(program.passes("run 2 100").wrong, 0);
            ASSERT_EQ(all_hits(*target, 4), 200u);
        }
        ASSERT_EQ(mapped(), mapped_before);
        for (const LiveFile& file : read_process(program.pid()).files)
            for (const LiveSite& site : file.sites)
                ASSERT_EQ(site.change, Change::untouched) << site.name;
    }
    EXPECT_GT(stop, 20u);
    std::printf("killed %zu times\n", stop - 1);
}

#if defined(__x86_64__)
// Tables, the code for sites and that for the dynamic linker are mapped by one errand: a thread is not borrowed again for them.
// On arm64 it may be, where its way home from code for all of them is too far.
TEST(Killed, BeforeASecondErrandNone)
{
    Program program;
    const auto sites = sites_of(program.pid());
    const auto begins_errand = [](pid_t, const __ptrace_syscall_info& info) {
        return info.entry.nr == SYS_ptrace && info.entry.args[0] == PTRACE_GETSIGMASK;
    };
    for (const size_t errand : {0u, 1u}) {
        const Ended tracer = at_call(errand, {}, begins_errand, [&] {
            const auto target = open_outside(program.pid());
            auto* const arming = new Arming(*target, CountingStubs(), 4096); // it ends with its sites armed
            arming->watch_loader();
            arming->arm(sites);
            return static_cast<int>(arming->fronts().size());
        });
        EXPECT_EQ(tracer.came, errand == 0);
        if (errand == 1)
            EXPECT_EQ(WEXITSTATUS(tracer.status), 2); // arenas
    }
}
#endif

} // namespace
} // namespace fastsdt::engine
