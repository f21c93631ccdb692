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

// What is read at once, so that it stays in the processor's cache.
constexpr size_t most_at_once = size_t(32) << 10;

uint64_t ring_word(std::span<const std::byte> bytes, size_t offset)
{
    return load(&bytes[offset], 8, false);
}

} // namespace

EventReader::EventReader(const Script& script, const Tables& tables, pid_t process, RecordSink* sink)
    : tables_(tables), process_(process), sink_(sink), kinds_(script.statements)
{
    each_site_statement(script, [this](const Statement& statement) {
        if (statement.is_event())
            kinds_[statement.number] = {&statement, record_size(statement)};
    });
}

void EventReader::read(Window window, const ReadData& read, const ChangeData& change, bool last, std::vector<Event>& to)
{
    if (!tables_.ring || window.size == 0)
        return;
    if (sink_)
        sink_->begin_of_read(process_);
    for (const size_t block : blocks_of(tables_, window, read))
        if (const uint64_t address = word_at(read, block + *tables_.ring))
            if (const auto ring = place_in_heap(tables_, window, address, 0, tables_.ring_bytes()))
                tables_.overwrites ? read_newest(*ring, read, change, to) : read_ring(*ring, read, change, last, to);
    if (sink_)
        sink_->end_of_read(process_);
}

// Bytes of the record at the start of these bytes; 0: none is complete there.
size_t EventReader::size_at(std::span<const std::byte> record, uint64_t position, uint64_t head) const
{
    if (record.size() < Ring::values)
        return 0;
    const uint64_t commit = ring_word(record, Ring::commit), number = commit >> 32;
    if (uint32_t(commit) != Ring::committed(position) || number >= kinds_.size() || !kinds_[number].statement)
        return 0;
    const size_t size = kinds_[number].size;
    return size <= head - position && size <= record.size() ? size : 0;
}

void EventReader::decode(size_t ring, std::span<const std::byte> record, std::vector<Event>& to) const
{
    const auto [statement, size] = kinds_[ring_word(record, Ring::commit) >> 32];
    if (sink_ && sink_->take(process_, *statement, record.first(size)))
        return;
    Event& event = to.emplace_back();
    event.clock = ring_word(record, Ring::clock);
    event.statement = statement;
    event.process = process_;
    event.ring = ring;
    event.values = values_of(*statement, record.subspan(Ring::values));
}

void EventReader::read_ring(size_t ring, const ReadData& read, const ChangeData& change, bool last,
                            std::vector<Event>& to)
{
    const auto header = read(ring, Ring::header);
    if (header.size() < Ring::header)
        return;
    const uint64_t head = ring_word(header, Ring::head), lost = ring_word(header, Ring::lost);
    uint64_t limit = ring_word(header, Ring::limit);
    auto [found, fresh] = places_.try_emplace(ring);
    Place& place = found->second;
    if (fresh)
        place.position = limit - tables_.ring_size;
    const uint64_t lost_before = lost_;
    lost_ += std::max(lost, place.lost) - place.lost;
    place.lost = std::max(lost, place.lost);
    if (head - place.position > tables_.ring_size || (head | place.position) % 8 != 0) { // the process wrote this
        place.position = head / 8 * 8;
        return;
    }
    const auto make_room = [&] {
        if (place.position + tables_.ring_size != limit)
            change(ring + Ring::limit, limit, place.position + tables_.ring_size);
        limit = place.position + tables_.ring_size;
    };
    std::vector<size_t> sizes;
    while (place.position != head) {
        make_room();
        const size_t at = size_t(place.position % tables_.ring_size);
        const size_t records = std::min<size_t>({head - place.position, tables_.ring_size - at, most_at_once});
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
        sizes.clear();
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
            if (ring_word(now, offset + Ring::commit)
                != ring_word(seen, offset + Ring::commit)) // the process wrote this
                break;
            decode(ring, std::span(now).subspan(offset), to);
            offset += size;
        }
        place.position += complete;
        if (complete >= records)
            continue;
        if (place.hole != place.position) {
            place.hole = place.position;
            place.since = Clock::now();
            place.counted = false;
        }
        size_t next = complete + 8;
        while (next < records && size_at(seen.subspan(next), place.position - complete + next, head) == 0)
            next += 8;
        // A hole may reach to where the next piece begins.
        const bool is_next = next < records || head - place.position > records - complete;
        next = std::min(next, records);
        if (!last && (!is_next || Clock::now() - place.since < longest_interruption))
            break;
        lost_ += is_next && !place.counted; // without a next one: it ended in the stub
        place.position += next - complete;
        if (next == records) { // the hole goes on
            place.hole = place.position;
            place.counted = true;
        }
    }
    make_room();
    if (sink_)
        sink_->end_of_ring(process_, ring, lost_ - lost_before, false);
}

// Threads go on and overwrite what is read here. They move `head` on before they write, so whatever `head` has not passed by a whole ring
// after a piece was read, is as it was recorded.
void EventReader::read_newest(size_t ring, const ReadData& read, const ChangeData& change, std::vector<Event>& to)
{
    const size_t size = tables_.ring_size;
    const auto head_now = [&] { return word_at(read, ring + Ring::head) / 8 * 8; };
    const auto oldest = [&](uint64_t head) { return head > size ? head - size : 0; };
    const uint64_t head = head_now();
    Place& place = places_[ring];
    if (place.position > head) // the process wrote this
        place.position = head;
    const bool overwritten = oldest(head) > place.position;
    overwritten_ = overwritten_ || overwritten;
    uint64_t complete = place.position = std::max(place.position, oldest(head)); // behind the last record that is
    while (place.position < head) {
        const size_t at = size_t(place.position % size);
        const size_t records = std::min<size_t>({head - place.position, size - at, most_at_once});
        const auto fetch = [&] {
            auto bytes = read(ring + Ring::header + at,
                              std::min(records + tables_.most_record, size + tables_.most_record - at));
            bytes.resize(records + tables_.most_record);
            std::atomic_thread_fence(std::memory_order_acquire);
            return bytes;
        };
        const auto before = fetch(), now = fetch(); // as in read_ring()
        const uint64_t intact = oldest(head_now());
        size_t offset = 0;
        while (offset < records) {
            const uint64_t position = place.position + offset;
            const std::span record = std::span<const std::byte>(now).subspan(offset);
            size_t length = position < intact ? 0 : size_at(std::span(before).subspan(offset), position, head);
            if (length != 0 && length == size_at(record, position, head)) {
                decode(ring, record, to);
                complete = position + length;
            } else {
                length = 8;
            }
            overwritten_ = overwritten_ || position < intact;
            offset += length;
        }
        place.position += offset;
    }
    place.position = std::max(complete, oldest(head)); // what is not complete yet is looked at again
    change(ring + Ring::limit, 0, Ring::no_limit);     // after a dump()
    const uint64_t lost = word_at(read, ring + Ring::lost);
    between_ += std::max(lost, place.lost) - place.lost;
    place.lost = std::max(lost, place.lost);
    if (sink_)
        sink_->end_of_ring(process_, ring, 0, overwritten);
}

} // namespace fastsdt::engine
