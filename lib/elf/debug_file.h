// SPDX-License-Identifier: BSD-2-Clause
// The file that has the debug information of another one.
#pragma once
#include "base/descriptor.h"

#include <string>

namespace fastsdt {

/// Reading it costs no more than a file of its size should: libdw decompresses whole sections.
bool affordable(int fd);
/// The file itself, if it has .debug_info, or the one of its build id in /usr/lib/debug. None: there is none that is affordable.
Descriptor open_debug_file(const std::string& path);

} // namespace fastsdt
