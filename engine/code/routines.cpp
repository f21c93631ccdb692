// SPDX-License-Identifier: BSD-2-Clause
// Tables: how stubs find entries, make them, and get larger chunks. code/entries.cpp says what an entry is.
//
// A table's word is changed from a chunk to its successor by one instruction, and never back. A chunk's header
// is written before that, and not any more afterwards. So whoever reads the word finds a chunk that is whole. A signal handler or
// another thread may come in between, and make the table grow: then a hit goes on with the chunk that it has. Where numbers are
// added up, each chunk counts. Where they are assigned, the chunks have an order, the newest first, as the entries of one have,
// and the first entry of a key counts. At worst a key gets a second entry.
//
// A chunk that lost such a race, or whose maker left by longjmp, is lost; a table can lose one of each size to each thread.
#include "code/compiler.h"

#include <bit>

namespace fastsdt::engine {
namespace {

unsigned shift_of(size_t entries)
{
    return 64 - unsigned(std::countr_zero(entries));
}

} // namespace

void Compiler::begin(Label routine)
{
    begin_routine(routine);
    keys_ = return_address();
}

void Compiler::routines()
{
    routines_.acquire = label();
    routines_.claim = label();
    routines_.text = label();
    routines_.word = label();
    routines_.tid = label();
    routines_.comm = label();
    routines_.ring = label();
    routines_.stack = label();
    routines_.unwound_stack = label();
    routines_.unwind = label();
    routines_.uid = label();
    routines_.gid = label();
    routines_.processor = label();
    routines_.node = label();
    acquire_routine();
    if (environment_.follow)
        claim_routine();
    text_routine();
    word_routine();
    if (environment_.system_calls && !environment_.tid_offset)
        number_routine(routines_.tid, SystemCall::gettid);
    if (environment_.system_calls && engine::uses(script_, Value::uid))
        number_routine(routines_.uid, SystemCall::getuid);
    if (environment_.system_calls && engine::uses(script_, Value::gid))
        number_routine(routines_.gid, SystemCall::getgid);
    if (environment_.system_calls && engine::uses(script_, Value::cpu))
        processor_routine(routines_.processor, false);
    if (environment_.system_calls && engine::uses(script_, Value::node))
        processor_routine(routines_.node, true);
    if (environment_.system_calls)
        comm_routine();
    if (tables_.ring)
        ring_routine();
    if (tables_.stacks)
        stack_routine(false);
    if (tables_.modules) {
        unwind_routine();
        stack_routine(true);
    }
    for (size_t i = 0; i < script_.maps.size(); ++i) {
        routines_.maps.push_back({label(), label(), label(), label(), label(), label(), label()});
        if (tables_.maps[i].entries > 1)
            map_routines(i);
    }
}

void Compiler::map_routines(size_t map)
{
    const Table& table = tables_.maps[map];
    const MapKind kind = script_.maps[map].kind;
    const MapRoutines& routine = routines_.maps[map];
    if (table.direct) {
        begin(routine.direct);
        direct_routine(table);
        return;
    }
    if (!is_assigned(kind)) { // to Role::entry: the entry, made if need be; 0: no room
        const auto again = label(), done = label(), absent = label(), full = label(), older = label(), none = label();
        begin(routine.update);
        bind(again);
        newest_chunk(table);
        find_entry(table, done, absent, false);
        bind(absent);
        make_entry(table, Fill::zeros, done, full);
        bind(full);
        grow(table, again, older);
        bind(older);
        older_chunk(none);
        find_entry(table, done, older, false);
        bind(none);
        constant(Role::entry, 0);
        bind(done);
        return_from_routine();
    } else {
        begin(routine.assign);
        begin_assigning();
        if (kind == MapKind::string)
            assign_text(table);
        else
            assign_number(table, false);
        end_assigning();
        return_from_routine();
    }
    if (script_.maps[map].adds) {
        begin(routine.add);
        begin_assigning();
        assign_number(table, true);
        end_assigning();
        return_from_routine();
    }
    if (is_assigned(kind))
        load_routine(table, kind, routine.load);
    if (script_.maps[map].asked) { // to Role::result: 1 or 0
        const auto is_there = label(), is_not = label();
        begin(routine.has);
        search(table, is_there, is_not);
        answer(is_there, is_not);
        return_from_routine();
    }
    const auto found = label(), absent = label();
    begin(routine.remove);
    search(table, found, absent);
    bind(found);
    erase_entry(table, Role::entry);
    jump(routine.remove); // there may be a second entry
    bind(absent);
    return_from_routine();
}

void Compiler::load_routine(const Table& table, MapKind kind, Label routine)
{
    const auto found = label(), absent = label();
    begin(routine);
    search(table, found, absent);
    bind(found);
    if (kind == MapKind::string) { // to the frame's place of texts: zeros if there is none
        load_text(table);
        jump_unless_there(Role::entry, routine);
        constant(Role::result, 1);
    } else { // to Role::result: the value, 0 if there is none
        load_value(table, absent);
    }
    return_from_routine();
    bind(absent);
    constant(Role::result, 0);
    return_from_routine();
}

void Compiler::answer(Label yes, Label no)
{
    const auto leave = label();
    bind(no);
    constant(Role::result, 0);
    jump(leave);
    bind(yes);
    constant(Role::result, 1);
    bind(leave);
}

// Role::result: the key. To Role::entry: its entry, or 0 if there is no room.
void Compiler::direct_routine(const Table& table)
{
    const auto again = label(), done = label(), full = label(), older = label(), none = label();
    begin_direct();
    bind(again);
    newest_chunk(table);
    claim_direct(table, done, full);
    bind(full);
    grow(table, again, older);
    bind(older);
    older_chunk(none);
    claim_direct(table, done, older);
    bind(none);
    constant(Role::entry, 0);
    bind(done);
    end_direct();
    return_from_routine();
}

// To Role::result: 1, or 0 if there is no room. To add, a new entry is one with 0, and the search begins again: of two entries that
// two threads make at once, both then add to the first.
void Compiler::assign_number(const Table& table, bool adds)
{
    const auto again = label(), found = label(), absent = label(), full = label(), done = label(), refused = label();
    bind(again);
    search(table, found, absent, true);
    bind(found);
    exchange_value(table, adds, done, again);
    bind(absent);
    newest_chunk(table);
    if (adds)
        make_entry(table, Fill::zeros, again, full);
    else
        make_entry(table, Fill::number, done, full);
    bind(full);
    grow(table, again, refused);
    answer(done, refused);
}

// To Role::table: the thread's ring, or 0 if there is no room. A signal handler may make one at the same time: then that one counts,
// and nobody uses the other.
void Compiler::ring_routine()
{
    const auto none = label();
    begin(routines_.ring);
    constant(Role::result, int64_t(tables_.ring_bytes()));
    allocate(none);
    constant(Role::result, int64_t(tables_.overwrites ? Ring::no_limit : tables_.ring_size));
    store({Role::entry, Ring::limit}, Role::result);
    constant(Role::result, 0);
    exchange({Role::block, *tables_.ring}, Role::entry, false);
    bind(none);
    load(Role::table, {Role::block, *tables_.ring});
    return_from_routine();
}

// To Role::result as assign_number(). Makes an entry with the new string and then deletes the old one, so that a reader finds
// one all the time unless threads assign at once. Two threads that do may both leave their entries. So after making its own,
// each thread deletes all entries of the key that a search finds before its own. A thread that finds its own entry deleted
// stops if there is another: that one was assigned later. If there is none, two threads deleted each other's, the one as the
// old entry and the other as one before its own; then it assigns again. Whoever deletes searches afterwards, so the last one
// to delete sees this.
void Compiler::assign_text(const Table& table)
{
    const auto again = label(), old = label(), make = label(), made = label(), full = label(), first = label(),
               sweep = label(), found = label(), other = label(), done = label(), refused = label();
    bind(again);
    constant(Role::kept, 0); // the old entry
    search(table, old, make);
    bind(old);
    move(Role::kept, Role::entry);
    bind(make);
    newest_chunk(table);
    make_entry(table, Fill::text, made, full);
    bind(full);
    grow(table, again, refused);
    bind(made);
    jump_if_zero(Role::kept, first);
    erase_entry(table, Role::kept);
    bind(first);
    move(Role::kept, Role::entry); // our own
    bind(sweep);
    search(table, found, again);
    bind(found);
    jump_if(Is::unlike, Role::entry, Role::kept, other);
    jump(done);
    bind(other);
    jump_unless_there(Role::kept, done);
    erase_entry(table, Role::entry);
    jump(sweep);
    answer(done, refused);
}

void Compiler::newest_chunk(const Table& table)
{
    if (table.shared) {
        long_constant(Role::table, arena_.data + table.offset);
        load_chunk(Role::table, {Role::table, 0});
    } else {
        load_chunk(Role::table, {Role::block, table.offset});
    }
}

void Compiler::older_chunk(Label none)
{
    load(Role::table, of_chunk(Role::table, Chunk::older));
    jump_if_zero(Role::table, none);
}

// find_entry() in all chunks, the newest first.
void Compiler::search(const Table& table, Label found, Label absent, bool deleted)
{
    const auto chunk = label(), older = label();
    newest_chunk(table);
    bind(chunk);
    find_entry(table, found, older, deleted);
    bind(older);
    older_chunk(absent);
    jump(chunk);
}

// Role::table: a chunk that had no room. Jumps to `grown` if the table may have a larger one now, and to `refused`, without changing
// Role::table, if it has not.
void Compiler::grow(const Table& table, Label grown, Label refused)
{
    const auto first = label(), have_size = label(), is_first = label(), publish = label();
    const auto set = [&](size_t below, uint64_t number) {
        constant(Role::result, int64_t(number));
        store(of_chunk(Role::entry, below), Role::result);
    };
    const auto compute = [&](Operator op, uint64_t number) {
        constant(Role::second, int64_t(number));
        binary(op);
    };
    const auto probes_of = [&](size_t entries) { return entries == table.entries ? most_probes : few_probes; };
    const int64_t final_shift = shift_of(table.entries);

    load(Role::result, of_chunk(Role::table, Chunk::probes));
    jump_if_zero(Role::result, first);
    load(Role::result, of_chunk(Role::table, Chunk::shift));
    jump_if(Operator::equal, final_shift, false, true, refused);
    load(Role::result, of_chunk(Role::table, Chunk::last));
    compute(Operator::multiply, Chunk::growth * table.entry_size);
    compute(Operator::add, table.chunk_bytes(Chunk::growth));
    jump(have_size);
    bind(first);
    constant(Role::result, int64_t(table.chunk_bytes(table.first)));
    bind(have_size);
    allocate(refused);

    address(Role::entry, {Role::entry, Chunk::header});
    load(Role::result, of_chunk(Role::table, Chunk::probes));
    jump_if_zero(Role::result, is_first);
    store(of_chunk(Role::entry, Chunk::older), Role::table);
    load(Role::result, of_chunk(Role::table, Chunk::last));
    compute(Operator::multiply, Chunk::growth);
    compute(Operator::add, Chunk::growth - 1);
    store(of_chunk(Role::entry, Chunk::last), Role::result);
    set(Chunk::probes, few_probes);
    load(Role::result, of_chunk(Role::table, Chunk::shift));
    compute(Operator::subtract, std::countr_zero(Chunk::growth));
    store(of_chunk(Role::entry, Chunk::shift), Role::result);
    jump_if(Operator::not_equal, final_shift, false, true, publish);
    set(Chunk::probes, most_probes);
    jump(publish);
    bind(is_first);
    set(Chunk::last, table.first - 1);
    set(Chunk::shift, shift_of(table.first));
    set(Chunk::probes, probes_of(table.first));
    bind(publish);
    exchange_chunk(table);
    jump(grown);
}

} // namespace fastsdt::engine
