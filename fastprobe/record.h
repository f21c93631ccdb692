// SPDX-License-Identifier: BSD-2-Clause
// The assembly text of layouts, of ENTRY and of EXIT records (docs/format.md).
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
/// The number of those bytes.
unsigned layout_size(Arch arch, Decision::Add add);

struct EntryRecord {
    Decision::Add added = Decision::Add::nothing;
    First found = First::other; ///< what stands there when nothing was added
    unsigned lead = 0;          ///< bytes from the function's address to the layout's first byte
    bool missed = false;
    bool returns_twice = false;
    unsigned bound = 0; ///< log2 of the boundary that the patchable bytes do not cross, by the function's alignment
    bool exits = false; ///< every way out of the function has an EXIT record
    std::optional<uint64_t> stack_bytes; ///< bytes of arguments on the stack; empty: unknown
};

/// Where a function's result is when it returns.
struct Result {
    enum class Where { other, none, one_register, pair, vector, memory } where = Where::other;
    enum class Sign { unknown, is_signed, is_unsigned } sign = Sign::unknown; ///< of an integer
    uint64_t size = 0;                                                        ///< bytes; 0: unknown
};

/// The kind of a result in that many integer registers, vector registers and other places.
Result::Where where_of(unsigned integers, unsigned vectors, unsigned others);

struct ExitRecord {
    Decision::Add added = Decision::Add::nop;
    bool tail_call = false; ///< otherwise a return
    unsigned bound = 0;     ///< log2 of the boundary that the patchable bytes do not cross
    Result result;          ///< of the function; at a tail call it is not there yet
};
/// Unlike an entry, an exit comes where it comes, so the assembler pads those that would cross `bound`: so many bytes at most.
unsigned exit_padding(Arch arch, Decision::Add add);

/// A record is a sequence of integers; one or two of them are addresses.
struct Field {
    unsigned size; ///< bytes: 1, 2, 4 or 8
    uint64_t value;
    enum class Is {
        value,
        layout,
        function
    } is = Is::value; ///< in place of `value`: address of the layout's first
                      ///< byte, or of the function
};
/// The whole note, to be aligned to 4 bytes. Only 64-bit ELF.
std::vector<Field> record_fields(Arch arch, const EntryRecord& record);
std::vector<Field> record_fields(Arch arch, const ExitRecord& record);

/// The same as assembler text like layout_text().
/// @param label    a named local label at the layout's first byte
/// @param function an expression of the assembler for the function's address
/// @param section  a named local label anywhere in the same text section. The note is link-ordered to it, so it lives
///                 and dies with the section; the assembler puts the records of one such label into one note section.
///                 No .reloc ties the function to its note: that would make every function differ
///                 from every other and stop identical-code folding for the whole program.
std::string record_text(const std::vector<Field>& fields, const std::string& label, const std::string& function,
                        const std::string& section);

} // namespace fastprobe
