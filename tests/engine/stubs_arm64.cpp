// SPDX-License-Identifier: BSD-2-Clause
// Stubs for arm64, compiled here and executed by runner_arm64.c, which may run under qemu-user: arm64.sh.
#include "code/arm64/compiler.h"
#include "expected.h"
#include "made_up.h"
#include "maps/hit.h"
#include "maps/read.h"
#include "reference.h"
#include "runner_arm64.h"
#include "script/parse.h"

#include <fastsdt/note.h>
#include <fastsdt/recognize.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <numeric>
#include <random>
#include <sched.h>

using namespace fastsdt::engine;

namespace {

/// As the runner has it.
struct Cpu {
    uint64_t x[31] = {};
    uint64_t sp = 0; ///< after a pass: by how much it has changed
    uint64_t flags = 0;
    uint64_t stack[16] = {}; ///< from sp up
    uint64_t unused = 0;
    unsigned char v[32][16] = {};
    bool operator==(const Cpu&) const = default;
};

/// The other end of runner_arm64.c.
class Runner : public RunnerPipe {
public:
    struct Greeting {
        uint64_t site = 0, wide_site = 0, pid = 0, tid_offset = 0, atomics = 0, sve = 0, copies = 0, function = 0;
    };

    Runner() { get(&greeting, sizeof greeting); }
    void command(char letter, std::initializer_list<uint64_t> numbers) const
    {
        put(&letter, 1);
        for (const uint64_t number : numbers)
            put(&number, sizeof number);
    }

    Greeting greeting;
};

/// Tables, stubs and patch of a script in a runner of its own.
class RemoteRun {
public:
    static constexpr uint64_t code_at = 0x4000000, code_size = 1 << 20, mark = code_at + code_size;
    static constexpr uint64_t data = uint64_t(1) << 40, data_size = uint64_t(64) << 20;
    static constexpr size_t most_rows = 256; ///< for ustack(dwarf)

    explicit RemoteRun(const std::string& text, Site site = {}, bool with_tid_offset = false,
                       std::vector<Lasting> always = {}, bool system_calls = true, bool follow = false,
                       uint64_t calls_with = 0)
        : script(parse(text)), tables(lay_out(script, usual_ring_size, false, most_rows)), event_reader(script, tables)
    {
        if (calls_with) { // with that context, the runner's function
            Statement call;
            call.kind = Statement::Kind::call;
            call.function = runner.greeting.function;
            call.context = calls_with;
            script.clauses[0].actions = {call};
        }
        Environment environment;
        environment.pid = static_cast<pid_t>(runner.greeting.pid);
        environment.system_calls = system_calls;
        environment.follow = follow;
        environment.always = std::move(always);
        environment.atomics = runner.greeting.atomics;
        environment.sve = runner.greeting.sve;
        if (with_tid_offset)
            environment.tid_offset = static_cast<int32_t>(runner.greeting.tid_offset);
        static unsigned runs = 0;
        environment.many_sites = ++runs % 2 ? SIZE_MAX : 1; // 1: the stub calls its clauses
        environment.counter = true;
        environment.clock = CycleClock{0, 0, uint64_t(16) << 32}; // as if there were 62.5 million counts in a second
        site.patch = site.patch ? runner.greeting.wide_site : runner.greeting.site;
        site.length = 4;
        if (site.clauses.empty())
            for (size_t i = 0; i < script.clauses.size(); ++i)
                site.clauses.push_back(i);
        const Site sites[] = {site};
        const Arena arena{code_at, data, mark, mark};
        code = arm64::Compiler(script, tables, arena, environment).compile(sites);
        if (code.refusals.at(0).state != fastsdt::engine::State::ready)
            throw std::runtime_error(fastsdt::engine::text(code.refusals[0]));
        if (code.bytes.size() != arm64::Compiler(script, tables, {}, environment).compile(sites).bytes.size())
            throw std::runtime_error("the size depends on the arena");
        runner.command('M', {code_at, code_size + 4096});
        runner.command('M', {data, data_size});
        for (const FirstWord& word : first_words(tables, {data, data_size}, environment.clock))
            write(data + word.offset, &word.value, sizeof word.value);
        write(code_at, code.bytes.data(), code.bytes.size());
        forked(false);
        uint32_t now = 0;
        read(site.patch, &now, sizeof now);
        if (std::memcmp(&now, code.patches.at(0).before.data(), 4) != 0 || code.patches[0].length != 4)
            throw std::runtime_error("the site is not what the patch says");
        write(site.patch, code.patches[0].after.data(), 4);
    }

    void write(uint64_t at, const void* bytes, size_t size) const
    {
        runner.command('W', {at, size});
        runner.put(bytes, size);
    }
    void read(uint64_t at, void* bytes, size_t size) const
    {
        runner.command('R', {at, size});
        runner.get(bytes, size);
    }
    void pass(Cpu& state) const
    {
        runner.command('P', {});
        runner.put(&state, sizeof state);
        runner.get(&state, sizeof state);
    }
    void pass_argument(uint64_t argument) const ///< in x0
    {
        Cpu state;
        state.x[0] = argument;
        pass(state);
    }
    void pass(uint64_t times = 1) const
    {
        Cpu state;
        runner.command('N', {times});
        runner.put(&state, sizeof state);
        runner.get(&state, sizeof state);
    }
    void forked(bool yes) const
    {
        const Mark words = yes ? Mark() : Mark{data + Tables::slice, 0, uint64_t(runner.greeting.pid)};
        write(mark, &words, sizeof words);
    }
    Maps maps() const
    {
        return read_tables(script, tables, {data, data_size}, [this](size_t offset, size_t size) {
            std::vector<std::byte> bytes(std::min<size_t>(size, data_size - offset));
            read(data + offset, bytes.data(), bytes.size());
            return bytes;
        });
    }

    /// Of one module, whose base is 0.
    void unwind_by(std::span<const UnwindRow> rows) const
    {
        const auto set = [&](size_t offset, uint64_t value) { write(data + offset, &value, sizeof value); };
        const size_t module = *tables.modules + 8;
        write(data + tables.rows, rows.data(), rows.size_bytes());
        set(module + UnwindModule::first, tables.rows);
        set(module + UnwindModule::count, rows.size());
        set(module + UnwindModule::end, UINT64_MAX);
        set(*tables.modules, 1);
    }
    uint64_t word(size_t offset) const
    {
        uint64_t value = 0;
        read(data + offset, &value, sizeof value);
        return value;
    }

    std::vector<std::vector<uint64_t>> stacks() const
    {
        const auto reader = [this](size_t offset, size_t size) {
            std::vector<std::byte> bytes(std::min<size_t>(size, data_size - offset));
            read(data + offset, bytes.data(), bytes.size());
            return bytes;
        };
        std::vector<std::vector<uint64_t>> found;
        for (const uint64_t address : interned_stacks(tables, reader))
            found.push_back(stack_at(tables, {data, data_size}, reader, address));
        return found;
    }

    std::vector<Event> events(bool last = false)
    {
        std::vector<Event> found;
        event_reader.read(
            {data, data_size},
            [this](size_t offset, size_t size) {
                std::vector<std::byte> bytes(std::min<size_t>(size, data_size - offset));
                read(data + offset, bytes.data(), bytes.size());
                return bytes;
            },
            [this](size_t offset, uint64_t, uint64_t to) {
                write(data + offset, &to, sizeof to);
                return true;
            },
            last, found);
        return found;
    }

