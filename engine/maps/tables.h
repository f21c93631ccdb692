// SPDX-License-Identifier: BSD-2-Clause
// The layout of the memory that stubs write and the reader reads. It follows from the script alone.
//
//     header   dropped | next | limit: blocks and chunks are given out from `next` on, and none reaches beyond `limit`
//     slice    of the process: owners of its slots | addresses of their blocks
//     stacks   if the script mentions some: where the interned ones are, by hash
//     rows     if it mentions ustack(dwarf): modules, and how stacks are unwound in each
//     nothing  the chunk from which all tables begin: it has no room
//     shared   maps of all threads
//     heap     blocks, chunks, stacks, and slices of forked children, in the order in which they were wanted
//
//     block    of one thread: its maps. A map without keys is here, a map with keys has a word that leads to its newest chunk. If the
//              script prints at sites, a word that leads to the thread's ring
//     ring     of one thread: the events that it has recorded and the tracer has not read yet
//     chunk    of a table: a header, and a power of two of entries, each a tag, a value and the keys
//
// A table that is full gets a chunk of four times the size. Entries never move: the old chunk stays as it is, and its
// address is in the new one's header. Stubs search the newest chunk; where it matters which entry of a key counts, and
// where there is no room for a larger chunk, they go on to the older ones.
//
//     stack    interned: one that several hits had is there once, and its address is what keys and events have of it
//
// All of it is zeros at first, but for first_words(), and sparse: a page costs memory once a stub has written to it. A slot
// belongs to the thread whose thread pointer, complemented, is its owner. Addresses are runtime addresses of the process. The
// words of the header and the shared maps belong to all processes that share the memory, a slice to one of them.
//
// Each process has words of its own beside them, at the mark of the run's first arena: they say which slice is its. The kernel
// wipes them in a forked child. There a stub claims a slice that is free, or takes another from the heap. What a child that has
// ended recorded the tracer keeps, and makes its slice free.
#pragma once
#include "script/script.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace fastsdt::engine {

inline constexpr size_t most_threads = 1024; ///< slots. A power of two
inline constexpr size_t most_keys = 4096;    ///< of a map in one thread, or shared: bpftrace's BPFTRACE_MAX_MAP_KEYS
/// The same of a `direct` table: the functions of a large program are one map's keys.
inline constexpr size_t most_direct_keys = 32768;

/// Stubs multiply by it to hash: 2^64 divided by the golden ratio, odd.
inline constexpr uint64_t hash_multiplier = 0x9E3779B97F4A7C15;

/// The entry of a table at which the search for a key begins. The same in machine code: find_entry() in code/entries.cpp.
/// @param words  the key's bytes, 8 by 8
size_t first_entry(const std::vector<uint64_t>& words, size_t entries);

/// Low bits of an entry's tag. With tag_used among them, no other key may have the entry.
inline constexpr int64_t tag_deleted = 3, tag_claimed = 5, tag_there = 7, tag_used = 4;

/// The header of a chunk: its words, in bytes below the first entry. A table's word is the address of its newest chunk's first
/// entry, and in the low bits, which are 0 in the address, the chunk's shift: one load gives both.
struct Chunk {
    static constexpr size_t header = 64;     ///< all of it. The address of an entry behind it is a multiple too
    static constexpr size_t older = 32;      ///< address of the chunk before; 0: there is none
    static constexpr size_t shift = 24;      ///< a hash is shifted right by it: 64 less the bits of an index
    static constexpr size_t last = 16;       ///< the last index
    static constexpr size_t probes = 8;      ///< entries that a search looks at; 0: the chunk that is nothing
    static constexpr size_t growth = 4;      ///< so many times larger is the next
    static constexpr size_t alignment = 128; ///< two cache lines, since processors fetch them in pairs
};
/// Entries that a search looks at: few, so that a table grows before searches get long; and in a table of full size
/// more: if it is half full, one key in a million would need more by linear probing.
inline constexpr size_t few_probes = 8, most_probes = 64;

/// Where one map is. Offsets are from the start of a thread's block, or of the data where it is shared.
struct Table {
    bool shared = false; ///< one for all threads: what is assigned, unless a key is `tid` everywhere
    size_t offset = 0;   ///< of the table's word, or of the value where there are no keys
    size_t entries = 1;  ///< of the largest chunk. A power of two; 1: no keys, and no tag either
    size_t first = 1;    ///< entries of the smallest
    size_t entry_size = 0;
    size_t value = 0; ///< in an entry
    size_t value_size = 0;
    size_t keys = 0;              ///< in an entry: of the first key
    std::vector<size_t> key_size; ///< by key: size_of()
    size_t key_bytes() const;     ///< of all keys

    size_t chunk_bytes(size_t of_entries) const { return Chunk::header + entry_size * of_entries; }

    /// One integer is the key and nothing is ever deleted. Then the entry's first word is the key itself, or 0 if the
    /// entry is free. Key 0 has the entry at `zero` of the block, whose first word says whether the key is there.
    bool direct = false;
    size_t zero = 0;

