// SPDX-License-Identifier: BSD-2-Clause
#include "args.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace fastsdt {
namespace {

using enum ReadingVerdict;

bool blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}
bool digit(char c)
{
    return c >= '0' && c <= '9';
}
bool alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool alnum(char c)
{
    return alpha(c) || digit(c);
}

// ---- Reading text from the left -------------------------------------------------------------------------------------

// A position in a text and the conversions that sscanf() has, which is what libbpf's grammar is made of.
struct Scan {
    std::string_view text;
    size_t at = 0;
    bool clamped = false; // the last number did not fit into 64 bits with a sign

    char peek() const { return at < text.size() ? text[at] : '\0'; }
    bool done() const { return at >= text.size(); }
    void space()
    {
        while (at < text.size() && blank(text[at]))
            ++at;
    }
    // A literal character; sscanf formats have a space before each, so blanks may come first.
    bool literal(char c)
    {
        space();
        if (peek() != c)
            return false;
        ++at;
        return true;
    }
    // %d, %ld
    bool number(int64_t& value)
    {
        space();
        size_t from = at;
        bool negative = false;
        if (from < text.size() && (text[from] == '-' || text[from] == '+'))
            negative = text[from++] == '-';
        if (from >= text.size() || !digit(text[from]))
            return false;
        uint64_t magnitude = 0;
        for (; from < text.size() && digit(text[from]); ++from)
            magnitude = magnitude > (UINT64_MAX - 9) / 10 ? UINT64_MAX : magnitude * 10 + uint64_t(text[from] - '0');
        clamped = magnitude > uint64_t(INT64_MAX) + negative;
        value = int64_t(negative ? 0 - magnitude : magnitude);
        at = from;
        return true;
    }
    // %15[...]: 1 to 15 characters for which `in` holds, without skipping blanks.
    template <class In> bool set(std::string_view& word, In in)
    {
        const size_t from = at;
        while (at < text.size() && at - from < 15 && in(text[at]))
            ++at;
        word = text.substr(from, at - from);
        return at > from;
    }
};

// ---- libbpf ---------------------------------------------------------------------------------------------------------

// Why, as far as it can be told in a word.
constexpr std::string_view not_parsed = "its grammar does not have it";
constexpr std::string_view no_symbols = "symbols";
constexpr std::string_view no_register = "the register";
constexpr std::string_view no_segments = "segment registers";
constexpr std::string_view no_size = "the size";
constexpr std::string_view no_float = "the suffix f";
constexpr std::string_view no_vectors = "vector registers";
constexpr std::string_view clamps = "it takes the largest number with a sign instead";
constexpr std::string_view no_architecture = "arguments on this architecture";

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

// One call of parse_usdt_arg(): on success `scan` stands behind the argument.
Reading libbpf_x86(Scan& scan, bool wide)
{
    int64_t size = 0, offset = 0, scale = 1;
    bool clamped = false;
    if (!scan.number(size) || !scan.literal('@')) {
        scan.space();
        return {rejects, scan.peek() == 'f' ? no_float : not_parsed};
    }
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
            // The set for the base register runs over blanks: "(%rax) 4@(%rbx,%rcx)" is one register to it.
            return {rejects, base.find(')') != base.npos ? "it takes this and the next argument for one" : no_register};
        if (scale != 1 && scale != 2 && scale != 4 && scale != 8)
            return {rejects, not_parsed};
        if (!scan.literal(')'))
            return {rejects, not_parsed};
        scan.space();
        goto sized;
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
        scan.space();
        goto sized;
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
        clamped = true;
    }
    scan.space();
sized:
    if (size != 1 && size != 2 && size != 4 && size != 8 && size != -1 && size != -2 && size != -4 && size != -8)
        return {rejects, no_size};
    return clamped ? Reading{misreads, clamps} : Reading{};
}

bool lower_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || digit(c);
}

// PREFIX0 to PREFIXlast
bool numbered(std::string_view reg, std::string_view prefix, int last)
{
    int number = 0;
    if (!reg.starts_with(prefix))
        return false;
    const std::string_view rest = reg.substr(prefix.size());
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    return error == std::errc() && end == rest.data() + rest.size() && number >= 0 && number <= last;
}

bool libbpf_register(Arch arch, std::string_view reg)
{
    switch (arch) {
    case Arch::arm64: return numbered(reg, "x", 30) || reg == "sp";
    case Arch::arm:
        return numbered(reg, "r", 10) || reg == "fp" || reg == "ip" || reg == "sp" || reg == "lr" || reg == "pc";
    case Arch::riscv:
        return numbered(reg, "a", 7) || numbered(reg, "s", 11) || numbered(reg, "t", 6) || reg == "ra" || reg == "sp"
            || reg == "gp" || reg == "tp";
    default: return false;
    }
}

