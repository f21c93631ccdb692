// SPDX-License-Identifier: BSD-2-Clause
// Walks the stack of calls by frame pointers, as perf_callchain_user() of arch/x86/events/core.c does: a frame's first word leads to
// the caller's frame, and the word behind it is the return address. Code without frame pointers has any number in rbp: then the walk
// ends, or leaves callers out.
//
// The stack is walked without a fault, whatever is in rbp and in memory: only words above the stack pointer are read
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
// It is walked up to three times: to hash it, to compare it with an interned one, and to write it down where there is none. So it
// needs no memory for it, and a signal handler that walks meanwhile does not disturb. What is read the second time may not be what was
// read first: it is checked again. At worst a stack is interned twice.
#include "code/x86/compiler.h"

#include <bit>
#include <functional>
#include <iterator>
#include <utility>

namespace fastsdt::engine::x86 {
namespace {

constexpr int64_t page = smallest_page, two_words = 16;
constexpr int largest_stack = 36;                // bits of its size: 64 GiB
constexpr int addresses = 47, never_mapped = 16; // bits: a pointer has no more, and not so few

// While the routine runs.
constexpr Reg innermost = r12, second = r13, first_frame = r14, stack_pointer = r15, highest = rbp, most = rdi,
              hash = rbx;
constexpr Reg at = rdx, lowest = rcx, left = r11; // of a walk

} // namespace

void Compiler::stack(unsigned frames)
{
    program_register(rsp, rcx);
    program_register(rbp, rdx);
    // A function that returns has been left, for bpftrace: its uretprobe is at the return address.
    if (site_->kind == Probe::Kind::exit)
        as_.load(rax, {.base = rcx});
    else
        as_.constant(rax, int64_t(site_->address));
    // The function has not pushed rbp yet.
    if (site_->kind == Probe::Kind::entry)
        as_.load(r9, {.base = rcx});
    else
        as_.constant(r9, 0);
    as_.constant(r8, frames);
    call(routines_.stack, routine_changes);
}

// To `highest`: where the last frame may be that is read; to rsi: 1 if the stack may go on behind that. Changes rax, rbx, and r9 to r11.
void Compiler::find_bounds()
{
    const auto main = as_.label(), own = as_.label(), unknown = as_.label(), done = as_.label();
    const auto word = [](size_t offset) { return Memory{.base = r10, .displacement = int64_t(offset)}; };
    const auto unless_within = [this](Reg address, Label outside) { // r9 bytes from rbx on
        as_.move(rbp, address);
        as_.emit(ZYDIS_MNEMONIC_SUB, {Part{rbp}, Part{rbx}});
        as_.emit(ZYDIS_MNEMONIC_CMP, {Part{rbp}, Part{r9}});
        as_.jump(ZYDIS_MNEMONIC_JNB, outside);
    };
    as_.long_constant(r10, arena_.data);
    as_.load(rax, word(Tables::thread_stack));
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{rax}, Part{rax}});
    as_.jump(ZYDIS_MNEMONIC_JZ, main);
    // Where threads do not store their pointers, nothing says that it leads to memory.
    if (environment_.rdfsbase && environment_.stored_thread_pointers)
        as_.emit(ZYDIS_MNEMONIC_RDFSBASE, {Part{r11}});
    else if (!environment_.rdfsbase)
        as_.load(r11, {.displacement = 0, .fs = true});
    else
        as_.constant(r11, 0);
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{r11}, Part{r11}});
    as_.jump(ZYDIS_MNEMONIC_JZ, main);
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{r11}, Memory{.base = r11}}); // a control block has its own address first
    as_.jump(ZYDIS_MNEMONIC_JNZ, main);
    as_.move(r9, r11);
    as_.emit(ZYDIS_MNEMONIC_AND, {Part{r9, 4}, page - 1});
    as_.emit(ZYDIS_MNEMONIC_ADD, {Part{r9}, Part{rax}});
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{r9}, page - two_words});
    as_.jump(ZYDIS_MNEMONIC_JNBE, main);
    as_.load(rbx, {.base = r11, .index = rax});
    as_.load(r9, {.base = r11, .displacement = 8, .index = rax});
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{rbx}, Part{rbx}}); // glibc's main thread has the stack's end for its size
    as_.jump(ZYDIS_MNEMONIC_JZ, main);
    as_.move(rax, r9);
    as_.emit(ZYDIS_MNEMONIC_SHR, {Part{rax}, int64_t(largest_stack)});
    as_.jump(ZYDIS_MNEMONIC_JNZ, main);
    unless_within(r11, main); // not what we take it for
    unless_within(rcx, main);
    as_.address(highest, {.base = rbx, .displacement = -two_words, .index = r9});
    as_.constant(rsi, 0);
    as_.jump(ZYDIS_MNEMONIC_JMP, done);

    as_.bind(main);
    as_.load_near(rax, arena_.mark);
    as_.long_constant(r11, arena_.data + Tables::slice);
    as_.load(highest, word(Tables::last_frame));
    as_.load(r9, word(Tables::stack_start));
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{rax}, Part{r11}});
    as_.jump(ZYDIS_MNEMONIC_JZ, own);
    as_.load(r9, word(Tables::stack_at_first));
    as_.bind(own);
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{rcx}, Part{r9}});
    as_.jump(ZYDIS_MNEMONIC_JB, unknown);
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{rcx}, Part{highest}});
    as_.jump(ZYDIS_MNEMONIC_JNBE, unknown);
    as_.constant(rsi, 0);
    as_.jump(ZYDIS_MNEMONIC_JMP, done);

    // An empty stack ends where the next page may be no more of it.
    as_.bind(unknown);
    as_.address(highest, {.base = rcx, .displacement = -1});
    as_.emit(ZYDIS_MNEMONIC_OR, {Part{highest}, page - 1});
    as_.emit(ZYDIS_MNEMONIC_SUB, {Part{highest}, two_words - 1});
    as_.constant(rsi, 1);
    as_.bind(done);
}

