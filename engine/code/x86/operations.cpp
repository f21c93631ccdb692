// SPDX-License-Identifier: BSD-2-Clause
#include "code/x86/compiler.h"

#include <bit>
#include <cstddef>

namespace fastsdt::engine::x86 {
namespace {

bool fits32(int64_t value)
{
    return value == int32_t(value);
}

/// Taken if the comparison holds; with `when` false if it does not.
ZydisMnemonic jump_for(Operator op, bool is_signed, bool when)
{
    switch (op) {
    case Operator::equal: return when ? ZYDIS_MNEMONIC_JZ : ZYDIS_MNEMONIC_JNZ;
    case Operator::not_equal: return when ? ZYDIS_MNEMONIC_JNZ : ZYDIS_MNEMONIC_JZ;
    case Operator::less:
        return is_signed ? (when ? ZYDIS_MNEMONIC_JL : ZYDIS_MNEMONIC_JNL)
                         : (when ? ZYDIS_MNEMONIC_JB : ZYDIS_MNEMONIC_JNB);
    case Operator::less_equal:
        return is_signed ? (when ? ZYDIS_MNEMONIC_JLE : ZYDIS_MNEMONIC_JNLE)
                         : (when ? ZYDIS_MNEMONIC_JBE : ZYDIS_MNEMONIC_JNBE);
    case Operator::greater: return jump_for(Operator::less_equal, is_signed, !when);
    case Operator::greater_equal: return jump_for(Operator::less, is_signed, !when);
    default: return ZYDIS_MNEMONIC_INVALID;
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
        as_.constant(to, source.constant);
        return;
    }
    if (source.kind == Source::Kind::vector)
        return as_.low_of_vector(to, source.vector, source.size);
    if (source.reg == rsp) {
        program_register(rsp, to);
        if (source.size == 8)
            return;
    }
    Operand from = Part{source.reg == rsp ? to : source.reg, source.size};
    if (source.kind == Source::Kind::high_byte && !is_saved(source.reg)) {
        as_.move(to, source.reg);
        as_.emit(ZYDIS_MNEMONIC_SHR, {Part{to}, int64_t(8)});
        from = Part{to, 1};
    } else if (source.reg != rsp && is_saved(source.reg)) {
        from = frame(program_offset(source.reg) + (source.kind == Source::Kind::high_byte ? 1 : 0), source.size);
    }
    if (source.size == 8)
        as_.emit(ZYDIS_MNEMONIC_MOV, {Part{to}, from});
    else if (source.size == 4 && !source.is_signed)
        as_.emit(ZYDIS_MNEMONIC_MOV, {Part{to, 4}, from});
    else if (source.size == 4)
        as_.emit(ZYDIS_MNEMONIC_MOVSXD, {Part{to}, from});
    else if (source.is_signed)
        as_.emit(ZYDIS_MNEMONIC_MOVSX, {Part{to}, from});
    else
        as_.emit(ZYDIS_MNEMONIC_MOVZX, {Part{to, 4}, from});
}

// An operand in memory is read directly if all its bytes are on the page of the stack pointer, since that page is mapped.
// word_routine() has all others.
void Compiler::memory_argument(const ir::Argument& e)
{
    const Source source = argument_source(e);
    const auto done = as_.label();
    as_.constant(rax, source.memory.displacement);
    if (source.memory.base != no_register) {
        program_register(source.memory.base, rcx);
        as_.emit(ZYDIS_MNEMONIC_ADD, {Part{rax}, Part{rcx}});
    }
    if (source.memory.index != no_register) {
        program_register(source.memory.index, rcx);
        as_.address(rax, {.base = rax, .index = rcx, .scale = source.memory.scale});
    }
    const auto extend = [this, source](const Operand& from) {
        if (source.size == 8)
            as_.emit(ZYDIS_MNEMONIC_MOV, {Part{rax}, from});
        else if (source.size == 4 && source.is_signed)
            as_.emit(ZYDIS_MNEMONIC_MOVSXD, {Part{rax}, from});
        else if (source.size == 4)
            as_.emit(ZYDIS_MNEMONIC_MOV, {Part{rax, 4}, from});
        else if (source.is_signed)
            as_.emit(ZYDIS_MNEMONIC_MOVSX, {Part{rax}, from});
        else
            as_.emit(ZYDIS_MNEMONIC_MOVZX, {Part{rax, 4}, from});
    };
    program_register(rsp, rcx);
    as_.address(rdx, {.base = rax, .displacement = source.size - 1});
    as_.emit(ZYDIS_MNEMONIC_XOR, {Part{rdx}, Part{rcx}});
    as_.emit(ZYDIS_MNEMONIC_XOR, {Part{rcx}, Part{rax}});
    as_.emit(ZYDIS_MNEMONIC_OR, {Part{rcx}, Part{rdx}});
    as_.emit(ZYDIS_MNEMONIC_SHR, {Part{rcx}, int64_t(12)});
    as_.jump(ZYDIS_MNEMONIC_JNZ, cold([this, source, extend, done] {
                 as_.constant(rdx, source.size);
                 prepare_read();
                 call(routines_.word, routine_changes);
                 jump_if_zero(Role::second, unread_, true);
                 extend(Part{rax, source.size});
                 as_.jump(ZYDIS_MNEMONIC_JMP, done);
             }));
    extend(Memory{.base = rax, .size = source.size});
    as_.bind(done);
}

void Compiler::thread_id(Role to)
{
    if (environment_.tid_offset) {
        as_.emit(ZYDIS_MNEMONIC_MOV,
                 {Part{reg(to), 4}, Memory{.displacement = *environment_.tid_offset, .size = 4, .fs = true}});
        return;
    }
    call(routines_.tid, routine_changes);
    jump_if_zero(Role::second, unread_, true);
}

void Compiler::register_value(unsigned number, Role to)
{
    program_register(Reg(number), reg(to));
}

// Linux keeps the processor's number and its node where rdtscp finds them: __getcpu() in its vdso.
bool Compiler::processor(bool node)
{
    if (!environment_.rdtscp)
        return false;
    as_.emit(ZYDIS_MNEMONIC_RDTSCP, {});
    as_.clobber(bit(rax) | bit(rcx) | bit(rdx));
    as_.move(rax, rcx);
    if (node)
        as_.emit(ZYDIS_MNEMONIC_SHR, {Part{rax}, int64_t(12)});
    else
        as_.emit(ZYDIS_MNEMONIC_AND, {Part{rax}, int64_t(0xfff)});
    return true;
}

// The tracer keeps the clock right while stubs run. If another is the one of now meanwhile, this one is read again: its place may
// have been used anew if the thread was away for long.
void Compiler::nanoseconds()
{
    const auto again = as_.label();
    const auto word = [](size_t offset) { return Memory{.base = rcx, .displacement = int64_t(offset)}; };
    as_.bind(again);
    as_.long_constant(rcx, arena_.data + Tables::clock);
    as_.load(rcx, word(0));
    as_.emit(ZYDIS_MNEMONIC_RDTSC, {});
    as_.clobber(bit(rax) | bit(rdx));
    as_.emit(ZYDIS_MNEMONIC_SHL, {Part{rdx}, int64_t(32)});
    as_.emit(ZYDIS_MNEMONIC_OR, {Part{rax}, Part{rdx}});
    as_.emit(ZYDIS_MNEMONIC_SUB, {Part{rax}, word(offsetof(CycleClock, base_counter))});
    as_.emit(ZYDIS_MNEMONIC_MUL, {word(offsetof(CycleClock, multiplier))});
    as_.emit(ZYDIS_MNEMONIC_SHRD, {Part{rax}, Part{rdx}, int64_t(32)});
    as_.emit(ZYDIS_MNEMONIC_ADD, {Part{rax}, word(offsetof(CycleClock, base_ns))});
    as_.long_constant(rdx, arena_.data + Tables::clock);
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{rcx}, Memory{.base = rdx}});
    as_.jump(ZYDIS_MNEMONIC_JNZ, again);
}

