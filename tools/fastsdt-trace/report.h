// SPDX-License-Identifier: BSD-2-Clause
// `fastsdt-trace report`: a trace as one HTML file, which needs no network. What the page shows is added up here, so that its size does not
// depend on the number of events; tools/fastsdt-trace/page draws it.
#pragma once
#include "base/output_file.h"
#include "options.h"

#include <string>

namespace fastsdt::trace_tool {

/// @param folder  of a trace that record has written. @return the exit status. Throws Unusable.
int write_page(OutputFile& file, const std::string& folder);
/// The same of what the command line says.
int report(const Export& wanted);

} // namespace fastsdt::trace_tool
