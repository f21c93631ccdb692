// SPDX-License-Identifier: BSD-2-Clause
#include "maps/events.h"

#include "base/integers.h"

#include <algorithm>
#include <atomic>

namespace fastsdt::engine {
namespace {

// A signal handler may take so long until the hit that it interrupted completes its record. If it left by longjmp, that never
// happens.
constexpr auto longest_interruption = std::chrono::seconds(1);

uint64_t word(std::span<const std::byte> bytes, size_t offset)
{
    return load(&bytes[offset], 8, false);
}

} // namespace

EventReader::EventReader(const Script& script, const Tables& tables) : tables_(tables), statements_(script.statements)
{
    for (const Clause& clause : script.clauses)
        if (clause.has_sites())
            each_statement(clause.actions, [this](const Statement& statement) {
                if (statement.is_event())
                    statements_[statement.number] = &statement;
            });
}

void EventReader::read(Window window, const ReadData& read, const ChangeData& change, bool last, std::vector<Event>& to)
{
    if (!tables_.ring || window.size == 0)
        return;
    for (const size_t block : blocks_of(tables_, window, read))
        if (const uint64_t address = word_at(read, block + *tables_.ring))
            if (const auto ring = place_in_heap(tables_, window, address, 0, tables_.ring_bytes()))
                read_ring(*ring, read, change, last, to);
}

// Bytes of the record at the start of these bytes; 0: none is complete there.
size_t EventReader::size_at(std::span<const std::byte> record, uint64_t position, uint64_t head) const
{
    if (record.size() < Ring::values)
        return 0;
    const uint64_t commit = word(record, Ring::commit), number = commit >> 32;
    if (uint32_t(commit) != Ring::committed(position) || number >= statements_.size() || !statements_[number])
        return 0;
    const size_t size = record_size(*statements_[number]);
    return size <= head - position && size <= record.size() ? size : 0;
}

void EventReader::decode(std::span<const std::byte> record, std::vector<Event>& to) const
{
    Event& event = to.emplace_back();
    event.clock = word(record, Ring::clock);
    event.statement = statements_[word(record, Ring::commit) >> 32];
    size_t offset = Ring::values;
    for (const Expression& value : event.statement->values) {
        Datum& datum = event.values.emplace_back();
        if (value.type != Type::string) {
            datum.number = int64_t(word(record, offset));
            offset += 8;
            continue;
        }
        for (size_t i = 0; i + 1 < string_size && record[offset + i] != std::byte(0); ++i)
            datum.text += char(record[offset + i]);
        offset += string_size;
    }
}

void EventReader::read_ring(size_t ring, const ReadData& read, const ChangeData& change, bool last,
                            std::vector<Event>& to)
{
    const auto header = read(ring, Ring::header);
    if (header.size() < Ring::header)
        return;
    const uint64_t head = word(header, Ring::head), limit = word(header, Ring::limit), lost = word(header, Ring::lost);
    auto [found, fresh] = places_.try_emplace(ring);
    Place& place = found->second;
    if (fresh)
        place.position = limit - tables_.ring_size;
    lost_ += std::max(lost, place.lost) - place.lost;
    place.lost = std::max(lost, place.lost);
    if (head - place.position > tables_.ring_size || (head | place.position) % 8 != 0) { // the process wrote this
        place.position = head / 8 * 8;
        return;
    }
    while (place.position != head) {
        const size_t at = size_t(place.position % tables_.ring_size);
        const size_t records = std::min<size_t>(head - place.position, tables_.ring_size - at);
        const auto fetch = [&] {
            auto bytes = read(ring + Ring::header + at,
                              std::min(records + tables_.most_record, tables_.ring_size + tables_.most_record - at));
            bytes.resize(records + tables_.most_record);
            return bytes;
        };
        // What is complete is read once more behind that: its values were there before its first word was.
        const auto before = fetch();
        const std::span<const std::byte> seen(before);
        size_t complete = 0;
        std::vector<size_t> sizes;
        while (complete < records) {
            const size_t size = size_at(seen.subspan(complete), place.position + complete, head);
            if (size == 0)
                break;
            sizes.push_back(size);
            complete += size;
        }
        std::atomic_thread_fence(std::memory_order_acquire);
        const auto now = fetch();
        size_t offset = 0;
        for (const size_t size : sizes) {
            if (size_at(std::span(now).subspan(offset), place.position + offset, head)
                != size) // the process wrote this
                break;
            decode(std::span(now).subspan(offset), to);
            offset += size;
        }
        place.position += complete;
        if (complete >= records)
            continue;
        if (place.hole != place.position) {
            place.hole = place.position;
            place.since = Clock::now();
        }
        size_t next = complete + 8;
        while (next < records && size_at(seen.subspan(next), place.position - complete + next, head) == 0)
            next += 8;
        const bool is_next = next < records;
        if (!last && (!is_next || Clock::now() - place.since < longest_interruption))
            break;
        ++lost_;
        place.position += next - complete;
    }
    if (place.position + tables_.ring_size != limit)
        change(ring + Ring::limit, limit, place.position + tables_.ring_size);
}

} // namespace fastsdt::engine