    Runner runner;
    Script script;
    Tables tables;
    EventReader event_reader;
    Code code;
};

uint64_t data_of(size_t offset)
{
    return RemoteRun::data + offset;
}

/// The processors that this thread may be on, and its children.
class Affinity {
public:
    Affinity() { sched_getaffinity(0, sizeof set_, &set_); }
    Affinity(const Affinity&) = delete;
    Affinity& operator=(const Affinity&) = delete;
    ~Affinity() { sched_setaffinity(0, sizeof set_, &set_); }
    std::vector<int> processors() const
    {
        std::vector<int> found;
        for (int one = 0; one < CPU_SETSIZE; ++one)
            if (CPU_ISSET(one, &set_))
                found.push_back(one);
        return found;
    }
    static void set(std::initializer_list<int> all)
    {
        cpu_set_t set;
        CPU_ZERO(&set);
        for (const int one : all)
            CPU_SET(one, &set);
        ASSERT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
    }

private:
    cpu_set_t set_{};
};

std::string refusal(const std::string& text, Site site, bool system_calls = true)
{
    const Script script = parse(text);
    const Tables tables = lay_out(script);
    site.patch = 0x400000;
    site.length = 4;
    site.clauses = {0};
    Environment environment;
    environment.system_calls = system_calls;
    const Site sites[] = {site};
    const SiteState state = arm64::Compiler(script, tables, {}, environment).compile(sites).refusals.at(0);
    return state.state == fastsdt::engine::State::ready ? "" : fastsdt::engine::text(state);
}

Cpu random_state(std::mt19937_64& random)
{
    Cpu state;
    for (uint64_t& x : state.x)
        x = random();
    for (uint64_t& word : state.stack)
        word = random();
    for (auto& v : state.v)
        for (unsigned char& byte : v)
            byte = static_cast<unsigned char>(random());
    state.flags = random() & 0xf0000000;
    return state;
}

std::string name_of(uint64_t process)
{
    std::ifstream file("/proc/" + std::to_string(process) + "/comm");
    std::string name;
    std::getline(file, name);
    return name;
}

uint64_t sum_of(const std::vector<Entry>& map)
{
    return std::accumulate(map.begin(), map.end(), uint64_t(0),
                           [](uint64_t sum, const Entry& entry) { return sum + uint64_t(entry.number); });
}

// Every kind of statement.
const char* const all_actions[] = {
    "@ = count();",
    "@[arg0] = count();",
    "@ = sum(arg0);",
    "@ = min(arg1); @b = max(arg2);",
    "@ = hist(arg0);",
    "@ = lhist(arg0, 0, 1000, 7);",
    "@[arg0, arg1] = stats(arg2);",
    "@[arg0] = hist(arg1);",
    "@a[tid] = nsecs; @b = hist(nsecs - @a[tid]); delete(@a[tid]);",
    "@a[arg0] = arg1; @c[@a[arg0]] = count(); delete(@a[arg0]);",
    "@a = arg0; @b = sum(@a * arg1 / (arg2 + 1) % 77); delete(@a);",
    "@[str(arg3)] = count(); @last = str(arg3); @by[arg0] = str(arg3);",
    "@[probe, pid] = avg(arg4);",
    "@ = sum(arg5);",
    "@m[arg0] = sum(*(int16*)arg1); @w = sum(*(uint32*)(arg0 + 2));",
    "$t = (arg0, arg1); @t[$t.0] = $t; @u = sum(@t[$t.0].1);",
    "$i = 0; while ($i < 9) { @l = sum($i++); }",
    "@b = buf(arg0, arg1 % 9); @s = str(arg3, arg1 % 70);",
    "@[rand, bswap(arg0), reg(\"r12\")] = count();",
    "@[cpu, numaid] = count();",
    "@[ustack] = count(); @few[ustack(2)] = sum(arg0);",
    "@[ustack(dwarf)] = count(); @few[ustack(dwarf, 2)] = sum(arg0);",
};
constexpr const char* no_copies = "the runner's kernel has no process_vm_readv (qemu-user)";
constexpr const char* all_operands = "8@x0 -4@w1 2@w2 8@x19 -1@w30 8@[sp, 24]";

} // namespace

// Every register, the flags, all vector registers, sp, and what is on the stack.
TEST(StubArm64, LeavesTheProgramAsItIs)
{
    std::mt19937_64 random(1);
    for (const char* actions : all_actions)
        for (const char* filter : {"", "arg0 != 7", "arg0 != 7 || arg1 < arg2"}) {
            const RemoteRun run(action(filter, actions), usdt(all_operands));
            for (int i = 0; i < 100; ++i) {
                const Cpu before = random_state(random);
                Cpu after = before;
                run.pass(after);
                ASSERT_EQ(after, before) << filter << actions;
            }
        }
}

// Frames by hand: x29 leads to {the caller's frame, a return address}. Of a stack that nobody told of, only the page is read that the
// stack pointer is in.
TEST(StubArm64, WalksTheFramesThatItMayRead)
{
    constexpr uint64_t page = 4096, site_address = 0x1234, signature = uint64_t(0x2b) << 48;
    Site site = usdt("8@sp");
    site.address = site_address;
    const RemoteRun run("usdt:*:p:n { @sp = max(arg0); @[ustack] = count(); }", site);
    Cpu state;
    run.pass(state);
    const uint64_t sp = uint64_t(only_number(run.maps()));
    EXPECT_EQ(run.stacks(), (std::vector<std::vector<uint64_t>>{{site_address}}));
    const auto pass = [&](uint64_t frame) { // three frames, 32 bytes apart; sp is a multiple of 16
        Cpu cpu;
        for (uint64_t i = 0; i < 3; ++i) {
            cpu.stack[4 * i] = i < 2 ? sp + 32 * (i + 1) : 0;
            cpu.stack[4 * i + 1] = (0x401000 + i) | signature;
        }
        cpu.x[29] = frame;
        const size_t before = run.stacks().size();
        run.pass(cpu);
        EXPECT_EQ(cpu.x[29], frame);
        const auto stacks = run.stacks();
        return std::pair(stacks.size() - before, stacks);
    };
    const auto tell = [&](uint64_t start, uint64_t end) {
        for (const auto& [offset, value] : {std::pair(Tables::stack_start, start), {Tables::last_frame, end - 16}})
            run.write(data_of(offset), &value, sizeof value);
    };
    const auto cut = [&] {
        uint64_t number = 0;
        run.read(data_of(Tables::cut), &number, sizeof number);
        return number;
    };
    // Frames that are not aligned, that lie below, or where nothing is mapped: the stack ends.
    for (const uint64_t odd : {sp + 4, sp - 16, uint64_t(8), ~uint64_t(7), uint64_t(1) << 47})
        EXPECT_EQ(pass(odd).first, 0u) << odd; // the innermost alone, as before
    const uint64_t before = cut();
    EXPECT_EQ(pass(sp + 16 * page).first, 0u); // it may be mapped; nobody told
    EXPECT_EQ(cut(), before + 1);
    const auto has = [](const auto& passed, const std::vector<uint64_t>& stack) {
        return passed.first == 1 && std::find(passed.second.begin(), passed.second.end(), stack) != passed.second.end();
    };
    tell(sp & ~(page - 1), sp + 96); // up to the last of the three
    EXPECT_TRUE(has(pass(sp), {site_address, 0x401000, 0x401001, 0x401002}));
    EXPECT_EQ(cut(), before + 1);
    tell(sp & ~(page - 1), sp + 64);
    EXPECT_TRUE(has(pass(sp), {site_address, 0x401000, 0x401001}));
    EXPECT_EQ(cut(), before + 1); // behind its end is nothing
}

namespace {

constexpr uint32_t unwound_site = 0x1000;

Site site_to_unwind()
{
    Site site = usdt("8@sp");
    site.address = unwound_site;
    return site;
}

UnwindRow arm64_row(uint32_t start, UnwindRow::Rule rule, int how, uint8_t saved, int16_t offset)
{
    return {start, UnwindRow::Rule(rule | how << UnwindRow::bits_of_rule), saved, offset};
}

} // namespace

