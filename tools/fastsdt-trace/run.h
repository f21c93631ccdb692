// SPDX-License-Identifier: BSD-2-Clause
#pragma once
#include "options.h"
#include "session.h"

#include <ostream>

namespace fastsdt::trace_tool {

/// Traces with the engine that the options want. @return the exit status. Throws Unusable.
int run(const Options& options, const engine::Script& script);

/// -d ast and -d ir: what becomes of the script before it meets a process.
void print_stage(const Options& options, const engine::Script& script, std::ostream& out);
/// --dry-run: the sites, what would become of each, and the stubs.
void print_preview(const engine::Session::Preview& preview, const std::vector<std::string>& probes, bool json,
                   std::ostream& out);

} // namespace fastsdt::trace_tool
