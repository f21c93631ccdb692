// SPDX-License-Identifier: BSD-2-Clause
// The uprobe rules of arch/arm64/kernel/probes.
#pragma once
#include "kernel.h"

namespace fastsdt {

/// judge() for a 64-bit arm64 process.
Judgement judge_arm64(const Kernel& kernel, std::span<const std::byte> bytes, uint64_t vaddr);

} // namespace fastsdt
