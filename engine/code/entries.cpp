// SPDX-License-Identifier: BSD-2-Clause
// Entries of tables that have more than one integer for a key, or are assigned: how they are found, made, read and deleted.
//
// An entry's tag is a word of hash with its low bits set, and says what the entry is:
//     0          never used: a search may stop here
//     hash | 3   deleted: any key may use it again; it still has the keys that it had
//     hash | 5   claimed: somebody is writing the keys, and nobody else reads them
//     hash | 7   there
// Each step from one state to the next is one instruction. So a signal handler that comes in between finds one of the
// four, also if it leaves by longjmp. At worst it makes a second entry of the same key, or leaves one entry that nobody
// uses. Of two entries with one key the first in the order of the search counts; deleting deletes both; the reader adds
// up aggregations. A value that is assigned is exchanged together with the tag (exchange_value), so that it cannot get into
// an entry that was deleted and given to another key meanwhile. On x86 a table of all threads needs a lock prefix for that,
// one of a single thread none. What becomes of tables that are full is in code/routines.cpp.
//
// An entry stays claimed for ever if a longjmp leaves the code that writes it. Not even the same thread can take it:
// the writer may only be interrupted, and would come back and write into an entry that is another key's by then. So
// that this happens rarely, a number whose key was deleted gets that entry back by one exchange. Strings,
// aggregations and new keys take several stores. A key finds no room if most_probes entries in a row stay claimed in a chunk of
// full size.
//
// On arm64 other threads see stores in any order. So a tag is stored after the keys and values that it stands for
// (store_ordered, exchange), and those are loaded after the tag (load_ordered). tests/long/litmus has these algorithms for herd7.
//
// None of these changes Role::block or Role::recorded. Keys are in the caller's frame from its start, the chunk is Role::table.
#include "code/compiler.h"

