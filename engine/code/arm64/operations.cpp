// SPDX-License-Identifier: BSD-2-Clause
#include "code/arm64/compiler.h"

#include <cstddef>

namespace fastsdt::engine::arm64 {
namespace {

constexpr int64_t most_compared = 0xfff;

/// Holds after a comparison if `op` does; with `when` false if it does not.
vixl::Condition condition(Operator op, bool is_signed, bool when)
{
    switch (op) {
    case Operator::equal: return when ? vixl::eq : vixl::ne;
    case Operator::not_equal: return when ? vixl::ne : vixl::eq;
    case Operator::less: return is_signed ? (when ? vixl::lt : vixl::ge) : (when ? vixl::lo : vixl::hs);
    case Operator::less_equal: return is_signed ? (when ? vixl::le : vixl::gt) : (when ? vixl::ls : vixl::hi);
    case Operator::greater: return condition(Operator::less_equal, is_signed, !when);
    case Operator::greater_equal: return condition(Operator::less, is_signed, !when);
    default: return vixl::nv;
    }
}

} // namespace

Source Compiler::argument_source(const ir::Argument& e) const
{
    return argument_of(*site_, arguments_, e);
}

bool Compiler::in_memory(const ir::Argument& argument) const
{
    return argument_source(argument).kind == Source::Kind::memory;
}

void Compiler::argument(const ir::Argument& e, Role role)
{
    const Reg to = reg(role);
    const Source source = argument_source(e);
    if (source.kind == Source::Kind::constant) {
        as_.constant(to, uint64_t(source.constant));
        return;
    }
    if (source.kind == Source::Kind::vector)
        return as_.low_of_vector(to, source.vector, source.size);
    program_register(source.reg, to);
    if (source.size < 8)
        as_.extend(to, to, source.size, source.is_signed);
}

// An operand in memory is read directly only if all its bytes are on the page of the stack pointer, since that page is
// mapped. Pages are taken to have 4 KiB, the least that kernels use. word_routine() has all others.
void Compiler::memory_argument(const ir::Argument& e)
{
    const Source source = argument_source(e);
    const auto done = label();
    program_register(source.reg, x0);
    if (source.index != no_register) {
        program_register(source.index, x1);
        as_.add(x0, x0, Assembler::shifted(x1, vixl::LSL, source.shift));
    } else if (source.displacement) {
        as_.address(x1, {.base = x0, .displacement = source.displacement});
        as_.move(x0, x1);
    }
    program_register(sp, x1);
    as_.add(x2, x0, Assembler::Operand(source.size - 1));
    as_.logic_xor(x2, x2, vixl::XRegister(x1));
    as_.logic_xor(x1, x1, vixl::XRegister(x0));
    as_.logic_or(x1, x1, vixl::XRegister(x2));
    as_.shift_right(x1, x1, 12);
    as_.jump_if_zero(x1, cold([this, source, done] {
                         as_.constant(x2, uint64_t(source.size));
                         prepare_read();
                         call(routines_.word, routine_changes);
                         jump_if_zero(Role::second, unread_, true);
                         if (source.size < 8)
                             as_.extend(x0, x0, source.size, source.is_signed);
                         as_.jump(done);
                     }),
                     false);
    as_.load(x0, {.base = x0, .size = source.size}, source.is_signed);
    bind(done);
}

void Compiler::thread_id(Role to)
{
    if (!environment_.tid_offset) {
        call(routines_.tid, routine_changes);
        jump_if_zero(Role::second, unread_, true);
        return;
    }
    as_.read_system(reg(to), Assembler::System::thread_pointer);
    as_.address(reg(to), {.base = reg(to), .displacement = *environment_.tid_offset});
    as_.load(reg(to), {.base = reg(to), .size = 4});
}

void Compiler::register_value(unsigned number, Role to)
{
    program_register(Reg(number), reg(to));
}

// code/x86/operations.cpp says why twice.
void Compiler::nanoseconds()
{
    const auto again = label();
    const auto word = [](size_t offset) { return Memory{.base = x6, .displacement = int64_t(offset)}; };
    bind(again);
    as_.long_constant(x1, arena_.data + Tables::clock);
    as_.load_acquire(x6, x1);
    as_.read_system(x0, Assembler::System::counter);
    as_.load(x1, word(offsetof(CycleClock, base_counter)));
    as_.sub(x0, x0, x1);
    as_.load(x1, word(offsetof(CycleClock, multiplier)));
    as_.compute(&vixl::Assembler::umulh, x2, x0, x1);
    as_.compute(&vixl::Assembler::mul, x0, x0, x1);
    as_.bits_of_two(x0, x2, x0, 32);
    as_.load(x1, word(offsetof(CycleClock, base_ns)));
    as_.add(x0, x0, x1);
    as_.long_constant(x1, arena_.data + Tables::clock);
    as_.load(x1, {.base = x1});
    as_.sub(x1, x1, x6);
    as_.jump_if_zero(x1, again, false);
}

void Compiler::publish(Word to, int32_t number)
{
    as_.address(x1, memory(to));
    if (number)
        as_.constant(x0, uint64_t(int64_t(number)));
    as_.store_release(x1, number ? x0 : xzr);
}

void Compiler::store_frame_number(size_t offset, int64_t number)
{
    if (number)
        as_.constant(x0, uint64_t(number));
    as_.store(frame(offset), number ? x0 : xzr);
}

void Compiler::swap_bytes(size_t bytes)
{
    as_.reverse_bytes(x0, x0);
    if (bytes < 8)
        as_.shift_right(x0, x0, int(64 - 8 * bytes));
}

// As in BPF: x / 0 is 0, which udiv gives, and so x % 0 is x.
void Compiler::divide(bool modulo)
{
    as_.compute(&vixl::Assembler::udiv, modulo ? x2 : x0, x0, x1);
    if (modulo)
        as_.compute(&vixl::Assembler::msub, x0, x2, x1, x0);
}

void Compiler::divide_by(uint64_t divisor)
{
    as_.constant(x1, divisor);
    as_.compute(&vixl::Assembler::udiv, x0, x0, x1);
}

bool Compiler::compares_with(int64_t number) const
{
    return number >= 0 && number <= most_compared;
}

// For equality no instruction here changes the flags: then the stub need not save the program's.
void Compiler::jump_if(Operator comparison, std::optional<int64_t> number, bool is_signed, bool when, Label to)
{
    const Assembler::Operand right = number ? Assembler::Operand(*number) : Assembler::Operand(vixl::XRegister(x1));
    if (comparison == Operator::equal || comparison == Operator::not_equal) {
        as_.sub(x1, x0, right);
        as_.jump_if_zero(x1, to, (comparison == Operator::equal) == when);
        return;
    }
    as_.compare(x0, right);
    as_.jump_if(condition(comparison, is_signed, when), to);
}

void Compiler::call_routine(Label routine)
{
    call(routine, routine_changes);
}

} // namespace fastsdt::engine::arm64
