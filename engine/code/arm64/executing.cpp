// SPDX-License-Identifier: BSD-2-Clause
// execve() of glibc and musl on arm64: a landing pad, a nop in its place, or neither; mov x8, #221; svc #0.
#include "code/arm64/executing.h"

#include "base/integers.h"
#include "code/arm64/waiting.h"
#include "code/loader.h"
#include "maps/tables.h"

#include <stdexcept>

namespace fastsdt::engine::arm64 {
namespace {

constexpr uint32_t set_number = 0xd2801ba8, call_kernel = 0xd4000001;
constexpr uint64_t gettid_number = 178; // <asm-generic/unistd.h>

} // namespace

std::optional<size_t> executing_place(std::span<const std::byte> function)
{
    const auto word_at = [&](size_t offset) {
        return function.size() < offset + 4 ? 0 : uint32_t(fastsdt::load(&function[offset], 4, false));
    };
    const size_t at = word_at(0) == bti_c || word_at(0) == nop_arm64 ? 4 : 0;
    return word_at(at) == set_number && word_at(at + 4) == call_kernel ? std::optional(at) : std::nullopt;
}

Patch executing_patch(uint64_t place, uint64_t stub)
{
    Patch patch{.at = place, .length = 4, .covers = 4};
    bool far = false;
    fastsdt::store(patch.before.data(), 4, set_number, false);
    fastsdt::store(patch.after.data(), 4, jump_word(place, stub, far), false);
    if (far)
        throw std::logic_error("the arena is not within reach of execve()");
    return patch;
}

// Keeps all registers but those that a system call changes. No two threads of a process have the same number, and neither has a child of
// vfork(), which runs in its parent's memory.
std::vector<std::byte> compile_executing_stub(uint64_t place, const Arena& arena)
{
    constexpr Reg thread = x10, own = x11, left = x12; // own: runtime address of this thread's pair
    Assembler as(arena.code);
    const auto of_executing = [](size_t offset) {
        return Memory{.base = words, .displacement = int64_t(Tables::executing + offset) - int64_t(Tables::loader)};
    };
    const auto at_own = vixl::MemOperand(Assembler::x(own));
    const auto take = as.label(), next = as.label(), taken = as.label(), again = as.label(), late = as.label(),
               out = as.label();
    begin_waiting(as, arena);
    check_calls(as, arena, out);
    as.load(x0, of_executing(ExecutingWords::alone));
    as.jump_if_zero(x0, out, false);
    system_call(as, gettid_number);
    as.move(thread, x0);
    as.address(own, of_executing(ExecutingWords::first));
    as.constant(left, ExecutingWords::most);
    as.bind(take);
    as.put([&](auto& a) { a.ldaxr(vixl::w0, at_own); });
    as.jump_if_zero(x0, next, false);
    as.put([&](auto& a) { a.stlxr(vixl::w1, Assembler::w(thread), at_own); });
    as.jump_if_zero(x1, take, false);
    as.jump(taken);
    as.bind(next);
    as.add(own, own, Assembler::Operand(16));
    as.sub(left, left, Assembler::Operand(1));
    as.jump_if_zero(left, take, false);
    as.jump(out); // so many at once: this one is found later
    as.bind(taken);
    as.load(x0, saved_register(x0)); // the program's name
    as.store({.base = own, .displacement = 8}, x0);
    ask(as, left);
    take_deadline(as, late);
    as.bind(again);
    as.put([&](auto& a) { a.ldar(vixl::w0, at_own); });
    as.sub(x0, x0, thread);
    as.jump_if_zero(x0, out, false);
    check_calls(as, arena, late);
    as.move(x2, thread);
    sleep_on(as, own, again);
    as.bind(late);
    as.put([&](auto& a) { a.ldaxr(vixl::w0, at_own); });
    as.sub(x0, x0, thread);
    as.jump_if_zero(x0, out, false); // the answer has come
    as.put([&](auto& a) { a.stlxr(vixl::w1, vixl::wzr, at_own); });
    as.jump_if_zero(x1, late, false);
    as.constant(x0, 1);
    as.store(of_executing(ExecutingWords::alone), x0);
    as.bind(out);
    end_waiting(as);
    as.copy(set_number);
    as.jump_to(place + 4);
    return as.finish();
}

} // namespace fastsdt::engine::arm64
