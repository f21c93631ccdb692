// SPDX-License-Identifier: BSD-2-Clause
// What arm64 has its own way of in the routines that all stubs of an arena share.
#include "code/arm64/compiler.h"

namespace fastsdt::engine::arm64 {

// A function that returns has been left, for bpftrace: its uretprobe is at the return address, which is in lr at both ends of a function.
void Compiler::begin_stack(bool by_rows)
{
    program_register(sp, x1);
    program_register(x29, x2);
    const bool is_entry = site_->kind == Probe::Kind::entry && !site_->inside;
    const bool returns = site_->kind == Probe::Kind::exit;
    if (is_entry || returns) {
        program_register(lr, x7);
        strip(Role::index);
    }
    if (returns)
        as_.move(x0, x7);
    else
        as_.constant(x0, site_->address);
    if (by_rows) {
        as_.address(x7, {.base = x0, .displacement = returns ? -1 : 0});
        if (returns)
            as_.constant(x8, 0);
        else
            program_register(lr, x8);
    } else if (!is_entry) {
        as_.constant(x7, 0);
    }
}

void Compiler::control_block(Role to, Label none)
{
    as_.read_system(reg(to), Assembler::System::thread_pointer);
    jump_if_zero(to, none, true);
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

} // namespace fastsdt::engine::arm64
