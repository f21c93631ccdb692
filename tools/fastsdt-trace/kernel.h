// SPDX-License-Identifier: BSD-2-Clause
// The other engine: bpftrace runs the same text.
#pragma once
#include "options.h"
#include "process.h"
#include "script/script.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace fastsdt::trace_tool {

/// Says which of the options bpftrace cannot be given, and what to do instead; empty: it can be given all.
std::string untellable(const Options& options, const engine::Script* script);

/// The words of the command by which bpftrace does what the options ask for. `script` gives the maps for --interval.
/// Gives up where bpftrace cannot be given an option: see untellable().
std::vector<std::string> kernel_command(const Options& options, const engine::Script* script);

/// The words as they are typed into a shell, on one line and printable whatever they contain.
std::string shell_line(const std::vector<std::string>& words);

/// Why bpftrace is not given the script's return probes, which replace return addresses. Empty: it has none, or they were asked for and
/// nothing tells that they would do harm.
std::string return_probe_obstacle(const Options& options);

/// Why bpftrace cannot run the script here, as far as that is known before it is tried; empty: nothing is known.
/// @param returns  it gets the script's return probes, if there are any
std::string kernel_obstacle(const Options& options, const engine::Script* script, bool returns = true);

/// Executes bpftrace in place of this program. Never returns.
[[noreturn]] void run_kernel(const Options& options, const engine::Script* script);

/// The process that is traced, for run_beside().
struct Traced {
    std::function<void()> begin;                ///< is called when all probes are attached
    std::function<bool(Signals::Signal)> stops; ///< is given each signal. True: the tracing shall end
};

/// Runs bpftrace as a child, on the process options.pid, until it ends. Nothing is printed on standard output before all
/// of its probes are attached; a process that is held until then has executed nothing if it fails.
/// @return  its status as from waitpid; empty: it ended before that. No process of its own is left behind.
std::optional<int> run_beside(const Options& options, const engine::Script& script, Signals& signals,
                              const Traced& traced);

} // namespace fastsdt::trace_tool
