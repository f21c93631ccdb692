// SPDX-License-Identifier: BSD-2-Clause
#include "script/passes/passed.h"

#include "arch/args.h"
#include "base/addresses.h"

#include <algorithm>
#include <optional>

namespace fastsdt::engine {
namespace {

constexpr unsigned vectors = 8; ///< registers for arguments, of both
constexpr size_t eightbyte = 8; // as the System V ABI calls it

/// A number in a structure, an array or by itself.
struct Leaf {
    size_t at, size;
    bool is_real;
};
// Whether all of it is known.
bool is_whole(const Shape& shape)
{
    if (shape.of && shape.kind != Shape::Kind::pointer)
        return is_whole(*shape.of);
    return shape.size != 0 && !shape.lacks_members
        && std::all_of(shape.members.begin(), shape.members.end(),
                       [](const Shape::Member& each) { return is_whole(*each.shape); });
}

// False: one of them is not where its alignment wants it, or there are too many.
bool leaves(const Shape& shape, size_t at, std::vector<Leaf>& to)
{
    constexpr size_t most = 64; // of 16 bytes, or of four vectors
    switch (shape.kind) {
    case Shape::Kind::record:
        return std::all_of(shape.members.begin(), shape.members.end(), [&](const Shape::Member& each) {
            if (each.bits) // it may begin anywhere
                to.push_back({at + each.offset, 1, false});
            return each.bits || leaves(*each.shape, at + each.offset, to);
        });
    case Shape::Kind::array:
    case Shape::Kind::text:
        if (shape.size > most || (shape.of && shape.of->size == 0))
            return false;
        for (size_t i = 0; i < std::max<size_t>(shape.count, shape.of ? 0 : shape.size); ++i)
            if (!(shape.of ? leaves(*shape.of, at + i * shape.of->size, to)
                           : leaves(*integer_shape(1, true), at + i, to)))
                return false;
        return true;
    default: to.push_back({at, shape.size, shape.kind == Shape::Kind::real});
    }
    return to.size() <= most && (to.back().size == 0 || at % to.back().size == 0);
}

/// Registers and places on the stack that are taken so far.
struct Taken {
    unsigned integers = 0, vectors = 0;
    size_t stack = 0;
};

// ---- x86-64

enum class Class { none, vector, integer };
// Of a value of 16 bytes at most: where each of its words goes; none: the word has nothing in it. Empty: it goes to memory.
std::optional<std::vector<Class>> classes(const Shape& shape)
{
    std::vector<Leaf> all;
    if (shape.size > 2 * eightbyte || shape.size == 0 || !leaves(shape, 0, all))
        return std::nullopt;
    std::vector<Class> found(up_to(shape.size, eightbyte) / eightbyte, Class::none);
    for (const Leaf& each : all) {
        if (each.at + each.size > shape.size)
            return std::nullopt; // of a damaged file
        Class& of = found[each.at / eightbyte];
        of = each.is_real && of != Class::integer ? Class::vector : Class::integer;
    }
    return found;
}

std::vector<Passed::Word> words_of(const Shape& shape, const std::vector<Class>& classes, unsigned integers,
                                   unsigned vectors)
{
    std::vector<Passed::Word> words;
    for (size_t i = 0; i < classes.size(); ++i)
        if (classes[i] != Class::none)
            words.push_back({.is_vector = classes[i] == Class::vector,
                             .index = classes[i] == Class::vector ? vectors++ : integers++,
                             .at = i * eightbyte,
                             .size = std::min(eightbyte, shape.size - i * eightbyte)});
    return words;
}

Passed x86_argument(const Shape& shape, Taken& taken)
{
    if (const auto found = classes(shape)) {
        const auto in_vectors = unsigned(std::count(found->begin(), found->end(), Class::vector));
        const auto in_integers = unsigned(std::count(found->begin(), found->end(), Class::integer));
        if (taken.integers + in_integers <= register_arguments(Arch::x86_64) && taken.vectors + in_vectors <= vectors) {
            Passed passed{.kind = Passed::Kind::registers,
                          .words = words_of(shape, *found, taken.integers, taken.vectors)};
            taken.integers += in_integers;
            taken.vectors += in_vectors;
            return passed;
        }
    }
    const Passed passed{.kind = Passed::Kind::memory, .words = {}, .offset = taken.stack};
    taken.stack += up_to(shape.size, eightbyte); // nothing here is aligned to more
    return passed;
}

// ---- arm64

// A homogeneous aggregate: one to four floating-point numbers of one size, and nothing else. Empty: it is none.
std::optional<std::vector<Leaf>> homogeneous(const Shape& shape)
{
    constexpr size_t most = 4;
    std::vector<Leaf> all;
    if (shape.size > most * eightbyte || !leaves(shape, 0, all) || all.empty())
        return std::nullopt;
    const bool is =
        std::all_of(all.begin(), all.end(), [&](const Leaf& each) { return each.is_real && each.size == all[0].size; });
    // The members of a union begin at one place.
    std::sort(all.begin(), all.end(), [](const Leaf& a, const Leaf& b) { return a.at < b.at; });
    all.erase(std::unique(all.begin(), all.end(), [](const Leaf& a, const Leaf& b) { return a.at == b.at; }),
              all.end());
    return is && all.size() <= most && all.size() * all[0].size == shape.size ? std::optional(all) : std::nullopt;
}

// In vector registers from `vector` on, or in integers' from `integer` on.
std::vector<Passed::Word> arm64_words(const Shape& shape, unsigned integer, unsigned vector)
{
    std::vector<Passed::Word> words;
    if (const auto all = homogeneous(shape)) {
        for (const Leaf& each : *all)
            words.push_back({.is_vector = true, .index = vector++, .at = each.at, .size = each.size});
        return words;
    }
    for (size_t at = 0; at < shape.size; at += eightbyte)
        words.push_back(
            {.is_vector = false, .index = integer++, .at = at, .size = std::min(eightbyte, shape.size - at)});
    return words;
}

Passed arm64_argument(const Shape& shape, Taken& taken)
{
    const bool is_homogeneous = homogeneous(shape).has_value();
    if (!is_homogeneous && shape.size > 2 * eightbyte) { // a copy's address
        Passed passed = arm64_argument(*integer_shape(eightbyte, false), taken);
        passed.kind = passed.kind == Passed::Kind::registers ? Passed::Kind::reference : Passed::Kind::unknown;
        return passed;
    }
    Passed passed{.kind = Passed::Kind::registers, .words = arm64_words(shape, taken.integers, taken.vectors)};
    unsigned& count = is_homogeneous ? taken.vectors : taken.integers;
    const unsigned most = is_homogeneous ? vectors : register_arguments(Arch::arm64);
    if (count + passed.words.size() <= most) {
        count += unsigned(passed.words.size());
        return passed;
    }
    count = most; // what comes later goes to the stack as well
    passed = {.kind = Passed::Kind::memory, .words = {}, .offset = taken.stack};
    taken.stack += up_to(shape.size, eightbyte);
    return passed;
}

// ---- Go, from 1.17 on: ABIInternal (src/cmd/compile/abi-internal.md)

// False: it does not fit into the registers that are left, as a whole.
bool go_words(const Shape& shape, size_t at, Arch arch, Taken& taken, std::vector<Passed::Word>& to)
{
    if (shape.kind == Shape::Kind::record || shape.kind == Shape::Kind::tuple)
        return std::all_of(shape.members.begin(), shape.members.end(), [&](const Shape::Member& each) {
            return go_words(*each.shape, at + each.offset, arch, taken, to);
        });
    if (shape.kind == Shape::Kind::array)
        return shape.count == 0 || (shape.count == 1 && go_words(*shape.of, at, arch, taken, to));
    const bool is_real = shape.kind == Shape::Kind::real;
    unsigned& next = is_real ? taken.vectors : taken.integers;
    if ((!is_real && !shape.is_number()) || next == (is_real ? vectors_of_go(arch) : registers_of_go(arch).size()))
        return false;
    to.push_back({.is_vector = is_real, .index = next++, .at = at, .size = shape.size});
    return true;
}

Passed go_argument(const Shape& shape, Arch arch, Taken& taken)
{
    const Taken before = taken;
    Passed passed{.kind = Passed::Kind::registers};
    if (go_words(shape, 0, arch, taken, passed.words))
        return passed.words.empty() ? Passed() : passed;
    const size_t at = up_to(before.stack, alignment_of(shape));
    taken = {before.integers, before.vectors, at + shape.size};
    return {.kind = Passed::Kind::memory, .words = {}, .offset = at};
}

std::vector<Passed> passed_by_go(const DebugTypes::Signature& function, Arch arch)
{
    Taken taken{.integers = function.has_dictionary.value_or(false)};
    std::vector<Passed> all;
    bool known = function.has_dictionary.has_value();
    for (const DebugTypes::Parameter& each : function.parameters) {
        known = known && each.shape && is_whole(*each.shape);
        all.push_back(known ? go_argument(*each.shape, arch, taken) : Passed());
    }
    return all;
}

// A class of C++ without members: on x86-64 nothing is passed.
bool is_empty(const Shape& shape)
{
    return shape.kind == Shape::Kind::record && shape.members.empty();
}

Passed argument(const Shape& shape, Arch arch, Taken& taken)
{
    return arch == Arch::x86_64 ? x86_argument(shape, taken) : arm64_argument(shape, taken);
}

} // namespace

std::string result_on_stack(const DebugTypes::Value& result, Arch arch)
{
    Taken taken;
    if (result.shape && result.shape->kind == Shape::Kind::record && result.shape->name.empty())
        for (const Shape::Member& each : result.shape->members)
            if (go_argument(*each.shape, arch, taken).kind != Passed::Kind::registers)
                return each.name;
    return {};
}

Passed returned(const DebugTypes::Value& result, Arch arch)
{
    if (result.by_reference)
        return {.kind = Passed::Kind::reference};
    if (!result.shape || !is_whole(*result.shape))
        return {};
    const Shape& shape = *result.shape;
    if (result.of_go) {
        Taken taken;
        const Passed found = go_argument(shape, arch, taken);
        return found.kind == Passed::Kind::registers ? found : Passed();
    }
    if (arch == Arch::x86_64) {
        const auto found = classes(shape);
        if (!found)
            return {.kind = Passed::Kind::reference};
        return {.kind = Passed::Kind::registers, .words = words_of(shape, *found, 0, 0)};
    }
    if (!homogeneous(shape) && shape.size > 2 * eightbyte)
        return {.kind = Passed::Kind::reference};
    return {.kind = Passed::Kind::registers, .words = arm64_words(shape, 0, 0)};
}

std::vector<Passed> passed(const DebugTypes::Signature& function, Arch arch)
{
    if (function.result.of_go)
        return passed_by_go(function, arch);
    Taken taken;
    std::vector<Passed> all;
    const Passed result = returned(function.result, arch);
    // The address for the result is the first argument on x86-64; on arm64 it has a register of its own.
    bool known = function.result.is_void || function.result.is_float || result.kind != Passed::Kind::unknown;
    if (arch == Arch::x86_64 && result.kind == Passed::Kind::reference)
        ++taken.integers;
    for (const DebugTypes::Parameter& each : function.parameters) {
        known = known && each.shape && (each.by_reference || is_whole(*each.shape));
        Passed found;
        if (known && !each.by_reference && is_empty(*each.shape)) {
            known = arch == Arch::x86_64;
        } else if (known && each.by_reference) {
            found = argument(*integer_shape(eightbyte, false), arch, taken);
            found.kind = found.kind == Passed::Kind::registers ? Passed::Kind::reference : Passed::Kind::unknown;
        } else if (known) {
            found = argument(*each.shape, arch, taken);
        }
        all.push_back(std::move(found));
    }
    return all;
}

} // namespace fastsdt::engine
