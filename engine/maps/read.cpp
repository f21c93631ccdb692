// SPDX-License-Identifier: BSD-2-Clause
#include "maps/read.h"

#include "base/integers.h"

#include <algorithm>
#include <map>

namespace fastsdt::engine {
namespace {

/// The given bytes, filled up with zeros to `size`.
class Bytes {
public:
    explicit Bytes(std::vector<std::byte> bytes, size_t size) : bytes_(std::move(bytes)) { bytes_.resize(size); }
    uint64_t word(size_t offset) const { return load(&bytes_[offset], 8, false); }
    std::string text(size_t offset) const
    {
        std::string text;
        for (size_t i = 0; i + 1 < string_size && bytes_[offset + i] != std::byte(0); ++i)
            text += char(bytes_[offset + i]);
        return text;
    }

private:
    std::vector<std::byte> bytes_;
};

/// min and max are kept as unsigned numbers of which the largest wins: see keep_extreme() in code/x86/statements.cpp.
int64_t number_of(uint64_t kept, const Map& map)
{
    if (map.kind == MapKind::min)
        kept = ~kept;
    return int64_t(map.is_signed ? kept ^ uint64_t(1) << 63 : kept);
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
        const bool less = map.is_signed ? from.number < to.number : uint64_t(from.number) < uint64_t(to.number);
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
            entry.number = number_of(uint64_t(entry.number), map);
        return entry.count != 0;
    case MapKind::hist:
    case MapKind::lhist:
        for (size_t i = 0; i < map.buckets(); ++i)
            entry.buckets.push_back(bytes.word(offset + 8 * i));
        return std::any_of(entry.buckets.begin(), entry.buckets.end(), [](uint64_t n) { return n != 0; });
    case MapKind::integer:
    case MapKind::probe: entry.value.number = int64_t(bytes.word(offset)); return true;
    case MapKind::string: entry.value.text = bytes.text(offset); return true;
    }
    return false;
}

using Merged = std::map<std::vector<Datum>, Entry>;

/// Reads one table, a slot's or a shared one; `bytes` begins at the table.
void read_table(const Map& map, const Table& table, const Bytes& bytes, Merged& merged)
{
    const size_t entries = table.entries + table.direct;
    const bool assigned = is_assigned(map.kind);
    // Of several entries with one key that was assigned, the one that a stub finds first counts.
    std::map<std::vector<Datum>, size_t> steps;
    for (size_t i = 0; i < entries; ++i) {
        const size_t at = i * table.entry_size;
        Entry entry;
        if (table.entries == 1) {
            if (assigned && bytes.word(at) == 0)
                continue;
        } else if (table.direct) {
            const uint64_t first = bytes.word(at);
            if (first == 0)
                continue;
            entry.keys.push_back({i < table.entries ? int64_t(first) : 0, {}});
        } else {
            if ((bytes.word(at) & uint64_t(tag_there)) != uint64_t(tag_there))
                continue;
            size_t offset = at + table.keys;
            for (size_t key = 0; key < map.keys.size(); offset += table.key_size[key++]) {
                Datum datum;
                if (map.keys[key] == Type::string)
                    datum.text = bytes.text(offset);
                else
                    datum.number = int64_t(bytes.word(offset));
                entry.keys.push_back(std::move(datum));
            }
        }
        if (!decode(map, bytes, at + table.value, entry))
            continue;
        if (assigned && table.entries > 1) {
            std::vector<uint64_t> words;
            for (size_t offset = 0; offset < table.key_bytes(); offset += 8)
                words.push_back(bytes.word(at + table.keys + offset));
            const size_t step = (i - first_entry(words, table.entries)) & (table.entries - 1);
            const auto [nearest, fresh] = steps.try_emplace(entry.keys, step);
            if (!fresh && nearest->second < step)
                continue;
            nearest->second = step;
            merged.insert_or_assign(entry.keys, entry);
        } else if (const auto [found, fresh] = merged.try_emplace(entry.keys, entry); !fresh) {
            add(map, found->second, entry);
        }
    }
}

} // namespace

