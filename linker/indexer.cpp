// SPDX-License-Identifier: BSD-2-Clause
// 0. Make notes of the records that stand in code (code_notes.h), and give the file the sections for them.
// 1. Walk both note sections of the image, decode what is ours.
// 2. Compare each note with the code it names. What has none is dropped; the rest is sorted and encoded.
// 3. Write the file anew: all up to the end of the last segment stays where it is; after it, sections move up to
//    fill the room that the smaller notes leave, and the section header table is updated.
// 4. Read the new file and compare it with the old one.
// 5. If .stapsdt.base is lost, give the file a section of that name again.
#include "indexer.h"

#include "base/integers.h"
#include "base/layouts.h"
#include "code_notes.h"
#include "elf/image.h"
#include "elf/index.h"
#include "elf/moved.h"
#include "elf/notes.h"
#include "judge/evaluate.h"

#include <fastsdt/note.h>

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_set>

namespace fastsdt {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::string_view stapsdt_section = ".note.stapsdt";
constexpr std::string_view layout_section = FASTSDT_NOTE_SECTION;
constexpr std::string_view base_section = ".stapsdt.base";

bool in_file(const Section& section)
{
    return section.type != SHT_NOBITS && section.type != SHT_NULL;
}

bool loaded(const Section& section)
{
    return section.flags & SHF_ALLOC;
}

void require(bool condition, const char* message)
{
    if (!condition)
        throw Unusable(message);
}

// `end` is where the last section or header ends. Padding may follow: patchelf 0.18 leaves a zero byte.
void require_end(const Image& file, uint64_t end)
{
    const Bytes rest = file.file().subspan(end);
    require(std::all_of(rest.begin(), rest.end(), [](std::byte b) { return b == std::byte(0); }),
            "data follows the end of the ELF file: index the file first, then append");
}

// Calls `use` with the file's image. The reader takes damaged files as far as it can; only a sound one can be rewritten.
void with_image(Bytes bytes, const std::function<void(const Image&)>& use)
{
    require(bytes.size() >= SELFMAG && memcmp(bytes.data(), ELFMAG, SELFMAG) == 0, "not an ELF file");
    const auto checked = [&](const Image& image) {
        require(!image.relocatable(), "a relocatable object: index the file that it is linked into");
        const FileLayout& layout = image.layout();
        const auto whole = [&](const FileLayout::Table& table) {
            return table.offset <= bytes.size() && table.size() <= bytes.size() - table.offset;
        };
        require(layout.header_size <= bytes.size() && whole(layout.program_headers),
                "the program headers run over the end of the file");
        const size_t entry_size = image.encoding().elf64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
        require(layout.section_headers.count == 0 || layout.section_headers.entry_size == entry_size,
                "damaged ELF header: e_shentsize is not the size of a section header");
        require(whole(layout.section_headers), "the section headers run over the end of the file");
        for (const auto& [offset, size] : layout.segments)
            require(offset <= bytes.size() && size <= bytes.size() - offset, "a segment runs over the end of the file");
        require(image.sections().size() > 1, "no section headers, hence no notes to read");
        const FileLayout::Table& table = layout.section_headers;
        const FileLayout::Table& segments = layout.program_headers;
        require(segments.size() == 0 || table.size() == 0 || segments.offset >= table.offset + table.size()
                    || segments.offset + segments.size() <= table.offset,
                "the program headers lie over the section headers");
        uint64_t together = 0;
        for (const Section& section : image.sections()) {
            if (!in_file(section))
                continue;
            require(section.offset <= bytes.size() && section.size <= bytes.size() - section.offset,
                    "a section runs over the end of the file");
            // The headers change, and no section may change with them.
            require(section.size == 0
                        || (section.offset >= layout.header_size
                            && (section.offset >= table.offset + table.size()
                                || section.offset + section.size <= table.offset)),
                    "a section lies over the ELF header or the section headers");
            // Each is compared before and after. In a sound file they do not overlap; twice its size leaves room for oddities.
            require((together += section.size) <= 2 * bytes.size(), "sections overlap");
        }
        require(layout.section_names == 0 || in_file(image.sections()[layout.section_names]),
                "the names of the sections are not in the file");
        use(image);
    };
    Image::each("", bytes, checked, [](const Error&) {}); // only archives have members to report
}

// All notes of a section. One that is damaged makes the file unfit to rewrite.
std::vector<RawNote> notes_in(const Image& file, const Section& section)
{
    std::vector<RawNote> notes;
    const auto fault =
        each_note(file.raw_contents(section), file.encoding(), [&](const RawNote& note) { notes.push_back(note); });
    if (fault)
        throw Unusable({fmt::format("the note at offset {:#x} runs over the section's end", fault->offset),
                        std::string(section.name)});
    return notes;
}

// The code at a vaddr, up to the end of its section; empty where the file has no code. Looks at sections, not segments,
// because old layouts map the ELF header executable and a dropped function's address is often 0.
Bytes code_at(const Image& file, uint64_t vaddr)
{
    if (file.arch() == Arch::arm)
        vaddr &= ~uint64_t(1); // Thumb
    const Section* section = file.section_at(vaddr);
    if (!section || !(section->flags & SHF_EXECINSTR))
        return {};
    const Bytes code = file.raw_contents(*section);
    return code.empty() ? code : code.subspan(vaddr - section->address);
}

// Why the code that the record describes is not there; nullptr: it is.
const char* why_not_at(const Image& file, const Record& record, uint64_t moved)
{
    const Bytes code = code_at(file, record.address + moved);
    if (code.empty())
        return "not in an executable section";
    if (record.layout == FASTSDT_LAYOUT_OTHER || file.arch() == Arch::unknown)
        return nullptr; // any code may be meant
    const ProbePoint place{record.address + moved, &record, record.type == FASTSDT_NOTE_ENTRY};
    const fastsdt_recognized found = recognize(file, place, record.layout, code);
    return found.layout == record.layout ? nullptr : "the code there does not have its layout";
}

// Functions folded by the linker leave one record each at one address: one is kept, with the flags of all of them.
std::vector<Record> fold(std::vector<Record> records)
{
    std::sort(records.begin(), records.end());
    std::vector<Record> folded;
    for (const Record& record : records) {
        Record* last = folded.empty() ? nullptr : &folded.back();
        if (last && *last == record)
            continue;
        if (last && record.type == FASTSDT_NOTE_ENTRY && last->type == record.type && last->address == record.address) {
            const uint16_t flags = last->flags | record.flags;
            const uint64_t operand = last->operand == record.operand ? record.operand : unknown_bytes;
            *last = record; // layouts ascend: a known one replaces OTHER
            last->flags = flags;
            last->operand = operand;
            continue;
        }
        if (last && record.type == FASTSDT_NOTE_EXIT && last->type == record.type && last->address == record.address
            && last->layout == record.layout && last->operand == record.operand) {
            constexpr uint16_t size = 0xffff << FASTSDT_EXIT_SIZE_SHIFT & 0xffff;
            const uint16_t apart = last->flags ^ record.flags;
            last->flags &= apart & size ? record.flags & ~size : record.flags;
            if (last->result != record.result)
                last->result = FASTSDT_RESULT_OTHER;
            continue;
        }
        folded.push_back(record);
    }
    return folded;
}

void append(std::vector<std::byte>& to, Bytes bytes)
{
    to.insert(to.end(), bytes.begin(), bytes.end());
}

// Up to where the next note may begin.
void pad(std::vector<std::byte>& notes)
{
    notes.resize((notes.size() + 3) / 4 * 4);
}

std::vector<std::byte> index_note(const std::vector<Record>& records, Encoding encoding)
{
    const std::vector<std::byte> descriptor = encode_index(records, encoding);
    constexpr std::string_view owner(FASTSDT_NOTE_OWNER, sizeof FASTSDT_NOTE_OWNER); // with its NUL
    static_assert(owner.size() % 4 == 0);
    std::vector<std::byte> note(12 + owner.size());
    store(&note[0], 4, owner.size(), encoding.big_endian);
    store(&note[4], 4, descriptor.size(), encoding.big_endian);
    store(&note[8], 4, FASTSDT_NOTE_INDEX, encoding.big_endian);
    memcpy(note.data() + 12, owner.data(), owner.size());
    append(note, descriptor);
    pad(note);
    return note;
}

struct LayoutNotes {
    std::vector<Record> records; // of SITE, ENTRY, EXIT and INDEX notes
    std::vector<RawNote> others; // of types and versions that this program does not know: kept
};

LayoutNotes read_layout(const Image& file)
{
    LayoutNotes result;
    for (const Section& section : file.sections()) {
        if (section.name != layout_section || section.type != SHT_NOTE)
            continue;
        for (const RawNote& note : notes_in(file, section)) {
            if (note.owner == FASTSDT_NOTE_OWNER && note.type == FASTSDT_NOTE_INDEX) {
                const auto index = Index::open(note.descriptor, file.encoding());
                if (!index)
                    throw Unusable(index.error().at(std::string(section.name)));
                if (const auto sound = index->check(); !sound)
                    throw Unusable(sound.error().at(std::string(section.name)));
                for (size_t i = 0; i < index->size(); ++i)
                    result.records.push_back(*index->at(i));
                continue;
            }
            const auto record = note.owner == FASTSDT_NOTE_OWNER
                ? decode_record(note.type, note.descriptor, file.encoding())
                : std::nullopt;
            if (record)
                result.records.push_back(*record);
            else
                result.others.push_back(note);
        }
    }
    return result;
}

// New contents of sections, by number.
using Contents = std::map<size_t, std::vector<std::byte>>;

// What moves: a section, the section header table (section null and table set), or bytes that no header names.
struct Piece {
    uint64_t offset, size, alignment;
    const Section* section = nullptr;
    bool table = false;
};

// Writes into `out` what the section header of number `number` says of its place.
void place_section(std::vector<std::byte>& out, const Image& file, uint64_t table_offset, size_t number,
                   uint64_t offset, uint64_t size)
{
    const Encoding encoding = file.encoding();
    const bool elf64 = encoding.elf64;
    std::byte* const row = &out[table_offset + number * file.layout().section_headers.entry_size];
    store(row + (elf64 ? offsetof(Elf64_Shdr, sh_offset) : offsetof(Elf32_Shdr, sh_offset)), encoding.address_size(),
          offset, encoding.big_endian);
    store(row + (elf64 ? offsetof(Elf64_Shdr, sh_size) : offsetof(Elf32_Shdr, sh_size)), encoding.address_size(), size,
          encoding.big_endian);
}

// For files whose notes or section headers lie between segments: patchelf puts a segment behind everything else, and
// PT_RISCV_ATTRIBUTES is a segment that is not loaded. Nothing moves. The room that smaller notes leave is zeroed;
// notes that have grown go to the end of the file.
std::vector<std::byte> rewrite_in_place(const Image& file, const Contents& contents)
{
    std::vector<std::byte> out(file.file().begin(), file.file().end());
    const FileLayout& layout = file.layout();
    std::vector<std::pair<uint64_t, uint64_t>> ranges = {
        {0, layout.header_size},
        {layout.program_headers.offset, layout.program_headers.offset + layout.program_headers.size()},
        {layout.section_headers.offset, layout.section_headers.offset + layout.section_headers.size()}};
    for (const auto& [offset, size] : layout.segments)
        ranges.emplace_back(offset, offset + size);
    for (const Section& section : file.sections())
        if (in_file(section) && !contents.count(section.index))
            ranges.emplace_back(section.offset, section.offset + section.size);
    std::sort(ranges.begin(), ranges.end());
    std::map<uint64_t, uint64_t> taken; // begin and end in the file, not overlapping
    for (const auto& [from, to] : ranges) {
        if (from == to)
            continue;
        if (!taken.empty() && from <= taken.rbegin()->second)
            taken.rbegin()->second = std::max(taken.rbegin()->second, to);
        else
            taken.emplace(from, to);
    }
    uint64_t end = taken.rbegin()->second;
    for (const auto& [number, content] : contents) {
        const Section& section = file.sections()[number];
        const auto next = taken.lower_bound(section.offset + section.size);
        if (section.size > 0
            && ((next != taken.begin() && std::prev(next)->second > section.offset)
                || !taken.emplace(section.offset, section.offset + section.size).second))
            throw Unusable(fmt::format("{} shares its place in the file with something else, so it cannot change",
                                       file.sections()[number].name));
        end = std::max<uint64_t>(end, section.offset + section.size);
    }
    for (const auto& [number, content] : contents) {
        const Section& section = file.sections()[number];
        uint64_t offset = section.offset;
        const uint64_t old_size = section.size;
        std::fill_n(out.begin() + offset, old_size, std::byte(0));
        if (content.size() > old_size) {
            require_end(file, end);
            pad(out);
            offset = out.size();
            out.resize(out.size() + content.size());
        }
        std::copy(content.begin(), content.end(), out.begin() + offset);
        place_section(out, file, layout.section_headers.offset, number, offset, content.size());
    }
    return out;
}

std::vector<std::byte> rewrite(const Image& file, const Contents& contents)
{
    const Encoding encoding = file.encoding();
    const FileLayout& layout = file.layout();
    uint64_t fixed = std::max(layout.header_size, layout.program_headers.offset + layout.program_headers.size());
    for (const auto& [offset, size] : layout.segments)
        fixed = std::max(fixed, offset + size);
    for (const Section& section : file.sections())
        if (loaded(section) && in_file(section))
            fixed = std::max<uint64_t>(fixed, section.offset + section.size);
    // Nor does a section move that begins there.
    std::vector<std::pair<uint64_t, uint64_t>> ranges;
    for (const Section& section : file.sections())
        if (in_file(section))
            ranges.emplace_back(section.offset, section.offset + section.size);
    std::sort(ranges.begin(), ranges.end());
    for (const auto& [from, to] : ranges)
        if (from < fixed)
            fixed = std::max(fixed, to);
    const FileLayout::Table& table = layout.section_headers;
    bool in_place = table.offset < fixed;
    for (const auto& [number, content] : contents)
        in_place |= file.sections()[number].offset < fixed;
    if (in_place)
        return rewrite_in_place(file, contents);

    std::vector<Piece> pieces;
    for (const Section& section : file.sections()) {
        if (!loaded(section) && in_file(section) && section.offset >= fixed)
            pieces.push_back({section.offset, section.size, std::max<uint64_t>(section.align, 1), &section});
    }
    pieces.push_back({table.offset, table.size(), encoding.address_size(), nullptr, true});
    std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
        return std::pair(a.offset, a.size) < std::pair(b.offset, b.size);
    });

    std::vector<std::byte> out(file.file().begin(), file.file().begin() + fixed);
    std::map<size_t, uint64_t> offsets;
    uint64_t table_offset = 0, end = fixed;
    uint64_t most = file.file().size() + (1 << 16);
    for (const auto& [number, content] : contents)
        most += content.size();
    // What is loaded elsewhere, or not at all, needs no alignment in the file beyond the one that it has there: a section of
    // one byte may ask for 16 MB.
    const auto align = [&](uint64_t alignment, uint64_t like) {
        require((alignment & (alignment - 1)) == 0 && alignment <= 1 << 24, "a section's alignment is not sensible");
        const uint64_t at = out.size() + ((like - out.size()) & (alignment - 1));
        require(at <= most, "its sections' alignments would make the result much larger than the file");
        out.resize(at);
    };
    for (const Piece& piece : pieces) {
        require(piece.offset >= end, "sections overlap");
        const Bytes gap = file.file().subspan(end, piece.offset - end);
        if (std::any_of(gap.begin(), gap.end(), [](std::byte b) { return b != std::byte(0); }))
            append(out, gap); // not ours and not padding: it stays
        align(piece.alignment, piece.table ? 0 : piece.offset);
        if (piece.table)
            table_offset = out.size();
        if (piece.section) {
            offsets[piece.section->index] = out.size();
            const auto changed = contents.find(piece.section->index);
            append(out, changed == contents.end() ? file.raw_contents(*piece.section) : Bytes(changed->second));
        } else {
            append(out, file.file().subspan(piece.offset, piece.size));
        }
        end = piece.offset + piece.size;
    }
    require_end(file, end);

    store(&out[encoding.elf64 ? offsetof(Elf64_Ehdr, e_shoff) : offsetof(Elf32_Ehdr, e_shoff)], encoding.address_size(),
          table_offset, encoding.big_endian);
    for (const auto& [number, offset] : offsets) {
        const auto changed = contents.find(number);
        place_section(out, file, table_offset, number, offset,
                      changed == contents.end() ? file.sections()[number].size : changed->second.size());
    }
    return out;
}