// Each place that a row has for the return address, from the innermost call on, which has it in the link register.
TEST(StubArm64, WalksByRows)
{
    constexpr auto from_sp = UnwindRow::stack_pointer, from_x29 = UnwindRow::frame_pointer;
    constexpr uint64_t signature = uint64_t(0x2b) << 48, code = unwound_site;
    const std::vector<UnwindRow> rows = {
        arm64_row(code, from_sp, UnwindRow::in_link, 0, 0),
        // stp x29, x30, [sp, #-32]!
        arm64_row(code + 0x20, from_sp, UnwindRow::beside, 4, 4),
        // A large frame with both at its lower end, by x29.
        arm64_row(code + 0x40, from_x29, UnwindRow::beside | UnwindRow::counts_from_base, 1, 5),
        // str x30, [sp, #-16]!
        arm64_row(code + 0x60, from_sp, UnwindRow::alone, 2, 2),
        // The same further up from the stack pointer.
        arm64_row(code + 0x80, from_sp, UnwindRow::alone | UnwindRow::counts_from_base, 2, 2),
        arm64_row(code + 0xa0, UnwindRow::outermost, 0, 0, 0), arm64_row(code + 0xc0, UnwindRow::unknown, 0, 0, 0),
        arm64_row(code + 0xe0, from_sp, UnwindRow::in_link, 0, 2), // only of the innermost
    };
    RemoteRun run("usdt:*:p:n { @sp = max(arg0); @[ustack(dwarf)] = count(); @two[ustack(dwarf, 2)] = count(); }",
                  site_to_unwind());
    run.unwind_by(rows);
    Cpu state;
    run.pass(state);
    const uint64_t sp = uint64_t(only_number(run.maps()));
    const auto cut = [&] { return run.word(Tables::cut); };
    EXPECT_EQ(cut(), 2u); // nothing is in the link register
    for (const auto& [offset, value] :
         {std::pair(Tables::stack_start, sp & ~uint64_t(4095)), {Tables::last_frame, sp + 112}})
        run.write(data_of(offset), &value, sizeof value);
    const auto pass = [&](uint64_t last) {
        Cpu cpu;
        cpu.x[29] = 99; // any number, which the caller's caller has
        cpu.x[30] = (code + 0x24) | signature;
        // 4 words of the first caller: x29 leads to the second one's words.
        cpu.stack[0] = sp + 8 * 4;
        cpu.stack[1] = (code + 0x44) | signature;
        cpu.stack[4] = 1234; // x29 from there on
        cpu.stack[5] = code + 0x64;
        cpu.stack[9] = code + 0x84;
        cpu.stack[12] = last;
        const Cpu before = cpu;
        run.pass(cpu);
        EXPECT_EQ(cpu, before);
        return run.stacks();
    };
    const auto has = [](const std::vector<std::vector<uint64_t>>& all, const std::vector<uint64_t>& stack) {
        return std::find(all.begin(), all.end(), stack) != all.end();
    };
    const std::vector<uint64_t> callers = {code, code + 0x24, code + 0x44, code + 0x64, code + 0x84};
    const auto with = [&](uint64_t last) {
        std::vector<uint64_t> all = callers;
        all.push_back(last);
        return all;
    };
    const auto walked = pass(code + 0xa4);
    EXPECT_TRUE(has(walked, with(code + 0xa4)));
    EXPECT_TRUE(has(walked, {code, code + 0x24}));
    EXPECT_EQ(cut(), 2u);
    EXPECT_TRUE(has(pass(code + 0xc4), with(code + 0xc4)));
    EXPECT_EQ(cut(), 3u);
    EXPECT_TRUE(has(pass(code + 0xe4), with(code + 0xe4)));
    EXPECT_EQ(cut(), 4u);
}

// Whatever the rows say, and whatever is on the stack: no fault, and nothing of the program is changed.
TEST(StubArm64, NeverFaultsByRows)
{
    const RemoteRun run("usdt:*:p:n { @sp = max(arg0); @[ustack(dwarf)] = count(); }", site_to_unwind());
    std::mt19937_64 random(1);
    Cpu first;
    run.pass(first);
    const uint64_t sp = uint64_t(only_number(run.maps()));
    for (const auto& [offset, value] :
         {std::pair(Tables::stack_start, sp & ~uint64_t(4095)), {Tables::last_frame, sp + 112}})
        run.write(data_of(offset), &value, sizeof value);
    std::vector<UnwindRow> rows(RemoteRun::most_rows);
    const auto place = [&] {
        const uint64_t any = random();
        return random() % 4 ? any % (16 * rows.size()) : random() % 2 ? sp + 8 * (any % 16) : any;
    };
    for (int i = 0; i < 3000; ++i) {
        if (i % 8 == 0) {
            for (size_t number = 0; number < rows.size(); ++number) {
                UnwindRow& row = rows[number];
                row.start = uint32_t(number * 16);
                row.rule = UnwindRow::Rule(random() % 4 ? random() % 256
                                                        : UnwindRow::stack_pointer
                                                   | UnwindRow::alone << UnwindRow::bits_of_rule);
                row.saved = uint8_t(random() % 4 ? random() % 8 : random());
                row.offset = random() % 8 ? int16_t(random() % 8) : int16_t(random());
            }
            run.unwind_by(rows);
        }
        Cpu cpu = random_state(random);
        cpu.x[29] = place();
        cpu.x[30] = place();
        for (uint64_t& word : cpu.stack)
            word = place();
        const Cpu before = cpu;
        run.pass(cpu);
        ASSERT_EQ(cpu, before) << i;
    }
    const Maps maps = run.maps();
    EXPECT_EQ(sum_of(maps.maps[1]) + maps.dropped, 3001u);
    EXPECT_GT(maps.cut, 0u);
    size_t longest = 0;
    for (const auto& stack : run.stacks())
        longest = std::max(longest, stack.size());
    EXPECT_GT(longest, 3u);
}

// The parts of vector registers that the kernel may clear in a system call.
TEST(StubArm64, KeepsLongVectors)
{
    const Runner::Greeting greeting = Runner().greeting;
    if (!greeting.sve)
        GTEST_SKIP() << "this processor has none";
    Site site = usdt("8@x0 8@[x0]");
    site.patch = 1; // the runner's other site
    const RemoteRun run(action("", greeting.copies ? "@[str(arg0), tid, arg1] = count();" : "@[tid] = count();"), site);
    for (int i = 0; i < 3; ++i) {
        uint64_t changed = 1;
        run.runner.command('V', {});
        run.runner.get(&changed, sizeof changed);
        EXPECT_EQ(changed, 0u);
    }
    EXPECT_EQ(only_number(run.maps()), 3);
}

namespace {

/// As the runner has it.
struct Told {
    uint64_t calls = 0;
    Hit hit;
    uint64_t frame[2] = {}, alignment = 0;
};
constexpr uint64_t told_at = 0x2000000;

struct CallingRun : RemoteRun {
    explicit CallingRun(Site site, const std::string& probes = "usdt:*:p:n")
        : RemoteRun(probes + " {}", std::move(site), false, {}, true, false, told_at)
    {
        runner.command('M', {told_at, 4096});
    }
    Told told() const
    {
        Told now;
        read(told_at, &now, sizeof now);
        return now;
    }
};

} // namespace

// A function that changes all it may, the control word too.
TEST(CallArm64, EverythingIsPutBack)
{
    std::mt19937_64 random(1);
    Site site = usdt("-4@w0 8@x19 1@w2 8@-5 8@[sp, 8] -1@w30 8@x8");
    site.address = 0x1234;
    site.probe = 7;
    const CallingRun run(site);
    for (uint64_t i = 0; i < 100; ++i) {
        const Cpu before = random_state(random);
        Cpu after = before;
        run.pass(after);
        ASSERT_EQ(after, before);
        const Told now = run.told();
        ASSERT_EQ(now.calls, i + 1);
        EXPECT_EQ(now.hit.probe, 7u);
        EXPECT_EQ(now.hit.address, 0x1234u);
        EXPECT_EQ(now.hit.count, 7u);
        EXPECT_EQ(now.hit.readable, 0x7fu);
        const int64_t wanted[] = {int32_t(before.x[0]),     int64_t(before.x[19]), uint8_t(before.x[2]), -5,
                                  int64_t(before.stack[1]), int8_t(before.x[30]),  int64_t(before.x[8])};
        EXPECT_TRUE(std::equal(std::begin(wanted), std::end(wanted), now.hit.arguments));
        // A walk by frame pointers comes to the site, and then to the program's x29.
        EXPECT_EQ(now.frame[0], before.x[29]);
        EXPECT_EQ(now.frame[1], 0x1234u);
        EXPECT_EQ(now.alignment, 0u);
    }
    run.forked(true);
    run.pass();
    EXPECT_EQ(run.told().calls, 100u);
}

