// SPDX-License-Identifier: BSD-2-Clause
#pragma once
#include "options.h"

namespace fastsdt::trace_tool {

/// @return  the exit status. Throws Unusable.
int export_trace(const Export& wanted);

} // namespace fastsdt::trace_tool
