// SPDX-License-Identifier: BSD-2-Clause
// Each change of a map is one instruction, so that no signal handler comes in between.
#include "code/x86/compiler.h"

#include <bit>

namespace fastsdt::engine::x86 {

void Compiler::count_at(size_t offset)
{
    long_constant(Role::result, arena_.data);
    as_.emit(ZYDIS_MNEMONIC_INC, {Memory{.base = rax, .displacement = int64_t(offset)}}, true);
}

void Compiler::find_direct(size_t map, Label next)
{
    const Table& table = tables_.maps[map];
    const auto found = label();
    as_.load(rcx, {.base = rsi, .displacement = int64_t(table.offset)});
    as_.constant(rdx, int64_t(hash_multiplier));
    as_.emit(ZYDIS_MNEMONIC_IMUL, {Part{rdx}, Part{rax}});
    as_.emit(ZYDIS_MNEMONIC_SHR, {Part{rdx}, Part{rcx, 1}}); // by the low six bits: the chunk's shift
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{rax}, Part{rax}});
    as_.jump(ZYDIS_MNEMONIC_JZ, cold([this, &table, found] {
                 as_.address(rdx, {.base = rsi, .displacement = int64_t(table.zero)});
                 as_.emit(ZYDIS_MNEMONIC_MOV, {Memory{.base = rdx}, int64_t(1)});
                 as_.jump(ZYDIS_MNEMONIC_JMP, found);
             }));
    if (std::has_single_bit(table.entry_size))
        as_.emit(ZYDIS_MNEMONIC_SHL, {Part{rdx}, int64_t(std::countr_zero(table.entry_size))});
    else
        as_.emit(ZYDIS_MNEMONIC_IMUL, {Part{rdx}, Part{rdx}, int64_t(table.entry_size)});
    as_.emit(ZYDIS_MNEMONIC_AND, {Part{rcx}, -int64_t(Chunk::header)});
    as_.emit(ZYDIS_MNEMONIC_ADD, {Part{rdx}, Part{rcx}});
    as_.emit(ZYDIS_MNEMONIC_CMP, {Memory{.base = rdx}, Part{rax}});
    as_.jump(ZYDIS_MNEMONIC_JNZ, cold([this, map, found, next] {
                 call(routines_.maps[map].direct, bit(rcx) | bit(rdx));
                 as_.emit(ZYDIS_MNEMONIC_TEST, {Part{rdx}, Part{rdx}});
                 as_.jump(ZYDIS_MNEMONIC_JNZ, found);
                 as_.jump(ZYDIS_MNEMONIC_JMP, dropped(next));
             }));
    bind(found);
}

void Compiler::increment(Word word)
{
    as_.emit(ZYDIS_MNEMONIC_INC, {memory(word)});
}

void Compiler::add_for_all(Word word)
{
    as_.emit(ZYDIS_MNEMONIC_ADD, {memory(word), Part{rdi}}, true);
}

// The clock is read between reading the position and taking it. So a record behind another one never has an earlier time: if a signal
// handler has taken the position, both are read again. No lock: only this thread moves its ring's head.
void Compiler::reserve_record(size_t bytes, Label full)
{
    const auto again = label();
    as_.bind(again);
    as_.load(rdi, memory({Role::table, Ring::head}));
    as_.address(rcx, {.base = rdi, .displacement = int64_t(bytes)});
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{rcx}, memory({Role::table, Ring::limit})});
    as_.jump(ZYDIS_MNEMONIC_JNBE, full);
    if (environment_.counter) {
        as_.emit(ZYDIS_MNEMONIC_RDTSC, {});
        as_.clobber(bit(rax) | bit(rdx));
        as_.emit(ZYDIS_MNEMONIC_SHL, {Part{rdx}, int64_t(32)});
        as_.emit(ZYDIS_MNEMONIC_OR, {Part{rdx}, Part{rax}});
    }
    as_.move(rax, rdi);
    as_.emit(ZYDIS_MNEMONIC_CMPXCHG, {memory({Role::table, Ring::head}), Part{rcx}});
    as_.clobber(bit(rax));
    as_.jump(ZYDIS_MNEMONIC_JNZ, again);
    as_.emit(ZYDIS_MNEMONIC_AND, {Part{rax}, int64_t(tables_.ring_size - 1)});
    as_.address(rax, {.base = rax, .displacement = int64_t(Ring::header), .index = r8});
    if (environment_.counter)
        as_.store({.base = rax, .displacement = Ring::clock}, rdx);
    else
        as_.emit(ZYDIS_MNEMONIC_MOV, {Memory{.base = rax, .displacement = Ring::clock}, int64_t(0)});
    as_.move(rdx, rax);
}

