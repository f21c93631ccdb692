// SPDX-License-Identifier: BSD-2-Clause
// What stubs read of a program's memory, and when they call the kernel for it: own_site.h.
#include "own_site.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <set>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <vector>

using namespace fastsdt::engine;

namespace {

const std::string by_string = "usdt:*:p:n { @[str(arg0)] = count(); @hits = count(); }";

/// Pages with nothing before and behind them.
class Pages {
public:
    explicit Pages(size_t count) : size_(4096 * count)
    {
        all_ = static_cast<char*>(mmap(nullptr, size_ + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        mprotect(start(), size_, PROT_READ | PROT_WRITE);
    }
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;
    ~Pages() { munmap(all_, size_ + 8192); }
    char* start() const { return all_ + 4096; }
    char* end() const { return start() + size_; }
    Lasting lasting() const { return {uint64_t(start()), uint64_t(end())}; }

private:
    size_t size_;
    char* all_;
};

Environment without_calls()
{
    Environment environment = own_environment();
    environment.system_calls = false;
    return environment;
}

void hit(const OwnRun& run, const void* at)
{
    Processor state;
    state.gpr[RAX] = uint64_t(at);
    run.pass(state);
}

/// What the kernel does about the calls of stubs. In a child, since a filter stays.
bool filter(uint32_t action)
{
    std::vector<sock_filter> code = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
    for (const long number : {SYS_process_vm_readv, SYS_gettid, SYS_rt_sigprocmask}) {
        code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, uint32_t(number), 0, 1));
        code.push_back(BPF_STMT(BPF_RET | BPF_K, action));
    }
    code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    const sock_fprog program = {static_cast<unsigned short>(code.size()), code.data()};
    return prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) == 0
        && prctl(PR_SET_SECCOMP, long(SECCOMP_MODE_FILTER), &program) == 0;
}

/// The exit status of `work` in a child; 1000 and more: the signal that ended it.
int in_child(const std::function<int()>& work)
{
    const pid_t pid = fork();
    if (pid == 0)
        _exit(work());
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

} // namespace

// Places of a page and lengths: nothing behind the page is touched.
TEST(Reads, StringsInLastingMemory)
{
    const Pages pages(1);
    Environment direct = without_calls();
    direct.always = {pages.lasting()};
    for (const size_t length : {0, 1, 7, 8, 9, 31, 62, 63, 64, 100}) {
        for (char* at = pages.start(); at < pages.end();
             at += at + 200 < pages.end() && at > pages.start() + 80 ? 997 : 1) {
            std::fill(pages.start(), pages.end(), '#');
            const bool ends = at + length < pages.end();
            std::fill(at, std::min(at + length, pages.end()), 'x');
            if (ends)
                at[length] = 0;
            const OwnRun run(by_string, usdt("8@%rax"), direct);
            hit(run, at);
            const Maps maps = run.maps();
            if (ends || at + 63 < pages.end()) {
                ASSERT_EQ(maps.maps[0].size(), 1u) << length << " at " << at - pages.start();
                EXPECT_EQ(maps.maps[0][0].keys[0].text, std::string(std::min<size_t>(length, 63), 'x'));
                EXPECT_EQ(maps.unread, 0u);
            } else { // it may go on behind the page
                EXPECT_TRUE(maps.maps[0].empty()) << length << " at " << at - pages.start();
                EXPECT_EQ(maps.unread, 1u);
            }
            EXPECT_EQ(maps.maps[1].size(), maps.maps[0].size());
        }
    }
}

// Memory that is mapped for us too, elsewhere: that is read, and no byte of the program's own, which is gone here.
TEST(Reads, WhatIsMappedAgain)
{
    const Pages again(1), gone(1);
    std::fill(again.start(), again.end(), 'x');
    std::strcpy(again.start() + 100, "from the copy");
    std::strcpy(again.end() - 6, "short");
    mprotect(gone.start(), 4096, PROT_NONE);
    Lasting copied = gone.lasting();
    copied.away = again.start() - gone.start();
    const Lasting code{uint64_t(own_site) / 4096 * 4096, uint64_t(own_site) / 4096 * 4096 + 4096};
    for (const bool by_site : {false, true})
        for (const bool calls : {false, true}) {
            Environment environment = calls ? own_environment() : without_calls();
            if (by_site)
                environment.modules = {{code.start, code.end, copied}};
            else
                environment.always = {copied};
            const auto read = [&](const std::string& script, const char* operands,
                                  std::initializer_list<const char*> places) {
                const OwnRun run(script, usdt(operands), environment);
                for (const char* at : places)
                    hit(run, at);
                return run.maps();
            };
            Maps maps = read(by_string, "8@%rax", {gone.start() + 100, gone.end() - 6, gone.end() - 5});
            EXPECT_EQ(maps.unread, 0u);
            std::set<std::string> found;
            for (const Entry& entry : maps.maps[0])
                found.insert(entry.keys[0].text);
            EXPECT_EQ(found, (std::set<std::string>{"from the copy", "short", "hort"}));
            again.end()[-1] =
                'x'; // it may go on behind: if it may be called the kernel looks at the program's own, and finds nothing
            maps = read(by_string, "8@%rax", {gone.end() - 6});
            again.end()[-1] = 0;
            EXPECT_EQ(maps.unread, calls ? 0u : 1u);
            ASSERT_EQ(maps.maps[0].size(), calls ? 1u : 0u);
            if (calls) {
                EXPECT_EQ(maps.maps[0][0].keys[0].text, "");
            }
            maps = read("usdt:*:p:n { @a = arg0; @b = arg1; }", "8@(%rax) 1@(%rax)", {gone.start() + 100});
            EXPECT_EQ(maps.unread, 0u);
            int64_t word = 0;
            std::memcpy(&word, again.start() + 100, sizeof word);
            EXPECT_EQ(maps.maps[0].at(0).value.number, word);
            EXPECT_EQ(maps.maps[1].at(0).value.number, 'f');
            maps = read("usdt:*:p:n { @a = arg0; }", "8@(%rax)", {gone.end() - 4}); // not all of it is there
            EXPECT_EQ(maps.unread, calls ? 0u : 1u);
        }
}

