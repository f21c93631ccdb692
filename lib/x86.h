// SPDX-License-Identifier: BSD-2-Clause
// The uprobe rules of arch/x86/kernel/uprobes.c.
#pragma once
#include "kernel.h"

namespace fastsdt {

/// judge() for a 64-bit process (`mode64`; x32 too) or a 32-bit one, both on a 64-bit kernel.
Judgement judge_x86(const Kernel& kernel, bool mode64, std::span<const std::byte> bytes, uint64_t vaddr);

} // namespace fastsdt
