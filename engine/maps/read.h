// SPDX-License-Identifier: BSD-2-Clause
// Tables to maps. The process may have written anything into its tables, or be writing just now. So offsets, sizes and
// limits come from lay_out(). An address of a block or a chunk is followed only to where one can be, each chunk to a smaller
// one, and no more chunks are read than fit in the window. Whatever else is read is only taken for numbers and text.
#pragma once
#include "maps/maps.h"
#include "maps/tables.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace fastsdt::engine {

/// Up to `size` bytes of the data at `offset`: Target::read_data(). What is missing counts as zeros.
using ReadData = std::function<std::vector<std::byte>(size_t offset, size_t size)>;

uint64_t word_at(const ReadData& read, size_t offset);

/// Reads and merges. Only slots that have an owner are read.
/// @param window  of size 0: there are no tables yet
Maps read_tables(const Script& script, const Tables& tables, Window window, const ReadData& read);

/// Offsets of the blocks that threads of all processes have.
std::vector<size_t> blocks_of(const Tables& tables, Window window, const ReadData& read);
/// The offset of an address in the heap of which so many bytes before and behind are in it too.
std::optional<size_t> place_in_heap(const Tables& tables, Window window, uint64_t address, size_t before,
                                    size_t behind);

/// Of a forked child, or the process's own.
struct Slice {
    size_t offset;  ///< in the data
    uint64_t state; ///< Tables::slice_used and its like
};
std::vector<Slice> slices_of_children(const Tables& tables, Window window, const ReadData& read);
/// What one process recorded; nothing that all share.
Maps read_slice(const Script& script, const Tables& tables, Window window, const ReadData& read, Slice slice);
/// The frames of an interned stack, the innermost first; none where no stack is.
std::vector<uint64_t> stack_at(const Tables& tables, Window window, const ReadData& read, uint64_t address);
/// Those that are there.
std::vector<uint64_t> interned_stacks(const Tables& tables, const ReadData& read);
/// Of what ValueType::has_name(). What has a text already keeps it.
using NameOf = std::function<std::string(const ValueType& type, uint64_t number)>;
/// Gives stacks and addresses their names. Entries whose keys are the same then become one.
Maps named(const Script& script, Maps maps, const NameOf& name);

/// Adds what another process recorded. What was assigned counts where `to` has no value for the key.
void merge(const Script& script, Maps& to, const Maps& other);
/// Keys of a map that ended processes may leave: what is beyond counts as dropped, so that a process cannot fill the tracer's memory by
/// forking.
inline constexpr size_t most_ended_keys = size_t(1) << 16;
void drop_beyond(const Script& script, Maps& ended, size_t most);

/// One word of the data is `to` if it was `from`, in one step: Target::change_data().
using ChangeData = std::function<bool(size_t offset, uint64_t from, uint64_t to)>;

/// Whether clear(@map) means that what the map holds at that moment is subtracted later: sums, counts and buckets without
/// keys, or by one integer. Their entries cannot be deleted, and stubs change them without a lock, so that a word that is
/// written here could be written back. All other maps are cleared in the tables, where stubs see it too.
bool is_subtracted(const Script& script, const Tables& tables, size_t map);

/// clear(@map) in the tables, while threads go on. Entries are deleted, as stubs delete them. Where is_subtracted(), only
/// minima and maxima are written: they become none, and their counts, read after this, are for subtract().
/// @param only  the keys of one entry; nullptr: all
void clear_table(const Script& script, const Tables& tables, Window window, size_t map, const ReadData& read,
                 const ChangeData& change, const std::vector<Datum>* only = nullptr);

/// Offset and bytes of some data.
struct Piece {
    size_t offset, size;
};
/// What has to become zeros, in this order, so that the tables are as they were at first. Blocks and chunks stay: a thread that
/// is still in a stub, or comes back to one, finds them.
std::vector<Piece> contents(const Tables& tables, Window window, const ReadData& read);

/// The same of one slice, so that another process can have it.
std::vector<Piece> contents_of_slice(const Tables& tables, Window window, const ReadData& read, Slice slice);

/// Subtracts `before` from `now`, entry by entry. Entries to which nothing was added since disappear.
void subtract(const Script& script, size_t map, Maps& now, const Maps& before);

} // namespace fastsdt::engine
