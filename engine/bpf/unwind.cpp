// SPDX-License-Identifier: BSD-2-Clause
// ustack(dwarf) as BPF: a stack is walked by the rows that Unwinder has written, interned by its hash, and what is left of it is a number.
//
// The loop is one that verifiers from 5.3 on take: it has a bound and a counter in a register. All else that a turn leaves to the next one is in
// the scratch memory, of which the verifier knows no values: so it looks at each turn once.
#include "bpf/arguments.h"
#include "bpf/maker.h"
#include "bpf/unwinder.h"
#include "code/machine.h"
#include "code/site_state.h"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace fastsdt::engine::bpf {
namespace {

// Behind the stack in the scratch memory.
struct Walk {
    UnwoundStack stack;
    ModuleKey key;
    uint64_t stack_pointer, frame_pointer;
    uint64_t place;   // an address in the call
    uint64_t address; // what its frame is called
    uint64_t cfa, returns_at, saved;
    uint64_t offset, first, end; // of the search: from the module's base; rows
    uint64_t row;
    uint64_t word, wanted; // what tells the module from another
};

constexpr unsigned x86_frame_pointer = 5, x86_stack_pointer = 4; // as instructions encode them

} // namespace

int Maker::size_of_walk()
{
    return int(sizeof(Walk));
}

void Maker::load_walk(A::Register to, size_t field)
{
    a_.load(BPF_DW, to, A::r9, walk_at_ + int(field));
}

void Maker::store_walk(size_t field, A::Register from)
{
    a_.store(BPF_DW, A::r9, walk_at_ + int(field), from);
}

void Maker::walk_address(A::Register to, size_t field)
{
    a_.move(to, A::r9);
    a_.add(to, walk_at_ + int(field));
}

// To a word of the walk: what is on the stack at the address r3.
void Maker::read_stack(size_t to, A::Label cannot)
{
    load_walk(A::r1, offsetof(Walk, stack_pointer));
    a_.move(A::r0, A::r3);
    a_.alu(BPF_SUB, A::r0, A::r1);
    a_.shift_right(A::r0, 63); // 1: below it
    a_.move(A::r1, A::r3);
    a_.bit_and(A::r1, stack_word - 1);
    a_.alu(BPF_OR, A::r0, A::r1);
    a_.jump_if(BPF_JNE, A::r0, 0, cannot);
    walk_address(A::r1, to);
    a_.move(A::r2, stack_word);
    a_.call(BPF_FUNC_probe_read_user);
    a_.jump_if(BPF_JNE, A::r0, 0, cannot);
}

// A function that returns has been left, as in the user engine: the stack begins where it returns to.
void Maker::begin_walk(A::Label cannot)
{
    const auto none = a_.label(), known = a_.label();
    a_.load(BPF_DW, A::r0, A::r6, offset_of_register(x86_stack_pointer));
    store_walk(offsetof(Walk, stack_pointer), A::r0);
    a_.load(BPF_DW, A::r0, A::r6, offset_of_register(x86_frame_pointer));
    store_walk(offsetof(Walk, frame_pointer), A::r0);
    a_.move(A::r0, 0);
    store_walk(offsetof(Walk, stack) + offsetof(UnwoundStack, hash), A::r0);
    store_walk(offsetof(Walk, stack) + offsetof(UnwoundStack, count), A::r0);
    context_.unwinder->find_space(a_, none);
    a_.move(A::r8, A::r0);
    a_.jump(known);
    a_.bind(none); // 0 is no address space
    a_.call(BPF_FUNC_get_current_pid_tgid);
    a_.move(A::r8, A::r0);
    a_.shift_right(A::r8, 32);
    a_.shift_left(A::r8, 32);
    a_.bind(known);
    a_.store(BPF_W, A::r9, walk_at_ + int(offsetof(Walk, key) + offsetof(ModuleKey, bits)),
             int32_t(bits_of_module_key));
    a_.store(BPF_W, A::r9, walk_at_ + int(offsetof(Walk, key) + offsetof(ModuleKey, space)), A::r8);
    a_.move(A::r7, 0);
    const bool returns = site_.kind == Probe::Kind::exit;
    if (!returns) {
        site_address();
    } else if (!offset_) { // at the return address
        a_.load(BPF_DW, A::r0, A::r6, ip_offset);
    } else {
        load_walk(A::r3, offsetof(Walk, stack_pointer));
        read_stack(offsetof(Walk, address), cannot);
        load_walk(A::r0, offsetof(Walk, stack_pointer));
        a_.add(A::r0, stack_word);
        store_walk(offsetof(Walk, stack_pointer), A::r0);
        load_walk(A::r0, offsetof(Walk, address));
    }
    store_walk(offsetof(Walk, address), A::r0);
    a_.add(A::r0, returns ? -1 : 0);
    store_walk(offsetof(Walk, place), A::r0);
}

