// SPDX-License-Identifier: BSD-2-Clause
// Preprocessor and compiler: words of a command as the environment has them, and running it. All errors are dtrace::Error.
#pragma once
#include "model.h"

namespace dtrace {

// As a shell would split it: blanks and line ends apart, '...', "..." and \ keep. Nothing is expanded.
std::vector<std::string> split_words(std::string_view text, std::string_view of);

// The environment's variable as words; empty if it is unset or blank.
std::vector<std::string> environment_words(const char* variable);

// The words of CC, or the first of cc, gcc and clang that is on the PATH.
std::vector<std::string> compiler();

// Runs command with `input` as its standard input, and returns its standard output if `wants_output` (else it is ours).
// Fails, naming the command, if it cannot be run or does not exit with 0.
std::string run(const std::vector<std::string>& command, std::string_view input, bool wants_output);

} // namespace dtrace