Reading libbpf_other(Scan& scan, Arch arch)
{
    int64_t size = 0, value = 0;
    if (!scan.number(size) || !scan.literal('@')) {
        scan.space();
        return {rejects, scan.peek() == 'f' ? no_float : not_parsed};
    }
    const size_t start = scan.at;
    std::string_view reg;
    const auto fail = [&] {
        const std::string_view rest = scan.text.substr(start);
        return Reading{rejects,
                       rest.substr(0, rest.find('@')).find_first_of(":_") != rest.npos ? no_symbols : not_parsed};
    };
    if (arch == Arch::s390) {
        const auto general = [&] {
            int64_t number = 0;
            return scan.literal('%') && scan.literal('r') && scan.number(number) && number >= 0 && number <= 15;
        };
        if (scan.number(value)) {
            if (const size_t after = scan.at; scan.literal('(')) {
                if (!general())
                    return {rejects, no_register};
                if (!scan.literal(')'))
                    return fail();
            } else {
                scan.at = after;
            }
        } else if (scan.at = start; !general()) {
            return fail();
        }
    } else if (arch == Arch::riscv) {
        if (scan.number(value)) {
            if (const size_t after = scan.at; scan.literal('(')) {
                scan.space();
                if (!scan.set(reg, lower_alnum) || !libbpf_register(arch, reg))
                    return {rejects, no_register};
                if (!scan.literal(')'))
                    return fail();
            } else {
                scan.at = after;
            }
        } else if (scan.at = start, scan.space(); !scan.set(reg, lower_alnum)) {
            return fail();
        } else if (!libbpf_register(arch, reg)) {
            return {rejects, no_register};
        }
    } else { // arm64: [reg, 8] 5; arm: [reg, #8] #5
        const bool hash = arch == Arch::arm;
        if (scan.literal('[')) {
            scan.space();
            if (!scan.set(reg, lower_alnum))
                return fail();
            if (scan.literal(',') && !((!hash || scan.literal('#')) && scan.number(value)))
                return fail();
            if (!scan.literal(']'))
                return fail();
            if (!libbpf_register(arch, reg))
                return {rejects, no_register};
        } else if (scan.at = start; (!hash || scan.literal('#')) && scan.number(value)) {
        } else if (scan.at = start, scan.space(); !scan.set(reg, lower_alnum)) {
            return fail();
        } else if (!libbpf_register(arch, reg)) {
            return {rejects, no_register};
        }
    }
    scan.space();
    if (size != 1 && size != 2 && size != 4 && size != 8 && size != -1 && size != -2 && size != -4 && size != -8)
        return {rejects, no_size};
    return {};
}

// ---- One operand, as bcc, gdb and systemtap take it apart ------------------------------------------------------------

struct Operand {
    enum class Form { constant, reg, memory, other } form = Form::other;
    std::string_view base, index; // registers, with their prefix
    std::string_view symbol;      // of a constant or of a memory operand
    int terms = 0;                // numbers the displacement is a sum of
    bool symbol_first = false;    // sym+4 rather than 4+sym
    bool segment = false;         // %fs:...
    bool clamped = false;         // a constant beyond 64 bits with a sign
    bool odd_scale = false;       // not 1, 2, 4 or 8
};

// AT&T syntax: $5, %eax, -8+4(%rbp), x+4(%rip), 16(%rax,%rbx,8), %fs:x@tpoff
Operand x86_operand(std::string_view text)
{
    Operand operand;
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
        if (scan.number(ignored))
            ++operand.terms;
        else
            operand.symbol = text.substr(1);
        operand.clamped = scan.clamped;
        if (operand.terms == 0 || scan.done())
            operand.form = Operand::Form::constant;
        return operand;
    }
    if (scan.peek() == '%') {
        if (reg(operand.base) && scan.done())
            operand.form = Operand::Form::reg;
        operand.segment = scan.peek() == ':';
        return operand;
    }
    while (!scan.done() && scan.peek() != '(') {
        const char c = scan.peek();
        if (digit(c) || ((c == '-' || c == '+') && scan.at + 1 < text.size() && digit(text[scan.at + 1]))) {
            if (!scan.number(ignored))
                return operand;
            ++operand.terms;
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
        operand.form = Operand::Form::memory;
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
            if (!scan.number(ignored))
                return operand;
            operand.odd_scale = ignored != 1 && ignored != 2 && ignored != 4 && ignored != 8;
        }
    }
    if (scan.peek() == ')' && scan.at + 1 == text.size())
        operand.form = Operand::Form::memory;
    return operand;
}

