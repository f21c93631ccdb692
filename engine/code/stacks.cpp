// SPDX-License-Identifier: BSD-2-Clause
// Walks the stack of calls by frame pointers, as perf_callchain_user() of the kernel's arch/x86/events/core.c and
// arch/arm64/kernel/perf_callchain.c do: a frame's first word leads to the caller's frame, and the word behind it is the return address.
// Code without frame pointers has any number in that register: then the walk ends, or leaves callers out.
//
// The stack is walked without a fault, whatever is in that register and in memory: only words above the stack pointer are read
//     - of the thread's own stack, if the stack pointer is in it. The C library says where it is, in the thread's control block, whose
//       words are read only on the page of the thread pointer. That block is in the same mapping, so the stack is there as long as the
//       thread runs, and a new thread in its place has a new block;
//     - of the main thread's stack, which never shrinks. A forked child has what was there at the fork. Where its parent's stack began
//       later on, counts for the parent alone;
//     - on the page that the stack pointer is in: stacks of signal handlers and coroutines, and of threads that no C library has made.
//       From there a frame may lead on into the main thread's stack.
// No other thread may unmap what a running thread's stack pointer is in, or what is above it of the same stack: the thread could not
// return.
//
// ustack(dwarf) goes by tables instead, which the tracer has made of .eh_frame (process/unwinding.h): for each address of the program's
// code they say where the caller's stack pointer and frame pointer are (code/unwinding.cpp). What it reads of the stack is checked in
// the same way.
//
// It is walked up to three times: to hash it, to compare it with an interned one, and to write it down where there is none. So it
// needs no memory for it, and a signal handler that walks meanwhile does not disturb. What is read the second time may not be what was
// read first: it is checked again. At worst a stack is interned twice.
#include "code/compiler.h"
#include "code/walk.h"

#include <bit>

