// SPDX-License-Identifier: BSD-2-Clause
// The arm64 stub compiler, inside: code/arm64/instructions.cpp has what stubs and routines are written in, code/arm64/operations.cpp values,
// code/arm64/updates.cpp updates of maps, code/arm64/stubs.cpp the stub around them.
//
// Registers in a stub, once the program's values are saved:
//     x0      the value of an expression, and a key
//     x1, x6 to x16  anything
//     x2      the entry that was found
//     x3      the value that a statement records
//     x4      the thread's block, as a runtime address
//     x5      a chunk of a table, while a routine looks something up in it
//     x6      the tag of an entry with the keys, as find_entry() leaves it
//     x11     another entry, while a routine assigns a string
//     x17     the assembler's
// The flags are saved like a register, if the stub changes them: most do not.
#pragma once
#include "base/integers.h"
#include "code/arm64/assembler.h"
#include "code/arm64/operands.h"
#include "code/compiler_by.h"

namespace fastsdt::engine::arm64 {

/// compiler_by.h
struct Processor {
    using Assembler = arm64::Assembler;
    using Reg = arm64::Reg;
    using Memory = arm64::Memory;
    static constexpr Reg stack = sp, returned = x0, goroutine = x28;
    static constexpr size_t red_zone = 0, of_routines = 112, // without long vectors: keep_vectors()
        of_unwinding = 96;
    static constexpr Reg arguments[] = {x0, x1, x2, x3, x4, x5};
    static constexpr std::optional<size_t> kept_by_stub(Reg reg)
    {
        return reg == x0 ? std::optional<size_t>(0) : reg == lr ? std::optional<size_t>(8) : std::nullopt;
    }
    static constexpr Reg reg(Role role)
    {
        constexpr Reg of[] = {x0, x1, x3, x4, x5, x2, x11, x6, x7, x8, x19, x20, x21, x22, x23, x24, sp, no_register};
        return of[size_t(role)];
    }
};

class Compiler final : public CompilerBy<Processor> {
public:
    Compiler(const Script& script, const Tables& tables, const Arena& arena, const Environment& environment);

private:
    // ---- code/arm64/instructions.cpp
    void constant(Role to, int64_t value) override;
    void load(Role to, Word from) override { as_.load(reg(to), memory(from)); }
    void store_number(Word to, int64_t number) override;
    void element(Role to, Role first, Role index, size_t size) override;
    void copy_bytes(Role to, Role from, size_t size) override;
    void zero_bytes(Role at, size_t size) override;
    void apply(Operator op, Role role, const Right& by) override;
    void invert(Role role) override;
    void negate(Role role) override;
    void extend(Role role, size_t size, bool is_signed) override;
    void find_lowest_bit(Role to, Role of) override;
    void jump(Label to) override;
    void jump_if(Is condition, Role a, const Right& b, Label to) override;
    void jump_if_zero(Role role, Label to, bool zero) override;
    void move_if(Is condition, Role a, const Right& b, Role to, Role from) override;
    void jump_if_zero(Word word, Label to, bool zero) override;
    void jump_if_bits(Role role, int64_t mask, Label to) override;
    void count_down(Role counter, Label to, bool zero) override;
    void jump_if_unlike(Role a, Role b, Label to) override;
    void load_ordered(Role to, Word from) override;
    void store_ordered(Word to, Role from) override;
    void order_loads() override;
    void jump_if_empty(Word word, Label to) override;
    void exchange(Word word, Role to, bool shared, std::optional<Label> otherwise) override;
    void add_atomically(Word word, int64_t number) override;
    void return_from_routine() override;
    void call_from_routine(Label routine) override;
    size_t push(std::initializer_list<Role> roles, bool hidden) override;
    size_t pop(std::initializer_list<Role> roles, bool hidden) override;
    void move_stack(int64_t by) override;
    void system_call(SystemCall which, std::initializer_list<CallArgument> arguments) override;
    void untag(Role address) override;
    void strip(Role address) override;
    Reg in_register(const Right& right);
    Reg at_register(Word word);
    static std::vector<Reg> pushed(std::initializer_list<Role> roles, bool hidden);
    void keep_vectors(bool back);

    // ---- code/arm64/routines.cpp
    void begin_stack(bool by_rows) override;
    void control_block(Role to, Label none) override;
    size_t return_address() const override { return 0; } // it is in lr
    void begin_direct() override { move(Role::kept, Role::result); }
    void end_direct() override {}
    void begin_assigning() override {}
    void end_assigning() override {}
    void exchange_value(const Table& table, bool adds, Label done, Label again) override;

    // ---- code/arm64/operations.cpp
    bool in_memory(const ir::Argument& argument) const override;
    void argument(const ir::Argument& argument, Role to) override;
    void memory_argument(const ir::Argument& argument) override;
    void thread_id(Role to) override;
    void register_value(unsigned number, Role to) override;
    bool processor(bool) override { return false; }
    void nanoseconds() override;
    void publish(Word to, int32_t number) override;
    void store_frame_number(size_t offset, int64_t number) override;
    void swap_bytes(size_t bytes) override;
    void divide(bool modulo) override;
    void divide_by(uint64_t divisor) override;
    bool compares_with(int64_t number) const override;
    void jump_if(Operator comparison, std::optional<int64_t> number, bool is_signed, bool when, Label to) override;
    void call_routine(Label routine) override;
    Source argument_source(const ir::Argument& argument) const;

    // ---- code/arm64/updates.cpp
    void count_at(size_t offset) override;
    void find_direct(size_t map, Label next) override;
    void increment(Word word) override;
    void add_for_all(Word word) override;
    void reserve_record(size_t bytes, Label full) override;
    void commit_record(uint32_t statement) override;
    void add_recorded(Word word) override;
    void keep_extreme(const Map& map, Word word) override;
    void count_in_histogram(Word first_bucket) override;
    void count_in_steps(const Map& map, Word first_bucket) override;

    // ---- code/arm64/call.cpp
    void call_compiled(const Statement& statement) override;
    void keep_quadwords(bool back);

    // ---- code/arm64/stubs.cpp
    Patch patch(const Site& site, uint64_t stub) const override;
    void align_stub(const Site& site) override;
    Registers all_registers() const override;
    Registers saved_registers(Registers written) const override;
    void save() override;
    void restore() override;
    void leave() override;
    void call_body(Label body, int64_t number) override;
    void leave_body() override;
    void move_code(uint64_t from, std::span<const std::byte> code) override;
    void block() override;
    void call(Label routine, Registers changes);
    void move_saved(bool back); ///< the general registers that saved_ names, to the frame or back
    size_t frame_size() const override;
};

/// What routines change, their callers' x3 and x4 excepted.
inline constexpr Registers routine_changes = bit(x0) | bit(x1) | bit(x2) | bit(x5) | bit(x6) | bit(x7) | bit(x8)
    | bit(x9) | bit(x10) | bit(x11) | bit(x12) | bit(x13) | bit(x14) | bit(x15) | bit(x16) | bit(x17) | bit(flags);

} // namespace fastsdt::engine::arm64
