// SPDX-License-Identifier: BSD-2-Clause
#include "elf/go_table.h"

#include "base/integers.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <elf.h>
#include <optional>
#include <span>
#include <string_view>

namespace fastsdt {
namespace {

using Bytes = std::span<const std::byte>;

std::optional<uint64_t> number_at(Bytes bytes, uint64_t at, size_t size)
{
    if (at > bytes.size() || bytes.size() - at < size)
        return std::nullopt;
    return load(&bytes[at], size, false);
}

// "go12magic" and its like, internal/abi/symtab.go.
constexpr uint64_t of_1_16 = 0xfffffffa, of_1_18 = 0xfffffff0, of_1_20 = 0xfffffff1;

struct Table {
    uint64_t address = 0; // ELF vaddr
    Bytes bytes;          // to the end of its segment
    uint64_t magic = 0;
};

bool is_header(Bytes bytes)
{
    const auto magic = number_at(bytes, 0, 4), zeros = number_at(bytes, 4, 2), step = number_at(bytes, 6, 1),
               word = number_at(bytes, 7, 1);
    return magic && (*magic == of_1_16 || *magic == of_1_18 || *magic == of_1_20) && zeros == 0
        && (step == 1 || step == 4) && word == 8;
}

// It has a section of its own, or (PIE of older linkers, linked by the system's) is somewhere in the relocated data.
std::optional<Table> find_table(const Image& image)
{
    constexpr size_t alignment = 8;
    for (const Section& section : image.sections()) {
        if (section.name == ".gopclntab" || section.name == ".data.rel.ro.gopclntab"
            || section.name == ".data.rel.ro") {
            const Bytes bytes = image.raw_contents(section);
            const size_t most = section.name == ".data.rel.ro" ? bytes.size() : std::min<size_t>(bytes.size(), 1);
            for (size_t at = 0; at < most; at += alignment)
                if (is_header(bytes.subspan(at)))
                    return Table{section.address + at, image.bytes_at(section.address + at),
                                 load(&bytes[at], 4, false)};
        }
    }
    return std::nullopt;
}

// Of moduledata: words, by their number. The same from Go 1.16 to 1.26.
constexpr size_t minpc = 20, maxpc = 21, text_start = 22, text_end = 23;

// Words of a file that is mapped. Of a position-independent one addresses are in its relocations.
class Words {
public:
    explicit Words(const Image& image) : image_(image)
    {
        for (const Section& section : image.sections())
            if (section.type == SHT_RELA && section.flags & SHF_ALLOC)
                add_relocations(image.raw_contents(section));
        std::sort(relocations_.begin(), relocations_.end());
    }

    std::optional<uint64_t> at(uint64_t address) const
    {
        const auto relocation =
            std::lower_bound(relocations_.begin(), relocations_.end(), std::pair(address, uint64_t{0}));
        if (relocation != relocations_.end() && relocation->first == address)
            return relocation->second;
        return number_at(image_.bytes_at(address), 0, sizeof(uint64_t));
    }
    const std::vector<std::pair<uint64_t, uint64_t>>& relocations() const { return relocations_; }

private:
    void add_relocations(Bytes table)
    {
        for (size_t at = 0; at + sizeof(Elf64_Rela) <= table.size(); at += sizeof(Elf64_Rela)) {
            Elf64_Rela relocation;
            std::memcpy(&relocation, table.data() + at, sizeof relocation);
            if (ELF64_R_SYM(relocation.r_info) == 0)
                relocations_.emplace_back(relocation.r_offset, uint64_t(relocation.r_addend));
        }
    }

    const Image& image_;
    std::vector<std::pair<uint64_t, uint64_t>> relocations_; // where, and what stands there afterwards
};

// moduledata's words, where its first one leads to the table.
class Module {
public:
    Module(const Image& image, uint64_t table) : image_(image), words_(image)
    {
        for (const auto& [at, to] : words_.relocations())
            if (to == table && fits(at))
                return;
        // In .go.module, or somewhere in the data, which fastsdt-index divides. Segments of a sound file do not overlap.
        size_t left = image.file().size();
        for (const Segment& segment : image.segments())
            if (segment.writable && find(segment.address.value, table, left))
                return;
    }

