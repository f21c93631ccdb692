// SPDX-License-Identifier: BSD-2-Clause
// The text that bpftrace gets in place of a script: it means the same, for one process only.
#pragma once
#include "code/site.h"
#include "script/script.h"

#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace fastsdt::trace_tool {

struct HandOver {
    std::string process;         ///< what `pid` is compared with: a number, or "cpid"
    pid_t pid = 0;               ///< whose files are looked at; 0: no process yet, only the files that are named
    bool ours = false;           ///< the text is of our language too: probes may be written in another way
    std::string_view first = {}; ///< printed in a line of its own when all probes are attached; empty: nothing is
};

/// Replaces patterns of USDT probes that mean a probe with an argument of which bpftrace 0.17 knows no size, and that the
/// clause reads: it asserts that there is none. @param sites  of the process. Appends to `left_out`.
std::string without_unreadable(const engine::Script& script, std::span<const engine::Site> sites,
                               std::vector<std::string>& left_out);

/// bpftrace 0.17 attaches uprobes, and USDT probes of a COMMAND, to files, and counts whoever executes them. So each
/// clause of usdt, uprobe and uretprobe gets a filter. Other clauses stay as they are. With `ours`:
/// - a FILE that bpftrace cannot read as it stands is put in quotes;
/// - a FILE that is only a name, and that a mapped file has, becomes the path of that;
/// - a pattern of functions becomes their names, if there is one among them that bpftrace refuses to attach to;
/// - of functions a pattern of files becomes the files that the process has mapped and that have some.
/// Throws Unusable where it cannot be told what belongs to which clause.
std::string handed_over(std::string_view text, const HandOver& how);

/// The same in part: each clause of usdt, uprobe and uretprobe once for each of these sites' probes that it has, for the process `pid`, and
/// no other clause. `func` and `probe` are the numbers that maps have for them, and avg() is stats(), which tells the count too.
/// Throws Unusable where it cannot be told what belongs to which clause.
std::string handed_over_in_part(const engine::Script& script, std::span<const engine::Site> sites, pid_t pid);

/// The FILEs of its return probes, as they are written: these have bpftrace replace return addresses. Throws Unusable.
std::vector<std::string> files_of_return_probes(std::string_view text);

/// Whether bpftrace 0.17 knows the size of each argument of the site that the clause reads.
bool can_read(const engine::Site& site, const engine::Clause& clause);

/// Whether bpftrace can attach to a function that the probe names, in a file that the process has mapped now.
bool has_function(const engine::Probe& probe, pid_t pid);

} // namespace fastsdt::trace_tool
