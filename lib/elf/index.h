// SPDX-License-Identifier: BSD-2-Clause
// The records of .note.fastsdt and the INDEX note that holds all of them, sorted. docs/format.md is normative.
#pragma once
#include "base/result.h"
#include "elf/encoding.h"

#include <fastsdt/note.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fastsdt {

/// One SITE, ENTRY or EXIT record, integers in host form. The fields are those of docs/format.md.
struct Record {
    uint64_t address =
        0; ///< ELF vaddr as linked. SITE: pc as in the stapsdt note; ENTRY: the function's; EXIT: the layout's
    uint8_t type = 0;   ///< FASTSDT_NOTE_SITE, FASTSDT_NOTE_ENTRY or FASTSDT_NOTE_EXIT
    uint8_t layout = 0; ///< FASTSDT_LAYOUT_*
    uint8_t patch_offset = 0;
    uint8_t patch_length = 0;
    uint8_t bound = 0;
    uint8_t lead = 0; ///< ENTRY
    uint16_t flags = 0;
    uint64_t operand = 0; ///< SITE: ELF vaddr of the semaphore or 0; ENTRY: bytes of stack arguments or unknown_bytes;
                          ///< EXIT: the function's address
    uint8_t result = 0;   ///< EXIT: FASTSDT_RESULT_*

    /// EXIT: it jumps to another function.
    bool tail_call() const { return type == FASTSDT_NOTE_EXIT && flags & FASTSDT_EXIT_TAIL_CALL; }

    /// By address first: the order of an index.
    auto operator<=>(const Record&) const = default;
};

/// An ENTRY's operand when the size of its stack arguments is not known, in files of either class.
inline constexpr uint64_t unknown_bytes = ~uint64_t(0);

/// "register", ...: FASTSDT_RESULT_*; "other" for those that are not known.
std::string_view result_name(uint8_t result);

/// Whether notes of this type are records.
bool is_record(uint32_t type);

/// Decodes the descriptor of a record. Empty for other types, other versions and short descriptors;
/// bytes beyond this version's are ignored.
std::optional<Record> decode_record(uint32_t type, std::span<const std::byte> descriptor, Encoding encoding);

/// The inverse of decode_record.
std::vector<std::byte> encode_record(const Record& record, Encoding encoding);

/// A view of an INDEX note's descriptor, which has to outlive it. Nothing is copied or unpacked.
class Index {
public:
    /// Checks the header and the sizes of the tables, in constant time; every other member is then safe whatever
    /// the tables hold. On failure returns nothing and says why in `error`.
    static Result<Index> open(std::span<const std::byte> descriptor, Encoding encoding);

    size_t size() const { return records_.count + exits_.count; }
    /// Record number `i`: SITE and ENTRY records in order of address, then EXIT records in order of address. Empty if
    /// its kind number or type is invalid.
    std::optional<Record> at(size_t i) const;
    /// Number of the first SITE or ENTRY record whose address is not below `address` (ELF vaddr); that of the first EXIT
    /// record, or size(), if there is none. O(log n).
    size_t lower_bound(uint64_t address) const { return lower_bound(records_, address); }
    /// The records at exactly `address`: one, or several where a function begins with a site. O(log n).
    std::vector<Record> find(uint64_t address) const;
    /// Looks at every record: what is wrong with the tables, if anything is.
    Result<void> check() const;

private:
    struct Table {
        size_t count = 0;
        std::span<const std::byte> offsets, functions, numbers; ///< functions: of exits
    };
    uint64_t address_at(std::span<const std::byte> offsets, size_t i) const;
    std::optional<Record> at(const Table& table, size_t i) const;
    size_t lower_bound(const Table& table, uint64_t address) const;

    Encoding encoding_;
    std::span<const std::byte> kinds_;
    Table records_, exits_;
    uint64_t base_ = 0;
    size_t kind_count_ = 0, kind_size_ = 0, offset_size_ = 0, number_size_ = 0;
};

/// The descriptor of an INDEX note with these records, sorted; equal records are written once.
/// Throws Unusable when a table does not fit into a note (4 GiB).
std::vector<std::byte> encode_index(std::vector<Record> records, Encoding encoding);

} // namespace fastsdt