// x86: other threads see stores in their order.
void Compiler::publish(Word to, int32_t number)
{
    as_.emit(ZYDIS_MNEMONIC_MOV, {memory(to), int64_t(number)});
}

void Compiler::store_frame_number(size_t offset, int64_t number)
{
    if (fits32(number)) {
        as_.emit(ZYDIS_MNEMONIC_MOV, {frame(offset), number});
    } else {
        as_.constant(rax, number);
        as_.store(frame(offset), rax);
    }
}

void Compiler::swap_bytes(size_t bytes)
{
    as_.emit(ZYDIS_MNEMONIC_BSWAP, {Part{rax}});
    if (bytes < 8)
        as_.emit(ZYDIS_MNEMONIC_SHR, {Part{rax}, int64_t(64 - 8 * bytes)});
}

void Compiler::divide(bool modulo)
{
    const auto zero = label(), done = label();
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{rcx}, Part{rcx}});
    as_.jump(ZYDIS_MNEMONIC_JZ, zero);
    as_.constant(rdx, 0);
    as_.emit(ZYDIS_MNEMONIC_DIV, {Part{rcx}});
    as_.clobber(bit(rax) | bit(rdx));
    if (modulo) {
        as_.move(rax, rdx);
        bind(zero);
    } else {
        jump(done);
        bind(zero);
        as_.constant(rax, 0);
    }
    bind(done);
}