    /// Empty: there is no moduledata.
    std::optional<uint64_t> word(size_t number) const
    {
        return found_ ? words_.at(*found_ + number * sizeof(uint64_t)) : std::nullopt;
    }

private:
    bool find(uint64_t begin, uint64_t table, size_t& left)
    {
        constexpr size_t word = sizeof(uint64_t);
        Bytes bytes = image_.bytes_at(begin);
        bytes = bytes.first(std::min(bytes.size(), left));
        left -= bytes.size();
        for (size_t at = -begin % word; at + word <= bytes.size(); at += word)
            if (load(&bytes[at], word, false) == table && fits(begin + at))
                return true;
        return false;
    }
    bool fits(uint64_t address)
    {
        found_ = address;
        const auto first = word(minpc), last = word(maxpc), start = word(text_start), end = word(text_end);
        const bool ordered = first && last && start && end && *start <= *first && *first < *last && *last <= *end;
        if (!ordered || !image_.executable_at(*first) || !image_.executable_at(*last - 1))
            found_.reset();
        return found_.has_value();
    }

    const Image& image_;
    const Words words_;
    std::optional<uint64_t> found_;
};

// Where everything is in a table of one of the formats. Words of the header are numbered behind its first 8 bytes.
struct Format {
    size_t names, functions; // words with the offsets of those
    size_t entry;            // bytes of a number in the list of functions
    explicit Format(uint64_t magic)
        : names(magic == of_1_16 ? 2 : 3), functions(magic == of_1_16 ? 6 : 7), entry(magic == of_1_16 ? 8 : 4)
    {}
};

} // namespace

uint64_t go_code_end(const Image& image, uint64_t begin, uint64_t end)
{
    const Bytes code = image.bytes_at(begin);
    if (code.size() < end - begin)
        return end;
    if (image.arch() == Arch::x86_64) { // int3
        const uint64_t all = end;
        while (end - begin > 1 && code[end - begin - 1] == std::byte{0xcc})
            --end;
        if (end < all && code[end - begin - 1] == std::byte{0xeb}) // a short jump, and how far it leads
            ++end;
    } else
        while (end - begin > 4 && load(&code[end - begin - 4], 4, false) == 0)
            end -= 4;
    return end;
}

std::vector<Function> go_functions(const Image& image)
{
    const Encoding encoding = image.encoding();
    const auto table = find_table(image);
    if (!table || encoding.big_endian || !encoding.elf64)
        return {};
    const Format format(table->magic);
    const auto word = [&](size_t number) { return number_at(table->bytes, 8 + 8 * number, 8); };
    const auto count = word(0), names = word(format.names), list = word(format.functions);
    if (!count || !names || !list || *names > table->bytes.size() || *list > table->bytes.size()
        || *count > (table->bytes.size() - *list) / (2 * format.entry))
        return {};
    const Bytes texts = table->bytes.subspan(*names), entries = table->bytes.subspan(*list);
    const Module module(image, table->address);
    const auto base = table->magic == of_1_16 ? std::optional<uint64_t>(0) : module.word(text_start);
    if (!base)
        return {};
    const auto entry = [&](size_t i) { return number_at(entries, 2 * format.entry * i, format.entry); };
    std::vector<Function> functions;
    for (size_t i = 0; i < *count; ++i) {
        const auto begin = entry(i), end = entry(i + 1),
                   record = number_at(entries, 2 * format.entry * i + format.entry, format.entry);
        const auto name = record ? number_at(entries, *record + format.entry, 4) : std::nullopt; // its second member
        if (!begin || !end || !name || *end <= *begin || *name >= texts.size())
            return {};
        const auto* const text = reinterpret_cast<const char*>(texts.data()) + *name;
        const size_t most = std::min<size_t>(texts.size() - *name, 1 << 16), length = strnlen(text, most);
        const uint64_t address = *base + *begin;
        if (length == most || !image.executable_at(address))
            return {};
        if (length != 0)
            functions.push_back({address, go_code_end(image, address, *base + *end) - address, {text, length}});
    }
    return functions;
}

std::optional<std::pair<uint64_t, uint64_t>> go_words(const Image& image, uint64_t address)
{
    const Words words(image);
    const auto first = words.at(address), second = words.at(address + sizeof(uint64_t));
    return first && second ? std::optional(std::pair(*first, *second)) : std::nullopt;
}

std::optional<std::pair<uint64_t, uint64_t>> go_text(const Image& image)
{
    const auto table = find_table(image);
    if (!table)
        return std::nullopt;
    const Module module(image, table->address);
    const auto start = module.word(text_start), end = module.word(text_end);
    return start && end ? std::optional(std::pair(*start, *end)) : std::nullopt;
}

} // namespace fastsdt
