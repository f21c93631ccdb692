// SPDX-License-Identifier: BSD-2-Clause
// Compiled expressions against an interpreter of bpftrace's arithmetic (script.h); buckets against their definition.
#include "expected.h"
#include "own_site.h"

#include <gtest/gtest.h>
#include <numeric>
#include <optional>
#include <random>

using namespace fastsdt::engine;

TEST(Expression, IsWhatTheInterpreterSays)
{
    const auto set = [](Processor& state, std::mt19937_64& random) {
        for (const int reg : {RAX, RCX, R9, RBX})
            state.gpr[reg] = random_word(random);
    };
    const auto values = [](const Processor& state) -> std::array<uint64_t, 6> {
        return {state.gpr[RAX],
                uint64_t(int64_t(int32_t(state.gpr[RCX]))),
                uint64_t(-5),
                1000000007,
                uint16_t(state.gpr[R9]),
                state.gpr[RBX]};
    };
    int compiled = 0;
    expect_interpreted<OwnRun, Processor>(600, "8@%rax -4@%ecx -1@$-5 8@$1000000007 2@%r9w -8@%rbx", set, values,
                                          compiled);
    EXPECT_GT(compiled, 400);
}

TEST(Expression, DividesByEveryKindOfNumber)
{
    std::mt19937_64 random(4);
    std::vector<uint64_t> divisors = {1, 2, 3, 5, 6, 7, 9, 10, 1000, 1'000'000, 641, 6700417, 0x7fffffffffffffff};
    for (int i = 0; i < 100; ++i)
        divisors.push_back((random() >> 1) >> random() % 63);
    for (const uint64_t divisor : divisors) {
        OwnRun run("usdt:*:p:n { @ = arg0 / " + std::to_string(divisor) + "; }", usdt("8@%rax"));
        for (int pass = 0; pass < 200; ++pass) {
            Processor state;
            const uint64_t value = pass < 3 ? uint64_t(0) - uint64_t(pass) : random_word(random) + (pass & 1);
            // The places where a quotient changes are where a rounded multiplier would be wrong.
            const uint64_t at = divisor && pass % 4 == 0 ? value / divisor * divisor - (pass % 8 == 0) : value;
            state.gpr[RAX] = at;
            run.pass(state);
            ASSERT_EQ(uint64_t(run.maps().maps[0].at(0).value.number), divisor ? at / divisor : 0)
                << at << " / " << divisor;
        }
    }
}

TEST(Aggregation, HistogramsHaveTheBucketsThatTheyPrint)
{
    std::mt19937_64 random(5);
    OwnRun run("usdt:*:p:n { @h = hist(arg0); @l = lhist(arg0, 20, 1000, 7); @p = lhist(arg0, 0, 4096, 64); }",
               usdt("-8@%rdx"));
    std::vector<uint64_t> log(65), seven(142), powers(66);
    const auto linear = [](int64_t value, int64_t low, int64_t high, int64_t step) {
        if (value < low)
            return size_t(0);
        size_t bucket = 1;
        for (int64_t at = low + step; at <= value && at <= high; at += step)
            ++bucket;
        return std::min(bucket, size_t((high - low) / step) + 1);
    };
    for (int pass = 0; pass < 5000; ++pass) {
        const int64_t value = pass < 128 ? int64_t((uint64_t(1) << pass / 2) - uint64_t(pass % 2))
                                         : int64_t(random_word(random) % 1200) - 60 * (pass % 2);
        size_t bucket = 0; // below 0, 0, then [2^n, 2^(n+1))
        if (value >= 0)
            for (bucket = 1; value >> (bucket - 1) != 0;)
                ++bucket;
        ++log[bucket];
        ++seven[linear(value, 20, 1000, 7)];
        ++powers[linear(value, 0, 4096, 64)];
        Processor state;
        state.gpr[RDX] = uint64_t(value);
        run.pass(state);
    }
    const Maps maps = run.maps();
    EXPECT_EQ(maps.maps[0].at(0).buckets, log);
    EXPECT_EQ(maps.maps[1].at(0).buckets, seven);
    EXPECT_EQ(maps.maps[2].at(0).buckets, powers);
}

TEST(Aggregation, MinMaxSumAvgAndStats)
{
    std::mt19937_64 random(6);
    OwnRun run("usdt:*:p:n { @a = min(arg0); @b = max(arg0); @c = sum(arg0); @d = avg(arg0); @e = stats(arg0);"
               " @f = min(0 - 1); @g = max(-3); @k[arg0 % 3] = min(arg0); @x[arg0 % 3, 1] = max(arg0); }",
               usdt("8@%r8"));
    // In the order of the numbers, as signed or unsigned ones.
    const auto less = [&](size_t map, uint64_t a, uint64_t b) {
        return run.script.maps[map].type.is_signed ? int64_t(a) < int64_t(b) : a < b;
    };
    std::vector<uint64_t> values;
    for (int pass = 0; pass < 1000; ++pass) {
        Processor state;
        values.push_back(state.gpr[R8] = random_word(random));
        run.pass(state);
    }
    const Maps maps = run.maps();
    const auto number = [&](size_t map, size_t entry = 0) { return uint64_t(maps.maps[map].at(entry).number); };
    const auto extreme = [&](size_t map, bool least, int rest) {
        std::optional<uint64_t> found;
        for (const uint64_t value : values)
            if ((rest < 0 || value % 3 == uint64_t(rest))
                && (!found || (least ? less(map, value, *found) : less(map, *found, value))))
                found = value;
        return found.value();
    };
    EXPECT_EQ(number(0), extreme(0, true, -1));
    EXPECT_EQ(number(1), extreme(1, false, -1));
    for (const size_t map : {2, 3, 4}) {
        EXPECT_EQ(number(map), std::accumulate(values.begin(), values.end(), uint64_t(0)));
        EXPECT_EQ(maps.maps[map][0].count, values.size());
    }
    EXPECT_EQ(int64_t(number(5)), -1);
    EXPECT_EQ(int64_t(number(6)), -3);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(number(7, size_t(i)), extreme(7, true, i));
        EXPECT_EQ(number(8, size_t(i)), extreme(8, false, i));
    }
}