TEST(CallArm64, LongVectorsArePutBack)
{
    if (!Runner().greeting.sve)
        GTEST_SKIP() << "this processor has none";
    Site site = usdt("8@x0");
    site.patch = 1; // the runner's other site
    const CallingRun run(site);
    uint64_t changed = 1;
    run.runner.command('V', {});
    run.runner.get(&changed, sizeof changed);
    EXPECT_EQ(changed, 0u);
    EXPECT_EQ(run.told().calls, 1u);
}

TEST(CallArm64, NoneWhereVectorsMayStream)
{
    Script script = parse("usdt:*:p:n {}");
    Statement call;
    call.kind = Statement::Kind::call;
    script.clauses[0].actions = {call};
    const Tables tables = lay_out(script);
    Environment environment;
    environment.sme = true;
    Site site = usdt("8@x0");
    site.patch = 0x400000;
    site.length = 4;
    site.clauses = {0};
    const Site sites[] = {site};
    const Code code = arm64::Compiler(script, tables, {}, environment).compile(sites);
    EXPECT_EQ(text(code.refusals.at(0)),
              "would call a function, and this processor has streaming vectors (SME), in whose use none may be called");
}

TEST(CallArm64, EntriesExitsAndFilters)
{
    Site entry;
    entry.kind = Probe::Kind::entry;
    entry.stack_bytes = 0;
    Cpu state;
    for (uint64_t i = 0; i < 8; ++i)
        state.x[i] = 11 * i;
    {
        const CallingRun run(entry, "uprobe:*:f /arg0 == 0/");
        run.pass(state);
        const Told now = run.told();
        EXPECT_EQ(now.calls, 1u);
        EXPECT_EQ(now.hit.count, 8u);
        for (int64_t i = 0; i < 8; ++i)
            EXPECT_EQ(now.hit.arguments[i], 11 * i);
        state.x[0] = 1;
        run.pass(state);
        EXPECT_EQ(run.told().calls, 1u);
    }
    Site exit;
    exit.kind = Probe::Kind::exit;
    exit.result = FASTSDT_RESULT_REGISTER;
    const CallingRun run(exit, "uretprobe:*:f");
    run.pass(state);
    EXPECT_EQ(run.told().hit.count, 1u);
    EXPECT_EQ(run.told().hit.arguments[0], 1);
}

TEST(StubArm64, TheSiteIsABranchToTheStub)
{
    const RemoteRun run(action("", "@ = count();"));
    uint32_t word = 0;
    std::memcpy(&word, run.code.patches.at(0).after.data(), sizeof word);
    EXPECT_EQ(word >> 26, 5u); // b
    EXPECT_EQ(run.runner.greeting.site + uint64_t(int64_t(int32_t(word << 6)) >> 4), run.code.stubs.at(0));
}

TEST(StubArm64, CountsPasses)
{
    const RemoteRun run(action("", "@ = count();"));
    run.pass(1000);
    const Maps maps = run.maps();
    EXPECT_EQ(only_number(maps), 1000);
    EXPECT_EQ(maps.threads, 1u);
    EXPECT_EQ(maps.dropped, 0u);
}

TEST(StubArm64, AForkedChildRecordsNothing)
{
    const RemoteRun run(action("", "@ = count(); @b[arg0] = sum(arg0); @c[tid] = 1;"), usdt("8@x0"));
    run.forked(true);
    run.pass(10);
    for (const auto& map : run.maps().maps)
        EXPECT_TRUE(map.empty());
}

// Its threads claim at once, and one wins. The next child takes another slice, or one that is free again.
TEST(StubArm64, AFollowedChildClaimsASlice)
{
    const RemoteRun run(action("", "@ = count(); @p[pid] = count();"), usdt("8@x0"), true, {}, true, true);
    constexpr uint64_t threads = 4, passes = 5'000;
    const auto children = [&] {
        return slices_of_children(run.tables, {RemoteRun::data, RemoteRun::data_size}, [&](size_t offset, size_t size) {
            std::vector<std::byte> bytes(size);
            run.read(RemoteRun::data + offset, bytes.data(), size);
            return bytes;
        });
    };
    run.pass(3);
    uint64_t all = 3;
    for (size_t child = 1; child <= 3; ++child) {
        run.forked(true);
        run.runner.command('T', {threads, passes});
        std::vector<uint64_t> ids(threads);
        run.runner.get(ids.data(), 8 * threads);
        all += threads * passes;
        const Maps maps = run.maps();
        EXPECT_EQ(uint64_t(only_number(maps)), all);
        ASSERT_EQ(maps.maps[1].size(), 1u);
        EXPECT_EQ(uint64_t(maps.maps[1][0].keys[0].number), run.runner.greeting.pid);
        EXPECT_EQ(uint64_t(maps.maps[1][0].number), all);
        EXPECT_EQ(maps.processes, child);
        EXPECT_EQ(maps.dropped, 0u);
    }
    // As keep_ended() does; the counts of before are left where they are.
    const auto made = children();
    ASSERT_GE(made.size(), 3u); // a slice that lost the race to a mark is free
    uint64_t free = 0;
    run.read(RemoteRun::data + Tables::free, &free, sizeof free);
    EXPECT_EQ(free, made.size() - 3);
    const uint64_t state = Tables::slice_free, one_more = free + 1;
    const auto used =
        std::find_if(made.begin(), made.end(), [](const auto& s) { return s.state == Tables::slice_used; });
    run.write(RemoteRun::data + used->offset + Tables::state, &state, sizeof state);
    run.write(RemoteRun::data + Tables::free, &one_more, sizeof one_more);
    run.forked(true);
    run.pass(2);
    EXPECT_EQ(children().size(), made.size());
    EXPECT_EQ(uint64_t(only_number(run.maps())), all + 2);
}

TEST(StubArm64, EachThreadHasItsSlot)
{
    const RemoteRun run(
        action("", "@ = count(); @k[arg0] = count(); @m[arg0, tid] = count(); @t[tid] = count(); @x[arg0] = 7;"),
        usdt("8@x0"), true);
    constexpr uint64_t threads = 4, passes = 20'000;
    run.runner.command('T', {threads, passes});
    std::vector<uint64_t> ids(threads);
    run.runner.get(ids.data(), 8 * threads);
    const Maps maps = run.maps();
    EXPECT_EQ(uint64_t(only_number(maps)), threads * passes);
    EXPECT_LE(maps.threads, threads);
    ASSERT_EQ(maps.maps[1].size(), 16u);
    for (const Entry& entry : maps.maps[1])
        EXPECT_EQ(uint64_t(entry.number), threads * passes / 16);
    EXPECT_EQ(maps.maps[2].size(), 16 * threads);
    EXPECT_EQ(sum_of(maps.maps[2]), threads * passes);
    ASSERT_EQ(maps.maps[3].size(), threads);
    for (const Entry& entry : maps.maps[3]) {
        EXPECT_EQ(uint64_t(entry.number), passes);
        EXPECT_NE(std::find(ids.begin(), ids.end(), uint64_t(entry.keys[0].number)), ids.end());
    }
    ASSERT_EQ(maps.maps[4].size(), 16u);
    for (const Entry& entry : maps.maps[4])
        EXPECT_EQ(entry.value.number, 7);
    EXPECT_EQ(maps.dropped, 0u);
}

