// SPDX-License-Identifier: BSD-2-Clause
// The instructions that stubs and their routines are written in: what x86-64 and arm64 both have, with registers by what they are for.
// code/x86/instructions.cpp and code/arm64/instructions.cpp encode them. All else of a stub but how the program's registers are saved,
// where its arguments are and how a clock is read is written once, on these.
#pragma once
#include "code/emitter.h"
#include "script/script.h"

#include <initializer_list>
#include <optional>
#include <variant>

namespace fastsdt::engine {

/// What registers are for in a stub, once the program's values are saved.
enum class Role : uint8_t {
    result,   ///< the value of an expression, and a key
    second,   ///< the right operand of an operation; the count of a shift
    recorded, ///< the value that a statement records
    block,    ///< runtime address of the thread's block
    table,    ///< runtime address of a chunk's first entry, while a routine looks something up in it
    entry,    ///< runtime address of the entry that was found
    kept,     ///< of another entry, in assign_text(). Stubs do not save it: a routine has to
    tag,      ///< that an entry with the keys has
    index,    ///< of a search
    seen,     ///< of a search: entries
    // Of a walk through the stack. Stubs do not save them.
    innermost,
    place,
    first_frame,
    stack_pointer,
    highest,
    link,  ///< arm64: the link register of the call that a walk by tables has come to; 0: not known
    stack, ///< the stub's own stack pointer: only as the base of a Word
    none,
};

/// `size` bytes in memory: at offset(base, index, scale).
struct Word {
    Role base = Role::block;
    size_t offset = 0; ///< modulo 2^64: below the base too
    Role index = Role::none;
    int scale = 1; ///< 1 or 8
    int size = 8;  ///< 1, 2, 4 or 8; loads extend with zeros
};
/// A word of a chunk's header, `below` its first entry.
inline Word of_chunk(Role chunk, size_t below)
{
    return {chunk, 0 - below};
}

/// A condition between two numbers without a sign, but for the last two: those tell the sign of the difference, which has to fit, and
/// leave the flags as they were. So do the first two.
enum class Is : uint8_t { equal, unlike, below, not_below, above, not_above, less, not_less };

/// The right operand of an instruction.
using Right = std::variant<Role, int64_t, Word>;

enum class SystemCall : uint8_t { getpid, gettid, getuid, getgid, getcpu, prctl, process_vm_readv };

/// What a system call gets: a register's value, a number, a word from memory, or an address.
struct AddressOf {
    Word word;
};
using CallArgument = std::variant<Role, int64_t, Word, AddressOf>;

class Instructions {
public:
    virtual ~Instructions() = default;

protected:
    using Label = Emitter::Label;

    virtual void move(Role to, Role from) = 0;
    virtual void constant(Role to, int64_t value) = 0;
    virtual void
    long_constant(Role to,
                  uint64_t value) = 0; ///< as long for every value: an address that differs from process to process
    virtual void load(Role to, Word from) = 0;
    virtual void load_near(Role to, uint64_t from) = 0;     ///< the 8 bytes at a runtime address that is within reach
    virtual void store(Word to, Role from) = 0;             ///< 8 bytes, or 1
    virtual void store_number(Word to, int64_t number) = 0; ///< the same; of 32 bits with a sign
    virtual void address(Role to, Word of) = 0;
    virtual void element(Role to, Role first, Role index,
                         size_t size) = 0; ///< to = first + index * size; `to` is neither
    virtual void copy_bytes(Role to, Role from,
                            size_t size) = 0;          ///< bytes, 16 or a multiple, at addresses; changes Role::tag
    virtual void zero_bytes(Role at, size_t size) = 0; ///< the same

    /// to = to op by: add, subtract, multiply, bit_and, bit_or, bit_xor, shift_left or shift_right. A shift is by a number or by
    /// Role::second, modulo 64.
    virtual void apply(Operator op, Role to, const Right& by) = 0;
    virtual void invert(Role role) = 0; ///< every bit
    virtual void negate(Role role) = 0;
    virtual void extend(Role role, size_t size, bool is_signed) = 0; ///< the lowest 1, 2 or 4 bytes
    virtual void find_lowest_bit(Role to, Role of) = 0;              ///< its number; `of` is not 0

    virtual void jump(Label to) = 0;
    virtual void jump_if(Is condition, Role a, const Right& b, Label to) = 0;
    virtual void jump_if_zero(Role role, Label to, bool zero = true) = 0; ///< `zero` false: if not zero
    virtual void move_if(Is condition, Role a, const Right& b, Role to,
                         Role from) = 0; ///< not by a jump; below to not_above; a word's size counts
    virtual void jump_if_zero(Word word, Label to, bool zero = true) = 0;
    virtual void jump_if_bits(Role role, int64_t mask, Label to) = 0; ///< if any of the mask's is set
    virtual void count_down(Role counter, Label to,
                            bool zero = true) = 0;             ///< one less; jumps if that is zero, or if not
    virtual void jump_if_unlike(Role a, Role b, Label to) = 0; ///< may change `a`

    // Memory that other threads change. x86 keeps the order of loads and that of stores.
    virtual void load_ordered(Role to, Word from) = 0;   ///< later loads are done after it
    virtual void store_ordered(Word to, Role from) = 0;  ///< earlier stores are seen before it
    virtual void order_loads() = 0;                      ///< no load behind it is done before it
    virtual void jump_if_empty(Word word, Label to) = 0; ///< jumps on 0; later loads are done after this one
    /// The word becomes `to` if it is Role::result, all at once. Else Role::result becomes what is there, and that is where `otherwise` is
    /// jumped to; without a label it goes on. Earlier stores are seen before it, later loads and stores are done after it has read; where an
    /// arm64 has no casal, others may see such a store before they see this one (tests/long/litmus).
    /// `shared` false: only this thread and its signal handlers change it.
    virtual void exchange(Word word, Role to, bool shared, std::optional<Label> otherwise = {}) = 0;
    virtual void add_atomically(Word word, int64_t number) = 0; ///< where all threads add

    // Routines: what stubs call. A stub saves what routine_changes says, for all but those that save for themselves.
    virtual void begin_routine(Label routine) = 0; ///< aligned, as a target of calls
    virtual void return_from_routine() = 0;
    virtual void call_from_routine(Label routine) = 0; ///< another one
    /// On the stack. `hidden`: also what the instructions of this class change besides the registers that are named.
    /// Returns how many bytes that takes.
    virtual size_t push(std::initializer_list<Role> roles, bool hidden = false) = 0;
    virtual size_t pop(std::initializer_list<Role> roles, bool hidden = false) = 0;
    virtual void move_stack(int64_t by) = 0; ///< a multiple of 16 bytes
    /// Result and error: Role::result. Changes Role::second and Role::seen, and what the arguments need: Role::block and Role::recorded
    /// among it.
    virtual void system_call(SystemCall which, std::initializer_list<CallArgument> arguments) = 0;
    virtual void
    untag(Role address) = 0; ///< the processor ignores the upper bits of an address, and the kernel would not
    virtual void strip(Role address) = 0; ///< of a return address: as it was before it was signed
};

} // namespace fastsdt::engine
