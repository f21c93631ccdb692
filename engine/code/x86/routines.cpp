// SPDX-License-Identifier: BSD-2-Clause
// The routines that all stubs of an arena share: taking a slot, and tables that have more than one integer for a key or
// are assigned.
//
// An entry's tag is a word of hash with its low bits set, and says what the entry is:
//     0          never used: a search may stop here
//     hash | 3   deleted: any key may use it again; it still has the keys that it had
//     hash | 5   claimed: somebody is writing the keys, and nobody else reads them
//     hash | 7   there
// Each step from one state to the next is one instruction. So a signal handler that comes in between finds one of the
// four, also if it leaves by longjmp. At worst it makes a second entry of the same key, or leaves one entry that nobody
// uses. Of two entries with one key the first in the order of the search counts; deleting deletes both; the reader adds
// up aggregations. A value that is assigned is exchanged together with the tag (cmpxchg16b), so that it cannot get into
// an entry that was deleted and given to another key meanwhile. A table of all threads needs a lock prefix for that,
// one of a single thread none. What becomes of tables that are full is in code/routines.cpp.
//
// An entry stays claimed for ever if a longjmp leaves the code that writes it. Not even the same thread can take it:
// the writer may only be interrupted, and would come back and write into an entry that is another key's by then. So
// that this happens rarely, a number whose key was deleted gets that entry back by one cmpxchg16b. Strings,
// aggregations and new keys take several stores. A key finds no room if most_probes entries in a row stay claimed in a chunk of
// full size.
#include "code/x86/compiler.h"

#include <cerrno>
#include <cstddef>
#include <iterator>

namespace fastsdt::engine::x86 {

// rax: the process's slice, rcx: the complement of the thread pointer, rsi: the number of the slot to begin at.
// To rsi: the thread's block, or 0 if no slot or no memory is left; then the hit is counted as dropped. Changes rcx, and nothing
// else. A thread comes here at each hit if it does not store its thread pointer, or stores another number in its place. Then
// the processor tells the thread pointer.
void Compiler::acquire_routine()
{
    const auto loop = label(), next = label(), take = label(), allocated = label(), none = label(), mine = label(),
               done = label();
    constexpr Reg kept[] = {rax, rdx, rbx, rdi, r8, r9, r10, r11, r12};
    constexpr Reg slice = r8, fresh = r11, left = r12; // rbx: the thread
    constexpr Memory owner{.base = slice, .displacement = Tables::owners, .index = rsi, .scale = 8};
    constexpr Memory block{.base = slice, .displacement = Tables::blocks, .index = rsi, .scale = 8};
    as_.align(16);
    as_.bind(routines_.acquire);
    for (const Reg reg : kept)
        as_.emit(ZYDIS_MNEMONIC_PUSH, {Part{reg}});
    if (environment_.rdfsbase && environment_.stored_thread_pointers) {
        as_.emit(ZYDIS_MNEMONIC_RDFSBASE, {Part{rcx}});
        first_slot();
    }
    as_.move(rbx, rcx);
    as_.move(slice, rax);
    as_.constant(fresh, 0);
    as_.constant(left, int64_t(most_threads));
    as_.bind(loop);
    as_.load(rax, owner);
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{rax}, Part{rbx}});
    as_.jump(ZYDIS_MNEMONIC_JZ, mine);
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{rax}, Part{rax}});
    as_.jump(ZYDIS_MNEMONIC_JNZ, next);
    as_.emit(ZYDIS_MNEMONIC_CMP, {block, int64_t(0)});
    as_.jump(ZYDIS_MNEMONIC_JNZ, take);
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{fresh}, Part{fresh}});
    as_.jump(ZYDIS_MNEMONIC_JNZ, allocated);
    as_.constant(rax, int64_t(tables_.block_size));
    allocate(none);
    as_.move(fresh, rdx);
    as_.long_constant(rax, word_of_nothing(tables_, arena_.data));
    for (const Table& table : tables_.maps)
        if (!table.shared && table.entries > 1)
            as_.store({.base = fresh, .displacement = int64_t(table.offset)}, rax);
    as_.bind(allocated);
    as_.constant(rax, 0);
    as_.emit(ZYDIS_MNEMONIC_CMPXCHG, {block, Part{fresh}}, true);
    as_.jump(ZYDIS_MNEMONIC_JNZ, take); // another made one meanwhile: ours is for the next slot
    as_.constant(fresh, 0);
    as_.bind(take);
    as_.constant(rax, 0);
    as_.emit(ZYDIS_MNEMONIC_CMPXCHG, {owner, Part{rbx}}, true);
    as_.jump(ZYDIS_MNEMONIC_JZ, mine);
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{rax}, Part{rbx}}); // this thread's signal handler took it in between
    as_.jump(ZYDIS_MNEMONIC_JZ, mine);
    as_.bind(next);
    as_.emit(ZYDIS_MNEMONIC_ADD, {Part{rsi, 4}, int64_t(1)});
    as_.emit(ZYDIS_MNEMONIC_AND, {Part{rsi, 4}, int64_t(most_threads - 1)});
    as_.emit(ZYDIS_MNEMONIC_SUB, {Part{left, 4}, int64_t(1)});
    as_.jump(ZYDIS_MNEMONIC_JNZ, loop);
    as_.bind(none);
    count_at(Tables::dropped);
    as_.constant(rsi, 0);
    as_.jump(ZYDIS_MNEMONIC_JMP, done);
    as_.bind(mine);
    as_.load(rsi, block);
    as_.bind(done);
    for (size_t i = std::size(kept); i-- > 0;)
        as_.emit(ZYDIS_MNEMONIC_POP, {Part{kept[i]}});
    as_.emit(ZYDIS_MNEMONIC_RET, {});
}

