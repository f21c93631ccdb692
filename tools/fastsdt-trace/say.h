// SPDX-License-Identifier: BSD-2-Clause
#pragma once
#include <string>
#include <vector>

namespace fastsdt::trace_tool {

constexpr int complete = 0, incomplete = 1, unusable = 2;

/// Prints one line on standard error, with names made safe.
void say(const std::string& message);
/// What it said so far, but for what is said very often: a trace has it too.
const std::vector<std::string>& said();
/// The same for whoever looks on: that something is done.
void tell(const std::string& message);
/// Thrown to end with `unusable`, after whatever was done to a process is undone. No std::exception: nobody but main() catches it.
struct GivenUp {};
/// The same, and throws GivenUp.
[[noreturn]] void give_up(const std::string& message);
/// Ends where something that was printed could not be written. @param file  of --output; empty: standard output
void finish_output(const std::string& file);

} // namespace fastsdt::trace_tool