    /// `tid` is the only key, and integers are assigned. Then the block has an entry for its own thread at `own`: a word
    /// for the tid and one for the value. The table is needed only by a thread that got the slot of an ended one whose
    /// entry is still there.
    std::optional<size_t> own;
};

/// A thread's ring. Its header is words, in bytes from its address; behind it are a power of two of bytes, and room for one
/// record beyond them, so that no record is in two parts. Positions count bytes from the first record on and never begin anew.
///
/// A record is reserved by moving `head` on, then filled, then committed by its first word. A signal handler in between records
/// behind it. If the handler leaves by longjmp, the record is never committed: the reader finds the next one that is.
struct Ring {
    static constexpr size_t head = 0;  ///< position where the next record begins
    static constexpr size_t limit = 8; ///< position that no record may reach beyond; the reader moves it on
    static constexpr uint64_t no_limit = uint64_t(1) << 62; ///< where the oldest records are overwritten
    static constexpr size_t lost = 16;                      ///< events that found no room
    static constexpr size_t header = 64;
    // Of a record: its words, and the values behind them, 8 bytes each or string_size.
    static constexpr size_t commit = 0; ///< 4 bytes: the record's position, see committed(); 4 bytes: Statement::number
    static constexpr size_t clock = 8;  ///< the processor's counter; 0: it tells no time
    static constexpr size_t values = 16;
    static constexpr uint32_t committed(uint64_t position) { return uint32_t(position / 8 + 1); }
};
inline constexpr size_t usual_ring_size = size_t(64) << 10;

/// A stack: its words, in bytes from its address. Written before a slot leads to it, and not any more afterwards.
struct InternedStack {
    static constexpr size_t hash = 0, count = 8; ///< count: of its frames
    static constexpr size_t frames = 16;         ///< addresses, the innermost first
    static constexpr size_t bytes(size_t count) { return frames + 8 * count; }
};
inline constexpr size_t stack_slots = 2 * most_keys; ///< half full if each key of a map is another stack

/// For ustack(dwarf): how the caller is found from each address of the code that the process has mapped, as its files' .eh_frame says.
/// The tracer writes it. Of a module: its words, in bytes.
struct UnwindModule {
    static constexpr size_t start = 0, end = 8; ///< runtime addresses; end is 0 where there is none
    static constexpr size_t base = 16;          ///< runtime address that its rows count from
    static constexpr size_t first = 24;         ///< offset in the data of its rows, which are in order
    static constexpr size_t count = 32;
    static constexpr size_t size = 40;
};
inline constexpr size_t most_unwind_modules = 512;

/// A row, up to where the next one begins.
struct UnwindRow {
    enum Rule : uint8_t {
        unknown,
        outermost,        ///< there is no caller
        stack_pointer,    ///< the CFA is that register and the offset
        frame_pointer,    ///< the same
        at_frame_pointer, ///< the CFA is the word there
        signal,           ///< the kernel's signal frame is at the stack pointer
    };
    /// Where the caller's frame pointer is: so many words below the CFA, or
    static constexpr uint8_t unchanged = 0, at_own = 255; ///< at_own: where the frame pointer points
    /// arm64, where a call leaves its return address in a register: the bits of `rule` above the rule's say where it is. beside: in the word
    /// above the caller's frame pointer; alone: at `saved`, and the frame pointer is unchanged.
    static constexpr int bits_of_rule = 3;
    static constexpr uint8_t places_of_return = 3, in_link = 0, beside = 1, alone = 2;
    /// With that bit `saved` is a number of words up from the register that the CFA counts from, and one more.
    static constexpr uint8_t counts_from_base = 4;
    uint32_t start = 0; ///< from the module's base
    Rule rule = unknown;
    uint8_t saved = unchanged;
    int16_t offset = 0; ///< in words
    bool operator==(const UnwindRow&) const = default;
};
static_assert(sizeof(UnwindRow) == 8);

/// nsecs = base_ns + ((counter - base_counter) * multiplier >> 32); the product has 128 bits. Since the boot, as
/// bpftrace's.
struct CycleClock {
    uint64_t base_counter = 0;
    uint64_t base_ns = 0;    ///< CLOCK_BOOTTIME when the counter was base_counter
    uint64_t multiplier = 0; ///< nanoseconds for one step of the counter, times 2^32
};

/// Offsets in the data.
struct Tables {
    static constexpr size_t dropped = 0;   ///< a word: Maps::dropped
    static constexpr size_t next = 8;      ///< a word: where the next block or chunk begins, an address
    static constexpr size_t limit = 16;    ///< a word: where the last one has to end, an address
    static constexpr size_t no_calls = 24; ///< a word: not 0: stubs make no system calls from now on
    static constexpr size_t unread = 32;   ///< a word: Maps::unread
    static constexpr size_t loader = 40;   ///< LoaderWords in code/loader.h, 16 bytes
    static constexpr size_t slices = 56;   ///< a word: address of the newest slice of a forked child; 0: there is none
    static constexpr size_t maker = 64;    ///< whose they are: Maker in arming/arena.h
    static constexpr size_t clock = 104;   ///< a word: address of the CycleClock of now, one of `clocks`
    static constexpr size_t free = 112;    ///< a word: how many slices of forked children are free
    static constexpr size_t forked = 120;  ///< a word: Maps::forked
    static constexpr size_t executing = 128; ///< ExecutingWords in code/loader.h
    static constexpr size_t slice = 384;     ///< of the process
    // In a slice, a word for each of most_threads slots.
    static constexpr size_t owners = 0;
    static constexpr size_t blocks = 8 * most_threads; ///< addresses. A slot gets its block before its first owner
    // And of a forked child's:
    static constexpr size_t state = 2 * blocks; ///< a word: slice_free and its like
    static constexpr size_t older =
        state + 8; ///< a word: address of the slice that was made before; 0: it is the first
    static constexpr size_t slice_size = older + 8;
    static constexpr uint64_t slice_free = 0, slice_claimed = 1, slice_used = 2; ///< claimed: no process has it yet

