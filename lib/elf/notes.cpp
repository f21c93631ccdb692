// SPDX-License-Identifier: BSD-2-Clause
// The three note sections, taken apart:
//
//     .note.stapsdt     pc, base, semaphore, "provider\0name\0-4@%edi 8@%rsi\0"       -> ProbeNote, in the order of the file
//     .note.fastsdt     SITE, ENTRY and EXIT records, or one INDEX note with all of them    -> Record, by address
//     .note.fastsdt.names   types and names of arguments                                    -> ArgumentNames
//
// Each section is walked note by note until one does not fit; what was before it counts, and a NoteTrouble says where it ended. A note's pc is
// moved by what .stapsdt.base has moved since the link, as tracers do it; records have the pc as it was, which joins them to their note.
#include "base/bytes.h"
#include "base/integers.h"
#include "elf/notes.h"

#include <fastsdt/note.h>

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace fastsdt {
namespace {

constexpr size_t most_troubles = 100; // of one image: a damaged section has as many as it has notes

class NoteReader {
public:
    explicit NoteReader(const Image& image) : image_(image), encoding_(image.encoding()) {}

    Notes read()
    {
        for (const Section& section : image_.sections())
            if (section.name == ".stapsdt.base" && !notes_.base)
                notes_.base = section.address;
        NoteBudget budget(image_);
        size_t stapsdt_sections = 0;
        for (const Section& section : image_.sections()) {
            const bool stapsdt = section.name == ".note.stapsdt";
            if (!stapsdt && section.name != FASTSDT_NOTE_SECTION && section.name != FASTSDT_NAMES_SECTION)
                continue;
            section_ = &section;
            if (section.type == SHT_NOBITS)
                continue;
            if (section.type != SHT_NOTE) {
                trouble(NoteTrouble::Kind::not_a_note, 0,
                        fmt::format("its type is {:#x}, not SHT_NOTE: tracers do not read it", section.type));
                continue;
            }
            const auto raw = image_.raw_contents(section);
            if (raw.size() < section.size)
                trouble(NoteTrouble::Kind::malformed, raw.size(),
                        "truncated: the section ends past the end of the file");
            if (!budget.afford(raw)) {
                trouble(NoteTrouble::Kind::malformed, 0, notes_overlap);
                break;
            }
            if (stapsdt && !raw.empty() && !image_.relocatable() && ++stapsdt_sections > 1)
                trouble(NoteTrouble::Kind::split, 0,
                        "a further section of that name: libbpf and perf read the first one only");
            const auto contents = image_.contents(section);
            if (image_.overlapping()) {
                trouble(NoteTrouble::Kind::malformed, 0, "the relocation sections overlap; the rest is left out");
                break;
            }
            walk(contents, stapsdt);
        }
        std::sort(notes_.sites.begin(), notes_.sites.end());
        std::sort(notes_.entries.begin(), notes_.entries.end());
        std::sort(notes_.exits.begin(), notes_.exits.end(),
                  [](const Record& a, const Record& b) { return std::tie(a.operand, a) < std::tie(b.operand, b); });
        std::sort(notes_.names.begin(), notes_.names.end(), [](const ArgumentNames& a, const ArgumentNames& b) {
            const size_t a_count = a.arguments.size(), b_count = b.arguments.size();
            return std::tie(a.provider, a.name, a_count, a.arguments)
                < std::tie(b.provider, b.name, b_count, b.arguments);
        });
        notes_.names.erase(std::unique(notes_.names.begin(), notes_.names.end()), notes_.names.end());
        return std::move(notes_);
    }

private:
    void trouble(NoteTrouble::Kind kind, uint64_t offset, std::string what)
    {
        if (notes_.troubles.size() < most_troubles)
            notes_.troubles.push_back({kind, std::string(section_->name), offset, std::move(what)});
        else if (notes_.troubles.size() == most_troubles)
            notes_.troubles.push_back({NoteTrouble::Kind::too_many, std::string(section_->name), offset,
                                       "more of the same kind are not listed"});
    }

    void walk(std::span<const std::byte> bytes, bool stapsdt)
    {
        const auto fault = each_note(bytes, encoding_, [&](const RawNote& note) {
            offset_ = note.offset;
            if (stapsdt)
                probe(note);
            else
                record(note.owner, note.type, note.descriptor);
        });
        if (fault)
            trouble(NoteTrouble::Kind::malformed, fault->offset, fault->what);
    }

    void probe(const RawNote& note)
    {
        if (!is_stapsdt(note)) {
            trouble(
                NoteTrouble::Kind::foreign, offset_,
                fmt::format("owner \"{}\" type {:#x} in .note.stapsdt: libbpf then attaches to no probe of the file",
                            note.owner, note.type));
            return;
        }
        const auto decoded = decode_stapsdt(note, encoding_);
        if (!decoded) {
            trouble(NoteTrouble::Kind::malformed, offset_, decoded.error().text());
            return;
        }
        ProbeNote probe = *decoded;
        uint64_t moved = 0;
        if (notes_.base && *notes_.base != 0 && probe.note_base != 0)
            moved = *notes_.base - probe.note_base;
        const uint64_t mask = image_.undefined();
        probe.address = probe.note_address == mask ? mask : (probe.note_address + moved) & mask;
        if (probe.semaphore != 0 && probe.semaphore != mask)
            probe.semaphore = (probe.semaphore + moved) & mask;
        notes_.probes.push_back(probe);
    }

    void record(std::string_view owner, uint32_t type, std::span<const std::byte> descriptor)
    {
        if (owner != FASTSDT_NOTE_OWNER) {
            trouble(NoteTrouble::Kind::foreign, offset_,
                    fmt::format("owner \"{}\" in {}", owner, FASTSDT_NOTE_SECTION));
            return;
        }
        if (type == FASTSDT_NOTE_INDEX) {
            index(descriptor);
            return;
        }
        if (type == FASTSDT_NOTE_NAMES) {
            names(descriptor);
            return;
        }
        if (const auto record = decode_record(type, descriptor, encoding_)) {
            keep(*record);
            return;
        }
        const bool known = is_record(type);
        if (known && (descriptor.empty() || descriptor[0] == std::byte(FASTSDT_NOTE_VERSION)))
            trouble(NoteTrouble::Kind::malformed, offset_, "a layout record is shorter than its version says");
        else if (known)
            trouble(NoteTrouble::Kind::version, offset_,
                    fmt::format("a layout record of version {}", std::to_integer<int>(descriptor[0])));
        else
            trouble(NoteTrouble::Kind::version, offset_, fmt::format("a record of type {:#x}", type));
    }

    void names(std::span<const std::byte> descriptor)
    {
        constexpr size_t header = 4;
        if (descriptor.size() >= header && descriptor[0] != std::byte(FASTSDT_NOTE_VERSION)) {
            trouble(NoteTrouble::Kind::version, offset_,
                    fmt::format("names of version {}", std::to_integer<int>(descriptor[0])));
            return;
        }
        std::string_view rest = descriptor.size() < header ? std::string_view() : text_of(descriptor.subspan(header));
        bool whole = true;
        const auto next = [&] {
            const auto end = rest.find('\0');
            whole &= end != rest.npos;
            const std::string_view word = rest.substr(0, end);
            rest.remove_prefix(whole ? end + 1 : rest.size());
            return word;
        };
        ArgumentNames names;
        names.provider = next();
        names.name = next();
        for (int i = whole ? std::to_integer<int>(descriptor[1]) : 0; whole && i > 0; --i) {
            const std::string_view type = next();
            names.arguments.push_back({type, next()});
        }
        if (!whole)
            trouble(NoteTrouble::Kind::malformed, offset_, "a string in a note of names has no end");
        else
            notes_.names.push_back(std::move(names));
    }

    void index(std::span<const std::byte> descriptor)
    {
        notes_.indexed = true;
        const auto index = Index::open(descriptor, encoding_);
        if (!index) {
            trouble(NoteTrouble::Kind::index, offset_, index.error().text());
            return;
        }
        if (const auto sound = index->check(); !sound)
            trouble(NoteTrouble::Kind::index, offset_, sound.error().text());
        // An index record is at least 5 bytes of the file: the vectors stay in proportion to it.
        for (size_t i = 0; i < index->size(); ++i)
            if (const auto record = index->at(i))
                keep(*record);
    }

    void keep(const Record& record)
    {
        switch (record.type) {
        case FASTSDT_NOTE_SITE: notes_.sites.push_back(record); break;
        case FASTSDT_NOTE_ENTRY: notes_.entries.push_back(record); break;
        case FASTSDT_NOTE_EXIT: notes_.exits.push_back(record); break;
        }
    }

    const Image& image_;
    const Encoding encoding_;
    const Section* section_ = nullptr;
    uint64_t offset_ = 0;
    Notes notes_;
};

} // namespace

std::optional<NoteFault> each_note(std::span<const std::byte> section, Encoding encoding,
                                   const std::function<void(const RawNote&)>& visit)
{
    constexpr size_t header = 12;
    const bool big = encoding.big_endian;
    const auto padded = [](uint64_t size) { return (size + 3) & ~uint64_t(3); };
    for (size_t at = 0; at < section.size();) {
        const auto rest = section.subspan(at);
        if (rest.size() < header)
            return NoteFault{at, "the section ends inside a note's header"};
        const uint64_t owner_size = load(&rest[0], 4, big);
        const uint64_t size = load(&rest[4], 4, big);
        const uint64_t descriptor = header + padded(owner_size);
        if (descriptor > rest.size() || size > rest.size() - descriptor)
            return NoteFault{at, "a note runs over the end of its section"};
        const uint64_t whole = std::min<uint64_t>(descriptor + padded(size), rest.size());
        std::string_view owner = text_of(rest.subspan(header, owner_size));
        if (owner.ends_with('\0'))
            owner.remove_suffix(1);
        visit({at, rest.first(whole), owner, uint32_t(load(&rest[8], 4, big)), rest.subspan(descriptor, size)});
        at += whole;
    }
    return {};
}

void pad_notes(std::vector<std::byte>& notes)
{
    notes.resize((notes.size() + 3) / 4 * 4);
}

void append_note(std::vector<std::byte>& notes, std::string_view owner, uint32_t type,
                 std::span<const std::byte> descriptor, Encoding encoding)
{
    const size_t at = notes.size();
    const auto name = std::as_bytes(std::span(owner.data(), owner.size()));
    notes.resize(at + 12);
    store(&notes[at], 4, owner.size() + 1, encoding.big_endian);
    store(&notes[at + 4], 4, descriptor.size(), encoding.big_endian);
    store(&notes[at + 8], 4, type, encoding.big_endian);
    notes.insert(notes.end(), name.begin(), name.end());
    notes.push_back(std::byte(0));
    pad_notes(notes);
    notes.insert(notes.end(), descriptor.begin(), descriptor.end());
    pad_notes(notes);
}

bool is_stapsdt(const RawNote& note)
{
    return note.owner == stapsdt_owner && note.type == stapsdt_type;
}

Result<ProbeNote> decode_stapsdt(const RawNote& note, Encoding encoding)
{
    const auto fail = [](const char* why) { return Error{why}; };
    if (!is_stapsdt(note))
        return fail("not a stapsdt note");
    const size_t size = encoding.address_size();
    const bool big = encoding.big_endian;
    if (note.descriptor.size() < 3 * size + 3)
        return fail("a stapsdt note is shorter than its fixed fields");
    ProbeNote probe;
    probe.note_address = probe.address = load(&note.descriptor[0], size, big);
    probe.note_base = load(&note.descriptor[size], size, big);
    probe.semaphore = load(&note.descriptor[2 * size], size, big);
    std::string_view rest = text_of(note.descriptor.subspan(3 * size));
    for (std::string_view* field : {&probe.provider, &probe.name, &probe.arguments}) {
        const auto end = rest.find('\0');
        if (end == rest.npos)
            return fail("a string in a stapsdt note has no end");
        *field = rest.substr(0, end);
        rest.remove_prefix(end + 1);
    }
    probe.trailing = rest.size();
    if (probe.name.empty())
        return fail("a stapsdt note without a probe name");
    return probe;
}

size_t ArgumentNames::size() const
{
    size_t size = 0;
    for (const One& one : arguments)
        size += one.type.size() + one.name.size();
    return size;
}

std::string ArgumentNames::signature() const
{
    std::string text = "(";
    for (const One& one : arguments) {
        if (text.size() > 1)
            text += ", ";
        text += one.type;
        if (!one.name.empty() && !one.type.ends_with('*'))
            text += ' ';
        text += one.name;
    }
    return text + ")";
}

std::vector<std::string> ArgumentNames::only_names() const
{
    std::vector<std::string> found;
    for (const One& argument : arguments)
        found.emplace_back(argument.name);
    return found;
}

const ArgumentNames* Notes::names_of(const ProbeNote& probe, size_t arguments) const
{
    const auto key = std::tuple(probe.provider, probe.name, arguments);
    const auto of = [](const ArgumentNames& n) { return std::tuple(n.provider, n.name, n.arguments.size()); };
    const auto found = std::lower_bound(names.begin(), names.end(), key,
                                        [&](const ArgumentNames& n, const auto& wanted) { return of(n) < wanted; });
    return found != names.end() && of(*found) == key ? &*found : nullptr;
}

const Record* Notes::site_at(uint64_t note_address) const
{
    const auto found = std::lower_bound(sites.begin(), sites.end(), note_address,
                                        [](const Record& r, uint64_t address) { return r.address < address; });
    return found != sites.end() && found->address == note_address ? &*found : nullptr;
}

Notes read_notes(const Image& image)
{
    return NoteReader(image).read();
}

} // namespace fastsdt
