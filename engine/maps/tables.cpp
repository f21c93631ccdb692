// SPDX-License-Identifier: BSD-2-Clause
#include "maps/tables.h"

#include "base/addresses.h"
#include "base/unusable.h"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace fastsdt::engine {
namespace {

// Of one map in one slot. Maps whose entries are large (histograms by key) hold fewer keys.
constexpr size_t most_table_bytes = size_t(8) << 20;
// A first chunk has so many entries and bytes at most. Large entries (histograms) are few at first.
constexpr size_t most_first_entries = 32, most_first_bytes = size_t(16) << 10;
// Of what one thread takes at once, and of all that all threads share.
constexpr size_t most_block_bytes = size_t(1) << 20;
// Address space for the rings of so many threads, where rings are large.
constexpr size_t most_for_rings = size_t(1) << 30, many_threads = 64;
// What tables get at first, at least, and so many threads with a few keys.
constexpr size_t least_bytes = size_t(256) << 10, least_threads = 4;

size_t value_bytes(const Map& map)
{
    if (map.of_tool)
        return 8;
    switch (map.kind) {
    case MapKind::count: return 8;
    case MapKind::sum:
    case MapKind::avg:
    case MapKind::stats:
    case MapKind::min:
    case MapKind::max: return 16; // count, number
    case MapKind::hist:
    case MapKind::lhist: return 8 * map.buckets();
    case MapKind::integer:
    case MapKind::probe: return 8;
    case MapKind::string: return map.type.size();
    }
    return 0;
}

bool deletes(const Script& script, size_t map)
{
    bool found = script.maps[map].series.has_value(); // the tool forgets old intervals
    each_statement(script, [&](const Statement& statement) {
        found = found || (statement.kind == Statement::Kind::remove && statement.map == map);
    });
    return found;
}

} // namespace

size_t first_entry(const std::vector<uint64_t>& words, size_t entries)
{
    uint64_t hash = words.empty() ? hash_multiplier : words[0] * hash_multiplier;
    for (size_t i = 1; i < words.size(); ++i)
        hash = ((hash ^ hash >> 29) + words[i]) * hash_multiplier;
    return size_t(hash >> (64 - std::countr_zero(entries)));
}

size_t Table::key_bytes() const
{
    size_t sum = 0;
    for (const size_t size : key_size)
        sum += size;
    return sum;
}

size_t record_size(const Statement& event)
{
    size_t size = Ring::values;
    for (const Expression& value : event.values)
        size += value.type.size();
    return size;
}

// A map's table, without its place.
static Table table_of(const Script& script, size_t number)
{
    const Map& map = script.maps[number];
    Table table;
    table.shared = is_assigned(map.kind) && !map.tid_key;
    table.value_size = value_bytes(map);
    for (size_t key = 0; key < map.keys.size(); ++key)
        table.key_size.push_back(map.keys[key].size());
    if (map.of_tool) { // no stub has anything to do with it
        table.shared = true;
        table.key_size.clear();
        table.entry_size = table.value_size;
    } else if (map.kind == MapKind::string) {
        // A string takes several stores, so a new one gets a new entry. Hence a map without keys has several
        // entries too.
        table.value = 8;
        table.keys = 8 + table.value_size;
        table.entry_size = up_to(table.keys + table.key_bytes(), 16);
        table.entries =
            map.keys.empty() ? 16 : std::bit_floor(std::min(2 * most_keys, most_table_bytes / table.entry_size));
    } else if (map.keys.empty()) {
        // A map that is assigned has a word that says whether a value is there.
        const bool flag = is_assigned(map.kind);
        table.value = flag ? 8 : 0;
        table.entry_size = table.value + table.value_size;
    } else {
        table.direct =
            map.keys.size() == 1 && !map.keys[0].is_wide() && !is_assigned(map.kind) && !deletes(script, number);
        table.value = 8;
        table.keys = table.direct ? 0 : 8 + table.value_size;
        // If the map is assigned, a tag and the value behind it are exchanged at once, by an instruction that needs
        // them aligned to 16 bytes.
        table.entry_size = table.direct ? 8 + table.value_size : table.keys + table.key_bytes();
        if (is_assigned(map.kind))
            table.entry_size = up_to(table.entry_size, 16);
        // Half full with all keys: then a key's entry is near the one at which its search begins.
        const size_t keys = table.direct ? most_direct_keys : most_keys;
        table.entries = std::bit_floor(std::min(2 * keys, most_table_bytes / table.entry_size));
    }
    return table;
}

