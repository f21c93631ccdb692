// SPDX-License-Identifier: BSD-2-Clause
// Results that stubs have to leave on every architecture: keys, and expressions by an interpreter of bpftrace's
// arithmetic (script.h).
#pragma once
#include "maps/events.h"
#include "maps/read.h"
#include "script/parse.h"
#include "script/script.h"
#include "site.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>

namespace fastsdt::engine {

/// @param argument  values of arg0, arg1, ...
inline uint64_t interpret(const Expression& e, const std::function<uint64_t(unsigned)>& argument)
{
    switch (e.kind) {
    case Expression::Kind::number: return uint64_t(e.number);
    case Expression::Kind::value: return argument(e.argument);
    case Expression::Kind::operation: break;
    default: throw std::logic_error("not in this test");
    }
    const uint64_t a = interpret(e.operands[0], argument);
    if (e.op == Operator::logical_and && a == 0)
        return 0;
    if (e.op == Operator::logical_or && a != 0)
        return 1;
    const uint64_t b = e.operands.size() > 1 ? interpret(e.operands[1], argument) : 0;
    const bool with_sign = e.operands.size() > 1 && e.operands[0].type.is_signed && e.operands[1].type.is_signed;
    const bool less = with_sign ? int64_t(a) < int64_t(b) : a < b;
    switch (e.op) {
    case Operator::logical_or:
    case Operator::logical_and: return b != 0;
    case Operator::bit_or: return a | b;
    case Operator::bit_xor: return a ^ b;
    case Operator::bit_and: return a & b;
    case Operator::equal: return a == b;
    case Operator::not_equal: return a != b;
    case Operator::less: return less;
    case Operator::less_equal: return less || a == b;
    case Operator::greater: return !less && a != b;
    case Operator::greater_equal: return !less;
    case Operator::shift_left: return a << (b & 63);
    case Operator::shift_right: return a >> (b & 63);
    case Operator::add: return a + b;
    case Operator::subtract: return a - b;
    case Operator::multiply: return a * b;
    case Operator::divide: return b == 0 ? 0 : a / b;
    case Operator::modulo: return b == 0 ? a : a % b;
    case Operator::negate: return 0 - a;
    case Operator::logical_not: return a == 0;
    case Operator::bit_not: return ~a;
    case Operator::select:
    case Operator::contains:
    case Operator::swap:
    case Operator::length:
    case Operator::truncate: break;
    }
    return 0;
}

/// An expression of arg0 to arg5 and numbers.
inline std::string random_expression(std::mt19937_64& random, int depth)
{
    static constexpr const char* binary[] = {
        "||", "&&", "|", "^", "&", "==", "!=", "<", "<=", ">", ">=", "<<", ">>", "+", "-", "*", "/", "%"};
    static constexpr const char* unary[] = {"!", "~", "-"};
    static constexpr const char* numbers[] = {
        "0", "1", "2", "3", "7", "10", "63", "255", "1000", "65536", "2147483647", "4294967296", "9223372036854775807"};
    if (depth == 0 || random() % 5 == 0)
        return random() % 2 ? "arg" + std::to_string(random() % 6) : numbers[random() % std::size(numbers)];
    if (random() % 6 == 0)
        return std::string("(") + unary[random() % 3] + "(" + random_expression(random, depth - 1) + "))";
    return "(" + random_expression(random, depth - 1) + " " + binary[random() % std::size(binary)] + " "
        + random_expression(random, depth - 1) + ")";
}

inline uint64_t random_word(std::mt19937_64& random)
{
    switch (random() % 4) {
    case 0: return random() % 16;
    case 1: return 0 - random() % 16;
    case 2: return random() >> random() % 64;
    default: return random();
    }
}

/// The number of a map that has one entry.
inline int64_t only_number(const Maps& maps, size_t map = 0)
{
    EXPECT_EQ(maps.maps.at(map).size(), 1u);
    return maps.maps[map].empty() ? INT64_MIN : maps.maps[map][0].number;
}

/// Three passes with arg0 = 0.
template <class Run> void expect_that_zero_is_a_key(const Run& run)
{
    run.pass(3);
    const Maps maps = run.maps();
    ASSERT_EQ(maps.maps.size(), 3u);
    for (const auto& map : maps.maps) {
        ASSERT_EQ(map.size(), 1u);
        for (const Datum& key : map[0].keys)
            EXPECT_EQ(key.number, 0);
    }
    EXPECT_EQ(maps.maps[0][0].number, 3);
    EXPECT_EQ(maps.maps[2][0].count, 3u);
}
/// Statements that are no aggregation: of arg0 from 0 to 9, one pass each, in this order.
template <class Run> void expect_statements(const Run& run)
{
    for (uint64_t i = 0; i < 10; ++i)
        run.pass_argument(i);
    const Maps maps = run.maps();
    const auto of = [&](const char* name) {
        std::map<int64_t, int64_t> found;
        for (size_t i = 0; i < run.script.maps.size(); ++i)
            if (run.script.maps[i].name == name)
                for (const Entry& entry : maps.maps[i])
                    found[entry.keys.empty() ? 0 : entry.keys[0].number] =
                        run.script.maps[i].kind == MapKind::integer ? entry.value.number : entry.number;
        return found;
    };
    using Numbers = std::map<int64_t, int64_t>;
    EXPECT_EQ(of("@branch"), (Numbers{{1, 3}, {2, 3}, {3, 4}})); // below 3; below 6; else
    EXPECT_EQ(of("@inner"), (Numbers{{4, 1}, {5, 1}}));
    EXPECT_EQ(of("@twice"), (Numbers{{0, 90}}));
    EXPECT_EQ(of("@unset"), (Numbers{{0, 0}, {1, 0}, {7, 3}}));
    EXPECT_EQ(of("@choice"), (Numbers{{10, 5}, {20, 2}, {30, 3}}));
    EXPECT_EQ(of("@cast"),
              (Numbers{{-5, 1}, {-4, 1}, {-3, 1}, {-2, 1}, {-1, 1}, {0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}}));
    EXPECT_EQ(of("@narrow"),
              (Numbers{{251, 1}, {252, 1}, {253, 1}, {254, 1}, {255, 1}, {0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}}));
    EXPECT_EQ(of("@up"), (Numbers{{0, 10}}));            // a sum
    EXPECT_EQ(of("@down"), (Numbers{{0, -5}, {1, -5}})); // by key
    EXPECT_EQ(of("@read"), (Numbers{{0, 55}}));          // 1 + 2 + ... + 10
    EXPECT_EQ(of("@counter"), (Numbers{{0, 10}}));
    EXPECT_EQ(of("@keyed"), (Numbers{{0, 7}, {1, 1}, {2, 2}})); // what came since each was deleted
    EXPECT_EQ(of("@long"), (Numbers{{0, 6}}));
    EXPECT_EQ(of("@alike"), (Numbers{{1, 3}, {2, 7}, {3, 10}}));
    EXPECT_EQ(of("@before"), (Numbers{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}}));
    EXPECT_EQ(maps.dropped, 0u);
    EXPECT_EQ(maps.unread, 0u);
}
inline const std::string various_statements = action("", R"(
    if (arg0 < 3) { @branch[1] = count(); } else if (arg0 < 6) { @branch[2] = count();
        if (arg0 > 3) { @inner[arg0] = count(); } } else { @branch[3] = count() }
    $twice = arg0 * 2; $twice += 0; @twice = sum($twice);
    if (arg0 == 7) { $unset = 3; } if (arg0 < 2 || arg0 == 7) { @unset[arg0] = sum($unset); }
    @choice[arg0 < 5 ? 10 : arg0 < 7 ? 20 : 30] = count();
    @cast[(int8)(arg0 + 251)] = count(); @narrow[(uint8)(arg0 + 507)] = count();
    @up++; @down[arg0 % 2]--;
    @counter += 1; @read = sum(@counter);
    if (@keyed[arg0 % 3] >= 0) { if (arg0 % 3 == 0) { @keyed[0] += 7; } else { @keyed[arg0 % 3] += arg0 % 3; } }
    if (arg0 < 9 && arg0 % 3 == 0 || arg0 == 4 || arg0 == 5) { delete(@keyed[arg0 % 3]); }
    $s = arg0 < 3 ? "tea" : "coffee"; $t = $s; unroll(2) { $n = 3; } @long = sum($n == 3 && $s == "coffee" && arg0 > 3);
    if ($s == "tea") { @alike[1] = count(); } else if ("coffee" == $t) { @alike[2] = count(); }
    if ($s == $t && $s != "te") { @alike[3] = count(); }
    if (arg0 < 5) { @before[arg0] = 0; } else { exit(); @before[arg0] = 1; })");

