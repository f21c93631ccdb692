// SPDX-License-Identifier: BSD-2-Clause
#include "mutate.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace {

constexpr size_t largest = 200'000;

struct Field {
    size_t offset, width;
};

/// Rows of a table of headers, cut off where the file ends.
struct Table {
    size_t offset = 0, row = 0, rows = 0;
    const std::vector<Field>* fields = nullptr; // of a row
    size_t at(size_t i) const { return offset + i * row; }
};

const std::vector<Field> header64{{16, 2}, {18, 2}, {20, 4}, {24, 8}, {32, 8}, {40, 8}, {48, 4},
                                  {52, 2}, {54, 2}, {56, 2}, {58, 2}, {60, 2}, {62, 2}},
    header32{{16, 2}, {18, 2}, {20, 4}, {24, 4}, {28, 4}, {32, 4}, {36, 4},
             {40, 2}, {42, 2}, {44, 2}, {46, 2}, {48, 2}, {50, 2}},
    segment64{{0, 4}, {4, 4}, {8, 8}, {16, 8}, {24, 8}, {32, 8}, {40, 8}, {48, 8}},
    segment32{{0, 4}, {4, 4}, {8, 4}, {12, 4}, {16, 4}, {20, 4}, {24, 4}, {28, 4}},
    section64{{0, 4}, {4, 4}, {8, 8}, {16, 8}, {24, 8}, {32, 8}, {40, 4}, {44, 4}, {48, 8}, {56, 8}},
    section32{{0, 4}, {4, 4}, {8, 4}, {12, 4}, {16, 4}, {20, 4}, {24, 4}, {28, 4}, {32, 4}, {36, 4}};

/// An ELF file somewhere in the bytes, whatever is wrong with it.
class View {
public:
    View(Bytes& bytes, size_t base) : bytes_(bytes), base_(base)
    {
        is64_ = byte(EI_CLASS) != ELFCLASS32;
        big_ = byte(EI_DATA) == ELFDATA2MSB;
        segments = table(is64_ ? 32 : 28, is64_ ? 56 : 44, is64_ ? 56 : 32, is64_ ? &segment64 : &segment32);
        sections = table(is64_ ? 40 : 32, is64_ ? 60 : 48, is64_ ? 64 : 40, is64_ ? &section64 : &section32);
    }

    uint64_t get(Field field) const
    {
        uint64_t value = 0;
        for (size_t i = 0; i < field.width; ++i)
            if (const size_t at = field.offset + (big_ ? field.width - 1 - i : i); at < bytes_.size())
                value |= uint64_t(bytes_[at]) << 8 * i;
        return value;
    }
    void set(Field field, uint64_t value)
    {
        if (field.offset + field.width > bytes_.size())
            return;
        for (size_t i = 0; i < field.width; ++i)
            bytes_[field.offset + (big_ ? field.width - 1 - i : i)] = uint8_t(value >> 8 * i);
    }
    static Field in(const Table& table, size_t row, size_t field)
    {
        return {table.at(row) + (*table.fields)[field].offset, (*table.fields)[field].width};
    }
    uint64_t section_type(size_t row) const { return get(in(sections, row, 1)); }
    Field section_offset(size_t row) const { return in(sections, row, 4); }
    Field section_size(size_t row) const { return in(sections, row, 5); }
    /// What there is of it in the file.
    std::pair<size_t, size_t> contents(size_t row) const
    {
        const uint64_t offset = std::min<uint64_t>(base_ + get(section_offset(row)), bytes_.size());
        return {offset, std::min<uint64_t>(get(section_size(row)), bytes_.size() - offset)};
    }
    Field header(size_t field) const
    {
        const Field f = (is64_ ? header64 : header32)[field];
        return {base_ + f.offset, f.width};
    }
    Field table_offset() const { return header(5); }
    Field table_rows() const { return header(11); }
    size_t address_size() const { return is64_ ? 8 : 4; }
    size_t base() const { return base_; }

    /// Sizes and type of each note, the numbers in it, and its names.
    std::vector<Field> notes(size_t row) const
    {
        std::vector<Field> fields;
        auto [at, size] = contents(row);
        const size_t end = at + size;
        for (int left = 200; at + 12 <= end && left > 0; --left) {
            const size_t owner = get({at, 4}), description = get({at + 4, 4});
            for (const size_t word : {0, 4, 8})
                fields.push_back({at + word, 4});
            if (owner > end - at || description > end - at)
                break;
            const size_t from = at + 12 + (owner + 3) / 4 * 4, to = from + (description + 3) / 4 * 4;
            for (size_t word = from; word + 8 <= std::min(to, end) && word < from + 64; word += address_size())
                fields.push_back({word, address_size()});
            for (size_t byte = from; byte < std::min({from + 24, to, end}); ++byte)
                fields.push_back({byte, 1});
            fields.push_back({at + 12, 1});
            at = to;
        }
        return fields;
    }

