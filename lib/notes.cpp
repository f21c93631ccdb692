// SPDX-License-Identifier: BSD-2-Clause
#include "notes.h"
#include "integers.h"

#include <fastsdt/note.h>

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace fastsdt {
namespace {

constexpr size_t most_troubles = 100; // of one image: a damaged section has as many as it has notes
constexpr uint32_t stapsdt_type = 3;

std::string_view text(std::span<const std::byte> bytes)
{
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class Reader {
public:
    explicit Reader(const Image& image) : image_(image), encoding_(image.encoding()) {}

    Notes read()
    {
        for (const Section& section : image_.sections())
            if (section.name == ".stapsdt.base" && !notes_.base)
                notes_.base = section.address;
        // An object has one section per probed function. Sections of a sound file do not overlap, so together they are
        // not larger than it.
        uint64_t budget = image_.file().size();
        size_t stapsdt_sections = 0;
        for (const Section& section : image_.sections()) {
            const bool stapsdt = section.name == ".note.stapsdt";
            if (!stapsdt && section.name != FASTSDT_NOTE_SECTION)
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
            if (raw.size() > budget) {
                trouble(NoteTrouble::Kind::malformed, 0, "the note sections overlap");
                break;
            }
            budget -= raw.size();
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
        constexpr size_t header = 12;
        const bool big = encoding_.big_endian;
        size_t at = 0;
        while (at < bytes.size()) {
            offset_ = at;
            if (bytes.size() - at < header) {
                trouble(NoteTrouble::Kind::malformed, at, "the section ends inside a note's header");
                return;
            }
            const uint64_t name_size = load(&bytes[at], 4, big);
            const uint64_t size = load(&bytes[at + 4], 4, big);
            const auto type = uint32_t(load(&bytes[at + 8], 4, big));
            at += header;
            const uint64_t name_end = (name_size + 3) & ~uint64_t(3);
            if (name_end > bytes.size() - at || size > bytes.size() - at - name_end) {
                trouble(NoteTrouble::Kind::malformed, offset_, "a note runs over the end of its section");
                return;
            }
            std::string_view owner = text(bytes.subspan(at, name_size));
            if (owner.ends_with('\0'))
                owner.remove_suffix(1);
            const auto descriptor = bytes.subspan(at + name_end, size);
            if (stapsdt)
                probe(owner, type, descriptor);
            else
                record(owner, type, descriptor);
            const uint64_t whole = name_end + ((size + 3) & ~uint64_t(3));
            at = whole > bytes.size() - at ? bytes.size() : at + whole; // the last note's padding may be missing
        }
    }

    void probe(std::string_view owner, uint32_t type, std::span<const std::byte> descriptor)
    {
        if (owner != "stapsdt" || type != stapsdt_type) {
            trouble(
                NoteTrouble::Kind::foreign, offset_,
                fmt::format("owner \"{}\" type {:#x} in .note.stapsdt: libbpf then attaches to no probe of the file",
                            owner, type));
            return;
        }
        const size_t size = encoding_.address_size();
        const bool big = encoding_.big_endian;
        if (descriptor.size() < 3 * size + 3) {
            trouble(NoteTrouble::Kind::malformed, offset_, "a stapsdt note is shorter than its fixed fields");
            return;
        }
        Probe probe;
        probe.note_address = load(&descriptor[0], size, big);
        probe.note_base = load(&descriptor[size], size, big);
        probe.semaphore = load(&descriptor[2 * size], size, big);
        std::string_view rest = text(descriptor.subspan(3 * size));
        for (std::string_view* field : {&probe.provider, &probe.name, &probe.arguments}) {
            const auto end = rest.find('\0');
            if (end == rest.npos) {
                trouble(NoteTrouble::Kind::malformed, offset_, "a string in a stapsdt note has no end");
                return;
            }
            *field = rest.substr(0, end);
            rest.remove_prefix(end + 1);
        }
        probe.trailing = rest.size();
        if (probe.name.empty()) {
            trouble(NoteTrouble::Kind::malformed, offset_, "a stapsdt note without a probe name");
            return;
        }
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
        if (const auto record = decode_record(type, descriptor, encoding_)) {
            keep(*record);
            return;
        }
        const bool known = type == FASTSDT_NOTE_SITE || type == FASTSDT_NOTE_ENTRY;
        if (known && (descriptor.empty() || descriptor[0] == std::byte(FASTSDT_NOTE_VERSION)))
            trouble(NoteTrouble::Kind::malformed, offset_, "a layout record is shorter than its version says");
        else if (known)
            trouble(NoteTrouble::Kind::version, offset_,
                    fmt::format("a layout record of version {}", std::to_integer<int>(descriptor[0])));
        else
            trouble(NoteTrouble::Kind::version, offset_, fmt::format("a record of type {:#x}", type));
    }

    void index(std::span<const std::byte> descriptor)
    {
        notes_.indexed = true;
        std::string error;
        const auto index = Index::open(descriptor, encoding_, error);
        if (!index) {
            trouble(NoteTrouble::Kind::index, offset_, error);
            return;
        }
        if (const auto wrong = index->check())
            trouble(NoteTrouble::Kind::index, offset_, "INDEX note: " + *wrong);
        // An index record is at least 5 bytes of the file: the vectors stay in proportion to it.
        for (size_t i = 0; i < index->size(); ++i)
            if (const auto record = index->at(i))
                keep(*record);
    }

    void keep(const Record& record)
    {
        (record.type == FASTSDT_NOTE_SITE ? notes_.sites : notes_.entries).push_back(record);
    }

    const Image& image_;
    const Encoding encoding_;
    const Section* section_ = nullptr;
    uint64_t offset_ = 0;
    Notes notes_;
};

} // namespace

const Record* Notes::site_at(uint64_t note_address) const
{
    const auto found = std::lower_bound(sites.begin(), sites.end(), note_address,
                                        [](const Record& r, uint64_t address) { return r.address < address; });
    return found != sites.end() && found->address == note_address ? &*found : nullptr;
}

Notes read_notes(const Image& image)
{
    return Reader(image).read();
}

} // namespace fastsdt
