// SPDX-License-Identifier: BSD-2-Clause
// The text of printf().
#pragma once
#include "script/script.h"

#include <string>
#include <vector>

namespace fastsdt::engine {

/// Whether a conversion prints floating-point numbers.
constexpr bool is_for_reals(char conversion)
{
    return conversion == 'f' || conversion == 'F' || conversion == 'e' || conversion == 'E' || conversion == 'g'
        || conversion == 'G' || conversion == 'a' || conversion == 'A';
}

/// As in C: %[-+ #0][width][.precision][length]conversion. A piece for each conversion, and a last one. Throws ScriptError at `where`.
std::vector<Format> read_format(const std::string& text, Span where);

} // namespace fastsdt::engine
