// SPDX-License-Identifier: BSD-2-Clause
//
// Each of the tracer's system calls fails once, and each that the process makes for it. Every time either the tracer says so, and
// another try works, or all is as it would have been; and the process ends as the file has it: its code, its semaphores.
#include "nth_call.h"
#include "program.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/resource.h>

namespace fastsdt::engine {
namespace {

using namespace test;

// Those that change a process, and those that open its memory or its maps. Of calls that read, one after another makes no
// difference, so that those are left out unless the environment variable FASTSDT_EVERY_CALL is set.
bool counts(pid_t thread, const __ptrace_syscall_info& info)
{
    const auto call = info.entry.nr;
    if (call == SYS_openat) {
        char path[64]{};
        iovec own{path, sizeof path - 1}, its{reinterpret_cast<void*>(info.entry.args[1]), sizeof path - 1};
        const std::string name = process_vm_readv(thread, &own, 1, &its, 1, 0) > 0 ? path : "";
        return name.starts_with("/proc/") && (name.ends_with("/mem") || name.ends_with("/maps"));
    }
    static const bool every = std::getenv("FASTSDT_EVERY_CALL") != nullptr;
    constexpr uint64_t get_syscall_info = 0x420e, get_registers = PTRACE_GETREGSET;
    const uint64_t request = info.entry.args[0];
    return (call == SYS_ptrace && (every || (request != get_syscall_info && request != get_registers)))
        || (every && call == SYS_pread64) || call == SYS_pwrite64 || call == SYS_ftruncate || call == SYS_memfd_create;
}

class Failed : public testing::Test {
protected:
    Failed()
    {
        const auto counted = sites_of(program.pid(), "target", "counted");
        sites.insert(sites.end(), counted.begin(), counted.end());
        for (size_t i = 0; i < sites.size(); ++i)
            sites[i].probe = i;
    }
    // What a session does. @return 0: as if nothing had failed; 1: an error came, and another try worked; else what is wrong
    int run()
    {
        int errors = 0;
        try {
            const auto target = open_outside(program.pid());
            Arming arming(*target, CountingStubs(), 4096);
            arming.watch_loader(); // with an arena of its own
            try {
                arming.arm(sites);
            } catch (const Unusable&) {
                ++errors;
                if (program.passes("run 1 40").wrong != 0)
                    return 10;
                arming.arm({});
                arming.arm(sites);
            }
            const uint64_t before = all_hits(*target, 4);
            size_t armed = 0;
            for (const SiteState& state : arming.verify())
                armed += state.state == State::armed;
            const auto passes = program.passes("run 1 40");
            if (passes.passed != 40 || passes.wrong != 0)
                return 11;
            if (all_hits(*target, 4) - before != 40) {
                if (armed == sites.size())
                    return 12; // armed, it says
                ++errors;      // and it says that it is not
            }
            try {
                arming.disarm();
            } catch (const Unusable&) {
                ++errors;
                arming.disarm();
            }
        } catch (const Unusable&) {
            ++errors;
        } catch (const std::exception&) {
            return 13;
        }
        return errors ? 1 : 0;
    }
    void is_the_files()
    {
        for (const LiveFile& file : read_process(program.pid()).files)
            for (const LiveSite& site : file.sites)
                EXPECT_EQ(site.change, Change::untouched) << site.name;
        EXPECT_EQ(program.ask("semaphore"), "active 0");
        EXPECT_EQ(program.ask("mask"), "mask 0");
        const auto passes = program.passes("run 2 100");
        EXPECT_EQ(passes.passed, 200);
        EXPECT_EQ(passes.wrong, 0);
    }
    ptrdiff_t descriptors() const
    {
        const auto files = std::filesystem::directory_iterator("/proc/" + std::to_string(program.pid()) + "/fd");
        return std::distance(begin(files), end(files));
    }
    uint64_t address_space() const
    {
        std::ifstream in("/proc/" + std::to_string(program.pid()) + "/statm");
        uint64_t pages = 0;
        in >> pages;
        return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    }
    // Runs a session in which the process itself may have no more of something, and then another.
    void with_limit(__rlimit_resource what, uint64_t most)
    {
        rlimit former{};
        const auto target = open_outside(program.pid());
        Arming arming(*target, CountingStubs(), 4096);
        ASSERT_EQ(prlimit(program.pid(), what, nullptr, &former), 0);
        rlimit lower{most, former.rlim_max};
        ASSERT_EQ(prlimit(program.pid(), what, &lower, nullptr), 0);
        try {
            arming.arm(sites);
        } catch (const Unusable&) {
            ++refused;
        }
        ASSERT_EQ(prlimit(program.pid(), what, &former, nullptr), 0);
        EXPECT_EQ(program.passes("run 1 40").wrong, 0);
        arming.arm({});
        for (const SiteState& state : arming.states())
            EXPECT_EQ(text(state), "armed");
        const uint64_t before = all_hits(*target, 4);
        EXPECT_EQ(program.passes("run 1 40").wrong, 0);
        EXPECT_EQ(all_hits(*target, 4) - before, 40u);
        arming.disarm();
        is_the_files();
    }

    Program program;
    std::vector<Site> sites = sites_of(program.pid());
    int refused = 0;
};

TEST_F(Failed, EachOfTheTracersCalls)
{
    ASSERT_EQ(sites.size(), 5u);
    const auto open_before = descriptors();
    size_t number = 0, said = 0;
    for (bool came = true; came; ++number) {
        SCOPED_TRACE(number);
        const Ended tracer = at_call(number, {EIO}, counts, [&] { return run(); });
        came = tracer.came;
        std::ostringstream what;
        what << "call " << tracer.call << std::hex;
        for (const uint64_t argument : tracer.arguments)
            what << " " << argument;
        SCOPED_TRACE(what.str());
        ASSERT_TRUE(WIFEXITED(tracer.status)) << "signal " << WTERMSIG(tracer.status);
        EXPECT_LE(WEXITSTATUS(tracer.status), 1);
        said += WEXITSTATUS(tracer.status) == 1;
        is_the_files();
        ASSERT_EQ(descriptors(), open_before);
        if (HasFatalFailure())
            return;
    }
    EXPECT_GT(number, 100u);
    EXPECT_GT(said, 0u);
    std::printf("%zu calls failed, %zu times it was said\n", number - 1, said);
}

TEST_F(Failed, EachMappingOfTheProcess)
{
    const auto page = static_cast<uint64_t>(own_machine.page);
    int before = -1;
    for (uint64_t more = 0; refused != before; more += page) { // until there was room for all
        SCOPED_TRACE(more);
        before = refused;
        with_limit(RLIMIT_AS, address_space() + more);
        if (HasFatalFailure())
            return;
    }
    EXPECT_GE(refused, 3); // the tables, the stubs, the mark
}

TEST_F(Failed, TheFileOfTheTables)
{
    with_limit(RLIMIT_NOFILE, 0);
    EXPECT_EQ(refused, 1);
}

} // namespace
} // namespace fastsdt::engine
