// SPDX-License-Identifier: BSD-2-Clause
// What stubs have to know about the process that they run in. process/environment.cpp and process/clock.cpp find it out.
#pragma once
#include "code/site.h"
#include "maps/tables.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace fastsdt::engine {

/// How a stub saves the registers that a compiled function may change besides the general ones.
struct VectorState {
    enum class By { fxsave, xsave, xsavec } by = By::fxsave;
    uint32_t components = 0; ///< of XCR0: those that compiled code uses without asking the kernel
    size_t size = 512;       ///< bytes of the area
    /// This processor's.
    static VectorState here();
};

/// Runtime addresses [start, end), multiples of a page.
struct Lasting {
    uint64_t start = 0, end = 0;
    int64_t away = 0; ///< so far from each address stubs read what it has: 0, or a mapping of the same that is ours
    bool has(uint64_t address) const { return address - start < end - start; }
};

/// What stubs of sites in a file read of it.
struct LastingModule {
    uint64_t start = 0, end = 0; ///< of all that is mapped of the file in a row
    Lasting memory;
    bool has(uint64_t address) const { return address - start < end - start; }
};

/// What stubs have to know about the process that they run in.
struct Environment {
    pid_t pid = 0;         ///< what `pid` gives: its number in its own pid namespace
    bool follow = false;   ///< forked children record too
    bool rdfsbase = false; ///< x86-64, AT_HWCAP2 bit 1: user space may read the thread pointer from the processor
    /// x86-64: Target::stores_thread_pointers(). Then stubs load the pointer: rdfsbase takes some 15 cycles on AMD's
    /// processors.
    bool stored_thread_pointers = false;
    /// Where the process's C library keeps a thread's id, relative to the thread pointer; 4 bytes. Empty: a stub asks
    /// the kernel.
    std::optional<int32_t> tid_offset;
    /// Runtime address of the C library's byte that is not 0 as long as the process has one thread only (__libc_single_threaded). 0: not known.
    uint64_t single_threaded = 0;
    bool tid_offset_told = false; ///< by the C library's file. If not, it is a guess, to be checked
    /// Stubs may make some (gettid, process_vm_readv), until Tables::no_calls says otherwise: see process/filters.h.
    bool system_calls = false;
    std::string no_system_calls; ///< why they may not: a sentence
    /// Memory that stubs read directly: see process/lasting.h. `modules`: each file's, for the sites in it. `always`: the
    /// program's and its C library's. `stack`: the main thread's; its end is where all of its stack ends.
    std::vector<LastingModule> modules;
    std::vector<Lasting> always;
    Lasting stack;
    /// Where the process's C library keeps, relative to the thread pointer, the start of a thread's stack and its size: two words.
    /// 0: not known. process/environment.cpp
    int32_t thread_stack = 0;
    std::optional<CycleClock> clock; ///< empty: nsecs is refused
    uint64_t start_ns = 0;           ///< elapsed is nsecs less this
    bool counter = false;            ///< the processor's counter tells the time: events have it
    /// Threads run while sites change. So if a site's eight bytes lie in two blocks of 16, its stub is placed so that
    /// the lowest byte of the jump's displacement is the fifth byte of a nop10. See process/self.cpp.
    bool threads_run = false;
    /// So many sites that are alike share one copy of their clauses: code/bodies.cpp. By bench/functions.sh with this changed: of 64 functions
    /// called at random a copy each is faster, of 256 it is slower.
    size_t many_sites = 128;
    VectorState vectors;  ///< of stubs that call functions
    bool atomics = false; ///< arm64, HWCAP_ATOMICS: the processor has stadd and its like
    bool rdtscp = false;  ///< x86-64: the processor tells its number
    /// Runtime address of a symbol of the site's file. Empty: none is looked up
    std::function<std::optional<uint64_t>(const Site& site, const std::string& name)> symbol;
    bool sme = false; ///< arm64, HWCAP2_SME: a program may be in streaming mode, in which no function may be called
    bool sve = false; ///< arm64, HWCAP_SVE: system calls may clear vector registers beyond their first 16 bytes
};

} // namespace fastsdt::engine
