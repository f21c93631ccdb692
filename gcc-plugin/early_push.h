// SPDX-License-Identifier: GPL-3.0-or-later
// Moves the prologue's first push to the function's first instruction, where it makes the entry cheap at no cost.
//
// The scheduler fills the time that a push takes with what does not depend on it, and puts that first:
//
//     mov    %rdi,%rax                        push   %rbx
//     push   %rbx                 becomes     mov    %rdi,%rax
//     test   %rsi,%rsi                        test   %rsi,%rsi
//
// Nothing else changes: a push depends on the stack pointer and the pushed register alone.
#pragma once
#include "target_entry.h"

namespace fastprobe {

/// x86-64. After scheduling, before variables' locations are tracked.
void move_push_first();

} // namespace fastprobe
