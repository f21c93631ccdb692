// SPDX-License-Identifier: BSD-2-Clause
// What the running kernel does with a uprobe, seen rather than computed.
#pragma once
#include "kernel/kernel.h"
#include "uprobe.h"

#include <optional>
#include <span>
#include <vector>

namespace fastsdt {

struct Observation {
    int error = 0; ///< errno of the attach
    /// reject, xol, emulate or optimize. Empty where this program cannot see it: the file is for another architecture.
    std::optional<Verdict> verdict;
};

/// Executes one single instruction with a uprobe on it, in a process made for that, and then kills the process. It has
/// the file mapped: while nobody has, the kernel accepts a uprobe anywhere, and silently drops it later. Its registers
/// point into memory of its own, so that the instruction can do no harm. Places that look the same to the kernel are
/// tried once.
/// Not for files of another architecture: the kernel decodes an instruction once, in the mode of the first process, and
/// keeps to that as long as anybody has a probe there. Throws Unusable if the file cannot be mapped.
/// @param targets  all in one file
std::vector<Observation> observe(std::span<const Target> targets, Arch arch);

} // namespace fastsdt
