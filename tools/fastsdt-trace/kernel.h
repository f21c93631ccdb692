// SPDX-License-Identifier: BSD-2-Clause
// The other engine: bpftrace runs the same text.
#pragma once
#include "options.h"
#include "script.h"

#include <string>
#include <vector>

namespace fastsdt::tracing {

/// The command that has bpftrace do what the options ask for, as words. `script` gives the maps for --interval.
/// Gives up where bpftrace cannot be told so.
std::vector<std::string> kernel_command(const Options& options, const engine::Script* script);

/// The words as they are typed into a shell.
std::string shell_line(const std::vector<std::string>& words);

/// Why bpftrace cannot be run here; empty: it can.
std::string kernel_obstacle();

/// Becomes bpftrace. Returns never.
[[noreturn]] void run_kernel(const Options& options, const engine::Script* script);

} // namespace fastsdt::tracing