// Written the way all tracers take sizes: [-]N with N 1, 2, 4 or 8.
bool plain_size(const Argument& argument)
{
    return (argument.size == 1 || argument.size == 2 || argument.size == 4 || argument.size == 8)
        && argument.text[0] != '+' && argument.text[argument.is_signed + 1] == '@';
}

bool vector_register(std::string_view reg)
{
    return reg.starts_with("%xmm") || reg.starts_with("%ymm") || reg.starts_with("%zmm") || reg.starts_with("%st")
        || reg.starts_with("%mm");
}

Reading bcc_x86(const Argument& argument, const Operand& operand)
{
    if (argument.is_float)
        return {rejects, no_float};
    // It makes a C type of the size, uint24_t if need be, which then does not compile.
    if (argument.size != 0 && !plain_size(argument))
        return {rejects, no_size};
    const auto known = [&](std::string_view reg) {
        return reg == "%rip" || (reg != "%eip" && x86_register(reg.substr(1), true));
    };
    switch (operand.form) {
    case Operand::Form::constant: return operand.symbol.empty() ? Reading{} : Reading{rejects, no_symbols};
    case Operand::Form::reg:
        if (numbered(operand.base, "%xmm", 15))
            return {misreads, "it reads 0 from vector registers"};
        return known(operand.base) ? Reading{} : Reading{rejects, no_register};
    case Operand::Form::memory:
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
    case Operand::Form::other: break;
    }
    return {rejects, operand.segment ? no_segments : not_parsed};
}

Reading gdb_x86(const Argument& argument, const Operand& operand, bool wide)
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
    case Operand::Form::constant:
        if (!operand.symbol.empty())
            return {rejects, no_symbols};
        return operand.clamped ? Reading{misreads, clamps} : Reading{};
    case Operand::Form::reg:
        if (numbered(operand.base, "%xmm", 31) || numbered(operand.base, "%ymm", 31)
            || numbered(operand.base, "%k", 7)) // their low bytes
            return {};
        return known(operand.base) ? Reading{} : Reading{rejects, no_register};
    case Operand::Form::memory:
        if (operand.odd_scale)
            return {conditional, "it takes the number, no instruction could have it"};
        if (!operand.symbol.empty())
            return {rejects, no_symbols};
        if (operand.base.empty() || !known(operand.base) || (!operand.index.empty() && !known(operand.index)))
            return {rejects, no_register};
        // i386_stap_parse_special_token_triplet() wants three terms, everything else one at most.
        return operand.terms <= 1 || operand.terms == 3 ? Reading{} : Reading{rejects, not_parsed};
    case Operand::Form::other: break;
    }
    return {rejects, operand.segment ? no_segments : not_parsed};
}

Reading systemtap_x86(const Operand& operand, bool wide)
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
    case Operand::Form::constant: return operand.symbol.empty() ? Reading{} : Reading{rejects, no_symbols};
    case Operand::Form::reg:
        if (vector_register(operand.base))
            return {rejects, no_vectors};
        return known(operand.base) ? Reading{} : Reading{rejects, no_register};
    case Operand::Form::memory:
        if (operand.symbol.empty()) {
            if (operand.odd_scale || operand.base.empty() || operand.terms > 3 || !known(operand.base)
                || (!operand.index.empty() && !known(operand.index)))
                return {rejects, not_parsed};
            return {};
        }
        if (operand.symbol.find_first_of(".$@") != operand.symbol.npos || operand.terms > 1 || !operand.index.empty()
            || !(operand.base.empty() || (operand.base == "%rip" && wide)))
            return {rejects, not_parsed};
        return {conditional, "it needs the symbol in the symbol table"};
    case Operand::Form::other: break;
    }
    return {rejects, operand.segment ? no_segments : not_parsed};
}

