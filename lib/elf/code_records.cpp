// SPDX-License-Identifier: BSD-2-Clause
#include "elf/code_records.h"

#include "base/integers.h"

#include <elf.h>

#include <algorithm>
#include <optional>

namespace fastsdt {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::string_view record_magic(code_record_magic, sizeof code_record_magic);
constexpr size_t distance_at = record_magic.size() + 2;

// The address that the instructions in front of the record load, since the linker fills in nothing else in code. `address`: of the record.
std::optional<uint64_t> loaded_address(Arch arch, Bytes before, uint64_t address)
{
    const auto word = [&](size_t back) { return load(before.data() + before.size() - back, 4, false); };
    if (arch == Arch::x86_64 && before.size() >= 7) {
        if ((load(before.data() + before.size() - 7, 3, false)) != 0x058d48) // lea disp32(%rip),%rax
            return {};
        return address + uint64_t(int64_t(int32_t(word(4))));
    }
    if (arch == Arch::arm64 && before.size() >= 8) {
        const uint64_t adrp = word(8), add = word(4);
        // adrp xN, page; add xN, xN, #offset
        if ((adrp & 0x9f000000) != 0x90000000 || (add & 0xffc00000) != 0x91000000 || (add & 31) != (add >> 5 & 31)
            || (add & 31) != (adrp & 31))
            return {};
        const uint64_t pages = (adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3);
        const int64_t moved = int64_t(pages << 43) >> 31; // 21 bits with a sign, times 4096
        return ((address - 8) & ~uint64_t(4095)) + uint64_t(moved) + (add >> 10 & 4095);
    }
    return {};
}

// What begins `at` the magic of a section's code. `length`: how much of it belongs to the record. Records do not overlap, so that many in few bytes
// cost no more.
CodeRecord read_record(const Image& image, Bytes code, size_t at, uint64_t section, size_t& length)
{
    // magic, size of the record, distance of the site, number of arguments, what a SITE descriptor begins with, its flags
    constexpr size_t fixed = sizeof code_record_magic + 2 + 1 + 1 + 4 + 2;
    CodeRecord record;
    record.address = section + at;
    const auto wrong = [&](const char* why) {
        record.wrong = why;
        return record;
    };
    const Bytes rest = code.subspan(at);
    if (rest.size() < fixed)
        return wrong("it runs over the end of its section");
    const bool big = image.encoding().big_endian;
    const std::byte* const head = rest.data() + sizeof code_record_magic;
    const size_t size = load(head, 2, big), distance = std::to_integer<size_t>(rest[distance_at]);
    if (size < fixed || size > rest.size() || distance > at)
        return wrong("its sizes lead out of its section");
    length = size;
    const size_t words = image.encoding().address_size();
    std::vector<std::byte> descriptor(head + 4, head + 8); // version, layout, patchable bytes
    descriptor.resize(8 + 2 * words);
    std::copy(head + 8, head + 10, &descriptor[6]);
    store(&descriptor[8], words, record.address - distance, big);
    const std::optional<uint64_t> semaphore = loaded_address(image.arch(), code.first(at), record.address);
    if (!semaphore)
        return wrong(
            "no instructions in front of it load the semaphore's address: programs and libraries of Go have them,"
            " plugins do not");
    store(&descriptor[8 + words], words, *semaphore, big);
    const auto site = decode_record(FASTSDT_NOTE_SITE, descriptor, image.encoding());
    if (!site)
        return wrong("it is of a version that this program does not know");

    std::string_view texts(reinterpret_cast<const char*>(rest.data()) + fixed, size - fixed);
    bool whole = true;
    const auto next = [&] {
        const size_t end = texts.find('\0');
        whole &= end != texts.npos;
        const std::string_view text = texts.substr(0, end);
        texts.remove_prefix(end == texts.npos ? texts.size() : end + 1);
        return text;
    };
    ArgumentNames names;
    names.provider = next();
    names.name = next();
    const std::string_view arguments = next();
    for (size_t left = std::to_integer<size_t>(head[3]); whole && left > 0; --left) {
        const std::string_view type = next();
        names.arguments.push_back({type, next()});
    }
    if (!whole || names.provider.empty() || names.name.empty())
        return wrong("its texts are damaged");
    record.site = *site;
    record.arguments = arguments;
    record.names = std::move(names);
    return record;
}

} // namespace

std::vector<CodeRecord> code_records(const Image& image)
{
    std::vector<CodeRecord> records;
    for (const Section& section : image.sections()) {
        if (!(section.flags & SHF_EXECINSTR) || !(section.flags & SHF_ALLOC))
            continue;
        const Bytes code = image.raw_contents(section);
        const std::string_view text(reinterpret_cast<const char*>(code.data()), code.size());
        for (size_t at = text.find(record_magic); at != text.npos;) {
            size_t length = record_magic.size();
            records.push_back(read_record(image, code, at, section.address, length));
            at = text.find(record_magic, at + length);
        }
    }
    std::sort(records.begin(), records.end(),
              [](const CodeRecord& a, const CodeRecord& b) { return a.address < b.address; });
    return records;
}

bool has_code_record(const Image& image, uint64_t site)
{
    constexpr size_t farthest = UINT8_MAX;
    const Bytes code = image.bytes_at(site);
    const std::string_view text(reinterpret_cast<const char*>(code.data()),
                                std::min(code.size(), farthest + distance_at + 1));
    const size_t at = text.find(record_magic);
    return image.executable_at(site) && at != text.npos && text.size() - at > distance_at
        && std::to_integer<size_t>(code[at + distance_at]) == at;
}

} // namespace fastsdt
