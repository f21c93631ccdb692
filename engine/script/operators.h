// SPDX-License-Identifier: BSD-2-Clause
// Operators as a script writes them.
#pragma once
#include "script/script.h"

#include <string_view>

namespace fastsdt::engine {

std::string_view name(Operator op);

} // namespace fastsdt::engine
