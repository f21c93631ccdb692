// SPDX-License-Identifier: BSD-2-Clause
//
// The tracer is killed before each of its system calls in turn, as strace would see them. Each time the target goes on
// unharmed, and a later tracer finds what was left and makes use of the sites. Of calls that only read, one after another
// makes no difference, so that those are left out unless the environment variable FASTSDT_EVERY_CALL is set.
#include "program.h"
#include "tracing.h"

#include <cstdlib>
#include <filesystem>
#include <sys/ptrace.h>
#include <sys/syscall.h>

namespace fastsdt::engine {
namespace {

using namespace test;

bool counts(unsigned long call)
{
    static const bool every = std::getenv("FASTSDT_EVERY_CALL") != nullptr;
    return every || call == SYS_ptrace || call == SYS_pwrite64 || call == SYS_pidfd_getfd || call == SYS_ftruncate
        || call == SYS_exit_group;
}

// Runs `tracer` in a child until it is about to make its call number `stop`, and kills it then. False: it was done before.
bool killed_at(size_t stop, const std::function<void()>& tracer)
{
    const pid_t pid = fork();
    if (pid == 0) {
        raise(SIGSTOP);
        tracer();
        _exit(0);
    }
    waitpid(pid, nullptr, WUNTRACED);
    ptrace(PTRACE_SEIZE, pid, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE);
    kill(pid, SIGCONT);
    size_t seen = 0;
    for (;;) {
        int status = 0;
        const pid_t thread = waitpid(-1, &status, __WALL | __WNOTHREAD);
        if (thread < 0)
            return false;
        if (!WIFSTOPPED(status)) {
            if (thread == pid)
                return WIFSIGNALED(status);
            continue;
        }
        int signal = status >> 16 ? 0 : WSTOPSIG(status);
        if (signal == (SIGTRAP | 0x80)) {
            signal = 0;
            __ptrace_syscall_info info{};
            if (ptrace(static_cast<__ptrace_request>(PTRACE_GET_SYSCALL_INFO), thread, sizeof info, &info) > 0
                && info.op == PTRACE_SYSCALL_INFO_ENTRY && counts(info.entry.nr) && seen++ == stop)
                kill(pid, SIGKILL);
        }
        ptrace(PTRACE_SYSCALL, thread, nullptr, static_cast<long>(signal));
    }
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
    size_t stop = 0;
    for (bool killed = true; killed; ++stop) {
        SCOPED_TRACE(stop);
        killed = killed_at(stop, [&] {
            const auto target = open_outside(program.pid());
            Arming arming(*target, CountingStubs(), 4096);
            arming.arm(sites);
            arming.disarm();
        });
        // Whatever is armed counts for nobody; the program sees nothing of it.
        const auto alone = program.passes("run 2 100");
        ASSERT_EQ(alone.passed, 200);
        ASSERT_EQ(alone.wrong, 0);
        ASSERT_EQ(descriptors(), open_before);
        ASSERT_EQ(program.ask("mask"), "mask 0");

        const auto target = open_outside(program.pid());
        Arming arming(*target, CountingStubs(), 4096);
        arming.arm(sites);
        for (const SiteState& state : arming.states())
            ASSERT_EQ(text(state), "armed");
        ASSERT_EQ(program.passes("run 2 100").wrong, 0);
        ASSERT_EQ(all_hits(*target, 4), 200u);
        arming.disarm();
        for (const LiveFile& file : read_process(program.pid()).files)
            for (const LiveSite& site : file.sites)
                ASSERT_EQ(site.change, Change::untouched) << site.name;
    }
    EXPECT_GT(stop, 20u);
    std::printf("killed %zu times\n", stop - 1);
}

} // namespace
} // namespace fastsdt::engine
