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
// ustack(dwarf) goes by tables instead, which the tracer has made of .eh_frame (process/unwinding.h): for each address of the program's
// code they say where the caller's stack pointer and frame pointer are. What it reads of the stack is checked in the same way.
//
// It is walked up to three times: to hash it, to compare it with an interned one, and to write it down where there is none. So it
// needs no memory for it, and a signal handler that walks meanwhile does not disturb. What is read the second time may not be what was
// read first: it is checked again. At worst a stack is interned twice.
#include "code/x86/compiler.h"

#include <bit>
#include <cstddef>
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
// With tables: `at` is the frame pointer, `lowest` the stack pointer, and this an address in the call, or, once a walk has come to its
// end, whether callers may be missing.
constexpr Reg place = second;

// Of the kernel's signal frame, from the stack pointer behind the handler: uc_mcontext of struct ucontext,
// arch/x86/include/uapi/asm/sigcontext.h.
constexpr int64_t signal_rbp = 0x78, signal_rsp = 0xa0, signal_rip = 0xa8;

} // namespace

void Compiler::stack(unsigned frames, bool unwinds)
{
    program_register(rsp, rcx);
    program_register(rbp, rdx);
    // A function that returns has been left, for bpftrace: its uretprobe is at the return address.
    const bool returns = site_->kind == Probe::Kind::exit;
    if (returns)
        as_.load(rax, {.base = rcx});
    else
        as_.constant(rax, int64_t(site_->address));
    if (unwinds) {
        as_.address(r9, {.base = rax, .displacement = returns ? -1 : 0});
        if (returns)
            as_.address(rcx, {.base = rcx, .displacement = 8});
    } else if (site_->kind == Probe::Kind::entry && !site_->inside) { // the function has not pushed rbp yet
        as_.load(r9, {.base = rcx});
    } else {
        as_.constant(r9, 0);
    }
    as_.constant(r8, frames);
    call(unwinds ? routines_.unwound_stack : routines_.stack, routine_changes);
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

// Two words there. Changes rax.
void Compiler::unless_readable(Reg address, Label outside)
{
    const auto readable = as_.label();
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{address}, Part{highest}});
    as_.jump(ZYDIS_MNEMONIC_JBE, readable);
    as_.long_constant(rax, arena_.data);
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{address}, Memory{.base = rax, .displacement = Tables::stack_at_first}});
    as_.jump(ZYDIS_MNEMONIC_JB, outside);
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{address}, Memory{.base = rax, .displacement = Tables::last_frame}});
    as_.jump(ZYDIS_MNEMONIC_JNBE, outside);
    as_.bind(readable);
}

// The same where it need not be a frame. Changes rax.
void Compiler::unless_on_stack(Reg address, Label outside)
{
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{address}, Part{lowest}});
    as_.jump(ZYDIS_MNEMONIC_JB, outside);
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{address, 1}, int64_t(7)});
    as_.jump(ZYDIS_MNEMONIC_JNZ, outside);
    unless_readable(address, outside);
}

// `visit` does something with the address rax. Begins with `most` in `left`, and leaves there how many it did not visit.
void Compiler::walk_frames(const Visit& visit)
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
    unless_readable(at, end);
    as_.load(rax, {.base = at, .displacement = 8});
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{rax}, Part{rax}});
    as_.jump(ZYDIS_MNEMONIC_JZ, end);
    as_.address(lowest, {.base = at, .displacement = two_words});
    as_.load(at, {.base = at});
    next();
    as_.jump(ZYDIS_MNEMONIC_JNZ, loop);
    as_.bind(end);
}

// The same by tables. What `place` begins with is on top of the stack.
void Compiler::walk_rows(const Visit& visit)
{
    const auto loop = as_.label(), end = as_.label();
    as_.move(lowest, stack_pointer);
    as_.move(at, first_frame);
    as_.move(left, most);
    as_.load(place, {.base = rsp});
    as_.move(rax, innermost);
    as_.bind(loop);
    visit();
    as_.emit(ZYDIS_MNEMONIC_SUB, {Part{left, 4}, int64_t(1)});
    as_.jump(ZYDIS_MNEMONIC_JZ, end);
    as_.jump(ZYDIS_MNEMONIC_CALL, routines_.unwind);
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{rax}, Part{rax}});
    as_.jump(ZYDIS_MNEMONIC_JNZ, loop);
    as_.bind(end);
}

