// SPDX-License-Identifier: BSD-2-Clause
// What a script means stands in one place: ir/interpret.cpp. Stubs leave the same maps and events as it does, of clauses made up of
// everything that has a type.
#include "ir/interpret.h"
#include "made_up.h"
#include "maps/given.h"
#include "own_site.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
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

/// A hit of this process.
class Hits final : public ir::Host {
public:
    Hits(const Script& script, Given& maps) : script_(script), maps_(maps) {}

    const Processor* processor = nullptr;
    std::vector<std::pair<size_t, std::vector<Datum>>> events; ///< Statement::number, values

    std::optional<uint64_t> argument(const ir::Argument& which) override
    {
        constexpr std::array<size_t, 4> registers{RAX, RCX, R12, RBX};
        const uint64_t value = processor->gpr[registers.at(which.index)];
        return which.index == 3 ? uint64_t(int64_t(int32_t(value))) : value;
    }
    std::optional<uint64_t> ask(Value what) override
    {
        switch (what) {
        case Value::tid:
        case Value::pid: return getpid();
        case Value::nsecs: return now;
        case Value::start: return 1000;
        case Value::cpu: return uint64_t(sched_getcpu());
        case Value::random: {
            uint64_t value = now;
            for (const uint64_t factor : {0xff51afd7ed558ccd, 0xc4ceb9fe1a85ec53})
                value = (value ^ value >> 33) * factor;
            return value >> 32;
        }
        default: throw std::logic_error("not made up");
        }
    }
    std::optional<uint64_t> register_value(unsigned number) override { return processor->gpr[number]; }
    std::optional<uint64_t> symbol(const std::string&) override { return 0; }
    std::optional<uint64_t> stack(const ir::Stack&) override { return 0; }
    std::optional<std::string> name(Value) override
    {
        std::array<char, 17> name{};
        prctl(PR_GET_NAME, name.data());
        return name.data();
    }
    std::optional<std::string> memory(uint64_t address, size_t bytes) override
    {
        std::string found(bytes, '\0');
        const iovec to{found.data(), bytes}, from{reinterpret_cast<void*>(address), bytes};
        process_vm_readv(getpid(), &to, 1, &from, 1, 0);
        return found;
    }

    void update(size_t map, std::string_view key, uint64_t value) override
    {
        maps_.update(map, keys(map, key), int64_t(value));
    }
    void assign(size_t map, std::string_view key, std::string_view value) override
    {
        maps_.assign(map, keys(map, key), datum_of(script_.maps[map].type, script_.maps[map].shape, value));
    }
    void add(size_t map, std::string_view key, uint64_t value) override
    {
        const Entry* const before = maps_.find(map, keys(map, key));
        maps_.assign(map, keys(map, key), {int64_t((before ? uint64_t(before->value.number) : 0) + value), {}});
    }
    void remove(size_t map, std::string_view key) override { maps_.remove(map, keys(map, key)); }
    std::optional<std::string> get(size_t map, std::string_view key) override
    {
        const Entry* const found = maps_.find(map, keys(map, key));
        return found ? std::optional(bytes_of(script_.maps[map].type, script_.maps[map].shape, found->value))
                     : std::nullopt;
    }
    size_t entries(size_t map) override { return maps_.maps().maps[map].size(); }
    bool record(const Statement& statement, const std::vector<std::string>& values) override
    {
        std::vector<Datum> read;
        for (size_t i = 0; i < values.size(); ++i)
            read.push_back(datum_of(statement.values[i].type, statement.values[i].shape, values[i]));
        events.emplace_back(statement.number, read);
        return true;
    }
    void dump() override {}
    void call(const Statement&) override {}
    void unread() override { throw std::logic_error("all memory can be read"); }
    void too_many_turns() override { throw std::logic_error("no loop is that long"); }

private:
    std::vector<Datum> keys(size_t map, std::string_view bytes) const { return keys_of(script_.maps[map], bytes); }

    const Script& script_;
    Given& maps_;
};

std::string text(const std::vector<Datum>& all)
{
    std::string made;
    for (const Datum& each : all) {
        made += " " + std::to_string(each.number) + " \"";
        for (const char c : each.text)
            made += c >= ' ' && c <= '~' ? std::string(1, c) : "\\" + std::to_string(static_cast<unsigned char>(c));
        made += "\"";
    }
    return made;
}

std::string text(const Entry& entry)
{
    std::string made = "[" + text(entry.keys) + " ]: " + std::to_string(entry.number) + " of "
        + std::to_string(entry.count) + ", value" + text({entry.value});
    for (const uint64_t bucket : entry.buckets)
        made += " " + std::to_string(bucket);
    return made;
}

std::string text(const Script& script, const Maps& maps)
{
    std::string made;
    for (size_t map = 0; map < maps.maps.size(); ++map)
        for (const Entry& entry : maps.maps[map])
            made += script.maps[map].name + text(entry) + "\n";
    return made;
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
    const Environment environment = standing();
    uint64_t armed = 0;
    for (uint64_t seed = first; seed < first + count; ++seed) {
        const std::string script = MadeUpClauses(seed).script();
        std::mt19937_64 random(seed);
        try {
            OwnRun run(script, usdt(arguments), environment, size_t(8) << 20, size_t(64) << 10);
            ++armed;
            Given maps(run.script);
            Hits reference(run.script, maps);
            const ir::Program program = ir::lower(run.script, run.script.clauses[0]);
            std::vector<Event> events;
            for (int i = 0; i < 8; ++i) {
                Processor before = random_state(random);
                before.gpr[RAX] = i == 5 ? 8 : i == 6 ? random() : uint64_t(&user);
                before.gpr[R12] = i == 7 ? 16 : uint64_t(long_text) + random() % sizeof long_text;
                before.gpr[RCX] = i % 3 ? before.gpr[RCX] % 4 : before.gpr[RCX];
                reference.processor = &before;
                ir::interpret(program, reference);
                Processor after = before;
                run.pass(after);
                const auto more = run.events(true);
                events.insert(events.end(), more.begin(), more.end());
            }
            const Maps made = run.maps();
            ASSERT_EQ(made.dropped + made.unread + run.lost(), 0U) << "seed " << seed << "\n" << script;
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