// r7 is how many frames there are.
void Maker::add_frame()
{
    load_walk(A::r0, offsetof(Walk, address));
    a_.move(A::r1, A::r7);
    a_.shift_left(A::r1, 3);
    a_.alu(BPF_ADD, A::r1, A::r9);
    a_.store(BPF_DW, A::r1, walk_at_ + int(offsetof(Walk, stack) + offsetof(UnwoundStack, frames)), A::r0);
    load_walk(A::r1, offsetof(Walk, stack) + offsetof(UnwoundStack, hash));
    a_.alu(BPF_XOR, A::r1, A::r0);
    a_.wide(A::r2, hash_multiplier);
    a_.alu(BPF_MUL, A::r1, A::r2);
    a_.move(A::r2, A::r1); // a difference of high bits counts in all of the next product
    a_.shift_right(A::r2, 32);
    a_.alu(BPF_XOR, A::r1, A::r2);
    store_walk(offsetof(Walk, stack) + offsetof(UnwoundStack, hash), A::r1);
    a_.add(A::r7, 1);
    store_walk(offsetof(Walk, stack) + offsetof(UnwoundStack, count), A::r7);
}

// To r0: the rows of the chunk in which those of the module are that `place` is in; to r3 and r4: the first of these, and behind the last.
void Maker::find_module(A::Label unknown)
{
    load_walk(A::r0, offsetof(Walk, place));
    a_.swap_bytes(A::r0, 64);
    store_walk(offsetof(Walk, key) + offsetof(ModuleKey, address), A::r0);
    a_.map(A::r1, context_.unwinder->modules().fd());
    walk_address(A::r2, offsetof(Walk, key));
    a_.call(BPF_FUNC_map_lookup_elem);
    a_.jump_if(BPF_JEQ, A::r0, 0, unknown);
    load_walk(A::r1, offsetof(Walk, place));
    a_.load(BPF_DW, A::r2, A::r0, offsetof(ModuleValue, base));
    a_.alu(BPF_SUB, A::r1, A::r2);
    store_walk(offsetof(Walk, offset), A::r1);
    a_.load(BPF_W, A::r1, A::r0, offsetof(ModuleValue, first));
    store_walk(offsetof(Walk, first), A::r1);
    a_.load(BPF_W, A::r1, A::r0, offsetof(ModuleValue, end));
    store_walk(offsetof(Walk, end), A::r1);
    a_.load(BPF_W, A::r1, A::r0, offsetof(ModuleValue, chunk));
    a_.store(BPF_W, A::r10, key_at, A::r1);
    a_.load(BPF_DW, A::r1, A::r0, offsetof(ModuleValue, word));
    store_walk(offsetof(Walk, wanted), A::r1);
    a_.load(BPF_DW, A::r3, A::r0, offsetof(ModuleValue, told_by));
    walk_address(A::r1, offsetof(Walk, word));
    a_.move(A::r2, stack_word);
    a_.call(BPF_FUNC_probe_read_user);
    // Of a page that is not in memory nobody knows. One jump for both: verifiers have a limit of them.
    a_.shift_right(A::r0, 63);
    a_.add(A::r0, -1); // all bits: it was read
    load_walk(A::r1, offsetof(Walk, word));
    load_walk(A::r2, offsetof(Walk, wanted));
    a_.alu(BPF_XOR, A::r1, A::r2);
    a_.alu(BPF_AND, A::r1, A::r0);
    load_walk(A::r2, offsetof(Walk, offset));
    a_.shift_right(A::r2, 32);
    a_.alu(BPF_OR, A::r1, A::r2);
    a_.jump_if(BPF_JNE, A::r1, 0, unknown);
    a_.map(A::r1, context_.unwinder->chunks().fd());
    own_address(A::r2, key_at);
    a_.call(BPF_FUNC_map_lookup_elem);
    a_.jump_if(BPF_JEQ, A::r0, 0, unknown);
    a_.move(A::r1, A::r0);
    a_.store(BPF_W, A::r10, key_at, 0);
    own_address(A::r2, key_at);
    a_.call(BPF_FUNC_map_lookup_elem);
    a_.jump_if(BPF_JEQ, A::r0, 0, unknown);
    load_walk(A::r3, offsetof(Walk, first));
    load_walk(A::r4, offsetof(Walk, end));
}

