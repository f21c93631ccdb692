// SPDX-License-Identifier: BSD-2-Clause
// Code that was moved after the link. BOLT writes functions anew, leaves their old bytes in .bolt.org.text, corrects stapsdt
// notes and knows nothing of layout notes: their records then name bytes that look right and that nothing executes.
#pragma once
#include "elf/image.h"
#include "elf/index.h"

#include <vector>

namespace fastsdt {

/// Asks the symbol table, which BOLT writes anew. Functions that it left where they were keep their symbols.
class Moved {
public:
    explicit Moved(const Image& image);
    /// The record's code is elsewhere now. `by`: bytes that the record's addresses were moved by prelink.
    bool stale(const Record& record, uint64_t by = 0) const;

private:
    bool rewritten(uint64_t address) const; ///< in a section of what was before
    bool function_at(uint64_t address) const;
    bool in_function(uint64_t address) const;

    const Image& image_;
    std::vector<Function> functions_; // by address
    bool bolted_ = false;             // BOLT says that it was here
    bool complete_ = false;           // local functions are in the table, so all are
};

} // namespace fastsdt
