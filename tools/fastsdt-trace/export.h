// SPDX-License-Identifier: BSD-2-Clause
// `fastsdt-trace export` and `report` of a trace, and what a run says of the files that it makes.
#pragma once
#include "formats.h"
#include "options.h"

#include <string>

namespace fastsdt::trace_tool {

/// How much is in it, and how large it is.
void tell_of(const Made& made, const std::string& file);
/// @return  the exit status. Throws Unusable.
int export_trace(const Export& wanted);

} // namespace fastsdt::trace_tool
