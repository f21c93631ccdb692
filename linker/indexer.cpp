// SPDX-License-Identifier: BSD-2-Clause
// 1. Read the section headers, walk both note sections, decode what is ours.
// 2. Compare each note with the code it names. What has none is dropped; the rest is sorted and encoded.
// 3. Write the file anew: all up to the end of the last segment stays where it is; behind it, sections move up to
//    fill the room that the smaller notes leave, and the section header table is told.
// 4. Read the new file and compare it with the old one.
#include "indexer.h"

#include "arch.h"
#include "index.h"
#include "integers.h"

#include <fastsdt/note.h>
#include <fastsdt/recognize.h>

#include <fmt/format.h>
#include <gelf.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
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

struct Section {
    size_t number;
    std::string name;
    GElf_Shdr header;

    bool in_file() const { return header.sh_type != SHT_NOBITS && header.sh_type != SHT_NULL; }
    bool loaded() const { return header.sh_flags & SHF_ALLOC; }
    bool holds(uint64_t vaddr) const { return vaddr >= header.sh_addr && vaddr - header.sh_addr < header.sh_size; }
};

struct Elf_file {
    Bytes bytes;
    Encoding encoding;
    Arch arch;
    GElf_Ehdr header;
    std::vector<GElf_Phdr> segments;
    std::vector<Section> sections;    // without number 0
    std::vector<const Section*> code; // the executable ones that are in the file, by address

    Bytes content(const Section& section) const
    {
        return section.in_file() ? bytes.subspan(section.header.sh_offset, section.header.sh_size) : Bytes();
    }
};

void require(bool condition, const char* message)
{
    if (!condition)
        throw Index_error(message);
}

Elf_file read_elf(Bytes bytes)
{
    elf_version(EV_CURRENT);
    require(bytes.size() >= EI_NIDENT && memcmp(bytes.data(), ELFMAG, SELFMAG) == 0, "not an ELF file");
    // libelf does not write into memory that is only read through it.
    auto* data = reinterpret_cast<char*>(const_cast<std::byte*>(bytes.data()));
    const std::unique_ptr<Elf, decltype(&elf_end)> elf(elf_memory(data, bytes.size()), elf_end);
    Elf_file file{};
    file.bytes = bytes;
    require(elf && elf_kind(elf.get()) == ELF_K_ELF && gelf_getehdr(elf.get(), &file.header), "damaged ELF header");
    const unsigned char* ident = file.header.e_ident;
    require(ident[EI_DATA] == ELFDATA2LSB || ident[EI_DATA] == ELFDATA2MSB, "damaged ELF header");
    file.encoding = {ident[EI_CLASS] == ELFCLASS64, ident[EI_DATA] == ELFDATA2MSB};
    file.arch = arch_of(file.header.e_machine, file.encoding.elf64);
    require(file.header.e_type != ET_REL, "a relocatable object: index the file that it is linked into");
    require(file.header.e_type == ET_EXEC || file.header.e_type == ET_DYN, "neither an executable nor a library");

    size_t segment_count = 0, section_count = 0, names = 0;
    require(elf_getphdrnum(elf.get(), &segment_count) == 0, "damaged program headers");
    for (size_t i = 0; i < segment_count; ++i) {
        GElf_Phdr segment;
        require(gelf_getphdr(elf.get(), int(i), &segment), "damaged program headers");
        require(segment.p_offset <= bytes.size() && segment.p_filesz <= bytes.size() - segment.p_offset,
                "a segment runs over the end of the file");
        file.segments.push_back(segment);
    }
    require(elf_getshdrnum(elf.get(), &section_count) == 0 && elf_getshdrstrndx(elf.get(), &names) == 0,
            "damaged section headers");
    require(section_count > 1, "no section headers, hence no notes to read");
    for (size_t i = 1; i < section_count; ++i) {
        Section section{i, {}, {}};
        Elf_Scn* scn = elf_getscn(elf.get(), i);
        require(scn && gelf_getshdr(scn, &section.header), "damaged section headers");
        if (section.in_file())
            require(section.header.sh_offset <= bytes.size()
                        && section.header.sh_size <= bytes.size() - section.header.sh_offset,
                    "a section runs over the end of the file");
        const char* name = elf_strptr(elf.get(), names, section.header.sh_name);
        section.name = name ? name : "";
        file.sections.push_back(section);
    }
    for (const Section& section : file.sections)
        if (section.loaded() && (section.header.sh_flags & SHF_EXECINSTR) && section.in_file()
            && section.header.sh_size > 0)
            file.code.push_back(&section);
    std::stable_sort(file.code.begin(), file.code.end(),
                     [](const Section* a, const Section* b) { return a->header.sh_addr < b->header.sh_addr; });
    return file;
}

