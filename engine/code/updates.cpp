// SPDX-License-Identifier: BSD-2-Clause
// Maps and events: find the place, then change each word by one instruction, or by a loop that begins again if something came in
// between.
//
// Between two instructions a signal handler may run the same stub and record something itself. Additions stay right. A
// minimum or maximum is exchanged only if it still is the value that it was compared with. sum, avg and stats first add
// the value and then count it: a handler that leaves by longjmp just in between makes the count one too small.
#include "code/compiler.h"

namespace fastsdt::engine {

/// A cold path: counts a statement that found no room and goes on.
Compiler::Label Compiler::dropped(Label next)
{
    return cold([this, next] {
        count_at(Tables::dropped);
        jump(next);
    });
}

// To where routines take keys. May change Role::result.
void Compiler::put_key(const ir::Operand& key)
{
    if (key.is_none())
        return;
    if (key.is_value()) {
        if (const auto number = constant_of(key.value))
            return store_frame_number(0, *number);
        fetch(key.value, Role::result);
        store_frame(0, Role::result);
    } else if (plan_->slots[key.place.slot].where != Plan::OfSlot::Where::keys) {
        if (key.place.size > key_bytes_)
            throw std::logic_error("keys do not fit in the frame");
        copy(0, key.place.size, key.place);
    }
}

// The address of a shared map without keys, to Role::table.
void Compiler::shared_value(const Table& table)
{
    long_constant(Role::table, arena_.data + table.offset);
}

// Goes on if the block's own entry has this thread's id, which is then in Role::result. Jumps to `free` if it has no id,
// and to `other` if it has another one.
void Compiler::if_own(const Table& table, const ir::Operand& tid, Label free, Label other)
{
    fetch(tid.value, Role::result);
    load(Role::second, own(table, 0));
    jump_if_zero(Role::second, free);
    jump_if_unlike(Role::second, Role::result, other);
}

// Behind if_own(): by the table, with the id that is in Role::result.
Compiler::Label Compiler::by_table(Label routine, bool may_be_refused, Label done)
{
    return cold([this, routine, may_be_refused, done] {
        store_frame(0, Role::result);
        call_routine(routine);
        if (may_be_refused)
            jump_if_zero(Role::result, dropped(done));
        jump(done);
    });
}

void Compiler::perform(const ir::Get& op)
{
    const Table& table = tables_.maps[op.map];
    if (!is_assigned(script_.maps[op.map].kind))
        throw std::logic_error("an aggregation cannot be read");
    if (!table.own && table.entries > 1) {
        put_key(op.key);
        call_routine(routines_.maps[op.map].load);
        return keep(op.to);
    }
    const auto done = label(), none = label();
    if (table.own) {
        if_own(table, op.key, none, by_table(routines_.maps[op.map].load, false, done));
        load(Role::result, own(table, 1));
    } else {
        shared_value(table);
        jump_if_empty({Role::table, 0}, none);
        load(Role::result, {Role::table, table.value});
    }
    or_zero(none, done);
    keep(op.to);
}

void Compiler::perform(const ir::Has& op)
{
    const Table& table = tables_.maps[op.map];
    const auto no = label(), done = label();
    if (!table.own && table.entries > 1) {
        put_key(op.key);
        call_routine(routines_.maps[op.map].has);
        return keep(op.to);
    }
    if (table.own) {
        if_own(table, op.key, no, by_table(routines_.maps[op.map].has, false, done));
    } else {
        shared_value(table);
        jump_if_empty({Role::table, 0}, no);
    }
    constant(Role::result, 1);
    or_zero(no, done);
    keep(op.to);
}

void Compiler::perform(const ir::GetWide& op)
{
    const Table& table = tables_.maps[op.map];
    const size_t to = offset_of(op.at);
    const auto none = label(), done = label();
    put_key(op.key);
    call_routine(routines_.maps[op.map].load);
    jump_if_zero(Role::result, none);
    for (size_t i = 0; i < op.at.size; i += 8)
        if (i < table.value_size) {
            load_frame(Role::result, key_bytes_ + i);
            store_frame(to + i, Role::result);
        } else {
            store_frame_number(to + i, 0);
        }
    jump(done);
    bind(none);
    zero(to, to + op.at.size);
    bind(done);
}

void Compiler::perform(const ir::Update& op)
{
    const Map& map = script_.maps[op.map];
    const auto next = label();
    const Word cell = locate(op.map, op.key, op.a, next);
    record(map, cell);
    bind(next);
}

// The place of the values that the keys have; the value itself to Role::recorded.
Word Compiler::locate(size_t map, const ir::Operand& key, ir::ValueId value, Label next)
{
    const Table& table = tables_.maps[map];
    const auto fetch_value = [&] {
        if (value != ir::no_value)
            fetch(value, Role::recorded);
    };
    if (table.key_size.empty()) {
        fetch_value();
        return {Role::block, table.offset + table.value};
    }
    if (table.direct) {
        fetch_value();
        fetch(key.value, Role::result);
        find_direct(map, next);
    } else {
        put_key(key);
        fetch_value();
        call_routine(routines_.maps[map].update);
        jump_if_zero(Role::entry, dropped(next));
    }
    return {Role::entry, table.value};
}

void Compiler::record(const Map& map, Word cell)
{
    const Word second{cell.base, cell.offset + 8};
    switch (map.kind) {
    case MapKind::count: increment(cell); return;
    case MapKind::sum:
    case MapKind::avg:
    case MapKind::stats:
        add_recorded(second);
        increment(cell);
        return;
    // Kept in a form in which 0, the first content of a table, is less than all values: see number_of() in maps/read.cpp.
    case MapKind::min:
    case MapKind::max:
        keep_extreme(map, second);
        increment(cell);
        return;
    case MapKind::hist: count_in_histogram(cell); return;
    case MapKind::lhist: count_in_steps(map, cell); return;
    case MapKind::integer:
    case MapKind::string:
    case MapKind::probe: break;
    }
    throw std::logic_error("no aggregation");
}

void Compiler::perform(const ir::Assign& op)
{
    const Table& table = tables_.maps[op.map];
    const auto assign = [&] {
        const auto next = label();
        call_routine(routines_.maps[op.map].assign);
        jump_if_zero(Role::result, dropped(next));
        bind(next);
    };
    if (!op.value.is_value()) {
        const Map& map = script_.maps[op.map];
        const size_t size = map.type.size();
        put_key(op.key);
        if (plan_->slots[op.value.place.slot].where != Plan::OfSlot::Where::text)
            copy(key_bytes_, size, op.value.place);
        return assign();
    }
    if (table.own) {
        // The value is stored before the id. If a signal handler in between assigns too, its value stays, as if it had run after this
        // statement.
        const auto set = label(), done = label();
        fetch(op.value.value, Role::recorded);
        if_own(table, op.key, set, by_table(routines_.maps[op.map].assign, true, done));
        bind(set);
        store(own(table, 1), Role::recorded);
        store(own(table, 0), Role::result);
        bind(done);
    } else if (table.entries > 1) {
        put_key(op.key);
        fetch(op.value.value, Role::recorded);
        assign();
    } else {
        // The value is stored before the word that says it is there: whoever sees that word reads an assigned value.
        fetch(op.value.value, Role::recorded);
        shared_value(table);
        store({Role::table, table.value}, Role::recorded);
        publish({Role::table, 0}, 1);
    }
}

void Compiler::perform(const ir::Add& op)
{
    const Table& table = tables_.maps[op.map];
    if (table.entries > 1) {
        const auto next = label();
        put_key(op.key);
        fetch(op.a, Role::recorded);
        call_routine(routines_.maps[op.map].add);
        jump_if_zero(Role::result, dropped(next));
        bind(next);
    } else {
        fetch(op.a, Role::recorded);
        shared_value(table);
        add_for_all({Role::table, table.value});
        publish({Role::table, 0}, 1);
    }
}

void Compiler::perform(const ir::Remove& op)
{
    const Map& map = script_.maps[op.map];
    const Table& table = tables_.maps[op.map];
    if (table.own) {
        const auto done = label();
        if_own(table, op.key, done, by_table(routines_.maps[op.map].remove, false, done));
        publish(own(table, 0), 0);
        bind(done);
    } else if (table.entries > 1) {
        put_key(op.key);
        call_routine(routines_.maps[op.map].remove);
    } else if (is_assigned(map.kind)) {
        shared_value(table);
        publish({Role::table, 0}, 0);
        if (map.adds) { // what is added next is added to 0
            constant(Role::result, 0);
            store({Role::table, table.value}, Role::result);
        }
    } else {
        throw std::logic_error("an aggregation of all threads cannot be deleted");
    }
}

// All values are known before the record is reserved, so that it is committed a few instructions later.
void Compiler::perform(const ir::Record& op)
{
    const auto have_ring = label(), next = label();
    load(Role::table, {Role::block, *tables_.ring});
    jump_if_zero(Role::table, cold([this, have_ring, next] {
                     call_routine(routines_.ring);
                     jump_if_zero(Role::table, dropped(next));
                     jump(have_ring);
                 }));
    bind(have_ring);
    reserve_record(record_size(*op.statement), cold([this, next] {
                       increment({Role::table, Ring::lost});
                       jump(next);
                   }));
    size_t offset = Ring::values;
    for (const ir::Operand& each : op.values) {
        if (each.is_value()) {
            fetch(each.value, Role::result);
            store({Role::entry, offset}, Role::result);
            offset += 8;
            continue;
        }
        const ir::Slot& slot = program_->slots[each.place.slot];
        for (size_t i = 0; i < each.place.size; i += 8, offset += 8) {
            if (slot.is_literal)
                constant(Role::result, slot.word(each.place.offset + i));
            else
                load_frame(Role::result, offset_of(each.place) + i);
            store({Role::entry, offset}, Role::result);
        }
    }
    if (offset != record_size(*op.statement))
        throw std::logic_error("a record of another size");
    commit_record(uint32_t(op.statement->number));
    bind(next);
    if (op.statement->kind == Statement::Kind::exit && tables_.overwrites)
        dump();
}

void Compiler::perform(const ir::Signal&)
{
    throw Refusal({State::only_in_kernel, 0, "signal()"});
}

void Compiler::perform(const ir::Dump&)
{
    dump();
}

// Nobody reads the events until somebody asks. So that those before this moment are still there then, the thread records nothing until
// they have been read: its ring is full.
void Compiler::dump()
{
    const auto none = label();
    if (tables_.ring) {
        load(Role::table, {Role::block, *tables_.ring});
        jump_if_zero(Role::table, none);
        constant(Role::result, 0);
        store({Role::table, Ring::limit}, Role::result);
    }
    bind(none);
    count_at(Tables::asked);
}

void Compiler::perform(const ir::Call& op)
{
    call_function(*op.statement);
}

} // namespace fastsdt::engine