// Of a forked child whose mark is wiped. To rax: its slice, or 0 if no memory is left; then the hit is counted as dropped. Changes
// nothing else. Threads and signal handlers may claim at once: the first to write the mark names the slice, and the others make
// theirs free again.
void Compiler::claim_routine()
{
    const auto loop = label(), next = label(), fresh = label(), push = label(), got = label(), ours = label(),
               have = label(), none = label(), done = label();
    constexpr Reg kept[] = {rcx, rdx, rbx, r8, r9, r10, r11};
    constexpr Reg slice = rdx, own = rbx, data = r8;
    constexpr Memory state{.base = slice, .displacement = Tables::state},
        older{.base = slice, .displacement = Tables::older}, newest{.base = data, .displacement = Tables::slices},
        free{.base = data, .displacement = Tables::free}, mark{.base = own, .displacement = offsetof(Mark, slice)};
    const auto expect = [this](uint64_t value) { as_.constant(rax, int64_t(value)); };
    as_.align(16);
    as_.bind(routines_.claim);
    for (const Reg reg : kept)
        as_.emit(ZYDIS_MNEMONIC_PUSH, {Part{reg}});
    as_.long_constant(own, arena_.first_mark);
    as_.long_constant(data, arena_.data);
    as_.load(rax, mark);
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{rax}, Part{rax}}); // by a hit in another arena
    as_.jump(ZYDIS_MNEMONIC_JNZ, have);
    as_.emit(ZYDIS_MNEMONIC_CMP, {free, int64_t(0)});
    as_.jump(ZYDIS_MNEMONIC_JZ, fresh);
    as_.constant(rcx, int64_t(Tables::slice_claimed));
    as_.load(slice, newest);
    as_.bind(loop);
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{slice}, Part{slice}});
    as_.jump(ZYDIS_MNEMONIC_JZ, fresh);
    as_.emit(ZYDIS_MNEMONIC_CMP, {state, int64_t(Tables::slice_free)});
    as_.jump(ZYDIS_MNEMONIC_JNZ, next);
    expect(Tables::slice_free);
    as_.emit(ZYDIS_MNEMONIC_CMPXCHG, {state, Part{rcx}}, true);
    as_.jump(ZYDIS_MNEMONIC_JNZ, next);
    as_.emit(ZYDIS_MNEMONIC_DEC, {free}, true);
    as_.jump(ZYDIS_MNEMONIC_JMP, got);
    as_.bind(next);
    as_.load(slice, older);
    as_.jump(ZYDIS_MNEMONIC_JMP, loop);
    as_.bind(fresh);
    as_.constant(rax, int64_t(Tables::slice_size));
    allocate(none);
    as_.emit(ZYDIS_MNEMONIC_MOV, {state, int64_t(Tables::slice_claimed)});
    as_.load(rax, newest);
    as_.bind(push);
    as_.store(older, rax);
    as_.emit(ZYDIS_MNEMONIC_CMPXCHG, {newest, Part{slice}}, true);
    as_.jump(ZYDIS_MNEMONIC_JNZ, push);
    as_.bind(got);
    if (environment_.system_calls) {
        const auto forbidden = label();
        as_.emit(ZYDIS_MNEMONIC_CMP, {Memory{.base = data, .displacement = Tables::no_calls}, int64_t(0)});
        as_.jump(ZYDIS_MNEMONIC_JNZ, forbidden);
        as_.emit(ZYDIS_MNEMONIC_CMP, {Memory{.base = own, .displacement = offsetof(Mark, no_calls)}, int64_t(0)});
        as_.jump(ZYDIS_MNEMONIC_JNZ, forbidden);
        system_call(39); // getpid, <asm/unistd_64.h>
        as_.emit(ZYDIS_MNEMONIC_TEST, {Part{rax}, Part{rax}});
        as_.jump(ZYDIS_MNEMONIC_JS, forbidden); // a filter's error
        as_.store({.base = own, .displacement = offsetof(Mark, pid)}, rax);
        as_.bind(forbidden);
    }
    // The only thread has the process's number. The parent's it is where the C library did not hear of the fork.
    if (environment_.single_threaded && environment_.tid_offset) {
        const auto asked = as_.label();
        as_.emit(ZYDIS_MNEMONIC_CMP, {Memory{.base = own, .displacement = offsetof(Mark, pid)}, int64_t(0)});
        as_.jump(ZYDIS_MNEMONIC_JNZ, asked);
        as_.long_constant(rax, environment_.single_threaded);
        as_.emit(ZYDIS_MNEMONIC_MOVZX, {Part{rax, 4}, Memory{.base = rax, .size = 1}});
        as_.emit(ZYDIS_MNEMONIC_TEST, {Part{rax, 4}, Part{rax, 4}});
        as_.jump(ZYDIS_MNEMONIC_JZ, asked);
        as_.emit(ZYDIS_MNEMONIC_MOV,
                 {Part{rax, 4}, Memory{.displacement = *environment_.tid_offset, .size = 4, .fs = true}});
        as_.emit(ZYDIS_MNEMONIC_CMP, {Part{rax, 4}, int64_t(environment_.pid)});
        as_.jump(ZYDIS_MNEMONIC_JZ, asked);
        as_.store({.base = own, .displacement = offsetof(Mark, pid)}, rax);
        as_.bind(asked);
    }
    expect(0);
    as_.emit(ZYDIS_MNEMONIC_CMPXCHG, {mark, Part{slice}}, true);
    as_.jump(ZYDIS_MNEMONIC_JZ, ours);
    as_.emit(ZYDIS_MNEMONIC_MOV, {state, int64_t(Tables::slice_free)});
    as_.emit(ZYDIS_MNEMONIC_INC, {free}, true);
    as_.jump(ZYDIS_MNEMONIC_JMP, have);
    as_.bind(ours);
    as_.emit(ZYDIS_MNEMONIC_MOV, {state, int64_t(Tables::slice_used)});
    as_.move(rax, slice);
    as_.bind(have);
    as_.long_constant(rcx, arena_.mark);
    as_.store({.base = rcx, .displacement = offsetof(Mark, slice)}, rax);
    as_.jump(ZYDIS_MNEMONIC_JMP, done);
    as_.bind(none);
    count_at(Tables::dropped);
    as_.constant(rax, 0);
    as_.bind(done);
    for (size_t i = std::size(kept); i-- > 0;)
        as_.emit(ZYDIS_MNEMONIC_POP, {Part{kept[i]}});
    as_.emit(ZYDIS_MNEMONIC_RET, {});
}