    // Clocks, each from another second on, so that none changes while a stub reads it.
    static constexpr size_t clocks = (slice + slice_size + 63) / 64 * 64, clock_size = 32, most_clocks = 16;

    // Where stacks are whole, for stubs that walk one: code/stacks.cpp. Words:
    static constexpr size_t thread_stack = clocks + most_clocks * clock_size; ///< Environment::thread_stack
    static constexpr size_t stack_start = thread_stack + 8;   ///< the main thread's, in the process itself: it grows
    static constexpr size_t stack_at_first = stack_start + 8; ///< the same when the first stub was made
    static constexpr size_t last_frame = stack_at_first + 8;  ///< of it: two words below its end; 0: not known
    static constexpr size_t cut = last_frame + 8;             ///< Maps::cut
    static constexpr size_t asked = cut + 8; ///< where rings are overwritten: how often dump() or exit() was hit
    static constexpr size_t second_arena = asked + 8; ///< two words of Maker: start and size of another arena
    /// Start and size, two words each, of what is mapped for stubs to read (Target::map_again()); 0: nothing. Written before it is mapped.
    static constexpr size_t again = second_arena + 16, most_again = 16;
    static constexpr size_t end_of_words = again + 16 * most_again;

    std::optional<size_t> stacks; ///< of stack_slots words, addresses. Empty: the script mentions no stack
    std::optional<size_t>
        modules; ///< a word: how many have been there; UnwindModules. Empty: the script does not unwind
    size_t rows = 0, rows_end = 0; ///< UnwindRows
    size_t nothing = 0;            ///< of the first entry that it would have
    size_t heap = 0;               ///< of the first block or chunk
    size_t block_size = 0;         ///< a multiple of Chunk::alignment
    std::optional<size_t>
        ring;                ///< of a word in the block: the ring's address. Empty: the script prints nothing at sites
    size_t ring_size = 0;    ///< of its records
    bool overwrites = false; ///< a ring keeps its newest records; else its oldest, until they are read
    size_t most_record = 0;  ///< bytes of the largest
    size_t ring_bytes() const { return Ring::header + ring_size + most_record; }
    size_t wanted = 0;       ///< with large rings for many threads
    size_t least = 0;        ///< what the script needs at first: some threads with some keys in each map
    std::vector<Table> maps; ///< by Script::maps
};

/// The words at a mark: of one process. Those of the first arena's mark count; another's mark has a copy of `slice`, so that
/// stubs find it near.
struct Mark {
    uint64_t slice = 0;    ///< its address; 0: this is a forked child that has none yet
    uint64_t no_calls = 0; ///< not 0: stubs make no system calls in this process
    uint64_t pid = 0;      ///< in its own pid namespace; 0: not known
};

/// Bytes of a statement's record.
size_t record_size(const Statement& event);

/// @param ring_size  of a thread, a power of two
/// Bytes that the memory of a run has to have, and those that it should have where these are more than usual.
struct Needs {
    Needs(size_t least, size_t wanted = 0) : least(least), wanted(wanted) {}
    size_t least, wanted;
};

/// Throws Unusable where the maps would take too much memory. @param rows  for ustack(dwarf)
Tables lay_out(const Script& script, size_t ring_size = usual_ring_size, bool overwrites = false, size_t rows = 0);

/// A table's word at first.
inline constexpr uint64_t shift_of_nothing = 63;
inline uint64_t word_of_nothing(const Tables& tables, uint64_t data)
{
    return (data + tables.nothing) | shift_of_nothing;
}

/// The memory of a run: where it is in the process, and its bytes.
struct Window {
    uint64_t address = 0;
    size_t size = 0;
};

struct FirstWord {
    size_t offset;
    uint64_t value;
};
/// What the memory holds at first where it is not zeros.
std::vector<FirstWord> first_words(const Tables& tables, Window window, const std::optional<CycleClock>& clock = {});
/// The words that assign a number to a map of integers without keys that all threads share, in this order.
std::vector<FirstWord> words_of_value(const Tables& tables, size_t map, int64_t value);
/// The words that make `clock` the one of now, the last of them at last. @param number  of the clocks so far
std::vector<FirstWord> words_of_clock(Window window, const CycleClock& clock, size_t number);

} // namespace fastsdt::engine