// Changes rax.
void Compiler::unless_readable(Label outside)
{
    const auto readable = as_.label();
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{at}, Part{highest}});
    as_.jump(ZYDIS_MNEMONIC_JBE, readable);
    as_.long_constant(rax, arena_.data);
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{at}, Memory{.base = rax, .displacement = Tables::stack_at_first}});
    as_.jump(ZYDIS_MNEMONIC_JB, outside);
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{at}, Memory{.base = rax, .displacement = Tables::last_frame}});
    as_.jump(ZYDIS_MNEMONIC_JNBE, outside);
    as_.bind(readable);
}

// `visit` does something with the address rax. Begins with `most` in `left`, and leaves there how many it did not visit.
void Compiler::walk_stack(const std::function<void()>& visit)
{
    const auto loop = as_.label(), end = as_.label();
    const auto next = [&] {
        visit();
        as_.emit(ZYDIS_MNEMONIC_SUB, {Part{left, 4}, int64_t(1)});
    };
    as_.move(lowest, stack_pointer);
    as_.move(at, first_frame);
    as_.move(left, most);
    as_.move(rax, innermost);
    next();
    as_.jump(ZYDIS_MNEMONIC_JZ, end);
    as_.move(rax, second);
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{rax}, Part{rax}});
    as_.jump(ZYDIS_MNEMONIC_JZ, loop);
    next();
    as_.jump(ZYDIS_MNEMONIC_JZ, end);
    as_.bind(loop);
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{at, 1}, int64_t(7)});
    as_.jump(ZYDIS_MNEMONIC_JNZ, end);
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{at}, Part{lowest}});
    as_.jump(ZYDIS_MNEMONIC_JB, end);
    unless_readable(end);
    as_.load(rax, {.base = at, .displacement = 8});
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{rax}, Part{rax}});
    as_.jump(ZYDIS_MNEMONIC_JZ, end);
    as_.address(lowest, {.base = at, .displacement = two_words});
    as_.load(at, {.base = at});
    next();
    as_.jump(ZYDIS_MNEMONIC_JNZ, loop);
    as_.bind(end);
}

