// SPDX-License-Identifier: BSD-2-Clause
// The function's return and the stub on arm64. Before: ret, behind a landing pad if the dynamic linker has those. After: a
// branch to the stub.
#include "code/arm64/loader.h"

#include "base/integers.h"
#include "code/arm64/assembler.h"
#include "maps/tables.h"

#include <cerrno>
#include <cstddef>
#include <ctime>
#include <linux/futex.h>

namespace fastsdt::engine::arm64 {
namespace {

constexpr uint32_t ret = 0xd65f03c0, bti_c = 0xd503245f;

uint32_t word_at(std::span<const std::byte> bytes, size_t offset)
{
    return bytes.size() < offset + 4 ? 0 : uint32_t(fastsdt::load(&bytes[offset], 4, false));
}

} // namespace

bool is_loader_return(std::span<const std::byte> bytes)
{
    return word_at(bytes, 0) == ret;
}

std::optional<Patch> loader_patch(const Loader& loader, std::span<const std::byte> function, uint64_t stub)
{
    const size_t at = word_at(function, 0) == bti_c ? 4 : 0;
    if (loader.breakpoint % 4 != 0 || word_at(function, at) != ret)
        return std::nullopt;
    Patch patch{.at = loader.breakpoint + at, .length = 4};
    bool far = false;
    const uint32_t jump = jump_word(patch.at, stub, far);
    if (far)
        return std::nullopt;
    fastsdt::store(patch.before.data(), 4, ret, false);
    fastsdt::store(patch.after.data(), 4, jump, false);
    return patch;
}

// Keeps the general registers and changes no flag: the dynamic linker's compiler may know that the function changes none.
std::vector<std::byte> compile_loader_stub(const Loader& loader, const Arena& arena)
{
    // From sp: a struct timespec; how often a sign of life may still come, and the last one; and what the program has in x0 to x11 and x17.
    constexpr int64_t saved = 32, size = 144;
    constexpr uint64_t clock_gettime = 113, futex = 98; // <asm-generic/unistd.h>
    constexpr Reg words = x9, number = x10;
    Assembler as(arena.code);
    const auto at = [](Reg base, int64_t displacement) {
        return Memory{.base = base, .displacement = displacement, .size = 4};
    };
    const auto call = [&](uint64_t which) {
        as.constant(x8, which);
        as.system_call();
    };
    const auto on_futex = [&](size_t offset, uint64_t operation) {
        as.address(x0, {.base = words, .displacement = int64_t(offset)});
        as.constant(x1, operation);
        call(futex);
    };
    const auto move_saved = [&](bool back) {
        for (int i = 0; i < 12; i += 2) {
            const Memory place{.base = sp, .displacement = saved + 8 * i};
            back ? as.load_pair(Reg(i), Reg(i + 1), place) : as.store_pair(place, Reg(i), Reg(i + 1));
        }
        const Memory scratch{.base = sp, .displacement = saved + 96};
        back ? as.load(Assembler::scratch, scratch) : as.store(scratch, Assembler::scratch);
    };
    const auto ask = as.label(), again = as.label(), late = as.label(), child = as.label(), out = as.label();
    // Unless stubs may make no system calls.
    const auto check_calls = [&](Assembler::Label none) {
        as.constant(x0, arena.data + Tables::no_calls);
        as.load(x0, {.base = x0});
        as.jump_if_zero(x0, none, false);
    };
    // To x2: the last answer. To x0: 1 if it is older than the question.
    const auto check_answer = [&] {
        as.address(x0, {.base = words, .displacement = int64_t(LoaderWords::answered)});
        as.put([&](auto& a) { a.ldar(vixl::w2, vixl::MemOperand(vixl::x0)); });
        as.put([&](auto& a) { a.sub(vixl::w0, vixl::w2, vixl::w10); });
        as.put([&](auto& a) { a.lsr(vixl::w0, vixl::w0, 31); });
    };
    const auto set_alone = [&](uint64_t value) {
        as.constant(x1, value);
        as.put([&](auto& a) { a.str(vixl::w1, vixl::MemOperand(vixl::x9, LoaderWords::alone)); });
        as.put([&](auto& a) { a.dmb(vixl::InnerShareable, vixl::BarrierAll); });
    };
    as.move_stack(-size);
    move_saved(false);
    as.load_near(x0, arena.mark);
    as.long_constant(x1, arena.data + Tables::slice);
    as.sub(x0, x0, x1);
    as.jump_if_zero(x0, child, false); // a forked child: nobody looks at what it maps
    as.constant(x0, loader.state);
    as.load(x0, at(x0, 0));
    as.jump_if_zero(x0, out, false); // nothing is mapped yet
    check_calls(out);
    as.constant(words, arena.data + Tables::loader);
    as.load(x0, at(words, LoaderWords::alone));
    as.jump_if_zero(x0, out, false);
    as.bind(ask);
    as.put([&](auto& a) { a.ldaxr(vixl::w10, vixl::MemOperand(vixl::x9)); });
    static_assert(LoaderWords::asked == 0);
    as.add(number, number, Assembler::Operand(1)); // the number of this question
    as.put([&](auto& a) { a.stlxr(vixl::w0, vixl::w10, vixl::MemOperand(vixl::x9)); });
    as.jump_if_zero(x0, ask, false);
    as.constant(x2, 1);
    on_futex(LoaderWords::asked, FUTEX_WAKE);
    as.constant(x0, CLOCK_MONOTONIC);
    as.move(x1, sp);
    call(clock_gettime);
    as.jump_if_zero(x0, late, false);
    as.load(x0, {.base = sp});
    as.add(x0, x0, Assembler::Operand(uint64_t(loader_waits.count())));
    as.store({.base = sp}, x0);
    const Memory left{.base = sp, .displacement = 16}, last_sign{.base = sp, .displacement = 24};
    const auto last_of_all = [&] { // to x0
        as.load(x0, at(words, LoaderWords::signs));
    };
    as.constant(x0, loader_waits_most);
    as.store(left, x0);
    last_of_all();
    as.store(last_sign, x0);
    as.bind(again);
    check_answer();
    as.jump_if_zero(x0, out);
    check_calls(late);
    as.move(x3, sp);
    as.constant(x4, 0);
    as.constant(x5, FUTEX_BITSET_MATCH_ANY);
    on_futex(LoaderWords::answered, FUTEX_WAIT_BITSET);
    as.jump_if_zero(x0, again);
    for (const uint64_t error : {EAGAIN, EINTR}) {
        as.add(x1, x0, Assembler::Operand(error));
        as.jump_if_zero(x1, again);
    }
    as.add(x1, x0, Assembler::Operand(uint64_t(ETIMEDOUT)));
    as.jump_if_zero(x1, late, false);
    last_of_all();
    as.load(x1, last_sign);
    as.store(last_sign, x0);
    as.sub(x0, x0, x1);
    as.jump_if_zero(x0, late);
    as.load(x0, {.base = sp});
    as.add(x0, x0, Assembler::Operand(uint64_t(loader_waits.count())));
    as.store({.base = sp}, x0);
    as.load(x0, left);
    as.sub(x0, x0, Assembler::Operand(1));
    as.store(left, x0);
    as.jump_if_zero(x0, again, false);
    as.bind(late);
    set_alone(1);
    check_answer(); // it may have come since: then the tracer has not seen that nobody waits
    as.jump_if_zero(x0, out, false);
    set_alone(0);
    as.bind(out);
    move_saved(true);
    as.move_stack(size);
    as.ret();
    as.bind(child); // a module may set a filter
    as.long_constant(x0, arena.first_mark);
    as.constant(x1, 1);
    as.store({.base = x0, .displacement = offsetof(Mark, no_calls)}, x1);
    as.jump(out);
    return as.finish();
}

} // namespace fastsdt::engine::arm64
