// SPDX-License-Identifier: BSD-2-Clause
// The instructions of a stub that all processors have: moves, loads and stores. code/x86/compiler.h and code/arm64/compiler.h derive
// from it. `Processor` says what its assembler is and which registers there are:
//
//     using Assembler, Reg, Memory;          of assembler_*.h
//     static constexpr Reg stack, returned;  the stack pointer; where a function returns an integer
//     static constexpr Reg goroutine;        where Go has its g
//     static constexpr size_t red_zone;      bytes below the stack pointer that are the program's
//     static constexpr size_t of_routines;   bytes of the stack that a routine takes at most, with its return address
//     static constexpr size_t of_unwinding;  and so many more where a script has ustack(dwarf)
//     static constexpr Reg arguments[];      of a system call
//     static kept_by_stub(Reg);              where call_body() keeps it, in bytes above the body's frame; std::nullopt: it does not
//     static constexpr Reg reg(Role);        the register of a role
#pragma once
#include "code/compiler.h"

namespace fastsdt::engine {

template <class Processor> class CompilerBy : public Compiler {
protected:
    using Assembler = typename Processor::Assembler;
    using Reg = typename Processor::Reg;
    using Memory = typename Processor::Memory;

    CompilerBy(const Machine& machine, const Script& script, const Tables& tables, const Arena& arena,
               const Environment& environment)
        : Compiler(machine, script, tables, arena, environment, as_), as_(arena.code)
    {}

    static constexpr Reg reg(Role role) { return Processor::reg(role); }
    static Memory memory(Word word)
    {
        return {.base = reg(word.base),
                .displacement = int64_t(word.offset),
                .index = reg(word.index),
                .scale = word.scale,
                .size = word.size};
    }
    static Memory frame(size_t offset, int size = 8)
    {
        return {.base = Processor::stack, .displacement = int64_t(offset), .size = size};
    }
    virtual size_t frame_size() const = 0;

    /// A hit may be on a small stack: a signal handler's. Functions that are called take what they take.
    void check_stack() const
    {
        const size_t of_routines = Processor::of_routines + (tables_.modules ? Processor::of_unwinding : 0);
        constexpr size_t ours = most_stack - Processor::red_zone;
        if (!calls_functions() && frame_size() + (in_body_ ? of_body : 0) + of_routines > ours)
            throw Refusal({State::too_much_stack, ours});
    }

    /// Of the stack: the words that call_body() keeps.
    static constexpr size_t of_body = 16;
    bool is_saved(Reg reg) const { return (saved_ & bit(reg)) || (in_body_ && Processor::kept_by_stub(reg)); }
    /// Where the program's value of a register is that is_saved().
    size_t program_offset(Reg reg) const
    {
        const auto kept = in_body_ ? Processor::kept_by_stub(reg) : std::nullopt;
        return kept ? frame_size() + *kept : saved_offset(reg);
    }

    /// to = the program's value of register `from`.
    void program_register(Reg from, Reg to)
    {
        if (from == Processor::stack)
            as_.address(to, frame(frame_size() + (in_body_ ? of_body : 0) + Processor::red_zone));
        else if (is_saved(from))
            as_.load(to, frame(program_offset(from)));
        else if (to != from)
            as_.move(to, from);
    }

    /// Go keeps g in a register, wherever its functions are entered and left. It is 0 where a thread has none any more: then 0.
    void load_from_g(uint32_t offset, Role to) final
    {
        const auto none = label();
        program_register(Processor::goroutine, reg(to));
        jump_if_zero(to, none);
        as_.load(reg(to), Memory{.base = reg(to), .displacement = int64_t(offset)});
        bind(none);
    }

    void program_stack(Role to) final { program_register(Processor::stack, reg(to)); }
    void returned(Role to) final { program_register(Processor::returned, reg(to)); }
    void begin_routine(Emitter::Label routine) final
    {
        as_.align(16);
        as_.bind(routine);
    }
    void set_arguments(std::initializer_list<CallArgument> all)
    {
        const Reg* place = Processor::arguments;
        for (const CallArgument& argument : all) {
            if (const auto* const role = std::get_if<Role>(&argument))
                as_.move(*place, reg(*role));
            else if (const auto* const word = std::get_if<Word>(&argument))
                as_.load(*place, memory(*word));
            else if (const auto* const of = std::get_if<AddressOf>(&argument))
                as_.address(*place, memory(of->word));
            else
                as_.constant(*place, std::get<int64_t>(argument));
            ++place;
        }
    }

    void long_constant(Role to, uint64_t value) final { as_.long_constant(reg(to), value); }
    void load_near(Role to, uint64_t from) final { as_.load_near(reg(to), from); }
    void move(Role to, Role from) final { as_.move(reg(to), reg(from)); }
    void store(Word to, Role from) final { as_.store(memory(to), reg(from)); }
    void address(Role to, Word of) final { as_.address(reg(to), memory(of)); }
    void frame_address(Role to, size_t offset) final { as_.address(reg(to), frame(offset)); }
    void load_frame(Role to, size_t offset) final { as_.load(reg(to), frame(offset)); }
    void store_frame(size_t offset, Role from) final { as_.store(frame(offset), reg(from)); }

    Assembler as_;
};

} // namespace fastsdt::engine