// From a call to its caller: `place`, `lowest` and `at` become the caller's, and rax where it goes on; 0: there is none. No other register
// changes.
void Compiler::unwind_routine()
{
    const auto next = as_.label(), skip = as_.label(), found = as_.label(), search = as_.label(), row = as_.label(),
               have_cfa = as_.label(), own = as_.label(), go_on = as_.label(), signal = as_.label(),
               unknown = as_.label(), outermost = as_.label(), leave = as_.label();
    constexpr Reg kept[] = {rbx, rsi, rdi, r8, r9};
    constexpr Reg module = rbx, first = rsi, count = rdi, half = r8, middle = r9; // of a search
    constexpr Reg cfa = rbx, rule = rax, saved = r8, word = r9;                   // of the row that was found
    const auto rule_is = [this](UnwindRow::Rule which, Label to) {
        as_.emit(ZYDIS_MNEMONIC_CMP, {Part{rule, 4}, int64_t(which)});
        as_.jump(ZYDIS_MNEMONIC_JZ, to);
    };
    as_.align(16);
    as_.bind(routines_.unwind);
    for (const Reg reg : kept)
        as_.emit(ZYDIS_MNEMONIC_PUSH, {Part{reg}});
    as_.long_constant(module, arena_.data + *tables_.modules);
    as_.load(count, {.base = module});
    as_.emit(ZYDIS_MNEMONIC_ADD, {Part{module}, int64_t(8)});
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{count}, Part{count}});
    as_.jump(ZYDIS_MNEMONIC_JZ, unknown);
    as_.bind(next);
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{place}, Memory{.base = module, .displacement = UnwindModule::start}});
    as_.jump(ZYDIS_MNEMONIC_JB, skip);
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{place}, Memory{.base = module, .displacement = UnwindModule::end}});
    as_.jump(ZYDIS_MNEMONIC_JB, found);
    as_.bind(skip);
    as_.emit(ZYDIS_MNEMONIC_ADD, {Part{module}, int64_t(UnwindModule::size)});
    as_.emit(ZYDIS_MNEMONIC_SUB, {Part{count}, int64_t(1)});
    as_.jump(ZYDIS_MNEMONIC_JNZ, next);
    as_.jump(ZYDIS_MNEMONIC_JMP, unknown);

    // The tracer may give the place of a module that has gone to another one meanwhile: its rows are at least in the tables.
    as_.bind(found);
    as_.move(rax, place);
    as_.emit(ZYDIS_MNEMONIC_SUB, {Part{rax}, Memory{.base = module, .displacement = UnwindModule::base}});
    as_.move(half, rax);
    as_.emit(ZYDIS_MNEMONIC_SHR, {Part{half}, int64_t(32)});
    as_.jump(ZYDIS_MNEMONIC_JNZ, unknown);
    as_.load(first, {.base = module, .displacement = UnwindModule::first});
    as_.load(count, {.base = module, .displacement = UnwindModule::count});
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{count}, Part{count}});
    as_.jump(ZYDIS_MNEMONIC_JZ, unknown);
    as_.address(middle, {.base = first, .index = count, .scale = sizeof(UnwindRow)});
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{middle}, int64_t(tables_.rows_end)});
    as_.jump(ZYDIS_MNEMONIC_JNBE, unknown);
    as_.long_constant(half, arena_.data);
    as_.emit(ZYDIS_MNEMONIC_ADD, {Part{first}, Part{half}});
    as_.emit(ZYDIS_MNEMONIC_CMP, {Memory{.base = first, .size = 4}, Part{rax, 4}});
    as_.jump(ZYDIS_MNEMONIC_JNBE, unknown);
    as_.bind(search); // the last one that does not begin behind it
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{count}, int64_t(1)});
    as_.jump(ZYDIS_MNEMONIC_JBE, row);
    as_.move(half, count);
    as_.emit(ZYDIS_MNEMONIC_SHR, {Part{half}, int64_t(1)});
    as_.address(middle, {.base = first, .index = half, .scale = sizeof(UnwindRow)});
    as_.emit(ZYDIS_MNEMONIC_SUB, {Part{count}, Part{half}});
    as_.emit(ZYDIS_MNEMONIC_CMP, {Memory{.base = middle, .size = 4}, Part{rax, 4}});
    as_.emit(ZYDIS_MNEMONIC_CMOVBE, {Part{first}, Part{middle}});
    as_.jump(ZYDIS_MNEMONIC_JMP, search);

    as_.bind(row);
    const auto part = [](size_t offset, int size) {
        return Memory{.base = first, .displacement = int64_t(offset), .size = size};
    };
    as_.emit(ZYDIS_MNEMONIC_MOVZX, {Part{rule, 4}, part(offsetof(UnwindRow, rule), 1)});
    as_.emit(ZYDIS_MNEMONIC_MOVZX, {Part{saved, 4}, part(offsetof(UnwindRow, saved), 1)});
    as_.emit(ZYDIS_MNEMONIC_MOVSX, {Part{cfa}, part(offsetof(UnwindRow, offset), 2)});
    as_.emit(ZYDIS_MNEMONIC_SHL, {Part{cfa}, int64_t(3)});
    const auto by_frame = as_.label(), at_frame = as_.label();
    rule_is(UnwindRow::frame_pointer, by_frame);
    rule_is(UnwindRow::at_frame_pointer, at_frame);
    rule_is(UnwindRow::signal, signal);
    rule_is(UnwindRow::outermost, outermost);
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{rule, 4}, int64_t(UnwindRow::stack_pointer)});
    as_.jump(ZYDIS_MNEMONIC_JNZ, unknown);
    as_.emit(ZYDIS_MNEMONIC_ADD, {Part{cfa}, Part{lowest}});
    as_.jump(ZYDIS_MNEMONIC_JMP, have_cfa);
    as_.bind(at_frame);
    as_.emit(ZYDIS_MNEMONIC_ADD, {Part{cfa}, Part{at}});
    unless_on_stack(cfa, unknown);
    as_.load(cfa, {.base = cfa});
    as_.jump(ZYDIS_MNEMONIC_JMP, have_cfa);
    as_.bind(by_frame);
    as_.emit(ZYDIS_MNEMONIC_ADD, {Part{cfa}, Part{at}});

    as_.bind(have_cfa);
    as_.address(word, {.base = cfa, .displacement = -8});
    unless_on_stack(word, unknown);
    as_.load(word, {.base = word});
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{saved, 4}, Part{saved, 4}});
    as_.jump(ZYDIS_MNEMONIC_JZ, go_on);
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{saved, 4}, int64_t(UnwindRow::at_own)});
    as_.jump(ZYDIS_MNEMONIC_JZ, own);
    as_.emit(ZYDIS_MNEMONIC_NEG, {Part{saved}});
    as_.address(saved, {.base = cfa, .index = saved, .scale = 8});
    unless_on_stack(saved, unknown);
    as_.load(at, {.base = saved});
    as_.jump(ZYDIS_MNEMONIC_JMP, go_on);
    as_.bind(own);
    unless_on_stack(at, unknown);
    as_.load(at, {.base = at});
    as_.bind(go_on);
    as_.move(lowest, cfa);
    as_.address(place, {.base = word, .displacement = -1});
    as_.move(rax, word);
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{rax}, Part{rax}});
    as_.jump(ZYDIS_MNEMONIC_JNZ, leave);
    as_.bind(outermost);
    as_.constant(place, 0);
    as_.constant(rax, 0);
    as_.jump(ZYDIS_MNEMONIC_JMP, leave);

    as_.bind(signal);
    as_.address(word, {.base = lowest, .displacement = signal_rip});
    unless_on_stack(word, unknown);
    as_.load(cfa, {.base = lowest, .displacement = signal_rsp});
    as_.emit(ZYDIS_MNEMONIC_CMP,
             {Part{cfa}, Part{lowest}}); // the handler's stack may be above it: what is between need not be there
    as_.jump(ZYDIS_MNEMONIC_JB, unknown);
    as_.load(at, {.base = lowest, .displacement = signal_rbp});
    as_.load(rax, {.base = word});
    as_.move(place, rax);
    as_.move(lowest, cfa);
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{rax}, Part{rax}});
    as_.jump(ZYDIS_MNEMONIC_JNZ, leave);
    as_.bind(unknown);
    as_.constant(place, 1);
    as_.constant(rax, 0);
    as_.bind(leave);
    for (size_t i = std::size(kept); i-- > 0;)
        as_.emit(ZYDIS_MNEMONIC_POP, {Part{kept[i]}});
    as_.emit(ZYDIS_MNEMONIC_RET, {});
}

