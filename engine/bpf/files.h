// SPDX-License-Identifier: BSD-2-Clause
// Probes on files that no process has mapped yet, so that the first hit of whoever executes or loads them counts.
#pragma once
#include "process/match.h"
#include "bpf/kernel.h"

namespace fastsdt::engine::bpf {

/// Attaches to the files that the script's probes name. @return  whether these are all of its sites, whoever comes: each FILE is a file, has what
/// the probe names, and all of that is attached
bool attach_to_files(Kernel& kernel, const Script& script, ProbeNames& names);

} // namespace fastsdt::engine::bpf
