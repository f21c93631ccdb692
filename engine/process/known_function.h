// SPDX-License-Identifier: BSD-2-Clause
// Where a mapped file has a function. What one file has is kept for other processes.
#pragma once
#include "proc/maps.h"

#include <cstdint>
#include <string>
#include <sys/types.h>

namespace fastsdt::engine {

/// Runtime address of the function. 0: the file has none, or cannot be read. @param mapping  the file's first
uint64_t known_function(pid_t pid, const Mapping& mapping, const std::string& name);

} // namespace fastsdt::engine