namespace fastsdt::engine {
namespace {

constexpr Word tag_of(Role entry)
{
    return {entry, 0};
}
constexpr size_t from_there(int64_t tag)
{
    return size_t(tag - tag_there);
}

} // namespace

// Begins a search in the chunk for Role::tag. To Role::entry: the first entry; to Role::result: that entry's tag. next_entry() goes
// back to `loop`. The tag's low bits don't matter: they are shifted out. Changes Role::second.
void Compiler::first_entry(const Table& table, Label loop)
{
    load(Role::second, of_chunk(Role::table, Chunk::shift));
    move(Role::index, Role::tag);
    apply(Operator::shift_right, Role::index, Role::second);
    constant(Role::seen, 0);
    bind(loop);
    element(Role::entry, Role::table, Role::index, table.entry_size);
    load_ordered(Role::result, tag_of(Role::entry));
}

// Continues the search with the next entry, or falls through when it is over: it looks at no more entries than the chunk's header says.
void Compiler::next_entry(Label loop)
{
    apply(Operator::add, Role::index, 1);
    apply(Operator::bit_and, Role::index, of_chunk(Role::table, Chunk::last));
    apply(Operator::add, Role::seen, 1);
    jump_if(Is::less, Role::seen, of_chunk(Role::table, Chunk::probes), loop);
}

// The chunk that is nothing looks as if its entries were free.
void Compiler::leave_nothing(Label full)
{
    jump_if_zero(of_chunk(Role::table, Chunk::probes), full);
}

// To Role::entry: the entry; to Role::tag: the tag of an entry with these keys; to Role::result: the tag that the entry has. With
// `deleted` the two may differ: an entry whose key was deleted is found too, so that exchange_value() brings it back. Changes
// Role::second, Role::index and Role::seen.
void Compiler::find_entry(const Table& table, Label found, Label absent, bool deleted)
{
    const auto loop = label(), compare = label(), other = label(), next = label();
    const size_t words = table.key_bytes() / 8;
    constant(Role::index, int64_t(hash_multiplier));
    if (words == 0) {
        move(Role::tag, Role::index);
    } else {
        load(Role::tag, key_word(0));
        apply(Operator::multiply, Role::tag, Role::index);
    }
    for (size_t i = 1; i < words; ++i) {
        move(Role::second, Role::tag);
        apply(Operator::shift_right, Role::second, 29);
        apply(Operator::bit_xor, Role::tag, Role::second);
        apply(Operator::add, Role::tag, key_word(i));
        apply(Operator::multiply, Role::tag, Role::index);
    }
    apply(Operator::bit_or, Role::tag, tag_there);
    first_entry(table, loop);
    jump_if(Is::unlike, Role::result, Role::tag, other);
    bind(compare);
    for (size_t i = 0; i < words; ++i) {
        load(Role::second, key_word(i));
        jump_if(Is::unlike, Role::second, Word{Role::entry, table.keys + 8 * i}, next);
    }
    jump(found);
    bind(other);
    jump_if_zero(Role::result, absent);
    if (deleted) {
        address(Role::second, {Role::tag, from_there(tag_deleted)});
        jump_if(Is::equal, Role::result, Role::second, compare);
    }
    bind(next);
    next_entry(loop);
    jump(absent);
}

// Behind find_entry(): an entry of zeros, of Role::recorded, or of the frame's string. To Role::entry.
void Compiler::make_entry(const Table& table, Fill fill, Label done, Label full)
{
    const auto loop = label(), next = label();
    leave_nothing(full);
    first_entry(table, loop);
    jump_if_bits(Role::result, tag_used, next);
    address(Role::second, {Role::tag, from_there(tag_claimed)});
    exchange(tag_of(Role::entry), Role::second, table.shared, next);
    const auto copy_words = [this](size_t first, size_t to, size_t size) {
        for (size_t i = 0; i < size; i += 8) {
            load(Role::result, key_word((first + i) / 8));
            store({Role::entry, to + i}, Role::result);
        }
    };
    copy_words(0, table.keys, table.key_bytes());
    if (fill == Fill::number) {
        store({Role::entry, table.value}, Role::recorded);
    } else if (fill == Fill::text) {
        copy_words(key_bytes_, table.value, table.value_size);
    } else {
        const auto zero = label();
        constant(Role::second, int64_t(table.value_size / 8));
        bind(zero);
        store_number({Role::entry, table.value - 8, Role::second, 8}, 0);
        count_down(Role::second, zero, false);
    }
    store_ordered(tag_of(Role::entry), Role::tag);
    jump(done);
    bind(next);
    next_entry(loop);
    jump(full);
}

// Role::kept: the key. To Role::entry: its entry, made if need be. Only this thread uses the table.
void Compiler::claim_direct(const Table& table, Label done, Label full)
{
    const auto loop = label(), next = label(), lost = label();
    constant(Role::tag, int64_t(hash_multiplier));
    apply(Operator::multiply, Role::tag, Role::kept);
    leave_nothing(full);
    first_entry(table, loop);
    jump_if(Is::equal, Role::result, Role::kept, done);
    jump_if_zero(Role::result, next, false);
    exchange(tag_of(Role::entry), Role::kept, false, lost);
    jump(done);
    bind(lost);
    jump_if(Is::equal, Role::result, Role::kept, done); // this thread's signal handler made the entry first
    bind(next);
    next_entry(loop);
    jump(full);
}

// Of Role::entry, to Role::result.
void Compiler::load_value(const Table& table, Label absent)
{
    load(Role::result, {Role::entry, table.value});
    order_loads();
    jump_if(Is::unlike, Role::tag, tag_of(Role::entry), absent); // still the same key's
}

// Of Role::entry, to the frame's place of texts. Later loads are done after it.
void Compiler::load_text(const Table& table)
{
    for (size_t i = 0; i < table.value_size; i += 8) {
        load(Role::result, {Role::entry, table.value + i});
        store(key_word((key_bytes_ + i) / 8), Role::result);
    }
    order_loads();
}

// Does nothing where it is not the key's any more.
void Compiler::erase_entry(const Table& table, Role entry)
{
    move(Role::result, Role::tag);
    address(Role::second, {Role::tag, from_there(tag_deleted)});
    exchange(tag_of(entry), Role::second, table.shared);
}

// The entry is not the key's any more.
void Compiler::jump_unless_there(Role entry, Label to)
{
    load_ordered(Role::result, tag_of(entry));
    jump_if(Is::unlike, Role::result, Role::tag, to);
}

// Of a table's word: the address in it.
void Compiler::load_chunk(Role to, Word of)
{
    load(to, of);
    apply(Operator::bit_and, to, -int64_t(Chunk::header));
}

// A table's word leads to the chunk Role::entry if it led to the chunk Role::table. Other threads see what is in the chunk before they see
// its address. Changes Role::result, Role::second and Role::index.
void Compiler::exchange_chunk(const Table& table)
{
    move(Role::result, Role::table);
    apply(Operator::bit_or, Role::result, of_chunk(Role::table, Chunk::shift));
    move(Role::index, Role::entry);
    apply(Operator::bit_or, Role::index, of_chunk(Role::entry, Chunk::shift));
    if (table.shared)
        long_constant(Role::second, arena_.data + table.offset);
    else
        address(Role::second, {Role::block, table.offset});
    exchange({Role::second, 0}, Role::index, table.shared);
}

} // namespace fastsdt::engine
