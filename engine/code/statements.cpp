// SPDX-License-Identifier: BSD-2-Clause
// Updates of maps: find the place, then change each word by one instruction, or by a loop that begins again if
// something came in between.
//
// Between two instructions a signal handler may run the same stub and record something itself. Additions stay right. A
// minimum or maximum is exchanged only if it still is the value that it was compared with. sum, avg and stats first add
// the value and then count it: a handler that leaves by longjmp just in between makes the count one too small.
#include "code/compiler.h"

namespace fastsdt::engine {

void Compiler::statement(const Statement& statement)
{
    if (statement.kind == Statement::Kind::call) {
        call_function(statement);
        return;
    }
    if (statement.is_event())
        return event(statement);
    if (statement.kind == Statement::Kind::set)
        return set(statement);
    switch (statement.kind) {
    case Statement::Kind::branch: return branch(statement);
    case Statement::Kind::loop: return loop(statement);
    case Statement::Kind::leave: return jump(loop_end_);
    case Statement::Kind::next: return jump(loop_next_);
    case Statement::Kind::end: return jump(clause_end_);
    case Statement::Kind::dump: return dump();
    case Statement::Kind::value:
        if (statement.value->type == Type::integer)
            evaluate(*statement.value);
        return;
    default: break;
    }
    const Map& map = script_.maps[statement.map];
    const Table& table = tables_.maps[statement.map];
    switch (statement.kind) {
    case Statement::Kind::update: update(statement); return;
    case Statement::Kind::assign:
        if (map.kind == MapKind::string && uses(*statement.value, is_map)) { // which needs the place of texts itself
            const size_t spills = spills_;
            const Slot made = take_slot(map.type, map.shape);
            wide_value(*statement.value, made);
            copy(place_of_text(map), made);
            spills_ = spills;
        } else if (map.kind == MapKind::string) {
            wide_value(*statement.value, place_of_text(map));
        } else {
            value(*statement.value, Role::recorded);
        }
        if (table.own) {
            // The value is stored before the id. If a signal handler in between assigns too, its value stays, as if it
            // had run after this statement.
            const auto set = label(), done = label();
            if_own(table, statement.keys[0], set, cold([this, &statement, done] {
                       change_by_key(routines_.maps[statement.map].assign, statement);
                       jump(done);
                   }));
            bind(set);
            store(own(table, 1), Role::recorded);
            store(own(table, 0), Role::result);
            bind(done);
        } else if (table.entries > 1) {
            change_by_key(routines_.maps[statement.map].assign, statement);
        } else {
            // The value is stored before the word that says it is there: whoever sees that word reads an assigned
            // value.
            shared_value(table);
            store({Role::table, table.value}, Role::recorded);
            publish({Role::table, 0}, 1);
        }
        return;
    case Statement::Kind::add:
        value(*statement.value, Role::recorded);
        if (table.entries > 1) {
            change_by_key(routines_.maps[statement.map].add, statement);
        } else {
            shared_value(table);
            add_for_all({Role::table, table.value});
            publish({Role::table, 0}, 1);
        }
        return;
    case Statement::Kind::remove:
        if (table.own) {
            const auto done = label();
            if_own(table, statement.keys[0], done, cold([this, &statement, &table, done] {
                       call_with_keys(routines_.maps[statement.map].remove, statement.keys, table);
                       jump(done);
                   }));
            publish(own(table, 0), 0);
            bind(done);
        } else if (table.entries > 1) {
            call_with_keys(routines_.maps[statement.map].remove, statement.keys, table);
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
        return;
    default: throw std::logic_error("not for sites");
    }
}

// Role::recorded, or the string in the frame.
void Compiler::change_by_key(Label routine, const Statement& statement)
{
    const auto next = label();
    call_with_keys(routine, statement.keys, tables_.maps[statement.map]);
    jump_if_refused(dropped(next));
    bind(next);
}

/// A cold path: counts a statement that found no room and goes on.
Compiler::Label Compiler::dropped(Label next)
{
    return cold([this, next] {
        count_at(Tables::dropped);
        jump(next);
    });
}

void Compiler::set(const Statement& statement)
{
    const Slot place = variable_slot(statement.variable);
    const auto is_itself = [&](const Expression& e) {
        return e.kind == Expression::Kind::variable && e.variable == statement.variable;
    };
    if (!is_wide(statement.value->type) || !uses(*statement.value, is_itself))
        return any_value(*statement.value, place);
    const size_t spills = spills_; // not in its place at once
    const Slot made{spill_offset(take_spills(place.size / 8)), place.size};
    wide_value(*statement.value, made);
    copy(place, made);
    spills_ = spills;
}

void Compiler::branch(const Statement& statement)
{
    const auto otherwise = label(), done = label();
    branch(*statement.value, otherwise, false);
    statements(statement.then);
    if (!statement.otherwise.empty())
        jump(done);
    bind(otherwise);
    statements(statement.otherwise);
    bind(done);
}

// most_turns at most: a hit shall not keep the program.
void Compiler::loop(const Statement& statement)
{
    const auto again = label(), done = label();
    const Label next = loop_next_, end = loop_end_;
    const size_t spills = spills_, turns = take_spills(1);
    store_frame_number(spill_offset(turns), 0);
    bind(again);
    branch(*statement.value, done, false);
    load_frame(Role::result, spill_offset(turns));
    compute(Operator::add, 1);
    store_frame(spill_offset(turns), Role::result);
    constant(Role::second, most_turns);
    jump_if(Operator::greater, {}, false, true, dropped(clause_end_));
    loop_next_ = again;
    loop_end_ = done;
    statements(statement.then);
    jump(again);
    bind(done);
    loop_next_ = next;
    loop_end_ = end;
    spills_ = spills;
}

// All values are known before the record is reserved, so that it is committed a few instructions later.
void Compiler::event(const Statement& statement)
{
    const size_t spills = spills_;
    std::vector<size_t> waiting;
    for (const Expression& each : statement.values) {
        if (is_wide(each.type)) {
            const size_t size = size_of(each.type, each.shape);
            waiting.push_back(take_spills(size / 8));
            wide_value(each, {spill_offset(waiting.back()), size});
        } else if (is_leaf(each)) {
            waiting.push_back(SIZE_MAX);
        } else {
            evaluate(each);
            waiting.push_back(spill(Role::result));
        }
    }
    const auto have_ring = label(), next = label();
    load(Role::table, {Role::block, *tables_.ring});
    jump_if_zero(Role::table, cold([this, have_ring, next] {
                     call_routine(routines_.ring);
                     jump_if_zero(Role::table, dropped(next));
                     jump(have_ring);
                 }));
    bind(have_ring);
    reserve_record(record_size(statement), cold([this, next] {
                       increment({Role::table, Ring::lost});
                       jump(next);
                   }));
    size_t offset = Ring::values;
    for (size_t i = 0; i < waiting.size(); ++i) {
        const Expression& each = statement.values[i];
        const size_t words = size_of(each.type, each.shape) / 8;
        for (size_t word = 0; word < words; ++word, offset += 8) {
            if (waiting[i] == SIZE_MAX)
                leaf(each, Role::result);
            else
                load_frame(Role::result, spill_offset(waiting[i] + word));
            store({Role::entry, offset}, Role::result);
        }
    }
    commit_record(uint32_t(statement.number));
    bind(next);
    spills_ = spills;
    if (statement.kind == Statement::Kind::exit) {
        if (tables_.overwrites)
            dump();
        jump(clause_end_);
    }
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

void Compiler::update(const Statement& statement)
{
    const Map& map = script_.maps[statement.map];
    const auto next = label();
    if (statement.value)
        value(*statement.value, Role::recorded);
    record(map, locate(statement, next));
    bind(next);
}

// The place of the values that the statement's keys have.
Word Compiler::locate(const Statement& statement, Label next)
{
    const Table& table = tables_.maps[statement.map];
    if (table.key_size.empty())
        return {Role::block, table.offset + table.value};
    if (table.direct) {
        value(statement.keys[0], Role::result);
        find_direct(statement, next);
    } else {
        call_with_keys(routines_.maps[statement.map].update, statement.keys, table);
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

} // namespace fastsdt::engine
