// SPDX-License-Identifier: BSD-2-Clause
// 0. Make notes of the records that stand in code (code_notes.h), and give the file the sections for them.
// 1. Walk both note sections of the image, decode what is ours.
// 2. Compare each note with the code it names. What has none is dropped; the rest is sorted and encoded.
// 3. Write the file anew (sections.h): all up to the end of the last segment stays where it is; after it, sections move up to
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
#include "sections.h"

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

using namespace sections;

constexpr std::string_view stapsdt_section = ".note.stapsdt";
constexpr std::string_view layout_section = FASTSDT_NOTE_SECTION;
constexpr std::string_view base_section = ".stapsdt.base";

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

std::vector<std::byte> index_note(const std::vector<Record>& records, Encoding encoding)
{
    std::vector<std::byte> note;
    append_note(note, FASTSDT_NOTE_OWNER, FASTSDT_NOTE_INDEX, encode_index(records, encoding), encoding);
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
        pad_notes(content);
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
            pad_notes(kept);
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
                    pad_notes(content);
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
