// SPDX-License-Identifier: BSD-2-Clause
//
// A signal handler may change the same numbers. So each is changed by one instruction (stadd, stumax, casal) if the
// processor has those, else between ldxr and stxr. A handler in between makes that stxr fail, since a return from the
// kernel clears the monitor that ldxr set.
#include "code/arm64/compiler.h"

#include <bit>

namespace fastsdt::engine::arm64 {

void Compiler::count_at(size_t offset)
{
    long_constant(Role::result, arena_.data + offset);
    as_.constant(x1, 1);
    as_.atomic_add(x0, x1, environment_.atomics, {x6, x7});
}

void Compiler::find_direct(size_t map, Label next)
{
    const Table& table = tables_.maps[map];
    const auto found = label();
    as_.jump_if_zero(x0, cold([this, &table, found] {
                         as_.address(x2, {x4, int64_t(table.zero)});
                         as_.constant(x1, 1);
                         as_.store({.base = x2}, x1);
                         as_.jump(found);
                     }));
    as_.load(x2, {x4, int64_t(table.offset)});
    as_.constant(x1, hash_multiplier);
    as_.compute(&vixl::Assembler::mul, x1, x1, x0);
    as_.compute(&vixl::Assembler::lsrv, x1, x1, x2); // by the low six bits: the chunk's shift
    as_.logic_and(x2, x2, Assembler::Operand(-int64_t(Chunk::header)));
    as_.constant(x6, table.entry_size);
    as_.compute(&vixl::Assembler::madd, x2, x1, x6, x2);
    as_.load(x6, {.base = x2});
    as_.sub(x6, x6, x0);
    as_.jump_if_zero(x6, cold([this, map, found, next] {
                         call(routines_.maps[map].direct, routine_changes);
                         as_.jump_if_zero(x2, found, false);
                         as_.jump(dropped(next));
                     }),
                     false);
    bind(found);
}

void Compiler::increment(Word word)
{
    as_.address(x0, memory(word));
    as_.constant(x1, 1);
    as_.atomic_add(x0, x1, environment_.atomics, {x6, x7});
}

void Compiler::add_for_all(Word word)
{
    add_recorded(word);
}

// code/x86/updates.cpp says why the clock is read there.
void Compiler::reserve_record(size_t bytes, Label full)
{
    const auto again = label();
    static_assert(Ring::head == 0 && Ring::commit == 0);
    bind(again);
    as_.load(x3, memory({Role::table, Ring::head}));
    as_.load(x1, memory({Role::table, Ring::limit}));
    as_.address(x6, {.base = x3, .displacement = int64_t(bytes)});
    as_.sub(x1, x1, x6);
    as_.shift_right(x1, x1, 63);
    as_.jump_if_zero(x1, full, false);
    if (environment_.counter)
        as_.read_system(x7, Assembler::System::counter);
    else
        as_.constant(x7, 0);
    as_.move(x8, x3);
    as_.compare_exchange(x5, x8, x6, environment_.atomics, {x12, x13});
    as_.sub(x8, x8, x3);
    as_.jump_if_zero(x8, again, false);
    as_.logic_and(x2, x3, Assembler::Operand(int64_t(tables_.ring_size - 1)));
    as_.add(x2, x2, x5);
    as_.add(x2, x2, Assembler::Operand(int64_t(Ring::header)));
    as_.store({.base = x2, .displacement = Ring::clock}, x7);
}

void Compiler::commit_record(uint32_t statement)
{
    as_.shift_right(x3, x3, 3);
    as_.add(x3, x3, Assembler::Operand(1));
    as_.logic_and(x3, x3, Assembler::Operand(int64_t(0xffffffff)));
    as_.constant(x1, uint64_t(statement) << 32);
    as_.logic_or(x3, x3, vixl::XRegister(x1));
    as_.store_release(x2, x3);
}

void Compiler::add_recorded(Word word)
{
    as_.address(x0, memory(word));
    as_.atomic_add(x0, x3, environment_.atomics, {x6, x7});
}

void Compiler::keep_extreme(const Map& map, Word word)
{
    if (map.type.is_signed)
        as_.logic_xor(x3, x3, Assembler::Operand(INT64_MIN));
    if (map.kind == MapKind::min)
        as_.logic_not(x3, x3);
    as_.address(x0, memory(word));
    as_.atomic_maximum(x0, x3, environment_.atomics, {x6, x7});
}

// A number whose highest bit is bit n has 63 - n zeros before it, and 0 has 64. 65 less these is its bucket: 2 + n, and
// 1 for 0.
void Compiler::count_in_histogram(Word first_bucket)
{
    const auto add = label(), negative = cold([this, add] {
                                  as_.constant(x1, 0);
                                  as_.jump(add);
                              });
    as_.compute(&vixl::Assembler::clz, x0, x3);
    as_.jump_if_zero(x0, negative); // bit 63
    as_.constant(x1, 65);
    as_.sub(x1, x1, x0);
    bind(add);
    as_.address(x0, memory(first_bucket));
    as_.add(x0, x0, Assembler::shifted(x1, vixl::LSL, 3));
    as_.constant(x1, 1);
    as_.atomic_add(x0, x1, environment_.atomics, {x6, x7});
}

void Compiler::count_in_steps(const Map& map, Word first_bucket)
{
    const auto add = label();
    as_.constant(x1, uint64_t(map.low));
    as_.constant(x0, 0);
    as_.compare(x3, x1);
    as_.jump_if(vixl::lt, add);
    as_.constant(x6, uint64_t(map.high));
    as_.constant(x0, map.buckets() - 1);
    as_.compare(x3, x6);
    as_.jump_if(vixl::ge, add);
    as_.sub(x0, x3, x1);
    divide_by(uint64_t(map.step));
    as_.add(x0, x0, Assembler::Operand(1));
    bind(add);
    as_.address(x1, memory(first_bucket));
    as_.add(x0, x1, Assembler::shifted(x0, vixl::LSL, 3));
    as_.constant(x1, 1);
    as_.atomic_add(x0, x1, environment_.atomics, {x6, x7});
}

} // namespace fastsdt::engine::arm64
