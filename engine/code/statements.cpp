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
    const Map& map = script_.maps[statement.map];
    const Table& table = tables_.maps[statement.map];
    switch (statement.kind) {
    case Statement::Kind::update: update(statement); return;
    case Statement::Kind::assign:
        if (map.kind == MapKind::string)
            text_value(*statement.value, key_bytes_);
        else
            value(*statement.value, Role::recorded);
        if (table.own) {
            // The value is stored before the id. If a signal handler in between assigns too, its value stays, as if it
            // had run after this statement.
            const auto set = label(), done = label();
            if_own(table, statement.keys[0], set, cold([this, &statement, done] {
                       assign_by_key(statement);
                       jump(done);
                   }));
            bind(set);
            store(own(table, 1), Role::recorded);
            store(own(table, 0), Role::result);
            bind(done);
        } else if (table.entries > 1) {
            assign_by_key(statement);
        } else {
            // The value is stored before the word that says it is there: whoever sees that word reads an assigned
            // value.
            shared_value(table);
            store({Role::table, table.value}, Role::recorded);
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
        } else {
            throw std::logic_error("an aggregation of all threads cannot be deleted");
        }
        return;
    default: throw std::logic_error("not for sites");
    }
}

// Role::recorded, or the string in the frame.
void Compiler::assign_by_key(const Statement& statement)
{
    const auto next = label();
    call_with_keys(routines_.maps[statement.map].assign, statement.keys, tables_.maps[statement.map]);
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