void Compiler::system_call(int number)
{
    as_.constant(rax, number);
    as_.emit(ZYDIS_MNEMONIC_SYSCALL, {});
    as_.clobber(bit(rax) | bit(rcx) | bit(r11));
}

// Bytes of memory that lasts while the stub runs are read directly: no note or pointer, however wrong, makes a stub touch
// memory that may not be there. environment.h: which modules and which stack last.
//
// rax: address, rcx: the program's stack pointer; r8, r9, r11: start and end of memory of the site's module, and how far away it is read.
// To rax: where the address is read, to r9: the bytes from there on that last. Jumps to `none` if it does not last; then rax is as before.
// Changes r8, r10 and r11.
void Compiler::find_lasting(Label none)
{
    const auto found = as_.label(), page = as_.label();
    const auto found_between = [&] { // r8 and r9
        as_.move(r10, rax);
        as_.emit(ZYDIS_MNEMONIC_SUB, {Part{r10}, Part{r8}});
        as_.emit(ZYDIS_MNEMONIC_SUB, {Part{r9}, Part{r8}});
        as_.emit(ZYDIS_MNEMONIC_CMP, {Part{r10}, Part{r9}});
        as_.jump(ZYDIS_MNEMONIC_JB, found);
    };
    found_between();
    for (const Lasting& memory : environment_.always) {
        as_.constant(r8, int64_t(memory.start));
        as_.constant(r9, int64_t(memory.end));
        as_.constant(r11, memory.away);
        found_between();
    }
    as_.constant(r11, 0);
    if (environment_.stack.end != 0) { // all from the stack pointer on, if that is in it
        as_.constant(r8, int64_t(environment_.stack.start));
        as_.constant(r9, int64_t(environment_.stack.end));
        as_.emit(ZYDIS_MNEMONIC_CMP, {Part{rcx}, Part{r8}});
        as_.jump(ZYDIS_MNEMONIC_JB, page);
        as_.move(r8, rcx);
        as_.emit(ZYDIS_MNEMONIC_CMP, {Part{rcx}, Part{r9}});
        as_.jump(ZYDIS_MNEMONIC_JNB, page);
        found_between();
        as_.bind(page);
    }
    as_.move(r9, rax); // any stack's page that the stack pointer is in
    as_.emit(ZYDIS_MNEMONIC_XOR, {Part{r9}, Part{rcx}});
    as_.emit(ZYDIS_MNEMONIC_SHR, {Part{r9}, int64_t(12)});
    as_.jump(ZYDIS_MNEMONIC_JNZ, none);
    as_.move(r10, rax);
    as_.emit(ZYDIS_MNEMONIC_AND, {Part{r10}, int64_t(4095)});
    as_.constant(r9, 4096);
    as_.bind(found); // r10 of r9 bytes
    as_.emit(ZYDIS_MNEMONIC_SUB, {Part{r9}, Part{r10}});
    as_.emit(ZYDIS_MNEMONIC_ADD, {Part{rax}, Part{r11}});
}

// Jumps to `forbidden` if no system call may be made, or where the process's number is not known. To r10: the first mark.
void Compiler::ask_for_calls(Label forbidden)
{
    const auto jump_if = [&](size_t offset, ZydisMnemonic condition) {
        as_.emit(ZYDIS_MNEMONIC_CMP, {Memory{.base = r10, .displacement = int64_t(offset)}, int64_t(0)});
        as_.jump(condition, forbidden);
    };
    as_.long_constant(r10, arena_.data);
    jump_if(Tables::no_calls, ZYDIS_MNEMONIC_JNZ);
    as_.long_constant(r10, arena_.first_mark);
    jump_if(offsetof(Mark, no_calls), ZYDIS_MNEMONIC_JNZ);
    jump_if(offsetof(Mark, pid), ZYDIS_MNEMONIC_JZ);
}

// After a system call: falls through if it gave a result. Jumps to `nothing` if there was nothing to read. Any other error
// is a filter's, since the kernel knows no other here: then no stub of the process makes a call again. Changes r10.
void Compiler::heed_filter(Label nothing, Label forbidden)
{
    const auto good = as_.label();
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{rax}, Part{rax}});
    as_.jump(ZYDIS_MNEMONIC_JNS, good);
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{rax}, int64_t(-EFAULT)});
    as_.jump(ZYDIS_MNEMONIC_JZ, nothing);
    as_.long_constant(r10, arena_.first_mark);
    as_.emit(ZYDIS_MNEMONIC_MOV, {Memory{.base = r10, .displacement = offsetof(Mark, no_calls)}, int64_t(1)});
    as_.jump(ZYDIS_MNEMONIC_JMP, forbidden);
    as_.bind(good);
}

// Changes r10.
void Compiler::count_unread()
{
    as_.long_constant(r10, arena_.data);
    as_.emit(ZYDIS_MNEMONIC_INC, {Memory{.base = r10, .displacement = int64_t(Tables::unread)}}, true);
}

