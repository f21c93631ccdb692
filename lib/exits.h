// SPDX-License-Identifier: BSD-2-Clause
// The ways out of a function as its instructions have them: what EXIT records are compared with.
#pragma once
#include "image.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace fastsdt {

/// Where an instruction leads.
enum class Flow {
    next,     ///< to the next one, or to a call's target and back
    away,     ///< to its target, or on: a direct jump
    returns,  ///< to the caller
    indirect, ///< to an address in a register or in memory
};

struct Step {
    size_t length = 0; ///< bytes
    Flow flow = Flow::next;
    uint64_t target = 0; ///< ELF vaddr, of a direct jump
};

/// The instruction at ELF vaddr `address`, whose bytes are `code`. Empty: none, or not an architecture that is known here
/// (x86-64 and arm64 are).
std::optional<Step> step(Arch arch, std::span<const std::byte> code, uint64_t address);

struct CodeRange {
    uint64_t begin = 0, end = 0; ///< ELF vaddr
};

/// Addresses of the returns and of the direct jumps to somewhere else in a function that consists of `parts`. Indirect
/// jumps are left out: they may stay inside (switch) or not (a tail call). So are all jumps of relocatable objects.
std::vector<uint64_t> ways_out(const Image& image, std::span<const CodeRange> parts);

} // namespace fastsdt
