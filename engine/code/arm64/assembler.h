// SPDX-License-Identifier: BSD-2-Clause
// arm64 machine code by VIXL's assembler.
#pragma once
#include "code/emitter.h"

#include <aarch64/assembler-aarch64.h>

#include <cstddef>
#include <cstdint>

namespace fastsdt::engine::arm64 {

namespace vixl = ::vixl::aarch64;

/// In the order of their encoding; number 31 is sp or zero, as the instruction has it.
enum Reg : uint8_t {
    x0,
    x1,
    x2,
    x3,
    x4,
    x5,
    x6,
    x7,
    x8,
    x9,
    x10,
    x11,
    x12,
    x13,
    x14,
    x15,
    x16,
    x17,
    x18,
    x19,
    x20,
    x21,
    x22,
    x23,
    x24,
    x25,
    x26,
    x27,
    x28,
    x29,
    x30,
    sp,
    xzr,
    no_register
};
inline constexpr Reg lr = x30;

constexpr Registers bit(Reg reg)
{
    return Registers(1) << reg;
}
/// The flags have sp's bit in a set of registers. sp needs none: every stub leaves it as it was.
inline constexpr Reg flags = sp;

/// Displacement(base, index, scale), `size` bytes. With an index it takes two instructions.
struct Memory {
    Reg base = sp;
    int64_t displacement = 0;
    Reg index = no_register;
    int scale = 1;
    int size = 8;
};

class Assembler : public Emitter {
public:
    using Emitter::Emitter;

    /// Any instruction whose displacement does not fit changes this register too.
    static constexpr Reg scratch = x17;

    void move(Reg to, Reg from); ///< one of them may be sp
    void constant(Reg to, uint64_t value);
    void long_constant(Reg to, uint64_t value);                    ///< of four instructions, whatever the value is
    void load(Reg to, const Memory& from, bool is_signed = false); ///< extended to 64 bits; needs no scratch
    void store(const Memory& to, Reg from);                        ///< 8 bytes, or the lowest one
    void load_pair(Reg to, Reg second, const Memory& from);
    void store_pair(const Memory& to, Reg from, Reg second);
    /// to = base + displacement. Needs scratch where `to` is the base, and the displacement 16 MiB or more.
    void address(Reg to, const Memory& of);
    void move_stack(int64_t by); ///< sp += by
    void extend(Reg to, Reg from, int size, bool is_signed);
    void low_of_vector(Reg to, unsigned number, int size); ///< the lowest 4 or 8 bytes of v0 to v31, zero-extended

    // The last operand is a register, or a number that the instruction can encode.
    using Operand = vixl::Operand;
    static Operand shifted(Reg reg, vixl::Shift shift, unsigned by);
    static vixl::Register x(Reg reg);
    static vixl::Register w(Reg reg);
    void add(Reg to, Reg a, const Operand& b);
    void add(Reg to, Reg a, Reg b) { add(to, a, Operand(x(b))); }
    void sub(Reg to, Reg a, const Operand& b);
    void sub(Reg to, Reg a, Reg b) { sub(to, a, Operand(x(b))); }
    void logic_and(Reg to, Reg a, const Operand& b);
    void logic_bic(Reg to, Reg a, Reg b);
    void logic_or(Reg to, Reg a, const Operand& b);
    void logic_xor(Reg to, Reg a, const Operand& b);
    void logic_not(Reg to, Reg a);
    void compare(Reg a, const Operand& b); ///< changes the flags
    void compare(Reg a, Reg b) { compare(a, Operand(x(b))); }
    void select(Reg to, Reg a, Reg b, vixl::Condition when);
    void shift_left(Reg to, Reg a, unsigned by);
    void shift_right(Reg to, Reg a, unsigned by);
    void reverse_bytes(Reg to, Reg a);
    void reverse_bits(Reg to, Reg a);
    void bits_of_two(Reg to, Reg high, Reg low, unsigned from); ///< 64 bits of high:low
    using OfTwo = void (vixl::Assembler::*)(const vixl::Register&, const vixl::Register&);
    using OfThree = void (vixl::Assembler::*)(const vixl::Register&, const vixl::Register&, const vixl::Register&);
    using OfFour = void (vixl::Assembler::*)(const vixl::Register&, const vixl::Register&, const vixl::Register&,
                                             const vixl::Register&);
    void compute(OfTwo instruction, Reg to, Reg a);
    void compute(OfThree instruction, Reg to, Reg a, Reg b);
    void compute(OfFour instruction, Reg to, Reg a, Reg b, Reg c);

    void jump(Label to);
    void jump_if(vixl::Condition condition, Label to);
    void jump_if_zero(Reg reg, Label to, bool zero = true);
    void call(Label to); ///< changes lr
    void jump_to(uint64_t runtime);
    void ret();
    /// reg = the 8 bytes at runtime address `from`, which is within 4 GiB.
    void load_near(Reg reg, uint64_t from);
    void system_call();
    enum class System { nzcv, thread_pointer, counter };
    void read_system(Reg to, System of);
    void write_flags(Reg from);

    // Memory at the address in a register. Other threads may change it meanwhile.
    void load_acquire(Reg to, Reg address);
    void store_release(Reg address, Reg from);
    void barrier_of_loads(); ///< no load behind it is done before it
    /// Adds, by one instruction if the processor has it, else by a loop. `exclusive`: registers that the loop may
    /// change.
    struct Exclusive {
        Reg value, status;
    };
    void atomic_add(Reg address, Reg by, bool one_instruction, Exclusive exclusive);
    /// Stores the larger of two unsigned numbers.
    void atomic_maximum(Reg address, Reg with, bool one_instruction, Exclusive exclusive);
    /// `expected` becomes the old value. If the two were equal, the memory has `wanted` now.
    void compare_exchange(Reg address, Reg expected, Reg wanted, bool one_instruction, Exclusive exclusive);

    void align(size_t boundary); ///< by nops
    void copy(uint32_t word) { append(&word, sizeof word); }

    /// Any one instruction that is not above.
    template <class Instruction> void put(Instruction instruction)
    {
        uint32_t word = 0;
        vixl::Assembler one(reinterpret_cast<::vixl::byte*>(&word), sizeof word);
        instruction(one);
        one.FinalizeCode();
        append(&word, sizeof word);
    }

private:
    void displacement(size_t at, uint64_t target) override; // in the word at `at`, relative to it
};

/// The word of `b target` at `at`. If the target is too far, its displacement bits are 0, and `far` is true.
uint32_t jump_word(uint64_t at, uint64_t target, bool& far);

} // namespace fastsdt::engine::arm64