    Table segments, sections;

private:
    uint8_t byte(size_t i) const { return base_ + i < bytes_.size() ? bytes_[base_ + i] : 0; }
    Table table(size_t where, size_t how_many, size_t row, const std::vector<Field>* fields) const
    {
        const uint64_t offset = get({base_ + where, address_size()}), rows = get({base_ + how_many, 2});
        if (offset > bytes_.size() - base_)
            return {};
        return {base_ + offset, row, std::min<size_t>(rows, (bytes_.size() - base_ - offset) / row), fields};
    }

    Bytes& bytes_;
    const size_t base_;
    bool is64_, big_;
};

std::vector<size_t> elf_files(const Bytes& bytes)
{
    std::vector<size_t> found;
    for (auto at = bytes.begin();; ++at) {
        static constexpr uint8_t magic[] = {0x7f, 'E', 'L', 'F'};
        at = std::search(at, bytes.end(), magic, magic + 4);
        if (at == bytes.end() || found.size() == 20)
            return found;
        found.push_back(size_t(at - bytes.begin()));
    }
}

uint64_t value_for(const View& elf, Field field, size_t size, Random& random)
{
    const uint64_t now = elf.get(field);
    switch (random.below(9)) {
    case 0: return random.below(3);
    case 1: return ~uint64_t(random.below(9));
    case 2: return now + 1 + random.below(8);
    case 3: return now - 1 - random.below(8);
    case 4: return uint64_t(1) << random.below(64);
    case 5: return (uint64_t(1) << random.below(64)) - 1;
    case 6: return size - elf.base() + random.below(9) - 4;
    case 7: return now ^ uint64_t(1) << random.below(8 * field.width);
    default: return random.below(size);
    }
}

void change_number(View& elf, Bytes& bytes, Random& random)
{
    Field field{random.below(bytes.size()), 1};
    const size_t kind = random.below(20);
    const Table& table = kind < 7 ? elf.segments : elf.sections;
    if (kind < 3) {
        field = elf.header(random.below(13));
    } else if (kind < 13 && table.rows > 0) {
        const size_t column = random.below(table.fields->size());
        field = View::in(table, random.below(table.rows), column);
        if (random.one_in(3)) { // what another row has there
            elf.set(field, elf.get(View::in(table, random.below(table.rows), column)));
            return;
        }
    } else if (kind < 19 && elf.sections.rows > 0) {
        // In a section: in its notes, or a number of symbols, relocations and the like.
        size_t row = random.below(elf.sections.rows);
        for (int i = 0; i < 4 && elf.section_type(row) != SHT_NOTE; ++i)
            row = random.below(elf.sections.rows);
        const std::vector<Field> notes = elf.section_type(row) == SHT_NOTE ? elf.notes(row) : std::vector<Field>{};
        if (!notes.empty()) {
            field = notes[random.below(notes.size())];
        } else if (const auto [offset, size] = elf.contents(row); size > 0) {
            const size_t width = size_t(1) << random.below(4);
            field = {offset + random.below(size) / width * width, width};
        }
    }
    elf.set(field, value_for(elf, field, bytes.size(), random));
}

void move_rows(const View& elf, Bytes& bytes, Random& random)
{
    const Table& table = random.one_in(3) ? elf.segments : elf.sections;
    if (table.rows < 2)
        return;
    uint8_t* a = bytes.data() + table.at(random.below(table.rows));
    uint8_t* b = bytes.data() + table.at(random.below(table.rows));
    if (random.one_in(2))
        std::swap_ranges(a, a + table.row, b);
    else
        std::memmove(a, b, table.row);
}

/// The contents of a section many times, behind the file.
void repeat_contents(View& elf, Bytes& bytes, Random& random)
{
    if (elf.sections.rows == 0)
        return;
    const size_t row = random.below(elf.sections.rows);
    const auto [offset, size] = elf.contents(row);
    if (size == 0 || bytes.size() >= largest)
        return;
    const size_t most = random.one_in(4) ? largest - bytes.size() : std::min<size_t>(4000, largest - bytes.size());
    const size_t times = std::min<size_t>(most / size, 1 + random.below(2000));
    bytes.resize((bytes.size() + 7) / 8 * 8);
    const size_t to = bytes.size();
    bytes.resize(to + times * size);
    for (size_t i = 0; i < times; ++i)
        std::memcpy(bytes.data() + to + i * size, bytes.data() + offset, size);
    elf.set(elf.section_offset(row), to - elf.base());
    elf.set(elf.section_size(row), times * size);
}