TEST(Aggregation, OnlyWhatCameSinceAClear)
{
    OwnRun run("usdt:*:p:n { @a = count(); @b = hist(arg0); @c[arg0] = sum(arg0); }", usdt("8@%r8"));
    Processor state;
    for (const uint64_t value : {1, 2, 2}) {
        state.gpr[R8] = value;
        run.pass(state);
    }
    const Maps before = run.maps();
    run.pass(state);
    Maps now = run.maps();
    for (size_t map = 0; map < 3; ++map)
        subtract(run.script, map, now, before);
    EXPECT_EQ(now.maps[0].at(0).number, 1);
    EXPECT_EQ(now.maps[1].at(0).buckets[3], 1u);
    ASSERT_EQ(now.maps[2].size(), 1u);
    EXPECT_EQ(now.maps[2][0].keys[0].number, 2);
    EXPECT_EQ(now.maps[2][0].number, 2);
}

// Whatever stands where addresses, indexes and shifts should be: reading ends, and stays within the memory.
TEST(Tables, WildAddressesAreNotFollowed)
{
    OwnRun run("usdt:*:p:n { @a[arg0] = count(); @b[arg0] = arg0; @c[arg0, 1] = hist(arg0); @d[arg0] = \"text\"; @e = "
               "count(); }",
               usdt("8@%r8"), own_environment(), size_t(4) << 20);
    Processor state;
    for (uint64_t key = 0; key < 300; ++key) {
        state.gpr[R8] = key;
        run.pass(state);
    }
    const auto* const first = reinterpret_cast<const std::byte*>(run.data);
    const std::vector<std::byte> whole(first, first + run.data_size);
    const Window window{uint64_t(run.data), run.data_size};
    // Words that are addresses, and headers of chunks.
    std::vector<size_t> words;
    for (size_t at = Tables::slice; at + 8 <= whole.size(); at += 8) {
        uint64_t word = 0;
        std::memcpy(&word, &whole[at], sizeof word);
        if (word - window.address < window.size) {
            words.push_back(at);
            if (at > run.tables.heap)
                words.insert(words.end(), {at + 8, at + 16, at + 24});
        }
    }
    ASSERT_GT(words.size(), 10u);
    std::mt19937_64 random(11);
    for (int i = 0; i < 3000; ++i) {
        std::vector<std::byte> bytes(whole);
        for (uint64_t changes = 1 + random() % 8; changes > 0; --changes) {
            const size_t at = words[random() % words.size()];
            uint64_t word = random();
            switch (random() % 4) {
            case 0:
                std::memcpy(&word, &bytes[words[random() % words.size()]], sizeof word);
                break; // another address: also loops
            case 1: word = window.address + word % window.size / 16 * 16; break;
            case 2: word %= 70; break;
            default: break;
            }
            std::memcpy(&bytes[std::min(at, bytes.size() - 8)], &word, sizeof word);
        }
        size_t read = 0;
        const ReadData reader = [&](size_t offset, size_t size) {
            EXPECT_LE(offset, bytes.size());
            EXPECT_LE(size, bytes.size() - offset);
            read += size;
            const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(offset);
            return std::vector<std::byte>(from, from + static_cast<std::ptrdiff_t>(size));
        };
        const Maps maps = read_tables(run.script, run.tables, window, reader);
        ASSERT_EQ(maps.maps.size(), run.script.maps.size());
        ASSERT_LE(read, 2 * window.size);
        for (const Piece& piece : contents(run.tables, window, reader))
            ASSERT_LE(piece.offset + piece.size, window.size);
        for (size_t map = 0; map < maps.maps.size(); ++map)
            clear_table(run.script, run.tables, window, map, reader, [&](size_t offset, uint64_t, uint64_t) {
                EXPECT_LE(offset + 8, window.size);
                return false;
            });
    }
}

// A target may write anything into its tables.
TEST(Tables, NonsenseIsReadAsNumbers)
{
    std::mt19937_64 random(7);
    const Script script = parse("usdt:*:p:n { @a = count(); @b[arg0] = hist(arg0); @c[str(arg0), tid] = min(arg1);"
                                " @d[arg0] = arg1; @e[probe] = lhist(arg0, 0, 10, 1); @f = avg(arg0); }");
    const Tables tables = lay_out(script);
    for (int i = 0; i < 2; ++i) {
        const uint64_t seed = random();
        const Maps maps =
            read_tables(script, tables, {uint64_t(1) << 40, size_t(64) << 20}, [&](size_t offset, size_t size) {
                std::mt19937_64 bytes(seed + offset);
                // Only one slot has an owner, since more take long. Now and then the tables end early.
                const size_t given = i % 2 ? size : size / 3;
                std::vector<std::byte> data(given);
                for (std::byte& byte : data)
                    byte = offset == 0 ? std::byte(&byte - data.data() >= 72 ? 0 : 0xff) : std::byte(bytes());
                return data;
            });
        ASSERT_EQ(maps.maps.size(), script.maps.size());
        for (const Entry& entry : maps.maps[2])
            EXPECT_LT(entry.keys[0].text.size(), string_size);
    }
}
