// SPDX-License-Identifier: BSD-2-Clause
#include "code_notes.h"

#include "base/integers.h"
#include "base/layouts.h"
#include "elf/code_records.h"
#include "elf/notes.h"
#include "judge/evaluate.h"

#include <fastsdt/note.h>

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

namespace fastsdt {
namespace {

constexpr uint8_t cache_line = 6;        // log2; every page has whole ones
constexpr uint64_t word = 4, marked = 1; // of a semaphore and of what is in front of it, which fastsdt-gen marks

class Maker {
public:
    explicit Maker(const Image& image) : image_(image), known_(read_notes(image)) {}

    CodeNotes run()
    {
        for (const ProbeNote& probe : known_.probes)
            noted_.emplace(probe.note_address, probe.provider, probe.name);
        for (const ArgumentNames& names : known_.names)
            named_.emplace(names.provider, names.name, names.arguments.size());
        std::vector<CodeRecord> records = code_records(image_);
        std::erase_if(records, [&](const CodeRecord& record) {
            const char* const why = record.wrong ? record.wrong : why_no_site(record);
            if (why && record.wrong)
                made_.left_out.push_back({"record in code", record.address, why});
            else if (why)
                made_.left_out.push_back(
                    {fmt::format("probe {}:{}", record.names.provider, record.names.name), record.site.address, why});
            return why || !noted_.emplace(record.site.address, record.names.provider, record.names.name).second;
        });
        if (records.empty())
            return std::move(made_);
        divide(records);
        for (const CodeRecord& record : records)
            add(record);
        return std::move(made_);
    }

private:
    // bcc, and bpftrace by it, finds semaphores by a section .probes, and gdb no probe without .stapsdt.base. Go's linker makes neither. A header
    // over data that another section has would make strip move it, so that section is divided: what is in front, the word in front of the first
    // semaphore, which is its mark, the semaphores, what is behind.
    void divide(const std::vector<CodeRecord>& records)
    {
        const auto by_semaphore = [](const CodeRecord& a, const CodeRecord& b) {
            return a.site.operand < b.site.operand;
        };
        const auto [first_record, last_record] = std::minmax_element(records.begin(), records.end(), by_semaphore);
        const uint64_t first = first_record->site.operand, last = last_record->site.operand;
        const Section *const data = image_.section_at(first),
                             *const code = image_.section_at(records.front().site.address);
        made_.base = known_.base.value_or(code ? code->address : 0);
        if (image_.section(".probes") || !data || data->type != SHT_PROGBITS || data->flags != (SHF_ALLOC | SHF_WRITE)
            || !std::ranges::all_of(records, [](const CodeRecord& one) { return one.site.operand % word == 0; }))
            return;
        // Something stays in front, and all semaphores are in there.
        const uint64_t in_front = known_.base ? 0 : word;
        if (first - data->address <= in_front || data->size < word || last - data->address > data->size - word
            || !(known_.base || has_mark(first - word)))
            return;
        const uint64_t mark = first - word, behind = last + word;
        const auto part = [&](std::string_view name, uint64_t from, uint64_t to) {
            Section section = *data;
            section.name = name;
            section.address = from;
            section.offset = data->offset + (from - data->address);
            section.size = to - from;
            section.align = word;
            made_.parts.push_back(section);
        };
        made_.parts.push_back(*data);
        made_.parts.front().size = (known_.base ? first : mark) - data->address;
        if (!known_.base) {
            made_.base = mark;
            part(".stapsdt.base", mark, first);
        }
        part(".probes", first, behind);
        if (behind < data->address + data->size)
            part(".data.behind", behind, data->address + data->size);
    }

    bool has_mark(uint64_t address) const
    {
        const auto bytes = image_.bytes_at(address);
        return bytes.size() >= word && load(bytes.data(), word, image_.encoding().big_endian) == marked;
    }

    const char* why_no_site(const CodeRecord& record) const
    {
        const ProbePoint place{record.site.address, &record.site, false};
        const auto code = image_.bytes_at(record.site.address);
        if (recognize(image_, place, record.site.layout, code).layout != record.site.layout)
            return "the code in front of its record does not have its layout";
        // The kernel counts tracers there, in a page that is the file's.
        const Segment* const segment = image_.segment_at(record.site.operand);
        if (!segment || !segment->writable
            || record.site.operand - segment->address.value + sizeof(uint16_t) > segment->file_size)
            return "its semaphore is in no data of the file";
        return nullptr;
    }

    void add(const CodeRecord& record)
    {
        const ArgumentNames& names = record.names;
        ++made_.made;
        const bool big = image_.encoding().big_endian;
        const size_t size = image_.encoding().address_size();
        std::vector<std::byte> descriptor(3 * size);
        store(&descriptor[0], size, record.site.address, big);
        store(&descriptor[size], size, made_.base, big);
        store(&descriptor[2 * size], size, record.site.operand, big);
        for (const std::string_view text : {names.provider, names.name, record.arguments})
            add_text(descriptor, text);
        append_note(made_.stapsdt, stapsdt_owner, stapsdt_type, descriptor, image_.encoding());

        // Nobody moves the code any more, so that what holds of its place may be promised.
        Record site = record.site;
        const uint64_t first = site.address + site.patch_offset;
        if (site.patch_length && first >> cache_line == (first + site.patch_length - 1) >> cache_line)
            site.bound = cache_line;
        append_note(made_.layout, FASTSDT_NOTE_OWNER, FASTSDT_NOTE_SITE, encode_record(site, image_.encoding()),
                    image_.encoding());

        if (names.arguments.empty() || !named_.emplace(names.provider, names.name, names.arguments.size()).second)
            return;
        descriptor = {std::byte(FASTSDT_NOTE_VERSION), std::byte(names.arguments.size()), std::byte(0), std::byte(0)};
        add_text(descriptor, names.provider);
        add_text(descriptor, names.name);
        for (const ArgumentNames::One& one : names.arguments) {
            add_text(descriptor, one.type);
            add_text(descriptor, one.name);
        }
        append_note(made_.names, FASTSDT_NOTE_OWNER, FASTSDT_NOTE_NAMES, descriptor, image_.encoding());
    }

    static void add_text(std::vector<std::byte>& to, std::string_view text)
    {
        const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
        to.insert(to.end(), bytes.begin(), bytes.end());
        to.push_back(std::byte(0));
    }

    const Image& image_;
    const Notes known_;
    std::set<std::tuple<uint64_t, std::string_view, std::string_view>> noted_;
    std::set<std::tuple<std::string_view, std::string_view, size_t>> named_;
    CodeNotes made_;
};

} // namespace

CodeNotes notes_of_code(const Image& image)
{
    return Maker(image).run();
}

} // namespace fastsdt
