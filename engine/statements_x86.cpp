// SPDX-License-Identifier: BSD-2-Clause
// Updates of maps: find the place, change it by one instruction for each word.
//
// Between two instructions a signal handler may run the same stub and record something itself. Additions do not mind. A
// minimum or maximum is exchanged only if it still is what it was compared with. sum, avg and stats add the value first
// and count it then; a handler that leaves by longjmp just in between makes the count one too small.
#include "compiler_x86.h"

#include <bit>

namespace fastsdt::engine::x86 {

void Compiler::statement(const Statement& statement)
{
    if (statement.kind == Statement::Kind::call) {
        call_function(statement);
        return;
    }
    const Map& map = script_.maps[statement.map];
    const Table& table = tables_.maps[statement.map];
    switch (statement.kind) {
    case Statement::Kind::update: update(statement); return;
    case Statement::Kind::assign:
        if (map.kind == MapKind::string)
            text_value(*statement.value, key_bytes_);
        else
            value(*statement.value, rdi);
        if (table.own) {
            // The value first. A handler in between that assigns too has the last word, as if it had come after us.
            const auto set = as_.label(), done = as_.label();
            if_own(table, statement.keys[0], set, cold([this, &statement, done] {
                       assign_by_key(statement);
                       as_.jump(ZYDIS_MNEMONIC_JMP, done);
                   }));
            as_.bind(set);
            as_.store(own(table, 1), rdi);
            as_.store(own(table, 0), rax);
            as_.bind(done);
        } else if (table.entries > 1) {
            assign_by_key(statement);
        } else {
            // The value first: whoever sees that it is there sees one that was assigned.
            table_address(table);
            as_.store({.base = r8, .displacement = int64_t(table.value)}, rdi);
            as_.emit(ZYDIS_MNEMONIC_MOV, {Memory{.base = r8}, int64_t(1)});
        }
        return;
    case Statement::Kind::remove:
        if (table.own) {
            const auto done = as_.label();
            if_own(table, statement.keys[0], done, cold([this, &statement, &table, done] {
                       call_with_keys(routines_.maps[statement.map].remove, statement.keys, table);
                       as_.jump(ZYDIS_MNEMONIC_JMP, done);
                   }));
            as_.emit(ZYDIS_MNEMONIC_MOV, {own(table, 0), int64_t(0)});
            as_.bind(done);
        } else if (table.entries > 1) {
            call_with_keys(routines_.maps[statement.map].remove, statement.keys, table);
        } else if (is_assigned(map.kind)) {
            table_address(table);
            as_.emit(ZYDIS_MNEMONIC_MOV, {Memory{.base = r8}, int64_t(0)});
        } else {
            throw std::logic_error("an aggregation of all threads cannot be deleted");
        }
        return;
    default: throw std::logic_error("not for sites");
    }
}

// rdi, or the string in the frame.
void Compiler::assign_by_key(const Statement& statement)
{
    const auto next = as_.label();
    call_with_keys(routines_.maps[statement.map].assign, statement.keys, tables_.maps[statement.map]);
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{rax, 4}, Part{rax, 4}});
    as_.jump(ZYDIS_MNEMONIC_JZ, dropped(next));
    as_.bind(next);
}

/// A cold path: counts a statement that found no room and goes on.
Assembler::Label Compiler::dropped(Assembler::Label next)
{
    return cold([this, next] {
        as_.load(rax, frame(base_offset()));
        as_.emit(ZYDIS_MNEMONIC_INC, {Memory{.base = rax, .displacement = int64_t(Tables::dropped)}}, true);
        as_.jump(ZYDIS_MNEMONIC_JMP, next);
    });
}

void Compiler::update(const Statement& statement)
{
    const Map& map = script_.maps[statement.map];
    const auto next = as_.label();
    if (statement.value)
        value(*statement.value, rdi);
    record(map, locate(statement, next));
    as_.bind(next);
}

