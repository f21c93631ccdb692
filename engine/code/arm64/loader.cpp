// SPDX-License-Identifier: BSD-2-Clause
// The function's return and the stub on arm64. Before: ret, behind a landing pad if the dynamic linker has those. After: a
// branch to the stub.
#include "code/arm64/loader.h"

#include "base/integers.h"
#include "code/arm64/waiting.h"
#include "maps/tables.h"

#include <cstddef>

namespace fastsdt::engine::arm64 {
namespace {

constexpr uint32_t ret = 0xd65f03c0;

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
    constexpr Reg number = x10, answered = x11; // of this question; runtime address of the last one that was answered
    Assembler as(arena.code);
    const auto again = as.label(), late = as.label(), child = as.label(), out = as.label();
    // To x2: the last answer. To x0: 1 if it is older than the question.
    const auto check_answer = [&] {
        as.address(answered, {.base = words, .displacement = int64_t(LoaderWords::answered)});
        as.put([&](auto& a) { a.ldar(vixl::w2, vixl::MemOperand(Assembler::x(answered))); });
        as.put([&](auto& a) { a.sub(vixl::w0, vixl::w2, vixl::w10); });
        as.put([&](auto& a) { a.lsr(vixl::w0, vixl::w0, 31); });
    };
    const auto set_alone = [&](uint64_t value) {
        as.constant(x1, value);
        as.put([&](auto& a) { a.str(vixl::w1, vixl::MemOperand(vixl::x9, LoaderWords::alone)); });
        as.put([&](auto& a) { a.dmb(vixl::InnerShareable, vixl::BarrierAll); });
    };
    begin_waiting(as, arena);
    as.load_near(x0, arena.mark);
    as.long_constant(x1, arena.data + Tables::slice);
    as.sub(x0, x0, x1);
    as.jump_if_zero(x0, child, false); // a forked child: nobody looks at what it maps
    as.constant(x0, loader.state);
    as.load(x0, {.base = x0, .size = 4});
    as.jump_if_zero(x0, out, false); // nothing is mapped yet
    check_calls(as, arena, out);
    as.load(x0, {.base = words, .displacement = LoaderWords::alone, .size = 4});
    as.jump_if_zero(x0, out, false);
    ask(as, number);
    take_deadline(as, late);
    as.bind(again);
    check_answer();
    as.jump_if_zero(x0, out);
    check_calls(as, arena, late);
    sleep_on(as, answered, again);
    as.bind(late);
    set_alone(1);
    check_answer(); // it may have come since: then the tracer has not seen that nobody waits
    as.jump_if_zero(x0, out, false);
    set_alone(0);
    as.bind(out);
    end_waiting(as);
    as.ret();
    as.bind(child); // a module may set a filter
    as.long_constant(x0, arena.first_mark);
    as.constant(x1, 1);
    as.store({.base = x0, .displacement = offsetof(Mark, no_calls)}, x1);
    as.jump(out);
    return as.finish();
}

} // namespace fastsdt::engine::arm64
