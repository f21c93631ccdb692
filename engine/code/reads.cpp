// SPDX-License-Identifier: BSD-2-Clause
// What stubs read of the program's memory, and ask the kernel for.
//
// Bytes of memory that lasts while the stub runs are read directly: no note or pointer, however wrong, makes a stub touch
// memory that may not be there. environment.h: which modules and which stack last.
//
// What does not last the kernel copies, if it may be called: any address is safe, even one that another thread unmaps at
// this moment. A cheaper call that only tells whether a page is there (rt_sigprocmask with a wrong first argument, 150 ns) is no
// help: another thread may unmap the page between that call and the read, and the program would die.
#include "code/compiler.h"

#include <cerrno>
#include <cstddef>

namespace fastsdt::engine {
namespace {

constexpr int64_t longest_string = string_size - 1; // bytes of a string

constexpr Word on_stack(size_t offset)
{
    return {Role::stack, offset};
}

} // namespace

// What find_lasting() wants.
void Compiler::prepare_read()
{
    const Lasting memory = lasting_of_site();
    program_stack(Role::second);
    long_constant(Role::table, memory.start);
    long_constant(Role::index, memory.end);
    long_constant(Role::seen, uint64_t(memory.away));
}

// Role::result: address, Role::second: the program's stack pointer; Role::table, Role::index, Role::seen: start and end of memory of the
// site's module, and how far away it is read. To Role::result: where the address is read, to Role::index: the bytes from there on that
// last, to Role::seen: how far away. Jumps to `none` if it does not last; then Role::result is as before. Changes Role::table and Role::tag.
void Compiler::find_lasting(Label none)
{
    constexpr Role start = Role::table, end = Role::index, away = Role::seen, offset = Role::tag;
    const auto found = label(), page = label();
    const auto found_between = [&] {
        move(offset, Role::result);
        apply(Operator::subtract, offset, start);
        apply(Operator::subtract, end, start);
        jump_if(Is::below, offset, end, found);
    };
    found_between();
    for (const Lasting& memory : environment_.always) {
        constant(start, int64_t(memory.start));
        constant(end, int64_t(memory.end));
        constant(away, memory.away);
        found_between();
    }
    constant(away, 0);
    if (environment_.stack.end != 0) { // all from the stack pointer on, if that is in it
        constant(start, int64_t(environment_.stack.start));
        constant(end, int64_t(environment_.stack.end));
        jump_if(Is::below, Role::second, start, page);
        move(start, Role::second);
        jump_if(Is::not_below, Role::second, end, page);
        found_between();
        bind(page);
    }
    // Any stack's page that the stack pointer is in. Pages are taken to have 4 KiB, the least that kernels use.
    move(end, Role::result);
    apply(Operator::bit_xor, end, Role::second);
    apply(Operator::shift_right, end, 12);
    jump_if_zero(end, none, false);
    move(offset, Role::result);
    apply(Operator::bit_and, offset, int64_t(smallest_page - 1));
    constant(end, int64_t(smallest_page));
    bind(found); // at `offset` of `end` bytes
    apply(Operator::subtract, end, offset);
    apply(Operator::add, Role::result, away);
}

// Jumps to `forbidden` if no system call may be made, or where the process's number is not known. To Role::tag: the first mark.
void Compiler::ask_for_calls(Label forbidden)
{
    long_constant(Role::tag, arena_.data);
    jump_if_zero(Word{Role::tag, Tables::no_calls}, forbidden, false);
    long_constant(Role::tag, arena_.first_mark);
    jump_if_zero(Word{Role::tag, offsetof(Mark, no_calls)}, forbidden, false);
    jump_if_zero(Word{Role::tag, offsetof(Mark, pid)}, forbidden);
}

// After a system call: falls through if it gave a result. Jumps to `nothing` if there was nothing to read. Any other error
// is a filter's, since the kernel knows no other here: then no stub of the process makes a call again. Changes Role::tag.
void Compiler::heed_filter(Label nothing, Label forbidden)
{
    const auto good = label();
    jump_if(Is::not_less, Role::result, 0, good);
    jump_if(Is::equal, Role::result, -EFAULT, nothing);
    long_constant(Role::tag, arena_.first_mark);
    store_number({Role::tag, offsetof(Mark, no_calls)}, 1);
    jump(forbidden);
    bind(good);
}

// The end of a routine where the kernel may not be asked, or a value cannot be read: that is counted, and the answer is 0.
void Compiler::end_unread(Label unread, Role answer)
{
    bind(unread);
    count_at(Tables::unread);
    constant(answer, 0);
    return_from_routine();
}

// Role::result: address of a string, Role::entry: where string_size bytes of it go, filled up with zeros; the others as find_lasting()
// wants them. To Role::result: 1, or 0 if it cannot be read: then that is counted. Bytes that the kernel finds unmapped end the string.
void Compiler::text_routine()
{
    const auto tidy = label(), bytes = label(), byte = label(), away = label(), read = label(), unread = label();
    begin(routines_.text);
    untag(Role::result);
    find_lasting(away);
    jump_if(Is::below, Role::index, int64_t(string_size), bytes);
    copy_bytes(Role::entry, Role::result, string_size);
    store_number({.base = Role::entry, .offset = size_t(longest_string), .size = 1}, 0);
    jump(tidy);

    bind(bytes); // one by one; the end of the string has to be among them
    zero_bytes(Role::entry, string_size);
    constant(Role::second, 0);
    bind(byte);
    load(Role::tag, {Role::result, 0, Role::second, 1, 1});
    jump_if_zero(Role::tag, read);
    store({Role::entry, 0, Role::second, 1, 1}, Role::tag);
    apply(Operator::add, Role::second, 1);
    jump_if(Is::below, Role::second, Role::index, byte);
    apply(Operator::subtract, Role::result, Role::seen);

    bind(away);
    zero_bytes(Role::entry, string_size);
    move(Role::second, Role::result);
    apply(Operator::shift_right, Role::second, 12); // page 0: nothing is mapped there
    jump_if_zero(Role::second, read);
    if (environment_.system_calls) {
        const auto fits = label();
        ask_for_calls(unread);
        push({Role::block, Role::recorded, Role::entry});
        // Three struct iovec: ours; the string up to the end of its page; the rest. The kernel promises to copy each of
        // the latter two whole or not at all.
        move_stack(-48);
        store(on_stack(0), Role::entry);
        store_number(on_stack(8), longest_string);
        store(on_stack(16), Role::result);
        constant(Role::second, 0);
        apply(Operator::subtract, Role::second, Role::result);
        apply(Operator::bit_and, Role::second, int64_t(smallest_page - 1));
        constant(Role::index, longest_string);
        jump_if(Is::not_above, Role::second, Role::index, fits);
        move(Role::second, Role::index);
        bind(fits);
        store(on_stack(24), Role::second);
        apply(Operator::add, Role::result, Role::second);
        store(on_stack(32), Role::result);
        apply(Operator::subtract, Role::index, Role::second);
        store(on_stack(40), Role::index);
        system_call(SystemCall::process_vm_readv,
                    {Word{Role::tag, offsetof(Mark, pid)}, AddressOf{on_stack(0)}, 1, AddressOf{on_stack(16)}, 2, 0});
        move_stack(48);
        pop({Role::block, Role::recorded, Role::entry});
        heed_filter(tidy, unread);
        jump(tidy);
    }
    end_unread(unread, Role::result);
    bind(tidy);
    end_text(read);
}

// Zeros behind the first zero of Role::entry's string_size bytes. (x - 0x01...) & ~x & 0x80... has its lowest bit in the first byte that
// is zero. Then the routine returns 1.
void Compiler::end_text(Label read)
{
    const auto loop = label(), clear = label(), next = label();
    constexpr Role left = Role::seen, ones = Role::table, zero = Role::tag;
    constexpr Word word{Role::entry, 0};
    constexpr int64_t one_in_each = 0x0101010101010101;
    constant(left, int64_t(string_size / 8));
    constant(ones, one_in_each);
    bind(loop);
    load(Role::result, word);
    move(zero, Role::result);
    apply(Operator::subtract, zero, ones);
    move(Role::second, Role::result);
    invert(Role::second);
    apply(Operator::bit_and, zero, Role::second);
    move(Role::second, ones);
    apply(Operator::shift_left, Role::second, 7);
    apply(Operator::bit_and, zero, Role::second);
    jump_if_zero(zero, next);
    find_lowest_bit(Role::second, zero);
    apply(Operator::bit_and, Role::second, 56); // bits before the zero byte
    constant(zero, -1);
    apply(Operator::shift_left, zero, Role::second);
    invert(zero);
    apply(Operator::bit_and, Role::result, zero);
    store(word, Role::result);
    bind(clear);
    apply(Operator::add, Role::entry, 8);
    count_down(left, read);
    store_number(word, 0);
    jump(clear);
    bind(next);
    apply(Operator::add, Role::entry, 8);
    count_down(left, loop, false);
    bind(read);
    constant(Role::result, 1);
    return_from_routine();
}

// Role::result: address, Role::entry: bytes, up to 8; the others as find_lasting() wants them. To Role::result: the value there, or 0 if the
// kernel finds nothing there. To Role::second: 1, or 0 if it cannot be read: then that is counted.
void Compiler::word_routine()
{
    const auto away = label(), byte = label(), nothing = label(), unread = label(), read = label(), whole = label();
    begin(routines_.word);
    untag(Role::result);
    find_lasting(away);
    jump_if(Is::not_below, Role::index, Role::entry, whole);
    apply(Operator::subtract, Role::result, Role::seen);
    jump(away);
    bind(whole);
    constant(Role::tag, 0);
    bind(byte); // the highest first
    apply(Operator::shift_left, Role::tag, 8);
    load(Role::seen, {Role::result, size_t(-1), Role::entry, 1, 1});
    apply(Operator::bit_or, Role::tag, Role::seen);
    count_down(Role::entry, byte, false);
    move(Role::result, Role::tag);
    jump(read);

    bind(away);
    move(Role::second, Role::result);
    apply(Operator::shift_right, Role::second, 12);
    jump_if_zero(Role::second, nothing);
    if (environment_.system_calls) {
        ask_for_calls(unread);
        push({Role::block, Role::recorded});
        move_stack(-48); // two struct iovec, and the word
        address(Role::second, on_stack(32));
        store(on_stack(0), Role::second);
        store(on_stack(8), Role::entry);
        store(on_stack(16), Role::result);
        store(on_stack(24), Role::entry);
        store_number(on_stack(32), 0);
        system_call(SystemCall::process_vm_readv,
                    {Word{Role::tag, offsetof(Mark, pid)}, AddressOf{on_stack(0)}, 1, AddressOf{on_stack(16)}, 1, 0});
        load(Role::entry, on_stack(32));
        move_stack(48);
        pop({Role::block, Role::recorded});
        heed_filter(nothing, unread);
        move(Role::result, Role::entry);
        jump(read);
    }
    end_unread(unread, Role::second);
    bind(nothing);
    constant(Role::result, 0);
    bind(read);
    constant(Role::second, 1);
    return_from_routine();
}

// To Role::result: the thread's id and its like. To Role::second: 1, or 0 if the kernel may not be asked: then that is counted.
void Compiler::number_routine(Label routine, SystemCall what)
{
    const auto unread = label();
    begin(routine);
    ask_for_calls(unread);
    system_call(what, {});
    heed_filter(unread, unread);
    constant(Role::second, 1);
    return_from_routine();
    end_unread(unread, Role::second);
}

// number_routine() of the processor that the thread is on, or of its node. The kernel writes both to memory.
void Compiler::processor_routine(Label routine, bool node)
{
    constexpr Word processor = {Role::stack, 0, Role::none, 1, 4}, its_node = {Role::stack, 8, Role::none, 1, 4};
    const auto unread = label();
    begin(routine);
    ask_for_calls(unread);
    push({Role::block, Role::recorded});
    move_stack(-16);
    system_call(SystemCall::getcpu, {AddressOf{on_stack(0)}, AddressOf{on_stack(8)}, 0});
    load(Role::entry, node ? its_node : processor);
    move_stack(16);
    pop({Role::block, Role::recorded});
    heed_filter(unread, unread);
    move(Role::result, Role::entry);
    constant(Role::second, 1);
    return_from_routine();
    end_unread(unread, Role::second);
}

// Role::entry: where string_size bytes of the thread's name go, filled up with zeros. To Role::result: 1, or 0 if the kernel may not be
// asked: then that is counted.
void Compiler::comm_routine()
{
    constexpr int64_t get_name = 16; // PR_GET_NAME, <linux/prctl.h>: 16 bytes
    const auto unread = label();
    begin(routines_.comm);
    zero_bytes(Role::entry, string_size);
    ask_for_calls(unread);
    push({Role::block, Role::recorded});
    system_call(SystemCall::prctl, {get_name, Role::entry});
    pop({Role::block, Role::recorded});
    heed_filter(unread, unread);
    constant(Role::result, 1);
    return_from_routine();
    end_unread(unread, Role::result);
}

} // namespace fastsdt::engine