/// The table of sections with one of them many times, behind the file.
void repeat_section(View& elf, Bytes& bytes, Random& random)
{
    const Table& table = elf.sections;
    if (table.rows == 0)
        return;
    const size_t most =
        bytes.size() + (table.rows + 1) * table.row >= largest ? 0 : (largest - bytes.size()) / table.row - table.rows;
    const size_t times = std::min<size_t>(most, 1 + random.below(random.one_in(4) ? 2000 : 20));
    Bytes rows(bytes.begin() + long(table.offset), bytes.begin() + long(table.at(table.rows)));
    const size_t one = table.row * random.below(table.rows);
    for (size_t i = 0; i < times; ++i)
        for (size_t k = 0; k < table.row; ++k)
            rows.push_back(rows[one + k]);
    bytes.resize((bytes.size() + 7) / 8 * 8);
    elf.set(elf.table_offset(), bytes.size() - elf.base());
    elf.set(elf.table_rows(), table.rows + times);
    bytes.insert(bytes.end(), rows.begin(), rows.end());
}

void change_machine(View& elf, Bytes& bytes, Random& random)
{
    static constexpr uint16_t machines[] = {EM_X86_64, EM_386,   EM_AARCH64, EM_ARM, EM_PPC64, EM_PPC,
                                            EM_S390,   EM_RISCV, EM_MIPS,    EM_68K, 258,      0};
    if (random.one_in(3) && elf.base() + EI_DATA < bytes.size())
        bytes[elf.base() + (random.one_in(2) ? EI_CLASS : EI_DATA)] = uint8_t(random.below(4));
    else
        elf.set(elf.header(1), machines[random.below(std::size(machines))]);
}

/// A character of a member's header: name, size, end.
void change_member(Bytes& bytes, Random& random)
{
    size_t at = 8;
    for (size_t members = 1 + random.below(5); members > 0 && at + 60 <= bytes.size(); --members) {
        static constexpr std::string_view characters = "0123456789/ \n`-#x";
        if (members == 1) {
            const size_t from = at + (random.one_in(2) ? 48 : random.below(60));
            for (size_t i = 0; i < 1 + random.below(3); ++i)
                bytes[std::min(from + i, bytes.size() - 1)] = uint8_t(characters[random.below(characters.size())]);
        }
        size_t size = 0;
        for (size_t i = at + 48; i < at + 58 && bytes[i] >= '0' && bytes[i] <= '9'; ++i)
            size = 10 * size + bytes[i] - '0';
        at += 60 + (size + 1) / 2 * 2;
    }
}

void change_piece(Bytes& bytes, const Bytes& other, Random& random)
{
    if (other.empty())
        return;
    const size_t from = random.below(other.size()),
                 length = 1 + random.below(std::min<size_t>(256, other.size() - from));
    const size_t to = random.below(bytes.size());
    std::copy_n(other.begin() + long(from), std::min(length, bytes.size() - to), bytes.begin() + long(to));
}

} // namespace

Bytes mutated(const std::vector<Bytes>& corpus, Random& random)
{
    Bytes bytes = corpus[random.below(corpus.size())];
    for (size_t changes = 1 + random.below(random.one_in(4) ? 12 : 3); changes > 0 && !bytes.empty(); --changes) {
        const std::vector<size_t> files = elf_files(bytes);
        const size_t kind = random.below(40);
        if (kind == 0) {
            bytes.resize(random.below(bytes.size()));
        } else if (kind < 3) {
            bytes[random.below(bytes.size())] = uint8_t(random.next());
        } else if (kind < 5) {
            change_piece(bytes, corpus[random.below(corpus.size())], random);
        } else if (bytes.size() > 68 && bytes[0] == '!' && (kind < 20 || files.empty())) {
            change_member(bytes, random);
        } else if (!files.empty()) {
            View elf(bytes, files[random.below(files.size())]);
            if (kind < 7)
                move_rows(elf, bytes, random);
            else if (kind < 9)
                repeat_contents(elf, bytes, random);
            else if (kind == 9)
                repeat_section(elf, bytes, random);
            else if (kind == 10)
                change_machine(elf, bytes, random);
            else
                change_number(elf, bytes, random);
        }
    }
    return bytes;
}