Tables lay_out(const Script& script, size_t ring_size, bool overwrites, size_t rows)
{
    Tables tables;
    tables.overwrites = overwrites;
    size_t shared_end = 0, block_end = 0, chunks = 0, largest_entry = 0;
    for (size_t i = 0; i < script.maps.size(); ++i) {
        const Map& map = script.maps[i];
        Table table = table_of(script, i);
        size_t& end = table.shared ? shared_end : block_end;
        if (map.kind == MapKind::integer && !map.of_tool && !map.adds && map.tid_key && map.keys.size() == 1) {
            table.own = up_to(end, 16);
            end = *table.own + 16;
        }
        table.offset = up_to(end, 16);
        if (table.entries == 1) {
            end = table.offset + table.entry_size;
        } else {
            end = table.offset + 8;
            for (table.first = table.entries; table.first > most_first_entries
                 || (table.first > Chunk::growth && table.chunk_bytes(table.first) > most_first_bytes);)
                table.first /= Chunk::growth;
            chunks += up_to(table.chunk_bytes(table.first), Chunk::alignment);
            largest_entry = std::max(largest_entry, table.entry_size);
        }
        if (table.direct) {
            table.zero = up_to(end, 16);
            end = table.zero + table.entry_size;
        }
        if (end > most_block_bytes)
            throw Unusable(
                map.name
                + ": the maps of the script take more than 1 MiB for each thread, without any key; use fewer "
                  "histograms or fewer steps");
        tables.maps.push_back(std::move(table));
    }
    each_site_statement(script, [&](const Statement& statement) {
        if (statement.is_event())
            tables.most_record = std::max(tables.most_record, record_size(statement));
    });
    if (tables.most_record != 0) {
        tables.ring = up_to(block_end, 8);
        block_end = *tables.ring + 8;
        tables.ring_size = ring_size;
    }
    // A stub looks at one of the first two entries of a direct table before it knows that there are none.
    size_t words_end = Tables::end_of_words;
    if (uses(script, Value::stack)) {
        tables.stacks = up_to(words_end, 64);
        words_end = *tables.stacks + 8 * stack_slots;
    }
    if (unwinds(script)) {
        tables.modules = up_to(words_end, 64);
        tables.rows = *tables.modules + 8 + most_unwind_modules * UnwindModule::size;
        words_end = tables.rows_end = tables.rows + rows * sizeof(UnwindRow);
    }
    tables.nothing = up_to(words_end, 64) + Chunk::header;
    const size_t shared = up_to(tables.nothing + largest_entry + 8, 64);
    for (Table& table : tables.maps)
        if (table.shared)
            table.offset += shared;
    tables.heap = up_to(shared + shared_end, Chunk::alignment);
    tables.block_size = std::max(up_to(block_end, Chunk::alignment), Chunk::alignment);
    const size_t ring = tables.ring ? up_to(tables.ring_bytes(), Chunk::alignment) : 0;
    tables.least =
        up_to(std::max(tables.heap + least_threads * (tables.block_size + chunks) + ring, least_bytes), 65536);
    tables.wanted = std::max(tables.least, std::min(many_threads * ring, most_for_rings));
    return tables;
}

std::vector<FirstWord> words_of_clock(Window window, const CycleClock& clock, size_t number)
{
    const size_t at = Tables::clocks + number % Tables::most_clocks * Tables::clock_size;
    return {{at + offsetof(CycleClock, base_counter), clock.base_counter},
            {at + offsetof(CycleClock, base_ns), clock.base_ns},
            {at + offsetof(CycleClock, multiplier), clock.multiplier},
            {Tables::clock, window.address + at}};
}

std::vector<FirstWord> words_of_value(const Tables& tables, size_t map, int64_t value)
{
    const Table& table = tables.maps[map];
    return {{table.offset + table.value, uint64_t(value)}, {table.offset, 1}};
}

std::vector<FirstWord> first_words(const Tables& tables, Window window, const std::optional<CycleClock>& clock)
{
    std::vector<FirstWord> words = {{Tables::next, window.address + tables.heap},
                                    {Tables::limit, window.address + window.size},
                                    {tables.nothing - Chunk::shift, shift_of_nothing},
                                    {tables.nothing - Chunk::last, 1}};
    for (const Table& table : tables.maps)
        if (table.shared && table.entries > 1)
            words.push_back({table.offset, word_of_nothing(tables, window.address)});
    if (clock)
        for (const FirstWord& word : words_of_clock(window, *clock, 0))
            words.push_back(word);
    return words;
}

} // namespace fastsdt::engine