bool equal(Bytes a, Bytes b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

// Reads the new file from its bytes alone and compares it with the old one and with what it should hold.
void verify(const Image& old, const Image& now, const Contents& contents, const std::vector<Record>& records)
{
    const auto check = [](bool condition, const char* what) {
        if (!condition)
            throw Unusable(
                fmt::format("the result failed verification ({}); this is a bug, nothing was written", what));
    };
    const Bytes bytes = now.file();
    const FileLayout& layout = old.layout();
    // The ELF header itself is usually loaded, and e_shoff in it has to change.
    const size_t shoff = old.encoding().elf64 ? offsetof(Elf64_Ehdr, e_shoff) : offsetof(Elf32_Ehdr, e_shoff);
    const size_t behind_shoff = shoff + old.encoding().address_size();
    const uint64_t table = layout.section_headers.offset, table_end = table + layout.section_headers.size();
    const auto same = [&](uint64_t from, uint64_t end) {
        return end <= from
            || (end <= bytes.size() && equal(old.file().subspan(from, end - from), bytes.subspan(from, end - from)));
    };
    check(now.layout().segments.size() == layout.segments.size() && now.sections().size() == old.sections().size(),
          "headers");
    check(same(layout.program_headers.offset, layout.program_headers.offset + layout.program_headers.size()),
          "program headers");
    check(same(0, shoff) && same(behind_shoff, old.encoding().elf64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr)),
          "ELF header");
    std::vector<FileLayout::Range> segments = layout.segments;
    std::sort(segments.begin(), segments.end(), [](const auto& a, const auto& b) { return a.offset < b.offset; });
    uint64_t compared = behind_shoff;
    for (const auto& [offset, size] : segments) {
        const uint64_t from = std::max<uint64_t>(offset, compared), end = offset + size;
        // Section headers inside a segment: compared below.
        check(same(from, std::min(end, table)) && same(std::max(from, table_end), end), "loaded bytes");
        compared = std::max(compared, end);
    }
    for (size_t i = 0; i < old.sections().size(); ++i) {
        const Section& a = old.sections()[i];
        Section b = now.sections()[i];
        const auto changed = contents.find(i);
        if (in_file(a)) // number 0 may have their count as its size
            check(equal(now.raw_contents(b), changed == contents.end() ? old.raw_contents(a) : Bytes(changed->second)),
                  "section contents");
        if (!loaded(a))
            b.offset = a.offset;
        if (changed != contents.end())
            b.size = a.size;
        check(a == b, "section headers");
    }
    check(fold(read_layout(now).records) == records, "records");
}

