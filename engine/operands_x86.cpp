// SPDX-License-Identifier: BSD-2-Clause
#include "operands_x86.h"

#include "argument_rules.h"
#include "operands.h"

#include <array>
#include <charconv>
#include <optional>
#include <string>

namespace fastsdt::engine::x86 {
namespace {

struct Named {
    Reg reg;
    int size;
    bool high = false;
};

/// "eax", "r8d", "ah", ...
std::optional<Named> named(std::string_view name)
{
    struct Old {
        Reg reg;
        std::string_view of8, of4, of2, of1, high;
    };
    static constexpr Old old[] = {
        {rax, "rax", "eax", "ax", "al", "ah"}, {rcx, "rcx", "ecx", "cx", "cl", "ch"},
        {rdx, "rdx", "edx", "dx", "dl", "dh"}, {rbx, "rbx", "ebx", "bx", "bl", "bh"},
        {rsp, "rsp", "esp", "sp", "spl", "-"}, {rbp, "rbp", "ebp", "bp", "bpl", "-"},
        {rsi, "rsi", "esi", "si", "sil", "-"}, {rdi, "rdi", "edi", "di", "dil", "-"},
    };
    for (const Old& each : old) {
        if (name == each.of8)
            return Named{each.reg, 8};
        if (name == each.of4)
            return Named{each.reg, 4};
        if (name == each.of2)
            return Named{each.reg, 2};
        if (name == each.of1)
            return Named{each.reg, 1};
        if (name == each.high)
            return Named{each.reg, 1, true};
    }
    if (name.size() < 2 || name[0] != 'r' || name[1] == '0')
        return std::nullopt;
    int number = 0;
    const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), number);
    if (error != std::errc() || number < 8 || number > 15)
        return std::nullopt;
    const std::string_view suffix = name.substr(size_t(end - name.data()));
    const int size = suffix.empty()      ? 8
        : suffix == "d"                  ? 4
        : suffix == "w"                  ? 2
        : suffix == "b" || suffix == "l" ? 1
                                         : 0;
    return size ? std::optional(Named{Reg(number), size}) : std::nullopt;
}

/// A word of letters and digits at the scan, after a '%'.
std::optional<Named> scan_register(Scan& scan)
{
    if (scan.peek() != '%')
        return std::nullopt;
    const size_t from = ++scan.at;
    while (lower_alnum(scan.peek()))
        ++scan.at;
    return named(scan.text.substr(from, scan.at - from));
}

/// Numbers added up, each with its sign: "-8+4". False: something else stands there, or no 32-bit displacement.
bool scan_sum(Scan& scan, int64_t& sum)
{
    sum = 0;
    while (!scan.done() && scan.peek() != '(') {
        int64_t term = 0;
        if (blank(scan.peek()) || !scan.number(term) || scan.clamped || term != int32_t(term))
            return false;
        sum += term;
        if (sum != int32_t(sum))
            return false;
    }
    return true;
}

/// What stands in the parentheses, and nothing after them.
bool scan_memory(Scan& scan, Memory& memory)
{
    if (!scan_sum(scan, memory.displacement) || scan.peek() != '(')
        return false;
    ++scan.at;
    if (scan.peek() != ',') {
        const auto base = scan_register(scan);
        if (!base || base->size != 8)
            return false;
        memory.base = base->reg;
    }
    if (scan.peek() == ',') {
        ++scan.at;
        const auto index = scan_register(scan);
        if (!index || index->size != 8 || index->reg == rsp)
            return false;
        memory.index = index->reg;
        if (scan.peek() == ',') {
            ++scan.at;
            int64_t scale = 0;
            if (!scan.number(scale) || (scale != 1 && scale != 2 && scale != 4 && scale != 8))
                return false;
            memory.scale = int(scale);
        }
    }
    if (memory.base == no_register && memory.index == no_register)
        return false;
    if (scan.peek() != ')')
        return false;
    ++scan.at;
    return scan.done();
}

} // namespace

Source find_argument(const std::vector<Argument>& arguments, unsigned index)
{
    const Argument& argument = integer_argument(arguments, index);
    const auto refuse = [&](std::string_view why) { refuse_argument(arguments, index, why); };
    Source source;
    source.size = argument.size;
    source.is_signed = argument.is_signed;

    Scan scan{argument.operand};
    if (scan.peek() == '$') {
        bool too_large = false;
        const auto value = constant(argument.operand.substr(1), too_large);
        if (!value)
            refuse(too_large ? "that has more than 64 bits" : "that is the address of a symbol");
        source.kind = Source::Kind::constant;
        source.constant = extend(*value, source.size, source.is_signed);
        return source;
    }
    if (scan.peek() == '%') {
        const auto found = scan_register(scan);
        if (scan.peek() == ':')
            refuse("in thread-local memory");
        if (!found || !scan.done())
            refuse("in a register that is not an integer's");
        source.kind = found->high ? Source::Kind::high_byte : Source::Kind::reg;
        source.reg = found->reg;
        // The note's size is what counts (the kernel's tracers read the whole register): but a high byte has one.
        if (found->high && source.size != 1)
            refuse("of another size than its register");
        return source;
    }
    source.kind = Source::Kind::memory;
    if (!scan_memory(scan, source.memory))
        refuse("at a place that has no plain address");
    source.memory.size = source.size;
    return source;
}

} // namespace fastsdt::engine::x86
