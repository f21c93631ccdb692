// SPDX-License-Identifier: BSD-2-Clause
// From a script and sites to machine code. compiler.h has what is the same for all architectures, stubs_x86.cpp and
// stubs_arm64.cpp what stands at a site and in its stub.
//
// What a stub may do: read registers and, where it is safe, memory; write its tables. It never calls anything but code of
// its own, takes no lock, keeps no state, and leaves all registers, flags, vector registers and the program's bytes below the
// stack pointer (128 on x86-64) as they are. A signal handler may run the same stub at any of its instructions and may
// leave by longjmp.
#pragma once
#include "arming.h"
#include "clock.h"
#include "tables.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace fastsdt::engine {

/// How a stub saves what a compiled function may change besides the general registers.
struct VectorState {
    enum class By { fxsave, xsave, xsavec } by = By::fxsave;
    uint32_t components = 0; ///< of XCR0: those that compiled code uses without asking
    size_t size = 512;       ///< bytes of the area
    /// This processor's.
    static VectorState here();
};

/// What stubs have to know of the process that they run in.
struct Environment {
    pid_t pid = 0;         ///< what `pid` gives
    pid_t inner_pid = 0;   ///< in the process' own pid namespace: the last number of NSpid in /proc/PID/status
    bool rdfsbase = false; ///< x86-64, AT_HWCAP2 bit 1: user space may read the thread pointer from the processor
    /// x86-64: Target::stores_thread_pointers(). A load, where rdfsbase takes some 15 cycles on AMD's processors.
    bool stored_thread_pointers = false;
    /// Where its C library keeps a thread's id, from the thread pointer; 4 bytes. Empty: a stub asks the kernel.
    std::optional<int32_t> tid_offset;
    bool system_calls = false; ///< stubs may make some (gettid, process_vm_readv): it has no seccomp filter
    std::string_view no_system_calls = "a seccomp filter"; ///< why they may not
    std::optional<Clock> clock;                            ///< empty: nsecs is refused
    /// Threads run while sites change. A jump over a site that reaches over two blocks of 16 bytes then has an end that
    /// the nop10 may have as well: the lowest byte of its displacement is the nop10's fifth. See self.cpp.
    bool threads_run = false;
    VectorState vectors;  ///< of stubs that call functions
    bool atomics = false; ///< arm64, HWCAP_ATOMICS: the processor has stadd and its like
    bool sve = false;     ///< arm64, HWCAP_SVE: system calls may clear what vector registers have beyond 16 bytes
};

/// Compiles the stubs of `sites` for one arena, to be written to arena.code. The size does not depend on the arena.
/// Sites that cannot be compiled have no patch, and their reason in Code::refusals. A stub for a site that has more than
/// one clause runs them in order. Throws std::logic_error for a script that parse() would not make.
Code compile(const Script& script, const Tables& tables, std::span<const Site> sites, const Arena& arena,
             const Environment& environment);

} // namespace fastsdt::engine
