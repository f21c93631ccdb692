// SPDX-License-Identifier: BSD-2-Clause
// `fastsdt-trace top`: a script that counts and times, and a table of it, again and again.
#pragma once
#include "options.h"
#include "output.h"

#include <memory>
#include <ostream>
#include <string>

namespace fastsdt::trace_tool {

std::string top_script(const Top& top, const std::string& key); ///< @param key  of call_key()

/// On a terminal, and unless a command prints there too, it takes the whole screen and listens to keys.
std::unique_ptr<Output> top_output(const engine::Script& script, std::ostream& out, const Options& options);

} // namespace fastsdt::trace_tool
