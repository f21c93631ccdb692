// SPDX-License-Identifier: BSD-2-Clause
// One instruction of stubs may be several here. They have x9, x10 and x12 to x17 to themselves: no Role is one of these.
// Comparisons for equality and of signs leave the flags.
#include "code/arm64/compiler.h"

#include <iterator>
#include <stdexcept>
#include <vector>

namespace fastsdt::engine::arm64 {
namespace {

constexpr Reg loaded = x15, number_to_store = x16, address_of_word = Assembler::scratch, expected = x16, of_size = x10;
constexpr Assembler::Exclusive exclusive{x12, x13};
constexpr Reg hidden_registers[] = {x12, x13, x15, x16, x17}; // without those that only searches and copies have

vixl::Condition condition_for(Is condition)
{
    switch (condition) {
    case Is::below: return vixl::lo;
    case Is::not_below: return vixl::hs;
    case Is::above: return vixl::hi;
    case Is::not_above: return vixl::ls;
    default: return vixl::nv;
    }
}

int system_call_number(SystemCall which) // <asm-generic/unistd.h>
{
    switch (which) {
    case SystemCall::getpid: return 172;
    case SystemCall::gettid: return 178;
    case SystemCall::getuid: return 174;
    case SystemCall::getgid: return 176;
    case SystemCall::getcpu: return 168;
    case SystemCall::prctl: return 167;
    case SystemCall::process_vm_readv: return 270;
    }
    return -1;
}

bool is_logical(Operator op)
{
    return op == Operator::bit_and || op == Operator::bit_or || op == Operator::bit_xor;
}

} // namespace

// A register that has it: a number's and a word's is x15.
Reg Compiler::in_register(const Right& right)
{
    if (const auto* const role = std::get_if<Role>(&right))
        return reg(*role);
    if (const auto* const word = std::get_if<Word>(&right))
        as_.load(loaded, memory(*word));
    else
        as_.constant(loaded, uint64_t(std::get<int64_t>(right)));
    return loaded;
}

// The register whose memory is the word.
Reg Compiler::at_register(Word word)
{
    if (word.offset == 0 && word.index == Role::none)
        return reg(word.base);
    as_.address(address_of_word, memory(word));
    return address_of_word;
}

void Compiler::constant(Role to, int64_t value)
{
    as_.constant(reg(to), uint64_t(value));
}

void Compiler::store_number(Word to, int64_t number)
{
    if (number)
        as_.constant(number_to_store, uint64_t(number));
    as_.store(memory(to), number ? number_to_store : xzr);
}

void Compiler::element(Role to, Role first, Role index, size_t size)
{
    as_.constant(of_size, size);
    as_.compute(&vixl::Assembler::madd, reg(to), reg(index), of_size, reg(first));
}

void Compiler::copy_bytes(Role to, Role from, size_t size)
{
    for (size_t i = 0; i < size; i += 16) {
        as_.load_pair(x12, x13, {.base = reg(from), .displacement = int64_t(i)});
        as_.store_pair({.base = reg(to), .displacement = int64_t(i)}, x12, x13);
    }
}

void Compiler::zero_bytes(Role at, size_t size)
{
    for (size_t i = 0; i < size; i += 16)
        as_.store_pair({.base = reg(at), .displacement = int64_t(i)}, xzr, xzr);
}

void Compiler::apply(Operator op, Role role, const Right& by)
{
    const Reg to = reg(role);
    const auto* const number = std::get_if<int64_t>(&by);
    if (number && is_logical(op) && vixl::Assembler::IsImmLogical(uint64_t(*number), 64)) {
        const Assembler::Operand mask(*number);
        if (op == Operator::bit_and)
            as_.logic_and(to, to, mask);
        else if (op == Operator::bit_or)
            as_.logic_or(to, to, mask);
        else
            as_.logic_xor(to, to, mask);
        return;
    }
    if (number && op == Operator::shift_left)
        return as_.shift_left(to, to, unsigned(*number));
    if (number && op == Operator::shift_right)
        return as_.shift_right(to, to, unsigned(*number));
    if (number && (op == Operator::add || op == Operator::subtract)) {
        const int64_t sum = op == Operator::add ? *number : -*number;
        return as_.address(to, {.base = to, .displacement = sum});
    }
    const Reg right = in_register(by);
    switch (op) {
    case Operator::add: return as_.add(to, to, right);
    case Operator::subtract: return as_.sub(to, to, right);
    case Operator::bit_and: return as_.logic_and(to, to, Assembler::x(right));
    case Operator::bit_or: return as_.logic_or(to, to, Assembler::x(right));
    case Operator::bit_xor: return as_.logic_xor(to, to, Assembler::x(right));
    case Operator::multiply: return as_.compute(&vixl::Assembler::mul, to, to, right);
    case Operator::shift_left: return as_.compute(&vixl::Assembler::lslv, to, to, right);
    case Operator::shift_right: return as_.compute(&vixl::Assembler::lsrv, to, to, right);
    default: throw std::logic_error("no such instruction");
    }
}

void Compiler::invert(Role role)
{
    as_.logic_not(reg(role), reg(role));
}

void Compiler::negate(Role role)
{
    as_.sub(reg(role), xzr, reg(role));
}

void Compiler::extend(Role role, size_t size, bool is_signed)
{
    as_.extend(reg(role), reg(role), int(size), is_signed);
}

void Compiler::find_lowest_bit(Role to, Role of)
{
    as_.reverse_bits(reg(to), reg(of));
    as_.compute(&vixl::Assembler::clz, reg(to), reg(to));
}

void Compiler::jump(Label to)
{
    as_.jump(to);
}

void Compiler::jump_if(Is condition, Role a, const Right& b, Label to)
{
    const auto* const number = std::get_if<int64_t>(&b);
    const bool is_zero = number && *number == 0;
    if (condition != Is::equal && condition != Is::unlike && condition != Is::less && condition != Is::not_less) {
        as_.compare(reg(a), in_register(b));
        as_.jump_if(condition_for(condition), to);
        return;
    }
    Reg difference = reg(a);
    if (!is_zero)
        as_.sub(difference = loaded, reg(a), in_register(b));
    if (condition == Is::equal || condition == Is::unlike) {
        as_.jump_if_zero(difference, to, condition == Is::equal);
    } else {
        as_.shift_right(loaded, difference, 63);
        as_.jump_if_zero(loaded, to, condition == Is::not_less);
    }
}

void Compiler::move_if(Is condition, Role a, const Right& b, Role to, Role from)
{
    as_.compare(reg(a), in_register(b));
    as_.select(reg(to), reg(from), reg(to), condition_for(condition));
}

void Compiler::jump_if_zero(Role role, Label to, bool zero)
{
    as_.jump_if_zero(reg(role), to, zero);
}

void Compiler::jump_if_zero(Word word, Label to, bool zero)
{
    as_.jump_if_zero(in_register(word), to, zero);
}

void Compiler::jump_if_bits(Role role, int64_t mask, Label to)
{
    as_.logic_and(loaded, reg(role), Assembler::Operand(mask));
    as_.jump_if_zero(loaded, to, false);
}

void Compiler::count_down(Role counter, Label to, bool zero)
{
    as_.sub(reg(counter), reg(counter), Assembler::Operand(1));
    as_.jump_if_zero(reg(counter), to, zero);
}

void Compiler::jump_if_unlike(Role a, Role b, Label to)
{
    as_.sub(reg(a), reg(a), reg(b));
    as_.jump_if_zero(reg(a), to, false);
}

void Compiler::jump_if_empty(Word word, Label to)
{
    as_.address(x1, memory(word));
    as_.load_acquire(x1, x1);
    as_.jump_if_zero(x1, to);
}

void Compiler::load_ordered(Role to, Word from)
{
    as_.load_acquire(reg(to), at_register(from));
}

void Compiler::store_ordered(Word to, Role from)
{
    as_.store_release(at_register(to), reg(from));
}

void Compiler::order_loads()
{
    as_.barrier_of_loads();
}

void Compiler::exchange(Word word, Role to, bool, std::optional<Label> otherwise)
{
    const Reg at = at_register(word);
    if (otherwise)
        as_.move(expected, x0);
    as_.compare_exchange(at, x0, reg(to), environment_.atomics, exclusive);
    if (otherwise) {
        as_.sub(expected, expected, x0);
        as_.jump_if_zero(expected, *otherwise, false);
    }
}

void Compiler::add_atomically(Word word, int64_t number)
{
    const Reg at = at_register(word);
    as_.constant(loaded, uint64_t(number));
    as_.atomic_add(at, loaded, environment_.atomics, exclusive);
}

void Compiler::return_from_routine()
{
    as_.ret();
}

void Compiler::call_from_routine(Label routine)
{
    as_.put([](auto& a) { a.str(vixl::lr, vixl::MemOperand(vixl::sp, -16, vixl::PreIndex)); });
    as_.call(routine);
    as_.put([](auto& a) { a.ldr(vixl::lr, vixl::MemOperand(vixl::sp, 16, vixl::PostIndex)); });
}

// In pairs, the last one with zero.
std::vector<Reg> Compiler::pushed(std::initializer_list<Role> roles, bool hidden)
{
    std::vector<Reg> all;
    for (const Role role : roles)
        all.push_back(reg(role));
    if (hidden)
        all.insert(all.end(), std::begin(hidden_registers), std::end(hidden_registers));
    if (all.size() % 2)
        all.push_back(xzr);
    return all;
}

size_t Compiler::push(std::initializer_list<Role> roles, bool hidden)
{
    const std::vector<Reg> all = pushed(roles, hidden);
    as_.move_stack(-8 * int64_t(all.size()));
    for (size_t i = 0; i < all.size(); i += 2)
        as_.store_pair(frame(8 * i), all[i], all[i + 1]);
    return 8 * all.size();
}

size_t Compiler::pop(std::initializer_list<Role> roles, bool hidden)
{
    const std::vector<Reg> all = pushed(roles, hidden);
    for (size_t i = 0; i < all.size(); i += 2)
        if (all[i + 1] == xzr)
            as_.load(all[i], frame(8 * i));
        else
            as_.load_pair(all[i], all[i + 1], frame(8 * i));
    as_.move_stack(8 * int64_t(all.size()));
    return 8 * all.size();
}

void Compiler::move_stack(int64_t by)
{
    as_.move_stack(by);
}

// In a system call the kernel keeps the first 16 bytes of each vector register and may clear the rest of longer ones
// (Documentation/arch/arm64/sve.rst). So they are saved here, and below them the predicates and FFR, of an eighth of
// their size.
void Compiler::keep_vectors(bool back)
{
    constexpr int vectors = 32, predicates = 16, below = 3; // in vectors, for 17 predicates
    const auto at = [](int offset) { return vixl::SVEMemOperand(vixl::sp, offset, vixl::SVE_MUL_VL); };
    const auto p0 = vixl::PRegister(0);
    const auto move = [this](int by) { // in vectors, 31 at once
        for (const int part : {by / 2, by - by / 2})
            as_.put([&](auto& a) { a.addvl(vixl::sp, vixl::sp, part); });
    };
    if (!back) {
        move(-(vectors + below));
        for (int i = 0; i < vectors; ++i)
            as_.put([&](auto& a) { a.str(vixl::ZRegister(i), at(below + i)); });
        for (int i = 0; i < predicates; ++i)
            as_.put([&](auto& a) { a.str(vixl::PRegister(i), at(i)); });
        as_.put([&](auto& a) { a.rdffr(p0.VnB()); });
        as_.put([&](auto& a) { a.str(p0, at(predicates)); });
        return;
    }
    as_.put([&](auto& a) { a.ldr(p0, at(predicates)); });
    as_.put([&](auto& a) { a.wrffr(p0.VnB()); });
    for (int i = 0; i < predicates; ++i)
        as_.put([&](auto& a) { a.ldr(vixl::PRegister(i), at(i)); });
    for (int i = 0; i < vectors; ++i)
        as_.put([&](auto& a) { a.ldr(vixl::ZRegister(i), at(below + i)); });
    move(vectors + below);
}

// The kernel keeps all registers but x0.
void Compiler::system_call(SystemCall which, std::initializer_list<CallArgument> arguments)
{
    set_arguments(arguments);
    as_.constant(x8, uint64_t(system_call_number(which)));
    if (environment_.sve)
        keep_vectors(false);
    as_.system_call();
    if (environment_.sve)
        keep_vectors(true);
}

// Pointer authentication has its code in the bits above an address: 48 bits, unless a program asks mmap for more.
void Compiler::strip(Role address)
{
    constexpr int64_t mask = (int64_t(1) << 48) - 1;
    as_.logic_and(reg(address), reg(address), Assembler::Operand(mask));
}

void Compiler::untag(Role address)
{
    constexpr uint64_t tag = uint64_t(0xff) << 56;
    as_.logic_and(reg(address), reg(address), Assembler::Operand(int64_t(~tag)));
}

} // namespace fastsdt::engine::arm64
