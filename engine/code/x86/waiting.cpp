// SPDX-License-Identifier: BSD-2-Clause
#include "code/x86/waiting.h"

#include "code/loader.h"

#include <cerrno>
#include <ctime>
#include <linux/futex.h>

namespace fastsdt::engine::x86 {
namespace {

constexpr int64_t clock_gettime_number = 228, futex_number = 202; // <asm/unistd_64.h>

void on_futex(Assembler& as, Memory word, int64_t operation)
{
    word.size = 8; // as lea has it
    as.address(rdi, word);
    as.constant(rsi, operation);
    system_call(as, futex_number);
}

} // namespace

void system_call(Assembler& as, int64_t number)
{
    as.constant(rax, number);
    as.emit(ZYDIS_MNEMONIC_SYSCALL, {});
}

void wake(Assembler& as, const Memory& word)
{
    as.constant(rdx, 1);
    on_futex(as, word, FUTEX_WAKE);
}

namespace {
// Behind a struct timespec: the last sign of life, and how often one may still come.
constexpr Memory last_sign{.base = rsp, .displacement = 16, .size = 4},
    left{.base = rsp, .displacement = 20, .size = 4};
} // namespace

void take_deadline(Assembler& as, const Memory& signs, Assembler::Label late)
{
    as.address(rsp, {.base = rsp, .displacement = -deadline_size});
    as.emit(ZYDIS_MNEMONIC_MOV, {Part{rax, 4}, signs});
    as.emit(ZYDIS_MNEMONIC_MOV, {last_sign, Part{rax, 4}});
    as.emit(ZYDIS_MNEMONIC_MOV, {left, int64_t(loader_waits_most)});
    as.constant(rdi, CLOCK_MONOTONIC);
    as.move(rsi, rsp);
    system_call(as, clock_gettime_number);
    as.emit(ZYDIS_MNEMONIC_TEST, {Part{rax}, Part{rax}});
    as.jump(ZYDIS_MNEMONIC_JNZ, late);
    as.emit(ZYDIS_MNEMONIC_ADD, {Memory{.base = rsp}, int64_t(loader_waits.count())});
}

void sleep_on(Assembler& as, const Memory& word, const Memory& signs, Assembler::Label again)
{
    const auto over = as.label();
    as.move(r10, rsp);
    as.constant(r8, 0);
    as.constant(r9, int64_t(FUTEX_BITSET_MATCH_ANY));
    on_futex(as, word, FUTEX_WAIT_BITSET);
    for (const int error : {0, -EAGAIN, -EINTR}) {
        as.emit(ZYDIS_MNEMONIC_CMP, {Part{rax}, int64_t(error)});
        as.jump(ZYDIS_MNEMONIC_JZ, again);
    }
    as.emit(ZYDIS_MNEMONIC_CMP, {Part{rax}, int64_t(-ETIMEDOUT)});
    as.jump(ZYDIS_MNEMONIC_JNZ, over);
    as.emit(ZYDIS_MNEMONIC_MOV, {Part{rax, 4}, signs});
    as.emit(ZYDIS_MNEMONIC_CMP, {Part{rax, 4}, last_sign});
    as.jump(ZYDIS_MNEMONIC_JZ, over);
    as.emit(ZYDIS_MNEMONIC_MOV, {last_sign, Part{rax, 4}});
    as.emit(ZYDIS_MNEMONIC_ADD, {Memory{.base = rsp}, int64_t(loader_waits.count())});
    as.emit(ZYDIS_MNEMONIC_SUB, {left, int64_t(1)});
    as.jump(ZYDIS_MNEMONIC_JNZ, again);
    as.bind(over);
}

} // namespace fastsdt::engine::x86
