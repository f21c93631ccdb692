// SPDX-License-Identifier: BSD-2-Clause
// report=FILE: one JSON line per function.
#pragma once
#include "base/result.h"
#include "record.h"

#include <string>

namespace fastprobe {

/// All ways out of a function get a site and a record, or none does.
struct Exits {
    Exit asked = Exit::none;
    unsigned count = 0;                         ///< of sites; 0: none
    Decision::Add add = Decision::Add::nothing; ///< the layout of each
    unsigned bound = 0;                         ///< see ExitRecord
    std::string reason;                         ///< why there are none although they were asked for, or a remark
    unsigned bytes_added = 0;                   ///< without padding
};

struct ReportLine {
    std::string symbol;        ///< as in the symbol table: _Z3fooi.constprop.0
    std::string unit;          ///< the file that was compiled
    std::string before;        ///< first instruction as the compiler left it, in the compiler's words
    std::string after;         ///< what stands there now: "nop", "nop1+nop10", or `before`
    Entry entry = Entry::none; ///< what was asked for
    EntryRecord record;        ///< not looked at when `skipped`
    bool skipped = false;      ///< nothing was done to the function, and it has no record
    std::string reason;        ///< of skipped and missed ones, and remarks
    unsigned bytes_added = 0;
    Exits exits;
};

/// "added", "kept", "missed" or "skipped".
const char* action(const ReportLine& line);

/// Collects lines and appends them all at once: compilations that run side by side and partitions of one LTO link
/// write whole blocks one after the other. For a fresh file, remove the old one first.
class Report {
public:
    /// Opens the file, so that a path that cannot be written is an error before anything is compiled.
    fastsdt::Result<void> open(const std::string& path);
    bool is_open() const { return fd_ >= 0; }
    void add(Arch arch, const ReportLine& line);
    /// Appends what was collected and closes.
    fastsdt::Result<void> finish();
    /// Forgets what was collected: the compilation failed.
    void discard() { text_.clear(); }

private:
    int fd_ = -1;
    std::string path_, text_;
};

} // namespace fastprobe
