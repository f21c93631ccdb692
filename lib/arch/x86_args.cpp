// SPDX-License-Identifier: BSD-2-Clause
#include "arch/argument_rules.h"
#include "arch/x86.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace fastsdt {

using enum ReadingVerdict;

namespace {

bool x86_register(std::string_view reg, bool wide)
{
    // The names in calc_pt_regs_off(); no high bytes, no vector registers.
    static constexpr std::string_view low[] = {"eip", "eax", "ax", "al",  "ebx", "bx", "bl",  "ecx", "cx",
                                               "cl",  "edx", "dx", "dl",  "esi", "si", "sil", "edi", "di",
                                               "dil", "ebp", "bp", "bpl", "esp", "sp", "spl"};
    static constexpr std::string_view high[] = {"rip", "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp"};
    if (std::find(std::begin(low), std::end(low), reg) != std::end(low)
        || std::find(std::begin(high), std::end(high), reg) != std::end(high))
        return true; // libbpf's table has the 64-bit names on i386 too
    if (!wide || reg.size() < 2 || reg[0] != 'r')
        return false;
    int number = 0;
    const auto [end, error] = std::from_chars(reg.data() + 1, reg.data() + reg.size(), number);
    const std::string_view suffix = reg.substr(size_t(end - reg.data()));
    return error == std::errc() && number >= 8 && number <= 15 && reg[1] != '0'
        && (suffix.empty() || suffix == "d" || suffix == "w" || suffix == "b");
}

// What follows SIZE@.
Reading libbpf_operand(Scan& scan, bool wide)
{
    int64_t offset = 0, scale = 1;
    const auto not_comma = [](char c) { return c != ','; };
    const auto not_paren = [](char c) { return c != ')'; };
    const size_t start = scan.at;
    const auto known = [&](std::string_view reg) { return x86_register(reg, wide); };

    // off(%base,%index,scale), then the three shorter forms, in libbpf's order.
    for (const auto& [with_offset, with_scale] :
         {std::pair(true, true), {false, true}, {true, false}, {false, false}}) {
        scan.at = start;
        std::string_view base, index;
        scale = 1;
        if ((with_offset && !scan.number(offset)) || !scan.literal('(') || !scan.literal('%')
            || !scan.set(base, not_comma) || !scan.literal(',') || !scan.literal('%'))
            continue;
        if (with_scale ? !(scan.set(index, not_comma) && scan.literal(',') && scan.number(scale))
                       : !scan.set(index, not_paren))
            continue;
        if (!known(base) || !known(index))
            // libbpf's set for the base register includes blanks: it takes "(%rax) 4@(%rbx,%rcx)" for one register.
            return {rejects, base.find(')') != base.npos ? "it takes this and the next argument for one" : no_register};
        if (scale != 1 && scale != 2 && scale != 4 && scale != 8)
            return {rejects, not_parsed};
        if (!scan.literal(')'))
            return {rejects, not_parsed};
        return {};
    }
    for (const bool with_offset : {true, false}) {
        scan.at = start;
        std::string_view base;
        if ((with_offset && !scan.number(offset)) || !scan.literal('(') || !scan.literal('%')
            || !scan.set(base, not_paren))
            continue;
        if (!known(base))
            return {rejects, no_register};
        if (!scan.literal(')'))
            return {rejects, not_parsed};
        return {};
    }
    scan.at = start;
    if (scan.literal('%')) {
        std::string_view reg;
        scan.space();
        if (!scan.set(reg, [](char c) { return !blank(c); }))
            return {rejects, not_parsed};
        if (!known(reg))
            return {rejects, reg.find(':') != reg.npos ? no_segments : no_register};
    } else if (scan.at = start; !scan.literal('$') || !scan.number(offset)) {
        size_t end = start;
        while (end < scan.text.size() && !blank(scan.text[end]) && !alpha(scan.text[end]) && scan.text[end] != '_')
            ++end;
        const bool symbol = end < scan.text.size() && !blank(scan.text[end]);
        return {rejects, symbol ? no_symbols : not_parsed};
    } else if (scan.clamped) {
        return {misreads, clamps};
    }
    return {};
}

bool vector_register(std::string_view reg)
{
    return reg.starts_with("%xmm") || reg.starts_with("%ymm") || reg.starts_with("%zmm") || reg.starts_with("%st")
        || reg.starts_with("%mm");
}

Reading bcc_x86(const Argument& argument, const NotedOperand& operand)
{
    if (argument.is_float)
        return {rejects, no_float};
    // bcc makes a C type of the size. One like uint24_t does not compile.
    if (argument.size != 0 && !plain_size(argument))
        return {rejects, no_size};
    const auto known = [&](std::string_view reg) {
        return reg == "%rip" || (reg != "%eip" && x86_register(reg.substr(1), true));
    };
    switch (operand.form) {
    case NotedOperand::Form::constant: return operand.symbol.empty() ? Reading{} : Reading{rejects, no_symbols};
    case NotedOperand::Form::reg:
        if (numbered(operand.base, "%xmm", 15))
            return {misreads, "it reads 0 from vector registers"};
        return known(operand.base) ? Reading{} : Reading{rejects, no_register};
    case NotedOperand::Form::memory:
        if (operand.base.empty() || !known(operand.base) || (!operand.index.empty() && !known(operand.index)))
            return {rejects, no_register};
        if (operand.symbol.empty())
            return operand.terms <= 1 ? Reading{} : Reading{rejects, not_parsed};
        if (operand.symbol.find_first_of(".$@") != operand.symbol.npos || operand.terms > 1)
            return {rejects, not_parsed};
        if (operand.base != "%rip")
            return {rejects, no_symbols};
        return {conditional,
                "it needs the symbol in the symbol table, and a process unless the program has fixed addresses"};
    case NotedOperand::Form::other: break;
    }
    return {rejects, operand.segment ? no_segments : not_parsed};
}

Reading gdb_x86(const Argument& argument, const NotedOperand& operand, bool wide)
{
    if (argument.is_float)
        return {rejects, no_float};
    if (argument.size != 0 && !plain_size(argument))
        return {rejects, no_size};
    const auto known = [&](std::string_view reg) {
        reg.remove_prefix(1);
        if (reg == "ah" || reg == "bh" || reg == "ch" || reg == "dh")
            return true;
        // gdb calls the low bytes r8l to r15l, the assembler r8b to r15b.
        if (reg.size() >= 3 && reg[0] == 'r' && digit(reg[1])) {
            if (reg.back() == 'b')
                return false;
            if (reg.back() == 'l')
                return wide && x86_register(reg.substr(0, reg.size() - 1), wide);
        }
        if (wide && reg == "eip")
            return false;
        if (!wide && (reg == "sil" || reg == "dil" || reg == "bpl" || reg == "spl" || reg.starts_with('r')))
            return false;
        return x86_register(reg, wide);
    };
    switch (operand.form) {
    case NotedOperand::Form::constant:
        if (!operand.symbol.empty())
            return {rejects, no_symbols};
        if (operand.hexadecimal)
            return {rejects, not_parsed};
        return operand.clamped ? Reading{misreads, clamps} : Reading{};
    case NotedOperand::Form::reg:
        if (numbered(operand.base, "%xmm", 31) || numbered(operand.base, "%ymm", 31)
            || numbered(operand.base, "%k", 7)) // their low bytes
            return {};
        return known(operand.base) ? Reading{} : Reading{rejects, no_register};
    case NotedOperand::Form::memory:
        if (operand.odd_scale())
            return {conditional, "it takes the number, no instruction could have it"};
        if (!operand.symbol.empty())
            return {rejects, no_symbols};
        if (operand.base.empty() || !known(operand.base) || (!operand.index.empty() && !known(operand.index)))
            return {rejects, no_register};
        // i386_stap_parse_special_token_triplet() wants three terms, everything else one at most.
        return operand.terms <= 1 || operand.terms == 3 ? Reading{} : Reading{rejects, not_parsed};
    case NotedOperand::Form::other: break;
    }
    return {rejects, operand.segment ? no_segments : not_parsed};
}

Reading systemtap_x86(const NotedOperand& operand, bool wide)
{
    const auto known = [&](std::string_view reg) {
        const std::string_view bare = reg.substr(1);
        if (bare == "ah" || bare == "bh" || bare == "ch" || bare == "dh")
            return true;
        if (!wide && (bare.starts_with('r') || bare == "bpl" || bare == "spl" || bare == "eip"))
            return false;
        return bare == "ip" || x86_register(bare, wide);
    };
    switch (operand.form) {
    case NotedOperand::Form::constant:
        if (operand.hexadecimal)
            return {rejects, not_parsed};
        return operand.symbol.empty() ? Reading{} : Reading{rejects, no_symbols};
    case NotedOperand::Form::reg:
        if (vector_register(operand.base))
            return {rejects, no_vectors};
        return known(operand.base) ? Reading{} : Reading{rejects, no_register};
    case NotedOperand::Form::memory:
        if (operand.symbol.empty()) {
            if (operand.odd_scale() || operand.base.empty() || operand.terms > 3 || !known(operand.base)
                || (!operand.index.empty() && !known(operand.index)))
                return {rejects, not_parsed};
            return {};
        }
        if (operand.symbol.find_first_of(".$@") != operand.symbol.npos || operand.terms > 1 || !operand.index.empty()
            || !(operand.base.empty() || (operand.base == "%rip" && wide)))
            return {rejects, not_parsed};
        return {conditional, "it needs the symbol in the symbol table"};
    case NotedOperand::Form::other: break;
    }
    return {rejects, operand.segment ? no_segments : not_parsed};
}

} // namespace