struct Note {
    Bytes whole; // header, owner, descriptor and padding
    std::string_view owner;
    uint32_t type;
    Bytes descriptor;
};

std::vector<Note> notes_in(const Elf_file& file, const Section& section)
{
    const Bytes content = file.content(section);
    const auto padded = [](uint64_t size) { return (size + 3) & ~uint64_t(3); };
    std::vector<Note> notes;
    for (uint64_t at = 0; at < content.size();) {
        const auto fail = [&] {
            throw Index_error(
                fmt::format("{}: the note at offset {:#x} runs over the section's end", section.name, at));
        };
        if (content.size() - at < 12)
            fail();
        const uint64_t owner_size = load(&content[at], 4, file.encoding.big_endian);
        const uint64_t size = load(&content[at + 4], 4, file.encoding.big_endian);
        const uint64_t descriptor = at + 12 + padded(owner_size);
        if (descriptor + size > content.size())
            fail();
        // The last note's padding may be missing.
        const uint64_t end = std::min<uint64_t>(descriptor + padded(size), content.size());
        const char* owner = reinterpret_cast<const char*>(content.data()) + at + 12;
        notes.push_back({content.subspan(at, end - at),
                         {owner, strnlen(owner, owner_size)},
                         uint32_t(load(&content[at + 8], 4, file.encoding.big_endian)),
                         content.subspan(descriptor, size)});
        at = end;
    }
    return notes;
}

// The code at a vaddr, up to the end of its section; empty where the file has no code. Sections are asked and not
// segments, because old layouts map the ELF header executable and a dropped function's address is often 0.
Bytes code_at(const Elf_file& file, uint64_t vaddr)
{
    if (file.arch == Arch::arm)
        vaddr &= ~uint64_t(1); // Thumb
    const auto after = std::upper_bound(file.code.begin(), file.code.end(), vaddr,
                                        [](uint64_t a, const Section* s) { return a < s->header.sh_addr; });
    if (after == file.code.begin() || !(*(after - 1))->holds(vaddr))
        return {};
    const Section& section = **(after - 1);
    return file.content(section).subspan(vaddr - section.header.sh_addr);
}

// What stands at the beginning of `code`; `expected` helps the recognizer.
fastsdt_recognized recognize(const Elf_file& file, int expected, Bytes code)
{
    fastsdt_recognized found;
    fastsdt_recognize(&found, file.header.e_machine, expected, reinterpret_cast<const unsigned char*>(code.data()),
                      code.size());
    return found;
}

// Whether `code` begins with a nop, as every site has it. Where nothing is known about the architecture: yes.
bool any_nop(const Elf_file& file, Bytes code)
{
    if (file.arch == Arch::unknown || recognize(file, FASTSDT_LAYOUT_NOP, code).patch_length)
        return true;
    if (file.arch != Arch::x86_64 && file.arch != Arch::i386)
        return false;
    // Multi-byte nops that are no layout of ours: prefixes, then nop or nopl.
    while (!code.empty() && (code[0] == std::byte(0x66) || code[0] == std::byte(0x2e)))
        code = code.subspan(1);
    return (code.size() > 0 && code[0] == std::byte(0x90))
        || (code.size() > 1 && code[0] == std::byte(0x0f) && code[1] == std::byte(0x1f));
}

// Why no code of ours stands where the record says, or nothing.
const char* missing(const Elf_file& file, const Record& record, uint64_t moved)
{
    const Bytes code = code_at(file, record.address + moved);
    if (code.empty())
        return "not in an executable section";
    if (record.layout == FASTSDT_LAYOUT_OTHER || file.arch == Arch::unknown)
        return nullptr; // any code may be meant
    const fastsdt_recognized found = recognize(file, record.layout, code);
    return found.layout == record.layout && found.lead == record.lead ? nullptr
                                                                      : "the code there does not have its layout";
}

struct Stapsdt {
    Note note;
    uint64_t pc, base;
    std::string name;
};

