// SPDX-License-Identifier: BSD-2-Clause
// Notes for the sites whose records stand in the code behind them (elf/code_records.h): Go's linker takes no notes.
#pragma once
#include "indexer.h"

#include "elf/image.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fastsdt {

struct CodeNotes {
    std::vector<std::byte> stapsdt, layout, names; ///< for the section of each; empty: the file has them all
    uint64_t base = 0;                             ///< address of .stapsdt.base, as the notes have it
    std::vector<Section> parts; ///< into which a section of data is to be divided, the first one what is left of it
    size_t made = 0;            ///< stapsdt notes
    std::vector<RemovedNote> left_out; ///< of records that cannot be used
};

/// Of a linked file; nothing for a site whose notes it has already.
CodeNotes notes_of_code(const Image& image);

} // namespace fastsdt
