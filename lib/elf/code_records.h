// SPDX-License-Identifier: BSD-2-Clause
// Records that stand in the code, right behind the site that they describe. Go's linker takes no notes from a package, so fastsdt-gen leaves there
// what fastsdt-index makes notes of. docs/format.md is normative.
#pragma once
#include "elf/image.h"
#include "elf/index.h"
#include "elf/notes.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace fastsdt {

/// What a record begins with: 16 bytes with the NUL.
inline constexpr char code_record_magic[] = "fastsdt in code";
static_assert(sizeof code_record_magic == 16);

/// One record. Views point into the image.
struct CodeRecord {
    uint64_t address = 0;        ///< ELF vaddr of its first byte
    const char* wrong = nullptr; ///< one clause: why it cannot be used, and the rest is empty; nullptr: it can
    Record site;                 ///< what a SITE note would say
    std::string_view arguments;  ///< as the stapsdt note is to have them
    ArgumentNames names;         ///< provider and name; types and names of the arguments, if the record has them
};

/// Of a linked file, by ascending address.
std::vector<CodeRecord> code_records(const Image& image);

/// What begins a record stands behind that address, as far from it as the record says.
bool has_code_record(const Image& image, uint64_t site);

} // namespace fastsdt