/// Loops, steps, tuples and strings that maps hold: of arg0 from 0 to 9, one pass each.
template <class Run> void expect_wide_statements(const Run& run)
{
    for (uint64_t i = 0; i < 10; ++i)
        run.pass_argument(i);
    const Maps maps = run.maps();
    using Numbers = std::map<std::vector<int64_t>, int64_t>;
    const auto of = [&](const char* name) {
        Numbers found;
        for (size_t i = 0; i < run.script.maps.size(); ++i)
            if (run.script.maps[i].name == name)
                for (const Entry& entry : maps.maps[i]) {
                    std::vector<int64_t> keys;
                    for (const Datum& key : entry.keys)
                        keys.push_back(key.number);
                    found[keys] = entry.number;
                }
        return found;
    };
    Numbers loops, steps, parts, swapped;
    for (int64_t i = 0; i < 10; ++i) {
        const int64_t last = std::min<int64_t>(i, 6);
        loops[{i}] = last * (last + 1) / 2 - (i < 3 ? 0 : 3);
        steps[{i}] = 2 * i;
        parts[{i}] = 2 * i - 1;
        swapped[{i * 256}] = 1;
    }
    EXPECT_EQ(of("@loops"), loops);
    EXPECT_EQ(of("@steps"), steps);
    EXPECT_EQ(of("@parts"), parts);
    EXPECT_EQ(of("@swapped"), swapped);
    EXPECT_EQ(of("@held"), (Numbers{{{0}, 5}, {{1}, 5}}));
    EXPECT_EQ(of("@alike"), (Numbers{{{0, 0}, 5}, {{0, 1}, 5}}));
    EXPECT_EQ(maps.dropped, 0u);
    EXPECT_EQ(maps.unread, 0u);
}
inline const std::string wide_statements = action("", R"(
    $i = 0; $sum = 0; while ($i < arg0) { $i++; if ($i == 3) { continue; } if ($i > 6) { break; } $sum += $i; } @loops[arg0] = sum($sum);
    $n = arg0; $before = $n++; @steps[$before] = sum(--$n + $before);
    $t = (arg0, "text", (arg0 * 2, -1)); @parts[$t.0] = sum($t.2.0 + $t.2.1);
    @name[arg0 % 3] = arg0 < 5 ? "tea" : "teapot"; @held[@name[arg0 % 3] == "tea"] = sum(1);
    @swapped[bswap((uint16)arg0)] = sum(1);
    @alike[strncmp(@name[arg0 % 3], "teacup", 3), strncmp(@name[arg0 % 3], "teap", 4) == 0] = sum(1);)");

