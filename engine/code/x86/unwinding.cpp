// SPDX-License-Identifier: BSD-2-Clause
// ustack on x86-64: where a walk begins (code/stacks.cpp), and how ustack(dwarf) goes from a call to its caller.
#include "code/x86/compiler.h"

#include <cstddef>
#include <iterator>

namespace fastsdt::engine::x86 {
namespace {

constexpr Reg innermost = r12, first_frame = r14, stack_pointer = r15, most = rdi;
constexpr Reg at = rdx, lowest = rcx, left = r11; // of a walk: the frame pointer and the stack pointer
// An address in the call, or, once a walk has come to its end, whether callers may be missing.
constexpr Reg place = r13;

// Of the kernel's signal frame, from the stack pointer behind the handler: uc_mcontext of struct ucontext,
// arch/x86/include/uapi/asm/sigcontext.h.
constexpr int64_t signal_rbp = 0x78, signal_rsp = 0xa0, signal_rip = 0xa8;

} // namespace

// A function that returns has been left, for bpftrace: its uretprobe is at the return address.
void Compiler::begin_stack(bool by_rows)
{
    program_register(rsp, rcx);
    program_register(rbp, rdx);
    const bool returns = site_->kind == Probe::Kind::exit;
    if (returns)
        as_.load(rax, {.base = rcx});
    else
        as_.constant(rax, int64_t(site_->address));
    if (by_rows) {
        as_.address(r9, {.base = rax, .displacement = returns ? -1 : 0});
        if (returns)
            as_.address(rcx, {.base = rcx, .displacement = 8});
    } else if (site_->kind == Probe::Kind::entry && !site_->inside) { // the function has not pushed rbp yet
        as_.load(r9, {.base = rcx});
    } else {
        as_.constant(r9, 0);
    }
}

// A control block has its own address first. Where threads do not store their pointers, nothing says that it leads to memory.
void Compiler::control_block(Role to, Label none)
{
    const Reg block = reg(to);
    if (environment_.rdfsbase && environment_.stored_thread_pointers)
        as_.emit(ZYDIS_MNEMONIC_RDFSBASE, {Part{block}});
    else if (!environment_.rdfsbase)
        as_.load(block, {.displacement = 0, .fs = true});
    else
        return jump(none);
    jump_if_zero(to, none, true);
    jump_if(Is::unlike, to, Word{to, 0}, none);
}

// unless_readable(), where it need not be a frame. Changes rax.
void Compiler::unless_on_stack(Role role, Label outside)
{
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{reg(role)}, Part{lowest}});
    as_.jump(ZYDIS_MNEMONIC_JB, outside);
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{reg(role), 1}, int64_t(7)});
    as_.jump(ZYDIS_MNEMONIC_JNZ, outside);
    unless_readable(role, outside);
}

// walk_frames() by tables. What `place` begins with is on top of the stack.
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
    unless_on_stack(Role::kept, unknown);
    as_.load(cfa, {.base = cfa});
    as_.jump(ZYDIS_MNEMONIC_JMP, have_cfa);
    as_.bind(by_frame);
    as_.emit(ZYDIS_MNEMONIC_ADD, {Part{cfa}, Part{at}});

    as_.bind(have_cfa);
    as_.address(word, {.base = cfa, .displacement = -8});
    unless_on_stack(Role::index, unknown);
    as_.load(word, {.base = word});
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{saved, 4}, Part{saved, 4}});
    as_.jump(ZYDIS_MNEMONIC_JZ, go_on);
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{saved, 4}, int64_t(UnwindRow::at_own)});
    as_.jump(ZYDIS_MNEMONIC_JZ, own);
    as_.emit(ZYDIS_MNEMONIC_NEG, {Part{saved}});
    as_.address(saved, {.base = cfa, .index = saved, .scale = 8});
    unless_on_stack(Role::table, unknown);
    as_.load(at, {.base = saved});
    as_.jump(ZYDIS_MNEMONIC_JMP, go_on);
    as_.bind(own);
    unless_on_stack(Role::entry, unknown);
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
    unless_on_stack(Role::index, unknown);
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

} // namespace fastsdt::engine::x86