Maps read_tables(const Script& script, const Tables& tables, const ReadData& read)
{
    const auto fetch = [&](size_t offset, size_t size) { return Bytes(read(offset, size), size); };
    Maps maps;
    const Bytes header = fetch(0, Tables::owners + 8 * most_threads);
    maps.dropped = header.word(Tables::dropped);
    maps.unread = header.word(Tables::unread);
    std::vector<Merged> merged(script.maps.size());
    const auto table_size = [](const Table& table) { return table.entry_size * (table.entries + table.direct); };
    for (size_t i = 0; i < merged.size(); ++i) {
        const Table& table = tables.maps[i];
        if (table.shared)
            read_table(script.maps[i], table, fetch(table.offset, table_size(table)), merged[i]);
    }
    const auto read_slot = [&](size_t i, size_t slot) {
        const Table& table = tables.maps[i];
        if (table.own) {
            const Bytes own = fetch(slot + *table.own, 16);
            Entry entry;
            entry.keys = {{int64_t(own.word(0)), {}}};
            entry.value.number = int64_t(own.word(8));
            if (own.word(0) != 0)
                merged[i].insert_or_assign(entry.keys, entry);
        }
        read_table(script.maps[i], table, fetch(slot + table.offset, table_size(table)), merged[i]);
    };
    for (size_t slot = 0; slot < most_threads; ++slot) {
        if (header.word(Tables::owners + 8 * slot) == 0)
            continue;
        ++maps.threads;
        for (size_t i = 0; i < merged.size(); ++i) {
            if (!tables.maps[i].shared)
                read_slot(i, tables.slots + slot * tables.slot_size);
        }
    }
    for (Merged& map : merged) {
        auto& entries = maps.maps.emplace_back();
        for (auto& [keys, entry] : map)
            entries.push_back(std::move(entry));
    }
    return maps;
}

bool is_subtracted(const Script& script, const Tables& tables, size_t map)
{
    const Table& table = tables.maps[map];
    return !is_assigned(script.maps[map].kind) && (table.entries == 1 || table.direct);
}

void clear_table(const Script& script, const Tables& tables, size_t map, const ReadData& read, const ChangeData& change)
{
    const Table& table = tables.maps[map];
    const MapKind kind = script.maps[map].kind;
    const bool subtracted = is_subtracted(script, tables, map);
    if (subtracted && kind != MapKind::min && kind != MapKind::max)
        return;
    const auto clear_at = [&](size_t base) { // of a slot, or of the data
        const size_t entries = table.entries + table.direct, size = table.entry_size * entries;
        const Bytes bytes(read(base + table.offset, size), size);
        const auto set = [&](size_t at, uint64_t from, uint64_t to) {
            if (from != to)
                change(base + table.offset + at, from, to);
        };
        for (size_t i = 0; i < entries; ++i) {
            const size_t at = i * table.entry_size;
            const uint64_t first = bytes.word(at);
            if (subtracted) {
                // A thread may raise it meanwhile: by a hit of this moment.
                set(at + table.value + 8, bytes.word(at + table.value + 8), 0);
            } else if (table.entries == 1) {
                set(at, first, 0);
            } else if ((first & uint64_t(tag_there)) == uint64_t(tag_there)) {
                set(at, first, first - uint64_t(tag_there - tag_deleted));
            }
        }
        if (table.own) {
            const uint64_t tid = Bytes(read(base + *table.own, 8), 8).word(0);
            if (tid != 0)
                change(base + *table.own, tid, 0);
        }
    };
    if (table.shared)
        return clear_at(0);
    const size_t owners_size = 8 * most_threads;
    const Bytes owners(read(Tables::owners, owners_size), owners_size);
    for (size_t slot = 0; slot < most_threads; ++slot)
        if (owners.word(8 * slot) != 0)
            clear_at(tables.slots + slot * tables.slot_size);
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
        case MapKind::max: entry.count -= was.count; return entry.count == 0 && entry.number == number_of(0, what);
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