std::optional<Stapsdt> decode_stapsdt(const Note& note, Encoding encoding)
{
    const size_t size = encoding.address_size();
    if (note.owner != "stapsdt" || note.type != 3 || note.descriptor.size() < 3 * size + 3)
        return {};
    const std::string_view text(reinterpret_cast<const char*>(note.descriptor.data()) + 3 * size,
                                note.descriptor.size() - 3 * size);
    const size_t provider = text.find('\0');
    const size_t name = provider == text.npos ? text.npos : text.find('\0', provider + 1);
    if (name == text.npos)
        return {};
    return Stapsdt{note, load(&note.descriptor[0], size, encoding.big_endian),
                   load(&note.descriptor[size], size, encoding.big_endian),
                   fmt::format("{}:{}", text.substr(0, provider), text.substr(provider + 1, name - provider - 1))};
}

// Functions folded by the linker leave one record each at one address: keep what is true of all of them.
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
    std::vector<std::byte> descriptor;
    try {
        descriptor = encode_index(records, encoding);
    } catch (const std::length_error& error) {
        throw Index_error(error.what());
    }
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

struct Layout_notes {
    std::vector<Record> records; // of SITE, ENTRY and INDEX notes
    std::vector<Note> others;    // of types and versions that this program does not know: kept
};

