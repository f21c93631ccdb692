// SPDX-License-Identifier: BSD-2-Clause
//
// The sites of this process, one at each place of a cache line, are switched while its threads pass them. No pass may
// be lost, torn or counted twice. A site that cannot be switched so is refused. FASTSDT_TOGGLES sets another number of
// switches than 10^5.
#include "arming/arm.h"
#include "base/unusable.h"
#include "code/stubs.h"
#include "maps/read.h"
#include "process/self.h"
#include "program.h"
#include "script/parse.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

// 64 sites, the Nth N bytes into a cache line. Code before them fills registers, carry and red zone; code behind them
// looks at these and returns what was changed, by bit. The function begins a page: so only a site that could not be
// armed anyway crosses the page's end.
asm(R"(
    .text
    .globl line_pass, line_sites
    .type line_pass, @function
    .p2align 12
line_pass:
    push %rbx
    push %rbp
    push %r12
    push %r13
    mov $0x1111111111111111, %rbx
    mov $0x2222222222222222, %rcx
    mov $0x3333333333333333, %rdx
    mov %rsp, %rbp
    mov $0x4444444444444444, %r12
    mov $0x5555555555555555, %r13
    mov %rbx, -8(%rsp)
    mov %rcx, -64(%rsp)
    mov %rdx, -128(%rsp)
    mov $0x6666666666666666, %rax
    stc
line_sites:
    .set i, 0
    .rept 64
    jmp 1f
    .p2align 6, 0xcc
    .fill i, 1, 0xcc
1:  .byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0
    .set i, i+1
    .endr
    .set no, 0
    setnc %sil
    movzbl %sil, %esi
    mov $0x6666666666666666, %rdi
    cmp %rdi, %rax
    je 1f
    or $2, %esi
1:  mov $0x1111111111111111, %rdi
    cmp %rdi, %rbx
    jne 2f
    cmp %rdi, -8(%rsp)
    je 1f
2:  or $4, %esi
1:  mov $0x2222222222222222, %rdi
    cmp %rdi, %rcx
    jne 2f
    cmp %rdi, -64(%rsp)
    je 1f
2:  or $8, %esi
1:  mov $0x3333333333333333, %rdi
    cmp %rdi, %rdx
    jne 2f
    cmp %rdi, -128(%rsp)
    je 1f
2:  or $16, %esi
1:  cmp %rsp, %rbp
    je 1f
    or $32, %esi
1:  mov $0x4444444444444444, %rdi
    cmp %rdi, %r12
    je 1f
    or $64, %esi
1:  mov $0x5555555555555555, %rdi
    cmp %rdi, %r13
    je 1f
    or $128, %esi
1:  mov %esi, %eax
    mov %rbp, %rsp
    pop %r13
    pop %r12
    pop %rbp
    pop %rbx
    ret
    .size line_pass, . - line_pass
)");
extern "C" int line_pass();
extern "C" unsigned char line_sites[];

// What the test does, as this thread, when it asks for a barrier of all threads.
static thread_local const std::function<void()>* at_barrier = nullptr;

// Takes the place of the C library's function, so that the engine's barriers can be seen.
extern "C" long syscall(long number, ...) noexcept
{
    va_list list;
    va_start(list, number);
    const long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long);
    register long d asm("r10") = va_arg(list, long);
    register long e asm("r8") = va_arg(list, long);
    register long f asm("r9") = va_arg(list, long);
    va_end(list);
    if (number == SYS_membarrier && a == MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE && at_barrier)
        (*at_barrier)();
    long result = 0;
    asm volatile("syscall"
                 : "=a"(result)
                 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(d), "r"(e), "r"(f)
                 : "rcx", "r11", "memory");
    if (result < 0 && result > -4096) {
        errno = static_cast<int>(-result);
        return -1;
    }
    return result;
}

