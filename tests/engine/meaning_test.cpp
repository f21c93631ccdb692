// SPDX-License-Identifier: BSD-2-Clause
// What a script means stands in one place: ir/interpret.cpp. Stubs leave the same maps and events as it does, of clauses made up of
// everything that has a type.
#include "made_up.h"
#include "own_site.h"
#include "reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/uio.h>

using namespace fastsdt::engine;

namespace {

constexpr uint64_t now = 1234567890123;

/// Its clock stands: so a stub and the reference read the same time.
Environment standing()
{
    Environment environment = own_environment();
    environment.clock = CycleClock{.base_ns = now};
    environment.start_ns = 1000;
    return environment;
}

std::optional<uint64_t> told(Value what)
{
    switch (what) {
    case Value::tid:
    case Value::pid: return getpid();
    case Value::nsecs: return now;
    case Value::start: return 1000;
    case Value::cpu: return uint64_t(sched_getcpu());
    case Value::random: return random_at(now);
    default: throw std::logic_error("not made up");
    }
}

std::string own_name()
{
    char name[17]{};
    prctl(PR_GET_NAME, name);
    return name;
}

// Zeros where nothing is mapped.
std::optional<std::string> memory(uint64_t address, size_t bytes)
{
    std::string found(bytes, '\0');
    const iovec to{found.data(), bytes}, from{reinterpret_cast<void*>(address), bytes};
    process_vm_readv(getpid(), &to, 1, &from, 1, 0);
    return found;
}

} // namespace

TEST(Meaning, StubsLeaveWhatTheReferenceLeaves)
{
    const char* const given_seed = std::getenv("FASTSDT_SEED");
    const char* const given_count = std::getenv("FASTSDT_CLAUSES");
    const uint64_t first = given_seed ? std::strtoull(given_seed, nullptr, 10) : 1;
    const uint64_t count = given_count ? std::strtoull(given_count, nullptr, 10) : 20000;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    Environment environment = standing();
    const bool tells_processor = environment.rdtscp;
    uint64_t armed = 0;
    for (uint64_t seed = first; seed < first + count; ++seed) {
        const std::string script = MadeUpClauses(seed).script();
        std::mt19937_64 random(seed);
        environment.rdtscp = tells_processor && seed % 4; // else the kernel is asked
        environment.many_sites = seed % 2 ? 1 : SIZE_MAX; // 1: the stub calls its clauses
        try {
            OwnRun run(script, usdt(arguments), environment, size_t(8) << 20, size_t(64) << 10);
            ++armed;
            Given maps(run.script);
            ReferenceHits reference(run.script, maps);
            reference.comm = own_name();
            reference.ask_for = told;
            reference.read = memory;
            const ir::Program program = ir::lower(run.script, run.script.clauses[0]);
            std::vector<Event> events;
            for (int i = 0; i < 8; ++i) {
                Processor before = random_state(random);
                before.gpr[RAX] = i == 5 ? 8 : i == 6 ? random() : uint64_t(&user);
                before.gpr[R12] = i == 7 ? 16 : uint64_t(long_text) + random() % sizeof long_text;
                before.gpr[RCX] = i % 3 ? before.gpr[RCX] % 4 : before.gpr[RCX];
                reference.arguments = {before.gpr[RAX], before.gpr[RCX], before.gpr[R12],
                                       uint64_t(int64_t(int32_t(before.gpr[RBX])))};
                ir::interpret(program, reference);
                Processor after = before;
                run.pass(after);
                const auto more = run.events(true);
                events.insert(events.end(), more.begin(), more.end());
            }
            const Maps made = run.maps();
            ASSERT_EQ(reference.unread_hits + made.dropped + made.unread + run.lost(), 0U) << "seed " << seed << "\n"
                                                                                           << script;
            ASSERT_EQ(text(run.script, made), text(run.script, maps.maps())) << "seed " << seed << "\n"
                                                                             << script << "\n"
                                                                             << print(program, run.script);
            ASSERT_EQ(events.size(), reference.events.size()) << "seed " << seed << "\n" << script;
            for (size_t i = 0; i < events.size(); ++i) {
                ASSERT_EQ(events[i].statement->number, reference.events[i].first) << "seed " << seed << "\n" << script;
                ASSERT_EQ(text(events[i].values), text(reference.events[i].second)) << "seed " << seed << "\n"
                                                                                    << script << "\n"
                                                                                    << print(program, run.script);
            }
        } catch (const ScriptError&) {
        } catch (const std::runtime_error&) { // too much stack
        }
    }
    EXPECT_GE(armed, count / 2);
    if (given_seed)
        std::cout << armed << " of " << count << " armed\n";
}
