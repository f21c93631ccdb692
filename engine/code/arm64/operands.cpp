// SPDX-License-Identifier: BSD-2-Clause
//
//     8@x0  -4@w1  8@sp  4@5  8@[x0]  8@[sp, 16]  8@[x0, #-8]  8@[x0, x1]  8@[x0, x1, lsl 3]
#include "code/arm64/operands.h"

#include "arch/argument_rules.h"

#include <charconv>
#include <optional>
#include <stdexcept>
#include <string>

namespace fastsdt::engine::arm64 {
namespace {

/// AAPCS64: integer arguments in x0 to x7, the others on the stack.
constexpr unsigned parameters = 8;

/// "x5"; "w5" where `narrow` ones may be named; "sp".
std::optional<Reg> named(std::string_view name, bool narrow)
{
    if (name == "sp" || (narrow && name == "wsp"))
        return sp;
    if (!numbered(name, "x", 30) && !(narrow && numbered(name, "w", 30)))
        return std::nullopt;
    return Reg(number_of(name.substr(1)));
}

std::string_view word(Scan& scan)
{
    std::string_view found;
    scan.space();
    scan.set(found, lower_alnum);
    return found;
}

/// #5 or 5. False: something else, or a number that no displacement can be.
bool scan_number(Scan& scan, int64_t& number)
{
    scan.literal('#');
    return scan.number(number) && !scan.clamped && number == int32_t(number);
}

/// The operand in brackets. False if it is malformed, or if anything follows the brackets.
bool scan_memory(Scan& scan, Source& source)
{
    if (!scan.literal('['))
        return false;
    const auto base = named(word(scan), false);
    if (!base)
        return false;
    source.reg = *base;
    if (scan.literal(',')) {
        scan.space();
        if (scan.peek() == 'x') {
            const auto index = named(word(scan), false);
            if (!index)
                return false;
            source.index = *index;
            int64_t shift = 0;
            if (scan.literal(',')) {
                if (word(scan) != "lsl" || !scan_number(scan, shift) || shift < 0 || shift > 4)
                    return false;
                source.shift = unsigned(shift);
            }
        } else if (!scan_number(scan, source.displacement)) {
            return false;
        }
    }
    return scan.literal(']') && scan.done();
}

Source noted_argument(const std::vector<Argument>& arguments, unsigned index, unsigned real)
{
    const Argument& argument = one_word_argument(arguments, index, real);
    const auto refuse = [&](std::string_view why) { refuse_argument(arguments, index, why); };
    Source source;
    source.size = argument.size;
    source.is_signed = argument.is_signed && !real;

    std::string_view text = argument.operand;
    Scan scan{text};
    if (scan.peek() == '[') {
        source.kind = Source::Kind::memory;
        if (!scan_memory(scan, source))
            refuse("at a place that has no plain address");
        return source;
    }
    if (text == "xzr" || text == "wzr")
        return source;
    if (const std::string_view letters = "vdsq"; real && !text.empty() && letters.find(text[0]) != letters.npos) {
        if (!numbered(text, text.substr(0, 1), 31))
            refuse("in a register that stubs do not read");
        return vector_source<Source>(number_of(text.substr(1)), real);
    }
    // The size in the note counts, whatever the register's name says (the kernel's tracers read the whole register).
    if (const auto reg = named(text, true)) {
        source.kind = Source::Kind::reg;
        source.reg = *reg;
        return source;
    }
    if (text.starts_with('#'))
        text.remove_prefix(1);
    bool too_large = false;
    if (const auto value = constant(text, too_large))
        source.constant = extend(*value, source.size, source.is_signed);
    else if (too_large)
        refuse("that has more than 64 bits");
    else if (!text.empty() && alpha(text[0]))
        refuse("in a register that is not an integer's, or that is the address of a symbol");
    else
        refuse("that is no operand");
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
        return argument_of_go<Source>(site, argument, Arch::arm64);
    if (argument.real && !argument.on_stack)
        return vector_source<Source>(argument.index, argument.real);
    Source source;
    if (argument.on_stack) {
        if (!argument.is_declared)
            check_stack_argument(site, argument.index);
        source.size = argument.real ? int(argument.real) : int(stack_word);
        source.kind = Source::Kind::memory;
        source.reg = sp;
        source.displacement = int64_t{stack_word} * argument.index;
        return source;
    }
    if (argument.index >= parameters)
        throw std::logic_error("not an argument in a register");
    source.kind = Source::Kind::reg;
    source.reg = Reg(argument.index);
    return source;
}

} // namespace fastsdt::engine::arm64