// Ring::committed()
void Compiler::commit_record(uint32_t statement)
{
    as_.emit(ZYDIS_MNEMONIC_SHR, {Part{rdi}, int64_t(3)});
    as_.emit(ZYDIS_MNEMONIC_ADD, {Part{rdi, 4}, int64_t(1)}); // clears the upper half
    as_.constant(rax, int64_t(uint64_t(statement) << 32));
    as_.emit(ZYDIS_MNEMONIC_OR, {Part{rdi}, Part{rax}});
    as_.store({.base = rdx, .displacement = Ring::commit}, rdi);
}

void Compiler::add_recorded(Word word)
{
    as_.emit(ZYDIS_MNEMONIC_ADD, {memory(word), Part{rdi}});
}

void Compiler::keep_extreme(const Map& map, Word word)
{
    const auto again = label(), done = label();
    if (map.type.is_signed)
        as_.emit(ZYDIS_MNEMONIC_BTC, {Part{rdi}, int64_t(63)});
    if (map.kind == MapKind::min)
        as_.emit(ZYDIS_MNEMONIC_NOT, {Part{rdi}});
    as_.load(rax, memory(word));
    bind(again);
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{rdi}, Part{rax}});
    as_.jump(ZYDIS_MNEMONIC_JBE, done);
    as_.emit(ZYDIS_MNEMONIC_CMPXCHG, {memory(word), Part{rdi}});
    as_.clobber(bit(rax));
    as_.jump(ZYDIS_MNEMONIC_JNZ, again);
    bind(done);
}

void Compiler::count_in_histogram(Word first_bucket)
{
    // The highest bit of 2v + 1 is one above that of v, and there is one for v = 0 too.
    const auto add = label();
    as_.address(rax, {.base = rdi, .displacement = 1, .index = rdi});
    as_.emit(ZYDIS_MNEMONIC_BSR, {Part{rax}, Part{rax}});
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{rdi}, Part{rdi}});
    as_.jump(ZYDIS_MNEMONIC_JS, cold([this, add] {
                 as_.constant(rax, -1);
                 as_.jump(ZYDIS_MNEMONIC_JMP, add);
             }));
    bind(add);
    Memory bucket = memory(first_bucket);
    bucket.displacement += 8; // -1 is the first
    bucket.index = rax;
    bucket.scale = 8;
    as_.emit(ZYDIS_MNEMONIC_INC, {bucket});
}

void Compiler::count_in_steps(const Map& map, Word first_bucket)
{
    const auto add = label();
    // The entry is in rdx or rsi; dividing needs rdx.
    Memory bucket = memory(first_bucket);
    if (bucket.base == rdx) {
        as_.move(r8, rdx);
        bucket.base = r8;
    }
    as_.constant(rcx, map.low);
    as_.constant(rax, 0);
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{rdi}, Part{rcx}});
    as_.jump(ZYDIS_MNEMONIC_JL, add);
    as_.constant(rax, int64_t(map.buckets() - 1));
    as_.constant(rdx, map.high);
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{rdi}, Part{rdx}});
    as_.jump(ZYDIS_MNEMONIC_JNL, add);
    as_.move(rax, rdi);
    as_.emit(ZYDIS_MNEMONIC_SUB, {Part{rax}, Part{rcx}});
    divide_by(uint64_t(map.step));
    as_.emit(ZYDIS_MNEMONIC_ADD, {Part{rax}, int64_t(1)});
    bind(add);
    bucket.index = rax;
    bucket.scale = 8;
    as_.emit(ZYDIS_MNEMONIC_INC, {bucket});
}

} // namespace fastsdt::engine::x86