TEST(StubArm64, ThreadsBeyondTheSlotsAreCountedAsDropped)
{
    const RemoteRun run(action("", "@ = count();"));
    const std::vector<uint64_t> others(most_threads, 0x101);
    run.write(RemoteRun::data + Tables::slice + Tables::owners, others.data(), 8 * others.size());
    run.pass(5);
    EXPECT_EQ(run.maps().dropped, 5u);
}

// Threads of a Go program without C code have one thread pointer, or none: they are told apart by the m of the g in x28.
TEST(StubArm64, ThreadsOfAGoProgramHaveAnMEach)
{
    constexpr uint64_t memory = 0x5000000, m = 48, size = 256;
    Site site = usdt("");
    site.thread_by = fastsdt::ThreadBy::go_m;
    const RemoteRun run(action("", "@ = count();"), site);
    run.runner.command('M', {memory, 4096});
    const uint64_t of_two_goroutines[] = {memory + 2048, memory + 2048, memory + 3072};
    for (size_t i = 0; i < std::size(of_two_goroutines); ++i)
        run.write(memory + i * size + m, &of_two_goroutines[i], sizeof(uint64_t));
    for (size_t i = 0; i < std::size(of_two_goroutines); ++i) {
        Cpu state;
        state.x[28] = memory + i * size;
        run.pass(state);
        EXPECT_EQ(state.x[28], memory + i * size);
    }
    EXPECT_EQ(run.maps().threads, 2u);
    EXPECT_EQ(sum_of(run.maps().maps[0]), 3u);
    site.thread_by = fastsdt::ThreadBy::nothing;
    EXPECT_EQ(
        refusal(action("", "@ = count();"), site),
        "wants threads of a Go program, which have no thread pointer, told apart, which only the kernel's engine has");
}

TEST(StubArm64, KeysBeyondTheTableAreCountedAsDropped)
{
    for (const char* what : {"@[arg0] = count();", "@[arg0, 1] = count();", "@[arg0] = 1;"}) {
        const RemoteRun run(action("", what), usdt("8@x5"));
        Cpu state;
        constexpr size_t keys = 12'000;
        for (size_t i = 0; i < keys; ++i) {
            state.x[5] = i;
            run.pass(state);
        }
        const Maps maps = run.maps();
        EXPECT_GE(maps.maps[0].size(), most_keys) << what;
        EXPECT_EQ(maps.maps[0].size() + maps.dropped, keys) << what;
    }
}

TEST(StubArm64, DeletedKeysMakeRoom)
{
    const RemoteRun run(action("", "@a[arg0] = arg1; @s = sum(@a[arg0]); delete(@a[arg0]);"), usdt("8@x0 8@x1"));
    Cpu state;
    uint64_t expected = 0;
    for (uint64_t i = 0; i < 12'000; ++i) {
        state.x[0] = i * 0x10001;
        state.x[1] = i;
        expected += i;
        run.pass(state);
    }
    const Maps maps = run.maps();
    EXPECT_TRUE(maps.maps[0].empty());
    EXPECT_EQ(maps.dropped, 0u);
    EXPECT_EQ(uint64_t(only_number(maps, 1)), expected);
}

// In a table whose other entries were all lost to jumps out of assignments.
TEST(StubArm64, DeletedKeysKeepTheirPlace)
{
    const RemoteRun run("usdt:*:p:n /arg2 == 0/ { @a[arg0] = arg1; @b[arg0, pid] = arg1; } "
                        "usdt:*:p:n /arg2 == 1/ { delete(@a[arg0]); delete(@b[arg0, pid]); }",
                        usdt("8@x0 8@x1 8@x2"));
    const auto pass = [&run](uint64_t key, uint64_t value, bool remove) {
        Cpu state;
        state.x[0] = key;
        state.x[1] = value;
        state.x[2] = remove;
        run.pass(state);
    };
    pass(7, 1, false);
    pass(7, 1, true);
    for (const Table& table : run.tables.maps) {
        uint64_t chunk = 0;
        run.read(RemoteRun::data + table.offset, &chunk, sizeof chunk);
        chunk &= ~uint64_t(Chunk::header - 1);
        const size_t words = table.first * table.entry_size / 8;
        std::vector<uint64_t> all(words);
        run.read(chunk, all.data(), 8 * words);
        for (size_t entry = 0; entry < words; entry += table.entry_size / 8)
            if (all[entry] == 0)
                all[entry] = uint64_t(tag_claimed);
        run.write(chunk, all.data(), 8 * words);
    }
    for (uint64_t value = 2; value < 5; ++value) {
        pass(7, value, false);
        const Maps maps = run.maps();
        for (size_t map = 0; map < 2; ++map) {
            ASSERT_EQ(maps.maps[map].size(), 1u) << map;
            EXPECT_EQ(uint64_t(maps.maps[map][0].value.number), value) << map;
        }
        EXPECT_EQ(maps.dropped, 0u);
        pass(7, value, true);
        EXPECT_TRUE(run.maps().maps[0].empty() && run.maps().maps[1].empty());
    }
    pass(8, 1, false);
    EXPECT_EQ(run.maps().dropped, 0u); // it has a larger chunk
    EXPECT_EQ(run.maps().maps[0].size() + run.maps().maps[1].size(), 2u);
}

TEST(StubArm64, KeyZeroIsAKey)
{
    expect_that_zero_is_a_key(RemoteRun(zero_as_key, usdt("8@x0")));
}

TEST(StubArm64, StringsEndWhereTheyEndOrCannotBeRead)
{
    constexpr uint64_t page = 0x2000000;
    const std::string longest(63, 'x');
    struct {
        uint64_t at;
        std::string text, expected;
    } const cases[] = {
        {page, "a", "a"},
        {page + 100, "seven77", "seven77"},
        {page + 203, "eight888", "eight888"},
        {page + 300, std::string(80, 'x'), longest},
        {page + 4096 - 3, "abc", "abc"}, // no NUL on the page
        {page + 4096, "", ""},
        {0, "", ""},
        {~uint64_t(7), "", ""},
        {uint64_t(1) << 63, "", ""},
    };
    if (!Runner().greeting.copies)
        GTEST_SKIP() << no_copies;
    for (const auto& each : cases) {
        const RemoteRun run(action("", "@[str(arg0)] = count();"), usdt("8@x20"));
        run.runner.command('M', {page, 4096});
        if (!each.text.empty())
            run.write(each.at, each.text.data(), each.text.size());
        Cpu state;
        state.x[20] = each.at;
        run.pass(state);
        const Maps maps = run.maps();
        ASSERT_EQ(maps.maps[0].size(), 1u);
        EXPECT_EQ(maps.maps[0][0].keys[0].text, each.expected);
    }
}

// What is read directly; all else is unread.
TEST(StubArm64, StringsInLastingMemory)
{
    constexpr uint64_t page = 0x2000000, end = page + 4096;
    for (const size_t length : {0, 1, 7, 8, 9, 62, 63, 100})
        for (const uint64_t at :
             {page, page + 1, page + 301, end - 65, end - 64, end - 63, end - 9, end - 8, end - 1, end}) {
            const RemoteRun run(action("", "@[str(arg0)] = count();"), usdt("8@x20"), false, {{page, end}}, false);
            run.runner.command('M', {page, 4096});
            const std::string text = std::string(length, 'x') + '\0' + std::string(100, '#');
            if (at < end)
                run.write(at, text.data(), std::min<size_t>(text.size(), end - at));
            Cpu state;
            state.x[20] = at | uint64_t(0x5a) << 56; // the processor ignores the tag
            run.pass(state);
            const Maps maps = run.maps();
            const bool read = at + std::min<size_t>(length, 63) < end;
            EXPECT_EQ(maps.unread, read ? 0u : 1u) << length << " at " << at - page;
            ASSERT_EQ(maps.maps[0].size(), read ? 1u : 0u);
            if (read) {
                EXPECT_EQ(maps.maps[0][0].keys[0].text, std::string(std::min<size_t>(length, 63), 'x'));
            }
        }
    // The page of the stack pointer, and page 0.
    const RemoteRun run(action("", "@[str(arg0)] = count(); @n[arg1] = count();"), usdt("8@sp 8@[x3]"), false, {},
                        false);
    Cpu state;
    std::memcpy(&state.stack, "on the stack", sizeof "on the stack");
    run.pass(state);
    const Maps maps = run.maps();
    ASSERT_EQ(maps.maps[0].size(), 1u);
    EXPECT_EQ(maps.maps[0][0].keys[0].text, "on the stack");
    EXPECT_EQ(maps.maps[1].at(0).keys[0].number, 0);
    EXPECT_EQ(maps.unread, 0u);
}