// A section to add. Without contents of its own it is a name for bytes that the file has already.
struct NewSection {
    Section header; // its name, type, flags, address and alignment; size and offset too, if it has no contents
    std::vector<std::byte> contents;
};

// The file with more sections. The contents, new names and headers go to its end; the old ones stay where they are, unused.
// @param shorter  a section of which only the first part is to keep its header
std::vector<std::byte> with_sections(const Image& file, const std::vector<NewSection>& added,
                                     const Section* shorter = nullptr)
{
    const Encoding encoding = file.encoding();
    const bool big = encoding.big_endian;
    const size_t word = encoding.address_size();
    const FileLayout::Table& table = file.layout().section_headers;
    const size_t count = file.sections().size();
    const auto header = [&](size_t in64, size_t in32) { return encoding.elf64 ? in64 : in32; };
    std::vector<std::byte> out(file.file().begin(), file.file().end());
    const size_t names = file.layout().section_names;
    require(count + added.size() < SHN_LORESERVE && names > 0,
            "it has too many sections, or none that has their names, to add those of the notes");
    const FileLayout::Table& program_headers = file.layout().program_headers;
    uint64_t end = std::max(
        {file.layout().header_size, table.offset + table.size(), program_headers.offset + program_headers.size()});
    for (const auto& [offset, size] : file.layout().segments)
        end = std::max(end, offset + size);
    for (const Section& one : file.sections())
        if (in_file(one))
            end = std::max<uint64_t>(end, one.offset + one.size);
    require_end(file, end);

    const Bytes old_names = file.raw_contents(file.sections()[names]);
    static_assert(offsetof(Elf64_Shdr, sh_name) == 0 && offsetof(Elf32_Shdr, sh_name) == 0);
    for (size_t i = 0; i < count; ++i) // behind the names the new ones begin
        require(load(&out[table.offset + i * table.entry_size], 4, big) < old_names.size(),
                "a section's name lies outside the names of the sections");
    const auto align = [&](uint64_t to) { out.resize((out.size() + to - 1) & ~(to - 1)); };
    std::vector<Section> headers;
    for (const NewSection& one : added) {
        Section section = one.header;
        if (!one.contents.empty()) {
            align(section.align);
            section.offset = out.size();
            section.size = one.contents.size();
            append(out, one.contents);
        }
        headers.push_back(section);
    }
    const uint64_t names_at = out.size();
    append(out, old_names);
    std::vector<uint64_t> name_of;
    for (const Section& section : headers) {
        name_of.push_back(out.size() - names_at);
        append(out, std::as_bytes(std::span(section.name.data(), section.name.size())));
        out.push_back(std::byte(0));
    }
    const uint64_t names_size = out.size() - names_at;
    align(8);
    const uint64_t table_at = out.size();
    append(out, file.file().subspan(table.offset, table.size()));
    out.resize(out.size() + headers.size() * table.entry_size);
    place_section(out, file, table_at, names, names_at, names_size);
    for (size_t i = 0; i < headers.size(); ++i) {
        const Section& section = headers[i];
        std::byte* const row = &out[table_at + (count + i) * table.entry_size];
        const auto put = [&](size_t in64, size_t in32, size_t size, uint64_t value) {
            store(row + header(in64, in32), size, value, big);
        };
        put(offsetof(Elf64_Shdr, sh_name), offsetof(Elf32_Shdr, sh_name), 4, name_of[i]);
        put(offsetof(Elf64_Shdr, sh_type), offsetof(Elf32_Shdr, sh_type), 4, section.type);
        put(offsetof(Elf64_Shdr, sh_flags), offsetof(Elf32_Shdr, sh_flags), word, section.flags);
        put(offsetof(Elf64_Shdr, sh_addr), offsetof(Elf32_Shdr, sh_addr), word, section.address);
        put(offsetof(Elf64_Shdr, sh_addralign), offsetof(Elf32_Shdr, sh_addralign), word, section.align);
        place_section(out, file, table_at, count + i, section.offset, section.size);
    }
    if (shorter)
        place_section(out, file, table_at, shorter->index, shorter->offset, shorter->size);
    store(&out[header(offsetof(Elf64_Ehdr, e_shoff), offsetof(Elf32_Ehdr, e_shoff))], word, table_at, big);
    store(&out[header(offsetof(Elf64_Ehdr, e_shnum), offsetof(Elf32_Ehdr, e_shnum))], 2, count + headers.size(), big);

    with_image(out, [&](const Image& now) {
        bool same = now.sections().size() == count + headers.size()
            && now.layout().segments.size() == file.layout().segments.size();
        for (size_t i = 0; same && i < count; ++i) {
            Bytes old = file.raw_contents(file.sections()[i]);
            if (shorter && i == shorter->index)
                old = old.first(shorter->size);
            same = now.sections()[i].name == file.sections()[i].name
                && now.sections()[i].address == file.sections()[i].address
                && (i == names || !in_file(file.sections()[i]) || equal(now.raw_contents(now.sections()[i]), old));
        }
        for (size_t i = 0; same && i < headers.size(); ++i) {
            const Section& section = now.sections()[count + i];
            same = section.name == headers[i].name && section.address == headers[i].address
                && (added[i].contents.empty() || equal(now.raw_contents(section), added[i].contents));
        }
        if (!same)
            throw Unusable(fmt::format("the result failed verification ({}); this is a bug, nothing was written",
                                       headers.front().name));
    });
    return out;
}