Layout_notes read_layout(const Elf_file& file)
{
    Layout_notes result;
    for (const Section& section : file.sections) {
        if (section.name != layout_section || section.header.sh_type != SHT_NOTE)
            continue;
        for (const Note& note : notes_in(file, section)) {
            if (note.owner == FASTSDT_NOTE_OWNER && note.type == FASTSDT_NOTE_INDEX) {
                std::string error;
                const auto index = Index::open(note.descriptor, file.encoding, error);
                if (!index)
                    throw Index_error(fmt::format("{}: {}", section.name, error));
                if (const auto wrong = index->check())
                    throw Index_error(fmt::format("{}: INDEX note: {}", section.name, *wrong));
                for (size_t i = 0; i < index->size(); ++i)
                    result.records.push_back(*index->at(i));
                continue;
            }
            const auto record = note.owner == FASTSDT_NOTE_OWNER
                ? decode_record(note.type, note.descriptor, file.encoding)
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
void place_section(std::vector<std::byte>& out, const Elf_file& file, uint64_t table_offset, size_t number,
                   uint64_t offset, uint64_t size)
{
    const Encoding encoding = file.encoding;
    const bool elf64 = encoding.elf64;
    std::byte* const row = &out[table_offset + number * file.header.e_shentsize];
    store(row + (elf64 ? offsetof(Elf64_Shdr, sh_offset) : offsetof(Elf32_Shdr, sh_offset)), encoding.address_size(),
          offset, encoding.big_endian);
    store(row + (elf64 ? offsetof(Elf64_Shdr, sh_size) : offsetof(Elf32_Shdr, sh_size)), encoding.address_size(), size,
          encoding.big_endian);
}

// Where the notes or the section headers lie between segments, nothing moves: patchelf puts a segment behind all, and
// PT_RISCV_ATTRIBUTES is one that is not loaded. What the smaller notes leave is zeroed; notes that have grown go to the
// end of the file.
std::vector<std::byte> rewrite_in_place(const Elf_file& file, const Contents& contents, uint64_t table_size)
{
    std::vector<std::byte> out(file.bytes.begin(), file.bytes.end());
    const GElf_Ehdr& header = file.header;
    std::vector<std::pair<uint64_t, uint64_t>> ranges = {
        {0, header.e_ehsize},
        {header.e_phoff, header.e_phoff + uint64_t(header.e_phentsize) * file.segments.size()},
        {header.e_shoff, header.e_shoff + table_size}};
    for (const GElf_Phdr& segment : file.segments)
        ranges.emplace_back(segment.p_offset, segment.p_offset + segment.p_filesz);
    for (const Section& section : file.sections)
        if (section.in_file() && !contents.count(section.number))
            ranges.emplace_back(section.header.sh_offset, section.header.sh_offset + section.header.sh_size);
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
        const GElf_Shdr& section = file.sections[number - 1].header;
        const auto next = taken.lower_bound(section.sh_offset + section.sh_size);
        if (section.sh_size > 0
            && ((next != taken.begin() && std::prev(next)->second > section.sh_offset)
                || !taken.emplace(section.sh_offset, section.sh_offset + section.sh_size).second))
            throw Index_error(fmt::format("{} shares its place in the file with something else, so it cannot change",
                                          file.sections[number - 1].name));
        end = std::max<uint64_t>(end, section.sh_offset + section.sh_size);
    }
    for (const auto& [number, content] : contents) {
        const Section& section = file.sections[number - 1];
        uint64_t offset = section.header.sh_offset;
        const uint64_t old_size = section.header.sh_size;
        std::fill_n(out.begin() + offset, old_size, std::byte(0));
        if (content.size() > old_size) {
            require(end == file.bytes.size(),
                    "there is data behind the end of the ELF file: index it before that is appended");
            out.resize((out.size() + 3) & ~uint64_t(3));
            offset = out.size();
            out.resize(out.size() + content.size());
        }
        std::copy(content.begin(), content.end(), out.begin() + offset);
        place_section(out, file, header.e_shoff, number, offset, content.size());
    }
    return out;
}

std::vector<std::byte> rewrite(const Elf_file& file, const Contents& contents)
{
    const Encoding encoding = file.encoding;
    const GElf_Ehdr& header = file.header;
    const uint64_t segments_size = uint64_t(header.e_phentsize) * file.segments.size();
    uint64_t fixed = std::max<uint64_t>(header.e_ehsize, header.e_phoff + segments_size);
    for (const GElf_Phdr& segment : file.segments)
        fixed = std::max<uint64_t>(fixed, segment.p_offset + segment.p_filesz);
    for (const Section& section : file.sections)
        if (section.loaded() && section.in_file())
            fixed = std::max<uint64_t>(fixed, section.header.sh_offset + section.header.sh_size);
    require(fixed <= file.bytes.size(), "the program headers run over the end of the file");

    const uint64_t table_size = uint64_t(header.e_shentsize) * (file.sections.size() + 1);
    require(header.e_shoff <= file.bytes.size() && table_size <= file.bytes.size() - header.e_shoff,
            "the section headers run over the end of the file");
    require(header.e_shentsize == (encoding.elf64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr)), "damaged ELF header");
    bool in_place = header.e_shoff < fixed;
    for (const auto& [number, content] : contents)
        in_place |= file.sections[number - 1].header.sh_offset < fixed;
    if (in_place)
        return rewrite_in_place(file, contents, table_size);

    std::vector<Piece> pieces;
    for (const Section& section : file.sections) {
        const GElf_Shdr& h = section.header;
        if (!section.loaded() && section.in_file() && h.sh_offset >= fixed)
            pieces.push_back({h.sh_offset, h.sh_size, std::max<uint64_t>(h.sh_addralign, 1), &section});
    }
    pieces.push_back({header.e_shoff, table_size, encoding.address_size(), nullptr, true});
    std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
        return std::pair(a.offset, a.size) < std::pair(b.offset, b.size);
    });

    std::vector<std::byte> out(file.bytes.begin(), file.bytes.begin() + fixed);
    std::map<size_t, uint64_t> offsets;
    uint64_t table_offset = 0, end = fixed;
    const auto align = [&](uint64_t alignment) {
        require((alignment & (alignment - 1)) == 0 && alignment <= 1 << 24, "a section's alignment is not sensible");
        out.resize((out.size() + alignment - 1) & ~(alignment - 1));
    };
    for (const Piece& piece : pieces) {
        require(piece.offset >= end, "sections overlap");
        const Bytes gap = file.bytes.subspan(end, piece.offset - end);
        if (std::any_of(gap.begin(), gap.end(), [](std::byte b) { return b != std::byte(0); }))
            append(out, gap); // not ours and not padding: it stays
        align(piece.alignment);
        if (piece.table)
            table_offset = out.size();
        if (piece.section) {
            offsets[piece.section->number] = out.size();
            const auto changed = contents.find(piece.section->number);
            append(out, changed == contents.end() ? file.content(*piece.section) : Bytes(changed->second));
        } else {
            append(out, file.bytes.subspan(piece.offset, piece.size));
        }
        end = piece.offset + piece.size;
    }
    require(end == file.bytes.size(), "there is data behind the end of the ELF file: index it before that is appended");

    store(&out[encoding.elf64 ? offsetof(Elf64_Ehdr, e_shoff) : offsetof(Elf32_Ehdr, e_shoff)], encoding.address_size(),
          table_offset, encoding.big_endian);
    for (const auto& [number, offset] : offsets) {
        const auto changed = contents.find(number);
        place_section(out, file, table_offset, number, offset,
                      changed == contents.end() ? file.sections[number - 1].header.sh_size : changed->second.size());
    }
    return out;
}