TEST(StubArm64, MapsOfStringsHoldTheLast)
{
    constexpr uint64_t page = 0x2000000;
    const RemoteRun run(action("", "@last = str(arg0); @by[arg1] = str(arg0); @name[arg1] = \"always\"; @p = probe;"),
                        usdt("8@x0 8@x1"));
    if (!run.runner.greeting.copies)
        GTEST_SKIP() << no_copies;
    run.runner.command('M', {page, 4096});
    const std::string texts[] = {"one", "a longer one, of more than sixteen bytes", ""};
    for (size_t i = 0; i < 3; ++i)
        run.write(page + 100 * i, texts[i].c_str(), texts[i].size() + 1);
    Cpu state;
    for (uint64_t i = 0; i < 300; ++i) {
        state.x[0] = page + 100 * (i / 7 % 3);
        state.x[1] = i % 5;
        run.pass(state);
    }
    const Maps maps = run.maps();
    ASSERT_EQ(maps.maps[0].size(), 1u);
    EXPECT_EQ(maps.maps[0][0].value.text, texts[299 / 7 % 3]);
    ASSERT_EQ(maps.maps[1].size(), 5u);
    for (const Entry& entry : maps.maps[1])
        EXPECT_EQ(entry.value.text, texts[(295 + uint64_t(entry.keys[0].number)) / 7 % 3]);
    EXPECT_EQ(maps.maps[2].at(4).value.text, "always");
    EXPECT_EQ(maps.dropped, 0u);
}

TEST(StubArm64, TidPidProbeAndLiterals)
{
    for (const bool with_offset : {false, true}) {
        Site site = usdt("8@x0");
        site.probe = 5;
        const RemoteRun run(action("", "@[tid, pid, probe, \"a text\", 1 << 40] = count();"), site, with_offset);
        run.pass(2);
        const Maps maps = run.maps();
        ASSERT_EQ(maps.maps[0].size(), 1u);
        const auto& keys = maps.maps[0][0].keys;
        EXPECT_EQ(uint64_t(keys[0].number), run.runner.greeting.pid);
        EXPECT_EQ(uint64_t(keys[1].number), run.runner.greeting.pid);
        EXPECT_EQ(keys[2].number, 5);
        EXPECT_EQ(keys[3].text, "a text");
        EXPECT_EQ(keys[4].number, int64_t(1) << 40);
    }
}

// Of each that this process may be on. The runner is where its parent is.
TEST(StubArm64, TheProcessorAndItsNode)
{
    const Affinity before;
    for (const int one : before.processors()) {
        Affinity::set({one});
        unsigned processor = 0, node = 0;
        ASSERT_EQ(getcpu(&processor, &node), 0);
        ASSERT_EQ(processor, unsigned(one));
        const RemoteRun run(action("", "@[cpu, numaid, arg0] = count();"), usdt("8@x2"));
        Cpu state;
        state.x[2] = 77; // a register that the call changes
        run.pass(state);
        const Maps maps = run.maps();
        ASSERT_EQ(maps.maps[0].size(), 1u);
        const auto& keys = maps.maps[0][0].keys;
        EXPECT_EQ(keys[0].number, int64_t(processor));
        EXPECT_EQ(keys[1].number, int64_t(node));
        EXPECT_EQ(keys[2].number, 77);
        EXPECT_EQ(maps.unread, 0u);
    }
}

TEST(StubArm64, OneHitHasOneTime)
{
    const RemoteRun run(action("", "@a = nsecs; @by[arg0] = sum(arg0 * (nsecs - @a) + arg0); @max = max(nsecs);"),
                        usdt("8@x0"));
    Cpu state;
    int64_t before = 0;
    for (int pass = 1; pass <= 3; ++pass) {
        state.x[0] = 7;
        run.pass(state);
        const Maps maps = run.maps();
        EXPECT_EQ(maps.maps[1].at(0).number, 7 * pass);
        const int64_t now = maps.maps[0].at(0).value.number;
        EXPECT_EQ(maps.maps[2].at(0).number, now);
        EXPECT_GT(now, before);
        before = now;
    }
}

TEST(StubArm64, EntriesHaveParametersAndExitsAResult)
{
    Site entry;
    entry.kind = Probe::Kind::entry;
    entry.stack_bytes = 16;
    Cpu state;
    {
        const RemoteRun run("uprobe:*:f { @a = sum(arg0); @b = sum(arg5); @c = sum(sarg0); @d = sum(sarg1); }", entry);
        state.x[0] = 11;
        state.x[5] = 12;
        state.stack[0] = 13;
        state.stack[1] = 14;
        run.pass(state);
        for (size_t map = 0; map < 4; ++map)
            EXPECT_EQ(only_number(run.maps(), map), 11 + int64_t(map));
    }
    EXPECT_EQ(refusal("uprobe:*:f { @ = sum(sarg2); }", entry), "has no sarg2");
    Site exit;
    exit.kind = Probe::Kind::exit;
    exit.result = FASTSDT_RESULT_REGISTER;
    {
        const RemoteRun run("uretprobe:*:f { @ = max(retval); }", exit);
        state.x[0] = 99;
        run.pass(state);
        EXPECT_EQ(only_number(run.maps()), 99);
    }
    exit.result = FASTSDT_RESULT_VECTOR;
    EXPECT_EQ(refusal("uretprobe:*:f { @ = max(retval); }", exit), "has no result in an integer register");
}

TEST(StatementsArm64, MeanWhatTheySay)
{
    const RemoteRun run(various_statements, usdt("8@x0"));
    expect_statements(run);
}

TEST(StatementsArm64, HaveLoopsAndTuples)
{
    const RemoteRun run(wide_statements, usdt("8@x0"));
    expect_wide_statements(run);
}

TEST(EventsArm64, AreReadOnceInTheirOrder)
{
    RemoteRun run(various_prints, usdt("8@x0"));
    expect_printed_each_round(run, 200);
    constexpr size_t most = usual_ring_size / (Ring::values + 8 + string_size + 8 + Ring::values + 8) * 2;
    run.pass(most);
    EXPECT_GT(run.events().size(), most / 2);
    EXPECT_GT(run.event_reader.lost(), 0u);
}

TEST(StubArm64, KnowsTheThreadsName)
{
    RemoteRun run(action("", "@[comm] = count(); printf(\"%s\", comm);"));
    run.pass(2);
    const Maps maps = run.maps();
    ASSERT_EQ(maps.maps[0].size(), 1u);
    EXPECT_EQ(maps.maps[0][0].number, 2);
    const std::string name = maps.maps[0][0].keys[0].text;
    EXPECT_NE(name, "");
    for (const Event& event : run.events())
        EXPECT_EQ(event.values[0].text, name);
}

