// SPDX-License-Identifier: BSD-2-Clause
// What expressions come to, by an interpreter of what bpftrace makes of them (script.h).
#pragma once
#include "script.h"

#include <cstdint>
#include <functional>
#include <iterator>
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
    const bool with_sign = e.operands.size() > 1 && e.operands[0].is_signed && e.operands[1].is_signed;
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
    }
    return 0;
}

/// Of arg0 to arg5 and numbers.
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

} // namespace fastsdt::engine
