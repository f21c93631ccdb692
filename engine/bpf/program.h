// SPDX-License-Identifier: BSD-2-Clause
// A site's clauses as a BPF program: what ir/ir.h says, operation by operation.
//
// Registers: r6 the context, r7 and r8 what an operation keeps across helpers, r9 the scratch memory if there is some; r0 to r5 for all else. Each
// value has a word of the frame, as long as somebody uses it; numbers are put where they are used.
//
// Slots that BPF's stack has no room for are in scratch memory of the processor (bpf/frame.h). A program may be preempted by another one there, so
// each takes one of some pieces that is free.
#pragma once
#include "bpf/maps.h"
#include "bpf_members.h"
#include "code/site.h"
#include "ir/ir.h"
#include "proc/processes.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace fastsdt::engine::bpf {

class Unwinder; // bpf/unwinder.h

/// What programs have to know.
struct Context {
    const Script& script;
    const std::vector<ir::Program>& programs; ///< by Script::clauses
    const KernelMaps& maps;
    const BpfMembers& members;
    const Unwinder* unwinder = nullptr; ///< if the script unwinds
    uint64_t start_ns = 0;
    pid_t child = 0;                          ///< the COMMAND's number, or 0
    std::optional<PidNamespace> numbers = {}; ///< whose numbers pid and tid are; none: the machine's
    std::function<std::optional<uint64_t>(const Site& site, const std::string& name)> symbol = {};
};

/// A site's probe and function, as its hits' cookie has them.
constexpr uint64_t cookie_of(const Site& site)
{
    return uint64_t(site.probe) << 32 | uint32_t(site.function);
}

/// What all sites have in common that run one program.
std::string program_key(const Context& context, const Site& site, std::optional<uint64_t> offset);

/// Throws Refusal. @param offset  of the place from Site::address; empty: a hit is elsewhere, where the function returns to
/// @param sleepable  whether it may be, where it reads memory
Descriptor make_program(const Context& context, const Site& site, std::optional<uint64_t> offset, bool multi,
                        bool sleepable);

} // namespace fastsdt::engine::bpf