TEST(OperandArm64, EveryRegisterInEverySize)
{
    std::mt19937_64 random(1);
    const auto extended = [](uint64_t value, int size, bool is_signed) {
        const int drop = 64 - 8 * size;
        return is_signed ? uint64_t(int64_t(value << drop) >> drop) : value << drop >> drop;
    };
    for (int reg = 0; reg <= 31; ++reg)
        for (const int size : {1, -1, 2, -2, 4, -4, 8, -8}) {
            const std::string name = reg == 31 ? "[sp, 40]" : (std::abs(size) == 8 ? "x" : "w") + std::to_string(reg);
            const std::string text = std::to_string(size) + "@" + name;
            // Once where the stub changes few registers, once where it changes many.
            for (const char* script : {"usdt:*:p:n { @ = arg0; }",
                                       "usdt:*:p:n { @k[arg0, 1] = count(); @ = arg0; @x = @ * 3 / (arg0 | 1); }"}) {
                const RemoteRun run(script, usdt(text));
                Cpu state = random_state(random);
                run.pass(state);
                const uint64_t value = reg == 31 ? state.stack[5] : state.x[reg];
                const size_t map = run.script.maps[0].name == "@" ? 0 : 1;
                ASSERT_EQ(uint64_t(run.maps().maps[map].at(0).value.number), extended(value, std::abs(size), size < 0))
                    << text;
            }
        }
}

TEST(OperandArm64, FormsOfMemoryAndConstants)
{
    constexpr uint64_t page = 0x2000000;
    const RemoteRun run(
        "usdt:*:p:n { @ = arg0; @b = arg1; @c = arg2; @d = arg3; @e = arg4; @f = arg5; @g = arg6; @h = arg7; }",
        usdt("8@[x1] 8@[x2, 16] -1@[x3, #-8] 8@[x4, x5] 4@[x4, x6, lsl 3] -4@-5 8@18446744073709551615 8@xzr"), false,
        {{page, page + 8192}});
    run.runner.command('M', {page, 8192});
    std::vector<uint64_t> words(1024);
    std::iota(words.begin(), words.end(), 0xf0f0f080);
    run.write(page, words.data(), 8 * words.size());
    Cpu state;
    state.x[1] = page + 8;
    state.x[2] = page + 4096;
    state.x[3] = page + 72;
    state.x[4] = page;
    state.x[5] = 4095; // on two pages
    state.x[6] = 100;
    run.pass(state);
    const Maps maps = run.maps();
    uint64_t across;
    std::memcpy(&across, reinterpret_cast<const char*>(words.data()) + 4095, sizeof across);
    const uint64_t expected[] = {
        words[1],     words[514], uint64_t(int64_t(int8_t(words[8]))), across, uint32_t(words[100]), uint64_t(-5),
        ~uint64_t(0), 0};
    for (size_t map = 0; map < std::size(expected); ++map)
        EXPECT_EQ(uint64_t(maps.maps[map].at(0).value.number), expected[map]) << map;
    // And addresses at which nothing is mapped.
    for (int reg = 1; reg <= 6; ++reg)
        state.x[reg] = uint64_t(1) << 60;
    run.pass(state);
    if (!run.runner.greeting.copies) { // as with a filter that refuses the call
        EXPECT_EQ(run.maps().unread, 1u);
        return;
    }
    for (size_t map = 0; map < 5; ++map)
        EXPECT_EQ(run.maps().maps[map].at(0).value.number, 0) << map;
}

TEST(OperandArm64, SaysWhyAnArgumentCannotBeRead)
{
    const std::string text = action("", "@ = sum(arg0);");
    for (const char* operand :
         {"8@v0", "4f@s0", "8@d1", "8@symbol", "3@x0", "8@", "x", "8@[w0]", "8@[x0", "8@[x0, w1, sxtw]", "8@[x0, 8]!",
          "8@x31", "8@[x0, 99999999999]", "8@[]", "8@36893488147419103232"})
        EXPECT_NE(refusal(text, usdt(operand)), "") << operand;
    EXPECT_EQ(refusal(text, usdt("")), "has no arg0");
    EXPECT_EQ(refusal(text, usdt("8@[x29, -8]")), "");
    EXPECT_EQ(refusal("usdt:*:p:n { @[ustack] = count(); }", usdt("")), "");
    EXPECT_EQ(refusal("usdt:*:p:n { @[ustack(dwarf)] = count(); }", usdt("")), "");
    // Without system calls memory is read where that is safe, and a thread's id and its processor are not known.
    EXPECT_EQ(refusal(action("", "@[cpu] = count();"), usdt(""), false), "wants cpu, which takes a system call");
    EXPECT_EQ(refusal(action("", "@[numaid] = count();"), usdt(""), false), "wants numaid, which takes a system call");
    EXPECT_EQ(refusal(text, usdt("8@[x29, -8]"), false), "");
    EXPECT_EQ(refusal(action("", "@[str(arg0)] = count();"), usdt("8@x0"), false), "");
    EXPECT_NE(refusal(action("", "@[tid] = count();"), usdt("8@x0"), false), "");
    std::string deep = "arg0";
    for (int i = 0; i < 23; ++i)
        deep = "(arg0 + 1) * (" + deep + ")"; // the left operand waits for the right one
    EXPECT_EQ(refusal(action("", "@[str(arg0), str(arg0), str(arg0), str(arg0)] = sum(" + deep + ");"), usdt("8@x0")),
              "wants more than 640 bytes of the stack for keys and operands");
}

TEST(ExpressionArm64, IsWhatTheInterpreterSays)
{
    const auto set = [](Cpu& state, std::mt19937_64& random) {
        for (const int reg : {0, 1, 9, 29})
            state.x[reg] = random_word(random);
    };
    const auto values = [](const Cpu& state) -> std::array<uint64_t, 6> {
        return {state.x[0], uint64_t(int64_t(int32_t(state.x[1]))), uint64_t(-5), 1000000007, uint16_t(state.x[9]),
                state.x[29]};
    };
    int compiled = 0;
    expect_interpreted<RemoteRun, Cpu>(150, "8@x0 -4@w1 -1@-5 8@1000000007 2@w9 -8@x29", set, values, compiled);
    EXPECT_GT(compiled, 100);
}

TEST(AggregationArm64, HistogramsMinMaxSumAvgAndStats)
{
    std::mt19937_64 random(5);
    const RemoteRun run(
        "usdt:*:p:n { @h = hist(arg0); @l = lhist(arg0, 20, 1000, 7); @a = min(arg0); @b = max(arg0);"
        " @c = sum(arg0); @d = avg(arg0); @e = stats(arg0); @f = min(0 - 1); @k[arg0 % 3] = min(arg0);"
        " @x[arg0 % 3, 1] = max(arg0); @y[arg0 % 2] = hist(arg0); @z[arg0 % 2, 0] = lhist(arg0, 20, 1000, 7); }",
        usdt("8@x7"));
    std::vector<uint64_t> log(65), seven(142);
    std::vector<uint64_t> values;
    for (int pass = 0; pass < 1000; ++pass) {
        const int64_t value = pass < 130 ? int64_t((uint64_t(1) << pass / 2) - uint64_t(pass % 2))
                                         : int64_t(random_word(random) % 1200) - 60 * (pass % 2);
        size_t bucket = 0; // below 0, 0, then [2^n, 2^(n+1))
        if (value >= 0)
            for (bucket = 1; value >> (bucket - 1) != 0;)
                ++bucket;
        ++log[bucket];
        ++seven[value < 20 ? 0 : value >= 1000 ? 141 : 1 + size_t(value - 20) / 7];
        values.push_back(uint64_t(value));
        Cpu state;
        state.x[7] = uint64_t(value);
        run.pass(state);
    }
    const Maps maps = run.maps();
    EXPECT_EQ(maps.maps[0].at(0).buckets, log);
    EXPECT_EQ(maps.maps[1].at(0).buckets, seven);
    const auto less = [&](uint64_t a, uint64_t b) { return int64_t(a) < int64_t(b); }; // as bpftrace compares them
    EXPECT_EQ(uint64_t(maps.maps[2].at(0).number), *std::min_element(values.begin(), values.end(), less));
    EXPECT_EQ(uint64_t(maps.maps[3].at(0).number), *std::max_element(values.begin(), values.end(), less));
    for (const size_t map : {4, 5, 6}) {
        EXPECT_EQ(uint64_t(maps.maps[map].at(0).number), std::accumulate(values.begin(), values.end(), uint64_t(0)));
        EXPECT_EQ(maps.maps[map][0].count, values.size());
    }
    EXPECT_EQ(maps.maps[7].at(0).number, -1);
    for (int rest = 0; rest < 3; ++rest) {
        std::vector<uint64_t> some;
        std::copy_if(values.begin(), values.end(), std::back_inserter(some),
                     [&](uint64_t value) { return value % 3 == uint64_t(rest); });
        EXPECT_EQ(uint64_t(maps.maps[8].at(size_t(rest)).number), *std::min_element(some.begin(), some.end(), less));
        EXPECT_EQ(uint64_t(maps.maps[9].at(size_t(rest)).number), *std::max_element(some.begin(), some.end(), less));
    }
    for (size_t bucket = 0; bucket < log.size(); ++bucket)
        EXPECT_EQ(maps.maps[10].at(0).buckets[bucket] + maps.maps[10].at(1).buckets[bucket], log[bucket]);
    for (size_t bucket = 0; bucket < seven.size(); ++bucket)
        EXPECT_EQ(maps.maps[11].at(0).buckets[bucket] + maps.maps[11].at(1).buckets[bucket], seven[bucket]);
}

