// SPDX-License-Identifier: BSD-2-Clause
// What the architectures' rules for arguments have in common (arch/*.cpp).
#pragma once
#include "arch/args.h"

#include <cstdint>
#include <string_view>

namespace fastsdt {

inline bool blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}
inline bool digit(char c)
{
    return c >= '0' && c <= '9';
}
inline bool alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
inline bool alnum(char c)
{
    return alpha(c) || digit(c);
}

inline bool lower_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || digit(c);
}

/// PREFIX0 to PREFIXlast.
bool numbered(std::string_view reg, std::string_view prefix, int last);

// A position in a text, and those conversions of sscanf() that libbpf's grammar uses.
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

/// 0x10, -0x10
inline bool is_hexadecimal(std::string_view text)
{
    if (text.starts_with('-'))
        text.remove_prefix(1);
    return text.size() > 2 && (text.starts_with("0x") || text.starts_with("0X"))
        && text.find_first_not_of("0123456789abcdefABCDEF", 2) == text.npos;
}

// Common values of Reading::why.
inline constexpr std::string_view not_parsed = "its grammar does not have it";
inline constexpr std::string_view no_symbols = "symbols";
inline constexpr std::string_view no_register = "the register";
inline constexpr std::string_view no_segments = "segment registers";
inline constexpr std::string_view no_size = "the size";
inline constexpr std::string_view no_float = "the suffix f";
inline constexpr std::string_view no_vectors = "vector registers";
inline constexpr std::string_view clamps = "it takes the largest number with a sign instead";
inline constexpr std::string_view no_architecture = "arguments on this architecture";

// ---- libbpf ---------------------------------------------------------------------------------------------------------

/// parse_usdt_arg() of tools/lib/bpf/usdt.c: SIZE@ and then `operand`, which leaves `scan` after what it took.
template <class Operand> Reading libbpf_argument(Scan& scan, Operand operand);
/// The same for sizes: 1, 2, 4 or 8, with or without a sign.
inline bool libbpf_size(int64_t size)
{
    return size == 1 || size == 2 || size == 4 || size == 8 || size == -1 || size == -2 || size == -4 || size == -8;
}
/// Why the operand that begins at `start` is refused.
Reading libbpf_refusal(const Scan& scan, size_t start);
/// [REG, 8], REG or 5; with `hash` #8 and #5.
Reading libbpf_brackets(Scan& scan, bool hash, bool (*known)(std::string_view reg));
/// 8(REG), REG or 5. `reg` takes the register at `scan`.
Reading libbpf_parentheses(Scan& scan, Reading (*reg)(Scan& scan));

template <class Operand> Reading libbpf_argument(Scan& scan, Operand operand)
{
    int64_t size = 0;
    if (!scan.number(size) || !scan.literal('@')) {
        scan.space();
        return {ReadingVerdict::rejects, scan.peek() == 'f' ? no_float : not_parsed};
    }
    const Reading reading = operand(scan);
    if (reading.verdict == ReadingVerdict::rejects)
        return reading;
    scan.space();
    return libbpf_size(size) ? reading : Reading{ReadingVerdict::rejects, no_size};
}

// ---- One operand, as bcc, gdb and systemtap take it apart ------------------------------------------------------------

struct NotedOperand {
    enum class Form { constant, reg, memory, other } form = Form::other;
    std::string_view base, index; // registers, with their prefix
    std::string_view symbol;      // of a constant or of a memory operand
    int terms = 0;                // numbers the displacement is a sum of
    int64_t displacement = 0;     // their sum
    int64_t scale = 1;            // of the index
    bool symbol_first = false;    // sym+4 rather than 4+sym
    bool segment = false;         // %fs:...
    bool clamped = false;         // a constant, or the displacement, beyond 64 bits with a sign
    bool hexadecimal = false;     // a constant: 0x10

    bool odd_scale() const { return scale != 1 && scale != 2 && scale != 4 && scale != 8; }
};

// Written the way all tracers take sizes: [-]N with N 1, 2, 4 or 8.
bool plain_size(const Argument& argument);

/// What differs between the architectures other than x86. Their operands are a constant, a register, or memory at a
/// register plus a number.
struct OperandRules {
    bool bcc = false, gdb = false, systemtap = false; ///< the tracer reads arguments there
    bool bcc_takes_hash = true;                       ///< #5
    bool bare_constants = false;        ///< systemtap wants constants without i, $ or #: try_parse_arg_literal()
    bool numbers_are_registers = false; ///< gcc writes a constant as i5; 5 is a register
    bool (*knows)(Tracer tracer, std::string_view reg) = nullptr; ///< the tracer has a name for the register
};
Reading read_operand(const OperandRules& rules, Tracer tracer, const Argument& argument);

} // namespace fastsdt
