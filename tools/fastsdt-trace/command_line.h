// SPDX-License-Identifier: BSD-2-Clause
// The options and subcommands of the command line, with the help on them: options.cpp makes of what is given what is to be done.
#pragma once
#include "base/nearest.h"
#include "elf/debug_options.h"
#include "options.h"
#include "top.h"

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <vector>

namespace fastsdt::trace_tool {

/// What is given, as it is written.
struct Given {
    std::string text, command;
    std::vector<std::string> words;   ///< the script's file and its parameters
    std::vector<std::string> places;  ///< of latency
    std::vector<std::string> scripts; ///< of serve
    ServeOptions serve;
    Timeline timeline;
    std::vector<std::string> outputs; ///< of record and functions: a folder, files
    Export exported, reported;
    Top top;
    CLI::App *latency_command = nullptr, *serve_command = nullptr, *record_command = nullptr,
             *functions_command = nullptr, *export_command = nullptr, *top_command = nullptr, *report_command = nullptr;
    CLI::Option* list = nullptr;
    std::string search;
    DebugPlaces debug;
    std::optional<Nearest> subcommand; ///< that the script's FILE was meant for, perhaps
    double duration = 0, interval = 0;
    uint64_t buffer = 0; // 0: the usual
};

/// @param options, given  have to outlive `app`, which fills them
void add_options(CLI::App& app, Options& options, Given& given);

} // namespace fastsdt::trace_tool
