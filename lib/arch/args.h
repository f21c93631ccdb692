// SPDX-License-Identifier: BSD-2-Clause
// The argument string of a stapsdt note, [-]N[f]@OPERAND separated by blanks, and what each tracer makes of it.
#pragma once
#include "base/arch.h"
#include "kernel/tracers.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace fastsdt {

/// What a tracer makes of one argument, best first.
enum class ReadingVerdict {
    reads,       ///< the value
    conditional, ///< the value, if what `why` says holds
    unsupported, ///< nothing: it reads no arguments on this architecture
    misreads,    ///< accepts it and reads something else
    rejects,     ///< an error; see consequence()
};
std::string_view name(ReadingVerdict verdict);
struct Reading {
    ReadingVerdict verdict = ReadingVerdict::reads;
    std::string_view why; ///< what it stumbles over or needs; static text, empty when it reads
};

struct Argument {
    std::string_view text;
    int size = 0; ///< bytes, 0: not given
    bool is_signed = false;
    bool is_float = false;
    std::string_view operand;
    std::array<Reading, tracers.size()> readings; ///< by Tracer

    const Reading& reading(Tracer tracer) const { return readings[size_t(tracer)]; }
};

/// Splits and judges. Views point into `text`.
/// Sources: libbpf, tools/lib/bpf/usdt.c of Linux 7.2, parse_usdt_arg(); bcc, src/cc/usdt/usdt_args.cc; gdb,
/// gdb/stap-probe.c and the *_stap_parse_special_token() of its targets; systemtap, tapsets.cxx,
/// sdt_uprobe_var_expanding_visitor.
std::vector<Argument> parse_arguments(std::string_view text, Arch arch);

/// Which 64-bit word of struct pt_regs has the register that an operand names ("%eax", "x5").
std::optional<size_t> register_word(Arch arch, std::string_view name);

/// libbpf refuses a probe with more arguments (USDT_MAX_ARG_CNT); systemtap asserts the same limit.
inline constexpr size_t most_arguments = 12;

/// Where Go's functions find arguments, from 1.17 on, and leave results: integers' registers in order, by the numbers that instructions encode
/// (src/cmd/compile/abi-internal.md).
inline std::span<const uint8_t> registers_of_go(Arch arch)
{
    constexpr static uint8_t x86_64[] = {0, 3, 1, 7, 6, 8, 9, 10, 11}; // rax, rbx, rcx, rdi, rsi, r8 to r11
    constexpr static uint8_t arm64[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    if (arch == Arch::arm64)
        return arm64;
    return x86_64;
}
/// Vector registers, from the first on.
constexpr unsigned vectors_of_go(Arch arch)
{
    return arch == Arch::arm64 ? 16 : 15;
}

} // namespace fastsdt
