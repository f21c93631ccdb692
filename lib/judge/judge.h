// SPDX-License-Identifier: BSD-2-Clause
// What one kernel does with a uprobe at some bytes: the architecture's rules, asked for every kernel that a name may mean.
#pragma once
#include "kernel/kernel.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace fastsdt {

/// What `kernel` does with a uprobe on the first of `bytes`; unknown where that depends on a feature that is not known.
/// @param bytes  the file's bytes from the probed address on; as many as the segment has, 16 are enough.
///               Fewer than the instruction needs is judged as the kernel would (it reads zeros past the file).
///               powerpc: in little-endian order.
/// @param vaddr  ELF virtual address of the first byte; only its offset in the 4096-byte page matters.
Judgement judge(const Kernel& kernel, Arch arch, std::span<const std::byte> bytes, uint64_t vaddr);

} // namespace fastsdt