// rax: address of a string, rdx: where string_size bytes of it go, filled up with zeros; the others as find_lasting()
// wants them. To rax: 1, or 0 if it cannot be read: then that is counted.
//
// What does not last the kernel copies, if it may be called: any address is safe, even one that another thread unmaps at
// this moment. Bytes that it finds unmapped end the string. A cheaper call that only tells whether a page is there
// (rt_sigprocmask with a wrong first argument, 150 ns) is no help: another thread may unmap the page between that call and
// the read, and the program would die.
void Compiler::text_routine()
{
    constexpr int64_t most = string_size - 1;
    const auto tidy = as_.label(), bytes = as_.label(), byte = as_.label(), away = as_.label(), read = as_.label(),
               unread = as_.label(), leave = as_.label();
    const auto zeros = [this] {
        for (size_t i = 0; i < string_size; i += 8)
            as_.emit(ZYDIS_MNEMONIC_MOV, {Memory{.base = rdi, .displacement = int64_t(i)}, int64_t(0)});
    };
    as_.align(16);
    as_.bind(routines_.text);
    as_.emit(ZYDIS_MNEMONIC_PUSH, {Part{rsi}});
    as_.emit(ZYDIS_MNEMONIC_PUSH, {Part{rdi}});
    as_.move(rdi, rdx);
    find_lasting(away);
    as_.move(rsi, r11);
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{r9}, int64_t(string_size)});
    as_.jump(ZYDIS_MNEMONIC_JB, bytes);
    for (size_t i = 0; i < string_size; i += 8) {
        as_.load(r11, {.base = rax, .displacement = int64_t(i)});
        as_.store({.base = rdi, .displacement = int64_t(i)}, r11);
    }
    as_.emit(ZYDIS_MNEMONIC_MOV, {Memory{.base = rdi, .displacement = most, .size = 1}, int64_t(0)});
    as_.jump(ZYDIS_MNEMONIC_JMP, tidy);

    as_.bind(bytes); // r9 of them, one by one; the end of the string has to be among them
    zeros();
    as_.constant(rcx, 0);
    as_.bind(byte);
    as_.emit(ZYDIS_MNEMONIC_MOVZX, {Part{r11, 4}, Memory{.base = rax, .index = rcx, .size = 1}});
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{r11, 4}, Part{r11, 4}});
    as_.jump(ZYDIS_MNEMONIC_JZ, read);
    as_.emit(ZYDIS_MNEMONIC_MOV, {Memory{.base = rdi, .index = rcx, .size = 1}, Part{r11, 1}});
    as_.emit(ZYDIS_MNEMONIC_ADD, {Part{rcx, 4}, int64_t(1)});
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{rcx}, Part{r9}});
    as_.jump(ZYDIS_MNEMONIC_JB, byte);
    as_.emit(ZYDIS_MNEMONIC_SUB, {Part{rax}, Part{rsi}});

    as_.bind(away);
    zeros();
    as_.move(rcx, rax);
    as_.emit(ZYDIS_MNEMONIC_SHR, {Part{rcx}, int64_t(12)}); // page 0: nothing is mapped there
    as_.jump(ZYDIS_MNEMONIC_JZ, read);
    if (environment_.system_calls) {
        const auto nothing = as_.label();
        ask_for_calls(unread);
        as_.emit(ZYDIS_MNEMONIC_PUSH, {Part{rdi}});
        as_.load(r11, {.base = r10, .displacement = offsetof(Mark, pid)});
        // Three struct iovec: ours; the string up to the end of its page; the rest. The kernel promises to copy each of
        // the latter two whole or not at all.
        as_.address(rsp, {.base = rsp, .displacement = -48});
        as_.store({.base = rsp}, rdi);
        as_.emit(ZYDIS_MNEMONIC_MOV, {Memory{.base = rsp, .displacement = 8}, most});
        as_.store({.base = rsp, .displacement = 16}, rax);
        as_.move(rcx, rax);
        as_.emit(ZYDIS_MNEMONIC_NEG, {Part{rcx}});
        as_.emit(ZYDIS_MNEMONIC_AND, {Part{rcx, 4}, int64_t(4095)});
        as_.constant(rdx, most);
        as_.emit(ZYDIS_MNEMONIC_CMP, {Part{rcx}, Part{rdx}});
        as_.emit(ZYDIS_MNEMONIC_CMOVNBE, {Part{rcx}, Part{rdx}});
        as_.store({.base = rsp, .displacement = 24}, rcx);
        as_.emit(ZYDIS_MNEMONIC_ADD, {Part{rax}, Part{rcx}});
        as_.store({.base = rsp, .displacement = 32}, rax);
        as_.emit(ZYDIS_MNEMONIC_SUB, {Part{rdx}, Part{rcx}});
        as_.store({.base = rsp, .displacement = 40}, rdx);
        as_.move(rdi, r11);
        as_.move(rsi, rsp);
        as_.constant(rdx, 1);
        as_.address(r10, {.base = rsp, .displacement = 16});
        as_.constant(r8, 2);
        as_.constant(r9, 0);
        system_call(310); // process_vm_readv, <asm/unistd_64.h>
        as_.address(rsp, {.base = rsp, .displacement = 48});
        as_.emit(ZYDIS_MNEMONIC_POP, {Part{rdi}});
        heed_filter(nothing, unread);
        as_.bind(nothing);
        as_.jump(ZYDIS_MNEMONIC_JMP, tidy);
    }
    as_.bind(unread);
    count_unread();
    as_.constant(rax, 0);
    as_.jump(ZYDIS_MNEMONIC_JMP, leave);

    // Zeros behind the first zero. (x - 0x01...) & ~x & 0x80... has its lowest bit in the first byte that is zero.
    as_.bind(tidy);
    const auto loop = as_.label(), clear = as_.label(), next = as_.label();
    as_.constant(rcx, 0); // word
    as_.constant(r9, 0);  // 1: the string has ended
    as_.constant(r10, 0x0101010101010101);
    as_.bind(loop);
    const Memory word{.base = rdi, .index = rcx, .scale = 8};
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{r9, 4}, Part{r9, 4}});
    as_.jump(ZYDIS_MNEMONIC_JNZ, clear);
    as_.load(rax, word);
    as_.move(rdx, rax);
    as_.emit(ZYDIS_MNEMONIC_NOT, {Part{rdx}});
    as_.move(r8, rax);
    as_.emit(ZYDIS_MNEMONIC_SUB, {Part{r8}, Part{r10}});
    as_.emit(ZYDIS_MNEMONIC_AND, {Part{rdx}, Part{r8}});
    as_.move(r8, r10);
    as_.emit(ZYDIS_MNEMONIC_SHL, {Part{r8}, int64_t(7)});
    as_.emit(ZYDIS_MNEMONIC_AND, {Part{rdx}, Part{r8}});
    as_.jump(ZYDIS_MNEMONIC_JZ, next);
    as_.constant(r9, 1);
    as_.emit(ZYDIS_MNEMONIC_BSF, {Part{rdx}, Part{rdx}});
    as_.emit(ZYDIS_MNEMONIC_AND, {Part{rdx, 4}, int64_t(56)}); // bits before the zero byte
    as_.move(r11, rcx);
    as_.move(rcx, rdx);
    as_.constant(rdx, -1);
    as_.emit(ZYDIS_MNEMONIC_SHL, {Part{rdx}, Part{rcx, 1}});
    as_.move(rcx, r11);
    as_.emit(ZYDIS_MNEMONIC_NOT, {Part{rdx}});
    as_.emit(ZYDIS_MNEMONIC_AND, {Part{rax}, Part{rdx}});
    as_.store(word, rax);
    as_.jump(ZYDIS_MNEMONIC_JMP, next);
    as_.bind(clear);
    as_.emit(ZYDIS_MNEMONIC_MOV, {word, int64_t(0)});
    as_.bind(next);
    as_.emit(ZYDIS_MNEMONIC_ADD, {Part{rcx, 4}, int64_t(1)});
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{rcx, 4}, int64_t(string_size / 8)});
    as_.jump(ZYDIS_MNEMONIC_JNZ, loop);
    as_.bind(read);
    as_.constant(rax, 1);
    as_.bind(leave);
    as_.emit(ZYDIS_MNEMONIC_POP, {Part{rdi}});
    as_.emit(ZYDIS_MNEMONIC_POP, {Part{rsi}});
    as_.emit(ZYDIS_MNEMONIC_RET, {});
}

