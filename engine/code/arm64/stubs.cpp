// SPDX-License-Identifier: BSD-2-Clause
// The stub around a site's clauses. The site's instruction, an aligned word, is exchanged at once:
//
//     d503201f   nop
//     14......   b stub
//
// Both are instructions that may be exchanged while a processor executes them (Arm ARM, B2.2.5).
//
// The stub:
//
//         sub  sp, sp, #frame                 before anything is stored: below sp is a signal handler's
//         stp  x0, x1, ...                    what the clauses will change
//         mrs  x0, nzcv; str x0, flags        if they change the flags, and at usdt sites only: entries and exits have no live
//         clauses                             flags
//         ldr  x0, flags; msr nzcv, x0
//         ldp  x0, x1, ...
//         add  sp, sp, #frame
//         b    site + 4
//         cold paths
//
// Where no nop was compiled in, the word is another instruction. The stub executes it before the last b (code/arm64/moved.cpp). Such a
// word must not be exchanged while a processor executes it.
#include "code/arm64/compiler.h"

#include "movable/go_runtime.h"
#include "movable/instructions_arm64.h"

#include <algorithm>
#include <bit>

namespace fastsdt::engine::arm64 {
namespace {

constexpr size_t most_pair = 504;

} // namespace

Compiler::Compiler(const Script& script, const Tables& tables, const Arena& arena, const Environment& environment)
    : CompilerBy(machine_arm64, script, tables, arena, environment)
{}

Patch Compiler::patch(const Site& site, uint64_t stub) const
{
    Patch patch{.at = site.patch, .length = 4};
    bool far = false;
    const uint32_t jump = jump_word(site.patch, stub, far);
    if (arena_.code && far)
        throw std::logic_error("the arena is not within reach of a site");
    fastsdt::store(patch.before.data(), 4, site.moves() ? fastsdt::arm64::word_of(site.moved.bytes) : nop_arm64, false);
    fastsdt::store(patch.after.data(), 4, jump, false);
    return patch;
}

void Compiler::align_stub(const Site&)
{
    as_.align(16);
}

Registers Compiler::all_registers() const
{
    return ~Registers(0);
}

Registers Compiler::saved_registers(Registers written) const
{
    if (!keep_flags_)
        return written & ~bit(flags);
    return written & bit(flags) ? written | bit(x0) : written;
}

size_t Compiler::frame_size() const
{
    return (saved_offset(flags) + 8 * (saved_ >> flags & 1) + 15) / 16 * 16;
}

void Compiler::move_saved(bool back)
{
    for (int number = x0; number <= x30; ++number) {
        const Reg one = Reg(number);
        if (!(saved_ & bit(one)))
            continue;
        const Memory place = frame(saved_offset(one));
        const Registers higher = saved_ & ~bit(flags) & ~Registers(0) << (number + 1);
        if (higher && size_t(place.displacement) <= most_pair) {
            const Reg two = Reg(number = std::countr_zero(higher));
            back ? as_.load_pair(one, two, place) : as_.store_pair(place, one, two);
        } else {
            back ? as_.load(one, place) : as_.store(place, one);
        }
    }
}

void Compiler::save()
{
    check_stack();
    if (site_->thread_by == ThreadBy::nothing)
        throw Refusal({State::only_in_kernel, 0, "threads of a Go program, which have no thread pointer, told apart"});
    as_.move_stack(-int64_t(frame_size()));
    move_saved(false);
    if (saved_ & bit(flags)) {
        as_.read_system(x0, Assembler::System::nzcv);
        as_.store(frame(saved_offset(flags)), x0);
    }
}

void Compiler::restore()
{
    if (saved_ & bit(flags)) {
        as_.load(x0, frame(saved_offset(flags)));
        as_.write_flags(x0);
    }
    move_saved(true);
    as_.move_stack(int64_t(frame_size()));
}

void Compiler::leave()
{
    if (site_->moves())
        move_code(site_->patch, site_->moved.bytes);
    if (!site_->moved.leaves)
        as_.jump_to(site_->patch + site_->length);
}

void Compiler::call_body(Label body, int64_t number)
{
    as_.move_stack(-int64_t(of_body));
    as_.store_pair(frame(0), x0, lr);
    as_.constant(x0, uint64_t(number));
    as_.call(body);
    as_.load_pair(x0, lr, frame(0));
    as_.move_stack(int64_t(of_body));
}

void Compiler::leave_body()
{
    return_from_routine();
}

void Compiler::call(Label routine, Registers changes)
{
    as_.call(routine);
    as_.clobber(changes | bit(lr));
}

// To x4: the thread's block. A signal handler may fork behind the first instruction: then the hit is counted in the child too.
void Compiler::block()
{
    const auto found = label(), has_slice = label();
    // Stubs do not save what only this cold path changes. The routine changes only registers of this function; lr is kept here.
    const auto call_routine = [this](Label routine) { call_from_routine(routine); };
    as_.load_near(x0, arena_.mark);
    if (site_->thread_by == ThreadBy::go_m) {
        program_register(x28, x1);
        as_.load(x1, {.base = x1, .displacement = go_m});
    } else {
        as_.read_system(x1, Assembler::System::thread_pointer);
    }
    as_.constant(x4, hash_multiplier);
    as_.logic_not(x1, x1); // never 0: that is a slot which nobody has
    as_.compute(&vixl::Assembler::mul, x4, x4, x1);
    as_.shift_right(x4, x4, unsigned(64 - std::countr_zero(most_threads)));
    as_.jump_if_zero(x0, cold([this, call_routine, has_slice] {
                         if (!environment_.follow) {
                             count_at(Tables::forked);
                             as_.jump(out_);
                             return;
                         }
                         call_routine(routines_.claim);
                         as_.jump_if_zero(x0, out_);
                         as_.jump(has_slice);
                     }));
    bind(has_slice);
    as_.add(x0, x0, Assembler::shifted(x4, vixl::LSL, 3));
    as_.load(x2, {.base = x0, .displacement = Tables::owners});
    as_.sub(x2, x2, x1);
    as_.jump_if_zero(x2, cold([this, call_routine, found] {
                         as_.sub(x0, x0, Assembler::shifted(x4, vixl::LSL, 3));
                         call_routine(routines_.acquire);
                         as_.jump_if_zero(x4, out_);
                         as_.jump(found);
                     }),
                     false);
    as_.load(x4, {.base = x0, .displacement = Tables::blocks});
    bind(found);
}

} // namespace fastsdt::engine::arm64
