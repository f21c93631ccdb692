// SPDX-License-Identifier: BSD-2-Clause
// Calls of a thread that was stopped somewhere, from its registers and a copy of its stack, by .eh_frame: libdw's unwinder. For samples;
// stubs unwind by process/unwinding.h.
#pragma once
#include "process/view.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace fastsdt::engine {

class Unwound {
public:
    /// @param view  has to outlive it
    explicit Unwound(ProcessView& view);
    Unwound(const Unwound&) = delete;
    Unwound& operator=(const Unwound&) = delete;
    ~Unwound();

    /// @param registers  by DWARF number, and the program counter last  @param stack  from the stack pointer on
    /// @return  runtime addresses, the innermost first
    std::vector<uint64_t> calls(std::span<const uint64_t> registers, std::span<const char> stack, size_t most);
    /// Whether the last ones go on beyond the copy of the stack.
    bool was_cut() const;

private:
    struct State;
    const std::unique_ptr<State> state_;
};

} // namespace fastsdt::engine
