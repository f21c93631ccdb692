// SPDX-License-Identifier: BSD-2-Clause
// The assembly text of layouts and of ENTRY records (docs/format.md).
#pragma once
#include "options.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fastprobe {

/// The bytes to add, as assembler text: lines separated by "\n\t", none at the end. Empty for Add::nothing.
/// Contains no '%', '$', '{', '|', '}': fit for inline assembly of any compiler as it is.
std::string layout_text(Decision::Add add);
/// Their number.
unsigned layout_size(Arch arch, Decision::Add add);

struct Entry_record {
    Decision::Add added = Decision::Add::nothing;
    First found = First::other; ///< what stands there when nothing was added
    unsigned lead = 0;          ///< bytes from the function's address to the layout's first byte
    bool missed = false;
    bool returns_twice = false;
    bool aligned16 = false;              ///< the function's address is a multiple of 16, by the assembler
    std::optional<uint64_t> stack_bytes; ///< bytes of arguments on the stack; empty: unknown
};

/// A record is a sequence of integers; one of them is the function's address.
struct Field {
    unsigned size; ///< bytes: 1, 2, 4 or 8
    uint64_t value;
    bool is_address = false; ///< in place of `value`: the layout's first byte, less the lead
};
/// The whole note, to be aligned to 4 bytes. Only 64-bit ELF.
std::vector<Field> record_fields(Arch arch, const Entry_record& record);

/// The same as assembler text like layout_text().
/// @param label    a named local label at the layout's first byte
/// @param section  a named local label anywhere in the same text section. The note is link-ordered to it, so it lives
///                 and dies with the section; the assembler puts the records of one such label into one note section.
///                 No .reloc ties the function to its note: that would make every function differ
///                 from every other and stop identical-code folding for the whole program.
std::string record_text(Arch arch, const Entry_record& record, const std::string& label, const std::string& section);

} // namespace fastprobe
