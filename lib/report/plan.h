// SPDX-License-Identifier: BSD-2-Clause
// Where to attach: the best place of each probe and of each selected function entry for one kernel, and the commands.
#pragma once
#include "elf/image.h"
#include "elf/notes.h"
#include "kernel/kernel.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fastsdt {

struct AttachPoint {
    bool entry = false;
    const Record* exit = nullptr; ///< a way out of a function: its record
    std::string provider;         ///< empty for entries and exits
    std::string name;             ///< of the probe, or of the function ("0x1139" if no symbol names it)
    Vaddr note_address;           ///< the note's pc; entries: of the function; exits: of the layout

    /// Offset of the place from `note_address`: 0, past a landing pad, past the nop1. Empty: the kernel refuses every
    /// place, or the file has no code there.
    std::optional<uint64_t> offset;
    std::string_view place;      ///< "probe", "patchable nop", "function", "behind the landing pad", "exit"
    Vaddr address;               ///< of the place
    FileOffset file_offset;      ///< of the place: what the kernel's interfaces want
    FileOffset semaphore_offset; ///< for uprobe_events' and perf_event_open's reference counter; 0: none
    Judgement judgement;         ///< at the place; of the note's pc if there is none
    Judgement at_note;           ///< at note_address, where most tracers attach

    std::string bpftrace;             ///< shell command line; empty: see `remarks`
    std::string perf;                 ///< shell command line, with the tracefs event it defines; empty: see `remarks`
    std::vector<std::string> remarks; ///< what to know before using them, one sentence each

    /// Of an entry: the ways out, by address. They have no commands of their own; those below are for all of them.
    std::vector<AttachPoint> exits;
    std::string exits_bpftrace; ///< prints results and latencies
    std::string exits_perf;     ///< records results
};

/// Visits one point per stapsdt note, in the order of the file, then one per ENTRY record. Commands name the file by its
/// absolute path. Relocatable objects have no file offsets that a kernel could use: no points.
void plan(const Image& image, const Notes& notes, const Kernel& kernel,
          const std::function<void(const AttachPoint&)>& visit);
/// The same as a list.
std::vector<AttachPoint> plan(const Image& image, const Notes& notes, const Kernel& kernel);

} // namespace fastsdt
