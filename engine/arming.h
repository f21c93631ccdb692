// SPDX-License-Identifier: BSD-2-Clause
// The pure part: a script and the sites of a process become code, data and patches. Needs no process: what it is told of
// one are addresses.
#pragma once
#include "index.h"
#include "script.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace fastsdt::engine {

/// A place where one probe of a script can be armed. Addresses are runtime addresses of the process.
struct Site {
    Probe::Kind kind = Probe::Kind::usdt; ///< usdt, entry, exit
    std::string file;                     ///< as the process has it mapped
    std::string provider, name;           ///< name: of the probe, or of the function
    size_t probe = 0;                     ///< what `probe` gives: index in Matches::probes, shared by sites of one name
    std::string arguments;                ///< as the stapsdt note has them; empty for entries and exits
    uint64_t stack_bytes = unknown_bytes; ///< entry: of arguments on the stack
    int result = -1;      ///< exit: where the result is, FASTSDT_RESULT_*; -1: at a tail call, where there is none yet
    uint64_t address = 0; ///< runtime address of the note's pc, of the function or of the exit
    std::string
        refusal; ///< why there is no patch, as what follows "1 " in the line that sums up; empty: "has no nop10", or "nop"
    uint64_t patch = 0;          ///< of the patchable instruction: a nop10 (x86), a nop (arm64); 0: none
    uint64_t length = 0;         ///< of that instruction: execution goes on at patch + length
    uint64_t load_bias = 0;      ///< runtime address minus ELF vaddr, for operands like symbol(%rip)
    uint64_t semaphore = 0;      ///< of the semaphore; 0: none
    std::vector<size_t> clauses; ///< of Script::clauses, in the order in which they run
};

/// Memory that the process has for us.
struct Arena {
    uint64_t code = 0; ///< executable, within 2 GiB (arm64: 128 MiB) of each site that uses it, page-aligned
    uint64_t data = 0; ///< the run's tables: readable and writable, anywhere, zeros at first
    uint64_t mark = 0; ///< 8 bytes that hold `data`, and that read 0 in a forked child: stubs do nothing there. Within
                       ///< 2 GiB of `code`. A run has an arena for each group of modules, all with the same `data`
};

/// One change of a site: its bytes before and after. Written at once, see target.h.
struct Patch {
    size_t site = 0; ///< index
    uint64_t at = 0; ///< runtime address
    std::array<std::byte, 8> before{}, after{};
    size_t length = 8; ///< bytes that count
    uint64_t semaphore =
        0; ///< runtime address of 16 bits that count up with the change and down with its undoing; 0: none
};

struct Code {
    std::vector<std::byte> bytes; ///< for Arena::code
    std::vector<Patch> patches;
    std::vector<uint64_t> stubs; ///< by site: runtime address of its stub; 0: refused
    std::vector<std::string>
        refusals; ///< by site: why it has none, as what follows "1 " in the line that sums up; else empty
};

} // namespace fastsdt::engine
