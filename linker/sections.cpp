// SPDX-License-Identifier: BSD-2-Clause
#include "sections.h"

#include "base/integers.h"
#include "base/unusable.h"
#include "elf/archive.h"
#include "elf/notes.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

namespace fastsdt::sections {
namespace {

// `end` is where the last section or header ends. Padding may follow: patchelf 0.18 leaves a zero byte.
void require_end(const Image& file, uint64_t end)
{
    const Bytes rest = file.file().subspan(end);
    require(std::all_of(rest.begin(), rest.end(), [](std::byte b) { return b == std::byte(0); }),
            "data follows the end of the ELF file: index the file first, then append");
}

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
            pad_notes(out);
            offset = out.size();
            out.resize(out.size() + content.size());
        }
        std::copy(content.begin(), content.end(), out.begin() + offset);
        place_section(out, file, layout.section_headers.offset, number, offset, content.size());
    }
    return out;
}

} // namespace

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

void append(std::vector<std::byte>& to, Bytes bytes)
{
    to.insert(to.end(), bytes.begin(), bytes.end());
}

bool equal(Bytes a, Bytes b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
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

// Whether a file is what it was, with the sections that were added.
static bool has_added(const Image& now, const Image& file, const std::vector<NewSection>& added,
                      const std::vector<Section>& headers, const Section* shorter)
{
    const size_t count = file.sections().size(), names = file.layout().section_names;
    if (now.sections().size() != count + headers.size()
        || now.layout().segments.size() != file.layout().segments.size())
        return false;
    for (size_t i = 0; i < count; ++i) {
        const Section &before = file.sections()[i], &section = now.sections()[i];
        Bytes old = file.raw_contents(before);
        if (shorter && i == shorter->index)
            old = old.first(shorter->size);
        if (section.name != before.name || section.address != before.address
            || (i != names && in_file(before) && !equal(now.raw_contents(section), old)))
            return false;
    }
    for (size_t i = 0; i < headers.size(); ++i) {
        const Section& section = now.sections()[count + i];
        if (section.name != headers[i].name || section.address != headers[i].address
            || (!added[i].contents.empty() && !equal(now.raw_contents(section), added[i].contents)))
            return false;
    }
    return true;
}

std::vector<std::byte> with_sections(const Image& file, const std::vector<NewSection>& added, const Section* shorter)
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
        if (!has_added(now, file, added, headers, shorter))
            throw Unusable(fmt::format("the result failed verification ({}); this is a bug, nothing was written",
                                       headers.front().name));
    });
    return out;
}

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

} // namespace fastsdt::sections
