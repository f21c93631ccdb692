// SPDX-License-Identifier: BSD-2-Clause
#include "bpf/arguments.h"

#if defined(__aarch64__)
#include "code/arm64/operands.h"
#else
#include "code/x86/operands.h"
#endif

#include <algorithm>
#include <iterator>

namespace fastsdt::engine::bpf {
namespace {

#if defined(__aarch64__)
// struct user_pt_regs: x0 to x30, sp, pc.
constexpr int word_of_sp = 31, word_of_pc = 32;
constexpr int words_of_parameters[] = {0, 1, 2, 3, 4, 5, 6, 7};
constexpr int words_of_go[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}; // ABIInternal, as the next ones
constexpr int stack_word = 0; ///< the first argument on the stack, in words from its pointer

std::optional<int> offset_of(arm64::Reg reg)
{
    if (reg == arm64::no_register)
        return std::nullopt;
    return 8 * (reg == arm64::sp ? word_of_sp : int(reg));
}

Source source_of(const std::vector<Argument>& arguments, unsigned index)
{
    const arm64::Source from = arm64::find_argument(arguments, index);
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
constexpr int word_of_sp = 19, word_of_pc = 16;
constexpr int words_of_parameters[] = {14, 13, 12, 11, 9, 8};  // rdi, rsi, rdx, rcx, r8, r9
constexpr int words_of_go[] = {10, 5, 11, 14, 13, 9, 8, 7, 6}; // rax, rbx, rcx, rdi, rsi, r8 to r11
constexpr int stack_word = 1;                                  // behind the return address

std::optional<int> offset_of(x86::Reg reg)
{
    if (reg == x86::no_register)
        return std::nullopt;
    return 8 * words[int(reg)];
}

Source source_of(const std::vector<Argument>& arguments, unsigned index)
{
    using Kind = x86::Source::Kind;
    const x86::Source from = x86::find_argument(arguments, index);
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
    if (site.kind == Probe::Kind::exit)
        throw Refusal({State::exit_arguments});
    if (site.found.state == State::other_architecture)
        throw Refusal({State::not_in_kernel, 0, "arguments of 32-bit code are not read"});
    if (site.kind == Probe::Kind::usdt) {
        unsigned index = argument.index;
        if (!argument.name.empty()) {
            const auto& names = site.argument_names;
            const auto found = std::find(names.begin(), names.end(), argument.name);
            if (found == names.end())
                throw Refusal({State::no_named_argument, 0, argument.name});
            index = unsigned(found - names.begin());
        }
        return source_of(parse_arguments(site.arguments, own_machine.arch), index);
    }
    if (site.go == GoAbi::unknown)
        throw Refusal({State::not_in_kernel, 0, "a Go of before 1.18 does not say where arguments are"});
    if (site.go) {
        if (argument.on_stack || argument.index >= std::size(words_of_go))
            throw Refusal({State::no_stack_record});
        return {.kind = Source::Kind::reg, .base = 8 * words_of_go[argument.index]};
    }
    if (argument.on_stack && site.stack_bytes == unknown_bytes)
        throw Refusal({State::no_stack_record});
    if (argument.on_stack && site.stack_bytes / 8 <= argument.index)
        throw Refusal({State::no_stack_argument, argument.index});
    if (argument.on_stack)
        return {.kind = Source::Kind::memory,
                .base = 8 * word_of_sp,
                .displacement = int64_t{8} * (stack_word + int64_t(argument.index))};
    if (argument.index >= std::size(words_of_parameters))
        throw std::logic_error("not an argument in a register");
    return {.kind = Source::Kind::reg, .base = 8 * words_of_parameters[argument.index]};
}

int offset_of_register(unsigned number)
{
#if defined(__aarch64__)
    return 8 * int(number);
#else
    return 8 * words[number];
#endif
}

int offset_of_ip()
{
    return 8 * word_of_pc;
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
