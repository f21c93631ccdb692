// SPDX-License-Identifier: BSD-2-Clause
#include "maps/read.h"

#include "base/integers.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

namespace fastsdt::engine {
namespace {

/// The given bytes, filled up with zeros to `size`.
class Bytes {
public:
    explicit Bytes(std::vector<std::byte> bytes, size_t size) : bytes_(std::move(bytes)) { bytes_.resize(size); }
    uint64_t word(size_t offset) const { return load(&bytes_[offset], 8, false); }
    std::string raw(size_t offset, size_t size) const { return {reinterpret_cast<const char*>(&bytes_[offset]), size}; }

private:
    std::vector<std::byte> bytes_;
};

/// min and max are kept as unsigned numbers of which the largest wins: see keep_extreme() in code/x86/statements.cpp.
int64_t extreme_of(uint64_t kept, const Map& map)
{
    if (map.kind == MapKind::min)
        kept = ~kept;
    return int64_t(map.type.is_signed ? kept ^ uint64_t(1) << 63 : kept);
}

int64_t sum_of(int64_t a, int64_t b)
{
    return int64_t(uint64_t(a) + uint64_t(b));
}

void add(const Map& map, Entry& to, const Entry& from)
{
    switch (map.kind) {
    case MapKind::count:
    case MapKind::sum:
    case MapKind::avg:
    case MapKind::stats: to.number = sum_of(to.number, from.number); break;
    case MapKind::min:
    case MapKind::max: {
        const bool less = map.type.is_signed ? from.number < to.number : uint64_t(from.number) < uint64_t(to.number);
        if (to.count == 0 || (from.count != 0 && less == (map.kind == MapKind::min)))
            to.number = from.number;
        break;
    }
    case MapKind::hist:
    case MapKind::lhist:
        to.buckets.resize(map.buckets());
        for (size_t i = 0; i < to.buckets.size(); ++i)
            to.buckets[i] += from.buckets[i];
        break;
    case MapKind::integer:
        if (map.only_adds) {
            to.value.number = sum_of(to.value.number, from.value.number);
            break;
        }
        [[fallthrough]];
    case MapKind::string:
    case MapKind::probe: to.value = from.value; break;
    }
    to.count += from.count;
}

/// The values at `offset`. False: nothing was recorded there.
bool decode(const Map& map, const Bytes& bytes, size_t offset, Entry& entry)
{
    switch (map.kind) {
    case MapKind::count: entry.number = int64_t(bytes.word(offset)); return entry.number != 0;
    case MapKind::sum:
    case MapKind::avg:
    case MapKind::stats:
    case MapKind::min:
    case MapKind::max:
        entry.count = bytes.word(offset);
        entry.number = int64_t(bytes.word(offset + 8));
        if (map.kind == MapKind::min || map.kind == MapKind::max)
            entry.number = extreme_of(uint64_t(entry.number), map);
        return entry.count != 0;
    case MapKind::hist:
    case MapKind::lhist:
        for (size_t i = 0; i < map.buckets(); ++i)
            entry.buckets.push_back(bytes.word(offset + 8 * i));
        return std::any_of(entry.buckets.begin(), entry.buckets.end(), [](uint64_t n) { return n != 0; });
    case MapKind::integer:
    case MapKind::probe: entry.value.number = int64_t(bytes.word(offset)); return true;
    case MapKind::string: entry.value = datum_of(map.type, bytes.raw(offset, map.type.size())); return true;
    }
    return false;
}

using Merged = std::map<std::vector<Datum>, Entry>;

std::vector<Slice> all_slices(const Tables& tables, Window window, const ReadData& read)
{
    std::vector<Slice> slices = slices_of_children(tables, window, read);
    slices.push_back({Tables::slice, Tables::slice_used});
    return slices;
}

/// The memory of a run, as it is now.
class TableMemory {
public:
    TableMemory(const Tables& tables, Window window, const ReadData& read, std::span<const Slice> slices)
        : tables_(tables), window_(window), read_(read), left_(window.size)
    {
        for (const Slice& of : slices) {
            const Bytes slice = fetch(of.offset, Tables::state);
            for (size_t slot = 0; slot < most_threads; ++slot)
                if (const auto block = place(slice.word(Tables::blocks + 8 * slot), 0, tables_.block_size))
                    blocks_.push_back(
                        {of.offset + Tables::owners + 8 * slot, *block, slice.word(Tables::owners + 8 * slot) != 0});
        }
    }

