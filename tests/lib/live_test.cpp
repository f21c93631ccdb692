// SPDX-License-Identifier: BSD-2-Clause
//
// read_process() on this very program, with real uprobes on its own sites.
#define FASTSDT_ALLOW_NOP5_FORK_CRASH_ON_LINUX_6_18_TO_7_1
#include "live/live.h"
#include "live_site.h"

#include <fastsdt.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace fastsdt {
namespace {

// Each function is one site; noinline keeps it one.
[[gnu::noinline]] void plain()
{
    FASTSDT_WITH(nop1, none, live, plain);
}
[[gnu::noinline]] void wide(int value)
{
    FASTSDT_WITH(nop1_nop10, none, live, wide, value);
}
[[gnu::noinline]] void five()
{
    FASTSDT_WITH(nop1_nop5, none, live, five);
}
[[gnu::noinline]] void counted()
{
    FASTSDT_WITH(nop1, implicit, live, counted);
}

const char self[] = "/proc/self/exe";

class Live : public testing::Test {
protected:
    void SetUp() override
    {
        plain(), wide(1), five(), counted();
        before_ = read_process(getpid());
    }
    static LiveSite find(const Process& process, std::string_view name)
    {
        std::vector<LiveSite> found;
        for (const LiveFile& file : process.files)
            for (const LiveSite& site : file.sites)
                if (site.provider == "live" && site.name == name)
                    found.push_back(site);
        EXPECT_EQ(found.size(), 1u) << name;
        return found.empty() ? LiveSite{} : found.front();
    }
    static LiveSite find(std::string_view name) { return find(read_process(getpid()), name); }
    Process before_;
};

#define NEED_UPROBES()                                                                                                 \
    if (auto why = test::why_no_uprobes(); !why.empty()) {                                                             \
        GTEST_SKIP() << why;                                                                                           \
    }

TEST_F(Live, Untouched)
{
    EXPECT_EQ(before_.pid, getpid());
    EXPECT_FALSE(before_.name.empty());
    EXPECT_GE(before_.files_seen, 3u); // this program, libc, the loader
    EXPECT_TRUE(before_.trampolines.empty());
    for (const char* name : {"plain", "wide", "five", "counted"}) {
        const LiveSite site = find(before_, name);
        EXPECT_EQ(site.change, Change::untouched) << name;
        EXPECT_EQ(site.live_bytes, site.file_bytes);
        EXPECT_EQ(site.live_bytes.front(), std::byte{0x90});
        // What /proc says is what this process sees itself.
        EXPECT_EQ(std::memcmp(reinterpret_cast<const void*>(site.runtime.value), site.live_bytes.data(),
                              site.live_bytes.size()),
                  0);
    }
    EXPECT_EQ(find(before_, "wide").expected.layout, FASTSDT_LAYOUT_NOP1_NOP10);
    EXPECT_EQ(find(before_, "wide").live_bytes.size(), 11u);
    EXPECT_EQ(find(before_, "counted").semaphore_value, 0);
    EXPECT_FALSE(find(before_, "plain").semaphore_value);
}

TEST_F(Live, Breakpoints)
{
    NEED_UPROBES();
    {
        test::Uprobe a(self, find("plain").file_offset.value), b(self, find("wide").file_offset.value);
        ASSERT_EQ(a.error() | b.error(), 0);
        plain(), wide(2);
        EXPECT_EQ(a.hits(), 1u);
        EXPECT_EQ(b.hits(), 1u);
        EXPECT_EQ(find("plain").change, Change::breakpoint);
        EXPECT_EQ(find("wide").change, Change::breakpoint);
        EXPECT_EQ(find("wide").found.breakpoints, FASTSDT_BREAKPOINT_NOP1);
        EXPECT_EQ(find("five").change, Change::untouched);
    }
    EXPECT_EQ(find("plain").change, Change::untouched);
    EXPECT_EQ(find("wide").change, Change::untouched);
}

TEST_F(Live, Optimized)
{
    NEED_UPROBES();
    errno = 0;
    syscall(336);
    const int answer = errno;
    if (answer != ENXIO && answer != EPROTO)
        GTEST_SKIP() << "this kernel optimizes nothing";
    const char* name = answer == ENXIO ? "five" : "wide";
    {
        test::Uprobe probe(self, find(name).file_offset.value + 1);
        ASSERT_EQ(probe.error(), 0);
        five(), wide(3);
        const Process process = read_process(getpid());
        const LiveSite site = find(process, name);
        EXPECT_EQ(site.change, Change::optimized);
        ASSERT_EQ(process.trampolines.size(), 1u);
        EXPECT_EQ(site.target, RuntimeAddress(process.trampolines.front().start));
        test::Uprobe second(self, site.file_offset.value);
        EXPECT_EQ(find(name).change, Change::optimized);
        EXPECT_EQ(find(name).found.breakpoints, FASTSDT_BREAKPOINT_NOP1);
    }
    EXPECT_EQ(find(name).change, answer == ENXIO ? Change::untouched : Change::stale_call);
}

// A call that looks like the kernel's and is somebody else's, and bytes that are nothing known.
TEST_F(Live, WrittenBySomebodyElse)
{
    auto* const site = reinterpret_cast<uint8_t*>(find("wide").runtime.value);
    auto* const page = reinterpret_cast<uint8_t*>(reinterpret_cast<uintptr_t>(site) & ~uintptr_t{4095});
    ASSERT_EQ(mprotect(page, 2 * 4096, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
    const std::vector<uint8_t> before(site, site + 11); // on 7.2 with a stale call, if Optimized ran
    const Change change_before = find("wide").change;
    const auto becomes = [&](std::initializer_list<uint8_t> bytes) {
        std::copy(bytes.begin(), bytes.end(), site + 1);
        const LiveSite found = find("wide");
        std::copy(before.begin(), before.end(), site);
        return found;
    };
    const auto call = becomes({0x48, 0x8d, 0x64, 0x24, 0x80, 0xe8, 0x10, 0, 0, 0});
    EXPECT_EQ(call.change, Change::foreign_call);
    EXPECT_EQ(call.target, call.runtime + (11 + 16));
    const auto jump = becomes({0x66, 0x2e, 0x48, 0xe9, 0xf8, 0xff, 0xff, 0xff});
    EXPECT_EQ(jump.change, Change::jump);
    EXPECT_EQ(jump.target, jump.runtime + 1);
    EXPECT_EQ(becomes({0x66, 0x8d, 0x64, 0x24, 0x80, 0xe8, 0, 0, 0, 0}).change, Change::damaged);
    EXPECT_EQ(becomes({0xcc, 0x8d, 0x64, 0x24, 0x80, 0xe8, 0, 0, 0, 0}).change, Change::updating);
    EXPECT_EQ(becomes({0x66, 0x2e, 0x0f, 0x1f, 0x84, 0xe8, 1, 2, 3, 4}).change, Change::stale_call);
    EXPECT_EQ(becomes({0x12, 0x34}).change, Change::changed);
    EXPECT_EQ(find("wide").change, change_before);
    mprotect(page, 2 * 4096, PROT_READ | PROT_EXEC);
}

// The page with the site becomes a copy in anonymous memory, and then inaccessible.
TEST_F(Live, TextReplacedOrClosed)
{
    const uint64_t runtime = find("wide").runtime.value;
    const pid_t child = fork();
    if (child == 0) {
        const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
        auto* const at = reinterpret_cast<void*>(runtime & ~(page - 1));
        std::vector<char> copy(page);
        std::memcpy(copy.data(), at, page);
        // Not the page that this code is on.
        const auto here = []() __attribute__((noinline)) {
            return reinterpret_cast<uintptr_t>(__builtin_return_address(0));
        }();
        if (here / page == runtime / page)
            _exit(77);
        void* const anonymous = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        std::memcpy(anonymous, copy.data(), page);
        mprotect(anonymous, page, PROT_READ | PROT_EXEC);
        if (mremap(anonymous, page, page, MREMAP_MAYMOVE | MREMAP_FIXED, at) != at)
            _exit(1);
        raise(SIGSTOP);
        mprotect(at, page, PROT_NONE);
        raise(SIGSTOP);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, WUNTRACED);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        GTEST_SKIP() << "the site and the test are on one page";
    ASSERT_TRUE(WIFSTOPPED(status));
    EXPECT_EQ(find(read_process(child), "wide").change, Change::remapped);
    kill(child, SIGCONT);
    waitpid(child, &status, WUNTRACED);
    ASSERT_TRUE(WIFSTOPPED(status));
    EXPECT_EQ(find(read_process(child), "wide").change, Change::unreadable);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
}

TEST_F(Live, Semaphore)
{
    auto* const semaphore = reinterpret_cast<unsigned short*>(
        find("counted").runtime.value - find("counted").address.value + find("counted").semaphore.value);
    *semaphore = 3;
    EXPECT_EQ(find("counted").semaphore_value, 3);
    *semaphore = 0;
}

std::string why_not(pid_t pid)
{
    try {
        read_process(pid);
    } catch (const Unusable& error) {
        return error.what();
    }
    return {};
}

TEST_F(Live, NoSuchProcess)
{
    const pid_t child = fork();
    if (child == 0)
        _exit(0);
    siginfo_t info;
    ASSERT_EQ(waitid(P_PID, child, &info, WEXITED | WNOWAIT), 0); // a zombie has no memory
    const std::string zombie = why_not(child);
    EXPECT_TRUE(zombie.ends_with("(a zombie)")) << zombie;
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    EXPECT_EQ(why_not(child), "process " + std::to_string(child) + ": there is no such process");
}

TEST_F(Live, NotAllowed)
{
    if (geteuid() != 0)
        GTEST_SKIP() << "needs root, to drop it";
    const pid_t child = fork();
    if (child == 0) {
        if (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0)
            _exit(2);
        _exit(why_not(getppid()).find("not allowed to read its memory; run as root") == std::string::npos);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    // Root of a container lacks the right, and is not told to be root.
    const pid_t bare = fork();
    if (bare == 0) {
        __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
        std::array<__user_cap_data_struct, 2> none{};
        if (syscall(SYS_capset, &header, none.data()) != 0)
            _exit(2);
        const std::string why = why_not(getppid());
        _exit(why.find("not allowed to read its memory, not even as root: CAP_SYS_PTRACE is missing")
                  == std::string::npos
              || why.find("run as root") != std::string::npos);
    }
    ASSERT_EQ(waitpid(bare, &status, 0), bare);
    EXPECT_EQ(status, 0);
}

// The file may be replaced while the process runs: the sites are still those that it has mapped.
TEST_F(Live, DeletedFile)
{
    const std::string copy = "live_test_copy";
    ASSERT_EQ(std::system(("cp /proc/" + std::to_string(getpid()) + "/exe " + copy).c_str()), 0);
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ready[1], 1);
        execl(("./" + copy).c_str(), copy.c_str(), "--wait", nullptr);
        _exit(1);
    }
    close(ready[1]);
    char byte;
    ASSERT_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    ASSERT_EQ(unlink(copy.c_str()), 0);
    const Process process = read_process(child);
    EXPECT_EQ(find(process, "wide").change, Change::untouched);
    ASSERT_FALSE(process.files.empty());
    EXPECT_TRUE(process.files.front().deleted);
    EXPECT_TRUE(process.files.front().path.ends_with(copy));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
}

} // namespace
} // namespace fastsdt

int main(int argc, char** argv)
{
    if (argc > 1 && std::string_view(argv[1]) == "--wait") {
        if (write(1, "x", 1) == 1)
            pause();
        return 0;
    }
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
