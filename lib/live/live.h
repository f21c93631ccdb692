// SPDX-License-Identifier: BSD-2-Clause
// A running process: the probe sites of every file it has mapped, and what stands there now.
#pragma once
#include "movable/movable.h"
#include "elf/image.h"
#include "elf/index.h"
#include "elf/notes.h"
#include "proc/maps.h"

#include <fastsdt/recognize.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace fastsdt {

/// What became of a site since its file was mapped: what stands there (SiteBytes of judge/evaluate.h), where a call leads,
/// and how the site is mapped. Where a second tracer has a breakpoint before an optimized site, the site's own change counts;
/// LiveSite::found has both.
enum class Change {
    untouched,
    breakpoint,   ///< a uprobe, or a debugger
    stale_call,   ///< a nop10 that was optimized and is a nop again: bytes 5 to 9 are still the call's
    optimized,    ///< the kernel's call into its trampoline
    updating,     ///< the kernel is in the middle of optimizing it or back
    jump,         ///< the 8-byte jump of a user-space engine
    foreign_call, ///< like optimized, but the call leads to no trampoline that the process has
    damaged,      ///< FASTSDT_STATE_DAMAGED: executing it breaks the stack pointer
    changed,      ///< something else
    remapped,     ///< the text is a copy in anonymous memory (huge pages): executed, but no uprobe fires there
    unreadable,   ///< or inaccessible to the process itself
};
/// "untouched", "breakpoint", "stale-call", "optimized", ...
std::string_view name(Change change);

/// How a Go program passes arguments: has_go_registers().
enum class GoAbi { registers, unknown };

/// How a stub tells a program's threads apart. Go programs without C code give no thread pointer to those that they make on arm64; their g has an m
/// for each thread.
enum class ThreadBy { pointer, go_m, nothing };

/// A way out of a function that was not recorded.
struct LiveExit {
    Vaddr address;
    bool tail_call = false; ///< a jump to another function, which makes the result
};

/// A probe site, or the entry or an exit of a function that fastprobe selected.
struct LiveSite {
    bool entry = false, exit = false;
    std::string provider;  ///< empty for entries and exits
    std::string name;      ///< of the probe, or of the function
    std::string arguments; ///< as the stapsdt note has them
    std::vector<std::string>
        argument_names; ///< by argument, empty where one has none; none: the file does not say them
    Vaddr address;      ///< the note's pc; entries: of the function; exits: of the layout
    /// exits: of a function of which no single exit is a site, since one of them cannot be moved: all, where they are known.
    std::optional<std::vector<LiveExit>> all_exits;
    std::vector<std::string> aliases; ///< entries and exits: other names of the function
    bool inside = false;              ///< entries: not the function's first instruction, but one that was asked for
    uint64_t offset = 0; ///< and how many bytes behind that it is; 0 where no function is known: `name` is the address
    std::string misplaced;   ///< no instruction begins there: what does. Then all else but `address` says nothing
    std::optional<GoAbi> go; ///< the function is of a Go program
    uint32_t goroutine = 0;  ///< there, and at sites with a record in code: where g has its number; 0: not known
    uint32_t go_thread = 0;  ///< and where its m has the thread's id; 0: not known
    ThreadBy thread_by = ThreadBy::pointer;
    Vaddr once;             ///< entries: an instruction that is executed once a call, unlike the first; 0: the first is
    uint8_t result = 0;     ///< exits: where the result is, FASTSDT_RESULT_*
    bool tail_call = false; ///< exits: a jump to another function, which makes the result
    bool exits = false;     ///< entries: every way out of the function has an exit
    uint64_t stack_bytes = unknown_bytes; ///< entries: of arguments on the stack
    FileOffset file_offset;
    RuntimeAddress runtime; ///< where `address` is in the process

    fastsdt_recognized expected; ///< what the file has there
    fastsdt_recognized found;    ///< what the process has there
    std::vector<std::byte> file_bytes,
        live_bytes; ///< from `address` to the end of the layout; at least one instruction's
    Change change = Change::untouched;
    /// Instructions that may give way to a jump, where no layout is: see Unrecorded. `expected`, `found` and `change` say nothing then.
    std::optional<Window> window;
    std::vector<std::byte> window_bytes;     ///< what the file has there
    std::optional<RuntimeAddress> target;    ///< what a call or jump in place of the site leads to
    Vaddr semaphore;                         ///< 0: none
    std::optional<uint16_t> semaphore_value; ///< the number of tracers that want the probe's arguments prepared
};

/// A file as the process has it mapped once; dlmopen() maps it again, which makes another LiveFile.
struct LiveFile {
    std::string path;   ///< as the process has it
    std::string device; ///< as Mapping has it
    uint64_t inode = 0;
    RuntimeAddress start; ///< of its lowest mapping
    bool deleted = false; ///< replaced or removed since
    Arch arch = Arch::unknown;
    std::vector<LiveSite> sites; ///< by address
};

struct Process {
    pid_t pid = 0;
    std::string name;                   ///< comm
    std::vector<LiveFile> files;        ///< those with sites, in order of their addresses
    std::vector<Mapping> trampolines;   ///< [uprobes-trampoline]: where optimized sites call to
    std::optional<Mapping> out_of_line; ///< [uprobes]: instructions that are single-stepped
    std::vector<Error> troubles;        ///< files that could not be read
    size_t files_seen = 0;              ///< mapped executable files, with or without sites
};

/// Which places of a file without records are wanted: functions' entries and exits, other instructions, and probes whose site is one byte.
/// Each is asked with the file's path as the process has it.
struct Unrecorded {
    std::function<bool(const std::string& path)> file; ///< whether anything of it is wanted
    /// Whether a function may be wanted that is not among these, which have the names of the file itself: Image::find_names().
    std::function<bool(const std::string& path, const std::vector<Function>&)> lacks = [](const auto&, const auto&) {
        return true;
    };
    /// By which of its names a function is wanted; empty: it is not.
    std::function<std::string_view(const std::string& path, const Function&)> entry, exit;
    /// Addresses that are wanted and are no function's. Of all that can be known.
    std::function<std::set<uint64_t>(const std::string& path, const std::vector<Function>&)> instructions =
        [](const auto&, const auto&) { return std::set<uint64_t>(); };
    std::function<bool(const std::string& path, const std::string& provider, const std::string& name)> probe;
};

using LiveVisit = std::function<void(const Image&, const Notes&, const LiveFile&)>;

/// Reads process `pid`. Throws Unusable when there is no such process, or its memory may not be read.
/// @param entries  fastprobe's function entries and exits too  @param unrecorded  and these, with their windows
/// @param mappings  what it has mapped, if that has just been read  @param visit  is called for each file with sites, while it is open
Process read_process(pid_t pid, bool entries = false, const Unrecorded* unrecorded = nullptr,
                     const std::vector<Mapping>& mappings = {}, const LiveVisit& visit = {}, Access access = {});

} // namespace fastsdt
