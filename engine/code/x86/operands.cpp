// SPDX-License-Identifier: BSD-2-Clause
#include "code/x86/operands.h"

#include "arch/x86.h"

#include <array>
#include <charconv>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>

namespace fastsdt::engine::x86 {
namespace {

/// The System V ABI's registers for integer arguments.
constexpr Reg parameters[] = {rdi, rsi, rdx, rcx, r8, r9};

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

/// A register with its '%', of 64 bits.
bool whole(std::string_view reg, Reg& into)
{
    const auto found = reg.empty() ? std::nullopt : named(reg.substr(1));
    if (!found || found->size != 8)
        return false;
    into = found->reg;
    return true;
}

/// False: no address that an instruction could have.
bool plain_memory(const NotedOperand& operand, Memory& memory)
{
    if (operand.form != NotedOperand::Form::memory || !operand.symbol.empty() || operand.clamped || operand.odd_scale()
        || operand.displacement != int32_t(operand.displacement) || (operand.base.empty() && operand.index.empty())
        || operand.index == "%rsp")
        return false;
    memory.displacement = operand.displacement;
    memory.scale = int(operand.scale);
    return (operand.base.empty() || whole(operand.base, memory.base))
        && (operand.index.empty() || whole(operand.index, memory.index));
}

Source noted_argument(const std::vector<Argument>& arguments, unsigned index, unsigned real)
{
    const Argument& argument = one_word_argument(arguments, index, real);
    const auto refuse = [&](std::string_view why) { refuse_argument(arguments, index, why); };
    Source source;
    source.size = argument.size;
    source.is_signed = argument.is_signed && !real;

    if (argument.operand.starts_with('$')) {
        bool too_large = false;
        const auto value = constant(argument.operand.substr(1), too_large);
        if (!value)
            refuse(too_large ? "that has more than 64 bits" : "that is the address of a symbol");
        source.kind = Source::Kind::constant;
        source.constant = extend(*value, source.size, source.is_signed);
        return source;
    }
    const NotedOperand operand = parse_att_operand(argument.operand);
    if (constexpr std::string_view xmm = "%xmm"; real && argument.operand.starts_with(xmm)) {
        if (!numbered(argument.operand, xmm, 15))
            refuse("in a register that stubs do not read");
        return vector_source<Source>(number_of(std::string_view(argument.operand).substr(xmm.size())), real);
    }
    if (argument.operand.starts_with('%')) {
        const auto found = operand.form == NotedOperand::Form::reg ? named(operand.base.substr(1)) : std::nullopt;
        if (operand.segment)
            refuse("in thread-local memory");
        if (!found)
            refuse("in a register that is not an integer's");
        source.kind = found->high ? Source::Kind::high_byte : Source::Kind::reg;
        source.reg = found->reg;
        // The size in the note counts, whatever the register's name says (the kernel's tracers read the whole
        // register). But a high byte (ah) has no other size than 1.
        if (found->high && source.size != 1)
            refuse("of another size than its register");
        return source;
    }
    source.kind = Source::Kind::memory;
    if (!plain_memory(operand, source.memory))
        refuse("at a place that has no plain address");
    source.memory.size = source.size;
    return source;
}

} // namespace

Source argument_of(const Site& site, const std::vector<Argument>& noted, const ir::Argument& argument)
{
    if (site.kind == Probe::Kind::exit && argument.real) {
        check_real_result(site);
        return vector_source<Source>(argument.index, argument.real);
    }
    if (site.kind == Probe::Kind::exit)
        throw Refusal({State::exit_arguments});
    if (site.kind == Probe::Kind::usdt)
        return noted_argument(noted, index_of(site, noted, argument), argument.real);
    if (site.go)
        return argument_of_go<Source>(site, argument, Arch::x86_64);
    if (argument.real && !argument.on_stack)
        return vector_source<Source>(argument.index, argument.real);
    Source source;
    if (argument.on_stack) { // behind the return address
        if (!argument.is_declared)
            check_stack_argument(site, argument.index);
        source.size = argument.real ? int(argument.real) : int(stack_word);
        source.kind = Source::Kind::memory;
        source.memory = {.base = rsp, .displacement = int64_t{stack_word} * (1 + argument.index), .size = source.size};
        return source;
    }
    if (argument.index >= std::size(parameters))
        throw std::logic_error("not an argument in a register");
    source.kind = Source::Kind::reg;
    source.reg = parameters[argument.index];
    return source;
}

} // namespace fastsdt::engine::x86
