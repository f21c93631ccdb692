// SPDX-License-Identifier: BSD-2-Clause
// The routines that all stubs of an arena share. The head of code/x86/routines.cpp says how tables are searched, and
// what an entry's tag means.
//
// On arm64 other threads see stores in any order. So a tag is stored after the keys and values that it stands for
// (stlr, casal), and those are loaded after the tag (ldar). A value that is assigned is exchanged together with its
// tag: casp, or ldaxp and stlxp.
#include "code/arm64/compiler.h"

#include <cerrno>
#include <cstddef>
#include <iterator>

namespace fastsdt::engine::arm64 {

// x0: the slot's word of `owners` to begin at, x1: the complement of the thread pointer, x4: the number of that slot.
// To x4: the thread's block, or 0 if no slot or no memory is left; then the hit is counted as dropped. Changes x0, x1 and x2, and
// nothing else, not even the flags.
void Compiler::acquire_routine()
{
    const auto loop = label(), next = label(), take = label(), allocated = label(), none = label(), mine = label(),
               done = label();
    // allocate() and count_at() change some.
    constexpr Reg kept[] = {x3, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15};
    constexpr Reg slice = x3, owner = x5, block = x10, fresh = x11, left = x15, thread = x7;
    as_.align(16);
    bind(routines_.acquire);
    as_.move_stack(-8 * int64_t(std::size(kept)));
    for (size_t i = 0; i < std::size(kept); i += 2)
        as_.store_pair(frame(8 * i), kept[i], kept[i + 1]);
    as_.move(thread, x1);
    as_.sub(slice, x0, Assembler::shifted(x4, vixl::LSL, 3));
    as_.constant(fresh, 0);
    as_.constant(left, most_threads);
    bind(loop);
    as_.add(owner, slice, Assembler::shifted(x4, vixl::LSL, 3));
    as_.address(block, {.base = owner, .displacement = Tables::blocks});
    as_.load(x0, {.base = owner, .displacement = Tables::owners});
    as_.sub(x1, x0, thread);
    as_.jump_if_zero(x1, mine);
    as_.jump_if_zero(x0, next, false);
    as_.load_acquire(x0, block);
    as_.jump_if_zero(x0, take, false);
    as_.jump_if_zero(fresh, allocated, false);
    as_.constant(x0, tables_.block_size);
    allocate(none);
    as_.move(fresh, x2);
    as_.long_constant(x0, word_of_nothing(tables_, arena_.data));
    for (const Table& table : tables_.maps)
        if (!table.shared && table.entries > 1) {
            as_.address(x1, {.base = fresh, .displacement = int64_t(table.offset)});
            as_.store({.base = x1}, x0);
        }
    bind(allocated);
    as_.constant(x0, 0);
    as_.compare_exchange(block, x0, fresh, environment_.atomics, {x12, x13});
    as_.jump_if_zero(x0, take, false); // another made one meanwhile: ours is for the next slot
    as_.constant(fresh, 0);
    bind(take);
    static_assert(Tables::owners == 0);
    as_.constant(x0, 0);
    as_.compare_exchange(owner, x0, thread, environment_.atomics, {x12, x13});
    as_.jump_if_zero(x0, mine);
    as_.sub(x1, x0, thread); // this thread's signal handler took it in between
    as_.jump_if_zero(x1, mine);
    bind(next);
    as_.add(x4, x4, Assembler::Operand(1));
    as_.logic_and(x4, x4, Assembler::Operand(most_threads - 1));
    as_.sub(left, left, Assembler::Operand(1));
    as_.jump_if_zero(left, loop, false);
    bind(none);
    count_at(Tables::dropped);
    as_.constant(x4, 0);
    as_.jump(done);
    bind(mine);
    as_.load(x4, {.base = block});
    bind(done);
    for (size_t i = 0; i < std::size(kept); i += 2)
        as_.load_pair(kept[i], kept[i + 1], frame(8 * i));
    as_.move_stack(8 * int64_t(std::size(kept)));
    as_.ret();
}

// code/x86/routines.cpp says how a slice is claimed. To x0: the process's slice, or 0. Changes nothing else.
void Compiler::claim_routine()
{
    const auto loop = label(), next = label(), fresh = label(), push = label(), got = label(), ours = label(),
               have = label(), none = label(), done = label();
    constexpr Reg kept[] = {x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15, Assembler::scratch};
    constexpr Reg slice = x3, own = x4, data = x5, state = x6, word = x7, number = x10, seen = x11;
    const auto exchange = [this](Reg address, Reg wanted) { // x0: what is expected, and then what was there
        as_.compare_exchange(address, x0, wanted, environment_.atomics, {x12, x13});
    };
    const auto add_to_free = [&](int64_t by) {
        as_.address(word, {.base = data, .displacement = Tables::free});
        as_.constant(x1, uint64_t(by));
        as_.atomic_add(word, x1, environment_.atomics, {x12, x13});
    };
    const auto find_state = [&] { as_.address(state, {.base = slice, .displacement = Tables::state}); };
    as_.align(16);
    bind(routines_.claim);
    as_.move_stack(-8 * int64_t(std::size(kept)));
    for (size_t i = 0; i < std::size(kept); i += 2)
        as_.store_pair(frame(8 * i), kept[i], kept[i + 1]);
    as_.long_constant(own, arena_.first_mark);
    as_.long_constant(data, arena_.data);
    as_.load_acquire(x0, own);
    as_.jump_if_zero(x0, have, false); // by a hit in another arena
    as_.load(x0, {.base = data, .displacement = Tables::free});
    as_.jump_if_zero(x0, fresh);
    as_.constant(number, Tables::slice_claimed);
    as_.address(word, {.base = data, .displacement = Tables::slices});
    as_.load_acquire(slice, word);
    bind(loop);
    as_.jump_if_zero(slice, fresh);
    find_state();
    as_.load(x0, {.base = state});
    as_.jump_if_zero(x0, next, false);
    static_assert(Tables::slice_free == 0);
    exchange(state, number);
    as_.jump_if_zero(x0, next, false);
    add_to_free(-1);
    as_.jump(got);
    bind(next);
    as_.load(slice, {.base = slice, .displacement = Tables::older});
    as_.jump(loop);
    bind(fresh);
    as_.constant(x0, Tables::slice_size);
    allocate(none);
    as_.move(slice, x2);
    find_state();
    as_.constant(x0, Tables::slice_claimed);
    as_.store({.base = state}, x0);
    as_.address(word, {.base = data, .displacement = Tables::slices});
    as_.load(x0, {.base = word});
    bind(push);
    as_.store({.base = slice, .displacement = Tables::older}, x0);
    as_.move(seen, x0);
    exchange(word, slice);
    as_.sub(seen, seen, x0);
    as_.jump_if_zero(seen, push, false);
    bind(got);
    if (environment_.system_calls) {
        const auto forbidden = label();
        as_.load(x0, {.base = data, .displacement = Tables::no_calls});
        as_.jump_if_zero(x0, forbidden, false);
        as_.load(x0, {.base = own, .displacement = offsetof(Mark, no_calls)});
        as_.jump_if_zero(x0, forbidden, false);
        system_call(172); // getpid, <asm-generic/unistd.h>
        as_.shift_right(x1, x0, 63);
        as_.jump_if_zero(x1, forbidden, false); // a filter's error
        as_.store({.base = own, .displacement = offsetof(Mark, pid)}, x0);
        bind(forbidden);
    }
    // The only thread has the process's number. The parent's it is where the C library did not hear of the fork.
    if (environment_.single_threaded && environment_.tid_offset) {
        const auto asked = label();
        as_.load(x0, {.base = own, .displacement = offsetof(Mark, pid)});
        as_.jump_if_zero(x0, asked, false);
        as_.long_constant(x0, environment_.single_threaded);
        as_.load(x0, {.base = x0, .size = 1});
        as_.jump_if_zero(x0, asked);
        as_.read_system(x0, Assembler::System::thread_pointer);
        as_.address(x0, {.base = x0, .displacement = *environment_.tid_offset});
        as_.load(x0, {.base = x0, .size = 4});
        as_.constant(x1, uint64_t(environment_.pid));
        as_.sub(x1, x0, x1);
        as_.jump_if_zero(x1, asked);
        as_.store({.base = own, .displacement = offsetof(Mark, pid)}, x0);
        bind(asked);
    }
    as_.constant(x0, 0);
    static_assert(offsetof(Mark, slice) == 0);
    exchange(own, slice);
    as_.jump_if_zero(x0, ours);
    as_.store_release(state, xzr);
    add_to_free(1);
    as_.jump(have);
    bind(ours);
    as_.constant(x1, Tables::slice_used);
    as_.store_release(state, x1);
    as_.move(x0, slice);
    bind(have);
    as_.long_constant(x1, arena_.mark);
    as_.store({.base = x1}, x0);
    as_.jump(done);
    bind(none);
    count_at(Tables::dropped);
    as_.constant(x0, 0);
    bind(done);
    for (size_t i = 0; i < std::size(kept); i += 2)
        as_.load_pair(kept[i], kept[i + 1], frame(8 * i));
    as_.move_stack(8 * int64_t(std::size(kept)));
    as_.ret();
}

// In a system call the kernel keeps the first 16 bytes of each vector register and may clear the rest of longer ones
// (Documentation/arch/arm64/sve.rst). So they are saved here, and below them the predicates and FFR, of an eighth of
// their size.
void Compiler::system_call(int number)
{
    constexpr int vectors = 32, predicates = 16, below = 3; // in vectors, for 17 predicates
    const auto at = [](int offset) { return vixl::SVEMemOperand(vixl::sp, offset, vixl::SVE_MUL_VL); };
    const auto p0 = vixl::PRegister(0);
    const auto move_stack = [this](int by) { // in vectors, 31 at once
        for (const int part : {by / 2, by - by / 2})
            as_.put([&](auto& a) { a.addvl(vixl::sp, vixl::sp, part); });
    };
    if (environment_.sve) {
        move_stack(-(vectors + below));
        for (int i = 0; i < vectors; ++i)
            as_.put([&](auto& a) { a.str(vixl::ZRegister(i), at(below + i)); });
        for (int i = 0; i < predicates; ++i)
            as_.put([&](auto& a) { a.str(vixl::PRegister(i), at(i)); });
        as_.put([&](auto& a) { a.rdffr(p0.VnB()); });
        as_.put([&](auto& a) { a.str(p0, at(predicates)); });
    }
    as_.constant(x8, uint64_t(number));
    as_.system_call();
    if (environment_.sve) {
        as_.put([&](auto& a) { a.ldr(p0, at(predicates)); });
        as_.put([&](auto& a) { a.wrffr(p0.VnB()); });
        for (int i = 0; i < predicates; ++i)
            as_.put([&](auto& a) { a.ldr(vixl::PRegister(i), at(i)); });
        for (int i = 0; i < vectors; ++i)
            as_.put([&](auto& a) { a.ldr(vixl::ZRegister(i), at(below + i)); });
        move_stack(vectors + below);
    }
}

// process_vm_readv() of the process x12. One struct iovec at sp says where the bytes go, and
// `pieces` behind it say where they are. Keeps x2 to x4.
void Compiler::call_read(int64_t pieces)
{
    as_.move(x9, x2);
    as_.move(x10, x3);
    as_.move(x11, x4);
    as_.move(x0, x12);
    as_.address(x1, frame(0));
    as_.constant(x2, 1);
    as_.address(x3, frame(16));
    as_.constant(x4, uint64_t(pieces));
    as_.constant(x5, 0);
    system_call(270); // <asm-generic/unistd.h>
    as_.move(x2, x9);
    as_.move(x3, x10);
    as_.move(x4, x11);
}

// code/x86/routines.cpp says what stubs read directly, and why.
//
// x0: address, x1: the program's stack pointer; x6, x7, x9: start and end of memory of the site's module, and how far away it is read.
// To x0: where the address is read, to x7: the bytes from there on that last, to x9: how far away. Jumps to `none` if it does not last; then x0
// is as before. Changes x6 and x8.
void Compiler::find_lasting(Label none)
{
    const auto found = label(), page = label();
    const auto found_between = [&] { // x6 and x7
        as_.sub(x8, x0, x6);
        as_.sub(x7, x7, x6);
        as_.compare(x8, x7);
        as_.jump_if(vixl::lo, found);
    };
    found_between();
    for (const Lasting& memory : environment_.always) {
        as_.constant(x6, memory.start);
        as_.constant(x7, memory.end);
        as_.constant(x9, uint64_t(memory.away));
        found_between();
    }
    as_.constant(x9, 0);
    if (environment_.stack.end != 0) { // all from the stack pointer on, if that is in it
        as_.constant(x6, environment_.stack.start);
        as_.constant(x7, environment_.stack.end);
        as_.compare(x1, x6);
        as_.jump_if(vixl::lo, page);
        as_.compare(x1, x7);
        as_.jump_if(vixl::hs, page);
        as_.move(x6, x1);
        found_between();
        bind(page);
    }
    as_.logic_xor(x7, x0, vixl::XRegister(x1)); // any stack's page that the stack pointer is in
    as_.shift_right(x7, x7, 12);
    as_.jump_if_zero(x7, none, false);
    as_.logic_and(x8, x0, Assembler::Operand(4095));
    as_.constant(x7, 4096);
    bind(found); // x8 of x7 bytes
    as_.sub(x7, x7, x8);
    as_.add(x0, x0, x9);
}

// Jumps to `forbidden` if no system call may be made, or where the process's number is not known. To x6: that number. Changes x7.
void Compiler::ask_for_calls(Label forbidden)
{
    as_.long_constant(x7, arena_.data);
    as_.load(x6, {.base = x7, .displacement = Tables::no_calls});
    as_.jump_if_zero(x6, forbidden, false);
    as_.long_constant(x7, arena_.first_mark);
    as_.load(x6, {.base = x7, .displacement = offsetof(Mark, no_calls)});
    as_.jump_if_zero(x6, forbidden, false);
    as_.load(x6, {.base = x7, .displacement = offsetof(Mark, pid)});
    as_.jump_if_zero(x6, forbidden);
}

// After a system call, whose result is in x0: falls through if it gave one. Jumps to `nothing` if there was nothing to
// read. Any other error is a filter's: then no stub of the process makes a call again. Changes x6 and x7.
void Compiler::heed_filter(Label nothing, Label forbidden)
{
    const auto good = label();
    as_.compare(x0, Assembler::Operand(0));
    as_.jump_if(vixl::ge, good);
    as_.add(x6, x0, Assembler::Operand(EFAULT));
    as_.jump_if_zero(x6, nothing);
    as_.long_constant(x6, arena_.first_mark);
    as_.constant(x7, 1);
    as_.store({.base = x6, .displacement = offsetof(Mark, no_calls)}, x7);
    as_.jump(forbidden);
    bind(good);
}

// Changes x6, x7, x9 and x10.
void Compiler::count_unread()
{
    as_.long_constant(x6, arena_.data + Tables::unread);
    as_.constant(x7, 1);
    as_.atomic_add(x6, x7, environment_.atomics, {x9, x10});
}

// x0: address of a string, x2: where string_size bytes of it go, filled up with zeros; the others as find_lasting()
// wants them. To x0: 1, or 0 if it cannot be read: then that is counted. What does not last the kernel copies, if it may be
// called: any address is safe, even one that another thread unmaps at this moment. Bytes that it finds unmapped end the
// string.
void Compiler::text_routine()
{
    constexpr uint64_t most = string_size - 1, tag = uint64_t(0xff) << 56;
    const auto tidy = label(), bytes = label(), byte = label(), away = label(), read = label(), unread = label();
    const auto zeros = [this] {
        for (size_t i = 0; i < string_size; i += 16)
            as_.store_pair({.base = x2, .displacement = int64_t(i)}, xzr, xzr);
    };
    as_.align(16);
    bind(routines_.text);
    as_.logic_and(x0, x0, Assembler::Operand(int64_t(~tag))); // the processor ignores the tag, the kernel would not
    find_lasting(away);
    as_.move(x8, x7);
    as_.compare(x8, Assembler::Operand(string_size));
    as_.jump_if(vixl::lo, bytes);
    for (size_t i = 0; i < string_size; i += 16) {
        as_.load_pair(x6, x7, {.base = x0, .displacement = int64_t(i)});
        as_.store_pair({.base = x2, .displacement = int64_t(i)}, x6, x7);
    }
    as_.store({.base = x2, .displacement = int64_t(most), .size = 1}, xzr);
    as_.jump(tidy);

    bind(bytes); // x8 of them, one by one; the end of the string has to be among them
    zeros();
    as_.move(x7, x0);
    as_.move(x10, x2);
    bind(byte);
    as_.load(x6, {.base = x7, .size = 1});
    as_.jump_if_zero(x6, read);
    as_.store({.base = x10, .size = 1}, x6);
    as_.add(x7, x7, Assembler::Operand(1));
    as_.add(x10, x10, Assembler::Operand(1));
    as_.sub(x8, x8, Assembler::Operand(1));
    as_.jump_if_zero(x8, byte, false);
    as_.sub(x0, x0, x9);

    bind(away);
    zeros();
    as_.shift_right(x6, x0, 12); // page 0: nothing is mapped there
    as_.jump_if_zero(x6, read);
    if (environment_.system_calls) {
        ask_for_calls(unread);
        as_.move(x12, x6);
        // Three struct iovec: ours; the string up to the end of its page; the rest. The kernel promises to copy each of
        // the latter two whole or not at all.
        as_.move_stack(-48);
        as_.constant(x6, most);
        as_.sub(x1, xzr, x0);
        as_.logic_and(x1, x1, Assembler::Operand(4095));
        as_.compare(x1, x6);
        as_.select(x1, x1, x6, vixl::ls);
        as_.store_pair(frame(0), x2, x6);
        as_.store_pair(frame(16), x0, x1);
        as_.add(x0, x0, x1);
        as_.sub(x6, x6, x1);
        as_.store_pair(frame(32), x0, x6);
        call_read(2);
        as_.move_stack(48);
        heed_filter(tidy, unread);
        as_.jump(tidy);
    }
    bind(unread);
    count_unread();
    as_.constant(x0, 0);
    as_.ret();

    // Zeros behind the first zero. (x - 0x01...) & ~x & 0x80... has its lowest bit in the first byte that is zero.
    bind(tidy);
    const auto loop = label(), clear = label(), next = label();
    constexpr uint64_t ones = 0x0101010101010101;
    as_.constant(x6, string_size / 8); // words to come
    as_.constant(x7, 0);               // 1: the string has ended
    as_.constant(x8, ones);
    bind(loop);
    as_.jump_if_zero(x7, clear, false);
    as_.load(x0, {.base = x2});
    as_.sub(x1, x0, x8);
    as_.logic_bic(x1, x1, x0);
    as_.logic_and(x1, x1, Assembler::Operand(int64_t(ones << 7)));
    as_.jump_if_zero(x1, next);
    as_.constant(x7, 1);
    as_.compute(&vixl::Assembler::rbit, x1, x1);
    as_.compute(&vixl::Assembler::clz, x1, x1);
    as_.logic_and(x1, x1, Assembler::Operand(56)); // bits before the zero byte
    as_.constant(x9, ~uint64_t(0));
    as_.compute(&vixl::Assembler::lslv, x9, x9, x1);
    as_.logic_bic(x0, x0, x9);
    as_.store({.base = x2}, x0);
    as_.jump(next);
    bind(clear);
    as_.store({.base = x2}, xzr);
    bind(next);
    as_.add(x2, x2, Assembler::Operand(8));
    as_.sub(x6, x6, Assembler::Operand(1));
    as_.jump_if_zero(x6, loop, false);
    bind(read);
    as_.constant(x0, 1);
    as_.ret();
}

// x0: address, x2: bytes, up to 8; the others as find_lasting() wants them. To x0: the value there, or 0 if the kernel
// finds nothing there. To x1: 1, or 0 if it cannot be read: then that is counted.
void Compiler::word_routine()
{
    constexpr uint64_t tag = uint64_t(0xff) << 56;
    const auto away = label(), byte = label(), nothing = label(), unread = label(), read = label();
    as_.align(16);
    bind(routines_.word);
    as_.logic_and(x0, x0, Assembler::Operand(int64_t(~tag)));
    const auto whole = label();
    find_lasting(away);
    as_.compare(x7, x2);
    as_.jump_if(vixl::hs, whole);
    as_.sub(x0, x0, x9);
    as_.jump(away);
    bind(whole);
    as_.constant(x6, 0);
    as_.add(x0, x0, x2);
    bind(byte); // the highest first
    as_.sub(x0, x0, Assembler::Operand(1));
    as_.load(x7, {.base = x0, .size = 1});
    as_.add(x6, x7, Assembler::shifted(x6, vixl::LSL, 8));
    as_.sub(x2, x2, Assembler::Operand(1));
    as_.jump_if_zero(x2, byte, false);
    as_.move(x0, x6);
    as_.jump(read);

    bind(away);
    as_.shift_right(x6, x0, 12);
    as_.jump_if_zero(x6, nothing);
    if (environment_.system_calls) {
        ask_for_calls(unread);
        as_.move_stack(-48); // two struct iovec, and the word
        as_.move(x12, x6);
        as_.address(x6, frame(32));
        as_.store_pair(frame(0), x6, x2);
        as_.store_pair(frame(16), x0, x2);
        as_.store(frame(32), xzr);
        call_read(1);
        as_.load(x12, frame(32));
        as_.move_stack(48);
        heed_filter(nothing, unread);
        as_.move(x0, x12);
        as_.jump(read);
    }
    bind(unread);
    count_unread();
    as_.constant(x1, 0);
    as_.ret();
    bind(nothing);
    as_.constant(x0, 0);
    bind(read);
    as_.constant(x1, 1);
    as_.ret();
}

// To x0: the thread's id and its like. To x1: 1, or 0 if the kernel may not be asked.
void Compiler::number_routine(Label routine, Asked what)
{
    const auto unread = label();
    constexpr int getuid = 174, getgid = 176, gettid = 178; // <asm-generic/unistd.h>
    as_.align(16);
    bind(routine);
    ask_for_calls(unread);
    system_call(what == Asked::tid ? gettid : what == Asked::uid ? getuid : getgid);
    heed_filter(unread, unread);
    as_.constant(x1, 1);
    as_.ret();
    bind(unread);
    count_unread();
    as_.constant(x1, 0);
    as_.ret();
}

// x2: where string_size bytes of the thread's name go, filled up with zeros. To x0: 1, or 0 if the kernel may not be asked: then that is
// counted.
void Compiler::comm_routine()
{
    const auto unread = label();
    as_.align(16);
    bind(routines_.comm);
    for (size_t i = 0; i < string_size; i += 16)
        as_.store_pair({.base = x2, .displacement = int64_t(i)}, xzr, xzr);
    ask_for_calls(unread);
    as_.constant(x0, 16); // PR_GET_NAME, <linux/prctl.h>: 16 bytes
    as_.move(x1, x2);
    system_call(167); // prctl, <asm-generic/unistd.h>
    heed_filter(unread, unread);
    as_.constant(x0, 1);
    as_.ret();
    bind(unread);
    count_unread();
    as_.constant(x0, 0);
    as_.ret();
}

// Begins a search in the chunk x5 for the tag x6. To x2: the first entry; to x0: that entry's tag. next_entry() goes
// back to `loop`. Keeps the index in x7, the number of entries seen in x8, and their size in x10. The tag's low bits don't
// matter: they are shifted out. Changes x1.
void Compiler::first_entry(const Table& table, Label loop)
{
    as_.load(x7, memory(of_chunk(Role::table, Chunk::shift)));
    as_.compute(&vixl::Assembler::lsrv, x7, x6, x7);
    as_.constant(x8, 0);
    as_.constant(x10, table.entry_size);
    bind(loop);
    as_.compute(&vixl::Assembler::madd, x2, x7, x10, x5);
    as_.load_acquire(x0, x2);
}

// Continues the search with the next entry, or falls through when it is over. Changes x9.
void Compiler::next_entry(Label loop)
{
    as_.load(x9, memory(of_chunk(Role::table, Chunk::last)));
    as_.add(x7, x7, Assembler::Operand(1));
    as_.logic_and(x7, x7, vixl::XRegister(x9));
    as_.load(x9, memory(of_chunk(Role::table, Chunk::probes)));
    as_.add(x8, x8, Assembler::Operand(1));
    as_.sub(x9, x8, x9);
    as_.shift_right(x9, x9, 63);
    as_.jump_if_zero(x9, loop, false); // fewer
}

// The chunk that is nothing looks as if its entries were free.
void Compiler::leave_nothing(Label full)
{
    as_.load(x9, memory(of_chunk(Role::table, Chunk::probes)));
    as_.jump_if_zero(x9, full);
}

// The keys are at sp. To x2: the entry; to x6: the tag of an entry with these keys; to x0: the tag that the entry has. The two
// differ if the key was deleted. Changes x1, x7 to x10.
void Compiler::find_entry(const Table& table, Label found, Label absent, bool deleted)
{
    const auto loop = label(), compare = label(), other = label(), next = label();
    const size_t words = table.key_bytes() / 8;
    as_.constant(x1, hash_multiplier);
    if (words == 0) {
        as_.move(x6, x1);
    } else {
        as_.load(x6, frame(0));
        as_.compute(&vixl::Assembler::mul, x6, x6, x1);
    }
    for (size_t i = 1; i < words; ++i) {
        as_.logic_xor(x6, x6, Assembler::shifted(x6, vixl::LSR, 29));
        as_.load(x0, frame(8 * i));
        as_.add(x6, x6, x0);
        as_.compute(&vixl::Assembler::mul, x6, x6, x1);
    }
    as_.logic_or(x6, x6, Assembler::Operand(tag_there));
    first_entry(table, loop);
    as_.sub(x1, x0, x6);
    as_.jump_if_zero(x1, other, false);
    bind(compare);
    for (size_t i = 0; i < words; ++i) {
        as_.load(x1, frame(8 * i));
        as_.load(x9, {.base = x2, .displacement = int64_t(table.keys + 8 * i)});
        as_.sub(x1, x1, x9);
        as_.jump_if_zero(x1, next, false);
    }
    as_.jump(found);
    bind(other);
    as_.jump_if_zero(x0, absent);
    if (deleted) {
        as_.add(x1, x1, Assembler::Operand(tag_there - tag_deleted));
        as_.jump_if_zero(x1, compare);
    }
    bind(next);
    next_entry(loop);
    as_.jump(absent);
}

// After find_entry(): fills the entry with zeros, with x3, or with the frame's string. To x2: the entry.
void Compiler::make_entry(const Table& table, Fill fill, Label done, Label full)
{
    const auto loop = label(), next = label();
    const size_t words = table.key_bytes() / 8;
    leave_nothing(full);
    first_entry(table, loop);
    as_.logic_and(x1, x0, Assembler::Operand(tag_used));
    as_.jump_if_zero(x1, next, false);
    as_.sub(x1, x6, Assembler::Operand(tag_there - tag_claimed));
    as_.move(x9, x0);
    as_.compare_exchange(x2, x0, x1, environment_.atomics, {x12, x13});
    as_.sub(x9, x9, x0);
    as_.jump_if_zero(x9, next, false);
    const auto copy = [this](size_t from, size_t to, size_t size) {
        for (size_t i = 0; i < size; i += 8) {
            as_.load(x0, frame(from + i));
            as_.store({.base = x2, .displacement = int64_t(to + i)}, x0);
        }
    };
    copy(0, table.keys, 8 * words);
    if (fill == Fill::number) {
        as_.store({.base = x2, .displacement = int64_t(table.value)}, x3);
    } else if (fill == Fill::text) {
        copy(key_bytes_, table.value, table.value_size);
    } else {
        const auto zero = label();
        as_.address(x9, {.base = x2, .displacement = int64_t(table.value)});
        as_.constant(x1, table.value_size / 8);
        bind(zero);
        as_.store({.base = x9}, xzr);
        as_.add(x9, x9, Assembler::Operand(8));
        as_.sub(x1, x1, Assembler::Operand(1));
        as_.jump_if_zero(x1, zero, false);
    }
    as_.store_release(x2, x6);
    as_.jump(done);
    bind(next);
    next_entry(loop);
    as_.jump(full);
}

// The key is kept in x11.
void Compiler::begin_direct()
{
    as_.move(x11, x0);
}

void Compiler::claim_direct(const Table& table, Label done, Label full)
{
    const auto loop = label(), next = label();
    leave_nothing(full);
    as_.constant(x1, hash_multiplier);
    as_.compute(&vixl::Assembler::mul, x6, x1, x11);
    first_entry(table, loop);
    as_.sub(x1, x0, x11);
    as_.jump_if_zero(x1, done);
    as_.jump_if_zero(x0, next, false);
    as_.compare_exchange(x2, x0, x11, environment_.atomics, {x12, x13});
    as_.jump_if_zero(x0, done);
    as_.sub(x1, x0, x11); // this thread's signal handler made the entry first
    as_.jump_if_zero(x1, done);
    bind(next);
    next_entry(loop);
    as_.jump(full);
}

// x2: the entry, x0: the tag that it has, x3: the value. Changes x15.
void Compiler::exchange_value(const Table&, bool adds, Label done, Label again)
{
    const auto exchange = label();
    const auto new_value = [&] { // to x15; x13: the value that is there
        const auto fresh = label();
        as_.move(x15, x3);
        if (!adds)
            return;
        as_.sub(x1, x0, x6);
        as_.jump_if_zero(x1, fresh, false); // it was deleted: its value is of the past
        as_.add(x15, x15, x13);
        bind(fresh);
    };
    if (environment_.atomics) {
        // exchanges x12 and x13, which we expect there, for x14 and x15
        as_.load(x13, {.base = x2, .displacement = 8});
        as_.move(x14, x6);
        bind(exchange);
        new_value();
        as_.move(x12, x0);
        as_.move(x16, x13);
        as_.clobber(bit(x12) | bit(x13));
        as_.put([](auto& a) { a.caspal(vixl::x12, vixl::x13, vixl::x14, vixl::x15, vixl::MemOperand(vixl::x2)); });
        as_.sub(x1, x12, x0);
        as_.jump_if_zero(x1, again, false); // it was deleted, or brought back
        as_.sub(x1, x13, x16);
        as_.jump_if_zero(x1, exchange, false); // another value came in between
    } else {
        bind(exchange);
        as_.clobber(bit(x12) | bit(x13));
        as_.put([](auto& a) { a.ldaxp(vixl::x12, vixl::x13, vixl::MemOperand(vixl::x2)); });
        as_.sub(x1, x12, x0);
        as_.jump_if_zero(x1, again, false);
        new_value();
        as_.put([](auto& a) { a.stlxp(vixl::w12, vixl::x6, vixl::x15, vixl::MemOperand(vixl::x2)); });
        as_.jump_if_zero(x12, exchange, false);
    }
    as_.jump(done);
}

// Aligned, as a target of calls.
void Compiler::begin_routine(Label routine)
{
    as_.align(16);
    bind(routine);
}

void Compiler::return_from_routine()
{
    as_.ret();
}

void Compiler::load_value(const Table& table, Label absent)
{
    as_.load(x0, {.base = x2, .displacement = int64_t(table.value)});
    as_.barrier_of_loads();
    as_.load(x1, {.base = x2}); // still the same key's
    as_.sub(x1, x1, x6);
    as_.jump_if_zero(x1, absent, false);
}

void Compiler::load_text(const Table& table)
{
    for (size_t i = 0; i < table.value_size; i += 8) {
        as_.load(x0, {.base = x2, .displacement = int64_t(table.value + i)});
        as_.store(frame(key_bytes_ + i), x0);
    }
    as_.barrier_of_loads();
}

void Compiler::erase_entry(const Table&, Role entry)
{
    as_.move(x0, x6);
    as_.sub(x1, x6, Assembler::Operand(tag_there - tag_deleted));
    as_.compare_exchange(reg(entry), x0, x1, environment_.atomics, {x12, x13});
}

void Compiler::jump_unless_there(Role entry, Label to)
{
    as_.load_acquire(x0, reg(entry));
    as_.sub(x0, x0, x6);
    as_.jump_if_zero(x0, to, false);
}

// Changes x8, x9, and x12 to x14.
void Compiler::allocate(Label none)
{
    const auto again = label();
    constexpr auto alignment = int64_t(Chunk::alignment);
    as_.add(x9, x0, Assembler::Operand(alignment - 1));
    as_.logic_and(x9, x9, Assembler::Operand(-alignment));
    as_.long_constant(x8, arena_.data + Tables::next);
    bind(again);
    as_.load(x0, {.base = x8});
    as_.load(x2, {.base = x8, .displacement = Tables::limit - Tables::next});
    as_.add(x1, x0, x9);
    as_.sub(x2, x2, x1);
    as_.shift_right(x2, x2, 63);
    as_.jump_if_zero(x2, none, false);
    as_.move(x14, x0);
    as_.compare_exchange(x8, x0, x1, environment_.atomics, {x12, x13});
    as_.sub(x2, x0, x14);
    as_.jump_if_zero(x2, again, false);
    as_.move(x2, x0);
}

void Compiler::load_chunk(Role to, Word of)
{
    as_.load(reg(to), memory(of));
    as_.logic_and(reg(to), reg(to), Assembler::Operand(-int64_t(Chunk::header)));
}

// Other threads see what is in the chunk before they see its address. Changes x0, x1, x8, x12, x13.
void Compiler::exchange_chunk(const Table& table)
{
    as_.load(x0, memory(of_chunk(Role::table, Chunk::shift)));
    as_.logic_or(x0, x0, vixl::XRegister(x5));
    as_.load(x1, memory(of_chunk(Role::entry, Chunk::shift)));
    as_.logic_or(x1, x1, vixl::XRegister(x2));
    if (table.shared)
        as_.long_constant(x8, arena_.data + table.offset);
    else
        as_.address(x8, {.base = x4, .displacement = int64_t(table.offset)});
    as_.compare_exchange(x8, x0, x1, environment_.atomics, {x12, x13});
}

// Changes x0, x8, x12 and x13.
void Compiler::claim_word(size_t offset)
{
    as_.address(x8, {.base = x4, .displacement = int64_t(offset)});
    as_.constant(x0, 0);
    as_.compare_exchange(x8, x0, x2, environment_.atomics, {x12, x13});
}

void Compiler::data_address(Role to, size_t offset)
{
    as_.long_constant(reg(to), arena_.data + offset);
}

} // namespace fastsdt::engine::arm64