// The file with the notes in the sections where they belong, which it gets if it has none.
std::vector<std::byte> with_notes(const Image& file, const CodeNotes& notes)
{
    Contents contents;
    std::vector<NewSection> added;
    // In front of the notes: bcc goes on from .probes when it looks for them.
    const Section* const shorter = notes.parts.empty() ? nullptr : &notes.parts.front();
    for (size_t i = 1; i < notes.parts.size(); ++i)
        added.push_back({notes.parts[i], {}});
    const auto put = [&](std::string_view name, const std::vector<std::byte>& more) {
        const Section* const section = file.section(name);
        if (more.empty())
            return;
        if (!section) {
            Section header;
            header.name = name;
            header.type = SHT_NOTE;
            header.align = 4;
            added.push_back({header, more});
            return;
        }
        if (loaded(*section))
            throw Unusable(fmt::format("{} is loaded with the program and cannot change: link it as a section"
                                       " that is not allocated",
                                       name));
        const Bytes old = file.raw_contents(*section);
        std::vector<std::byte>& content = contents[section->index];
        append(content, old);
        pad(content);
        append(content, more);
    };
    put(stapsdt_section, notes.stapsdt);
    put(layout_section, notes.layout);
    put(FASTSDT_NAMES_SECTION, notes.names);
    if (contents.empty())
        return with_sections(file, added, shorter);
    std::vector<std::byte> out = rewrite(file, contents);
    with_image(out, [&](const Image& now) {
        verify(file, now, contents, fold(read_layout(now).records));
        if (!added.empty())
            out = with_sections(now, added, shorter);
    });
    return out;
}

