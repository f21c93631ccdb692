// SPDX-License-Identifier: BSD-2-Clause
// The layout of the memory that stubs write and the reader reads. It follows from the script alone.
//
//     data:    header | owners: a word for each slot | shared tables | slot 0 | slot 1 | ...
//     slot:    scalars and tables of one thread
//     table:   a power of two of entries, each a tag, a value and the keys
//
// All of it is zeros at first, and sparse: a page costs memory once a stub has written to it. A slot belongs to the
// thread whose thread pointer, complemented, is in the slot's word of `owners`.
#pragma once
#include "script/script.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace fastsdt::engine {

inline constexpr size_t most_threads = 1024; ///< slots. A power of two
inline constexpr size_t most_keys = 4096;    ///< of a map in one slot, or shared: bpftrace's BPFTRACE_MAX_MAP_KEYS

/// Stubs multiply by it to hash: 2^64 divided by the golden ratio, odd.
inline constexpr uint64_t hash_multiplier = 0x9E3779B97F4A7C15;

/// The entry of a table at which the search for a key begins. The same in machine code: find() in code/*/routines.cpp.
/// @param words  the key's bytes, 8 by 8
size_t first_entry(const std::vector<uint64_t>& words, size_t entries);

/// Low bits of an entry's tag. With tag_used among them, no other key may have the entry.
inline constexpr int64_t tag_deleted = 3, tag_claimed = 5, tag_there = 7, tag_used = 4;

/// Where one map is. Offsets are from the start of its slot, or of the data where it is shared.
struct Table {
    bool shared = false; ///< one for all threads: what is assigned, unless a key is `tid` everywhere
    size_t offset = 0;   ///< of the first entry, or of the value where there are no keys
    size_t entries = 1;  ///< a power of two; 1: no keys, and no tag either
    size_t entry_size = 0;
    size_t value = 0; ///< in an entry
    size_t value_size = 0;
    size_t keys = 0;              ///< in an entry: of the first key
    std::vector<size_t> key_size; ///< by key: 8, or string_size
    size_t key_bytes() const;     ///< of all keys

    /// One integer is the key and nothing is ever deleted. Then the entry's first word is the key itself, or 0 if the
    /// entry is free. Key 0 has the entry behind the others, whose first word says whether the key is there.
    bool direct = false;

    /// `tid` is the only key, and integers are assigned. Then the slot has an entry for its own thread at `own`: a word
    /// for the tid and one for the value. The table is needed only by a thread that got the slot of an ended one whose
    /// entry is still there.
    std::optional<size_t> own;
};

/// Offsets in `data`.
struct Tables {
    static constexpr size_t dropped = 0;  ///< a word: Maps::dropped
    static constexpr size_t no_calls = 8; ///< a word: not 0: stubs make no system calls from now on
    static constexpr size_t unread = 16;  ///< a word: Maps::unread
    static constexpr size_t loader = 40;  ///< LoaderWords in code/loader.h, 12 bytes
    static constexpr size_t owners = 64;  ///< most_threads words
    size_t slots = 0;                     ///< of slot 0
    size_t slot_size = 0;                 ///< a multiple of 64
    size_t size = 0;                      ///< of all of it
    std::vector<Table> maps;              ///< by Script::maps
};

/// Throws Unusable where the maps would take too much memory.
Tables lay_out(const Script& script);

} // namespace fastsdt::engine