// rax: address, rdx: bytes, up to 8; the others as find_lasting() wants them. To rax: the value there, or 0 if the
// kernel finds nothing there. To rcx: 1, or 0 if it cannot be read: then that is counted.
void Compiler::word_routine()
{
    const auto away = as_.label(), byte = as_.label(), nothing = as_.label(), unread = as_.label(), read = as_.label(),
               leave = as_.label();
    as_.align(16);
    as_.bind(routines_.word);
    as_.emit(ZYDIS_MNEMONIC_PUSH, {Part{rsi}});
    as_.emit(ZYDIS_MNEMONIC_PUSH, {Part{rdi}});
    const auto whole = as_.label();
    find_lasting(away);
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{r9}, Part{rdx}});
    as_.jump(ZYDIS_MNEMONIC_JNB, whole);
    as_.emit(ZYDIS_MNEMONIC_SUB, {Part{rax}, Part{r11}});
    as_.jump(ZYDIS_MNEMONIC_JMP, away);
    as_.bind(whole);
    as_.constant(r10, 0);
    as_.bind(byte); // the highest first
    as_.emit(ZYDIS_MNEMONIC_SHL, {Part{r10}, int64_t(8)});
    as_.emit(ZYDIS_MNEMONIC_MOVZX, {Part{r11, 4}, Memory{.base = rax, .displacement = -1, .index = rdx, .size = 1}});
    as_.emit(ZYDIS_MNEMONIC_OR, {Part{r10}, Part{r11}});
    as_.emit(ZYDIS_MNEMONIC_SUB, {Part{rdx, 4}, int64_t(1)});
    as_.jump(ZYDIS_MNEMONIC_JNZ, byte);
    as_.move(rax, r10);
    as_.jump(ZYDIS_MNEMONIC_JMP, read);

    as_.bind(away);
    as_.move(rcx, rax);
    as_.emit(ZYDIS_MNEMONIC_SHR, {Part{rcx}, int64_t(12)});
    as_.jump(ZYDIS_MNEMONIC_JZ, nothing);
    if (environment_.system_calls) {
        ask_for_calls(unread);
        as_.load(rdi, {.base = r10, .displacement = offsetof(Mark, pid)});
        as_.address(rsp, {.base = rsp, .displacement = -40}); // two struct iovec, and the word
        as_.address(r10, {.base = rsp, .displacement = 32});
        as_.store({.base = rsp}, r10);
        as_.store({.base = rsp, .displacement = 8}, rdx);
        as_.store({.base = rsp, .displacement = 16}, rax);
        as_.store({.base = rsp, .displacement = 24}, rdx);
        as_.emit(ZYDIS_MNEMONIC_MOV, {Memory{.base = rsp, .displacement = 32}, int64_t(0)});
        as_.move(rsi, rsp);
        as_.constant(rdx, 1);
        as_.address(r10, {.base = rsp, .displacement = 16});
        as_.constant(r8, 1);
        as_.constant(r9, 0);
        system_call(310);
        as_.load(rdx, {.base = rsp, .displacement = 32});
        as_.address(rsp, {.base = rsp, .displacement = 40});
        heed_filter(nothing, unread);
        as_.move(rax, rdx);
        as_.jump(ZYDIS_MNEMONIC_JMP, read);
    }
    as_.bind(unread);
    count_unread();
    as_.constant(rcx, 0);
    as_.jump(ZYDIS_MNEMONIC_JMP, leave);
    as_.bind(nothing);
    as_.constant(rax, 0);
    as_.bind(read);
    as_.constant(rcx, 1);
    as_.bind(leave);
    as_.emit(ZYDIS_MNEMONIC_POP, {Part{rdi}});
    as_.emit(ZYDIS_MNEMONIC_POP, {Part{rsi}});
    as_.emit(ZYDIS_MNEMONIC_RET, {});
}

