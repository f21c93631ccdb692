// SPDX-License-Identifier: BSD-2-Clause
// What has to be known of a Go program's runtime before instructions of its functions may give way to jumps: where its goroutines are listed, and
// how one that does not run says where it goes on. Of versions whose layouts are known; engine/process/goroutines.h reads it.
#pragma once
#include "elf/image.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace fastsdt {

/// ELF vaddrs [start, end).
struct GoRange {
    uint64_t start = 0, end = 0;
    bool has(uint64_t address) const { return address - start < end - start; }
};

struct GoRuntime {
    GoRange text;   ///< of what Go's compiler and assembler made
    GoRange hashed; ///< the program hashes it when it begins, in FIPS mode: `go:textfipsstart`
    std::vector<GoRange>
        preemption;          ///< asyncPreempt2: where a goroutine stands that was stopped between any two instructions
    uint64_t goroutines = 0; ///< x86-64: ELF vaddr of runtime.allgs, a slice of pointers to g
    uint32_t sched = 0;      ///< offset in g of the saved stack pointer; behind it is the program counter
    uint32_t status = 0, number = 0; ///< offsets in g
};

/// Whether its arguments and results are in registers as ABIInternal has them: Go 1.18 and later, on x86-64 1.17 too.
bool has_go_registers(const Image& image);

/// Whether a Go program has C code in it, or libraries: its threads are those of a C library then.
bool has_c_code(const Image& image);

/// Where a stub finds who executes a function of Go, by the version alone. 0: that is not known.
struct GoOffsets {
    uint32_t number = 0; ///< in g: the goroutine's number
    uint32_t thread = 0; ///< in m: the thread's id; at the begin the first thread has 0 there
};
/// Offsets in g that are the same in all versions: of the address where its stack ends, of the pointer to m.
inline constexpr uint32_t go_stack_top = 8, go_m = 48;
GoOffsets go_offsets(const Image& image);

/// Empty: its version is not known, or its list of goroutines is not found, or the runtime is in another file.
std::optional<GoRuntime> go_runtime(const Image& image);

} // namespace fastsdt
