// SPDX-License-Identifier: BSD-2-Clause
//
// Processes that cannot be armed safely: each is refused with one reason, and goes on as if nobody had tried. And
// processes that can be armed though they look as if they could not.
#include "process/ptrace.h"
#include "program.h"
#include "proc/threads.h"

#include <cstddef>
#include <filesystem>
#include <iterator>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

namespace fastsdt::engine {
namespace {

using namespace test;

// The reason why it cannot be armed; empty if it could.
std::string refusal(pid_t pid)
{
    try {
        const auto target = open_outside(pid);
        Arming arming(*target, CountingStubs(), 4096);
        arming.arm(sites_of(pid));
        return {};
    } catch (const Unusable& e) {
        return e.what();
    }
}

void contains(const std::string& text, const std::string& part)
{
    EXPECT_NE(text.find(part), text.npos) << text;
}

void runs_on(Program& program)
{
    const auto p = program.passes("run 2 100");
    EXPECT_EQ(p.passed, 200);
    EXPECT_EQ(p.wrong, 0);
}

TEST(Refused, NoSuchProcess)
{
    contains(refusal(0x3ffffffe), "there is no such process");
    contains(refusal(getpid()), "this process itself");
    contains(refusal(2), geteuid() == 0 ? "kernel thread" : "process 2");
}

TEST(Refused, Zombie)
{
    const pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    siginfo_t info;
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
    contains(refusal(pid), "a zombie");
    waitpid(pid, nullptr, 0);
}

TEST(Refused, ThreadOfAProcess)
{
    Program program;
    EXPECT_EQ(program.ask("start 1"), "started");
    const std::vector<pid_t> threads = living_threads(program.pid());
    ASSERT_EQ(threads.size(), 2u);
    contains(refusal(threads[1]), "is a thread of process " + std::to_string(program.pid()));
    program.passes("stop");
}

// A program without a loader, with a filter that kills it for a call, if `argument` (0 to 5) has one of the bits.
std::unique_ptr<Program> filtered(uint32_t call, unsigned argument, uint32_t bits)
{
    return std::make_unique<Program>(std::vector{beside_us("engine_target_static")}, [=] {
        const auto low = static_cast<uint32_t>(offsetof(seccomp_data, args) + argument * sizeof(uint64_t));
        sock_filter code[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 3),
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, low),
            BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        const sock_fprog filter = {std::size(code), code};
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
    });
}

// Root reads what a filter allows. Others cannot, so that for them even one that allows all is refused.
TEST(Refused, SeccompFilter)
{
    const auto harmless = filtered(SYS_mprotect, 2, PROT_EXEC);
    if (geteuid() != 0) {
        contains(refusal(harmless->pid()), "cannot be read");
        runs_on(*harmless);
        return;
    }
    EXPECT_EQ(refusal(harmless->pid()), "");
    runs_on(*harmless);
    const auto strict = filtered(SYS_mmap, 2, PROT_EXEC);
    contains(refusal(strict->pid()), "does not allow mmap() as we would");
    runs_on(*strict);
    const auto stricter = filtered(SYS_memfd_create, 0, ~0u); // an address, which is not known before
    contains(refusal(stricter->pid()), "does not allow memfd_create()");
    runs_on(*stricter);
}

// The kernel gives a process one tracer.
TEST(Refused, SomebodyElseTraces)
{
    Program program;
    const pid_t other = fork();
    if (other == 0) {
        ptrace(PTRACE_SEIZE, program.pid(), nullptr, nullptr);
        raise(SIGSTOP);
        _exit(0);
    }
    waitpid(other, nullptr, WUNTRACED);
    contains(refusal(program.pid()), "process " + std::to_string(other) + " (engine_refuse_t) traces it");
    kill(other, SIGKILL);
    waitpid(other, nullptr, 0);
    EXPECT_EQ(refusal(program.pid()), "");
    runs_on(program);
}

// As nobody, who is not root: in a child, which answers by its status.
template <class F> int as_nobody(F&& work)
{
    const pid_t pid = fork();
    if (pid == 0) {
        constexpr unsigned nobody = 65534;
        if (setgid(nobody) < 0 || setuid(nobody) < 0)
            _exit(77);
        _exit(work());
    }
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int check(bool good, const std::string& text)
{
    if (!good)
        std::fprintf(stderr, "%s\n", text.c_str());
    return good ? 0 : 1;
}

// Copies the program to a folder that every user can reach, unlike a build directory below somebody's home.
class Unprivileged : public testing::Test {
protected:
    void SetUp() override
    {
        if (geteuid() != 0)
            GTEST_SKIP() << "becomes another user, which needs root";
        char name[] = "/tmp/fastsdt-engine.XXXXXX";
        ASSERT_NE(mkdtemp(name), nullptr);
        folder = name;
        std::filesystem::copy(beside_us("engine_target"), folder);
        std::filesystem::permissions(folder, std::filesystem::perms(0755));
        target = {folder + "/engine_target"};
    }
    void TearDown() override
    {
        if (!folder.empty())
            std::filesystem::remove_all(folder);
    }
    std::string folder;
    std::vector<std::string> target;
};

TEST_F(Unprivileged, OwnProcessIsArmed)
{
    EXPECT_EQ(as_nobody([&] {
                  Program program(target);
                  const std::string why = refusal(program.pid());
                  int scope = 0;
                  if (FILE* f = std::fopen("/proc/sys/kernel/yama/ptrace_scope", "r")) {
                      if (std::fscanf(f, "%d", &scope) != 1)
                          scope = 0;
                      std::fclose(f);
                  }
                  // 1: only processes that the tracer has started, as a Program; 2 and 3: none.
                  const bool good =
                      scope < 2 ? why.empty() : why.find("ptrace_scope is " + std::to_string(scope)) != why.npos;
                  return check(good && program.passes("run 1 10").wrong == 0, why);
              }),
              0);
}

TEST_F(Unprivileged, AnotherUsersProcess)
{
    Program program(target);
    EXPECT_EQ(as_nobody([&] {
                  const std::string why = [&] {
                      try {
                          open_outside(program.pid());
                          return std::string("opened");
                      } catch (const Unusable& e) {
                          return std::string(e.what());
                      }
                  }();
                  return check(why.find("another user's") != why.npos || why.find("ptrace_scope") != why.npos, why);
              }),
              0);
    runs_on(program);
}

TEST_F(Unprivileged, NotDumpable)
{
    EXPECT_EQ(as_nobody([&] {
                  Program program(target);
                  if (program.ask("undump") != "undumped 0")
                      return 2;
                  std::string why;
                  try {
                      open_outside(program.pid());
                  } catch (const Unusable& e) {
                      why = e.what();
                  }
                  return check(why.find("PR_SET_DUMPABLE") != why.npos || why.find("ptrace_scope") != why.npos, why)
                      | check(program.passes("run 1 10").wrong == 0, "wrong");
              }),
              0);
}

// PR_SET_MDWE forbids memory that is writable and executable, and a change from one to the other. The engine needs
// neither.
TEST(Armed, WithoutMemoryThatBecomesExecutable)
{
    if (const pid_t pid = fork(); pid == 0)
        _exit(prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) == 0 ? 0 : 77);
    else {
        int status = 0;
        waitpid(pid, &status, 0);
        if (status != 0)
            GTEST_SKIP() << "this kernel has no PR_SET_MDWE (6.3)";
    }
    Program program({beside_us("engine_target")}, [] { prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0); });
    const auto target = open_outside(program.pid());
    Arming arming(*target, CountingStubs(), 4096);
    arming.arm(sites_of(program.pid()));
    EXPECT_EQ(program.passes("run 1 400").wrong, 0);
    EXPECT_EQ(all_hits(*target, 4), 400u);
    for (const Mapping& m : target->mappings())
        EXPECT_FALSE(m.writable && m.executable) << m.name;
}

