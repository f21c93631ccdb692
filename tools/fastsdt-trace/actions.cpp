// SPDX-License-Identifier: BSD-2-Clause
#include "actions.h"

#include "base/printable.h"
#include "process/clock.h"

#include <fmt/printf.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <stdexcept>
#include <utility>

namespace fastsdt::trace_tool {

using engine::Datum;
using engine::Expression;
using engine::Format;
using engine::Operator;
using engine::Statement;
using engine::Type;

namespace {

constexpr size_t of_printed_stack = 8; ///< blanks before each frame, as bpftrace has them

// One value, as snprintf() would print it. Strings are of the process, and it chose what is in them.
std::string formatted(const Format& format, const Expression& e, const Datum& datum,
                      const std::vector<std::string>& names)
{
    std::string for_text = "%" + format.how;
    std::erase_if(for_text, [](char c) { return c == '#' || c == '+' || c == ' '; });
    if (for_text.size() > 1 && for_text[1] == '0')
        for_text.erase(1, for_text.find_first_not_of('0', 1) - 1);
    for_text += 's';
    switch (format.conversion) {
    case 's':
        return fmt::sprintf(
            for_text,
            e.type == Type::stack ? stack_text(datum, of_printed_stack) : printable(text_of(e.type, datum, names)));
    case 'p': return fmt::sprintf(for_text, fmt::format("0x{:x}", static_cast<uint64_t>(datum.number)));
    case 'c': {
        const auto character = static_cast<char>(datum.number);
        const std::string text(1, character);
        return fmt::sprintf(for_text, character == '\n' || character == '\t' ? text : printable(text));
    }
    case 'd':
        return format.is_long ? fmt::sprintf("%" + format.how + "lld", static_cast<long long>(datum.number))
                              : fmt::sprintf("%" + format.how + "d", static_cast<int>(datum.number));
    default:
        return format.is_long
            ? fmt::sprintf("%" + format.how + "ll" + format.conversion, static_cast<unsigned long long>(datum.number))
            : fmt::sprintf("%" + format.how + format.conversion, static_cast<unsigned>(datum.number));
    }
}

std::string wall_clock(const std::string& format)
{
    const time_t now = time(nullptr);
    tm local{};
    localtime_r(&now, &local);
    std::array<char, 256> text{}; // an empty result and one that is too long are the same to strftime()
    const size_t length = strftime(text.data(), text.size(), format.c_str(), &local);
    return {text.data(), length};
}

} // namespace

bool Actions::run(const engine::Clause& clause)
{
    variables_.assign(clause.variables.size(), {});
    maps_.reset();
    shown_ = nullptr;
    return run(clause, clause.actions);
}

bool Actions::run(const engine::Clause& clause, const std::vector<Statement>& statements)
{
    for (const Statement& statement : statements) {
        if (statement.kind == Statement::Kind::set) {
            variables_[statement.variable] = value(*statement.value);
            continue;
        }
        if (statement.kind == Statement::Kind::branch) {
            if (!run(clause, number(*statement.value) != 0 ? statement.then : statement.otherwise))
                return false;
            continue;
        }
        Values values;
        for (const Expression& e : statement.values)
            values.push_back(value(e));
        if (!perform(statement, values))
            return false;
    }
    return true;
}

bool Actions::perform(const Statement& statement, const Values& values)
{
    const Statement* const before = std::exchange(shown_, nullptr);
    const std::vector<std::string>& names = shared_.names.names();
    switch (statement.kind) {
    case Statement::Kind::print: {
        const engine::Maps maps = processes_.read();
        output_.map(statement.map, maps.maps[statement.map], names, statement.top, statement.div);
        shown_ = &statement;
        return true;
    }
    case Statement::Kind::clear:
        processes_.clear(statement.map, before && before->map == statement.map);
        maps_.reset();
        return true;
    case Statement::Kind::printf: {
        if (statement.is_value) {
            const Expression& e = statement.values[0];
            if (e.type == Type::stack)
                output_.stack(values[0]);
            else if (e.type == Type::integer)
                output_.number(e.is_signed ? std::to_string(values[0].number)
                                           : std::to_string(static_cast<uint64_t>(values[0].number)));
            else
                output_.text(text_of(e.type, values[0], names), Output::Kind::value);
            return true;
        }
        std::string text;
        for (size_t i = 0; i < values.size(); ++i)
            text += statement.format[i].text + formatted(statement.format[i], statement.values[i], values[i], names);
        output_.text(text + statement.format.back().text, Output::Kind::printf);
        return true;
    }
    case Statement::Kind::time: output_.text(wall_clock(statement.text), Output::Kind::time); return true;
    case Statement::Kind::exit: return false;
    default: return true; // of sites
    }
}

Datum Actions::value(const Expression& e)
{
    switch (e.kind) {
    case Expression::Kind::number: return {e.number, {}};
    case Expression::Kind::text: return {0, e.text};
    case Expression::Kind::variable: return variables_[e.variable];
    case Expression::Kind::map: return {map_value(e), {}};
    case Expression::Kind::operation:
        if (e.op == Operator::select)
            return value(e.operands[number(e.operands[0]) != 0 ? 1 : 2]);
        return {static_cast<int64_t>(operation(e)), {}};
    case Expression::Kind::value: break;
    }
    const uint64_t now = engine::boot_time();
    return {static_cast<int64_t>(e.value == engine::Value::elapsed ? now - shared_.start_ns : now), {}};
}

// As script.h has it: nothing is signed but comparisons of two signed numbers, x / 0 is 0, and x % 0 is x.
uint64_t Actions::operation(const Expression& e)
{
    const Expression& left = e.operands[0];
    if (left.type == Type::string) {
        const bool same = value(left).text == value(e.operands[1]).text;
        return same == (e.op == Operator::equal);
    }
    const uint64_t a = number(left);
    switch (e.op) {
    case Operator::negate: return 0 - a;
    case Operator::logical_not: return a == 0;
    case Operator::bit_not: return ~a;
    case Operator::logical_and: return a != 0 && number(e.operands[1]) != 0;
    case Operator::logical_or: return a != 0 || number(e.operands[1]) != 0;
    default: break;
    }
    const uint64_t b = number(e.operands[1]);
    const bool with_sign = left.is_signed && e.operands[1].is_signed;
    const bool less = with_sign ? static_cast<int64_t>(a) < static_cast<int64_t>(b) : a < b;
    switch (e.op) {
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
    default: break;
    }
    throw std::logic_error("no such operation");
}

// 0 where the key is not there.
int64_t Actions::map_value(const Expression& e)
{
    if (!maps_)
        maps_ = processes_.read();
    std::vector<Datum> keys;
    for (const Expression& key : e.operands)
        keys.push_back(value(key));
    for (const engine::Entry& entry : maps_->maps[e.map])
        if (entry.keys == keys)
            return shared_.script.maps[e.map].kind == engine::MapKind::integer ? entry.value.number : entry.number;
    return 0;
}

} // namespace fastsdt::trace_tool