// What SITE records vouch for, or would if their code were there.
class SiteLookup {
public:
    SiteLookup(const Image& file, const std::vector<Record>& records) : file_(file)
    {
        // All layouts that are not known are alike, and so is all beyond the longest landing pad: nothing stands there.
        for (const Record& record : records)
            if (record.type == FASTSDT_NOTE_SITE)
                sites_.push_back({record.address, known_layout(record.layout) ? record.layout : uint8_t(0xff),
                                  std::min<uint8_t>(record.lead, 16)});
        std::sort(sites_.begin(), sites_.end());
        sites_.erase(std::unique(sites_.begin(), sites_.end()), sites_.end());
    }

    // Why no site stands at the pc of a stapsdt note, or nothing.
    const char* why_no_site(uint64_t pc, uint64_t moved) const
    {
        auto known = std::lower_bound(sites_.begin(), sites_.end(), Site{pc, 0, 0});
        if (known == sites_.end() || known->pc != pc) {
            const Bytes code = code_at(file_, pc + moved);
            return code.empty()                ? "not in an executable section"
                : begins_with_nop(file_, code) ? nullptr
                                               : "no nop there";
        }
        const char* why = nullptr;
        for (; known != sites_.end() && known->pc == pc; ++known) {
            Record record;
            record.address = pc;
            record.layout = known->layout;
            record.lead = known->lead;
            if (!(why = why_not_at(file_, record, moved)))
                break;
        }
        return why;
    }

private:
    struct Site {
        uint64_t pc;
        uint8_t layout, lead;
        auto operator<=>(const Site&) const = default;
    };
    const Image& file_;
    std::vector<Site> sites_; // sorted, each once
};

