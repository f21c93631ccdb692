// SPDX-License-Identifier: BSD-2-Clause
// arm64 instructions: words of the Arm Architecture Reference Manual (DDI 0487), chapter C4.
#pragma once
#include "movable/instructions.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace fastsdt::arm64 {

/// Instructions whose effect depends on where they stand.
enum class PcRelative : uint8_t {
    none,
    adr,
    adrp,
    literal, ///< a load or prefetch from near the instruction
    b,
    bl,
    conditional, ///< b.cond, bc.cond, cbz, cbnz, tbz, tbnz
};
PcRelative pc_relative(uint32_t word);
/// What such an instruction at `address` refers to or leads to.
uint64_t refers_to(uint32_t word, uint64_t address);

/// 0 where less than a word is left.
uint32_t word_of(std::span<const std::byte> code);

Motion motion_of(const Image& image, std::span<const std::byte> code, uint64_t address);

/// ldxr, stxr and their kin, but not casp.
constexpr bool is_exclusive(uint32_t word)
{
    return (word & 0x3f800000) == 0x08000000 && (word & 0x80200000) != 0x00200000;
}
constexpr bool loads_exclusive(uint32_t word)
{
    return is_exclusive(word) && (word >> 22 & 1) != 0;
}
/// What ends such a sequence: a store, or clrex.
constexpr bool ends_exclusive(uint32_t word)
{
    return (is_exclusive(word) && !loads_exclusive(word)) || (word & 0xfffff0ff) == 0xd503305f;
}

} // namespace fastsdt::arm64