bool equal(Bytes a, Bytes b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

// Reads the new file from its bytes alone and compares it with the old one and with what it should hold.
void verify(const Elf_file& old, Bytes bytes, const Contents& contents, const std::vector<Record>& records)
{
    const auto check = [](bool condition, const char* what) {
        if (!condition)
            throw Index_error(
                fmt::format("the result failed verification ({}); this is a bug, nothing was written", what));
    };
    const Elf_file now = read_elf(bytes);
    check(now.segments.size() == old.segments.size() && now.sections.size() == old.sections.size(), "headers");
    for (size_t i = 0; i < old.segments.size(); ++i)
        check(memcmp(&old.segments[i], &now.segments[i], sizeof(GElf_Phdr)) == 0, "program headers");
    // The ELF header itself is usually loaded, and e_shoff in it has to change.
    const size_t shoff = old.encoding.elf64 ? offsetof(Elf64_Ehdr, e_shoff) : offsetof(Elf32_Ehdr, e_shoff);
    check(equal(old.bytes.first(shoff), bytes.first(shoff)), "ELF header");
    const uint64_t table = old.header.e_shoff;
    const uint64_t table_end = table + uint64_t(old.header.e_shentsize) * (old.sections.size() + 1);
    for (const GElf_Phdr& segment : old.segments) {
        const auto same = [&](uint64_t from, uint64_t end) {
            return end <= from || equal(old.bytes.subspan(from, end - from), bytes.subspan(from, end - from));
        };
        const uint64_t from = std::max<uint64_t>(segment.p_offset, shoff + old.encoding.address_size());
        const uint64_t end = segment.p_offset + segment.p_filesz;
        // Section headers inside a segment: compared below.
        check(same(from, std::min(end, table)) && same(std::max(from, table_end), end), "loaded bytes");
    }
    for (size_t i = 0; i < old.sections.size(); ++i) {
        GElf_Shdr a = old.sections[i].header, b = now.sections[i].header;
        const auto changed = contents.find(old.sections[i].number);
        check(equal(now.content(now.sections[i]),
                    changed == contents.end() ? old.content(old.sections[i]) : Bytes(changed->second)),
              "section contents");
        if (!old.sections[i].loaded())
            a.sh_offset = b.sh_offset;
        if (changed != contents.end())
            a.sh_size = b.sh_size;
        check(memcmp(&a, &b, sizeof a) == 0 && now.sections[i].name == old.sections[i].name, "section headers");
    }
    check(fold(read_layout(now).records) == records, "records");
}

} // namespace

