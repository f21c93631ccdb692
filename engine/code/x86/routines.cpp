// SPDX-License-Identifier: BSD-2-Clause
// What x86-64 has its own way of in the routines that all stubs of an arena share.
#include "code/x86/compiler.h"

namespace fastsdt::engine::x86 {

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

void Compiler::ask_for_thread()
{
    if (environment_.rdfsbase && environment_.stored_thread_pointers) {
        as_.emit(ZYDIS_MNEMONIC_RDFSBASE, {Part{rcx}});
        first_slot();
    }
}

// Stubs save rcx and rdx for it.
void Compiler::begin_direct()
{
    push({Role::table, Role::index, Role::tag, Role::seen, Role::result, Role::kept}, false);
    move(Role::kept, Role::result);
}

void Compiler::end_direct()
{
    pop({Role::table, Role::index, Role::tag, Role::seen, Role::result, Role::kept}, false);
}

void Compiler::begin_assigning()
{
    keys_ += push({Role::kept}, false);
}

void Compiler::end_assigning()
{
    keys_ -= pop({Role::kept}, false);
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

} // namespace fastsdt::engine::x86