// The other architectures: a constant, a register, or memory at a register plus a number.
Operand other_operand(std::string_view text, Arch arch)
{
    Operand operand;
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
            operand.form = Operand::Form::memory;
        return operand;
    }
    // gcc writes constants as 5, #5 (arm) or i5 (powerpc), where 5 alone is a register.
    const bool marked = scan.peek() == '#' || (arch == Arch::powerpc && scan.peek() == 'i');
    if (marked)
        ++scan.at;
    if (scan.number(value)) {
        ++operand.terms;
        if (scan.done()) {
            operand.form = arch == Arch::powerpc && !marked ? Operand::Form::reg : Operand::Form::constant;
            operand.base = text;
        } else if (!marked && scan.peek() == '(') {
            ++scan.at;
            operand.base = word();
            if (scan.peek() == ',') {
                ++scan.at;
                operand.index = word();
            }
            if (!operand.base.empty() && scan.peek() == ')' && scan.at + 1 == text.size())
                operand.form = Operand::Form::memory;
        } else if (arch == Arch::powerpc && !marked && scan.peek() == ',') {
            ++scan.at;
            operand.base = text.substr(0, scan.at - 1);
            operand.index = word();
            if (!operand.index.empty() && scan.done())
                operand.form = Operand::Form::memory;
        }
        return operand;
    }
    scan.at = 0;
    if (operand.base = word(); !operand.base.empty() && scan.done())
        operand.form = Operand::Form::reg;
    return operand;
}

// The registers that a tracer has a name for, apart from libbpf.
bool other_register(Tracer tracer, Arch arch, std::string_view reg)
{
    const auto any_of = [&](std::initializer_list<std::string_view> names) {
        return std::find(names.begin(), names.end(), reg) != names.end();
    };
    switch (arch) {
    case Arch::arm64:
        if (tracer == Tracer::bcc) // x31 is its sp
            return numbered(reg, "x", 31) || reg == "sp";
        if (numbered(reg, "x", 30) || numbered(reg, "w", 30) || numbered(reg, "v", 31) || reg == "sp")
            return true;
        return tracer == Tracer::gdb
            && (numbered(reg, "d", 31) || numbered(reg, "s", 31) || numbered(reg, "q", 31) || numbered(reg, "h", 31)
                || numbered(reg, "b", 31) || reg == "pc");
    case Arch::arm:
        return numbered(reg, "r", tracer == Tracer::gdb ? 12 : 10) || any_of({"sl", "fp", "ip", "sp", "lr", "pc"});
    case Arch::riscv:
        return numbered(reg, "x", 31) || numbered(reg, "a", 7) || numbered(reg, "s", 11) || numbered(reg, "t", 6)
            || any_of({"zero", "ra", "sp", "gp", "tp", "fp"});
    case Arch::powerpc: return numbered(reg, "", 31) || numbered(reg, "%r", 31);
    case Arch::s390: return numbered(reg, "%r", 15) || (tracer != Tracer::bcc && numbered(reg, "%f", 15));
    case Arch::mips: return reg.starts_with('$');
    default: return true;
    }
}

Reading other_reading(Tracer tracer, Arch arch, const Argument& argument, const Operand& operand)
{
    const bool general = operand.form != Operand::Form::other;
    const bool registers = operand.form == Operand::Form::constant
        || (other_register(tracer, arch, operand.base)
            && (operand.index.empty() || other_register(tracer, arch, operand.index)));
    switch (tracer) {
    case Tracer::bcc:
        if (arch != Arch::arm64 && arch != Arch::powerpc && arch != Arch::s390)
            return {unsupported, no_architecture};
        if (argument.is_float)
            return {rejects, no_float};
        if (!plain_size(argument))
            return {rejects, no_size};
        if (!general || (arch == Arch::arm64 && argument.operand.find('#') != argument.operand.npos))
            return {rejects, not_parsed};
        return registers ? Reading{} : Reading{rejects, no_register};
    case Tracer::gdb:
        if (arch != Arch::arm64 && arch != Arch::arm && arch != Arch::powerpc && arch != Arch::s390)
            return {unsupported, no_architecture};
        if (argument.is_float)
            return {rejects, no_float};
        if (argument.size != 0 && !plain_size(argument))
            return {rejects, no_size};
        if (!general)
            return {rejects, not_parsed};
        return registers ? Reading{} : Reading{rejects, no_register};
    case Tracer::systemtap:
        if (arch == Arch::loongarch || arch == Arch::unknown)
            return {unsupported, no_architecture};
        if (!general)
            return {rejects, not_parsed};
        // try_parse_arg_literal() wants i, $ or # before a constant, except on arm64 and mips, where it wants none.
        if (operand.form == Operand::Form::constant) {
            const bool bare = digit(argument.operand.front()) || argument.operand.front() == '-';
            return bare == (arch == Arch::arm64 || arch == Arch::mips) ? Reading{} : Reading{rejects, not_parsed};
        }
        return registers ? Reading{} : Reading{rejects, no_register};
    case Tracer::libbpf: break;
    }
    return {};
}

