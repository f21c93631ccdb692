// SPDX-License-Identifier: BSD-2-Clause
// Which instructions of a program that was built without sites can be moved elsewhere, so that a jump takes their place, of five bytes on
// x86-64, of one word on arm64:
// the rules that say so, for function entries, for returns and tail jumps, and for one-byte sites.
#pragma once
#include "elf/image.h"
#include "movable/fault.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace fastsdt {

/// Why the instructions at a place cannot be moved.
enum class Obstacle : uint8_t {
    none,
    other_architecture, ///< neither x86-64 nor arm64
    not_linked,
    damaged,
    loader,
    no_frame,
    inside,
    part,
    not_instructions,
    between_instructions,
    not_nop,
    stack,
    signal,
    outermost,
    special,
    resolver,
    restartable,
    relocated,
    patched,
    computed_jump,
    target,
    loop,
    page,
    instruction,
    too_short,
    go_program,
    unchecked,  ///< of Go
    go_runtime, ///< of Go
    entered,
    taken,
    falls_through,
    conditional_exit,
    unknown_exit,
    never_returns, ///< asked for exits
    holds_site,    ///< of a probe: whoever patches that would patch what is not executed
};
/// Whether it concerns only the moving: that the place is an exit is known.
constexpr bool concerns_only_moving(Obstacle obstacle)
{
    return obstacle == Obstacle::target || obstacle == Obstacle::page || obstacle == Obstacle::instruction
        || obstacle == Obstacle::too_short || obstacle == Obstacle::go_program || obstacle == Obstacle::unchecked
        || obstacle == Obstacle::go_runtime;
}
/// What follows the name of the place: "is a jump target inside its first five bytes".
std::string_view text(Obstacle obstacle);

/// Whole instructions that a jump may replace. Meaningless but for `obstacle` where that is not `none`.
struct Window {
    uint64_t address = 0; ///< ELF vaddr of the first byte that is replaced
    uint8_t length =
        0; ///< of whole instructions, and of padding behind a return: 5 to 32 bytes, on arm64 4. What comes behind goes on at address + length
    uint8_t at = 0;     ///< offset of the instruction before which a probe is hit: 0 at an entry, but of Go
    uint8_t faults = 0; ///< Fault, of all instructions
    bool calls = false; ///< the last instruction is a direct call
    bool leaves =
        false; ///< the last instruction is a return or an unconditional jump: nothing comes back to address + length
    bool tail_call = false; ///< an exit that is a jump to another function
    Obstacle obstacle = Obstacle::none;
};
inline constexpr uint64_t longest_window = 32;
/// What stands at the address stays there.
inline Window refused(uint64_t address, Obstacle obstacle)
{
    Window window;
    window.address = address;
    window.obstacle = obstacle;
    return window;
}

/// The code of one file, read once: in time that grows with its size. The image has to outlive it.
class Movable {
public:
    explicit Movable(const Image& image);
    ~Movable();
    Movable(const Movable&) = delete;
    Movable& operator=(const Movable&) = delete;

    /// @param function  ELF vaddr of its first instruction, a landing pad perhaps, which stays
    Window entry(uint64_t function) const;
    /// All ways out of the function, by address. If one of them cannot be moved, or is not known to be one, it has an obstacle:
    /// then the function's exits must not be counted. Empty: it never returns.
    std::vector<Window> exits(uint64_t function) const;
    /// A nop, which a probe's note has: of one byte, or a word
    Window site(uint64_t address) const;
    /// Any instruction inside of a function.
    Window instruction(uint64_t address) const;
    /// Where that begins, by the unwinding information, of which the address is a part.
    std::optional<uint64_t> begin_of(uint64_t address) const;

private:
    struct Code;
    std::unique_ptr<Code> code_;
};

} // namespace fastsdt