// A place for a section that a file is to get without more bytes. A header over bytes that another section has would make strip
// and objcopy of binutils move that section, and the program would not run. So it is a byte between sections, as the linker
// would have taken, or the place where a section begins, and no byte. dwz accepts only the first.
struct Place {
    uint64_t address = 0, size = 0;
};

std::optional<Place> free_place(const Image& file, uint64_t wanted)
{
    std::vector<const Section*> sections;
    for (const Section& section : file.sections())
        if (loaded(section) && section.size > 0 && (in_file(section) || !(section.flags & SHF_TLS)))
            sections.push_back(&section);
    std::stable_sort(sections.begin(), sections.end(),
                     [](const Section* a, const Section* b) { return a->address < b->address; });
    const auto end_of = [](const Section& section) {
        return section.address + std::min(section.size, UINT64_MAX - section.address);
    };
    uint64_t gap = 0;
    const Section* last = nullptr; // the one in front of a gap
    for (size_t i = 0; i < sections.size(); ++i) {
        if (!last || end_of(*sections[i]) > end_of(*last))
            last = sections[i];
        const Segment* const segment = file.segment_at(last->address);
        const uint64_t from = end_of(*last);
        uint64_t to = segment ? segment->address.value + segment->file_size : 0;
        if (i + 1 < sections.size())
            to = std::min(to, sections[i + 1]->address);
        if (wanted >= from && wanted < to)
            return Place{wanted, 1};
        // Sections of these kinds may lie in a segment of their own, and what is between them too.
        if (from < to && last->type == SHT_PROGBITS && !(last->flags & (SHF_WRITE | SHF_TLS)))
            gap = from;
    }
    if (gap)
        return Place{gap, 1};
    const Section* start = nullptr;
    const auto rank = [&](const Section& section) {
        return section.address == wanted ? 2 : section.flags & SHF_EXECINSTR ? 1 : 0;
    };
    for (const Section* section : sections)
        if (in_file(*section) && !(section->flags & SHF_TLS) && section->address
            && file.file_offset(Vaddr(section->address)) && (!start || rank(*section) > rank(*start)))
            start = section;
    if (!start)
        return {};
    return Place{start->address, 0};
}

