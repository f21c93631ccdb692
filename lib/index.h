// SPDX-License-Identifier: BSD-2-Clause
// The records of .note.fastsdt and the INDEX note that holds all of them, sorted. docs/format.md is normative.
#pragma once
#include "encoding.h"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fastsdt {

/// One SITE or ENTRY record, integers in host form. The fields are those of docs/format.md.
struct Record {
    uint64_t address = 0; ///< ELF vaddr as linked. SITE: pc as in the stapsdt note; ENTRY: the function's address
    uint8_t type = 0;     ///< FASTSDT_NOTE_SITE or FASTSDT_NOTE_ENTRY
    uint8_t layout = 0;   ///< FASTSDT_LAYOUT_*
    uint8_t patch_offset = 0;
    uint8_t patch_length = 0;
    uint8_t bound = 0;
    uint8_t lead = 0;
    uint16_t flags = 0;
    uint64_t operand = 0; ///< SITE: ELF vaddr of the semaphore or 0; ENTRY: bytes of stack arguments or unknown_bytes

    /// By address first: the order of an index.
    auto operator<=>(const Record&) const = default;
};

/// An ENTRY's operand when the size of its stack arguments is not known, in files of either class.
inline constexpr uint64_t unknown_bytes = ~uint64_t(0);

/// Decodes the descriptor of a SITE or ENTRY note. Empty for other types, other versions and short descriptors;
/// bytes beyond this version's are ignored.
std::optional<Record> decode_record(uint32_t type, std::span<const std::byte> descriptor, Encoding encoding);

/// The inverse of decode_record.
std::vector<std::byte> encode_record(const Record& record, Encoding encoding);

/// A view of an INDEX note's descriptor, which has to outlive it. Nothing is copied or unpacked.
class Index {
public:
    /// Checks the header and the sizes of the tables, in constant time; every other member is then safe whatever
    /// the tables hold. On failure returns nothing and says why in `error`.
    static std::optional<Index> open(std::span<const std::byte> descriptor, Encoding encoding, std::string& error);

    size_t size() const { return count_; }
    /// Record number `i`, in order of address. Empty if its kind number or type is invalid.
    std::optional<Record> at(size_t i) const;
    /// Number of the first record whose address is not below `address` (ELF vaddr); size() if there is none. O(log n).
    size_t lower_bound(uint64_t address) const;
    /// The records at exactly `address`: one, or several where a function begins with a site.
    std::vector<Record> find(uint64_t address) const;
    /// Looks at every record: what is wrong with the tables, or nothing.
    std::optional<std::string> check() const;

private:
    uint64_t address_at(size_t i) const;

    Encoding encoding_;
    std::span<const std::byte> kinds_, offsets_, numbers_;
    uint64_t base_ = 0;
    size_t count_ = 0, kind_count_ = 0, kind_size_ = 0, offset_size_ = 0, number_size_ = 0;
};

/// The descriptor of an INDEX note with these records, sorted; equal records are written once.
/// Throws std::length_error when a table does not fit into a note (4 GiB).
std::vector<std::byte> encode_index(std::vector<Record> records, Encoding encoding);

} // namespace fastsdt