/// Prints of arg0 from 0 to 9, one pass each, and what was read of them.
inline void expect_printed(const std::vector<Event>& events)
{
    ASSERT_EQ(events.size(), 20u);
    for (size_t i = 0; i < 10; ++i) {
        const Event &one = events[2 * i], &two = events[2 * i + 1];
        ASSERT_EQ(one.values.size(), 3u);
        EXPECT_EQ(one.values[0].number, int64_t(i));
        EXPECT_EQ(one.values[1].text, i < 5 ? "a string that is longer than eight bytes" : "");
        EXPECT_EQ(one.values[2].number, int64_t(3 * i));
        ASSERT_EQ(two.values.size(), 1u);
        EXPECT_EQ(two.values[0].number, -1);
        EXPECT_TRUE(one.statement->kind == Statement::Kind::printf && two.statement->is_value);
    }
}
/// As often as the ring is gone round many times.
template <class Run> void expect_printed_each_round(Run& run, int rounds)
{
    for (int round = 0; round < rounds; ++round) {
        for (uint64_t i = 0; i < 10; ++i)
            run.pass_argument(i);
        const std::vector<Event> events = run.events();
        expect_printed(events);
        for (size_t i = 1; i < events.size(); ++i)
            ASSERT_GE(events[i].clock, events[i - 1].clock);
        ASSERT_GT(events[0].clock, 0u);
    }
}
inline const std::string various_prints = action(
    "",
    "$three = arg0 * 3; printf(\"%d %s %d\", arg0, arg0 < 5 ? \"a string that is longer than eight bytes\" : \"\", "
    "$three); print(-1);");

inline const std::string zero_as_key = action("", "@[arg0] = count(); @b[arg0] = arg0; @c[arg0, arg0] = max(arg0);");

/// Random expressions, in filters and as values.
/// @param note  sizes and signs of all kinds; arg2 and arg3 are constants
/// @param set   gives the registers values
/// @param values_of  the values of arg0 to arg5, from the registers
/// @param compiled   the number of expressions of which the script was one
template <class Run, class State>
void expect_interpreted(int expressions, const std::string& note, void (*set)(State&, std::mt19937_64&),
                        std::array<uint64_t, 6> (*values_of)(const State&), int& compiled)
{
    std::mt19937_64 random(3);
    compiled = 0;
    for (int i = 0; i < expressions; ++i) {
        const std::string text = random_expression(random, 4);
        const std::string script = "usdt:*:p:n { @v = " + text + "; } usdt:*:p:n /" + text + "/ { @n = count(); }";
        std::unique_ptr<Run> run;
        try {
            run = std::make_unique<Run>(script, usdt(note));
        } catch (const ScriptError&) {
            continue; // bpftrace would not take such a number there
        }
        ++compiled;
        const Expression& value = *run->script.clauses[0].actions[0].value;
        const Expression& filter = *run->script.clauses[1].filter;
        int64_t count = 0;
        for (int pass = 0; pass < 20; ++pass) {
            State state;
            set(state, random);
            const std::array<uint64_t, 6> values = values_of(state);
            const auto argument = [&](unsigned index) { return values.at(index); };
            run->pass(state);
            count += interpret(filter, argument) != 0;
            ASSERT_EQ(uint64_t(run->maps().maps[0].at(0).value.number), interpret(value, argument)) << text;
        }
        const auto counted = run->maps().maps[1];
        ASSERT_EQ(counted.empty() ? 0 : counted[0].number, count) << text;
    }
}

} // namespace fastsdt::engine
