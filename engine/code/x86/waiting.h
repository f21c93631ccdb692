// SPDX-License-Identifier: BSD-2-Clause
// What stubs have in common that ask the tracer and wait for it, for loader_waits (code/loader.h) at most. They change what a system call
// changes, and rdx, rsi, rdi, r8, r9 and r10.
#pragma once
#include "code/x86/assembler.h"

#include <cstdint>

namespace fastsdt::engine::x86 {

void system_call(Assembler& as, int64_t number); ///< <asm/unistd_64.h>
/// @param word  of 4 bytes, that one thread may wait for
void wake(Assembler& as, const Memory& word);
/// Takes 16 bytes of the stack, for when the wait ends at the latest. @param late  where to go on if that cannot be told
void take_deadline(Assembler& as, Assembler::Label late);
/// Sleeps until the word is woken, unless it is no longer what rdx says. Behind it the time is over, or it cannot wait.
/// @param again  where to go on if it was woken, or may have been
void sleep_on(Assembler& as, const Memory& word, Assembler::Label again);

} // namespace fastsdt::engine::x86
