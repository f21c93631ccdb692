// SPDX-License-Identifier: BSD-2-Clause
// Scripts that only bpftrace can read: it runs them in place of this program.
#pragma once
#include "options.h"

#include <string>
#include <vector>

namespace fastsdt::trace_tool {

/// Says which of the options bpftrace cannot be given, and what to do instead; empty: it can be given all.
std::string untellable(const Options& options);

/// The words of the command by which bpftrace does what the options ask for. Gives up where bpftrace cannot be given an option: see untellable().
std::vector<std::string> bpftrace_command(const Options& options);

/// The words as they are typed into a shell, on one line and printable whatever they contain.
std::string shell_line(const std::vector<std::string>& words);

/// Why bpftrace is not given the script's return probes, which replace return addresses. Empty: it has none, or they were asked for and
/// nothing tells that they would do harm.
std::string return_probe_obstacle(const Options& options);

/// That the bpftrace which is installed is too old for what it has since 0.N. Empty: it is not, or it is not installed, or it does not tell.
std::string too_old_bpftrace(unsigned since);

/// Why bpftrace cannot run the script here, as far as that is known before it is tried; empty: nothing is known.
std::string bpftrace_obstacle(const Options& options);

/// Executes bpftrace in place of this program. Never returns.
[[noreturn]] void run_bpftrace(const Options& options);

} // namespace fastsdt::trace_tool
