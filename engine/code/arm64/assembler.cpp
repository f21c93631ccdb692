// SPDX-License-Identifier: BSD-2-Clause
#include "code/arm64/assembler.h"

#include "base/integers.h"

#include <bit>
#include <stdexcept>

namespace fastsdt::engine::arm64 {
namespace {

constexpr uint64_t most_add = 0xfff, most_two_adds = 0xffffff;

// Bits of a displacement, in words, and where they are in the instruction.
struct Field {
    unsigned bits, shift;
};
Field field_of(uint32_t instruction)
{
    if ((instruction & 0x7c000000) == 0x14000000) // b, bl
        return {26, 0};
    return {19, 5}; // b.cond, cbz, cbnz
}

vixl::MemOperand operand(const Memory& memory)
{
    return vixl::MemOperand(Assembler::x(memory.base), memory.displacement);
}
vixl::MemOperand at(Reg address)
{
    return vixl::MemOperand(Assembler::x(address));
}

// The unsigned, scaled form of a load or store, or for what lies below the base the other one.
bool fits(const Memory& memory)
{
    constexpr int64_t most_below = 256;
    if (memory.index != no_register)
        return false;
    if (memory.displacement < 0)
        return memory.displacement >= -most_below;
    return memory.displacement >= 0 && memory.displacement % memory.size == 0
        && memory.displacement / memory.size <= int64_t(most_add);
}

} // namespace

vixl::Register Assembler::x(Reg reg)
{
    return reg == sp ? vixl::sp : reg == xzr ? vixl::xzr : vixl::XRegister(reg);
}

vixl::Register Assembler::w(Reg reg)
{
    return reg == sp ? vixl::wsp : reg == xzr ? vixl::wzr : vixl::WRegister(reg);
}

Assembler::Operand Assembler::shifted(Reg reg, vixl::Shift shift, unsigned by)
{
    return Operand(x(reg), shift, by);
}

void Assembler::move(Reg to, Reg from)
{
    clobber(to == sp ? 0 : bit(to));
    put([&](auto& a) { a.mov(x(to), x(from)); });
}

void Assembler::constant(Reg to, uint64_t value)
{
    clobber(bit(to));
    unsigned zeros = 0, ones = 0;
    for (unsigned shift = 0; shift < 64; shift += 16) {
        zeros += uint16_t(value >> shift) == 0;
        ones += uint16_t(value >> shift) == 0xffff;
    }
    if (zeros < 3 && ones < 3 && vixl::Assembler::IsImmLogical(value, 64)) {
        put([&](auto& a) { a.orr(x(to), vixl::xzr, value); });
        return;
    }
    const bool inverted = ones > zeros;
    bool first = true;
    for (int shift = 0; shift < 64; shift += 16) {
        const auto part = uint16_t(value >> shift);
        if (part == (inverted ? 0xffff : 0) && !(first && shift == 48))
            continue;
        put([&](auto& a) {
            if (!first)
                a.movk(x(to), part, shift);
            else if (inverted)
                a.movn(x(to), uint16_t(~part), shift);
            else
                a.movz(x(to), part, shift);
        });
        first = false;
    }
}

void Assembler::long_constant(Reg to, uint64_t value)
{
    clobber(bit(to));
    for (int shift = 0; shift < 64; shift += 16)
        put([&](auto& a) {
            const auto part = uint16_t(value >> shift);
            shift ? a.movk(x(to), part, shift) : a.movz(x(to), part, shift);
        });
}

void Assembler::load(Reg to, const Memory& from, bool is_signed)
{
    if (!fits(from)) {
        address(to, from); // `to` may be the base: it is overwritten anyway
        load(to, {.base = to, .size = from.size}, is_signed);
        return;
    }
    clobber(bit(to));
    put([&](auto& a) {
        switch (is_signed ? -from.size : from.size) {
        case 1: a.ldrb(w(to), operand(from)); return;
        case 2: a.ldrh(w(to), operand(from)); return;
        case 4: a.ldr(w(to), operand(from)); return;
        case -1: a.ldrsb(x(to), operand(from)); return;
        case -2: a.ldrsh(x(to), operand(from)); return;
        case -4: a.ldrsw(x(to), operand(from)); return;
        default: a.ldr(x(to), operand(from)); return;
        }
    });
}

void Assembler::store(const Memory& to, Reg from)
{
    if (!fits(to)) {
        address(scratch, to);
        store({.base = scratch, .size = to.size}, from);
        return;
    }
    if (to.size == 1)
        put([&](auto& a) { a.strb(w(from), operand(to)); });
    else
        put([&](auto& a) { a.str(x(from), operand(to)); });
}

void Assembler::load_pair(Reg to, Reg second, const Memory& from)
{
    clobber(bit(to) | bit(second));
    put([&](auto& a) { a.ldp(x(to), x(second), operand(from)); });
}

void Assembler::store_pair(const Memory& to, Reg from, Reg second)
{
    put([&](auto& a) { a.stp(x(from), x(second), operand(to)); });
}

void Assembler::address(Reg to, const Memory& of)
{
    clobber(bit(to));
    if (of.index != no_register) {
        add(to, of.base, shifted(of.index, vixl::LSL, unsigned(std::countr_zero(unsigned(of.scale)))));
        address(to, {.base = to, .displacement = of.displacement});
        return;
    }
    const bool down = of.displacement < 0;
    const uint64_t by = down ? 0 - uint64_t(of.displacement) : uint64_t(of.displacement);
    const auto step = [&](Reg from, uint64_t part) {
        put([&](auto& a) { down ? a.sub(x(to), x(from), part) : a.add(x(to), x(from), part); });
    };
    if (by == 0) {
        if (to != of.base)
            move(to, of.base);
    } else if (by <= most_two_adds) {
        if (by > most_add)
            step(of.base, by & ~most_add);
        if (by & most_add)
            step(by > most_add ? to : of.base, by & most_add);
    } else {
        const Reg number = to == of.base ? scratch : to;
        if (number == of.base)
            throw std::logic_error("no register for so large a displacement");
        constant(number, uint64_t(of.displacement));
        put([&](auto& a) { a.add(x(to), x(of.base), Operand(x(number), vixl::UXTX, 0)); });
    }
}

// sp goes down by the whole size before the frame is used, and up after that: a signal handler writes below sp.
void Assembler::move_stack(int64_t by)
{
    const uint64_t size = by < 0 ? uint64_t(-by) : uint64_t(by);
    for (const uint64_t part : {size & ~most_add, size & most_add})
        if (part)
            put([&](auto& a) { by < 0 ? a.sub(vixl::sp, vixl::sp, part) : a.add(vixl::sp, vixl::sp, part); });
}

void Assembler::extend(Reg to, Reg from, int size, bool is_signed)
{
    clobber(bit(to));
    put([&](auto& a) {
        if (is_signed)
            a.sbfx(x(to), x(from), 0, unsigned(8 * size));
        else
            a.ubfx(x(to), x(from), 0, unsigned(8 * size));
    });
}

void Assembler::low_of_vector(Reg to, unsigned number, int size)
{
    clobber(bit(to));
    put([&](auto& a) {
        if (size == 8)
            a.fmov(x(to), vixl::VRegister(number, 64));
        else
            a.fmov(w(to), vixl::VRegister(number, 32));
    });
}

void Assembler::add(Reg to, Reg a, const Operand& b)
{
    clobber(bit(to));
    put([&](auto& one) { one.add(x(to), x(a), b); });
}

void Assembler::sub(Reg to, Reg a, const Operand& b)
{
    clobber(bit(to));
    put([&](auto& one) { one.sub(x(to), x(a), b); });
}

void Assembler::logic_and(Reg to, Reg a, const Operand& b)
{
    clobber(bit(to));
    put([&](auto& one) { one.and_(x(to), x(a), b); });
}

void Assembler::logic_bic(Reg to, Reg a, Reg b)
{
    clobber(bit(to));
    put([&](auto& one) { one.bic(x(to), x(a), x(b)); });
}

void Assembler::logic_or(Reg to, Reg a, const Operand& b)
{
    clobber(bit(to));
    put([&](auto& one) { one.orr(x(to), x(a), b); });
}

void Assembler::logic_xor(Reg to, Reg a, const Operand& b)
{
    clobber(bit(to));
    put([&](auto& one) { one.eor(x(to), x(a), b); });
}

void Assembler::logic_not(Reg to, Reg a)
{
    clobber(bit(to));
    put([&](auto& one) { one.mvn(x(to), Operand(x(a))); });
}

void Assembler::compare(Reg a, const Operand& b)
{
    clobber(bit(flags));
    put([&](auto& one) { one.cmp(x(a), b); });
}

void Assembler::select(Reg to, Reg a, Reg b, vixl::Condition when)
{
    clobber(bit(to));
    put([&](auto& one) { one.csel(x(to), x(a), x(b), when); });
}

void Assembler::shift_left(Reg to, Reg a, unsigned by)
{
    clobber(bit(to));
    put([&](auto& one) { one.lsl(x(to), x(a), by); });
}

void Assembler::shift_right(Reg to, Reg a, unsigned by)
{
    clobber(bit(to));
    put([&](auto& one) { one.lsr(x(to), x(a), by); });
}

void Assembler::reverse_bytes(Reg to, Reg a)
{
    clobber(bit(to));
    put([&](auto& one) { one.rev(x(to), x(a)); });
}

void Assembler::reverse_bits(Reg to, Reg a)
{
    clobber(bit(to));
    put([&](auto& one) { one.rbit(x(to), x(a)); });
}

void Assembler::bits_of_two(Reg to, Reg high, Reg low, unsigned from)
{
    clobber(bit(to));
    put([&](auto& one) { one.extr(x(to), x(high), x(low), from); });
}

void Assembler::compute(OfTwo instruction, Reg to, Reg a)
{
    clobber(bit(to));
    put([&](auto& one) { (one.*instruction)(x(to), x(a)); });
}

void Assembler::compute(OfThree instruction, Reg to, Reg a, Reg b)
{
    clobber(bit(to));
    put([&](auto& one) { (one.*instruction)(x(to), x(a), x(b)); });
}

void Assembler::compute(OfFour instruction, Reg to, Reg a, Reg b, Reg c)
{
    clobber(bit(to));
    put([&](auto& one) { (one.*instruction)(x(to), x(a), x(b), x(c)); });
}

void Assembler::jump(Label to)
{
    put([](auto& a) { a.b(int64_t(0)); });
    use(size() - 4, to);
}

void Assembler::jump_if(vixl::Condition condition, Label to)
{
    put([&](auto& a) { a.b(int64_t(0), condition); });
    use(size() - 4, to);
}

void Assembler::jump_if_zero(Reg reg, Label to, bool zero)
{
    put([&](auto& a) { zero ? a.cbz(x(reg), int64_t(0)) : a.cbnz(x(reg), int64_t(0)); });
    use(size() - 4, to);
}

void Assembler::call(Label to)
{
    put([](auto& a) { a.bl(int64_t(0)); });
    use(size() - 4, to);
}

void Assembler::jump_to(uint64_t runtime)
{
    put([](auto& a) { a.b(int64_t(0)); });
    displacement(size() - 4, runtime);
}

void Assembler::ret()
{
    put([](auto& a) { a.ret(); });
}

void Assembler::load_near(Reg reg, uint64_t from)
{
    clobber(bit(reg));
    constexpr uint64_t page = 4096;
    const auto pages = int64_t(from / page - here() / page);
    constexpr int64_t most = 1 << 20;
    far_ |= pages < -most || pages >= most;
    put([&](auto& a) { a.adrp(x(reg), far_ ? 0 : pages); });
    load(reg, {.base = reg, .displacement = int64_t(from % page)});
}

void Assembler::system_call()
{
    clobber(bit(x0));
    put([](auto& a) { a.svc(0); });
}

void Assembler::read_system(Reg to, System of)
{
    clobber(bit(to));
    put([&](auto& a) {
        switch (of) {
        case System::nzcv: a.mrs(x(to), vixl::NZCV); return;
        case System::thread_pointer: // tpidr_el0
            a.mrs(x(to), vixl::SystemRegister(vixl::SystemRegisterEncoder<3, 3, 13, 0, 2>::value));
            return;
        case System::counter: // cntvct_el0
            a.mrs(x(to), vixl::SystemRegister(vixl::SystemRegisterEncoder<3, 3, 14, 0, 2>::value));
            return;
        }
    });
}

void Assembler::write_flags(Reg from)
{
    put([&](auto& a) { a.msr(vixl::NZCV, x(from)); });
}

void Assembler::load_acquire(Reg to, Reg address)
{
    clobber(bit(to));
    put([&](auto& a) { a.ldar(x(to), at(address)); });
}

void Assembler::store_release(Reg address, Reg from)
{
    put([&](auto& a) { a.stlr(x(from), at(address)); });
}

void Assembler::barrier_of_loads()
{
    put([](auto& a) { a.dmb(vixl::InnerShareable, vixl::BarrierReads); });
}

void Assembler::atomic_add(Reg address, Reg by, bool one_instruction, Exclusive exclusive)
{
    if (one_instruction) {
        put([&](auto& a) { a.stadd(x(by), at(address)); });
        return;
    }
    const auto again = label();
    bind(again);
    clobber(bit(exclusive.value) | bit(exclusive.status));
    put([&](auto& a) { a.ldxr(x(exclusive.value), at(address)); });
    add(exclusive.value, exclusive.value, by);
    put([&](auto& a) { a.stxr(w(exclusive.status), x(exclusive.value), at(address)); });
    jump_if_zero(exclusive.status, again, false);
}

void Assembler::atomic_maximum(Reg address, Reg with, bool one_instruction, Exclusive exclusive)
{
    if (one_instruction) {
        put([&](auto& a) { a.stumax(x(with), at(address)); });
        return;
    }
    const auto again = label(), done = label();
    bind(again);
    clobber(bit(exclusive.value) | bit(exclusive.status));
    put([&](auto& a) { a.ldxr(x(exclusive.value), at(address)); });
    compare(with, exclusive.value);
    jump_if(vixl::ls, done);
    put([&](auto& a) { a.stxr(w(exclusive.status), x(with), at(address)); });
    jump_if_zero(exclusive.status, again, false);
    bind(done);
}

void Assembler::compare_exchange(Reg address, Reg expected, Reg wanted, bool one_instruction, Exclusive exclusive)
{
    clobber(bit(expected));
    if (one_instruction) {
        put([&](auto& a) { a.casal(x(expected), x(wanted), at(address)); });
        return;
    }
    const auto again = label(), done = label();
    bind(again);
    clobber(bit(exclusive.value) | bit(exclusive.status));
    put([&](auto& a) { a.ldaxr(x(exclusive.value), at(address)); });
    sub(exclusive.status, exclusive.value, expected);
    jump_if_zero(exclusive.status, done, false);
    put([&](auto& a) { a.stlxr(w(exclusive.status), x(wanted), at(address)); });
    jump_if_zero(exclusive.status, again, false);
    bind(done);
    move(expected, exclusive.value);
}

void Assembler::align(size_t boundary)
{
    while (size() % boundary != 0)
        put([](auto& a) { a.nop(); });
}

void Assembler::displacement(size_t at, uint64_t target)
{
    const auto word = uint32_t(fastsdt::load(&bytes_[at], 4, false));
    const Field field = field_of(word);
    const int64_t words = int64_t(target - (start_ + at)) / 4, most = int64_t(1) << (field.bits - 1);
    far_ |= words < -most || words >= most;
    const uint32_t mask = ((uint32_t(1) << field.bits) - 1) << field.shift;
    fastsdt::store(&bytes_[at], 4, (word & ~mask) | (uint32_t(words) << field.shift & mask), false);
}

uint32_t jump_word(uint64_t at, uint64_t target, bool& far)
{
    Assembler one(at);
    one.jump_to(target);
    far = one.far();
    return uint32_t(fastsdt::load(one.finish().data(), 4, false));
}

} // namespace fastsdt::engine::arm64
