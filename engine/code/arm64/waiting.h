// SPDX-License-Identifier: BSD-2-Clause
// What stubs have in common that ask the tracer and wait for it, as long as code/loader.h says. Between begin_waiting() and end_waiting() they
// may change x0 to x12 and the assembler's register, but `words`; no flag.
#pragma once
#include "code/arm64/assembler.h"
#include "code/site.h"

#include <cstddef>
#include <cstdint>

namespace fastsdt::engine::arm64 {

inline constexpr Reg words = x9; ///< runtime address of the LoaderWords

void begin_waiting(Assembler& as, const Arena& arena); ///< saves those registers; to `words`: where they are
void end_waiting(Assembler& as);                       ///< restores them
Memory saved_register(Reg reg);                        ///< in between: what the program has in one of x0 to x12
void system_call(Assembler& as, uint64_t number);      ///< <asm-generic/unistd.h>
/// Jumps to `none` if stubs may make no system calls.
void check_calls(Assembler& as, const Arena& arena, Assembler::Label none);
void ask(Assembler& as, Reg number); ///< wakes the tracer. To `number`: of this question
/// @param late  where to go on if the time cannot be told
void take_deadline(Assembler& as, Assembler::Label late);
/// Sleeps until the word of 4 bytes at the address in a register is woken, unless it is no longer what x2 says. Behind it the time is over, or
/// it cannot wait.
/// @param again  where to go on if it was woken, or may have been, or if there was a sign of life
void sleep_on(Assembler& as, Reg word, Assembler::Label again);

} // namespace fastsdt::engine::arm64
