// SPDX-License-Identifier: BSD-2-Clause
// The name of a probe, taken apart.
#pragma once
#include "script/lexer.h"

#include <string>
#include <vector>

namespace fastsdt::engine {

/// @param used  how many of the parameters are used: grows. Throws ScriptError.
Probe read_probe(const Token& name, const std::vector<std::string>& parameters, size_t& used);

} // namespace fastsdt::engine