// rax: the first address, r9: the second one, or 0; r8: how many at most, and that is not 0; rcx, rdx: the program's rsp and rbp.
// To rax: the interned stack, or 0 if there is no room for it, which is counted.
void Compiler::stack_routine()
{
    const auto whole = as_.label(), probe = as_.label(), next = as_.label(), none = as_.label(), make = as_.label(),
               leave = as_.label();
    constexpr Reg kept[] = {rbx, rbp, rsi, rdi, r12, r13, r14, r15};
    constexpr Reg slot = rsi, tries = r8; // once the stack is hashed
    as_.align(16);
    as_.bind(routines_.stack);
    for (const Reg reg : kept)
        as_.emit(ZYDIS_MNEMONIC_PUSH, {Part{reg}});
    as_.move(innermost, rax);
    as_.move(second, r9);
    as_.move(first_frame, rdx);
    as_.move(stack_pointer, rcx);
    as_.move(most, r8);
    find_bounds();

    as_.constant(hash, 0);
    as_.constant(r10, int64_t(hash_multiplier));
    walk_stack([this] {
        as_.emit(ZYDIS_MNEMONIC_XOR, {Part{hash}, Part{rax}});
        as_.emit(ZYDIS_MNEMONIC_IMUL, {Part{hash}, Part{r10}});
    });
    as_.emit(ZYDIS_MNEMONIC_SUB, {Part{most, 4}, Part{left, 4}});

    // A frame that may be one is where nothing is read.
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{rsi, 4}, Part{rsi, 4}});
    as_.jump(ZYDIS_MNEMONIC_JZ, whole);
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{left, 4}, Part{left, 4}});
    as_.jump(ZYDIS_MNEMONIC_JZ, whole);
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{at, 1}, int64_t(7)});
    as_.jump(ZYDIS_MNEMONIC_JNZ, whole);
    for (const auto& [bits, condition] :
         {std::pair(never_mapped, ZYDIS_MNEMONIC_JZ), std::pair(addresses, ZYDIS_MNEMONIC_JNZ)}) {
        as_.move(rax, at);
        as_.emit(ZYDIS_MNEMONIC_SHR, {Part{rax}, int64_t(bits)});
        as_.jump(condition, whole);
    }
    const auto cut = as_.label();
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{at}, Part{lowest}});
    as_.jump(ZYDIS_MNEMONIC_JB, cut);
    unless_readable(cut);
    as_.jump(ZYDIS_MNEMONIC_JMP, whole);
    as_.bind(cut);
    count_at(Tables::cut);

    as_.bind(whole);
    as_.move(slot, hash);
    as_.emit(ZYDIS_MNEMONIC_SHR, {Part{slot}, int64_t(64 - std::countr_zero(stack_slots))});
    as_.constant(tries, int64_t(most_probes));
    as_.bind(probe);
    const Memory slot_word{.base = r10, .index = slot, .scale = 8};
    as_.long_constant(r10, arena_.data + *tables_.stacks);
    as_.load(r9, slot_word);
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{r9}, Part{r9}});
    as_.jump(ZYDIS_MNEMONIC_JZ, make);
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{hash}, Memory{.base = r9, .displacement = InternedStack::hash}});
    as_.jump(ZYDIS_MNEMONIC_JNZ, next);
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{most}, Memory{.base = r9, .displacement = InternedStack::count}});
    as_.jump(ZYDIS_MNEMONIC_JNZ, next);
    as_.address(r10, {.base = r9, .displacement = InternedStack::frames});
    walk_stack([this, next] {
        as_.emit(ZYDIS_MNEMONIC_CMP, {Part{rax}, Memory{.base = r10}});
        as_.jump(ZYDIS_MNEMONIC_JNZ, next);
        as_.emit(ZYDIS_MNEMONIC_ADD, {Part{r10}, int64_t(8)});
    });
    as_.move(rax, r9);
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{left, 4}, Part{left, 4}});
    as_.jump(ZYDIS_MNEMONIC_JZ, leave);
    as_.bind(next);
    as_.emit(ZYDIS_MNEMONIC_ADD, {Part{slot, 4}, int64_t(1)});
    as_.emit(ZYDIS_MNEMONIC_AND, {Part{slot, 4}, int64_t(stack_slots - 1)});
    as_.emit(ZYDIS_MNEMONIC_SUB, {Part{tries, 4}, int64_t(1)});
    as_.jump(ZYDIS_MNEMONIC_JNZ, probe);
    as_.bind(none);
    count_at(Tables::dropped);
    as_.constant(rax, 0);
    as_.jump(ZYDIS_MNEMONIC_JMP, leave);

    // If another thread takes the slot first, its stack may be the same.
    as_.bind(make);
    as_.address(rax, {.displacement = InternedStack::frames, .index = most, .scale = 8});
    allocate(none);
    as_.move(r9, rdx);
    as_.address(r10, {.base = r9, .displacement = InternedStack::frames});
    walk_stack([this] {
        as_.store({.base = r10}, rax);
        as_.emit(ZYDIS_MNEMONIC_ADD, {Part{r10}, int64_t(8)});
    });
    as_.move(rax, most);
    as_.emit(ZYDIS_MNEMONIC_SUB, {Part{rax, 4}, Part{left, 4}});
    as_.store({.base = r9, .displacement = InternedStack::count}, rax);
    as_.store({.base = r9, .displacement = InternedStack::hash}, hash);
    as_.long_constant(r10, arena_.data + *tables_.stacks);
    as_.constant(rax, 0);
    as_.emit(ZYDIS_MNEMONIC_CMPXCHG, {slot_word, Part{r9}}, true);
    as_.jump(ZYDIS_MNEMONIC_JNZ, probe);
    as_.move(rax, r9);
    as_.bind(leave);
    for (size_t i = std::size(kept); i-- > 0;)
        as_.emit(ZYDIS_MNEMONIC_POP, {Part{kept[i]}});
    as_.emit(ZYDIS_MNEMONIC_RET, {});
}

} // namespace fastsdt::engine::x86
