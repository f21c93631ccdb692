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
    data_address(Role::result, offset);
    as_.constant(x1, 1);
    as_.atomic_add(x0, x1, environment_.atomics, {x6, x7});
}

void Compiler::find_direct(const Statement& statement, Label next)
{
    const Table& table = tables_.maps[statement.map];
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
    as_.jump_if_zero(x6, cold([this, map = statement.map, found, next] {
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

void Compiler::add_recorded(Word word)
{
    as_.address(x0, memory(word));
    as_.atomic_add(x0, x3, environment_.atomics, {x6, x7});
}

void Compiler::keep_extreme(const Map& map, Word word)
{
    if (map.is_signed)
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

void Compiler::call_function(const Statement&)
{
    throw Refusal({State::no_functions});
}

} // namespace fastsdt::engine::arm64
