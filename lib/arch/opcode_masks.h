// SPDX-License-Identifier: BSD-2-Clause
// Uprobe rules of architectures that need no more than a list of masks. The first row that matches decides.
#pragma once
#include "kernel/kernel.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>

namespace fastsdt {

inline constexpr auto reject = Verdict::reject, emulate = Verdict::emulate, xol = Verdict::xol;

struct OpcodeMask {
    uint32_t mask, value;
    Verdict verdict;
    const char* why;
};

template <class Row, size_t n> const Row& first_match(const Row (&rows)[n], uint32_t insn)
{
    return *std::find_if(std::begin(rows), std::end(rows),
                         [&](const Row& row) { return (insn & row.mask) == row.value; });
}

template <size_t n> Judgement look_up(const OpcodeMask (&rows)[n], uint32_t insn)
{
    const OpcodeMask& row = first_match(rows, insn);
    return {row.verdict, row.why};
}

/// An instruction's first `size` bytes as a number; what the file does not have is zero (copy_insn()).
inline uint32_t first_bytes(std::span<const std::byte> bytes, size_t size, bool big_endian)
{
    uint32_t value = 0;
    for (size_t i = 0; i < std::min(bytes.size(), size); ++i)
        value |= std::to_integer<uint32_t>(bytes[i]) << 8 * (big_endian ? size - 1 - i : i);
    return value;
}

inline const Judgement no_bytes{Verdict::reject, "copy_insn(): no byte of the file at this offset"};
inline const Judgement not_aligned{Verdict::reject, "arch_uprobe_analyze_insn(): address not aligned"};

} // namespace fastsdt