// To Walk::row: the row of `place`, the last one that does not begin behind it.
void Maker::find_row(A::Label unknown)
{
    find_module(unknown);
    load_walk(A::r2, offsetof(Walk, offset));
    const auto row = [&](A::Register which) { // to r1, which verifiers see to be within the chunk
        a_.move(A::r1, which);
        a_.bit_and(A::r1, int32_t(rows_of_chunk - 1));
        a_.shift_left(A::r1, 3);
        a_.alu(BPF_ADD, A::r1, A::r0);
    };
    // No branches, and no masks of a sign: verifiers would follow both ways.
    for (unsigned bit = rows_of_chunk_bits; bit-- > 0;) {
        a_.move(A::r5, A::r3);
        a_.add(A::r5, 1 << bit);
        row(A::r5);
        a_.load(BPF_W, A::r1, A::r1, offsetof(KernelRow, start));
        a_.alu(BPF_SUB, A::r1, A::r2);
        a_.add(A::r1, -1);
        a_.alu(BPF_SUB, A::r5, A::r4);
        a_.alu(BPF_AND, A::r1, A::r5); // negative: both are
        a_.shift_right(A::r1, 63);
        a_.shift_left(A::r1, int32_t(bit));
        a_.alu(BPF_ADD, A::r3, A::r1);
    }
    row(A::r3);
    a_.load(BPF_DW, A::r1, A::r1, 0);
    store_walk(offsetof(Walk, row), A::r1);
    a_.shift_left(A::r1, 32);
    a_.shift_right(A::r1, 32);
    a_.jump_if(BPF_JGT, A::r1, A::r2, unknown);
}

// Makes `to` the word `other` of the walk plus `offset`, where the row has the bit. Changes r1 and r2.
void Maker::choose(A::Register to, size_t other, int offset, uint8_t bit)
{
    load_walk(A::r1, other);
    if (offset)
        a_.add(A::r1, offset);
    a_.alu(BPF_XOR, A::r1, to);
    load_kind(A::r2, bit);
    a_.alu(BPF_NEG, A::r2, 0);
    a_.alu(BPF_AND, A::r1, A::r2);
    a_.alu(BPF_XOR, to, A::r1);
}

// 1 where the row has the bit, else 0.
void Maker::load_kind(A::Register to, uint8_t bit)
{
    load_walk(to, offsetof(Walk, row));
    a_.shift_right(to, 8 * offsetof(KernelRow, kind) + std::countr_zero(bit));
    a_.bit_and(to, 1);
}

// The walk is at the caller, or goes to `outermost`, where there is none, or to `unknown`. All rows take one way, as far as that can be.
void Maker::to_caller(A::Label outermost, A::Label unknown)
{
    const auto have_cfa = a_.label();
    find_row(unknown);
    load_walk(A::r3, offsetof(Walk, row));
    a_.move(A::r4, A::r3);
    a_.shift_right(A::r4, 8 * offsetof(KernelRow, kind));
    a_.alu(BPF_ARSH, A::r3, 8 * offsetof(KernelRow, offset));
    a_.shift_left(A::r3, 3);
    a_.jump_if(BPF_JSET, A::r4, KernelRow::outermost, outermost);
    a_.jump_if(BPF_JSET, A::r4, KernelRow::unknown, unknown);
    load_walk(A::r0, offsetof(Walk, stack_pointer));
    choose(A::r0, offsetof(Walk, frame_pointer), 0, KernelRow::from_frame_pointer);
    a_.alu(BPF_ADD, A::r3, A::r0);
    store_walk(offsetof(Walk, cfa), A::r3);
    load_kind(A::r2, KernelRow::cfa_is_there);
    a_.jump_if(BPF_JEQ, A::r2, 0, have_cfa);
    read_stack(offsetof(Walk, cfa), unknown);
    a_.bind(have_cfa);

    load_walk(A::r3, offsetof(Walk, cfa));
    a_.add(A::r3, -stack_word);
    choose(A::r3, offsetof(Walk, stack_pointer), signal_place, KernelRow::signal);
    store_walk(offsetof(Walk, returns_at), A::r3);
    read_stack(offsetof(Walk, address), unknown);

    load_walk(A::r3, offsetof(Walk, returns_at));
    choose(A::r3, offsetof(Walk, frame_pointer), 0, KernelRow::saved_there);
    load_walk(A::r1, offsetof(Walk, row));
    a_.shift_right(A::r1, 8 * offsetof(KernelRow, saved));
    a_.bit_and(A::r1, UINT8_MAX);
    a_.shift_left(A::r1, 3);
    a_.alu(BPF_SUB, A::r3, A::r1);
    read_stack(offsetof(Walk, saved), unknown);
    load_walk(A::r0, offsetof(Walk, saved));
    choose(A::r0, offsetof(Walk, frame_pointer), 0, KernelRow::unchanged);
    store_walk(offsetof(Walk, frame_pointer), A::r0);

    load_walk(A::r0, offsetof(Walk, cfa));
    store_walk(offsetof(Walk, stack_pointer), A::r0);
    load_walk(A::r0, offsetof(Walk, address));
    a_.jump_if(BPF_JEQ, A::r0, 0, outermost);
    load_kind(A::r1, KernelRow::signal); // the instruction itself: it was not a call
    a_.alu(BPF_ADD, A::r0, A::r1);
    a_.add(A::r0, -1);
    store_walk(offsetof(Walk, place), A::r0);
}