TEST(Reads, OfEachKindOfMemory)
{
    const Pages always(2), module(1), elsewhere(1);
    for (char* page : {always.start(), module.start(), elsewhere.start()})
        std::strcpy(page, "text");
    std::strcpy(always.start() + 4090, "across pages");
    Environment environment = without_calls();
    environment.always = {always.lasting()};
    // That of the site is not the one with the text here.
    const Lasting code{uint64_t(own_site) / 4096 * 4096, uint64_t(own_site) / 4096 * 4096 + 4096};
    environment.modules = {{module.lasting().start, module.lasting().end, module.lasting()},
                           {code.start, code.end, code}};
    const auto read = [&](const void* at, const Environment& with) {
        const OwnRun run(by_string, usdt("8@%rax"), with);
        hit(run, at);
        const Maps maps = run.maps();
        EXPECT_EQ(maps.maps[0].size() + maps.unread, 1u);
        return maps.unread ? std::string("unread") : maps.maps[0].at(0).keys[0].text;
    };
    EXPECT_EQ(read(always.start(), environment), "text");
    EXPECT_EQ(read(always.start() + 4090, environment), "across pages");
    EXPECT_EQ(read(module.start(), environment), "unread"); // of another module than the site's
    EXPECT_EQ(read(elsewhere.start(), environment), "unread");
    EXPECT_EQ(read(nullptr, environment), "");
    EXPECT_EQ(read(reinterpret_cast<void*>(8), environment), "");
    EXPECT_EQ(read(reinterpret_cast<void*>(~uintptr_t(7)), environment), "unread");
    EXPECT_EQ(read(reinterpret_cast<void*>(uintptr_t(1) << 63), environment), "unread");
    EXPECT_EQ(read(elsewhere.start(), own_environment()), "text"); // by the kernel
    EXPECT_EQ(read(reinterpret_cast<void*>(~uintptr_t(7)), own_environment()), "");

    // The site's own module.
    const auto* const nop = reinterpret_cast<const char*>(own_site) + 9; // the nop10's last byte, 0, stays
    EXPECT_EQ(read(nop, environment), "");
}

// The whole of the main thread's stack from the stack pointer up; of other stacks the page of the stack pointer.
TEST(Reads, OfTheStack)
{
    char far[64] = "far up the stack";
    const std::function<void(const Environment&, std::string&, std::string&)> below =
        [&](const Environment& with, std::string& near_found, std::string& far_found) {
            [[maybe_unused]] volatile char room[3 * 4096];
            room[0] = 0;
            for (const bool is_far : {false, true}) {
                const OwnRun run("usdt:*:p:n { @[str(arg0)] = count(); }", usdt(is_far ? "8@%rax" : "8@%rsp"), with);
                // The pass pushes what it needs, and the stack pointer leads to that: some bytes of a number.
                hit(run, far);
                const Maps maps = run.maps();
                (is_far ? far_found : near_found) = maps.unread ? "unread"
                    : is_far                                    ? maps.maps[0].at(0).keys[0].text
                                                                : std::string("read");
            }
        };
    std::string near_found, far_found;
    Environment environment = without_calls();
    below(environment, near_found, far_found);
    EXPECT_EQ(far_found, "unread");
    const uint64_t here = uint64_t(&far) / 4096 * 4096;
    environment.stack = {here - (size_t(1) << 17), here + 8192};
    below(environment, near_found, far_found);
    EXPECT_EQ(near_found, "read");
    EXPECT_EQ(far_found, "far up the stack");
    environment.stack = {here + 4096, here + 8192}; // the stack pointer is not in it
    below(environment, near_found, far_found);
    EXPECT_EQ(far_found, "unread");
}

