// SPDX-License-Identifier: BSD-2-Clause
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace fastsdt::trace_tool {

enum class EngineChoice { automatic, user, kernel };

struct Options {
    std::string text;                 ///< the script
    std::string name;                 ///< of the script: its file's, "-e" or "latency"
    pid_t pid = 0;                    ///< 0: `command` is run
    std::vector<std::string> command; ///< after --
    EngineChoice engine = EngineChoice::automatic;
    std::optional<std::chrono::milliseconds> duration, interval;
    bool dry = false, json = false;
    bool read_memory = false; ///< stubs may make system calls in whatever program
};

/// Reads the command line, and the script's file. A status: the program has to end with it; the message is printed
/// already.
std::optional<int> read_options(int argc, char** argv, Options& options);

/// The script of `fastsdt-trace latency`: from a hit of the first place to the next of the second in the same thread.
/// @param places  two probes ("shop:begin", "begin", "./app:shop:begin"), or one function
std::string latency_script(const std::vector<std::string>& places);

} // namespace fastsdt::trace_tool
