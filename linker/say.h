// SPDX-License-Identifier: BSD-2-Clause
#pragma once
#include "base/printable.h"

#include <fmt/format.h>

#include <cstdio>
#include <string>

namespace fastsdt {

/// To standard error, behind the program's name.
inline void say(const std::string& what)
{
    fmt::print(stderr, "fastsdt-index: {}\n", printable(what));
}

} // namespace fastsdt