NotedOperand parse_att_operand(std::string_view text)
{
    NotedOperand operand;
    Scan scan{text};
    const auto reg = [&](std::string_view& into) {
        const size_t from = scan.at;
        if (scan.peek() != '%')
            return false;
        ++scan.at;
        while (alnum(scan.peek()))
            ++scan.at;
        into = text.substr(from, scan.at - from);
        return into.size() > 1;
    };
    const auto word = [&] {
        const size_t from = scan.at;
        while (alnum(scan.peek()) || scan.peek() == '_' || scan.peek() == '.' || scan.peek() == '$'
               || scan.peek() == '@')
            ++scan.at;
        return text.substr(from, scan.at - from);
    };
    int64_t ignored = 0;
    if (scan.peek() == '$') {
        ++scan.at;
        operand.hexadecimal = is_hexadecimal(text.substr(1));
        if (operand.hexadecimal)
            scan.at = text.size();
        if (operand.hexadecimal || scan.number(ignored))
            ++operand.terms;
        else
            operand.symbol = text.substr(1);
        operand.clamped = scan.clamped;
        if (operand.terms == 0 || scan.done())
            operand.form = NotedOperand::Form::constant;
        return operand;
    }
    if (scan.peek() == '%') {
        if (reg(operand.base) && scan.done())
            operand.form = NotedOperand::Form::reg;
        operand.segment = scan.peek() == ':';
        return operand;
    }
    while (!scan.done() && scan.peek() != '(') {
        const char c = scan.peek();
        if (digit(c) || ((c == '-' || c == '+') && scan.at + 1 < text.size() && digit(text[scan.at + 1]))) {
            int64_t term = 0;
            if (!scan.number(term))
                return operand;
            ++operand.terms;
            operand.clamped |=
                scan.clamped || __builtin_add_overflow(operand.displacement, term, &operand.displacement);
        } else {
            if (c == '+')
                ++scan.at;
            const auto found = word();
            if (found.empty() || !operand.symbol.empty())
                return operand;
            operand.symbol = found;
            operand.symbol_first = operand.terms == 0;
        }
    }
    if (scan.done()) { // an address by itself
        operand.form = NotedOperand::Form::memory;
        return operand;
    }
    ++scan.at;
    if (scan.peek() != ',' && !reg(operand.base))
        return operand;
    if (scan.peek() == ',') {
        ++scan.at;
        if (!reg(operand.index))
            return operand;
        if (scan.peek() == ',') {
            ++scan.at;
            if (!scan.number(operand.scale))
                return operand;
        }
    }
    if (scan.peek() == ')' && scan.at + 1 == text.size())
        operand.form = NotedOperand::Form::memory;
    return operand;
}

Reading libbpf_x86(Scan& scan, bool wide)
{
    return libbpf_argument(scan, [&](Scan& scan) { return libbpf_operand(scan, wide); });
}

Reading read_operand_x86(Tracer tracer, const Argument& argument, bool wide)
{
    const NotedOperand operand = parse_att_operand(argument.operand);
    switch (tracer) {
    case Tracer::bcc: return wide ? bcc_x86(argument, operand) : Reading{unsupported, no_architecture};
    case Tracer::gdb: return gdb_x86(argument, operand, wide);
    case Tracer::systemtap: return systemtap_x86(operand, wide);
    case Tracer::libbpf: break;
    }
    return {};
}

} // namespace fastsdt
