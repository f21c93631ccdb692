// SPDX-License-Identifier: BSD-2-Clause
// The uprobe rules of architectures that need no more than a table of masks.
#pragma once
#include "kernel.h"

namespace fastsdt {

/// judge() for riscv (RV64), s390, loongarch and powerpc, where the version makes no difference to what is covered.
Judgement judge_by_table(Arch arch, std::span<const std::byte> bytes, uint64_t vaddr);

} // namespace fastsdt
