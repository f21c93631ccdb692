// SPDX-License-Identifier: BSD-2-Clause
// What a stub passes to the function that it calls (Statement::Kind::call). Only a process that traces itself has such
// stubs.
#pragma once
#include <cstddef>
#include <cstdint>

namespace fastsdt::engine {

inline constexpr size_t most_hit_arguments = 12; ///< as libbpf, systemtap and most_arguments of arch/args.h have it

/// In the stub's frame, and there as long as the call lasts.
struct Hit {
    uint64_t probe = 0;                         ///< Site::probe
    uint64_t address = 0;                       ///< Site::address
    uint64_t count = 0;                         ///< of the arguments; entries: those in registers; exits: 1, the result
    uint64_t readable = 0;                      ///< by bit: `arguments` has its value
    int64_t arguments[most_hit_arguments] = {}; ///< extended as their own sign says
};

/// Called with all vector registers saved, and the stack aligned as the ABI wants it; x86-64: to 64 bytes, the direction flag clear, the x87 stack
/// empty.
/// A stack walk by frame pointers leads from it to the site.
using CalledFunction = void (*)(uint64_t context, const Hit* hit);

} // namespace fastsdt::engine
