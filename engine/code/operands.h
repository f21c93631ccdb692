// SPDX-License-Identifier: BSD-2-Clause
// Arguments and the result of a site: the part that does not depend on the architecture (code/x86/operands.h, code/arm64/operands.h).
#pragma once
#include "arch/args.h"
#include "code/site.h"
#include "ir/ir.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace fastsdt::engine {

/// Which of the arguments that a usdt probe's note has the script means, by its number or name. Throws Refusal: there is none.
unsigned index_of(const Site& site, const std::vector<Argument>& noted, const ir::Argument& argument);
/// Throws Refusal unless an entry is known to have that argument on the stack, `index` words from the first.
void check_stack_argument(const Site& site, unsigned index);
/// Throws Refusal unless the function has returned its result in a register when the site is hit.
void check_result(const Site& site);

/// Throws Refusal unless the function has returned a floating-point number when the site is hit.
void check_real_result(const Site& site);

/// The `index`th argument, which is there, if it is an integer of 1, 2, 4 or 8 bytes, or may be a floating-point number of so many (`real`):
/// compilers put those into integers' registers too, and notes do not always say what they are. Throws Refusal.
const Argument& one_word_argument(const std::vector<Argument>& arguments, unsigned index, unsigned real);
[[noreturn]] void refuse_argument(const std::vector<Argument>& arguments, unsigned index, std::string_view why);

/// The low bytes of a vector register. @tparam Source  of an architecture
template <class Source> Source vector_source(unsigned number, unsigned size)
{
    Source source;
    source.kind = Source::Kind::vector;
    source.vector = number;
    source.size = int(size);
    return source;
}

/// Of an entry of a Go program. Throws Refusal.
template <class Source> Source argument_of_go(const Site& site, const ir::Argument& argument, Arch arch)
{
    const auto registers = registers_of_go(arch);
    if (site.go == GoAbi::unknown || argument.on_stack
        || argument.index >= (argument.real ? vectors_of_go(arch) : registers.size()))
        throw Refusal({State::no_stack_record});
    if (argument.real)
        return vector_source<Source>(argument.index, argument.real);
    Source source;
    source.kind = Source::Kind::reg;
    source.reg = decltype(source.reg)(registers[argument.index]);
    return source;
}

/// Of the digits of a register's name: numbered() has seen them.
unsigned number_of(std::string_view digits);

/// A number of up to 64 bits, with or without a sign, and nothing behind it. Empty: the text is no number, or it is too
/// large, and `too_large` is true.
std::optional<int64_t> constant(std::string_view text, bool& too_large);

/// The low `size` bytes, extended as their sign says.
int64_t extend(int64_t value, int size, bool is_signed);

} // namespace fastsdt::engine
