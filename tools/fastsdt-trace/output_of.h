// SPDX-License-Identifier: BSD-2-Clause
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace fastsdt::trace_tool {

/// What a program prints on standard output; it is waited for. Empty: it could not be started, and errno says why.
/// @param words  from its name on
std::optional<std::string> output_of(const std::string& program, std::vector<std::string> words);

} // namespace fastsdt::trace_tool
