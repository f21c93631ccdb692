// SPDX-License-Identifier: BSD-2-Clause
// Returns and jumps, found in the code.
#pragma once
#include "elf/image.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace fastsdt {

/// Where an instruction leads.
enum class Flow {
    next,     ///< to the next one, or to a call's target and back
    away,     ///< to its target, or to the next one: a direct jump
    returns,  ///< to the caller
    indirect, ///< to an address in a register or in memory
};

struct Step {
    size_t length = 0; ///< bytes
    Flow flow = Flow::next;
    uint64_t target = 0; ///< ELF vaddr, of a direct jump
};

/// The instruction at ELF vaddr `address`, whose bytes are `code`. Empty: there is none, or the architecture is neither
/// x86-64 nor arm64.
std::optional<Step> step(Arch arch, std::span<const std::byte> code, uint64_t address);

/// Calls `visit` for the returns and direct jumps between the ELF vaddrs `begin` and `end`. The answer: where the first instruction
/// is that the decoder does not know; what stands behind it is a guess.
std::optional<uint64_t> each_jump(const Image& image, uint64_t begin, uint64_t end,
                                  const std::function<void(uint64_t address, const Step& step)>& visit);

} // namespace fastsdt