// To rax: the thread's id and its like. To rcx: 1, or 0 if the kernel may not be asked.
void Compiler::number_routine(Label routine, Asked what)
{
    const auto unread = as_.label();
    constexpr int getuid = 102, getgid = 104, gettid = 186; // <asm/unistd_64.h>
    as_.align(16);
    as_.bind(routine);
    ask_for_calls(unread);
    system_call(what == Asked::tid ? gettid : what == Asked::uid ? getuid : getgid);
    heed_filter(unread, unread);
    as_.constant(rcx, 1);
    as_.emit(ZYDIS_MNEMONIC_RET, {});
    as_.bind(unread);
    count_unread();
    as_.constant(rcx, 0);
    as_.emit(ZYDIS_MNEMONIC_RET, {});
}

// rdx: where string_size bytes of the thread's name go, filled up with zeros. To rax: 1, or 0 if the kernel may not be asked: then that is
// counted.
void Compiler::comm_routine()
{
    const auto unread = as_.label(), leave = as_.label();
    as_.align(16);
    as_.bind(routines_.comm);
    as_.emit(ZYDIS_MNEMONIC_PUSH, {Part{rsi}});
    as_.emit(ZYDIS_MNEMONIC_PUSH, {Part{rdi}});
    for (size_t i = 0; i < string_size; i += 8)
        as_.emit(ZYDIS_MNEMONIC_MOV, {Memory{.base = rdx, .displacement = int64_t(i)}, int64_t(0)});
    ask_for_calls(unread);
    as_.constant(rdi, 16); // PR_GET_NAME, <linux/prctl.h>: 16 bytes
    as_.move(rsi, rdx);
    system_call(157); // prctl, <asm/unistd_64.h>
    heed_filter(unread, unread);
    as_.constant(rax, 1);
    as_.jump(ZYDIS_MNEMONIC_JMP, leave);
    as_.bind(unread);
    count_unread();
    as_.constant(rax, 0);
    as_.bind(leave);
    as_.emit(ZYDIS_MNEMONIC_POP, {Part{rdi}});
    as_.emit(ZYDIS_MNEMONIC_POP, {Part{rsi}});
    as_.emit(ZYDIS_MNEMONIC_RET, {});
}

// Begins a search in the chunk r8 for the tag r10. To rdx: the first entry; to rax: that entry's tag. next_entry() goes
// back to `loop`. Keeps the index in r9 and the number of entries seen in r11. The tag's low bits don't matter: they are shifted
// out. Changes rcx.
void Compiler::first_entry(const Table& table, Label loop)
{
    as_.load(rcx, memory(of_chunk(Role::table, Chunk::shift)));
    as_.move(r9, r10);
    as_.emit(ZYDIS_MNEMONIC_SHR, {Part{r9}, Part{rcx, 1}});
    as_.constant(r11, 0);
    as_.bind(loop);
    as_.emit(ZYDIS_MNEMONIC_IMUL, {Part{rdx}, Part{r9}, int64_t(table.entry_size)});
    as_.emit(ZYDIS_MNEMONIC_ADD, {Part{rdx}, Part{r8}});
    as_.load(rax, {.base = rdx});
}

// Continues the search with the next entry, or falls through when it is over.
void Compiler::next_entry(Label loop)
{
    as_.emit(ZYDIS_MNEMONIC_ADD, {Part{r9, 4}, int64_t(1)});
    as_.emit(ZYDIS_MNEMONIC_AND, {Part{r9}, memory(of_chunk(Role::table, Chunk::last))});
    as_.emit(ZYDIS_MNEMONIC_ADD, {Part{r11, 4}, int64_t(1)});
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{r11}, memory(of_chunk(Role::table, Chunk::probes))});
    as_.jump(ZYDIS_MNEMONIC_JB, loop);
}

// The chunk that is nothing looks as if its entries were free.
void Compiler::leave_nothing(Label full)
{
    as_.emit(ZYDIS_MNEMONIC_CMP, {memory(of_chunk(Role::table, Chunk::probes)), int64_t(0)});
    as_.jump(ZYDIS_MNEMONIC_JZ, full);
}

Memory Compiler::key_word(size_t index) const
{
    return {.base = rsp, .displacement = keys_ + int64_t(8 * index)};
}

