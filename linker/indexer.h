// SPDX-License-Identifier: BSD-2-Clause
// What fastsdt-index does to a file's bytes, without the file system: see docs/man/fastsdt-index.1.scd.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace fastsdt {

/// A note that was taken out, or not made.
struct RemovedNote {
    std::string what; ///< "probe provider:name", "site", "entry", "exit" or "record in code"
    uint64_t address; ///< ELF vaddr the note names
    std::string why;  ///< one clause
};

struct IndexResult {
    std::vector<std::byte> file; ///< the new file; empty if there was nothing to do
    bool changed = false;
    size_t sites = 0;           ///< SITE records in the index
    size_t entries = 0;         ///< ENTRY records in the index
    size_t exits = 0;           ///< EXIT records in the index
    size_t probes = 0;          ///< stapsdt notes kept
    size_t rebased = 0;         ///< stapsdt notes whose base did not lead to their site and now does
    bool base_restored = false; ///< the file had no .stapsdt.base and has one now
    size_t made = 0;            ///< stapsdt notes made of records that stand in code
    size_t joined = 0;          ///< .note.stapsdt sections that are empty now, their notes in the first one
    std::vector<RemovedNote> removed;
    std::vector<RemovedNote> left_out;                        ///< records in code of which no notes could be made
    size_t layout_bytes_before = 0, layout_bytes_after = 0;   ///< size of .note.fastsdt
    size_t stapsdt_bytes_before = 0, stapsdt_bytes_after = 0; ///< size of .note.stapsdt
};

/// Makes notes of the records that stand in the code of a linked ELF file (Go's), merges its SITE, ENTRY and EXIT notes into one INDEX note, drops
/// the notes whose code the linker dropped, and verifies the result against the original. Throws Unusable, which does not name the file;
/// `file` is never modified.
IndexResult index_notes(std::span<const std::byte> file);

} // namespace fastsdt
