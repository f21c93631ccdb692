// SPDX-License-Identifier: BSD-2-Clause
// Memory that is there and readable as long as a stub runs, so that stubs read it directly: what they may not find unmapped is
//     - segments that are not written to, of the site's own file: who executes a site has its file mapped;
//     - the same of the program itself and of the C library that it was linked with, which dlclose() never unmaps;
//     - the main thread's stack, from the stack pointer up: it does not shrink;
//     - the page that the stack pointer is in.
// Not heap memory: another thread may unmap it between any test and the read. Not data that is written to: programs protect
// pages of theirs. A file that is truncated while it is mapped would make the read fail (SIGBUS), as it does to the program
// that executes it or reads the string itself.
#pragma once
#include "code/environment.h"
#include "proc/maps.h"

#include <sys/types.h>
#include <vector>

namespace fastsdt::engine {

/// Fills in modules, always and stack.
void read_lasting(pid_t pid, Environment& environment, const std::vector<Mapping>& mappings);

} // namespace fastsdt::engine
