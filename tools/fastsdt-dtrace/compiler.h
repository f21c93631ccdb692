// SPDX-License-Identifier: BSD-2-Clause
// Preprocessor and compiler: takes the words of a command from the environment and runs it. All errors are Unusable.
#pragma once
#include "model.h"

namespace dtrace {

// Splits a text as a shell does: at blanks and line ends, unless '...', "..." or \ protect them. Nothing is expanded.
std::vector<std::string> split_words(std::string_view text, std::string_view of);

// The environment's variable as words; empty if it is unset or blank.
std::vector<std::string> environment_words(const char* variable);

// The words of CC, or the first of cc, gcc and clang that is on the PATH.
std::vector<std::string> compiler();

// Runs command with `input` as its standard input. Returns its standard output if `wants_output`, else lets it write to
// ours.
// Fails, naming the command, if it cannot be run or does not exit with 0.
std::string run(const std::vector<std::string>& command, std::string_view input, bool wants_output);

} // namespace dtrace
