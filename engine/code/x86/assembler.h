// SPDX-License-Identifier: BSD-2-Clause
// x86-64 machine code by Zydis' encoder.
#pragma once
#include "code/emitter.h"

#include <Zydis/Zydis.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <variant>

namespace fastsdt::engine::x86 {

/// A landing pad of indirect calls and jumps.
inline constexpr std::array endbr64{std::byte{0xf3}, std::byte{0x0f}, std::byte{0x1e}, std::byte{0xfa}};

/// In the order of their encoding.
enum Reg : uint8_t { rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15, no_register };

constexpr Registers bit(Reg reg)
{
    return Registers(1) << reg;
}

/// The low `size` bytes of a register.
struct Part {
    Reg reg = rax;
    int size = 8;
};

/// disp(base, index, scale), `size` bytes.
struct Memory {
    Reg base = no_register;
    int64_t displacement = 0;
    Reg index = no_register;
    int scale = 1;
    int size = 8;
    bool fs = false; ///< from the thread pointer
};

using Operand = std::variant<Part, Memory, int64_t>;

class Assembler : public Emitter {
public:
    using Emitter::Emitter;

    /// Any instruction but jumps. Throws std::logic_error for one that does not exist.
    void emit(ZydisMnemonic mnemonic, std::initializer_list<Operand> operands, bool lock = false);
    /// A jump or call with a 32-bit displacement, to a label or to a runtime address.
    void jump(ZydisMnemonic mnemonic, Label to);
    void jump_to(ZydisMnemonic mnemonic, uint64_t runtime);
    /// reg = the 8 bytes at runtime address `from`, which is within 2 GiB.
    void load_near(Reg reg, uint64_t from);
    /// Jumps to the runtime address in the 8 bytes at runtime address `from`, which is within 2 GiB.
    void jump_through(uint64_t from);

    // The most frequent instructions of stubs.
    void move(Reg to, Reg from);
    void load(Reg to, const Memory& from); ///< 8 bytes
    void store(const Memory& to, Reg from);
    void constant(Reg to, int64_t value);                  ///< leaves the flags
    void long_constant(Reg to, uint64_t value);            ///< of ten bytes, whatever the value is
    void address(Reg to, const Memory& of);                ///< lea
    void low_of_vector(Reg to, unsigned number, int size); ///< the lowest 4 or 8 bytes of xmm0 to xmm15, zero-extended

    /// An instruction as it stands elsewhere. Of its operands, only a rip-relative one depends on the place.
    void copy(std::span<const std::byte> instruction);
    void copy(std::span<const std::byte> instruction, size_t displacement_offset, uint64_t target);

    void align(size_t boundary); ///< by nops
    void align_to(uint8_t low);  ///< by nops, until `low` is the lowest byte of the next address

private:
    void put(const ZydisEncoderRequest& request);
    void displacement(size_t at, uint64_t target) override; // the 4 bytes at `at`, relative to the byte after them
};

} // namespace fastsdt::engine::x86
