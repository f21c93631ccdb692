// SPDX-License-Identifier: BSD-2-Clause
// Where a mapped file has a function: what one file has is kept for other processes. And where a process calls the kernel to execute another
// program.
#pragma once
#include "process/view.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fastsdt::engine {

/// Runtime address of the function. 0: the file has none, or cannot be read. @param mapping  the file's first
uint64_t known_function(ProcessView& view, const Mapping& mapping, const std::string& name);

/// Runtime address of execve(); 0: no C library that is known has it.
uint64_t find_execve(ProcessView& view, const std::vector<Mapping>& mappings);

/// Whether a process may be traced while it executes what the name at this address means, a path. Not what is not there, and only by root what
/// has more rights than its user: under a tracer that has not, the kernel gives it none (bprm_creds_from_file(), security/commoncap.c).
bool may_trace_execution(const ProcessView& view, uint64_t name);

} // namespace fastsdt::engine