// The size of our tables must not send SIGXFSZ to a process.
TEST(Armed, WithLimits)
{
    Program program({beside_us("engine_target")}, [] {
        const rlimit none = {0, 0};
        setrlimit(RLIMIT_FSIZE, &none);
    });
    const auto target = open_outside(program.pid());
    Arming arming(*target, CountingStubs(), 1 << 20);
    arming.arm(sites_of(program.pid()));
    EXPECT_EQ(program.passes("run 1 400").wrong, 0);
    EXPECT_EQ(all_hits(*target, 4), 400u);
}

// Nor to a tracer with a limit of its own: it gives the reason and ends in order.
TEST(Refused, TablesBeyondTheTracersLimit)
{
    Program program;
    const pid_t tracer = fork();
    if (tracer == 0) {
        const rlimit none = {0, 0};
        setrlimit(RLIMIT_FSIZE, &none);
        _exit(check(refusal(program.pid()).find("bytes for the tables: File too large") != std::string::npos,
                    "no reason"));
    }
    int status = 0;
    ASSERT_EQ(waitpid(tracer, &status, 0), tracer);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    runs_on(program);
    EXPECT_EQ(program.ask("mask"), "mask 0");
    EXPECT_EQ(refusal(program.pid()), "");
}

} // namespace
} // namespace fastsdt::engine
