// SPDX-License-Identifier: BSD-2-Clause
// The instructions of a stub that all processors have: moves, loads and stores. compiler_x86.h and compiler_arm64.h derive
// from it. `Processor` says what its assembler is and which registers there are:
//
//     using Assembler, Reg, Memory;          of assembler_*.h
//     static constexpr Reg stack, returned;  the stack pointer; where a function returns an integer
//     static constexpr size_t red_zone;      bytes below the stack pointer that are the program's
//     static constexpr Reg reg(Role);        the register of a role
#pragma once
#include "compiler.h"

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
    static Memory memory(Place place) { return {.base = reg(place.base), .displacement = int64_t(place.offset)}; }
    static Memory frame(size_t offset, int size = 8)
    {
        return {.base = Processor::stack, .displacement = int64_t(offset), .size = size};
    }
    virtual size_t frame_size() const = 0;

    /// What the program has in a register.
    void program_register(Reg from, Reg to)
    {
        if (from == Processor::stack)
            as_.address(to, frame(frame_size() + Processor::red_zone));
        else if (saved_ & bit(from))
            as_.load(to, frame(saved_offset(from)));
        else if (to != from)
            as_.move(to, from);
    }

    void returned(Role to) final { program_register(Processor::returned, reg(to)); }
    void move(Role to, Role from) final { as_.move(reg(to), reg(from)); }
    void load(Role to, Place from) final { as_.load(reg(to), memory(from)); }
    void store(Place to, Role from) final { as_.store(memory(to), reg(from)); }
    void address(Role to, Place of) final { as_.address(reg(to), memory(of)); }
    void load_frame(Role to, size_t offset) final { as_.load(reg(to), frame(offset)); }
    void store_frame(size_t offset, Role from) final { as_.store(frame(offset), reg(from)); }

    Assembler as_;
};

} // namespace fastsdt::engine
