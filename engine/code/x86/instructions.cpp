// SPDX-License-Identifier: BSD-2-Clause
#include "code/x86/compiler.h"

#include <iterator>
#include <stdexcept>

namespace fastsdt::engine::x86 {
namespace {

ZydisMnemonic jump_for(Is condition)
{
    switch (condition) {
    case Is::equal: return ZYDIS_MNEMONIC_JZ;
    case Is::unlike: return ZYDIS_MNEMONIC_JNZ;
    case Is::below: return ZYDIS_MNEMONIC_JB;
    case Is::not_below: return ZYDIS_MNEMONIC_JNB;
    case Is::above: return ZYDIS_MNEMONIC_JNBE;
    case Is::not_above: return ZYDIS_MNEMONIC_JBE;
    case Is::less: return ZYDIS_MNEMONIC_JL;
    case Is::not_less: return ZYDIS_MNEMONIC_JNL;
    }
    return ZYDIS_MNEMONIC_INVALID;
}

ZydisMnemonic move_for(Is condition)
{
    switch (condition) {
    case Is::below: return ZYDIS_MNEMONIC_CMOVB;
    case Is::not_below: return ZYDIS_MNEMONIC_CMOVNB;
    case Is::above: return ZYDIS_MNEMONIC_CMOVNBE;
    case Is::not_above: return ZYDIS_MNEMONIC_CMOVBE;
    default: throw std::logic_error("no such instruction");
    }
}

ZydisMnemonic mnemonic_for(Operator op)
{
    switch (op) {
    case Operator::add: return ZYDIS_MNEMONIC_ADD;
    case Operator::subtract: return ZYDIS_MNEMONIC_SUB;
    case Operator::multiply: return ZYDIS_MNEMONIC_IMUL;
    case Operator::bit_and: return ZYDIS_MNEMONIC_AND;
    case Operator::bit_or: return ZYDIS_MNEMONIC_OR;
    case Operator::bit_xor: return ZYDIS_MNEMONIC_XOR;
    case Operator::shift_left: return ZYDIS_MNEMONIC_SHL;
    case Operator::shift_right: return ZYDIS_MNEMONIC_SHR;
    default: throw std::logic_error("no such instruction");
    }
}

int system_call_number(SystemCall which) // <asm/unistd_64.h>
{
    switch (which) {
    case SystemCall::getpid: return 39;
    case SystemCall::gettid: return 186;
    case SystemCall::getuid: return 102;
    case SystemCall::getgid: return 104;
    case SystemCall::getcpu: return 309;
    case SystemCall::prctl: return 157;
    case SystemCall::process_vm_readv: return 310;
    }
    return -1;
}

} // namespace

Operand Compiler::operand(const Right& right)
{
    if (const auto* const role = std::get_if<Role>(&right))
        return Part{reg(*role)};
    if (const auto* const word = std::get_if<Word>(&right))
        return memory(*word);
    return std::get<int64_t>(right);
}

void Compiler::constant(Role to, int64_t value)
{
    as_.constant(reg(to), value);
}

void Compiler::load(Role to, Word from)
{
    if (from.size == 8)
        as_.load(reg(to), memory(from));
    else
        as_.emit(from.size == 4 ? ZYDIS_MNEMONIC_MOV : ZYDIS_MNEMONIC_MOVZX, {Part{reg(to), 4}, memory(from)});
}

void Compiler::store_number(Word to, int64_t number)
{
    as_.emit(ZYDIS_MNEMONIC_MOV, {memory(to), number});
}

void Compiler::element(Role to, Role first, Role index, size_t size)
{
    as_.emit(ZYDIS_MNEMONIC_IMUL, {Part{reg(to)}, Part{reg(index)}, int64_t(size)});
    as_.emit(ZYDIS_MNEMONIC_ADD, {Part{reg(to)}, Part{reg(first)}});
}

void Compiler::copy_bytes(Role to, Role from, size_t size)
{
    for (size_t i = 0; i < size; i += 8) {
        load(Role::tag, {from, i});
        store({to, i}, Role::tag);
    }
}

void Compiler::zero_bytes(Role at, size_t size)
{
    for (size_t i = 0; i < size; i += 8)
        store_number({at, i}, 0);
}

void Compiler::apply(Operator op, Role to, const Right& by)
{
    if ((op == Operator::shift_left || op == Operator::shift_right) && std::holds_alternative<Role>(by)) {
        if (std::get<Role>(by) != Role::second)
            throw std::logic_error("a shift's count is in Role::second");
        as_.emit(mnemonic_for(op), {Part{reg(to)}, Part{rcx, 1}});
    } else {
        as_.emit(mnemonic_for(op), {Part{reg(to)}, operand(by)});
    }
}

void Compiler::invert(Role role)
{
    as_.emit(ZYDIS_MNEMONIC_NOT, {Part{reg(role)}});
}

void Compiler::negate(Role role)
{
    as_.emit(ZYDIS_MNEMONIC_NEG, {Part{reg(role)}});
}

void Compiler::extend(Role role, size_t size, bool is_signed)
{
    if (size == 4 && is_signed)
        as_.emit(ZYDIS_MNEMONIC_MOVSXD, {Part{reg(role)}, Part{reg(role), 4}});
    else if (size == 4)
        as_.emit(ZYDIS_MNEMONIC_MOV, {Part{reg(role), 4}, Part{reg(role), 4}});
    else if (is_signed)
        as_.emit(ZYDIS_MNEMONIC_MOVSX, {Part{reg(role)}, Part{reg(role), int(size)}});
    else
        as_.emit(ZYDIS_MNEMONIC_MOVZX, {Part{reg(role), 4}, Part{reg(role), int(size)}});
}

void Compiler::find_lowest_bit(Role to, Role of)
{
    as_.emit(ZYDIS_MNEMONIC_BSF, {Part{reg(to)}, Part{reg(of)}});
}

void Compiler::jump(Label to)
{
    as_.jump(ZYDIS_MNEMONIC_JMP, to);
}

void Compiler::jump_if(Is condition, Role a, const Right& b, Label to)
{
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{reg(a)}, operand(b)});
    as_.jump(jump_for(condition), to);
}

