// SPDX-License-Identifier: BSD-2-Clause
#pragma once
#include "options.h"

namespace fastsdt::trace_tool {

/// `fastsdt-trace serve`: traces until a signal ends it. @return  the exit status. Throws Unusable.
int serve(const Options& options);

} // namespace fastsdt::trace_tool
