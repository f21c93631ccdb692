// SPDX-License-Identifier: BSD-2-Clause
#include "maps/tables.h"

#include "base/unusable.h"

#include <algorithm>
#include <bit>

namespace fastsdt::engine {
namespace {

// Of one map in one slot. Maps whose entries are large (histograms by key) hold fewer keys.
constexpr size_t most_table_bytes = size_t(8) << 20;
// A displacement reaches any place of a slot.
constexpr size_t most_slot_bytes = size_t(1) << 30;

size_t value_bytes(const Map& map)
{
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
    case MapKind::string: return string_size;
    }
    return 0;
}

bool deletes(const Script& script, size_t map)
{
    for (const Clause& clause : script.clauses)
        for (const Statement& statement : clause.actions)
            if (statement.kind == Statement::Kind::remove && statement.map == map)
                return true;
    return false;
}

size_t up(size_t value, size_t to)
{
    return (value + to - 1) / to * to;
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

Tables lay_out(const Script& script)
{
    Tables tables;
    size_t shared_end = up(Tables::owners + 8 * most_threads, 64), slot_end = 0;
    for (size_t i = 0; i < script.maps.size(); ++i) {
        const Map& map = script.maps[i];
        Table table;
        table.shared = is_assigned(map.kind) && !map.tid_key;
        table.value_size = value_bytes(map);
        for (const Type key : map.keys)
            table.key_size.push_back(key == Type::string ? string_size : 8);
        if (map.kind == MapKind::string) {
            // A string takes several stores, so a new one gets a new entry. Hence a map without keys has several
            // entries too.
            table.value = 8;
            table.keys = 8 + table.value_size;
            table.entry_size = up(table.keys + table.key_bytes(), 16);
            table.entries = map.keys.empty() ? 16 : 2 * most_keys;
        } else if (map.keys.empty()) {
            // A map that is assigned has a word that says whether a value is there.
            const bool flag = is_assigned(map.kind);
            table.value = flag ? 8 : 0;
            table.entry_size = table.value + table.value_size;
        } else {
            table.direct =
                map.keys.size() == 1 && map.keys[0] != Type::string && !is_assigned(map.kind) && !deletes(script, i);
            table.value = 8;
            table.keys = table.direct ? 0 : 8 + table.value_size;
            // If the map is assigned, a tag and the value behind it are exchanged at once, by an instruction that needs
            // them aligned to 16 bytes.
            table.entry_size = table.direct ? 8 + table.value_size : table.keys + table.key_bytes();
            if (is_assigned(map.kind))
                table.entry_size = up(table.entry_size, 16);
            // Half full at most_keys: then a key's entry is near the one at which its search begins.
            table.entries = std::bit_floor(std::min(2 * most_keys, most_table_bytes / table.entry_size));
        }
        size_t& end = table.shared ? shared_end : slot_end;
        if (map.kind == MapKind::integer && map.tid_key && map.keys.size() == 1) {
            table.own = up(end, 16);
            end = *table.own + 16;
        }
        table.offset = up(end, table.entries == 1 ? 16 : 64);
        end = table.offset + table.entry_size * (table.entries + table.direct);
        if (end > most_slot_bytes)
            throw Unusable(map.name
                           + ": the maps of the script take more than 1 GiB for each thread; use fewer keyed "
                             "histograms or fewer steps");
        tables.maps.push_back(std::move(table));
    }
    tables.slots = up(shared_end, 4096);
    // Two cache lines, since processors fetch them in pairs: a thread should not wait for a line that another writes.
    tables.slot_size = std::max<size_t>(up(slot_end, 128), 128);
    tables.size = up(tables.slots + tables.slot_size * most_threads, 4096);
    return tables;
}

} // namespace fastsdt::engine
