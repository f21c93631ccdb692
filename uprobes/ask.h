// SPDX-License-Identifier: BSD-2-Clause
// The running kernel's features, found by trying and not by its name: distributions backport what upstream's version
// lacks.
#pragma once
#include "kernel/kernel.h"

namespace fastsdt {

/// Puts uprobes on instructions of a file of our own that only a child of ours has mapped, and notes in `kernel` (parse_kernel("this"))
/// what it does there. Takes up to a second, most of it in the kernel, which waits for RCU. Changes nothing where uprobes may not be attached or
/// this machine's architecture cannot be observed.
void ask_running(Kernel& kernel);

} // namespace fastsdt
