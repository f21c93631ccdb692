// SPDX-License-Identifier: BSD-2-Clause
// The command line of fastsdt-check.
#pragma once
#include "output.h"
#include "report/findings.h"

#include <optional>
#include <set>
#include <string>
#include <sys/types.h>
#include <vector>

enum Status { clean = 0, findings_found = 1, unusable = 2 };

struct Arguments {
    std::vector<std::string> files;
    unsigned jobs = 0; ///< threads that look through directories; 0: one for each processor
    pid_t pid = 0;     ///< 0: none
    fastsdt::Access access;
    bool json = false, sarif = false, plan = false, diff = false, armable = false;
    fastsdt::ReportOptions report;              ///< with the kernels and --probe's selection
    std::vector<std::string> globs;             ///< of --probe; empty: all
    Style style;                                ///< with --only
    std::optional<fastsdt::Severity> threshold; ///< of --fail-on; empty: never
    std::string output;                         ///< file for the report; empty: standard output

    /// Whether --probe names the probe, or there is no --probe.
    bool selects(std::string_view provider, std::string_view probe) const;
    /// Of --probe, what no probe had for its name since.
    std::vector<std::string> unmatched() const;

private:
    mutable std::set<std::string> matched_; // globs
};

/// Reads the command line. A status: the program has to end with it; the message is printed already (--help, wrong
/// usage).
std::optional<Status> read_arguments(int argc, char** argv, Arguments& arguments);
