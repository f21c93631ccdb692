// SPDX-License-Identifier: BSD-2-Clause
#include "code/arm64/waiting.h"

#include "code/loader.h"
#include "maps/tables.h"

#include <cerrno>
#include <ctime>
#include <linux/futex.h>

namespace fastsdt::engine::arm64 {
namespace {

// From sp: a struct timespec; how often a sign of life may still come, and the last one; and what the program has in x0 to x12 and x17.
constexpr int64_t saved = 32, size = 144;
constexpr Memory seconds{.base = sp}, left{.base = sp, .displacement = 16}, last_sign{.base = sp, .displacement = 24};
constexpr uint64_t clock_gettime_number = 113, futex_number = 98; // <asm-generic/unistd.h>

void move_saved(Assembler& as, bool back)
{
    for (int i = x0; i <= x12; i += 2) {
        const Reg first = Reg(i), second = first == x12 ? Assembler::scratch : Reg(i + 1);
        const Memory place = saved_register(first);
        back ? as.load_pair(first, second, place) : as.store_pair(place, first, second);
    }
}

void last_of_all(Assembler& as) // to x0
{
    as.load(x0, {.base = words, .displacement = LoaderWords::signs, .size = 4});
}

void add_a_wait(Assembler& as)
{
    as.load(x0, seconds);
    as.add(x0, x0, Assembler::Operand(uint64_t(loader_waits.count())));
    as.store(seconds, x0);
}

} // namespace

Memory saved_register(Reg reg)
{
    return {.base = sp, .displacement = saved + 8 * int(reg)};
}

void begin_waiting(Assembler& as, const Arena& arena)
{
    as.move_stack(-size);
    move_saved(as, false);
    as.long_constant(words, arena.data + Tables::loader);
}

void end_waiting(Assembler& as)
{
    move_saved(as, true);
    as.move_stack(size);
}

void system_call(Assembler& as, uint64_t number)
{
    as.constant(x8, number);
    as.system_call();
}

void check_calls(Assembler& as, const Arena& arena, Assembler::Label none)
{
    as.long_constant(x0, arena.data + Tables::no_calls);
    as.load(x0, {.base = x0});
    as.jump_if_zero(x0, none, false);
}

void ask(Assembler& as, Reg number)
{
    const auto again = as.label();
    const auto at_words = vixl::MemOperand(Assembler::x(words));
    static_assert(LoaderWords::asked == 0);
    as.bind(again);
    as.put([&](auto& a) { a.ldaxr(Assembler::w(number), at_words); });
    as.add(number, number, Assembler::Operand(1));
    as.put([&](auto& a) { a.stlxr(vixl::w0, Assembler::w(number), at_words); });
    as.jump_if_zero(x0, again, false);
    as.move(x0, words);
    as.constant(x1, FUTEX_WAKE);
    as.constant(x2, 1);
    system_call(as, futex_number);
}

void take_deadline(Assembler& as, Assembler::Label late)
{
    as.constant(x0, CLOCK_MONOTONIC);
    as.move(x1, sp);
    system_call(as, clock_gettime_number);
    as.jump_if_zero(x0, late, false);
    add_a_wait(as);
    as.constant(x0, loader_waits_most);
    as.store(left, x0);
    last_of_all(as);
    as.store(last_sign, x0);
}

void sleep_on(Assembler& as, Reg word, Assembler::Label again)
{
    const auto over = as.label();
    as.move(x0, word);
    as.constant(x1, FUTEX_WAIT_BITSET);
    as.move(x3, sp);
    as.constant(x4, 0);
    as.constant(x5, FUTEX_BITSET_MATCH_ANY);
    system_call(as, futex_number);
    as.jump_if_zero(x0, again);
    for (const uint64_t error : {EAGAIN, EINTR}) {
        as.add(x1, x0, Assembler::Operand(error));
        as.jump_if_zero(x1, again);
    }
    as.add(x1, x0, Assembler::Operand(uint64_t(ETIMEDOUT)));
    as.jump_if_zero(x1, over, false);
    last_of_all(as);
    as.load(x1, last_sign);
    as.store(last_sign, x0);
    as.sub(x0, x0, x1);
    as.jump_if_zero(x0, over);
    add_a_wait(as);
    as.load(x0, left);
    as.sub(x0, x0, Assembler::Operand(1));
    as.store(left, x0);
    as.jump_if_zero(x0, again, false);
    as.bind(over);
}

} // namespace fastsdt::engine::arm64
