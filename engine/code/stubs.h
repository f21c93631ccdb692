// SPDX-License-Identifier: BSD-2-Clause
// From a script and sites to machine code. compiler.h has the part that all architectures share; code/x86/stubs.cpp and
// code/arm64/stubs.cpp say what stands at a site and in its stub.
//
// A stub may read registers and, where it is safe, memory; it may write its tables. It calls only code of its own,
// takes no lock and keeps no state. It leaves all registers, flags, vector registers and the program's bytes below the
// stack pointer (128 on x86-64) as they are. A signal handler may come at any instruction of the stub, run the same
// stub, and leave by longjmp. An exception is a stub that calls a function of the process: code/x86/call.cpp.
#pragma once
#include "code/environment.h"
#include "code/site.h"
#include "maps/tables.h"

#include <cstdint>
#include <span>
#include <vector>

namespace fastsdt::engine {

/// Compiles the stubs of `sites` for one arena, to be written to arena.code. The size does not depend on the arena.
/// A site that cannot be compiled has no patch; Code::refusals has the reason. A site's stub runs all its clauses in
/// order. Throws std::logic_error for a script that parse() would not make.
Code compile(const Script& script, const Tables& tables, std::span<const Site> sites, const Arena& arena,
             const Environment& environment);

/// Whether the site is of Go's own code. C functions of such a program have one instruction that moves, Go's have several.
bool is_of_go(const Site& site);

/// Runtime addresses, besides that of the site, that a site's stub has to reach: those of the instructions that it executes.
std::vector<uint64_t> reached_from(const Site& site);

} // namespace fastsdt::engine
