// SPDX-License-Identifier: BSD-2-Clause
// The x86-64 stub compiler, inside: routines_x86.cpp has what all stubs of an arena call, expressions_x86.cpp values,
// statements_x86.cpp updates of maps, stubs_x86.cpp the stub around them.
//
// Registers in a stub, after what the program had in them is saved:
//     rax  the value of an expression, and a key
//     rcx, rdx, r9, r10, r11  anything
//     rdi  the value that a statement records
//     rsi  the thread's slot, as a runtime address
//     r8   a table, while a routine looks something up in it
// Frame, from rsp up; 128 bytes above it are the program's red zone:
//     keys | a string to be assigned, or a hit to be told of | spilled values | address of the data | the program's registers | flags
#pragma once
#include "assembler_x86.h"
#include "integers.h"
#include "operands_x86.h"
#include "stubs.h"

#include <functional>
#include <optional>
#include <vector>

namespace fastsdt::engine::x86 {

class Compiler {
public:
    Compiler(const Script& script, const Tables& tables, const Arena& arena, const Environment& environment);
    Code compile(std::span<const Site> sites);

private:
    // ---- routines_x86.cpp
    struct MapRoutines {
        Assembler::Label update, assign, remove, load, direct;
    };
    struct Routines {
        Assembler::Label acquire, text, word;
        std::vector<MapRoutines> maps;
    };
    void routines();
    void acquire_routine();
    void text_routine();
    void word_routine();
    void map_routines(size_t map);
    void direct_routine(const Table& table);
    void first_entry(const Table& table, Assembler::Label loop);
    void next_entry(const Table& table, Assembler::Label loop);
    void find(const Table& table, int keys, Assembler::Label found, Assembler::Label absent);
    enum class Fill { zeros, number, text };
    void claim(const Table& table, int keys, Fill fill, Assembler::Label done, Assembler::Label full);
    void assign_number(const Table& table);
    void assign_text(const Table& table);
    void system_call(int number);

    // ---- expressions_x86.cpp
    bool is_leaf(const Expression& e) const;
    void value(const Expression& e, Reg to); ///< leaves go to any register, the rest to rax and from there
    void leaf(const Expression& e, Reg to);
    void evaluate(const Expression& e); ///< to rax
    void operation(const Expression& e);
    void operands(const Expression& e); ///< to rax and rcx
    void divide_by(uint64_t divisor);   ///< rax = rax / divisor, unsigned
    void branch(const Expression& e, Assembler::Label target, bool when);
    void nanoseconds();
    void thread_id(Reg to);
    void argument(const Expression& e, Reg to);
    void program_register(Reg from, Reg to);
    void memory_argument(const Source& source);
    Source argument_source(const Expression& e) const; ///< of Value::arg
    void fill_keys(const std::vector<Expression>& keys, const Table& table);
    void text_value(const Expression& e, size_t frame_offset); ///< string_size bytes into the frame
    void map_value(const Expression& e);
    Memory own(const Table& table, int64_t word) const
    {
        return {.base = rsi, .displacement = int64_t(*table.own) + 8 * word};
    }
    void if_own(const Table& table, const Expression& tid, Assembler::Label free, Assembler::Label other);
    void table_address(const Table& table);
    void call_with_keys(Assembler::Label routine, const std::vector<Expression>& keys, const Table& table);
    bool uses(const Expression& e, bool (*what)(const Expression&)) const;

    // ---- statements_x86.cpp
    void statement(const Statement& statement);
    void update(const Statement& statement);
    void assign_by_key(const Statement& statement);
    void record(const Map& map, Memory cell);
    Assembler::Label dropped(Assembler::Label next);
    Memory locate(const Statement& statement, Assembler::Label next);

    // ---- call_x86.cpp
    void call_function(const Statement& statement);
    uint64_t fill_hit(size_t count);
    bool fill_argument(size_t index);

    // ---- stubs_x86.cpp
    void stub(const Site& site);
    void body(const Site& site);
    void actions(const Clause& clause);
    void slot();
    void call(Assembler::Label routine, Registers changes);
    Memory frame(size_t offset, int size = 8) const
    {
        return {.base = rsp, .displacement = int64_t(offset), .size = size};
    }

    // What a cold path does is written behind the stub's hot one.
    struct Cold {
        Assembler::Label from;
        std::function<void()> emit;
        size_t spills; // of the hot path that it comes from
        std::optional<size_t> time;
    };
    Assembler::Label cold(std::function<void()> emit);

    const Script& script_;
    const Tables& tables_;
    const Arena& arena_;
    const Environment& environment_;
    Assembler as_;
    Routines routines_;

    size_t key_bytes_ = 0, text_bytes_ = 0; // of each stub's frame
    bool keeps_base_ = false;

    // Of the stub that is being made.
    const Site* site_ = nullptr;
    std::vector<Argument> arguments_;
    Registers saved_ = 0; // which registers of the program are in the frame
    bool keep_flags_ = true;
    size_t spills_ = 0, most_spills_ = 0;
    std::optional<size_t> time_; // the spill that has nsecs, in a clause that wants it more than once
    size_t frame_spills_ = 0;
    uint64_t stub_start_ = 0;
    Assembler::Label out_ = 0;
    std::vector<Cold> cold_;

    size_t spill_offset(size_t index) const { return key_bytes_ + text_bytes_ + 8 * index; }
    size_t base_offset() const { return spill_offset(frame_spills_); }
    size_t saved_offset(Reg reg) const;
    size_t flags_offset() const;
    size_t frame_size() const { return flags_offset() + 8; }
};

inline bool is_tid(const Expression& e)
{
    return e.kind == Expression::Kind::value && e.value == Value::tid;
}
inline bool is_map(const Expression& e)
{
    return e.kind == Expression::Kind::map;
}

/// What routines change, their callers' rsi, rdi, rbx and r12 to r15 excepted.
inline constexpr Registers routine_changes = bit(rax) | bit(rcx) | bit(rdx) | bit(r8) | bit(r9) | bit(r10) | bit(r11);

} // namespace fastsdt::engine::x86