    struct Block {
        size_t owner, offset; ///< of the slot's owner, and of the block
        bool owned;
    };
    const std::vector<Block>& blocks() const { return blocks_; }

    Bytes fetch(size_t offset, size_t size) const { return Bytes(read_(offset, size), size); }

    struct Entries {
        size_t offset, count;
    };
    /// Of a table's chunks, the newest first. @param base  of the thread's block, or 0
    std::vector<Entries> chunks(const Table& table, size_t base)
    {
        std::vector<Entries> chunks;
        size_t most = table.entries;
        for (uint64_t at = word_at(read_, base + table.offset) & ~uint64_t(Chunk::header - 1);
             at != window_.address + tables_.nothing;) {
            const auto entries = place(at, Chunk::header, 0);
            if (!entries)
                break;
            const Bytes header = fetch(*entries - Chunk::header, Chunk::header);
            const auto of_header = [&](size_t below) { return header.word(Chunk::header - below); };
            size_t count = most;
            while (count > table.first && count - 1 != of_header(Chunk::last))
                count /= Chunk::growth;
            const size_t bytes = table.chunk_bytes(count);
            if (count < table.first || count - 1 != of_header(Chunk::last)
                || !place(at, Chunk::header, bytes - Chunk::header) || bytes > left_)
                break;
            left_ -= bytes;
            chunks.push_back({*entries, count});
            most = count / Chunk::growth;
            at = of_header(Chunk::older);
        }
        return chunks;
    }

private:
    std::optional<size_t> place(uint64_t address, size_t before, size_t behind) const
    {
        return place_in_heap(tables_, window_, address, before, behind);
    }