// ---- The string -----------------------------------------------------------------------------------------------------

// More are an error already (most_arguments); this only bounds what a hostile string costs.
constexpr size_t most_kept = 32;

void split(std::string_view text, std::vector<Argument>& into)
{
    size_t at = 0;
    while (into.size() < most_kept) {
        while (at < text.size() && blank(text[at]))
            ++at;
        if (at >= text.size())
            return;
        const size_t from = at;
        // "[sp, 96]" is one operand. A bracket that never closes ends with its word.
        for (bool closes = true; at < text.size() && !blank(text[at]); ++at) {
            if (text[at] != '[' || !closes)
                continue;
            const size_t end = text.find(']', at);
            closes = end != text.npos;
            at = closes ? end : at;
        }
        Argument argument;
        argument.text = text.substr(from, at - from);
        argument.operand = argument.text;
        Scan scan{argument.text};
        int64_t size = 0;
        if (scan.number(size) && size > -1000 && size < 1000) {
            argument.is_float = scan.peek() == 'f';
            scan.at += argument.is_float;
            if (scan.peek() == '@') {
                argument.size = int(size < 0 ? -size : size);
                argument.is_signed = size < 0;
                argument.operand = argument.text.substr(scan.at + 1);
            } else {
                argument.is_float = false;
            }
        }
        into.push_back(argument);
    }
}

} // namespace

std::string_view name(Tracer tracer)
{
    switch (tracer) {
    case Tracer::libbpf: return "libbpf";
    case Tracer::bcc: return "bcc";
    case Tracer::gdb: return "gdb";
    case Tracer::systemtap: return "systemtap";
    }
    return "";
}

std::string_view consequence(Tracer tracer)
{
    switch (tracer) {
    case Tracer::libbpf: return "refuses the whole probe";
    case Tracer::bcc: return "drops the argument and those after it";
    case Tracer::gdb: return "evaluates no argument of the probe";
    case Tracer::systemtap: return "cannot compile a script that reads it";
    }
    return "";
}

std::string_view name(ReadingVerdict verdict)
{
    switch (verdict) {
    case reads: return "reads";
    case conditional: return "conditional";
    case unsupported: return "unsupported";
    case misreads: return "misreads";
    case rejects: return "rejects";
    }
    return "";
}

std::vector<Argument> parse_arguments(std::string_view text, Arch arch)
{
    std::vector<Argument> arguments;
    if (text.empty() || text[0] == ':') // libbpf and gdb take it for no arguments
        return arguments;
    split(text, arguments);
    const bool x86 = arch == Arch::x86_64 || arch == Arch::i386;
    const bool wide = arch == Arch::x86_64;
    const bool bpf = x86 || arch == Arch::arm64 || arch == Arch::arm || arch == Arch::riscv || arch == Arch::s390;

    // libbpf reads the string from the left and stops at the first thing it does not know.
    Scan scan{text};
    bool stopped = false;
    for (Argument& argument : arguments) {
        Reading& libbpf = argument.readings[size_t(Tracer::libbpf)];
        if (!bpf) {
            libbpf = {unsupported, no_architecture};
        } else {
            const size_t start = size_t(argument.text.data() - text.data());
            if (stopped) // judged by itself from here on
                scan.at = start;
            if (scan.at <= start) // else it was part of the one before: "8@ %rax"
                libbpf = x86 ? libbpf_x86(scan, wide) : libbpf_other(scan, arch);
            // What is left over is an argument to it, and none that it knows.
            if (libbpf.verdict != rejects && scan.at < start + argument.text.size())
                libbpf = {rejects, not_parsed};
            stopped = libbpf.verdict == rejects;
        }
        if (x86) {
            const Operand operand = x86_operand(argument.operand);
            argument.readings[size_t(Tracer::bcc)] =
                wide ? bcc_x86(argument, operand) : Reading{unsupported, no_architecture};
            argument.readings[size_t(Tracer::gdb)] = gdb_x86(argument, operand, wide);
            argument.readings[size_t(Tracer::systemtap)] = systemtap_x86(operand, wide);
        } else {
            const Operand operand = other_operand(argument.operand, arch);
            for (Tracer tracer : {Tracer::bcc, Tracer::gdb, Tracer::systemtap})
                argument.readings[size_t(tracer)] = other_reading(tracer, arch, argument, operand);
        }
    }
    return arguments;
}

} // namespace fastsdt