// A timer interrupts passes, and its handler passes the same site. Nothing is lost.
TEST(StubArm64, SignalHandlersMayHitTheSameSite)
{
    const RemoteRun run(action("",
                               "@ = count(); @k[arg0] = count(); @m[arg0, tid] = count(); @s = sum(arg0); "
                               "@a[arg0] = 1; @b[arg0] = @a[arg0]; delete(@a[arg0]); @x = max(arg0);"),
                        usdt("8@x0"), true);
    const char* const wanted = std::getenv("FASTSDT_PASSES");
    const uint64_t passes = wanted ? std::stoull(wanted) : 200'000;
    run.runner.command('S', {passes});
    uint64_t handled = 0;
    run.runner.get(&handled, sizeof handled);
    const Maps maps = run.maps();
    EXPECT_EQ(uint64_t(only_number(maps, 0)), passes + handled);
    for (const size_t map : {1, 2}) {
        EXPECT_EQ(sum_of(maps.maps[map]), passes + handled) << map;
        EXPECT_EQ(maps.maps[map].size(), 16u);
    }
    EXPECT_EQ(maps.maps[3].at(0).count, passes + handled);
    EXPECT_EQ(maps.dropped, 0u);
    EXPECT_GT(handled, 20u);
}

// Writes the stubs of all kinds of statements to files, which arm64.sh has objdump decode.
TEST(StubArm64, WritesItsCode)
{
    const char* const folder = std::getenv("FASTSDT_CODE");
    if (!folder)
        GTEST_SKIP() << "FASTSDT_CODE names no folder";
    for (const bool atomics : {false, true})
        for (size_t i = 0; i < std::size(all_actions); ++i) {
            const Script script = parse(action("arg0 != 7 || arg1 < arg2", all_actions[i]));
            const Tables tables = lay_out(script);
            Environment environment;
            environment.system_calls = environment.sve = true;
            environment.atomics = atomics;
            environment.clock = CycleClock{1, 2, 3};
            Site site = usdt(all_operands);
            site.patch = 0x400000;
            site.length = 4;
            site.clauses = {0};
            const Site sites[] = {site};
            const Code code =
                arm64::Compiler(script, tables, {0x500000, 0x10000, 0x510000, 0x510000}, environment).compile(sites);
            ASSERT_EQ(text(code.refusals[0]), "not armed");
            const std::string file = std::string(folder) + "/" + (atomics ? "lse" : "llsc") + std::to_string(i);
            FILE* const out = fopen(file.c_str(), "w");
            fwrite(code.bytes.data(), 1, code.bytes.size(), out);
            fclose(out);
        }
}

// ---- What a script means

// The same clauses as engine.meaning has, in memory that lasts: qemu-user has no system call that reads any other. Only the last pass wants
// some.
TEST(MeaningArm64, StubsLeaveWhatTheReferenceLeaves)
{
    const char* const given_seed = std::getenv("FASTSDT_SEED");
    const char* const given_count = std::getenv("FASTSDT_CLAUSES");
    const uint64_t first = given_seed ? std::strtoull(given_seed, nullptr, 10) : 1;
    const uint64_t count = given_count ? std::strtoull(given_count, nullptr, 10) : 150;
    constexpr uint64_t lasting = uint64_t(2) << 40, lasting_size = 65536, user_at = lasting + 4096,
                       text_at = lasting + 8192;
    const Affinity before;
    const int processor = before.processors().at(0);
    Affinity::set({processor});
    uint64_t armed = 0;
    for (uint64_t seed = first; seed < first + count; ++seed) {
        const std::string script = MadeUpClauses(seed).script();
        std::mt19937_64 random(seed);
        try {
            RemoteRun run(script, usdt("8@x0 8@x1 8@x2 -4@x3"), true, {{lasting, lasting + lasting_size}});
            ++armed;
            run.runner.command('M', {lasting, lasting_size});
            run.write(user_at, &user, sizeof user);
            run.write(text_at, long_text, sizeof long_text);
            std::string bytes(lasting_size, '\0');
            std::memcpy(&bytes[user_at - lasting], &user, sizeof user);
            std::memcpy(&bytes[text_at - lasting], long_text, sizeof long_text);
            Given maps(run.script);
            ReferenceHits reference(run.script, maps);
            reference.comm = name_of(run.runner.greeting.pid);
            reference.ask_for = [&](Value what) -> std::optional<uint64_t> {
                switch (what) {
                case Value::tid:
                case Value::pid: return run.runner.greeting.pid;
                case Value::cpu: return processor;
                default: throw std::runtime_error("its clock runs");
                }
            };
            reference.read = [&](uint64_t address, size_t size) -> std::optional<std::string> {
                if (address < 4096)
                    return std::string(size, '\0');
                if (address - lasting >= lasting_size || lasting_size - (address - lasting) < size)
                    return run.runner.greeting.copies ? std::optional(std::string(size, '\0')) : std::nullopt;
                return bytes.substr(address - lasting, size);
            };
            const ir::Program program = ir::lower(run.script, run.script.clauses[0]);
            for (int i = 0; i < 6; ++i) {
                Cpu state;
                for (uint64_t& x : state.x)
                    x = random();
                state.x[0] = i == 4 ? 8 : i == 5 ? random() | uint64_t(1) << 50 : user_at;
                state.x[2] = text_at + random() % sizeof long_text;
                state.x[1] = i % 3 ? state.x[1] % 4 : state.x[1];
                reference.arguments = {state.x[0], state.x[1], state.x[2], uint64_t(int64_t(int32_t(state.x[3])))};
                interpret(program, reference);
                const Cpu before = state;
                run.pass(state);
                for (int x = 0; x < 31; ++x)
                    ASSERT_EQ(state.x[x], before.x[x]) << "x" << x << ", seed " << seed << "\n" << script;
            }
            const Maps made = run.maps();
            ASSERT_EQ(made.dropped, 0U) << "seed " << seed << "\n" << script;
            ASSERT_EQ(made.unread, reference.unread_hits) << "seed " << seed << "\n" << script;
            ASSERT_EQ(text(run.script, made), text(run.script, maps.maps())) << "seed " << seed << "\n"
                                                                             << script << "\n"
                                                                             << print(program, run.script);
        } catch (const ScriptError&) {
        } catch (const std::runtime_error&) { // too much stack, a clock
        }
    }
    EXPECT_GE(armed, count / 8);
    if (given_seed)
        std::cout << armed << " of " << count << " armed\n";
}
