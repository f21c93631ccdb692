// SPDX-License-Identifier: BSD-2-Clause
// The x86-64 stub compiler, inside: code/x86/instructions.cpp has what stubs and routines are written in, code/x86/operations.cpp values,
// code/x86/updates.cpp updates of maps, code/x86/stubs.cpp the stub around them.
//
// Registers in a stub, once the program's values are saved:
//     rax  the value of an expression, and a key
//     rcx, rdx, r9, r10, r11  anything
//     rdi  the value that a statement records
//     rsi  the thread's block, as a runtime address
//     r8   a chunk of a table, while a routine looks something up in it
//     r10  the tag of an entry with the keys, as find_entry() leaves it
//     rbx  another entry, while a routine assigns a string
// The 128 bytes above the frame (compiler.h) are the program's red zone; the last word of the frame has the program's
// flags.
#pragma once
#include "base/integers.h"
#include "code/compiler_by.h"
#include "code/x86/assembler.h"
#include "code/x86/operands.h"

namespace fastsdt::engine::x86 {

/// compiler_by.h
struct Processor {
    using Assembler = x86::Assembler;
    using Reg = x86::Reg;
    using Memory = x86::Memory;
    static constexpr Reg stack = rsp, returned = rax, goroutine = r14;
    static constexpr size_t red_zone = 128, of_routines = 80, of_unwinding = 56;
    static constexpr Reg arguments[] = {rdi, rsi, rdx, r10, r8, r9};
    static constexpr std::optional<size_t> kept_by_stub(Reg reg)
    {
        return reg == rax ? std::optional<size_t>(8) : std::nullopt; // above the return address
    }
    static constexpr Reg reg(Role role)
    {
        constexpr Reg of[] = {rax, rcx, rdi, rsi, r8,  rdx, rbx,         r10, r9,
                              r11, r12, r13, r14, r15, rbp, no_register, rsp, no_register};
        return of[size_t(role)];
    }
};

class Compiler final : public CompilerBy<Processor> {
public:
    Compiler(const Script& script, const Tables& tables, const Arena& arena, const Environment& environment);

private:
    // ---- code/x86/instructions.cpp
    void constant(Role to, int64_t value) override;
    void load(Role to, Word from) override;
    void store_number(Word to, int64_t number) override;
    void element(Role to, Role first, Role index, size_t size) override;
    void copy_bytes(Role to, Role from, size_t size) override;
    void zero_bytes(Role at, size_t size) override;
    void apply(Operator op, Role to, const Right& by) override;
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
    void load_ordered(Role to, Word from) override { load(to, from); }
    void store_ordered(Word to, Role from) override { store(to, from); }
    void order_loads() override {}
    void jump_if_empty(Word word, Label to) override;
    void exchange(Word word, Role to, bool shared, std::optional<Label> otherwise) override;
    void add_atomically(Word word, int64_t number) override;
    void return_from_routine() override;
    void call_from_routine(Label routine) override;
    size_t push(std::initializer_list<Role> roles, bool hidden) override;
    size_t pop(std::initializer_list<Role> roles, bool hidden) override;
    void move_stack(int64_t by) override;
    void system_call(SystemCall which, std::initializer_list<CallArgument> arguments) override;
    void untag(Role) override {}
    void strip(Role) override {}
    static Operand operand(const Right& right);

    // ---- code/x86/routines.cpp
    size_t return_address() const override { return 8; }
    void begin_stack(bool by_rows) override;
    void control_block(Role to, Label none) override;
    void ask_for_thread() override;
    void begin_direct() override;
    void end_direct() override;
    void begin_assigning() override;
    void end_assigning() override;
    void exchange_value(const Table& table, bool adds, Label done, Label again) override;

    // ---- code/x86/operations.cpp
    bool in_memory(const ir::Argument& argument) const override;
    void argument(const ir::Argument& argument, Role to) override;
    void memory_argument(const ir::Argument& argument) override;
    void thread_id(Role to) override;
    void register_value(unsigned number, Role to) override;
    bool processor(bool node) override;
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

    // ---- code/x86/updates.cpp
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

    // ---- code/x86/call.cpp
    void call_compiled(const Statement& statement) override;

    // ---- code/x86/stubs.cpp
    Patch patch(const Site& site, uint64_t stub) const override;
    void align_stub(const Site& site) override;
    Registers all_registers() const override;
    Registers saved_registers(Registers written) const override;
    void move_code(uint64_t from, std::span<const std::byte> code) override;
    void save() override;
    void restore() override;
    void leave() override;
    void call_body(Label body, int64_t number) override;
    void leave_body() override;
    void block() override;
    void first_slot();
    void call(Label routine, Registers changes);
    size_t flags_offset() const;
    size_t frame_size() const override { return flags_offset() + 8; }
};

/// What routines change, their callers' rsi, rdi, rbx and r12 to r15 excepted.
inline constexpr Registers routine_changes = bit(rax) | bit(rcx) | bit(rdx) | bit(r8) | bit(r9) | bit(r10) | bit(r11);

} // namespace fastsdt::engine::x86
