// SPDX-License-Identifier: BSD-2-Clause
// The x86-64 stub compiler, inside: code/x86/routines.cpp has what all stubs of an arena call, code/x86/operations.cpp values,
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
    static constexpr Reg reg(Role role)
    {
        constexpr Reg of[] = {rax, rcx, rdi, rsi, r8, rdx, rbx};
        return of[size_t(role)];
    }
};

class Compiler final : public CompilerBy<Processor> {
public:
    Compiler(const Script& script, const Tables& tables, const Arena& arena, const Environment& environment);

private:
    // ---- code/x86/routines.cpp
    void acquire_routine() override;
    void claim_routine() override;
    void text_routine() override;
    void word_routine() override;
    void number_routine(Label routine, Asked what) override;
    void comm_routine() override;
    void find_lasting(Label none);
    void ask_for_calls(Label forbidden);
    void heed_filter(Label nothing, Label forbidden);
    void count_unread() override;
    void prepare_read() override; ///< rcx, r8, r9 and r11 for find_lasting()
    void begin_routine(Label routine) override;
    void return_from_routine() override;
    void begin_assigning() override;
    void end_assigning() override;
    void begin_direct() override;
    void end_direct() override;
    void find_entry(const Table& table, Label found, Label absent, bool deleted) override;
    void make_entry(const Table& table, Fill fill, Label done, Label full) override;
    void claim_direct(const Table& table, Label done, Label full) override;
    void exchange_value(const Table& table, bool adds, Label done, Label again) override;
    void load_value(const Table& table, Label absent) override;
    void load_text(const Table& table) override;
    void erase_entry(const Table& table, Role entry) override;
    void jump_unless_there(Role entry, Label to) override;
    void allocate(Label none) override;
    void load_chunk(Role to, Word of) override;
    void exchange_chunk(const Table& table) override;
    void claim_word(size_t offset) override;
    void data_address(Role to, size_t offset) override;
    void first_entry(const Table& table, Label loop);
    void next_entry(Label loop);
    void leave_nothing(Label full);
    Memory key_word(size_t index) const;
    void system_call(int number);

    // ---- code/x86/operations.cpp
    bool in_memory(const ir::Argument& argument) const override;
    void argument(const ir::Argument& argument, Role to) override;
    void memory_argument(const ir::Argument& argument) override;
    void thread_id(Role to) override;
    void process_id() override;
    void read_memory(size_t bytes, bool is_signed) override;
    void register_value(unsigned number, Role to) override;
    void processor(bool node) override;
    void nanoseconds() override;
    void constant(Role to, int64_t value) override;
    void publish(Word to, int32_t number) override;
    void store_frame_number(size_t offset, int64_t number) override;
    void stack(unsigned most, bool unwinds) override;
    void unary(Operator op) override;
    void lowest_bit() override;
    void swap_bytes(size_t bytes) override;
    void binary(Operator op) override;
    void divide(bool modulo);
    void divide_by(uint64_t divisor) override;
    void jump(Label to) override;
    void jump_if_zero(Role role, Label to, bool zero) override;
    void jump_if_unlike(Role a, Role b, Label to) override;
    void jump_if_empty(Word word, Label to) override;
    bool compares_with(int64_t number) const override;
    void jump_if(Operator comparison, std::optional<int64_t> number, bool is_signed, bool when, Label to) override;
    void call_routine(Label routine) override;
    void jump_if_refused(Label to) override;
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

    // ---- code/x86/stacks.cpp
    void stack_routine(bool unwinds) override;
    void unwind_routine() override;
    void find_bounds();
    void unless_readable(Reg address, Label outside);
    void unless_on_stack(Reg address, Label outside);
    using Visit = std::function<void()>;
    void walk_frames(const Visit& visit);
    void walk_rows(const Visit& visit);

    // ---- code/x86/call.cpp
    void call_function(const Statement& statement) override;
    uint64_t fill_hit(size_t count);
    bool fill_argument(size_t index);

    // ---- code/x86/stubs.cpp
    Patch patch(const Site& site, uint64_t stub) const override;
    void align_stub(const Site& site) override;
    Registers all_registers() const override;
    Registers saved_registers(Registers written) const override;
    void move_code(uint64_t from, std::span<const std::byte> code) override;
    void save() override;
    void restore() override;
    void leave() override;
    void block() override;
    void first_slot();
    void call(Label routine, Registers changes);
    size_t flags_offset() const;
    size_t frame_size() const override { return flags_offset() + 8; }

    int64_t keys_ = 0; // of the caller's frame, in a routine: from its rsp
};

/// What routines change, their callers' rsi, rdi, rbx and r12 to r15 excepted.
inline constexpr Registers routine_changes = bit(rax) | bit(rcx) | bit(rdx) | bit(r8) | bit(r9) | bit(r10) | bit(r11);

} // namespace fastsdt::engine::x86
