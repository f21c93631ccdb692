// SPDX-License-Identifier: BSD-2-Clause
// fastsdt-index --toolexec: what go build -toolexec runs in place of each of its tools.
#pragma once
#include <functional>
#include <string>

namespace fastsdt {

/// Runs the command, whose last argument a null pointer follows. After Go's linker it calls `index` with the file that was linked, if records
/// stand in its code. Returns the command's status, or 2 if the file could not be indexed.
int toolexec(char** command, const std::function<void(const std::string& path)>& index);

} // namespace fastsdt