// Where a lost .stapsdt.base was, by what the notes of sites say, or a place that may be called so: any address does, if notes
// and section agree on it, since tracers add the difference. Empty: nothing needs it, or nothing is loaded.
std::optional<Section> lost_base(const Image& file, const std::vector<const Section*>& stapsdt_sections,
                                 const SiteLookup& sites)
{
    std::set<uint64_t> bases;
    for (const Section* section : stapsdt_sections)
        for (const RawNote& note : notes_in(file, *section)) {
            const auto probe = decode_stapsdt(note, file.encoding());
            if (probe && !sites.why_no_site(probe->note_address, 0))
                bases.insert(probe->note_base);
        }
    if (bases.empty())
        return {};
    // 0: the linker dropped the section, and the notes' reference to it. objcopy -R shortens a segment that ended there.
    const auto place = free_place(file, bases.size() == 1 ? *bases.begin() : 0);
    const auto offset = place ? file.file_offset(Vaddr(place->address)) : std::nullopt;
    if (!offset)
        return {};
    Section base;
    base.name = base_section;
    base.type = SHT_PROGBITS;
    base.flags = SHF_ALLOC;
    base.align = 1;
    base.address = place->address;
    base.offset = offset->value;
    base.size = place->size;
    return base;
}

class Indexer {
public:
    explicit Indexer(const Image& file) : file_(file) {}

    IndexResult run()
    {
        find_sections();
        layout_ = read_layout(file_);
        const SiteLookup sites(file_, layout_.records);
        if (!base_ && (restored_ = lost_base(file_, stapsdt_sections_, sites)))
            base_ = &*restored_;
        keep_probes(sites);
        keep_records();
        write_layout_sections();
        require_changeable();
        write_file();
        return std::move(result_);
    }

private:
    void find_sections()
    {
        NoteBudget budget(file_);
        for (const Section& section : file_.sections()) {
            if ((section.name == layout_section || section.name == stapsdt_section) && section.type == SHT_NOTE)
                require(budget.afford(file_.raw_contents(section)), notes_overlap);
            if (section.name == layout_section && section.type == SHT_NOTE)
                layout_sections_.push_back(&section);
            if (section.name == stapsdt_section && section.type == SHT_NOTE)
                stapsdt_sections_.push_back(&section);
            if (section.name == base_section && !base_)
                base_ = &section;
            if ((section.flags & SHF_EXECINSTR) && loaded(section))
                require(in_file(section),
                        "the code is not in this file (separate debug information?): index the file that has it");
        }
    }

    // The stapsdt notes whose site is there, each once and in the sections where they belong.
    void keep_probes(const SiteLookup& sites)
    {
        // libbpf and perf read the first section of the name only, so all goes there. mold makes a second one for notes that
        // another header made, without SHF_LINK_ORDER: those of a static libstdc++, for example.
        const bool join = std::none_of(stapsdt_sections_.begin(), stapsdt_sections_.end(),
                                       [](const Section* s) { return loaded(*s); });
        std::map<const Section*, std::vector<std::byte>> stapsdt;
        for (const Section* section : stapsdt_sections_) {
            std::vector<std::byte>& kept = stapsdt[join ? stapsdt_sections_.front() : section];
            pad(kept);
            const size_t before = kept.size();
            for (const RawNote& note : notes_in(file_, *section))
                keep_probe(note, sites, kept);
            result_.joined += kept.size() > before && before > 0;
            result_.stapsdt_bytes_before += section->size;
        }
        for (const Section* section : stapsdt_sections_) {
            std::vector<std::byte>& kept = stapsdt[section];
            result_.stapsdt_bytes_after += kept.size();
            if (!equal(kept, file_.raw_contents(*section)))
                contents_[section->index] = std::move(kept);
        }
    }

