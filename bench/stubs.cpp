// SPDX-License-Identifier: BSD-2-Clause
// bench_stubs: what a hit costs at a site that the user-space engine has armed in this process: nanoseconds for a turn
// of a loop around the site. The first line is the loop with an idle site. Instructions are counted by single steps:
// they are the same on every run.
#include "proc/maps.h"
#include "own_site.h"
#include "process/environment.h"

#include <benchmark/benchmark.h>

#include <csignal>
#include <iterator>
#include <memory>

using namespace fastsdt::engine;

// rdi turns; arg0 is the turn modulo 16, arg1 a constant.
extern "C" void bench_site_loop(uint64_t turns);
extern "C" unsigned char bench_site[], bench_moved[];
asm(R"(
    .text
    .globl bench_site_loop, bench_site, bench_moved
    .type bench_site_loop, @function
    .p2align 6
bench_site_loop:
    mov $1234, %esi
0:
bench_moved: # two instructions, five bytes
    mov %edi, %eax
    and $15, %eax
    .p2align 6
bench_site:
    .byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0
    dec %rdi
    jnz 0b
    ret
    .size bench_site_loop, . - bench_site_loop
)");

namespace {

struct Case {
    const char* name;
    const char* actions; // nullptr: the site is left as it is
    Probe::Kind kind = Probe::Kind::usdt;
    bool moves = false; // at instructions in place of a nop
};

constexpr Case cases[] = {
    {"idle", nullptr},
    {"empty", ""},
    {"count", "@ = count();"},
    {"count, function entry", "@ = count();", Probe::Kind::entry},
    {"count, instructions that move", "@ = count();", Probe::Kind::entry, true},
    {"count by integer key", "@[arg0] = count();"},
    {"count by two integer keys", "@[arg0, arg1] = count();"},
    {"count by string key", "@[str(arg2)] = count();"},
    {"count by string key, in the heap", "@[str(arg3)] = count();"},
    {"count by stack, 8 frames", "@[ustack] = count();"},
    {"count by ustack(dwarf), 8 frames", "@[ustack(dwarf)] = count();"},
    {"sum", "@ = sum(arg0);"},
    {"max", "@ = max(arg0);"},
    {"hist", "@ = hist(arg0);"},
    {"lhist", "@ = lhist(arg0, 0, 20, 3);"},
    {"hist by integer key", "@[arg0] = hist(arg1);"},
    {"assigned by tid", "@[tid] = arg0;"},
    {"nsecs", "@ = sum(nsecs);"},
    {"printf of two integers", "printf(\"%d %d\", arg0, arg1);"},
    {"printf of a string", "printf(\"%s\", str(arg2));"},
    {"begin of a latency", "@s[tid] = nsecs;"},
    {"both ends of a latency", "@s[tid] = nsecs; @us = hist((nsecs - @s[tid]) / 1000); delete(@s[tid]);"},
};

volatile sig_atomic_t steps = 0;

void on_step(int)
{
    steps = steps + 1;
}

/// What called the loop, for those who read frame pointers: seven functions.
struct Callers {
    struct Frame {
        const void* next;
        uint64_t address;
    } frames[7] = {};
    Callers()
    {
        for (size_t i = 0; i < std::size(frames); ++i)
            frames[i] = {i + 1 < std::size(frames) ? &frames[i + 1] : nullptr, 0x1000 + i};
    }
};

/// The same for those who go by rows: as many as a small program has, up to the outermost caller's.
std::vector<UnwindRow> rows_of_callers()
{
    constexpr uint32_t last = 0x1005, step = 5; // a place in the outermost call
    std::vector<UnwindRow> rows;
    for (uint32_t start = 0; start < last; start += step)
        rows.push_back({start, UnwindRow::frame_pointer, UnwindRow::at_own, 2});
    rows.push_back({last, UnwindRow::outermost});
    return rows;
}

void loop(uint64_t turns)
{
    const Callers callers;
    asm volatile(
        "lea -128(%%rsp), %%rsp; push %%rbp; mov %1, %%rbp; call bench_site_loop; pop %%rbp; lea 128(%%rsp), %%rsp"
        : "+D"(turns)
        : "r"(&callers)
        : "rax", "rsi", "cc", "memory");
}

/// One turn in single steps.
int instructions()
{
    struct sigaction act = {}, old = {};
    act.sa_handler = on_step;
    sigaction(SIGTRAP, &act, &old);
    steps = 0;
    const Callers callers;
    asm volatile("lea -128(%%rsp), %%rsp; push %%rbp; mov %0, %%rbp; mov $1, %%edi; pushfq; orq $0x100, (%%rsp); popfq;"
                 "call bench_site_loop; pushfq; andq $-0x101, (%%rsp); popfq; pop %%rbp; lea 128(%%rsp), %%rsp"
                 :
                 : "r"(&callers)
                 : "rax", "rdi", "rsi", "cc", "memory");
    sigaction(SIGTRAP, &old, nullptr);
    return steps;
}

void measure(benchmark::State& state, const Case& what)
{
    std::unique_ptr<OwnRun> run;
    if (what.actions) {
        static const std::unique_ptr<char[]> heap = std::make_unique<char[]>(64); // an empty string
        Site site = usdt("8@%rax 8@%rsi 8@%rsp 8@$" + std::to_string(uintptr_t(heap.get())));
        site.patch = uint64_t(bench_site);
        site.kind = what.kind;
        if (what.moves) {
            site.patch = uint64_t(bench_moved);
            site.length = 5;
            const auto* const bytes = reinterpret_cast<const std::byte*>(bench_moved);
            site.moved.bytes.assign(bytes, bytes + site.length);
        }
        const std::string probe = what.kind == Probe::Kind::usdt ? "usdt:*:p:n" : "uprobe:*:f";
        const std::string text = probe + " { " + what.actions + " }";
        Environment environment = own_environment();
        ProcessView view(getpid());
        environment.tid_offset = read_environment(parse(text), view).tid_offset; // as fastsdt-trace finds it
        environment.thread_stack = find_thread_stack(view);
        for (const fastsdt::Mapping& mapping : view.mappings())
            if (mapping.name == "[stack]")
                environment.stack = {mapping.start, mapping.end};
        run = std::make_unique<OwnRun>(text, site, environment);
        if (run->tables.modules)
            run->unwind_by(rows_of_callers());
    }
    loop(500); // slots and keys are taken
    state.counters["instructions"] = instructions();
    const bool prints = run && run->tables.ring;
    const uint64_t turns = prints ? usual_ring_size / run->tables.most_record : 100'000; // what fits
    for (auto _ : state) {
        loop(turns);
        if (prints) {
            state.PauseTiming();
            benchmark::DoNotOptimize(run->events());
            state.ResumeTiming();
        }
    }
    // In units of the library: seconds.
    state.counters["hit"] = benchmark::Counter(double(turns) * double(state.iterations()),
                                               benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

} // namespace

int main(int argc, char** argv)
{
    for (const Case& each : cases)
        benchmark::RegisterBenchmark(each.name, [&each](benchmark::State& state) { measure(state, each); });
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv))
        return 2;
    benchmark::RunSpecifiedBenchmarks();
}