namespace fastsdt::engine {
namespace {

constexpr int64_t page_bytes = smallest_page, two_words = 16;
constexpr int largest_stack = 36; // bits of its size: 64 GiB
constexpr int never_mapped = 16;  // bits: a pointer has more

// While the routine runs.
constexpr Role hash = Role::kept;
constexpr Role goes_on = Role::block; // 1: the stack may go on behind `highest`

} // namespace

void Compiler::stack(unsigned frames, bool by_rows)
{
    begin_stack(by_rows);
    constant(Role::table, frames);
    call_routine(by_rows ? routines_.unwound_stack : routines_.stack);
}

// To Role::highest: where the last frame may be that is read; to `goes_on`. Changes Role::result, Role::kept, Role::tag, Role::index and
// Role::seen.
void Compiler::find_bounds()
{
    const auto main = label(), own = label(), unknown = label(), done = label();
    constexpr Role data = Role::tag, block = Role::seen, start = Role::kept, size = Role::index;
    const auto unless_within = [&](Role address, Label outside) {
        move(Role::highest, address);
        apply(Operator::subtract, Role::highest, start);
        jump_if(Is::not_below, Role::highest, size, outside);
    };
    long_constant(data, arena_.data);
    load(Role::result, {data, Tables::thread_stack});
    jump_if_zero(Role::result, main);
    control_block(block, main);
    move(size, block);
    apply(Operator::bit_and, size, page_bytes - 1);
    apply(Operator::add, size, Role::result);
    jump_if(Is::above, size, page_bytes - two_words, main);
    load(start, {block, 0, Role::result});
    load(size, {block, 8, Role::result});
    jump_if_zero(start, main); // glibc's main thread has the stack's end for its size
    move(Role::result, size);
    apply(Operator::shift_right, Role::result, largest_stack);
    jump_if_zero(Role::result, main, false);
    unless_within(block, main); // not what we take it for
    unless_within(walk::lowest, main);
    address(Role::highest, {start, size_t(-two_words), size});
    constant(goes_on, 0);
    jump(done);

    bind(main);
    load_near(Role::result, arena_.mark);
    long_constant(Role::seen, arena_.data + Tables::slice);
    load(Role::highest, {data, Tables::last_frame});
    load(Role::index, {data, Tables::stack_start});
    jump_if(Is::equal, Role::result, Role::seen, own);
    load(Role::index, {data, Tables::stack_at_first});
    bind(own);
    jump_if(Is::below, walk::lowest, Role::index, unknown);
    jump_if(Is::above, walk::lowest, Role::highest, unknown);
    constant(goes_on, 0);
    jump(done);

    // An empty stack ends where the next page may be no more of it.
    bind(unknown);
    address(Role::highest, {walk::lowest, size_t(-1)});
    apply(Operator::bit_or, Role::highest, page_bytes - 1);
    apply(Operator::subtract, Role::highest, two_words - 1);
    constant(goes_on, 1);
    bind(done);
}

// Two words there. Changes Role::result.
void Compiler::unless_readable(Role address, Label outside)
{
    const auto readable = label();
    jump_if(Is::not_above, address, Role::highest, readable);
    long_constant(Role::result, arena_.data);
    jump_if(Is::below, address, Word{Role::result, Tables::stack_at_first}, outside);
    jump_if(Is::above, address, Word{Role::result, Tables::last_frame}, outside);
    bind(readable);
}

// `visit` does something with the address Role::result. Begins with `most` in `left`, and leaves there how many it did not visit.
void Compiler::walk_frames(const Visit& visit)
{
    const auto loop = label(), end = label();
    move(walk::lowest, Role::stack_pointer);
    move(walk::at, Role::first_frame);
    move(walk::left, walk::most);
    move(Role::result, Role::innermost);
    visit();
    count_down(walk::left, end);
    move(Role::result, Role::place);
    jump_if_zero(Role::result, loop);
    visit();
    count_down(walk::left, end);
    bind(loop);
    jump_if_bits(walk::at, 7, end);
    jump_if(Is::below, walk::at, walk::lowest, end);
    unless_readable(walk::at, end);
    load(Role::result, {walk::at, 8});
    strip(Role::result);
    jump_if_zero(Role::result, end);
    address(walk::lowest, {walk::at, two_words});
    load(walk::at, {walk::at, 0});
    visit();
    count_down(walk::left, loop, false);
    bind(end);
}

// Counts a stack that was cut: the walk has come to where a frame may be that is not read.
void Compiler::count_cut(bool by_rows)
{
    const auto cut = label(), whole = label();
    jump_if_zero(by_rows ? Role::place : goes_on, whole);
    jump_if_zero(walk::left, whole);
    if (!by_rows) {
        jump_if_bits(walk::at, 7, whole);
        const int addresses = std::bit_width(machine_.highest);
        for (const int bits : {never_mapped, addresses}) {
            move(Role::result, walk::at);
            apply(Operator::shift_right, Role::result, bits);
            jump_if_zero(Role::result, whole, bits == never_mapped);
        }
        jump_if(Is::below, walk::at, walk::lowest, cut);
        unless_readable(walk::at, cut);
        jump(whole);
    }
    bind(cut);
    count_at(Tables::cut);
    bind(whole);
}

// What each walk by tables begins with: walk_rows().
void Compiler::push_innermost()
{
    if (pushes_return()) {
        push({Role::index});
    } else {
        push({Role::link});
        push({Role::index, Role::seen});
    }
}

void Compiler::pop_innermost()
{
    if (pushes_return()) {
        pop({Role::index});
    } else {
        pop({Role::index, Role::seen});
        pop({Role::link});
    }
}

// Role::result: the first address, Role::index: the second one, or 0; Role::table: how many at most, and that is not 0; Role::second,
// Role::entry: the program's stack and frame pointer. With tables Role::index is an address in the innermost call, for which they have a
// row, and where calls push no return address, Role::seen is the link register there. To Role::result: the interned stack, or 0 if there is no room
// for it, which is counted.
void Compiler::stack_routine(bool by_rows)
{
    const auto walk_stack = [&](const Visit& visit) { by_rows ? walk_rows(visit) : walk_frames(visit); };
    const auto probe = label(), next = label(), none = label(), make = label(), leave = label();
    const auto saved = {Role::kept,      Role::highest, Role::block,       Role::recorded,
                        Role::innermost, Role::place,   Role::first_frame, Role::stack_pointer};
    constexpr Role slot = Role::block, tries = Role::table, stack = Role::index,
                   frame = Role::tag; // once the stack is hashed
    constexpr Word slot_word{Role::tag, 0, slot, 8};
    begin(by_rows ? routines_.unwound_stack : routines_.stack);
    push(saved);
    if (by_rows)
        push_innermost();
    else
        move(Role::place, Role::index);
    move(Role::innermost, Role::result);
    move(Role::first_frame, walk::at);
    move(Role::stack_pointer, walk::lowest);
    move(walk::most, Role::table);
    find_bounds();

    constant(hash, 0);
    constant(Role::tag, int64_t(hash_multiplier));
    walk_stack([this] {
        apply(Operator::bit_xor, hash, Role::result);
        apply(Operator::multiply, hash, Role::tag);
    });
    apply(Operator::subtract, walk::most, walk::left);
    count_cut(by_rows);
    move(slot, hash);
    apply(Operator::shift_right, slot, 64 - std::countr_zero(stack_slots));
    constant(tries, int64_t(most_probes));
    bind(probe);
    long_constant(Role::tag, arena_.data + *tables_.stacks);
    load(stack, slot_word);
    jump_if_zero(stack, make);
    jump_if(Is::unlike, hash, Word{stack, InternedStack::hash}, next);
    jump_if(Is::unlike, walk::most, Word{stack, InternedStack::count}, next);
    address(frame, {stack, InternedStack::frames});
    walk_stack([this, next] {
        jump_if(Is::unlike, Role::result, Word{frame, 0}, next);
        apply(Operator::add, frame, 8);
    });
    move(Role::result, stack);
    jump_if_zero(walk::left, leave);
    bind(next);
    apply(Operator::add, slot, 1);
    apply(Operator::bit_and, slot, int64_t(stack_slots - 1));
    count_down(tries, probe, false);
    bind(none);
    count_at(Tables::dropped);
    constant(Role::result, 0);
    jump(leave);

    // If another thread takes the slot first, its stack may be the same.
    bind(make);
    move(Role::result, walk::most);
    apply(Operator::shift_left, Role::result, 3);
    apply(Operator::add, Role::result, int64_t(InternedStack::frames));
    allocate(none);
    move(stack, Role::entry);
    address(frame, {stack, InternedStack::frames});
    walk_stack([this] {
        store({frame, 0}, Role::result);
        apply(Operator::add, frame, 8);
    });
    move(Role::result, walk::most);
    apply(Operator::subtract, Role::result, walk::left);
    store({stack, InternedStack::count}, Role::result);
    store({stack, InternedStack::hash}, hash);
    long_constant(Role::tag, arena_.data + *tables_.stacks);
    constant(Role::result, 0);
    exchange(slot_word, stack, true, probe);
    move(Role::result, stack);
    bind(leave);
    if (by_rows)
        pop_innermost();
    pop(saved);
    return_from_routine();
}

} // namespace fastsdt::engine