    void keep_probe(const RawNote& note, const SiteLookup& sites, std::vector<std::byte>& kept)
    {
        const auto probe = decode_stapsdt(note, file_.encoding());
        if (!probe) { // not ours to judge: fastsdt-check tells what is wrong with it
            append(kept, note.whole);
            return;
        }
        const auto remove = [&](const char* why) {
            result_.removed.push_back(
                {fmt::format("probe {}:{}", probe->provider, probe->name), probe->note_address, why});
        };
        // A base that was lost says nothing about a move.
        const uint64_t shift = base_ && !restored_ && probe->note_base ? base_->address - probe->note_base : 0;
        const char* why = sites.why_no_site(probe->note_address, shift);
        // Readers take the note's base as it is; where it leads away from the site, it was not relocated.
        const bool wrong_base = base_ && probe->note_base != base_->address && (why || shift == 0)
            && !sites.why_no_site(probe->note_address, 0);
        if (why && !wrong_base)
            return remove(why);
        std::string text(reinterpret_cast<const char*>(note.whole.data()), note.whole.size());
        const size_t word = file_.encoding().address_size();
        if (wrong_base)
            store(std::as_writable_bytes(std::span(text)).data() + (note.descriptor.data() - note.whole.data()) + word,
                  word, base_->address, file_.encoding().big_endian);
        const auto [whole, added] = seen_.insert(std::move(text));
        if (!added)
            return remove("the same note twice");
        append(kept, std::as_bytes(std::span(*whole)));
        ++result_.probes;
        if (wrong_base)
            ++result_.rebased;
        else
            moved_ = shift;
    }

    void keep_records()
    {
        const Moved moved(file_);
        for (const Record& record : layout_.records) {
            const char* why = why_not_at(file_, record, moved_);
            if (!why && moved.stale(record, moved_))
                why = "its code was moved after the link (BOLT)";
            const char* what = record.type == FASTSDT_NOTE_SITE ? "site"
                : record.type == FASTSDT_NOTE_ENTRY             ? "entry"
                                                                : "exit";
            if (why)
                result_.removed.push_back({what, record.address, why});
            else
                live_.push_back(record);
        }
        live_ = fold(std::move(live_));
        for (const Record& record : live_)
            ++(record.type == FASTSDT_NOTE_SITE        ? result_.sites
                   : record.type == FASTSDT_NOTE_ENTRY ? result_.entries
                                                       : result_.exits);
    }

    // All records in one INDEX note, in the first section.
    void write_layout_sections()
    {
        for (const Section* section : layout_sections_) {
            std::vector<std::byte> content;
            if (section == layout_sections_.front()) {
                if (!live_.empty())
                    content = index_note(live_, file_.encoding());
                for (const RawNote& note : layout_.others) {
                    append(content, note.whole);
                    pad(content);
                }
            }
            result_.layout_bytes_before += section->size;
            result_.layout_bytes_after += content.size();
            if (!equal(content, file_.raw_contents(*section)))
                contents_[section->index] = std::move(content);
        }
    }

    void require_changeable() const
    {
        std::set<size_t> relocated;
        for (const Section& section : file_.sections())
            if (section.type == SHT_REL || section.type == SHT_RELA)
                relocated.insert(section.info);
        for (const auto& [number, content] : contents_) {
            const Section& section = file_.sections()[number];
            if (loaded(section))
                throw Unusable(fmt::format("{} is loaded with the program and cannot change: link it as a section"
                                           " that is not allocated",
                                           section.name));
            if (relocated.count(number))
                throw Unusable(fmt::format("{} has relocations (--emit-relocs): index the file after the tool that"
                                           " needs them, or drop them with objcopy --remove-relocations={}",
                                           section.name, section.name));
        }
    }

    void write_file()
    {
        result_.changed = !contents_.empty();
        if (result_.changed) {
            result_.file = rewrite(file_, contents_);
            with_image(result_.file, [&](const Image& now) { verify(file_, now, contents_, live_); });
        }
        if (!restored_ || result_.probes == 0)
            return;
        std::vector<std::byte> out;
        if (result_.changed)
            with_image(result_.file, [&](const Image& now) { out = with_sections(now, {{*restored_, {}}}); });
        else
            out = with_sections(file_, {{*restored_, {}}});
        result_.file = std::move(out);
        result_.changed = result_.base_restored = true;
    }

    const Image& file_;
    IndexResult result_;
    std::vector<const Section*> layout_sections_, stapsdt_sections_;
    const Section* base_ = nullptr; // of the file, or restored_
    std::optional<Section> restored_;
    LayoutNotes layout_;
    std::unordered_set<std::string> seen_; // stapsdt notes
    uint64_t moved_ = 0;                   // by prelink, as the notes' base tells
    std::vector<Record> live_;
    Contents contents_;
};

} // namespace

IndexResult index_notes(std::span<const std::byte> bytes)
{
    IndexResult result;
    with_image(bytes, [&](const Image& image) {
        const CodeNotes notes = notes_of_code(image);
        if (notes.stapsdt.empty()) {
            result = Indexer(image).run();
        } else {
            std::vector<std::byte> noted = with_notes(image, notes);
            with_image(noted, [&](const Image& now) { result = Indexer(now).run(); });
            if (!result.changed)
                result.file = std::move(noted);
            result.changed = true;
        }
        result.made = notes.made;
        result.left_out = notes.left_out;
    });
    return result;
}

} // namespace fastsdt
