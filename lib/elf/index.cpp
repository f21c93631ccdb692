// SPDX-License-Identifier: BSD-2-Clause
#include "base/unusable.h"
#include "base/integers.h"
#include "elf/index.h"

#include <fastsdt/note.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <map>
#include <stdexcept>

namespace fastsdt {
namespace {

void append_number(std::vector<std::byte>& to, uint64_t value, size_t size, bool big_endian)
{
    to.resize(to.size() + size);
    store(to.data() + to.size() - size, size, value, big_endian);
}

// An index's kind row is a record's descriptor without the address, with the type in the version's place.
constexpr size_t fixed_size = 8;
// version, offset size, number size, kind size, header size, record count, kind count; then the base address
constexpr size_t header_words = 16;

Record decode_fixed(const std::byte* from, uint8_t type, Encoding encoding)
{
    Record record;
    record.type = type;
    record.layout = std::to_integer<uint8_t>(from[1]);
    record.patch_offset = std::to_integer<uint8_t>(from[2]);
    record.patch_length = std::to_integer<uint8_t>(from[3]);
    record.bound = std::to_integer<uint8_t>(from[4]);
    (type == FASTSDT_NOTE_EXIT ? record.result : record.lead) = std::to_integer<uint8_t>(from[5]);
    record.flags = uint16_t(load(from + 6, 2, encoding.big_endian));
    return record;
}

void append_fixed(std::vector<std::byte>& to, uint8_t first, const Record& record, Encoding encoding)
{
    const uint8_t fifth = record.type == FASTSDT_NOTE_EXIT ? record.result : record.lead;
    for (uint8_t byte : {first, record.layout, record.patch_offset, record.patch_length, record.bound, fifth})
        to.push_back(std::byte(byte));
    append_number(to, record.flags, 2, encoding.big_endian);
}

uint64_t load_operand(const std::byte* from, uint8_t type, Encoding encoding)
{
    const uint64_t value = load(from, encoding.address_size(), encoding.big_endian);
    // All ones in a file of class 32 means the same as in one of class 64.
    if (type == FASTSDT_NOTE_ENTRY && !encoding.elf64 && value == std::numeric_limits<uint32_t>::max())
        return unknown_bytes;
    return value;
}

} // namespace

std::string_view result_name(uint8_t result)
{
    switch (result) {
    case FASTSDT_RESULT_NONE: return "none";
    case FASTSDT_RESULT_REGISTER: return "register";
    case FASTSDT_RESULT_PAIR: return "pair";
    case FASTSDT_RESULT_VECTOR: return "vector";
    case FASTSDT_RESULT_MEMORY: return "memory";
    default: return "other";
    }
}

bool is_record(uint32_t type)
{
    return type == FASTSDT_NOTE_SITE || type == FASTSDT_NOTE_ENTRY || type == FASTSDT_NOTE_EXIT;
}

std::optional<Record> decode_record(uint32_t type, std::span<const std::byte> descriptor, Encoding encoding)
{
    const size_t address_size = encoding.address_size();
    if (!is_record(type) || descriptor.size() < fixed_size + 2 * address_size
        || descriptor[0] != std::byte(FASTSDT_NOTE_VERSION))
        return {};
    Record record = decode_fixed(descriptor.data(), uint8_t(type), encoding);
    record.address = load(&descriptor[fixed_size], address_size, encoding.big_endian);
    record.operand = load_operand(&descriptor[fixed_size + address_size], record.type, encoding);
    return record;
}

std::vector<std::byte> encode_record(const Record& record, Encoding encoding)
{
    std::vector<std::byte> descriptor;
    append_fixed(descriptor, FASTSDT_NOTE_VERSION, record, encoding);
    append_number(descriptor, record.address, encoding.address_size(), encoding.big_endian);
    append_number(descriptor, record.operand, encoding.address_size(), encoding.big_endian);
    return descriptor;
}

Result<Index> Index::open(std::span<const std::byte> descriptor, Encoding encoding)
{
    const auto fail = [](const char* why) { return Error{why, "INDEX note"}; };
    const size_t address_size = encoding.address_size();
    const size_t least_header = header_words + address_size;
    if (descriptor.size() < least_header)
        return fail("shorter than its header");
    if (descriptor[0] != std::byte(FASTSDT_NOTE_VERSION))
        return fail("a version this reader does not know");

    Index index;
    index.encoding_ = encoding;
    index.offset_size_ = std::to_integer<size_t>(descriptor[1]);
    index.number_size_ = std::to_integer<size_t>(descriptor[2]);
    index.kind_size_ = std::to_integer<size_t>(descriptor[3]);
    const uint64_t header_size = load(&descriptor[4], 4, encoding.big_endian);
    const uint64_t count = load(&descriptor[8], 4, encoding.big_endian);
    const uint64_t kind_count = load(&descriptor[12], 4, encoding.big_endian);
    index.base_ = load(&descriptor[16], address_size, encoding.big_endian);

    if (index.offset_size_ != 4 && index.offset_size_ != 8)
        return fail("offsets are neither 4 nor 8 bytes");
    if (index.number_size_ != 1 && index.number_size_ != 2 && index.number_size_ != 4)
        return fail("kind numbers are not 1, 2 or 4 bytes");
    if (index.kind_size_ < fixed_size + address_size)
        return fail("kinds are shorter than this version's");
    if (header_size < least_header || header_size > descriptor.size())
        return fail("the header's size is wrong");
    const uint64_t exit_count =
        header_size >= least_header + 4 ? load(&descriptor[least_header], 4, encoding.big_endian) : 0;
    // 32-bit counts times widths below 256: no overflow in 64 bits.
    const uint64_t kinds = kind_count * index.kind_size_;
    const uint64_t records = count * (index.offset_size_ + index.number_size_);
    const uint64_t exits = exit_count * (2 * index.offset_size_ + index.number_size_);
    if (header_size + kinds + records + exits > descriptor.size())
        return fail("the tables run over its end");

    index.kind_count_ = kind_count;
    descriptor = descriptor.subspan(header_size);
    const auto next = [&](uint64_t size) {
        const auto table = descriptor.first(size);
        descriptor = descriptor.subspan(size);
        return table;
    };
    index.kinds_ = next(kinds);
    index.records_.count = count;
    index.records_.offsets = next(count * index.offset_size_);
    index.records_.numbers = next(count * index.number_size_);
    index.exits_.count = exit_count;
    index.exits_.offsets = next(exit_count * index.offset_size_);
    index.exits_.functions = next(exit_count * index.offset_size_);
    index.exits_.numbers = next(exit_count * index.number_size_);
    return index;
}

uint64_t Index::address_at(std::span<const std::byte> offsets, size_t i) const
{
    const std::byte* from = offsets.data() + i * offset_size_;
    // The one load that the bisection repeats: a machine instruction instead of a loop over bytes.
    uint64_t offset = 0;
    if (encoding_.big_endian || std::endian::native != std::endian::little)
        offset = load(from, offset_size_, encoding_.big_endian);
    else if (offset_size_ == 4)
        memcpy(&offset, from, 4);
    else
        memcpy(&offset, from, 8);
    return encoding_.elf64 ? base_ + offset : uint32_t(base_ + offset);
}

std::optional<Record> Index::at(size_t i) const
{
    return i < records_.count ? at(records_, i) : at(exits_, i - records_.count);
}

std::optional<Record> Index::at(const Table& table, size_t i) const
{
    if (i >= table.count)
        return {};
    const uint64_t number = load(table.numbers.data() + i * number_size_, number_size_, encoding_.big_endian);
    if (number >= kind_count_)
        return {};
    const std::byte* kind = kinds_.data() + number * kind_size_;
    const auto type = std::to_integer<uint8_t>(kind[0]);
    if (!is_record(type) || (type == FASTSDT_NOTE_EXIT) != (&table == &exits_))
        return {};
    Record record = decode_fixed(kind, type, encoding_);
    record.address = address_at(table.offsets, i);
    record.operand =
        type == FASTSDT_NOTE_EXIT ? address_at(table.functions, i) : load_operand(kind + fixed_size, type, encoding_);
    return record;
}

size_t Index::lower_bound(const Table& table, uint64_t address) const
{
    // Without a branch on the comparison, which a random address would mispredict in every second step.
    size_t first = 0;
    for (size_t count = table.count; count > 0;) {
        const size_t half = (count + 1) / 2;
        first += address_at(table.offsets, first + half - 1) < address ? half : 0;
        count -= half;
    }
    return first;
}

std::vector<Record> Index::find(uint64_t address) const
{
    std::vector<Record> found;
    for (const Table* table : {&records_, &exits_})
        for (size_t i = lower_bound(*table, address); i < table->count && address_at(table->offsets, i) == address; ++i)
            if (const auto record = at(*table, i))
                found.push_back(*record);
    return found;
}

Result<void> Index::check() const
{
    for (const Table* table : {&records_, &exits_}) {
        const std::string what = table == &records_ ? "record " : "exit ";
        for (size_t i = 0; i < table->count; ++i) {
            if (!at(*table, i))
                return Error{what + std::to_string(i) + " has no valid kind", "INDEX note"};
            if (i > 0 && address_at(table->offsets, i) < address_at(table->offsets, i - 1))
                return Error{what + std::to_string(i) + " is not in order of address", "INDEX note"};
        }
    }
    return {};
}

std::vector<std::byte> encode_index(std::vector<Record> records, Encoding encoding)
{
    std::sort(records.begin(), records.end());
    records.erase(std::unique(records.begin(), records.end()), records.end());

    // Exits come last, each by address.
    const auto exits = std::stable_partition(records.begin(), records.end(),
                                             [](const Record& r) { return r.type != FASTSDT_NOTE_EXIT; });
    const auto exit_count = size_t(records.end() - exits);

    // Kinds are numbered in their own order, so that the same records give the same bytes.
    std::map<Record, size_t> kinds;
    const auto kind_of = [](Record record) {
        record.address = 0;
        if (record.type == FASTSDT_NOTE_EXIT)
            record.operand = 0; // in a table
        return record;
    };
    for (const Record& record : records)
        kinds.emplace(kind_of(record), 0);
    size_t number = 0;
    for (auto& kind : kinds)
        kind.second = number++;

    const size_t address_size = encoding.address_size();
    const size_t kind_size = fixed_size + address_size;
    const size_t header_size = header_words + address_size + (exit_count ? 4 : 0);
    uint64_t base = std::numeric_limits<uint64_t>::max(), last = 0;
    for (const Record& record : records)
        for (uint64_t address : {record.address, record.type == FASTSDT_NOTE_EXIT ? record.operand : record.address}) {
            base = std::min(base, address);
            last = std::max(last, address);
        }
    if (records.empty())
        base = 0;
    const bool wide = last - base > std::numeric_limits<uint32_t>::max();
    const size_t offset_size = wide ? 8 : 4;
    const size_t number_size = kinds.size() <= 0x100 ? 1 : kinds.size() <= 0x10000 ? 2 : 4;
    const uint64_t total = header_size + uint64_t(kinds.size()) * kind_size
        + uint64_t(records.size()) * (offset_size + number_size) + uint64_t(exit_count) * offset_size;
    if (total > std::numeric_limits<uint32_t>::max())
        throw Unusable("more records than one INDEX note can hold");

    const bool big = encoding.big_endian;
    std::vector<std::byte> descriptor;
    descriptor.reserve(total);
    for (size_t byte : {size_t(FASTSDT_NOTE_VERSION), offset_size, number_size, kind_size})
        descriptor.push_back(std::byte(byte));
    append_number(descriptor, header_size, 4, big);
    append_number(descriptor, records.size() - exit_count, 4, big);
    append_number(descriptor, kinds.size(), 4, big);
    append_number(descriptor, base, address_size, big);
    if (exit_count)
        append_number(descriptor, exit_count, 4, big);
    for (const auto& [kind, unused] : kinds) {
        append_fixed(descriptor, kind.type, kind, encoding);
        append_number(descriptor, kind.operand, address_size, big);
    }
    const auto tables = [&](std::span<const Record> part) {
        for (const Record& record : part)
            append_number(descriptor, record.address - base, offset_size, big);
        for (const Record& record : part)
            if (record.type == FASTSDT_NOTE_EXIT)
                append_number(descriptor, record.operand - base, offset_size, big);
        for (const Record& record : part)
            append_number(descriptor, kinds.at(kind_of(record)), number_size, big);
    };
    tables(std::span(records).first(records.size() - exit_count));
    tables(std::span(records).last(exit_count));
    return descriptor;
}

} // namespace fastsdt