// The clause ends where a value is missing, the others go on; filters as well.
TEST(Reads, WhatIsMissingEndsTheClause)
{
    const Pages pages(1);
    std::strcpy(pages.start(), "text");
    const OwnRun run("usdt:*:p:n { @before = count(); @[str(arg0)] = count(); @after = count(); }"
                     "usdt:*:p:n /arg1 == 0/ { @filtered = count(); }"
                     "usdt:*:p:n { @other = count(); }",
                     usdt("8@%rax 8@8(%rax)"), without_calls());
    for (int i = 0; i < 10; ++i)
        hit(run, pages.start());
    const Maps maps = run.maps();
    EXPECT_EQ(maps.maps[0].at(0).number, 10);
    EXPECT_TRUE(maps.maps[1].empty());
    EXPECT_TRUE(maps.maps[2].empty());
    EXPECT_TRUE(maps.maps[3].empty());
    EXPECT_EQ(maps.maps[4].at(0).number, 10);
    EXPECT_EQ(maps.unread, 20u);
}

TEST(Reads, WordsOfEachSize)
{
    const Pages pages(1);
    for (size_t i = 0; i < 4096; ++i)
        pages.start()[i] = char(0x80 + i * 7 % 128);
    Environment direct = without_calls();
    direct.always = {pages.lasting()};
    const std::string text = "usdt:*:p:n { @a = arg0; @b = arg1; @c = arg2; @d = arg3; @e = arg4; }";
    const char* const operands = "8@(%rax) 4@(%rax) -4@(%rax) 2@(%rax) -1@(%rax)";
    for (char* at = pages.start(); at + 8 <= pages.end(); at += at + 30 < pages.end() ? 501 : 1) {
        const auto read = [&](const Environment& environment) {
            const OwnRun run(text, usdt(operands), environment);
            hit(run, at);
            return run.maps();
        };
        const Maps expected = read(own_environment()), maps = read(direct);
        for (size_t map = 0; map < 5; ++map)
            EXPECT_EQ(maps.maps[map].at(0).value.number, expected.maps[map].at(0).value.number) << map;
        EXPECT_EQ(maps.unread, 0u);
    }
    const OwnRun run("usdt:*:p:n { @ = arg0; }", usdt("8@(%rax)"), direct);
    hit(run, pages.end() - 7);
    EXPECT_EQ(run.maps().unread, 1u);
}

// A filter that came unseen: it refuses a call once, and no stub makes another.
TEST(Reads, AFilterThatRefusesIsNoticed)
{
    const Pages pages(1);
    std::strcpy(pages.start(), "text");
    const OwnRun run("usdt:*:p:n { @[str(arg0)] = count(); } usdt:*:p:n { @tids[tid] = count(); }"
                     "usdt:*:p:n { @words[arg1] = count(); }",
                     usdt("8@%rax 8@(%rax)"));
    EXPECT_EQ(in_child([&] {
                  if (!filter(SECCOMP_RET_ERRNO | EACCES))
                      return 1;
                  hit(run, pages.start());
                  Maps maps = run.maps();
                  if (maps.unread != 3 || !maps.maps[0].empty() || !maps.maps[1].empty() || !maps.maps[2].empty())
                      return 2;
                  if (!filter(SECCOMP_RET_KILL_PROCESS))
                      return 3;
                  hit(run, pages.start());
                  maps = run.maps();
                  return maps.unread == 6 && maps.maps[0].empty() ? 0 : 4;
              }),
              0);
}

TEST(Reads, NoCallsOnceTheyAreForbidden)
{
    const Pages pages(1);
    std::strcpy(pages.start(), "text");
    const OwnRun run("usdt:*:p:n { @[str(arg0)] = count(); } usdt:*:p:n { @tids[tid] = count(); }"
                     "usdt:*:p:n { @words[arg1] = count(); }",
                     usdt("8@%rax 8@(%rax)"));
    hit(run, pages.start());
    EXPECT_EQ(run.maps().unread, 0u);
    EXPECT_EQ(run.maps().maps[0].at(0).keys[0].text, "text");
    const uint64_t yes = 1;
    std::memcpy(run.data + Tables::no_calls, &yes, sizeof yes);
    EXPECT_EQ(in_child([&] {
                  if (!filter(SECCOMP_RET_KILL_PROCESS))
                      return 1;
                  hit(run, pages.start());
                  return run.maps().unread == 3 ? 0 : 2;
              }),
              0);
    // It can fail.
    std::memset(run.data + Tables::no_calls, 0, sizeof yes);
    EXPECT_EQ(in_child([&] { return filter(SECCOMP_RET_KILL_PROCESS) ? (hit(run, pages.start()), 0) : 1; }),
              1000 + SIGSYS);
}

// A forked child may have set a filter: its stubs call nothing, also in a filter, which runs before the slot is known.
TEST(Reads, AForkedChildMakesNoCalls)
{
    const Pages pages(1);
    OwnRun run("usdt:*:p:n /arg1 != 5/ { @[str(arg0)] = count(); }", usdt("8@%rax 8@(%rax)"));
    EXPECT_EQ(in_child([&] {
                  run.forked(true);
                  if (!filter(SECCOMP_RET_KILL_PROCESS))
                      return 1;
                  hit(run, pages.start());
                  return 0;
              }),
              0);
    EXPECT_EQ(run.maps().unread, 0u);
}
