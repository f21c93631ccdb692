// SPDX-License-Identifier: BSD-2-Clause
#include "arch/argument_rules.h"

#include <charconv>

namespace fastsdt {

using enum ReadingVerdict;

bool numbered(std::string_view reg, std::string_view prefix, int last)
{
    int number = 0;
    if (!reg.starts_with(prefix))
        return false;
    const std::string_view rest = reg.substr(prefix.size());
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    return error == std::errc() && end == rest.data() + rest.size() && number >= 0 && number <= last;
}

bool plain_size(const Argument& argument)
{
    return (argument.size == 1 || argument.size == 2 || argument.size == 4 || argument.size == 8)
        && argument.text[0] != '+' && argument.text[argument.is_signed + 1] == '@';
}

Reading libbpf_refusal(const Scan& scan, size_t start)
{
    const std::string_view rest = scan.text.substr(start);
    return {rejects, rest.substr(0, rest.find('@')).find_first_of(":_") != rest.npos ? no_symbols : not_parsed};
}

Reading libbpf_brackets(Scan& scan, bool hash, bool (*known)(std::string_view reg))
{
    int64_t value = 0;
    std::string_view reg;
    const size_t start = scan.at;
    const auto number = [&] { return (!hash || scan.literal('#')) && scan.number(value); };
    if (scan.literal('[')) {
        scan.space();
        if (!scan.set(reg, lower_alnum) || (scan.literal(',') && !number()) || !scan.literal(']'))
            return libbpf_refusal(scan, start);
    } else {
        if (scan.at = start; number())
            return {};
        scan.at = start;
        scan.space();
        if (!scan.set(reg, lower_alnum))
            return libbpf_refusal(scan, start);
    }
    return known(reg) ? Reading{} : Reading{rejects, no_register};
}

Reading libbpf_parentheses(Scan& scan, Reading (*reg)(Scan& scan))
{
    int64_t value = 0;
    const size_t start = scan.at;
    if (!scan.number(value)) {
        scan.at = start;
        return reg(scan);
    }
    const size_t after = scan.at;
    if (!scan.literal('(')) {
        scan.at = after;
        return {};
    }
    if (reg(scan).verdict == rejects)
        return {rejects, no_register};
    return scan.literal(')') ? Reading{} : libbpf_refusal(scan, start);
}

namespace {

NotedOperand parse_operand(std::string_view text, bool numbers_are_registers)
{
    NotedOperand operand;
    Scan scan{text};
    int64_t value = 0;
    const auto word = [&] {
        const size_t from = scan.at;
        while (alnum(scan.peek()) || scan.peek() == '%' || scan.peek() == '$')
            ++scan.at;
        return text.substr(from, scan.at - from);
    };
    if (scan.peek() == '[') {
        ++scan.at;
        operand.base = word();
        if (scan.literal(',')) {
            scan.space();
            if (scan.peek() == '#')
                ++scan.at;
            if (!scan.number(value))
                return operand;
            ++operand.terms;
        }
        if (!operand.base.empty() && scan.literal(']') && scan.done())
            operand.form = NotedOperand::Form::memory;
        return operand;
    }
    // gcc writes constants as 5, #5 (arm) or i5 (powerpc), where 5 alone is a register.
    const bool marked = scan.peek() == '#' || (numbers_are_registers && scan.peek() == 'i');
    if (marked)
        ++scan.at;
    if (scan.number(value)) {
        ++operand.terms;
        if (scan.done()) {
            operand.form = numbers_are_registers && !marked ? NotedOperand::Form::reg : NotedOperand::Form::constant;
            operand.base = text;
        } else if (!marked && scan.peek() == '(') {
            ++scan.at;
            operand.base = word();
            if (scan.peek() == ',') {
                ++scan.at;
                operand.index = word();
            }
            if (!operand.base.empty() && scan.peek() == ')' && scan.at + 1 == text.size())
                operand.form = NotedOperand::Form::memory;
        } else if (numbers_are_registers && !marked && scan.peek() == ',') {
            ++scan.at;
            operand.base = text.substr(0, scan.at - 1);
            operand.index = word();
            if (!operand.index.empty() && scan.done())
                operand.form = NotedOperand::Form::memory;
        }
        return operand;
    }
    scan.at = 0;
    if (operand.base = word(); !operand.base.empty() && scan.done())
        operand.form = NotedOperand::Form::reg;
    return operand;
}

} // namespace

Reading read_operand(const OperandRules& rules, Tracer tracer, const Argument& argument)
{
    const NotedOperand operand = parse_operand(argument.operand, rules.numbers_are_registers);
    const bool general = operand.form != NotedOperand::Form::other;
    const auto known_registers = [&] {
        const bool known = operand.form == NotedOperand::Form::constant
            || (rules.knows(tracer, operand.base) && (operand.index.empty() || rules.knows(tracer, operand.index)));
        return known ? Reading{} : Reading{rejects, no_register};
    };
    switch (tracer) {
    case Tracer::bcc:
        if (!rules.bcc)
            break;
        if (argument.is_float)
            return {rejects, no_float};
        if (!plain_size(argument))
            return {rejects, no_size};
        if (!general || (!rules.bcc_takes_hash && argument.operand.find('#') != argument.operand.npos))
            return {rejects, not_parsed};
        return known_registers();
    case Tracer::gdb:
        if (!rules.gdb)
            break;
        if (argument.is_float)
            return {rejects, no_float};
        if (argument.size != 0 && !plain_size(argument))
            return {rejects, no_size};
        return general ? known_registers() : Reading{rejects, not_parsed};
    case Tracer::systemtap:
        if (!rules.systemtap)
            break;
        if (!general)
            return {rejects, not_parsed};
        if (operand.form == NotedOperand::Form::constant) {
            const bool bare = digit(argument.operand.front()) || argument.operand.front() == '-';
            return bare == rules.bare_constants ? Reading{} : Reading{rejects, not_parsed};
        }
        return known_registers();
    case Tracer::libbpf: break;
    }
    return {unsupported, no_architecture};
}

} // namespace fastsdt
