// SPDX-License-Identifier: BSD-2-Clause
#include "bpf/arguments.h"

#if defined(__aarch64__)
#include "code/arm64/operands.h"
namespace own = fastsdt::engine::arm64;
#else
#include "code/x86/operands.h"
namespace own = fastsdt::engine::x86;
#endif

namespace fastsdt::engine::bpf {
namespace {

// struct pt_regs has the integers' alone.
[[noreturn]] void refuse_vector()
{
    throw Refusal({State::not_in_kernel, 0, "floating-point numbers in registers are not what its programs see"});
}

#if defined(__aarch64__)
// struct user_pt_regs: x0 to x30, sp, pc.
constexpr int word_of_sp = 31;

std::optional<int> offset_of(arm64::Reg reg)
{
    if (reg == arm64::no_register)
        return std::nullopt;
    return 8 * (reg == arm64::sp ? word_of_sp : int(reg));
}

Source source_of(const arm64::Source& from)
{
    if (from.kind == arm64::Source::Kind::vector)
        refuse_vector();
    Source source{.constant = from.constant, .size = from.size, .is_signed = from.is_signed};
    if (from.kind == arm64::Source::Kind::constant)
        return source;
    source.kind = from.kind == arm64::Source::Kind::reg ? Source::Kind::reg : Source::Kind::memory;
    source.base = offset_of(from.reg);
    source.index = offset_of(from.index);
    source.shift = from.shift;
    source.displacement = from.displacement;
    return source;
}
#else
// struct pt_regs of arch/x86/include/asm/ptrace.h: words, by the number that instructions encode a register by.
constexpr int words[] = {10, 11, 12, 5, 19, 4, 13, 14, 9, 8, 7, 6, 3, 2, 1, 0};

std::optional<int> offset_of(x86::Reg reg)
{
    if (reg == x86::no_register)
        return std::nullopt;
    return 8 * words[int(reg)];
}

Source source_of(const x86::Source& from)
{
    using Kind = x86::Source::Kind;
    if (from.kind == Kind::vector)
        refuse_vector();
    Source source{.constant = from.constant, .size = from.size, .is_signed = from.is_signed};
    if (from.kind == Kind::constant)
        return source;
    if (from.kind == Kind::memory) {
        source.kind = Source::Kind::memory;
        source.base = offset_of(from.memory.base);
        source.index = offset_of(from.memory.index);
        source.shift = from.memory.scale == 8 ? 3U : from.memory.scale == 4 ? 2U : from.memory.scale == 2 ? 1U : 0U;
        source.displacement = from.memory.displacement;
        return source;
    }
    source.kind = Source::Kind::reg;
    source.base = offset_of(from.reg);
    source.from_bit = from.kind == Kind::high_byte ? 8 : 0;
    return source;
}
#endif

} // namespace

Source argument_source(const Site& site, const ir::Argument& argument)
{
    if (site.kind != Probe::Kind::exit && site.found.state == State::other_architecture)
        throw Refusal({State::not_in_kernel, 0, "arguments of 32-bit code are not read"});
    if (site.kind == Probe::Kind::entry && site.go == GoAbi::unknown)
        throw Refusal({State::not_in_kernel, 0, "a Go of before 1.18 does not say where arguments are"});
    return source_of(own::argument_of(site, parse_arguments(site.arguments, own_arch), argument));
}

int offset_of_register(unsigned number)
{
#if defined(__aarch64__)
    return 8 * int(number);
#else
    return 8 * words[number];
#endif
}

int offset_of_goroutine()
{
#if defined(__aarch64__)
    return offset_of_register(arm64::x28);
#else
    return offset_of_register(x86::r14);
#endif
}

int offset_of_result()
{
#if defined(__aarch64__)
    return 0;
#else
    return 8 * words[0];
#endif
}

} // namespace fastsdt::engine::bpf
