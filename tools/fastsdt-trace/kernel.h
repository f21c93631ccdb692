// SPDX-License-Identifier: BSD-2-Clause
// The other engine: bpftrace runs the same text.
#pragma once
#include "options.h"
#include "script.h"

#include <string>
#include <vector>

namespace fastsdt::tracing {

/// What of the options bpftrace cannot be told, and what to do; empty: it can be told all.
std::string untellable(const Options& options, const engine::Script* script);

/// The command that has bpftrace do what the options ask for, as words. `script` gives the maps for --interval.
/// Gives up where bpftrace cannot be told so: see untellable().
std::vector<std::string> kernel_command(const Options& options, const engine::Script* script);

/// The words as they are typed into a shell, on one line and printable whatever they have.
std::string shell_line(const std::vector<std::string>& words);

/// Why bpftrace cannot run the script here; empty: it can.
std::string kernel_obstacle(const Options& options, const engine::Script* script);

/// Becomes bpftrace. Returns never.
[[noreturn]] void run_kernel(const Options& options, const engine::Script* script);

} // namespace fastsdt::tracing