void Compiler::move_if(Is condition, Role a, const Right& b, Role to, Role from)
{
    const auto* const word = std::get_if<Word>(&b);
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{reg(a), word ? word->size : 8}, operand(b)});
    as_.emit(move_for(condition), {Part{reg(to)}, Part{reg(from)}});
}

void Compiler::jump_if_zero(Role role, Label to, bool zero)
{
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{reg(role)}, Part{reg(role)}});
    as_.jump(zero ? ZYDIS_MNEMONIC_JZ : ZYDIS_MNEMONIC_JNZ, to);
}

void Compiler::jump_if_zero(Word word, Label to, bool zero)
{
    as_.emit(ZYDIS_MNEMONIC_CMP, {memory(word), int64_t(0)});
    as_.jump(zero ? ZYDIS_MNEMONIC_JZ : ZYDIS_MNEMONIC_JNZ, to);
}

void Compiler::jump_if_bits(Role role, int64_t mask, Label to)
{
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{reg(role), 4}, mask});
    as_.jump(ZYDIS_MNEMONIC_JNZ, to);
}

void Compiler::count_down(Role counter, Label to, bool zero)
{
    as_.emit(ZYDIS_MNEMONIC_SUB, {Part{reg(counter)}, int64_t(1)});
    as_.jump(zero ? ZYDIS_MNEMONIC_JZ : ZYDIS_MNEMONIC_JNZ, to);
}

void Compiler::jump_if_unlike(Role a, Role b, Label to)
{
    jump_if(Is::unlike, a, b, to);
}

void Compiler::jump_if_empty(Word word, Label to)
{
    jump_if_zero(word, to, true);
}

void Compiler::exchange(Word word, Role to, bool shared, std::optional<Label> otherwise)
{
    as_.emit(ZYDIS_MNEMONIC_CMPXCHG, {memory(word), Part{reg(to)}}, shared);
    as_.clobber(bit(rax));
    if (otherwise)
        as_.jump(ZYDIS_MNEMONIC_JNZ, *otherwise);
}

void Compiler::add_atomically(Word word, int64_t number)
{
    as_.emit(ZYDIS_MNEMONIC_ADD, {memory(word), number}, true);
}

void Compiler::call_from_routine(Label routine)
{
    as_.jump(ZYDIS_MNEMONIC_CALL, routine);
}

void Compiler::return_from_routine()
{
    as_.emit(ZYDIS_MNEMONIC_RET, {});
}

size_t Compiler::push(std::initializer_list<Role> roles, bool)
{
    for (const Role role : roles)
        as_.emit(ZYDIS_MNEMONIC_PUSH, {Part{reg(role)}});
    return 8 * roles.size();
}

size_t Compiler::pop(std::initializer_list<Role> roles, bool)
{
    for (auto role = std::rbegin(roles); role != std::rend(roles); ++role)
        as_.emit(ZYDIS_MNEMONIC_POP, {Part{reg(*role)}});
    return 8 * roles.size();
}

void Compiler::move_stack(int64_t by)
{
    as_.address(rsp, {.base = rsp, .displacement = by});
}

void Compiler::system_call(SystemCall which, std::initializer_list<CallArgument> arguments)
{
    set_arguments(arguments);
    as_.constant(rax, system_call_number(which));
    as_.emit(ZYDIS_MNEMONIC_SYSCALL, {});
    as_.clobber(bit(rax) | bit(rcx) | bit(r11));
}

} // namespace fastsdt::engine::x86