// A division takes up to 90 cycles on processors in use, a multiplication 4. With l = ceil(log2 d) and
// m = floor(2^64 (2^l - d) / d) + 1:  t = m n / 2^64,  n / d = (t + (n - t) / 2) / 2^(l - 1).
// Granlund and Montgomery, Division by invariant integers using multiplication, figure 4.1.
void Compiler::divide_by(uint64_t divisor)
{
    if (divisor == 0) {
        as_.constant(rax, 0);
        return;
    }
    if (std::has_single_bit(divisor)) {
        if (divisor > 1)
            as_.emit(ZYDIS_MNEMONIC_SHR, {Part{rax}, int64_t(std::countr_zero(divisor))});
        return;
    }
    __extension__ using Wide = unsigned __int128;
    const int l = 64 - std::countl_zero(divisor - 1);
    const auto multiplier = uint64_t((Wide(l < 64 ? (uint64_t(1) << l) - divisor : 0 - divisor) << 64) / divisor + 1);
    as_.constant(rdx, int64_t(multiplier));
    as_.move(rcx, rax);
    as_.emit(ZYDIS_MNEMONIC_MUL, {Part{rdx}});
    as_.clobber(bit(rax) | bit(rdx));
    as_.emit(ZYDIS_MNEMONIC_SUB, {Part{rcx}, Part{rdx}});
    as_.emit(ZYDIS_MNEMONIC_SHR, {Part{rcx}, int64_t(1)});
    as_.address(rax, {.base = rdx, .index = rcx});
    if (l > 1)
        as_.emit(ZYDIS_MNEMONIC_SHR, {Part{rax}, int64_t(l - 1)});
}

bool Compiler::compares_with(int64_t number) const
{
    return fits32(number);
}

void Compiler::jump_if(Operator comparison, std::optional<int64_t> number, bool is_signed, bool when, Label to)
{
    if (number)
        as_.emit(ZYDIS_MNEMONIC_CMP, {Part{rax}, *number});
    else
        as_.emit(ZYDIS_MNEMONIC_CMP, {Part{rax}, Part{rcx}});
    as_.jump(jump_for(comparison, is_signed, when), to);
}

void Compiler::call_routine(Label routine)
{
    call(routine, routine_changes);
}

} // namespace fastsdt::engine::x86
