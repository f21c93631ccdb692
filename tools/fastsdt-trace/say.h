// SPDX-License-Identifier: BSD-2-Clause
#pragma once
#include <string>

namespace fastsdt::trace_tool {

constexpr int complete = 0, incomplete = 1, unusable = 2;

/// Prints one line on standard error, with names made safe.
void say(const std::string& message);
/// Thrown to end with `unusable`, after whatever was done to a process is undone. No std::exception: nobody but main() catches it.
struct GivenUp {};
/// The same, and throws GivenUp.
[[noreturn]] void give_up(const std::string& message);
/// Ends where something that was printed could not be written. @param file  of --output; empty: standard output
void finish_output(const std::string& file);

} // namespace fastsdt::trace_tool