// rax: the first address, r9: the second one, or 0; r8: how many at most, and that is not 0; rcx, rdx: the program's rsp and rbp.
// With tables r9 is an address in the innermost call, for which they have a row. To rax: the interned stack, or 0 if there is no room for
// it, which is counted.
void Compiler::stack_routine(bool unwinds)
{
    const auto walk_stack = [&](const Visit& visit) { unwinds ? walk_rows(visit) : walk_frames(visit); };
    const auto whole = as_.label(), probe = as_.label(), next = as_.label(), none = as_.label(), make = as_.label(),
               leave = as_.label();
    constexpr Reg kept[] = {rbx, rbp, rsi, rdi, r12, r13, r14, r15};
    constexpr Reg slot = rsi, tries = r8; // once the stack is hashed
    as_.align(16);
    as_.bind(unwinds ? routines_.unwound_stack : routines_.stack);
    for (const Reg reg : kept)
        as_.emit(ZYDIS_MNEMONIC_PUSH, {Part{reg}});
    if (unwinds)
        as_.emit(ZYDIS_MNEMONIC_PUSH, {Part{r9}});
    else
        as_.move(second, r9);
    as_.move(innermost, rax);
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

    const auto cut = as_.label();
    if (unwinds) {
        as_.emit(ZYDIS_MNEMONIC_TEST, {Part{left, 4}, Part{left, 4}});
        as_.jump(ZYDIS_MNEMONIC_JZ, whole);
        as_.emit(ZYDIS_MNEMONIC_TEST, {Part{place}, Part{place}});
        as_.jump(ZYDIS_MNEMONIC_JZ, whole);
    } else {
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
        as_.emit(ZYDIS_MNEMONIC_CMP, {Part{at}, Part{lowest}});
        as_.jump(ZYDIS_MNEMONIC_JB, cut);
        unless_readable(at, cut);
        as_.jump(ZYDIS_MNEMONIC_JMP, whole);
    }
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
    if (unwinds)
        as_.emit(ZYDIS_MNEMONIC_POP, {Part{r9}});
    for (size_t i = std::size(kept); i-- > 0;)
        as_.emit(ZYDIS_MNEMONIC_POP, {Part{kept[i]}});
    as_.emit(ZYDIS_MNEMONIC_RET, {});
}

} // namespace fastsdt::engine::x86
