// SPDX-License-Identifier: BSD-2-Clause
// --list: which probes and functions a script can name.
#pragma once
#include "options.h"

#include <ostream>

namespace fastsdt::trace_tool {

/// Prints the probes and the recorded functions that options.list means, one a line and sorted, as a script names them, with their arguments.
/// @return  the exit status: incomplete, if there is none. Throws Unusable.
int list(const Options& options, std::ostream& out);

} // namespace fastsdt::trace_tool