Index_result index_notes(std::span<const std::byte> bytes)
{
    const Elf_file file = read_elf(bytes);
    Index_result result;
    std::vector<const Section*> layout_sections, stapsdt_sections;
    const Section* base = nullptr;
    for (const Section& section : file.sections) {
        if (section.name == layout_section && section.header.sh_type == SHT_NOTE)
            layout_sections.push_back(&section);
        if (section.name == stapsdt_section && section.header.sh_type == SHT_NOTE)
            stapsdt_sections.push_back(&section);
        if (section.name == base_section && !base)
            base = &section;
        if ((section.header.sh_flags & SHF_EXECINSTR) && section.loaded())
            require(section.in_file(),
                    "the code is not in this file (separate debug information?): index the file that has it");
    }

    Layout_notes layout = read_layout(file);
    // What SITE records vouch for, or would if their code were there: pc, layout and lead, each once and sorted. Beyond
    // the last layout and the longest landing pad all are alike: nothing stands there.
    struct Vouched {
        uint64_t pc;
        uint8_t layout, lead;
        auto operator<=>(const Vouched&) const = default;
    };
    std::vector<Vouched> sites;
    for (const Record& record : layout.records)
        if (record.type == FASTSDT_NOTE_SITE)
            sites.push_back({record.address, std::min<uint8_t>(record.layout, FASTSDT_LAYOUT_STP + 1),
                             std::min<uint8_t>(record.lead, 16)});
    std::sort(sites.begin(), sites.end());
    sites.erase(std::unique(sites.begin(), sites.end()), sites.end());
    const auto why_no_site = [&](uint64_t pc, uint64_t moved) -> const char* {
        auto known = std::lower_bound(sites.begin(), sites.end(), Vouched{pc, 0, 0});
        if (known == sites.end() || known->pc != pc) {
            const Bytes code = code_at(file, pc + moved);
            return code.empty() ? "not in an executable section" : any_nop(file, code) ? nullptr : "no nop there";
        }
        const char* why = nullptr;
        for (; known != sites.end() && known->pc == pc; ++known) {
            Record record;
            record.address = pc;
            record.layout = known->layout;
            record.lead = known->lead;
            if (!(why = missing(file, record, moved)))
                break;
        }
        return why;
    };

    Contents contents;
    uint64_t moved = 0; // by prelink, as the notes' base tells
    std::unordered_set<std::string_view> seen;
    // libbpf and perf read the first section of the name only, so all goes there. mold makes a second one for notes that
    // another header made, without SHF_LINK_ORDER: those of a static libstdc++, for example.
    const bool join =
        std::none_of(stapsdt_sections.begin(), stapsdt_sections.end(), [](const Section* s) { return s->loaded(); });
    std::map<const Section*, std::vector<std::byte>> stapsdt;
    for (const Section* section : stapsdt_sections) {
        std::vector<std::byte>& kept = stapsdt[join ? stapsdt_sections.front() : section];
        pad(kept);
        const size_t before = kept.size();
        for (const Note& note : notes_in(file, *section)) {
            const auto probe = decode_stapsdt(note, file.encoding);
            if (!probe) {
                append(kept, note.whole);
                continue;
            }
            const uint64_t shift = base && probe->base ? base->header.sh_addr - probe->base : 0;
            const char* why = why_no_site(probe->pc, shift);
            // Readers take the note's base as it is; where it leads away from the site, it was not relocated.
            const bool wrong_base =
                base && probe->base != base->header.sh_addr && (why || shift == 0) && !why_no_site(probe->pc, 0);
            if (why && !wrong_base) {
                result.removed.push_back({"probe " + probe->name, probe->pc, why});
                continue;
            }
            const std::string_view text(reinterpret_cast<const char*>(note.whole.data()), note.whole.size());
            if (!seen.insert(text).second) {
                result.removed.push_back({"probe " + probe->name, probe->pc, "the same note twice"});
                continue;
            }
            const size_t at = kept.size() + (note.descriptor.data() - note.whole.data());
            append(kept, note.whole);
            ++result.probes;
            if (wrong_base) {
                store(&kept[at + file.encoding.address_size()], file.encoding.address_size(), base->header.sh_addr,
                      file.encoding.big_endian);
                ++result.rebased;
            } else {
                moved = shift;
            }
        }
        result.joined += kept.size() > before && before > 0;
        result.stapsdt_bytes_before += section->header.sh_size;
    }
    for (const Section* section : stapsdt_sections) {
        std::vector<std::byte>& kept = stapsdt[section];
        result.stapsdt_bytes_after += kept.size();
        if (!equal(kept, file.content(*section)))
            contents[section->number] = std::move(kept);
    }

    std::vector<Record> live;
    for (const Record& record : layout.records) {
        const char* why = missing(file, record, moved);
        const char* what = record.type == FASTSDT_NOTE_SITE ? "site" : "entry";
        if (why)
            result.removed.push_back({what, record.address, why});
        else
            live.push_back(record);
    }
    live = fold(std::move(live));
    for (const Record& record : live)
        ++(record.type == FASTSDT_NOTE_SITE ? result.sites : result.entries);

    for (const Section* section : layout_sections) {
        std::vector<std::byte> content;
        if (section == layout_sections.front()) {
            if (!live.empty())
                content = index_note(live, file.encoding);
            for (const Note& note : layout.others) {
                append(content, note.whole);
                pad(content);
            }
        }
        result.layout_bytes_before += section->header.sh_size;
        result.layout_bytes_after += content.size();
        if (!equal(content, file.content(*section)))
            contents[section->number] = std::move(content);
    }

    std::set<size_t> relocated;
    for (const Section& section : file.sections)
        if (section.header.sh_type == SHT_REL || section.header.sh_type == SHT_RELA)
            relocated.insert(section.header.sh_info);
    for (const auto& [number, content] : contents) {
        const Section& section = file.sections[number - 1];
        if (section.loaded())
            throw Index_error(fmt::format("{} is loaded with the program and cannot change: link it as a section"
                                          " that is not allocated",
                                          section.name));
        if (relocated.count(number))
            throw Index_error(fmt::format("{} has relocations (--emit-relocs): index the file after the tool that"
                                          " needs them, or drop them with objcopy --remove-relocations={}",
                                          section.name, section.name));
    }
    result.changed = !contents.empty();
    if (result.changed) {
        result.file = rewrite(file, contents);
        verify(file, result.file, contents, live);
    }
    return result;
}

} // namespace fastsdt
