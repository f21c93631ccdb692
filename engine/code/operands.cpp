// SPDX-License-Identifier: BSD-2-Clause
#include "code/operands.h"

#include "arch/argument_rules.h"
#include "base/printable.h"

#include <fastsdt/note.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>

namespace fastsdt::engine {

namespace {

// "arg0 to arg2", or "id, arg1, cents" where some have names. Empty: there are none.
std::string all_of(const std::vector<Argument>& noted, const std::vector<std::string>& names)
{
    const size_t count = noted.size();
    if (std::all_of(names.begin(), names.end(), [](const std::string& name) { return name.empty(); }))
        return count == 0 ? "" : count == 1 ? "arg0" : fmt::format("arg0 to arg{}", count - 1);
    std::string text;
    for (size_t i = 0; i < count; ++i)
        text +=
            (i ? ", " : "") + (i < names.size() && !names[i].empty() ? printable(names[i]) : fmt::format("arg{}", i));
    return text;
}

} // namespace

unsigned index_of(const Site& site, const std::vector<Argument>& noted, const ir::Argument& argument)
{
    if (argument.name.empty()) {
        if (argument.index >= noted.size())
            throw Refusal({State::no_argument, argument.index, {}, all_of(noted, {})});
        return argument.index;
    }
    const auto& names = site.argument_names;
    const auto found = std::find(names.begin(), names.end(), argument.name);
    if (const auto index = size_t(found - names.begin()); found != names.end() && index < noted.size())
        return unsigned(index);
    throw Refusal({State::no_named_argument, 0, argument.name, all_of(noted, names)});
}

void check_stack_argument(const Site& site, unsigned index)
{
    if (site.stack_bytes != unknown_bytes && site.stack_bytes / stack_word <= index)
        throw Refusal({State::no_stack_argument, index});
}

void check_result(const Site& site)
{
    if (site.kind == Probe::Kind::exit && site.result < 0)
        throw Refusal({State::tail_call});
    if (site.kind != Probe::Kind::exit
        || (site.result != FASTSDT_RESULT_REGISTER && site.result != FASTSDT_RESULT_PAIR))
        throw Refusal({State::no_result});
}

// What fastprobe has not recorded is taken for an integer.
void check_real_result(const Site& site)
{
    if (site.result < 0)
        throw Refusal({State::tail_call});
    if (site.result != FASTSDT_RESULT_VECTOR && site.result != FASTSDT_RESULT_REGISTER)
        throw Refusal({State::no_result});
}

void refuse_argument(const std::vector<Argument>& arguments, unsigned index, std::string_view why)
{
    throw Refusal(
        {State::unreadable_argument, index, std::string(why) + " (" + printable(arguments.at(index).text) + ")"});
}

const Argument& one_word_argument(const std::vector<Argument>& arguments, unsigned index, unsigned real)
{
    const Argument& argument = arguments.at(index);
    if (real && unsigned(argument.size) != real)
        refuse_argument(arguments, index, real == sizeof(float) ? "that is no float" : "that is no double");
    if (!real && argument.is_float)
        refuse_argument(arguments, index, "that is a floating-point number");
    if (argument.size != 1 && argument.size != 2 && argument.size != 4 && argument.size != 8)
        refuse_argument(arguments, index, "of a size that no integer has");
    return argument;
}

unsigned number_of(std::string_view digits)
{
    unsigned number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return number;
}

std::optional<int64_t> constant(std::string_view text, bool& too_large)
{
    too_large = false;
    if (is_hexadecimal(text)) {
        const bool negative = text.starts_with('-');
        const std::string_view digits = text.substr(negative ? 3 : 2);
        uint64_t magnitude = 0;
        too_large = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, 16).ec != std::errc();
        return too_large ? std::nullopt : std::optional(int64_t(negative ? 0 - magnitude : magnitude));
    }
    Scan scan{text};
    int64_t value = 0;
    if (blank(scan.peek()) || !scan.number(value) || !scan.done())
        return {};
    if (!scan.clamped)
        return value;
    uint64_t magnitude = 0; // 2^63 and up are written without a sign
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), magnitude);
    too_large = error != std::errc() || end != text.data() + text.size();
    return too_large ? std::nullopt : std::optional(int64_t(magnitude));
}

int64_t extend(int64_t value, int size, bool is_signed)
{
    const int drop = 64 - 8 * size;
    return is_signed ? int64_t(uint64_t(value) << drop) >> drop : int64_t(uint64_t(value) << drop >> drop);
}

} // namespace fastsdt::engine
