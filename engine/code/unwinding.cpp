// SPDX-License-Identifier: BSD-2-Clause
// ustack(dwarf): how a stub goes from a call to its caller, by the rows of .eh_frame that the tracer has put into the tables
// (process/code_of_process.h). code/stacks.cpp walks by it.
//
// x86-64's calls push their return address, so it is below the CFA. arm64's put it in the link register: there it is until a function saves
// it. So it is known of the innermost call, and of one that a signal has interrupted: Role::link, 0 for all others.
#include "code/compiler.h"
#include "code/walk.h"

#include <cstddef>

namespace fastsdt::engine {
namespace {

// An address in the call, or, once a walk has come to its end, whether callers may be missing.
constexpr Role place = Role::place;

// What unwind_routine() keeps of its caller's registers, and uses: for the search, and then for the row that was found.
constexpr Role module = Role::kept, row = Role::block, count = Role::recorded, half = Role::table, middle = Role::index;
constexpr Role cfa = Role::kept, how = Role::recorded, saved = Role::table, temporary = Role::index;

Word part_of_row(size_t offset, int size)
{
    return {row, offset, Role::none, 1, size};
}

} // namespace

// unless_readable(), where it need not be a frame. Changes Role::result.
void Compiler::unless_on_stack(Role address, Label outside)
{
    jump_if(Is::below, address, walk::lowest, outside);
    jump_if_bits(address, 7, outside);
    unless_readable(address, outside);
}

// walk_frames() by tables. What `place` begins with is on top of the stack, and what Role::link does, where there is one, is above it.
void Compiler::walk_rows(const Visit& visit)
{
    const auto loop = label(), end = label();
    move(walk::lowest, Role::stack_pointer);
    move(walk::at, Role::first_frame);
    move(walk::left, walk::most);
    load(place, {Role::stack, 0});
    if (!pushes_return())
        load(Role::link, {Role::stack, 8});
    move(Role::result, Role::innermost);
    bind(loop);
    visit();
    count_down(walk::left, end);
    call_from_routine(routines_.unwind);
    jump_if_zero(Role::result, loop, false);
    bind(end);
}

// From a call to its caller: `place`, `lowest`, `at` and Role::link become the caller's, and Role::result where it goes on; 0: there is none.
// No other register changes.
void Compiler::unwind_routine()
{
    const auto signal = label(), unknown = label(), outermost = label(), leave = label();
    const auto kept = {Role::kept, Role::block, Role::recorded, Role::table, Role::index};
    begin_routine(routines_.unwind);
    push(kept);
    find_row(unknown);
    find_cfa(signal, outermost, unknown);
    if (pushes_return())
        pushed_return(unknown);
    else
        linked_return(unknown);
    move(walk::lowest, cfa);
    address(place, {temporary, size_t(-1)});
    move(Role::result, temporary);
    jump_if_zero(Role::result, leave, false);
    bind(outermost);
    constant(place, 0);
    constant(Role::result, 0);
    jump(leave);

    bind(signal);
    interrupted(unknown);
    jump_if_zero(Role::result, leave, false);
    bind(unknown);
    constant(place, 1);
    constant(Role::result, 0);
    bind(leave);
    pop(kept);
    return_from_routine();
}

// To `row`: the one that has `place`. The tracer may give the place of a module that has gone to another one meanwhile: its rows are at least
// in the tables.
void Compiler::find_row(Label unknown)
{
    const auto next = label(), skip = label(), found = label(), search = label(), done = label();
    const auto of_module = [](size_t offset) { return Word{module, offset}; };
    long_constant(module, arena_.data + *tables_.modules);
    load(count, {module, 0});
    apply(Operator::add, module, 8);
    jump_if_zero(count, unknown);
    bind(next);
    jump_if(Is::below, place, of_module(UnwindModule::start), skip);
    jump_if(Is::below, place, of_module(UnwindModule::end), found);
    bind(skip);
    apply(Operator::add, module, int64_t(UnwindModule::size));
    count_down(count, next, false);
    jump(unknown);

    bind(found);
    move(Role::result, place);
    apply(Operator::subtract, Role::result, of_module(UnwindModule::base));
    move(half, Role::result);
    apply(Operator::shift_right, half, 32);
    jump_if_zero(half, unknown, false);
    load(row, of_module(UnwindModule::first));
    load(count, of_module(UnwindModule::count));
    jump_if_zero(count, unknown);
    static_assert(sizeof(UnwindRow) == 8, "the scale of an address");
    address(middle, {row, 0, count, 8});
    jump_if(Is::above, middle, int64_t(tables_.rows_end), unknown);
    long_constant(half, arena_.data);
    apply(Operator::add, row, half);
    load(half, part_of_row(0, 4));
    jump_if(Is::above, half, Role::result, unknown);
    bind(search); // the last one that does not begin behind it
    jump_if(Is::not_above, count, 1, done);
    move(half, count);
    apply(Operator::shift_right, half, 1);
    address(middle, {row, 0, half, 8});
    apply(Operator::subtract, count, half);
    move_if(Is::not_below, Role::result, Word{middle, 0, Role::none, 1, 4}, row, middle);
    jump(search);
    bind(done);
}

// To `cfa`, `saved` and `how`: of the row. To `temporary`: the register from which the CFA counts.
void Compiler::find_cfa(Label signal, Label outermost, Label unknown)
{
    const auto by_register = label(), at_frame = label(), done = label();
    constexpr Role rule = Role::result;
    constexpr int64_t rules = (1 << UnwindRow::bits_of_rule) - 1;
    load(rule, part_of_row(offsetof(UnwindRow, rule), 1));
    load(saved, part_of_row(offsetof(UnwindRow, saved), 1));
    load(cfa, part_of_row(offsetof(UnwindRow, offset), 2));
    extend(cfa, 2, true);
    apply(Operator::shift_left, cfa, 3);
    if (!pushes_return()) {
        move(how, rule);
        apply(Operator::shift_right, how, UnwindRow::bits_of_rule);
        apply(Operator::bit_and, rule, rules);
    }
    move(temporary, walk::lowest);
    jump_if(Is::equal, rule, UnwindRow::stack_pointer, by_register);
    move(temporary, walk::at);
    jump_if(Is::equal, rule, UnwindRow::frame_pointer, by_register);
    jump_if(Is::equal, rule, UnwindRow::at_frame_pointer, at_frame);
    jump_if(Is::equal, rule, UnwindRow::signal, signal);
    jump_if(Is::equal, rule, UnwindRow::outermost, outermost);
    jump(unknown);
    bind(at_frame);
    apply(Operator::add, cfa, walk::at);
    unless_on_stack(cfa, unknown);
    load(cfa, {cfa, 0});
    jump(done);
    bind(by_register);
    apply(Operator::add, cfa, temporary);
    bind(done);
}

// To `temporary`: the return address, and to `at`: the caller's frame pointer.
void Compiler::pushed_return(Label unknown)
{
    const auto own = label(), done = label();
    address(temporary, {cfa, size_t(-8)});
    unless_on_stack(temporary, unknown);
    load(temporary, {temporary, 0});
    jump_if_zero(saved, done);
    jump_if(Is::equal, saved, UnwindRow::at_own, own);
    negate(saved);
    address(saved, {cfa, 0, saved, 8});
    unless_on_stack(saved, unknown);
    load(walk::at, {saved, 0});
    jump(done);
    bind(own);
    unless_on_stack(walk::at, unknown);
    load(walk::at, {walk::at, 0});
    bind(done);
}

// The same where calls leave it in a register. What is read is above the stack pointer, so the caller's is not below it.
void Compiler::linked_return(Label unknown)
{
    const auto from_base = label(), have_slot = label(), in_link = label(), alone = label(), done = label();
    jump_if(Is::below, cfa, walk::lowest, unknown);
    jump_if_bits(how, UnwindRow::counts_from_base, from_base);
    negate(saved);
    address(saved, {cfa, 0, saved, 8});
    jump(have_slot);
    bind(from_base);
    address(saved, {temporary, size_t(-8), saved, 8});
    bind(have_slot);
    apply(Operator::bit_and, how, UnwindRow::places_of_return);
    jump_if(Is::equal, how, UnwindRow::in_link, in_link);
    unless_on_stack(saved, unknown);
    jump_if(Is::equal, how, UnwindRow::alone, alone);
    load(temporary, {saved, 8});
    load(walk::at, {saved, 0});
    jump(done);
    bind(alone);
    load(temporary, {saved, 0});
    jump(done);
    bind(in_link);
    move(temporary, Role::link);
    jump_if_zero(temporary, unknown);
    bind(done);
    constant(Role::link, 0);
    strip(temporary);
}

// From the kernel's signal frame, which is at the stack pointer, to what the signal has interrupted. The handler's stack may be above it: what
// is between need not be there.
void Compiler::interrupted(Label unknown)
{
    const SignalFrame& frame = machine_.signal_frame;
    address(temporary, {walk::lowest, frame.frame_pointer});
    unless_on_stack(temporary, unknown);
    address(temporary, {walk::lowest, frame.place - 8});
    unless_on_stack(temporary, unknown);
    load(cfa, {walk::lowest, frame.stack_pointer});
    jump_if(Is::below, cfa, walk::lowest, unknown);
    load(walk::at, {walk::lowest, frame.frame_pointer});
    if (!pushes_return())
        load(Role::link, {walk::lowest, frame.link});
    load(Role::result, {walk::lowest, frame.place});
    move(place, Role::result);
    move(walk::lowest, cfa);
}

} // namespace fastsdt::engine
