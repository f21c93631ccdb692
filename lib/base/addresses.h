// SPDX-License-Identifier: BSD-2-Clause
// Three kinds of numbers say where something is: in a file, in what a file says that it will be in memory, and in a process. A byte of a program
// has all three, and they differ: 0x1040, 0x401040, 0x55d0c3a01040. Each kind is a type of its own, so that the compiler refuses one where another
// belongs; who goes from one to the other says so (Image::file_offset) or takes `value` and makes the other of it.
#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>

namespace fastsdt {

template <class Kind>
struct Position {
    uint64_t value = 0;

    constexpr Position() = default;
    explicit constexpr Position(uint64_t value) : value(value) {}
    friend constexpr auto operator<=>(const Position&, const Position&) = default;
    explicit constexpr operator bool() const { return value != 0; }
    /// Down to a multiple of `unit`, a page for example.
    constexpr Position down_to(uint64_t unit) const { return Position(value / unit * unit); }

    friend constexpr Position operator+(Position a, uint64_t bytes) { return Position(a.value + bytes); }
    friend constexpr Position operator-(Position a, uint64_t bytes) { return Position(a.value - bytes); }
    friend constexpr uint64_t operator-(Position a, Position b) { return a.value - b.value; }
};

using FileOffset = Position<struct InFile>;        ///< of a byte in a file: what read() and the kernel's uprobes want
using Vaddr = Position<struct InElf>;              ///< as the ELF file's headers, symbols and notes number addresses
using RuntimeAddress = Position<struct InProcess>; ///< where a process has it

/// Up to a multiple of `unit`.
constexpr size_t up_to(size_t value, size_t unit)
{
    return (value + unit - 1) / unit * unit;
}

/// Bytes of the smallest pages that any kernel has: what text is mapped and made writable by.
inline constexpr uint64_t smallest_page = 4096;

/// For nlohmann::json: the number.
template <class Json, class Kind>
void to_json(Json& json, Position<Kind> position)
{
    json = position.value;
}

} // namespace fastsdt

/// Prints the number.
template <class Kind>
struct fmt::formatter<fastsdt::Position<Kind>> : fmt::formatter<uint64_t> {
    template <class Context>
    auto format(fastsdt::Position<Kind> position, Context& context) const
    {
        return fmt::formatter<uint64_t>::format(position.value, context);
    }
};
