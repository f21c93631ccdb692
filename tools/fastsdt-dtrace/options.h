// SPDX-License-Identifier: BSD-2-Clause
// The command line of fastsdt-dtrace.
#pragma once
#include "base/unusable.h"

#include <span>
#include <string>
#include <vector>

namespace dtrace {

extern const char* const usage_line;
extern const char* const help;

struct UsageError : fastsdt::Unusable {
    using Unusable::Unusable;
};

struct Options {
    bool header = false, object = false, preprocess = false, keep = false, help = false, version = false;
    std::string input, output, cpp_path;
    std::vector<std::string> preprocessor; // -I, -D, -U as given
};

// Throws UsageError.
Options read_options(std::span<char*> words);

} // namespace dtrace