// To rdx: the entry; to r10: the tag of an entry with these keys; to rax: the tag that the entry has. The two differ if the
// key was deleted. Changes rcx, r9 and r11.
void Compiler::find_entry(const Table& table, Label found, Label absent, bool deleted)
{
    const auto loop = as_.label(), compare = as_.label(), other = as_.label(), next = as_.label();
    const size_t words = table.key_bytes() / 8;
    as_.constant(r9, int64_t(hash_multiplier));
    if (words == 0) {
        as_.move(r10, r9);
    } else {
        as_.load(r10, key_word(0));
        as_.emit(ZYDIS_MNEMONIC_IMUL, {Part{r10}, Part{r9}});
    }
    for (size_t i = 1; i < words; ++i) {
        as_.move(rcx, r10);
        as_.emit(ZYDIS_MNEMONIC_SHR, {Part{rcx}, int64_t(29)});
        as_.emit(ZYDIS_MNEMONIC_XOR, {Part{r10}, Part{rcx}});
        as_.emit(ZYDIS_MNEMONIC_ADD, {Part{r10}, key_word(i)});
        as_.emit(ZYDIS_MNEMONIC_IMUL, {Part{r10}, Part{r9}});
    }
    as_.emit(ZYDIS_MNEMONIC_OR, {Part{r10}, tag_there});
    first_entry(table, loop);
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{rax}, Part{r10}});
    as_.jump(ZYDIS_MNEMONIC_JNZ, other);
    as_.bind(compare);
    for (size_t i = 0; i < words; ++i) {
        as_.load(rcx, key_word(i));
        as_.emit(ZYDIS_MNEMONIC_CMP, {Part{rcx}, Memory{.base = rdx, .displacement = int64_t(table.keys + 8 * i)}});
        as_.jump(ZYDIS_MNEMONIC_JNZ, next);
    }
    as_.jump(ZYDIS_MNEMONIC_JMP, found);
    as_.bind(other);
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{rax}, Part{rax}});
    as_.jump(ZYDIS_MNEMONIC_JZ, absent);
    if (deleted) {
        as_.address(rcx, {.base = r10, .displacement = tag_deleted - tag_there});
        as_.emit(ZYDIS_MNEMONIC_CMP, {Part{rax}, Part{rcx}});
        as_.jump(ZYDIS_MNEMONIC_JZ, compare);
    }
    as_.bind(next);
    next_entry(loop);
    as_.jump(ZYDIS_MNEMONIC_JMP, absent);
}

// After find_entry(): fills the entry with zeros, with rdi, or with the frame's string. To rdx: the entry.
void Compiler::make_entry(const Table& table, Fill fill, Label done, Label full)
{
    const auto loop = as_.label(), next = as_.label();
    const size_t words = table.key_bytes() / 8;
    leave_nothing(full);
    first_entry(table, loop);
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{rax, 4}, tag_used});
    as_.jump(ZYDIS_MNEMONIC_JNZ, next);
    as_.address(rcx, {.base = r10, .displacement = tag_claimed - tag_there});
    as_.emit(ZYDIS_MNEMONIC_CMPXCHG, {Memory{.base = rdx}, Part{rcx}}, table.shared);
    as_.jump(ZYDIS_MNEMONIC_JNZ, next);
    for (size_t i = 0; i < words; ++i) {
        as_.load(rax, key_word(i));
        as_.store({.base = rdx, .displacement = int64_t(table.keys + 8 * i)}, rax);
    }
    if (fill == Fill::number) {
        as_.store({.base = rdx, .displacement = int64_t(table.value)}, rdi);
    } else if (fill == Fill::text) {
        for (size_t i = 0; i < table.value_size; i += 8) {
            as_.load(rax, key_word((key_bytes_ + i) / 8));
            as_.store({.base = rdx, .displacement = int64_t(table.value + i)}, rax);
        }
    } else {
        const auto zero = as_.label();
        as_.constant(rcx, int64_t(table.value_size / 8));
        as_.bind(zero);
        as_.emit(ZYDIS_MNEMONIC_MOV,
                 {Memory{.base = rdx, .displacement = int64_t(table.value) - 8, .index = rcx, .scale = 8}, int64_t(0)});
        as_.emit(ZYDIS_MNEMONIC_SUB, {Part{rcx, 4}, int64_t(1)});
        as_.jump(ZYDIS_MNEMONIC_JNZ, zero);
    }
    as_.store({.base = rdx}, r10);
    as_.jump(ZYDIS_MNEMONIC_JMP, done);
    as_.bind(next);
    next_entry(loop);
    as_.jump(ZYDIS_MNEMONIC_JMP, full);
}

// Stubs save rcx and rdx for it. The key is at rsp.
void Compiler::begin_direct()
{
    for (const Reg reg : {r8, r9, r10, r11, rax})
        as_.emit(ZYDIS_MNEMONIC_PUSH, {Part{reg}});
}

void Compiler::end_direct()
{
    for (const Reg reg : {rax, r11, r10, r9, r8})
        as_.emit(ZYDIS_MNEMONIC_POP, {Part{reg}});
}

// Only this thread uses the table: no lock. Changes rax, rcx, and r9 to r11.
void Compiler::claim_direct(const Table& table, Label done, Label full)
{
    const auto loop = as_.label(), next = as_.label();
    as_.constant(r10, int64_t(hash_multiplier));
    as_.emit(ZYDIS_MNEMONIC_IMUL, {Part{r10}, Memory{.base = rsp}});
    leave_nothing(full);
    first_entry(table, loop);
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{rax}, Memory{.base = rsp}});
    as_.jump(ZYDIS_MNEMONIC_JZ, done);
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{rax}, Part{rax}});
    as_.jump(ZYDIS_MNEMONIC_JNZ, next);
    as_.load(rcx, {.base = rsp});
    as_.emit(ZYDIS_MNEMONIC_CMPXCHG, {Memory{.base = rdx}, Part{rcx}});
    as_.jump(ZYDIS_MNEMONIC_JZ, done);
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{rax}, Part{rcx}}); // this thread's signal handler made the entry first
    as_.jump(ZYDIS_MNEMONIC_JZ, done);
    as_.bind(next);
    next_entry(loop);
    as_.jump(ZYDIS_MNEMONIC_JMP, full);
}