    const Tables& tables_;
    const Window window_;
    const ReadData& read_;
    size_t left_; // bytes of chunks that there may still be
    std::vector<Block> blocks_;
};

/// One entry, at `at` of the bytes. False: nothing is there. @param index  where the search for its key begins, if it has a tag
bool read_entry(const Map& map, const Table& table, const Bytes& bytes, size_t at, size_t entries, Entry& entry,
                size_t& index)
{
    if (table.entries == 1)
        return !(is_assigned(map.kind) && bytes.word(at) == 0) && decode(map, bytes, at + table.value, entry);
    if (table.direct) {
        const uint64_t first = bytes.word(at);
        entry.keys.push_back({int64_t(first), {}});
        return first != 0 && decode(map, bytes, at + table.value, entry);
    }
    if ((bytes.word(at) & uint64_t(tag_there)) != uint64_t(tag_there))
        return false;
    entry.keys = keys_of(map, bytes.raw(at + table.keys, table.key_bytes()));
    std::vector<uint64_t> words;
    for (size_t of_key = 0; of_key < table.key_bytes(); of_key += 8)
        words.push_back(bytes.word(at + table.keys + of_key));
    index = first_entry(words, entries);
    return decode(map, bytes, at + table.value, entry);
}

void merge(const Map& map, Merged& merged, const Entry& entry)
{
    if (const auto [found, fresh] = merged.try_emplace(entry.keys, entry); !fresh)
        add(map, found->second, entry);
}

/// Reads a map of one thread, or a shared one. @param base  of the thread's block, or 0
void read_map(const Map& map, const Table& table, size_t base, TableMemory& memory, Merged& merged)
{
    size_t unused = 0;
    if (table.own) {
        const Bytes own = memory.fetch(base + *table.own, 16);
        Entry entry;
        entry.keys = {{int64_t(own.word(0)), {}}};
        entry.value.number = int64_t(own.word(8));
        if (own.word(0) != 0)
            merged.insert_or_assign(entry.keys, entry);
    }
    if (table.entries == 1) {
        Entry entry;
        if (read_entry(map, table, memory.fetch(base + table.offset, table.entry_size), 0, 1, entry, unused))
            merge(map, merged, entry);
        return;
    }
    if (table.direct) {
        Entry entry;
        if (read_entry(map, table, memory.fetch(base + table.zero, table.entry_size), 0, 1, entry, unused)) {
            entry.keys[0].number = 0;
            merge(map, merged, entry);
        }
    }
    // Of several entries with one key that was assigned, the one that a stub finds first counts.
    std::map<std::vector<Datum>, std::pair<size_t, size_t>> found; // which chunk, and how far from the search's begin
    const auto chunks = memory.chunks(table, base);
    for (size_t number = 0; number < chunks.size(); ++number) {
        const auto [offset, count] = chunks[number];
        const Bytes bytes = memory.fetch(offset, table.entry_size * count);
        for (size_t i = 0; i < count; ++i) {
            Entry entry;
            size_t index = 0;
            if (!read_entry(map, table, bytes, i * table.entry_size, count, entry, index))
                continue;
            if (!is_assigned(map.kind) || map.only_adds) {
                merge(map, merged, entry);
                continue;
            }
            const std::pair step(number, (i - index) & (count - 1));
            const auto [nearest, fresh] = found.try_emplace(entry.keys, step);
            if (!fresh && nearest->second < step)
                continue;
            nearest->second = step;
            merged.insert_or_assign(entry.keys, entry);
        }
    }
}

// The maps of some slices. `shared`: and those of all.
Maps read_slices(const Script& script, const Tables& tables, Window window, const ReadData& read,
                 std::span<const Slice> slices, bool with_shared)
{
    TableMemory memory(tables, window, read, slices);
    Maps maps;
    std::vector<Merged> merged(script.maps.size());
    const auto read_maps_at = [&](size_t base, bool shared) {
        for (size_t i = 0; i < merged.size(); ++i)
            if (tables.maps[i].shared == shared && !script.maps[i].of_tool)
                read_map(script.maps[i], tables.maps[i], base, memory, merged[i]);
    };
    if (with_shared)
        read_maps_at(0, true);
    for (const TableMemory::Block& block : memory.blocks()) { // without an owner: of a thread that has ended, perhaps
        maps.threads += block.owned;
        read_maps_at(block.offset, false);
    }
    for (Merged& map : merged) {
        auto& entries = maps.maps.emplace_back();
        for (auto& [keys, entry] : map)
            entries.push_back(std::move(entry));
    }
    return maps;
}

} // namespace

std::optional<size_t> place_in_heap(const Tables& tables, Window window, uint64_t address, size_t before, size_t behind)
{
    const uint64_t offset = address - window.address;
    if (offset >= window.size || offset < tables.heap + before || behind > window.size - offset || offset % 16 != 0)
        return std::nullopt;
    return offset;
}

std::vector<size_t> blocks_of(const Tables& tables, Window window, const ReadData& read)
{
    std::vector<size_t> offsets;
    if (window.size == 0)
        return offsets;
    const TableMemory memory(tables, window, read, all_slices(tables, window, read));
    for (const TableMemory::Block& block : memory.blocks())
        offsets.push_back(block.offset);
    return offsets;
}

uint64_t word_at(const ReadData& read, size_t offset)
{
    return Bytes(read(offset, 8), 8).word(0);
}

std::vector<Slice> slices_of_children(const Tables& tables, Window window, const ReadData& read)
{
    std::vector<Slice> slices;
    const size_t most = window.size / Tables::slice_size;
    for (uint64_t at = window.size ? word_at(read, Tables::slices) : 0; slices.size() < most;) {
        const auto offset = place_in_heap(tables, window, at, 0, Tables::slice_size);
        if (!offset)
            break;
        slices.push_back({*offset, word_at(read, *offset + Tables::state)});
        at = word_at(read, *offset + Tables::older);
    }
    return slices;
}

Maps read_tables(const Script& script, const Tables& tables, Window window, const ReadData& read)
{
    const std::vector<Slice> slices = all_slices(tables, window, read);
    Maps maps = read_slices(script, tables, window, read, slices, true);
    maps.dropped = word_at(read, Tables::dropped);
    maps.unread = word_at(read, Tables::unread);
    maps.cut = word_at(read, Tables::cut);
    maps.forked = word_at(read, Tables::forked);
    maps.processes = size_t(std::count_if(slices.begin(), slices.end(),
                                          [](const Slice& slice) { return slice.state != Tables::slice_free; }))
        - 1;
    return maps;
}

std::vector<uint64_t> stack_at(const Tables& tables, Window window, const ReadData& read, uint64_t address)
{
    std::vector<uint64_t> frames;
    const auto header = place_in_heap(tables, window, address, 0, InternedStack::frames);
    if (!header)
        return frames;
    const size_t count = std::min<uint64_t>(word_at(read, *header + InternedStack::count), most_stack_frames);
    const Bytes bytes(read(*header + InternedStack::frames, 8 * count), 8 * count);
    for (size_t i = 0; i < count; ++i)
        frames.push_back(bytes.word(8 * i));
    return frames;
}

std::vector<uint64_t> interned_stacks(const Tables& tables, const ReadData& read)
{
    std::vector<uint64_t> stacks;
    if (!tables.stacks)
        return stacks;
    const Bytes slots(read(*tables.stacks, 8 * stack_slots), 8 * stack_slots);
    for (size_t slot = 0; slot < stack_slots; ++slot)
        if (const uint64_t stack = slots.word(8 * slot))
            stacks.push_back(stack);
    return stacks;
}

Maps named(const Script& script, Maps maps, const NameOf& name)
{
    bool any = false;
    const auto of = [&name](const ValueType& type, Datum& datum) {
        if (datum.text.empty())
            datum = {0, name(type, uint64_t(datum.number))};
    };
    for (size_t i = 0; i < maps.maps.size(); ++i) {
        const Map& map = script.maps[i];
        for (size_t key = 0; key < map.keys.size(); ++key)
            if (map.keys[key].has_name())
                for (Entry& entry : maps.maps[i]) {
                    any = true;
                    of(map.keys[key], entry.keys[key]);
                }
        if (is_assigned(map.kind) && map.type.has_name())
            for (Entry& entry : maps.maps[i])
                of(map.type, entry.value);
    }
    if (!any)
        return maps;
    Maps merged;
    merge(script, merged, maps);
    return merged;
}

Maps read_slice(const Script& script, const Tables& tables, Window window, const ReadData& read, Slice slice)
{
    return read_slices(script, tables, window, read, std::span(&slice, 1), false);
}

void merge(const Script& script, Maps& to, const Maps& other)
{
    to.maps.resize(script.maps.size());
    for (size_t i = 0; i < other.maps.size(); ++i) {
        const Map& map = script.maps[i];
        Merged merged;
        for (Entry& entry : to.maps[i])
            merged.emplace(entry.keys, std::move(entry));
        for (const Entry& entry : other.maps[i])
            if (const auto [found, fresh] = merged.try_emplace(entry.keys, entry);
                !fresh && (!is_assigned(map.kind) || map.only_adds))
                add(map, found->second, entry);
        to.maps[i].clear();
        for (auto& [keys, entry] : merged)
            to.maps[i].push_back(std::move(entry));
    }
    to.dropped += other.dropped;
    to.unread += other.unread;
    to.cut += other.cut;
    to.lost += other.lost;
    to.forked += other.forked;
    to.threads += other.threads;
    to.processes += other.processes;
}

void drop_beyond(const Script& script, Maps& ended, size_t most)
{
    const auto hits = [](const Map& map, const Entry& entry) -> uint64_t {
        if (map.kind == MapKind::count)
            return uint64_t(entry.number);
        if (map.kind == MapKind::hist || map.kind == MapKind::lhist)
            return std::accumulate(entry.buckets.begin(), entry.buckets.end(), uint64_t(0));
        return is_assigned(map.kind) ? 1 : entry.count;
    };
    for (size_t i = 0; i < ended.maps.size(); ++i)
        for (auto& entries = ended.maps[i]; entries.size() > most; entries.pop_back())
            ended.dropped += hits(script.maps[i], entries.back());
}

bool is_subtracted(const Script& script, const Tables& tables, size_t map)
{
    const Table& table = tables.maps[map];
    return !is_assigned(script.maps[map].kind) && (table.entries == 1 || table.direct);
}

void clear_table(const Script& script, const Tables& tables, Window window, size_t map, const ReadData& read,
                 const ChangeData& change, const std::vector<Datum>* only)
{
    const Table& table = tables.maps[map];
    if (script.maps[map].of_tool)
        return;
    const MapKind kind = script.maps[map].kind;
    const bool subtracted = is_subtracted(script, tables, map);
    if (subtracted && kind != MapKind::min && kind != MapKind::max)
        return;
    TableMemory memory(tables, window, read, all_slices(tables, window, read));
    const auto clear_entries = [&](size_t offset, size_t count) {
        const Bytes bytes = memory.fetch(offset, table.entry_size * count);
        const auto set = [&](size_t at, uint64_t from, uint64_t to) {
            if (from != to)
                change(offset + at, from, to);
        };
        for (size_t i = 0; i < count; ++i) {
            const size_t at = i * table.entry_size;
            const uint64_t first = bytes.word(at);
            if (Entry entry; only && table.entries > 1) {
                size_t unused = 0;
                if (!read_entry(script.maps[map], table, bytes, at, count, entry, unused) || entry.keys != *only)
                    continue;
            }
            if (subtracted) {
                // A thread may raise it meanwhile: by a hit of this moment.
                set(at + table.value + 8, bytes.word(at + table.value + 8), 0);
            } else if (table.entries == 1) {
                set(at, first, 0);
                if (script.maps[map].adds)
                    set(at + table.value, bytes.word(at + table.value), 0);
            } else if ((first & uint64_t(tag_there)) == uint64_t(tag_there)) {
                set(at, first, first - uint64_t(tag_there - tag_deleted));
            }
        }
    };
    const auto clear_at = [&](size_t base) { // of a block, or of the data
        if (table.entries == 1)
            return clear_entries(base + table.offset, 1);
        if (table.direct)
            clear_entries(base + table.zero, 1);
        for (const auto& [offset, count] : memory.chunks(table, base))
            clear_entries(offset, count);
        if (table.own)
            if (const uint64_t tid = word_at(read, base + *table.own);
                tid != 0 && (!only || (*only)[0].number == int64_t(tid)))
                change(base + *table.own, tid, 0);
    };
    if (table.shared)
        return clear_at(0);
    for (const TableMemory::Block& block : memory.blocks())
        clear_at(block.offset);
}

namespace {

std::vector<Piece> contents_of(const Tables& tables, Window window, const ReadData& read, std::span<const Slice> slices,
                               bool with_shared)
{
    TableMemory memory(tables, window, read, slices);
    std::vector<Piece> pieces;
    const auto add_at = [&](size_t base, bool shared) {
        for (const Table& table : tables.maps) {
            if (table.shared != shared)
                continue;
            if (table.entries == 1) {
                pieces.push_back({base + table.offset, table.entry_size});
                continue;
            }
            if (table.own)
                pieces.push_back({base + *table.own, 16});
            if (table.direct)
                pieces.push_back({base + table.zero, table.entry_size});
            for (const auto& [offset, count] : memory.chunks(table, base))
                pieces.push_back({offset, count * table.entry_size});
        }
    };
    if (with_shared)
        add_at(0, true);
    for (const TableMemory::Block& block : memory.blocks())
        add_at(block.offset, false);
    for (const TableMemory::Block& block : memory.blocks())
        pieces.push_back({block.owner, 8});
    return pieces;
}

} // namespace

std::vector<Piece> contents(const Tables& tables, Window window, const ReadData& read)
{
    std::vector<Piece> pieces = contents_of(tables, window, read, all_slices(tables, window, read), true);
    for (const size_t counter : {Tables::dropped, Tables::unread, Tables::cut, Tables::forked})
        pieces.push_back({counter, 8});
    return pieces;
}

std::vector<Piece> contents_of_slice(const Tables& tables, Window window, const ReadData& read, Slice slice)
{
    return contents_of(tables, window, read, std::span(&slice, 1), false);
}

void subtract(const Script& script, size_t map, Maps& now, const Maps& before)
{
    const Map& what = script.maps[map];
    std::map<std::vector<Datum>, const Entry*> old;
    for (const Entry& entry : before.maps[map])
        old.emplace(entry.keys, &entry);
    std::erase_if(now.maps[map], [&](Entry& entry) {
        const auto found = old.find(entry.keys);
        if (found == old.end())
            return false;
        const Entry& was = *found->second;
        switch (what.kind) {
        case MapKind::count:
        case MapKind::sum:
        case MapKind::avg:
        case MapKind::stats:
            entry.number = int64_t(uint64_t(entry.number) - uint64_t(was.number));
            entry.count -= was.count;
            return entry.number == 0 && entry.count == 0; // a stub adds first and counts then
        case MapKind::min:
        case MapKind::max: entry.count -= was.count; return entry.count == 0 && entry.number == extreme_of(0, what);
        case MapKind::hist:
        case MapKind::lhist: {
            uint64_t any = 0;
            for (size_t i = 0; i < entry.buckets.size(); ++i)
                any |= entry.buckets[i] -= was.buckets[i];
            return any == 0;
        }
        case MapKind::integer:
        case MapKind::string:
        case MapKind::probe: break; // never subtracted
        }
        return false;
    });
}

} // namespace fastsdt::engine
