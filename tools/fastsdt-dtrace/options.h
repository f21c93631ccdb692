// SPDX-License-Identifier: BSD-2-Clause
// The command line of fastsdt-dtrace.
#pragma once
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace dtrace {

extern const char* const usage_line;
extern const char* const help;

struct UsageError : std::runtime_error {
    using runtime_error::runtime_error;
};

struct Options {
    bool header = false, object = false, preprocess = false, keep = false, help = false, version = false;
    std::string input, output, cpp_path;
    std::vector<std::string> preprocessor; // -I, -D, -U as given
};

// Throws UsageError.
Options read_options(std::span<char*> words);

} // namespace dtrace
