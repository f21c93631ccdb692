// SPDX-License-Identifier: BSD-2-Clause
// The text that bpftrace gets in place of a script that only it can read: it means the same, for one process only.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace fastsdt::trace_tool {

/// bpftrace 0.17 attaches uprobes, and USDT probes of a COMMAND, to files, and counts whoever executes them. So each
/// clause of usdt, uprobe and uretprobe gets a filter. Other clauses stay as they are.
/// Throws Unusable where it cannot be told what belongs to which clause.
/// @param process  what `pid` is compared with: a number, or "cpid"
std::string handed_over(std::string_view text, const std::string& process);

/// The FILEs of its return probes, as they are written: these have bpftrace replace return addresses. Throws Unusable.
std::vector<std::string> files_of_return_probes(std::string_view text);

} // namespace fastsdt::trace_tool
