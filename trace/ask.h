// SPDX-License-Identifier: BSD-2-Clause
// The running kernel's features, asked rather than taken from its name: distributions carry what upstream's version does not have.
#pragma once
#include "kernel.h"

namespace fastsdt {

/// Puts uprobes on instructions of a file of our own that only a child of ours has mapped, and notes in `kernel` (parse_kernel("this"))
/// what it does there. Takes up to a second, most of it in the kernel, which waits for RCU. Changes nothing where uprobes may not be attached or this machine's architecture cannot be observed.
void ask_running(Kernel& kernel);

} // namespace fastsdt