namespace fastsdt::engine {
namespace {

constexpr size_t places = 64, length = 10;
constexpr unsigned char nop10[length] = {0x66, 0x2e, 0x0f, 0x1f, 0x84};

// The sites, found by their bytes: the Nth of line_sites is N bytes into a line.
std::vector<Site> line()
{
    std::vector<Site> sites;
    for (const unsigned char* at = line_sites; sites.size() < places; ++at)
        if (uintptr_t(at) % places == sites.size() && std::memcmp(at, nop10, length) == 0) {
            Site site;
            site.patch = site.address = uint64_t(at);
            site.length = length;
            site.arguments = "8@$" + std::to_string(sites.size());
            site.clauses = {0};
            sites.push_back(site);
        }
    return sites;
}

// Whether a thread could see half of the exchange at a place: two bytes lie in two blocks of 16, or eight in two lines.
bool in_halves(size_t place)
{
    return place % 16 == 13 || place + 8 > places;
}

Environment here()
{
    Environment environment;
    environment.pid = getpid();
    environment.rdfsbase = getauxval(AT_HWCAP2) & 2; // HWCAP2_FSGSBASE
    environment.stored_thread_pointers = true;       // by the C library
    environment.system_calls = true;
    environment.threads_run = true;
    return environment;
}

struct OwnSites {
    explicit OwnSites(const std::string& text = "usdt:f:p:n { @[arg0] = count(); }")
        : script(parse(text)), tables(lay_out(script)), target(open_self()),
          arming(
              *target,
              [this](std::span<const Site> sites, const Arena& arena) {
                  return compile(script, tables, sites, arena, here());
              },
              Needs{tables.least}, [this](Window window) { return first_words(tables, window); })
    {}
    Window window() const { return by_hand.size ? by_hand : arming.window(); }
    ReadData reader()
    {
        return [this](size_t offset, size_t size) { return target->read_data(offset, size); };
    }
    Maps maps() { return read_tables(script, tables, window(), reader()); }
    std::vector<Piece> contents() { return fastsdt::engine::contents(tables, window(), reader()); }
    // Counts by place.
    std::vector<uint64_t> counts()
    {
        std::vector<uint64_t> counts(places);
        const Maps all = maps();
        for (const Entry& entry : all.maps.at(0))
            counts.at(size_t(entry.keys.at(0).number)) += uint64_t(entry.number);
        return counts;
    }
    Script script;
    Tables tables;
    std::unique_ptr<Target> target;
    Arming arming;
    Window by_hand; ///< tables that were not allocated by arming
};

// Runs `work` in a child; 0 means success.
template <class F> int in_child(F&& work)
{
    const pid_t pid = fork();
    if (pid == 0)
        _exit(work());
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::vector<unsigned char> bytes_of(const std::vector<Site>& sites)
{
    const auto* const first = reinterpret_cast<const unsigned char*>(sites.front().patch);
    return {first, reinterpret_cast<const unsigned char*>(sites.back().patch) + length};
}

TEST(Self, EachPlaceOfALine)
{
    const auto sites = line();
    const auto before = bytes_of(sites);
    OwnSites run;
    run.arming.arm(sites);
    EXPECT_EQ(line_pass(), 0);
    EXPECT_EQ(line_pass(), 0);
    const auto counts = run.counts();
    for (size_t i = 0; i < places; ++i) {
        const SiteState& state = run.arming.states()[i];
        const bool crosses = sites[i].patch % 4096 + length > 4096;
        EXPECT_EQ(text(state),
                  crosses            ? "crosses a page"
                      : in_halves(i) ? "lies so that it cannot change while threads run"
                                     : "armed")
            << i;
        EXPECT_EQ(counts[i], in_halves(i) ? 0u : 2u) << i;
    }
    run.arming.disarm();
    EXPECT_EQ(bytes_of(sites), before);
    EXPECT_EQ(line_pass(), 0);
    EXPECT_EQ(run.counts(), counts);

    // The same stubs again, from zero.
    const size_t mapped = run.target->mappings().size();
    run.target->forget_data(run.contents());
    for (int i = 0; i < 20; ++i) {
        run.arming.arm({});
        EXPECT_EQ(line_pass(), 0);
        run.arming.disarm();
    }
    EXPECT_EQ(run.target->mappings().size(), mapped);
    for (size_t i = 0; i < places; ++i)
        EXPECT_EQ(run.counts()[i], in_halves(i) ? 0u : 20u) << i;
}

// Threads pass all the time. The passes between arming and disarming have to be counted, and no others.
TEST(Self, EveryPassIsAccountedFor)
{
    const char* const wanted = std::getenv("FASTSDT_TOGGLES");
    const size_t toggles = wanted ? std::strtoull(wanted, nullptr, 10) : 100'000;
    std::vector<Site> sites;
    for (const Site& site : line())
        if (!in_halves(site.patch % places))
            sites.push_back(site);
    OwnSites run;
    const Window window = run.by_hand = run.target->allocate_data({run.tables.least});
    for (const FirstWord& word : first_words(run.tables, window))
        ASSERT_TRUE(run.target->change_data(word.offset, 0, word.value));
    std::vector<uint64_t> near;
    for (const Site& site : sites)
        near.push_back(site.patch);
    const Arena arena = run.target->allocate_code(near, 1 << 20);
    ASSERT_NE(arena.code, 0u);
    ASSERT_EQ(arena.data, window.address);
    const Code code = compile(run.script, run.tables, sites, arena, here());
    run.target->write_code(arena.code, code.bytes);

    constexpr size_t count = 8;
    struct alignas(64) Passes {
        std::atomic<uint64_t> done = 0;
    };
    std::vector<Passes> passes(count);
    std::atomic<bool> stop = false;
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (size_t i = 0; i < count; ++i)
        threads.emplace_back([&, i] {
            while (!stop) {
                wrong |= line_pass();
                passes[i].done.fetch_add(1);
            }
        });
    const auto all_passes = [&] {
        uint64_t sum = 0;
        for (const Passes& p : passes)
            sum += p.done;
        return sum;
    };
    const auto switched = [&](bool back) {
        for (const Target::Outcome outcome : run.target->patch(code.patches, back))
            ASSERT_EQ(outcome, Target::Outcome::done);
    };
    uint64_t least = 0, most = 0;
    for (size_t done = 0; done < toggles; done += 2 * sites.size()) {
        const uint64_t outer_start = all_passes();
        switched(false);
        const uint64_t start = all_passes();
        if (done % (64 * sites.size()) == 0) // wait for some armed passes, and for their being counted
            while (all_passes() < start + 4 * count)
                std::this_thread::yield();
        const uint64_t end = all_passes();
        switched(true);
        // Each thread may be in a pass during which the sites were armed or disarmed.
        least += end - start > count ? end - start - count : 0;
        most += all_passes() - outer_start + count;
    }
    stop = true;
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(wrong, 0);
    const auto counts = run.counts();
    for (const Site& site : sites) {
        EXPECT_GE(counts[site.patch % places], least) << site.patch % places;
        EXPECT_LE(counts[site.patch % places], most) << site.patch % places;
    }
    EXPECT_GT(least, 0u);
    for (const Site& site : sites)
        EXPECT_EQ(std::memcmp(reinterpret_cast<const void*>(site.patch), nop10, length), 0);
    EXPECT_EQ(line_pass(), 0);
    EXPECT_EQ(run.counts(), counts);
    std::printf("%zu switches of %zu sites, %lu passes, between %lu and %lu armed\n", toggles, sites.size(),
                (unsigned long)all_passes(), (unsigned long)least, (unsigned long)most);
}

// What threads could see at each barrier of a change, by the order at the head of self.cpp. No test can see a processor that
// mixes two steps, so the steps themselves are looked at.
TEST(Self, ABarrierBehindEachStep)
{
    std::vector<Site> sites;
    for (const Site& site : line())
        if (!in_halves(site.patch % places) && site.patch % 4096 + length <= 4096)
            sites.push_back(site);
    using Bytes = std::array<unsigned char, length>;
    const auto now = [&] {
        std::vector<Bytes> all(sites.size());
        for (size_t i = 0; i < sites.size(); ++i)
            std::memcpy(all[i].data(), reinterpret_cast<const void*>(sites[i].patch), length);
        return all;
    };
    std::vector<std::vector<Bytes>> seen;
    const std::function<void()> look = [&] { seen.push_back(now()); };
    OwnSites run;
    const auto nops = now();
    at_barrier = &look;
    run.arming.arm(sites);
    at_barrier = nullptr;
    const auto jumps = now();
    auto between = nops, back = jumps;
    size_t in_two_steps = 0;
    for (size_t i = 0; i < sites.size(); ++i) {
        constexpr unsigned char jump[] = {0x66, 0x2e, 0x48, 0xe9};
        EXPECT_EQ(std::memcmp(jumps[i].data(), jump, sizeof jump), 0);
        if (sites[i].patch % 16 + 8 <= 16)
            continue; // at once
        ++in_two_steps;
        EXPECT_EQ(jumps[i][4], nops[i][4]);
        std::copy_n(&jumps[i][4], 4, &between[i][4]); // a nop10 with the jump's end
        back[i] = between[i];
    }
    EXPECT_GT(in_two_steps, 0u);
    EXPECT_LT(in_two_steps, sites.size());
    EXPECT_EQ(seen, (std::vector{between, jumps}));
    seen.clear();
    at_barrier = &look;
    run.arming.disarm();
    at_barrier = nullptr;
    EXPECT_EQ(seen, (std::vector{back, nops}));
}

// Whether a thread of this process waits for a lock. Allocates nothing, since the thread may have the allocator's.
bool waits_for_a_lock(pid_t thread)
{
    char path[64], text[128];
    std::snprintf(path, sizeof path, "/proc/self/task/%d/syscall", thread); // NUMBER ARGUMENT..., or "running"
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t size = read(file, text, sizeof text - 1);
    close(file);
    text[std::max<ssize_t>(size, 0)] = 0;
    return std::strtol(text, nullptr, 10) == SYS_futex;
}

// A module whose text is changed must not go meanwhile, and another come to its place.
TEST(Self, NoModuleGoesDuringAChange)
{
    void* const module = dlopen(test::beside_us("libengine_module.so").c_str(), RTLD_NOW);
    ASSERT_NE(module, nullptr) << dlerror();
    std::atomic<pid_t> number = 0;
    std::atomic<bool> begin = false, closed = false;
    std::thread closes([&] {
        number = gettid();
        while (!begin)
            std::this_thread::yield();
        dlclose(module);
        closed = true;
    });
    while (number == 0)
        std::this_thread::yield();
    bool during = false;
    const std::function<void()> close_now = [&] {
        begin = true;
        while (!closed && !waits_for_a_lock(number))
            std::this_thread::yield();
        during = during || closed;
    };
    OwnSites run;
    at_barrier = &close_now;
    run.arming.arm(line());
    at_barrier = nullptr;
    EXPECT_TRUE(begin);
    EXPECT_FALSE(during);
    begin = true;
    closes.join();
    EXPECT_TRUE(closed);
}

// Armed all the time: every pass of eight threads is there, exactly.
TEST(Self, CountsAreExactUnderThreads)
{
    OwnSites run("usdt:f:p:n { @[arg0] = count(); @sum = sum(arg0); @n[tid] = count(); }");
    run.arming.arm(line());
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([&] {
            for (int n = 0; n < 2000; ++n)
                wrong |= line_pass();
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(wrong, 0);
    const Maps maps = run.maps();
    EXPECT_EQ(maps.dropped, 0u);
    int64_t sites = 0, places_sum = 0;
    for (const Entry& entry : maps.maps.at(0)) {
        EXPECT_EQ(entry.number, 8 * 2000);
        ++sites;
        places_sum += entry.keys[0].number;
    }
    EXPECT_EQ(maps.maps.at(1).at(0).number, 8 * 2000 * places_sum);
    EXPECT_EQ(maps.maps.at(2).size(), 8u);
    for (const Entry& entry : maps.maps.at(2))
        EXPECT_EQ(entry.number, 2000 * sites);
}

TEST(Self, TwoScriptsShareNoSite)
{
    OwnSites first, second;
    auto sites = line();
    sites.resize(4);
    first.arming.arm({sites[0], sites[1]});
    second.arming.arm(sites);
    EXPECT_EQ(text(second.arming.states()[1]), "taken by another script of the same tracer");
    EXPECT_EQ(second.arming.states()[2].state, State::armed);
    line_pass();
    EXPECT_EQ(first.counts()[1], 1u);
    EXPECT_EQ(second.counts()[1], 0u);
    first.arming.disarm();
    second.arming.arm({}); // arms the sites that have become free
    EXPECT_EQ(second.arming.states()[1].state, State::armed);
    line_pass();
    EXPECT_EQ(first.counts()[1], 1u);
    EXPECT_EQ(second.counts()[1], 1u);
}

// The rest of a kernel's call: a thread may stand before it, and the process itself cannot know.
TEST(Self, RestOfAKernelsCall)
{
    auto sites = line();
    sites = {sites[16]};
    auto* const at = reinterpret_cast<unsigned char*>(sites[0].patch);
    const auto page = uintptr_t(at) / 4096 * 4096;
    ASSERT_EQ(mprotect(reinterpret_cast<void*>(page), 4096, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
    at[5] = 0xe8;
    ASSERT_EQ(mprotect(reinterpret_cast<void*>(page), 4096, PROT_READ | PROT_EXEC), 0);
    OwnSites run;
    run.arming.arm(sites);
    EXPECT_EQ(text(run.arming.states()[0]), "has the rest of a kernel's call");
    EXPECT_EQ(at[5], 0xe8);
    ASSERT_EQ(mprotect(reinterpret_cast<void*>(page), 4096, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
    at[5] = 0;
    ASSERT_EQ(mprotect(reinterpret_cast<void*>(page), 4096, PROT_READ | PROT_EXEC), 0);
    run.arming.arm({});
    EXPECT_EQ(run.arming.states()[0].state, State::armed);
}

TEST(Self, ForkedChild)
{
    auto sites = line();
    sites.resize(8);
    OwnSites run;
    run.arming.arm(sites);
    line_pass();
    // The child inherits the jumps, is not counted, and may trace itself.
    EXPECT_EQ(in_child([&] {
                  if (line_pass() != 0 || run.counts()[3] != 1)
                      return 1;
                  OwnSites own;
                  own.arming.arm(sites);
                  if (own.arming.states()[3].state != State::armed)
                      return 2;
                  if (line_pass() != 0 || own.counts()[3] != 1 || run.counts()[3] != 1)
                      return 3;
                  own.arming.disarm();
                  return std::memcmp(reinterpret_cast<void*>(sites[3].patch), nop10, length) == 0 ? 0 : 4;
              }),
              0);
    line_pass();
    EXPECT_EQ(run.counts()[3], 2u);
}

int refused(const std::string& part)
{
    try {
        OwnSites run;
        run.arming.arm(line());
        std::fprintf(stderr, "it was armed\n");
        return 1;
    } catch (const Unusable& e) {
        if (std::string(e.what()).find(part) != std::string::npos)
            return line_pass();
        std::fprintf(stderr, "%s\n", e.what());
        return 2;
    }
}

TEST(Self, SeccompFilter)
{
    const auto filter = [] {
        sock_filter allow = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
        const sock_fprog program = {1, &allow};
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    };
    EXPECT_EQ(in_child([&] { return filter() == 0 ? refused("has a seccomp filter") : 3; }), 0);
    // A filter that is installed later: armed sites stay armed and go on counting.
    EXPECT_EQ(in_child([&] {
                  OwnSites run;
                  run.arming.arm(line());
                  if (filter() != 0)
                      return 3;
                  try {
                      run.arming.disarm();
                      return 4;
                  } catch (const Unusable&) {
                      line_pass();
                      return run.counts()[0] == 1 ? 0 : 5;
                  }
              }),
              0);
}

TEST(Self, TextThatMayNotBecomeWritable)
{
    const int result = in_child([] {
        if (prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) != 0)
            return 77;
        return refused("PR_SET_MDWE");
    });
    if (result == 77)
        GTEST_SKIP() << "this kernel has no PR_SET_MDWE (6.3)";
    EXPECT_EQ(result, 0);
}

TEST(Self, NotDumpable)
{
    EXPECT_EQ(in_child([] {
                  prctl(PR_SET_DUMPABLE, 0);
                  OwnSites run;
                  run.arming.arm(line());
                  return line_pass() | (run.counts()[0] == 1 ? 0 : 256);
              }),
              0);
}

// Nothing is left writable, and no memory is ever writable and executable outside of a change.
TEST(Self, ProtectionIsPutBack)
{
    OwnSites run;
    run.arming.arm(line());
    for (const Mapping& m : run.target->mappings())
        EXPECT_FALSE(m.writable && m.executable) << m.name;
}

} // namespace
} // namespace fastsdt::engine
