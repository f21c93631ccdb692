// SPDX-License-Identifier: BSD-2-Clause
// The pure part: turns a script and the sites of a process into code, data and patches. It is given addresses and
// touches no process.
#pragma once
#include "base/integers.h"
#include "code/machine.h"
#include "code/site_state.h"
#include "elf/index.h"
#include "live/live.h"
#include "script/script.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace fastsdt::engine {

/// Instructions that the stub executes, because a jump takes their place (lib/movable/movable.h).
struct MovedCode {
    std::vector<std::byte> bytes; ///< as the file has them; none: the site is a nop
    size_t at = 0;                ///< offset of the instruction before which the probe is hit
    bool leaves = false;          ///< the last one is a return or a jump: nothing comes back behind them
    bool guarded = false;         ///< the jump replaces several: see Target::guard()
    uint8_t faults = 0;           ///< Fault: a handler of that signal would see the stub's address
};

/// A way out of a function.
struct KnownExit {
    uint64_t address = 0;   ///< runtime address
    bool tail_call = false; ///< a jump to another function, which makes the result
};

/// A place where one probe of a script can be armed. Addresses are runtime addresses of the process.
struct Site {
    Probe::Kind kind = Probe::Kind::usdt;    ///< usdt, entry, exit
    std::string file;                        ///< as the process has it mapped
    std::string device;                      ///< of that file, as Mapping has it
    uint64_t inode = 0;                      ///< of that file; 0: the site is of no file
    std::string provider, name;              ///< name: of the probe, or of the function
    bool inside = false;                     ///< entry: an instruction behind the function's first
    size_t probe = 0;                        ///< value of `probe`: ProbeNames::number_of()
    size_t function = 0;                     ///< value of `func`: the same of the name alone
    std::string arguments;                   ///< as the stapsdt note has them; empty for entries and exits
    std::vector<std::string> argument_names; ///< by argument; none: the file does not say them
    uint64_t stack_bytes = unknown_bytes;    ///< entry: of arguments on the stack
    int result = -1;      ///< exit: where the result is, FASTSDT_RESULT_*; -1: a tail call, which has none yet
    uint64_t address = 0; ///< runtime address of the note's pc, of the function or of the exit
    SiteState found;      ///< ready, or why there is no patch although the file may have one
    uint64_t patch =
        0; ///< of the patchable instruction: a nop10 (x86), a nop (arm64), or the first that moves; 0: none
    uint64_t length = 0; ///< of that instruction, or of all that move: the stub jumps back to patch + length
    MovedCode moved;
    uint64_t load_bias = 0;  ///< runtime address minus ELF vaddr, for operands like symbol(%rip)
    uint64_t semaphore = 0;  ///< of the semaphore; 0: none
    std::optional<GoAbi> go; ///< entry, exit: of a Go program
    uint32_t goroutine = 0;  ///< there, and at probes of fastsdt-gen: where g has its number; 0: not known
    uint32_t go_thread = 0;  ///< and where m, a thread of Go's, has its id; 0: not known
    ThreadBy thread_by = ThreadBy::pointer;
    uint64_t once =
        0; ///< entry: runtime address of an instruction that is executed once a call, where the first is not; else 0
    /// exit: of a function whose exits cannot be armed as a whole, all of them, by runtime address; none: they are not known. Empty: the site
    /// is one of a function's exits.
    std::optional<std::vector<KnownExit>> all_exits;
    std::vector<size_t> clauses; ///< of Script::clauses, in the order in which they run
    bool by_pattern = false;     ///< the script names it nowhere: "uprobe:FILE:str*"

    bool moves() const { return !moved.bytes.empty(); }
    /// Whether the site is none of those that the script means: a pattern of functions means those that can be armed. A program has no probe
    /// by chance.
    bool left_out(const SiteState& state) const { return by_pattern && kind != Probe::Kind::usdt && is_of_code(state); }
    /// Bytes from `patch` on that become the jump.
    size_t exchanged() const { return moves() ? own_machine.moved_jump : own_machine.exchanged; }
};

/// Memory in the process that a run uses.
struct Arena {
    uint64_t code = 0; ///< executable, within 2 GiB (arm64: 128 MiB) of each site that uses it, page-aligned
    uint64_t data = 0; ///< the run's tables: readable and writable, anywhere, zeros at first
    uint64_t mark = 0; ///< Mark in maps/tables.h. Within 2 GiB of `code`
    uint64_t first_mark =
        0; ///< that of the run's first arena. A run has an arena for each group of modules, all with the same `data`
};

/// One change of a site: its bytes before and after. Written at once, see arming/target.h.
struct Patch {
    size_t site = 0; ///< index
    uint64_t at = 0; ///< runtime address
    std::array<std::byte, 8> before{}, after{};
    size_t length = 8; ///< bytes that count
    uint64_t covers =
        own_machine.length; ///< bytes from `at` on between whose first and last no thread may stand when they change
    uint64_t semaphore =
        0; ///< runtime address of the semaphore's 16 bits: raised with the change, lowered with its undoing; 0: none
    bool of_go = false; ///< in place of several instructions of a Go program: a goroutine may stand between them

    /// In place of instructions that were moved.
    bool moves() const
    {
        if (own_machine.arch != Arch::arm64)
            return length == own_machine.moved_jump;
        return load(before.data(), sizeof nop_arm64, false) != nop_arm64; // a nop needs none of what others do
    }
};

struct Code {
    std::vector<std::byte> bytes; ///< for Arena::code
    std::vector<Patch> patches;
    std::vector<uint64_t> stubs; ///< by site: runtime address of its stub; 0: refused
    std::vector<uint64_t>
        bodies; ///< runtime addresses of what the stubs of many sites call, in order; they end at `bodies_end`
    uint64_t bodies_end = 0;
    std::vector<SiteState> refusals; ///< by site: ready, or why it has no stub
};

} // namespace fastsdt::engine