// Where the values of the statement's keys are.
Memory Compiler::locate(const Statement& statement, Assembler::Label next)
{
    const Table& table = tables_.maps[statement.map];
    if (table.key_size.empty())
        return {.base = rsi, .displacement = int64_t(table.offset + table.value)};
    if (!table.direct) {
        call_with_keys(routines_.maps[statement.map].update, statement.keys, table);
        as_.emit(ZYDIS_MNEMONIC_TEST, {Part{rdx}, Part{rdx}});
        as_.jump(ZYDIS_MNEMONIC_JZ, dropped(next));
        return {.base = rdx, .displacement = int64_t(table.value)};
    }
    value(statement.keys[0], rax);
    const auto found = as_.label();
    as_.constant(rcx, int64_t(hash_multiplier));
    as_.emit(ZYDIS_MNEMONIC_IMUL, {Part{rcx}, Part{rax}});
    as_.emit(ZYDIS_MNEMONIC_SHR, {Part{rcx}, int64_t(64 - std::countr_zero(table.entries))});
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{rax}, Part{rax}});
    as_.jump(ZYDIS_MNEMONIC_JZ, cold([this, &table, found] {
                 const auto end = int64_t(table.offset + table.entries * table.entry_size);
                 as_.lea(rdx, {.base = rsi, .displacement = end});
                 as_.emit(ZYDIS_MNEMONIC_MOV, {Memory{.base = rdx}, int64_t(1)});
                 as_.jump(ZYDIS_MNEMONIC_JMP, found);
             }));
    if (std::has_single_bit(table.entry_size)) {
        as_.move(rdx, rcx);
        as_.emit(ZYDIS_MNEMONIC_SHL, {Part{rdx}, int64_t(std::countr_zero(table.entry_size))});
    } else {
        as_.emit(ZYDIS_MNEMONIC_IMUL, {Part{rdx}, Part{rcx}, int64_t(table.entry_size)});
    }
    as_.lea(rdx, {.base = rsi, .displacement = int64_t(table.offset), .index = rdx});
    as_.emit(ZYDIS_MNEMONIC_CMP, {Memory{.base = rdx}, Part{rax}});
    as_.jump(ZYDIS_MNEMONIC_JNZ, cold([this, map = statement.map, found, next] {
                 call(routines_.maps[map].direct, bit(rcx) | bit(rdx));
                 as_.emit(ZYDIS_MNEMONIC_TEST, {Part{rdx}, Part{rdx}});
                 as_.jump(ZYDIS_MNEMONIC_JNZ, found);
                 as_.jump(ZYDIS_MNEMONIC_JMP, dropped(next));
             }));
    as_.bind(found);
    return {.base = rdx, .displacement = int64_t(table.value)};
}

// rdi: the value. Changes rax, rcx and rdx.
void Compiler::record(const Map& map, Memory cell)
{
    const auto at = [&](int64_t words) {
        Memory memory = cell;
        memory.displacement += 8 * words;
        return memory;
    };
    switch (map.kind) {
    case MapKind::count: as_.emit(ZYDIS_MNEMONIC_INC, {cell}); return;
    case MapKind::sum:
    case MapKind::avg:
    case MapKind::stats:
        as_.emit(ZYDIS_MNEMONIC_ADD, {at(1), Part{rdi}});
        as_.emit(ZYDIS_MNEMONIC_INC, {cell});
        return;
    case MapKind::min:
    case MapKind::max: {
        // Kept so that 0, what is there at first, is less than all: see number_of() in read.cpp.
        const auto again = as_.label(), done = as_.label();
        if (map.is_signed)
            as_.emit(ZYDIS_MNEMONIC_BTC, {Part{rdi}, int64_t(63)});
        if (map.kind == MapKind::min)
            as_.emit(ZYDIS_MNEMONIC_NOT, {Part{rdi}});
        as_.load(rax, at(1));
        as_.bind(again);
        as_.emit(ZYDIS_MNEMONIC_CMP, {Part{rdi}, Part{rax}});
        as_.jump(ZYDIS_MNEMONIC_JBE, done);
        as_.emit(ZYDIS_MNEMONIC_CMPXCHG, {at(1), Part{rdi}});
        as_.clobber(bit(rax));
        as_.jump(ZYDIS_MNEMONIC_JNZ, again);
        as_.bind(done);
        as_.emit(ZYDIS_MNEMONIC_INC, {cell});
        return;
    }
    case MapKind::hist: {
        // 2v + 1 has its highest bit one above v's, and one for 0.
        const auto add = as_.label();
        as_.lea(rax, {.base = rdi, .displacement = 1, .index = rdi});
        as_.emit(ZYDIS_MNEMONIC_BSR, {Part{rax}, Part{rax}});
        as_.emit(ZYDIS_MNEMONIC_TEST, {Part{rdi}, Part{rdi}});
        as_.jump(ZYDIS_MNEMONIC_JS, cold([this, add] {
                     as_.constant(rax, -1);
                     as_.jump(ZYDIS_MNEMONIC_JMP, add);
                 }));
        as_.bind(add);
        Memory bucket = at(1);
        bucket.index = rax;
        bucket.scale = 8;
        as_.emit(ZYDIS_MNEMONIC_INC, {bucket});
        return;
    }
    case MapKind::lhist: {
        const auto add = as_.label();
        // The entry is in rdx or rsi; dividing needs rdx.
        if (cell.base == rdx)
            as_.move(r8, rdx);
        cell.base = cell.base == rdx ? r8 : cell.base;
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
        as_.bind(add);
        Memory bucket = at(0);
        bucket.index = rax;
        bucket.scale = 8;
        as_.emit(ZYDIS_MNEMONIC_INC, {bucket});
        return;
    }
    case MapKind::integer:
    case MapKind::string:
    case MapKind::probe: break;
    }
    throw std::logic_error("no aggregation");
}

} // namespace fastsdt::engine::x86
