// SPDX-License-Identifier: BSD-2-Clause
// Which memory a hit has: the thread's block, by its slot, and a forked child's slice of slots. Stubs save next to nothing for these
// routines, which are called once in a thread's life: they change what they return and no more, on arm64 not even the flags.
#include "code/compiler.h"

#include <cstddef>

namespace fastsdt::engine {

// Role::result: the process's slice, Role::second: the complement of the thread pointer, Role::block: the number of the slot to begin at.
// To Role::block: the thread's block, or 0 if no slot or no memory is left; then the hit is counted as dropped. Changes Role::result and
// Role::second, and no other. A thread comes here at
// each hit if it does not store its thread pointer, or stores another number in its place. Then the processor tells the thread pointer.
void Compiler::acquire_routine()
{
    const auto loop = label(), next = label(), take = label(), allocated = label(), none = label(), mine = label(),
               done = label(), lost = label();
    const auto saved = {Role::entry, Role::kept, Role::table, Role::tag, Role::index, Role::seen, Role::innermost};
    constexpr Role slice = Role::table, thread = Role::kept, fresh = Role::seen, left = Role::innermost;
    constexpr Word owner{slice, Tables::owners, Role::block, 8}, block{slice, Tables::blocks, Role::block, 8};
    begin(routines_.acquire);
    push(saved, true);
    ask_for_thread();
    move(thread, Role::second);
    move(slice, Role::result);
    constant(fresh, 0);
    constant(left, int64_t(most_threads));
    bind(loop);
    load(Role::result, owner);
    jump_if(Is::equal, Role::result, thread, mine);
    jump_if_zero(Role::result, next, false);
    load_ordered(Role::result, block);
    jump_if_zero(Role::result, take, false);
    jump_if_zero(fresh, allocated, false);
    constant(Role::result, int64_t(tables_.block_size));
    allocate(none);
    move(fresh, Role::entry);
    long_constant(Role::result, word_of_nothing(tables_, arena_.data));
    for (const Table& table : tables_.maps)
        if (!table.shared && table.entries > 1)
            store({fresh, table.offset}, Role::result);
    bind(allocated);
    constant(Role::result, 0);
    exchange(block, fresh, true, take); // another made one meanwhile: ours is for the next slot
    constant(fresh, 0);
    bind(take);
    constant(Role::result, 0);
    exchange(owner, thread, true, lost);
    jump(mine);
    bind(lost);
    jump_if(Is::equal, Role::result, thread, mine); // this thread's signal handler took it in between
    bind(next);
    apply(Operator::add, Role::block, 1);
    apply(Operator::bit_and, Role::block, int64_t(most_threads - 1));
    count_down(left, loop, false);
    bind(none);
    count_at(Tables::dropped);
    constant(Role::block, 0);
    jump(done);
    bind(mine);
    load(Role::block, block);
    bind(done);
    pop(saved, true);
    return_from_routine();
}

// Of a forked child whose mark is wiped. To Role::result: its slice, or 0 if no memory is left; then the hit is counted as dropped.
// Threads and signal handlers may claim at once: the first to write the mark names the slice, and the others make theirs free again.
void Compiler::claim_routine()
{
    const auto loop = label(), next = label(), fresh = label(), lead = label(), got = label(), taken = label(),
               have = label(), none = label(), done = label();
    const auto saved = {Role::second, Role::entry, Role::kept, Role::table, Role::tag, Role::index, Role::seen};
    constexpr Role slice = Role::entry, own = Role::kept, data = Role::table;
    constexpr Word state{slice, Tables::state}, older{slice, Tables::older}, newest{data, Tables::slices},
        free{data, Tables::free}, mark{own, offsetof(Mark, slice)}, pid{own, offsetof(Mark, pid)};
    static_assert(Tables::slice_free == 0);
    begin(routines_.claim);
    push(saved, true);
    long_constant(own, arena_.first_mark);
    long_constant(data, arena_.data);
    load_ordered(Role::result, mark);
    jump_if_zero(Role::result, have, false); // by a hit in another arena
    jump_if_zero(free, fresh);
    load_ordered(slice, newest);
    bind(loop);
    jump_if_zero(slice, fresh);
    jump_if_zero(state, next, false);
    constant(Role::second, Tables::slice_claimed);
    constant(Role::result, 0);
    exchange(state, Role::second, true, next);
    add_atomically(free, -1);
    jump(got);
    bind(next);
    load(slice, older);
    jump(loop);
    bind(fresh);
    constant(Role::result, int64_t(Tables::slice_size));
    allocate(none); // to `slice`
    store_number(state, Tables::slice_claimed);
    load(Role::result, newest);
    bind(lead);
    store(older, Role::result);
    exchange(newest, slice, true, lead);
    bind(got);
    if (environment_.system_calls) {
        const auto forbidden = label();
        jump_if_zero(Word{data, Tables::no_calls}, forbidden, false);
        jump_if_zero(Word{own, offsetof(Mark, no_calls)}, forbidden, false);
        system_call(SystemCall::getpid, {});
        jump_if(Is::less, Role::result, 0, forbidden); // a filter's error
        store(pid, Role::result);
        bind(forbidden);
    }
    // The only thread has the process's number. The parent's it is where the C library did not hear of the fork.
    if (environment_.single_threaded && environment_.tid_offset) {
        const auto asked = label();
        jump_if_zero(pid, asked, false);
        long_constant(Role::result, environment_.single_threaded);
        load(Role::result, {.base = Role::result, .size = 1});
        jump_if_zero(Role::result, asked);
        thread_id(Role::result);
        jump_if(Is::equal, Role::result, int64_t(environment_.pid), asked);
        store(pid, Role::result);
        bind(asked);
    }
    constant(Role::result, 0);
    exchange(mark, slice, true, taken);
    constant(Role::second, Tables::slice_used);
    store_ordered(state, Role::second);
    move(Role::result, slice);
    jump(have);
    bind(taken);
    constant(Role::second, Tables::slice_free);
    store_ordered(state, Role::second);
    add_atomically(free, 1);
    bind(have);
    long_constant(Role::second, arena_.mark);
    store({Role::second, offsetof(Mark, slice)}, Role::result);
    jump(done);
    bind(none);
    count_at(Tables::dropped);
    constant(Role::result, 0);
    bind(done);
    pop(saved, true);
    return_from_routine();
}

// Role::result bytes to Role::entry: their address. They are zeros. Changes Role::result, Role::second, Role::tag and Role::index. Not by
// an addition: that would go beyond the limit, and nobody could take it back.
void Compiler::allocate(Label none)
{
    const auto again = label();
    constexpr auto alignment = int64_t(Chunk::alignment);
    address(Role::index, {Role::result, size_t(alignment - 1)});
    apply(Operator::bit_and, Role::index, -alignment);
    long_constant(Role::tag, arena_.data);
    load(Role::result, {Role::tag, Tables::next});
    bind(again);
    address(Role::second, {Role::result, 0, Role::index});
    load(Role::entry, {Role::tag, Tables::limit});
    jump_if(Is::less, Role::entry, Role::second, none);
    exchange({Role::tag, Tables::next}, Role::second, true, again);
    move(Role::entry, Role::result);
}

} // namespace fastsdt::engine
