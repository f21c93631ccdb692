// SPDX-License-Identifier: BSD-2-Clause
// Instructions, one at a time: where they lead, what they refer to, and whether they do the same elsewhere. instructions_x86.cpp and
// instructions_arm64.cpp know how they are encoded.
#pragma once
#include "base/arch.h"
#include "elf/image.h"
#include "movable/fault.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace fastsdt {

struct Instruction {
    enum Flow : uint8_t { next, call, ret, jump, branch } flow = next; ///< branch: a jump under a condition
    uint8_t length = 0;
    bool direct = false;  ///< leads to `target`, or may lead there
    bool nop = false;     ///< that moves
    bool padding = false; ///< does nothing, or is never run: what stands between functions
    bool landing = false; ///< stays where it is, in front of a function's entry: indirect calls have to meet it
    bool stops = false;   ///< nothing runs behind it
    bool system_call = false;
    enum Reference : uint8_t { none, data, address } reference = none; ///< data: reads or writes what is at `refers_to`
    uint64_t target = 0, refers_to = 0;                                ///< ELF vaddrs
    std::array<uint64_t, 3>
        numbers{}; ///< constants of 32 bits or more: addresses perhaps, in a program that is linked to its addresses
    uint8_t number_count = 0;

    bool calls() const { return flow == call; }
    bool returns() const { return flow == ret; }
    bool jumps() const { return flow == jump; }
    bool branches() const { return flow == branch; }
    /// What is behind it is not what runs after it, or not always.
    bool ends_block() const { return flow != next; }
};

namespace arm64 {
/// Which registers have the addresses of pages, by adrp.
class Pages {
public:
    bool decode(std::span<const std::byte> code, uint64_t address, Instruction& instruction);

private:
    std::array<uint64_t, 32> pages_{}; // by register
    uint32_t known_ = 0;               // which of them
};
} // namespace arm64

/// Decodes instructions that follow each other: on arm64 it takes two to name an address.
class Decoder {
public:
    explicit Decoder(Arch arch) : arch_(arch) {}
    /// @param address  ELF vaddr of the first byte of `code`
    bool decode(std::span<const std::byte> code, uint64_t address, Instruction& instruction);

private:
    const Arch arch_;
    arm64::Pages pages_;
};

/// How an instruction may be moved.
enum class Moves : uint8_t {
    never,
    anywhere,
    as_call,    ///< if nothing comes behind it, since a return address tells where it stands
    as_leaving, ///< if nothing comes behind it: a return or a direct jump
    as_exit,    ///< an indirect jump: if it is a tail call
};
struct Motion {
    Moves moves = Moves::never;
    uint8_t faults = 0; ///< Fault. Memory: neither the stack's nor in the file's own segments
};
Motion motion_of(const Image& image, std::span<const std::byte> code, uint64_t address);

} // namespace fastsdt
