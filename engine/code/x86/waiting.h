// SPDX-License-Identifier: BSD-2-Clause
// What stubs have in common that ask the tracer and wait for it, as long as code/loader.h says. They change what a system call
// changes, and rdx, rsi, rdi, r8, r9 and r10.
#pragma once
#include "code/x86/assembler.h"

#include <cstdint>

namespace fastsdt::engine::x86 {

void system_call(Assembler& as, int64_t number); ///< <asm/unistd_64.h>
/// @param word  of 4 bytes, that one thread may wait for
void wake(Assembler& as, const Memory& word);
/// Bytes of the stack that take_deadline() takes.
inline constexpr int64_t deadline_size = 32;
/// @param signs  LoaderWords::signs  @param late  where to go on if the time cannot be told
void take_deadline(Assembler& as, const Memory& signs, Assembler::Label late);
/// Sleeps until the word is woken, unless it is no longer what rdx says. Behind it the time is over, or it cannot wait.
/// @param again  where to go on if it was woken, or may have been, or if there was a sign of life
void sleep_on(Assembler& as, const Memory& word, const Memory& signs, Assembler::Label again);

} // namespace fastsdt::engine::x86