// To r7: the interned stack's number.
void Maker::intern(A::Label dropped)
{
    constexpr int tries = 4;
    const BpfMap& stacks = context_.maps.unwound();
    const auto found = a_.label();
    const auto look_up = [&] {
        a_.map(A::r1, stacks.fd());
        own_address(A::r2, key_at);
        a_.call(BPF_FUNC_map_lookup_elem);
    };
    load_walk(A::r7, offsetof(Walk, stack) + offsetof(UnwoundStack, hash));
    a_.shift_right(A::r7, 64 - unwound_number_bits);
    for (int i = 0; i < tries; ++i) {
        const auto is_there = a_.label(), next = a_.label();
        a_.store(BPF_W, A::r10, key_at, A::r7);
        look_up();
        a_.jump_if(BPF_JNE, A::r0, 0, is_there);
        a_.map(A::r1, stacks.fd());
        own_address(A::r2, key_at);
        walk_address(A::r3, offsetof(Walk, stack));
        a_.move(A::r4, BPF_NOEXIST);
        a_.call(BPF_FUNC_map_update_elem);
        a_.jump_if(BPF_JEQ, A::r0, 0, found);
        look_up(); // another thread was first, or there is no room
        a_.jump_if(BPF_JEQ, A::r0, 0, dropped);
        a_.bind(is_there);
        a_.load(BPF_DW, A::r1, A::r0, offsetof(UnwoundStack, hash));
        load_walk(A::r2, offsetof(Walk, stack) + offsetof(UnwoundStack, hash));
        a_.jump_if(BPF_JEQ, A::r1, A::r2, found);
        a_.bind(next);
        a_.add(A::r7, 1);
        a_.bit_and(A::r7, int32_t((uint32_t(1) << unwound_number_bits) - 1));
    }
    a_.jump(dropped);
    a_.bind(found);
}

void Maker::unwind(const ir::Stack& op)
{
    if (own_arch != Arch::x86_64)
        throw Refusal({State::not_in_kernel, 0, "ustack(dwarf) is of x86-64"});
    if (site_.found.state == State::other_architecture)
        throw Refusal({State::not_in_kernel, 0, "stacks of 32-bit code are not unwound"});
    const auto next = a_.label(), unknown = a_.label(), whole = a_.label(), dropped = a_.label(), done = a_.label();
    begin_walk(unknown);
    a_.bind(next);
    add_frame();
    a_.jump_if(BPF_JGE, A::r7, int32_t(std::min(op.most, most_stack_frames)), whole);
    to_caller(whole, unknown);
    a_.jump(next);
    a_.bind(unknown);
    count(offsetof(Counters, cut));
    a_.bind(whole);
    intern(dropped);
    a_.move(A::r0, A::r8);
    a_.shift_right(A::r0, 32);
    a_.shift_left(A::r0, 32);
    a_.alu(BPF_OR, A::r0, A::r7);
    a_.wide(A::r1, unwound_stack_bit);
    a_.alu(BPF_OR, A::r0, A::r1);
    a_.jump(done);
    a_.bind(dropped);
    count(offsetof(Counters, dropped));
    a_.jump(at_label(program_->end));
    a_.bind(done);
    keep(op.to, A::r0);
}

} // namespace fastsdt::engine::bpf
