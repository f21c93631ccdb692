// SPDX-License-Identifier: BSD-2-Clause
// Code that was moved after the link. BOLT writes functions anew, leaves their old bytes in .bolt.org.text, corrects stapsdt
// notes and knows nothing of layout notes: their records then name bytes that look right and that nothing executes.
#pragma once
#include "elf/image.h"
#include "elf/index.h"

#include <vector>

namespace fastsdt {

/// Asks the names of sections, and for what is in BOLT's the symbol table, which BOLT writes anew: functions that it left where
/// they were keep their symbols. Elsewhere a function without a symbol is a function without a symbol: `strip -x` takes names of
/// objects, a linker drops those of weak definitions that another overrides, and compilers have private ones.
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
    std::vector<Function> functions_; // by address; read where BOLT was only
};

} // namespace fastsdt