// rdx: the entry, rax: the tag that it has, rdi: the value. Changes rbx, rcx, r9.
void Compiler::exchange_value(const Table& table, bool adds, Label done, Label again)
{
    const auto exchange = as_.label(), fresh = as_.label();
    as_.move(r9, rdx);
    as_.load(rdx, {.base = r9, .displacement = 8});
    as_.move(rbx, r10);
    if (!adds)
        as_.move(rcx, rdi);
    as_.bind(exchange); // exchanges rdx:rax, which we expect there, for rcx:rbx
    if (adds) {
        as_.move(rcx, rdi);
        as_.emit(ZYDIS_MNEMONIC_CMP, {Part{rax}, Part{r10}});
        as_.jump(ZYDIS_MNEMONIC_JNZ, fresh); // it was deleted: its value is of the past
        as_.emit(ZYDIS_MNEMONIC_ADD, {Part{rcx}, Part{rdx}});
        as_.bind(fresh);
    }
    as_.emit(ZYDIS_MNEMONIC_CMPXCHG16B, {Memory{.base = r9, .size = 16}}, table.shared);
    as_.jump(ZYDIS_MNEMONIC_JZ, done);
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{rax}, Part{r10}});
    as_.jump(ZYDIS_MNEMONIC_JZ, exchange); // another value came in between
    as_.jump(ZYDIS_MNEMONIC_JMP, again);   // it was deleted, or given to another key
}

// Aligned, as a target of calls. The return address is below the caller's frame.
void Compiler::begin_routine(Label routine)
{
    as_.align(16);
    as_.bind(routine);
    keys_ = 8;
}

void Compiler::return_from_routine()
{
    as_.emit(ZYDIS_MNEMONIC_RET, {});
}

void Compiler::begin_assigning()
{
    as_.emit(ZYDIS_MNEMONIC_PUSH, {Part{rbx}});
    keys_ += 8;
}

void Compiler::end_assigning()
{
    as_.emit(ZYDIS_MNEMONIC_POP, {Part{rbx}});
    keys_ -= 8;
}

void Compiler::load_value(const Table& table, Label absent)
{
    as_.load(rax, {.base = rdx, .displacement = int64_t(table.value)});
    as_.emit(ZYDIS_MNEMONIC_CMP, {Memory{.base = rdx}, Part{r10}}); // still the same key's
    as_.jump(ZYDIS_MNEMONIC_JNZ, absent);
}

void Compiler::load_text(const Table& table)
{
    for (size_t i = 0; i < table.value_size; i += 8) {
        as_.load(rax, {.base = rdx, .displacement = int64_t(table.value + i)});
        as_.store(key_word((key_bytes_ + i) / 8), rax);
    }
}

void Compiler::erase_entry(const Table& table, Role entry)
{
    as_.move(rax, r10);
    as_.address(rcx, {.base = r10, .displacement = tag_deleted - tag_there});
    as_.emit(ZYDIS_MNEMONIC_CMPXCHG, {Memory{.base = reg(entry)}, Part{rcx}}, table.shared);
}

void Compiler::jump_unless_there(Role entry, Label to)
{
    as_.emit(ZYDIS_MNEMONIC_CMP, {Memory{.base = reg(entry)}, Part{r10}});
    as_.jump(ZYDIS_MNEMONIC_JNZ, to);
}

// Changes rcx, r9 and r10. Not by xadd: that would go beyond the limit, and nobody could take it back.
void Compiler::allocate(Label none)
{
    const auto again = as_.label();
    constexpr auto alignment = int64_t(Chunk::alignment);
    as_.address(r9, {.base = rax, .displacement = alignment - 1});
    as_.emit(ZYDIS_MNEMONIC_AND, {Part{r9}, -alignment});
    as_.long_constant(r10, arena_.data);
    as_.load(rax, {.base = r10, .displacement = Tables::next});
    as_.bind(again);
    as_.address(rcx, {.base = rax, .index = r9});
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{rcx}, Memory{.base = r10, .displacement = Tables::limit}});
    as_.jump(ZYDIS_MNEMONIC_JNBE, none);
    as_.emit(ZYDIS_MNEMONIC_CMPXCHG, {Memory{.base = r10, .displacement = Tables::next}, Part{rcx}}, true);
    as_.jump(ZYDIS_MNEMONIC_JNZ, again);
    as_.move(rdx, rax);
}

void Compiler::load_chunk(Role to, Word of)
{
    as_.load(reg(to), memory(of));
    as_.emit(ZYDIS_MNEMONIC_AND, {Part{reg(to)}, -int64_t(Chunk::header)});
}

// Changes rax, rcx and r9.
void Compiler::exchange_chunk(const Table& table)
{
    as_.move(rax, r8);
    as_.emit(ZYDIS_MNEMONIC_OR, {Part{rax}, memory(of_chunk(Role::table, Chunk::shift))});
    as_.move(r9, rdx);
    as_.emit(ZYDIS_MNEMONIC_OR, {Part{r9}, memory(of_chunk(Role::entry, Chunk::shift))});
    if (table.shared)
        as_.long_constant(rcx, arena_.data + table.offset);
    else
        as_.address(rcx, {.base = rsi, .displacement = int64_t(table.offset)});
    as_.emit(ZYDIS_MNEMONIC_CMPXCHG, {Memory{.base = rcx}, Part{r9}}, table.shared);
}

// Changes rax. Only this thread and its signal handlers change the block.
void Compiler::claim_word(size_t offset)
{
    as_.constant(rax, 0);
    as_.emit(ZYDIS_MNEMONIC_CMPXCHG, {Memory{.base = rsi, .displacement = int64_t(offset)}, Part{rdx}});
}

void Compiler::data_address(Role to, size_t offset)
{
    as_.long_constant(reg(to), arena_.data + offset);
}

} // namespace fastsdt::engine::x86
