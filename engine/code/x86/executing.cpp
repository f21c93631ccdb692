// SPDX-License-Identifier: BSD-2-Clause
// execve() of glibc and musl on x86-64: endbr64 or a change of the stack pointer, or neither; mov $59, %eax; syscall.
#include "code/x86/executing.h"

#include "base/integers.h"
#include "code/loader.h"
#include "code/x86/assembler.h"
#include "code/x86/waiting.h"
#include "maps/tables.h"

#include <algorithm>
#include <array>

namespace fastsdt::engine::x86 {
namespace {

constexpr std::byte operator""_b(unsigned long long value)
{
    return std::byte(value);
}

constexpr std::array set_number{0xb8_b, 0x3b_b, 0x00_b, 0x00_b, 0x00_b}; // 59, <asm/unistd_64.h>
constexpr std::array call_kernel{0x0f_b, 0x05_b};
constexpr std::array take_stack{0x48_b, 0x83_b, 0xec_b}; // and a byte

bool begins(std::span<const std::byte> bytes, std::span<const std::byte> with)
{
    return bytes.size() >= with.size() && std::equal(with.begin(), with.end(), bytes.begin());
}

} // namespace

std::optional<size_t> executing_place(std::span<const std::byte> function)
{
    size_t at = 0;
    if (begins(function, endbr64))
        at += endbr64.size();
    if (begins(function.subspan(at), take_stack))
        at += take_stack.size() + 1;
    if (at > function.size() || !begins(function.subspan(at), set_number)
        || !begins(function.subspan(at + set_number.size()), call_kernel))
        return std::nullopt;
    return at;
}

Patch executing_patch(uint64_t place, uint64_t stub)
{
    Patch patch{.at = place, .length = set_number.size(), .covers = set_number.size()};
    std::copy(set_number.begin(), set_number.end(), patch.before.begin());
    patch.after[0] = 0xe9_b; // jmp rel32
    fastsdt::store(&patch.after[1], 4, stub - (place + patch.length), false);
    return patch;
}

// Keeps all registers but those that a system call changes. No two threads of a process have the same number, and neither has a child of
// vfork(), which runs in its parent's memory.
std::vector<std::byte> compile_executing_stub(uint64_t place, const Arena& arena)
{
    static constexpr Reg kept[] = {rbx, rdx, rsi, rdi, r8, r9, r10, r12, r13};
    constexpr int64_t gettid = 186; // <asm/unistd_64.h>
    constexpr int64_t red_zone = 128;
    constexpr auto words = int64_t(Tables::executing);
    Assembler as(arena.code);
    const auto of_tables = [&](size_t offset, int size) {
        return Memory{.base = rbx, .displacement = int64_t(offset) - words, .size = size};
    };
    const Memory alone = of_tables(Tables::executing + ExecutingWords::alone, 8);
    const Memory own{.base = r13, .size = 4}; // this thread's
    const auto take = as.label(), taken = as.label(), again = as.label(), late = as.label(), done = as.label(),
               out = as.label();
    const auto check_calls = [&](Assembler::Label none) {
        as.emit(ZYDIS_MNEMONIC_CMP, {of_tables(Tables::no_calls, 8), int64_t(0)});
        as.jump(ZYDIS_MNEMONIC_JNZ, none);
    };
    as.address(rsp, {.base = rsp, .displacement = -red_zone});
    for (const Reg reg : kept)
        as.emit(ZYDIS_MNEMONIC_PUSH, {Part{reg}});
    as.long_constant(rbx, arena.data + Tables::executing);
    check_calls(out);
    as.emit(ZYDIS_MNEMONIC_CMP, {alone, int64_t(0)});
    as.jump(ZYDIS_MNEMONIC_JNZ, out);
    as.move(r8, rdi); // the program's name
    system_call(as, gettid);
    as.move(r12, rax);
    as.address(r13, of_tables(Tables::executing + ExecutingWords::first, 8));
    as.constant(r9, int64_t(ExecutingWords::most));
    as.bind(take);
    as.constant(rax, 0);
    as.emit(ZYDIS_MNEMONIC_CMPXCHG, {own, Part{r12, 4}}, true);
    as.jump(ZYDIS_MNEMONIC_JZ, taken);
    as.address(r13, {.base = r13, .displacement = 16});
    as.emit(ZYDIS_MNEMONIC_SUB, {Part{r9}, int64_t(1)});
    as.jump(ZYDIS_MNEMONIC_JNZ, take);
    as.jump(ZYDIS_MNEMONIC_JMP, out); // so many at once: this one is found later
    as.bind(taken);
    as.store({.base = r13, .displacement = 8}, r8);
    as.constant(rax, 1);
    as.emit(ZYDIS_MNEMONIC_XADD, {of_tables(Tables::loader + LoaderWords::asked, 4), Part{rax, 4}}, true);
    wake(as, of_tables(Tables::loader + LoaderWords::asked, 4));
    const Memory signs = of_tables(Tables::loader + LoaderWords::signs, 4);
    take_deadline(as, signs, late);
    as.bind(again);
    as.emit(ZYDIS_MNEMONIC_CMP, {own, Part{r12, 4}});
    as.jump(ZYDIS_MNEMONIC_JNZ, done);
    check_calls(late);
    as.move(rdx, r12);
    sleep_on(as, own, signs, again);
    as.bind(late);
    as.move(rax, r12);
    as.constant(rdx, 0);
    as.emit(ZYDIS_MNEMONIC_CMPXCHG, {own, Part{rdx, 4}}, true);
    as.jump(ZYDIS_MNEMONIC_JNZ, done); // the answer has come
    as.emit(ZYDIS_MNEMONIC_MOV, {alone, int64_t(1)});
    as.bind(done);
    as.address(rsp, {.base = rsp, .displacement = deadline_size});
    as.bind(out);
    for (size_t i = std::size(kept); i > 0; --i)
        as.emit(ZYDIS_MNEMONIC_POP, {Part{kept[i - 1]}});
    as.address(rsp, {.base = rsp, .displacement = red_zone});
    as.copy(set_number);
    as.jump_to(ZYDIS_MNEMONIC_JMP, place + set_number.size());
    return as.finish();
}

} // namespace fastsdt::engine::x86
