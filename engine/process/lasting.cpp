// SPDX-License-Identifier: BSD-2-Clause
#include "process/lasting.h"

#include "base/descriptor.h"
#include "elf/entries.h"
#include "elf/image.h"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <filesystem>
#include <set>
#include <string_view>
#include <unistd.h>

namespace fastsdt::engine {
namespace {

// The C library's name, as the program's file has it; empty: it is not linked with one.
std::string c_library_of(const ProcessView& view)
{
    std::string library;
    each_image(view.entry("exe"), [&](const Image& image) {
        for (const std::string_view name : needed_libraries(image))
            if (name.starts_with("libc.so") || name.starts_with("libc.musl"))
                library = name;
    });
    return library;
}

// Whether all of these pages are as the file has them: none was written to (Documentation/admin-guide/mm/pagemap.rst).
bool is_as_in_file(const ProcessView& view, uint64_t start, uint64_t end)
{
    const uint64_t page = page_size();
    constexpr uint64_t present = uint64_t{1} << 63, swapped = uint64_t{1} << 62, of_file = uint64_t{1} << 61;
    const Descriptor file(open(view.entry("pagemap").c_str(), O_RDONLY | O_CLOEXEC));
    std::vector<uint64_t> pages;
    for (uint64_t at = start; file && at < end; at += pages.size() * page) {
        pages.resize(std::min<uint64_t>((end - at) / page, 1 << 16));
        const size_t size = pages.size() * sizeof pages[0];
        if (pread(file.get(), pages.data(), size, static_cast<off_t>(at / page * sizeof pages[0]))
                != static_cast<ssize_t>(size)
            || std::any_of(pages.begin(), pages.end(), [&](uint64_t entry) {
                   return (entry & swapped) != 0 || ((entry & present) != 0 && (entry & of_file) == 0);
               }))
            return false;
    }
    return bool(file);
}

// The parts of a file that are loaded and not written to, as its program headers say. Code has no constants beside it where linkers give that a
// segment of its own, which does not begin with the file's head.
std::vector<Elf64_Phdr> segments_of(const Descriptor& file)
{
    Elf64_Ehdr header{};
    if (pread(file.get(), &header, sizeof header, 0) != sizeof header
        || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64
        || header.e_phentsize != sizeof(Elf64_Phdr))
        return {};
    std::vector<Elf64_Phdr> segments(header.e_phnum);
    const size_t size = segments.size() * sizeof(Elf64_Phdr);
    if (pread(file.get(), segments.data(), size, static_cast<off_t>(header.e_phoff)) != static_cast<ssize_t>(size))
        return {};
    std::erase_if(segments, [](const Elf64_Phdr& s) { return s.p_type != PT_LOAD; });
    return segments;
}

bool may_be_constants(const Elf64_Phdr& segment)
{
    return (segment.p_flags & PF_W) == 0 && ((segment.p_flags & PF_X) == 0 || segment.p_offset == 0);
}

} // namespace

void LastingMemory::look(Environment& environment, const std::vector<Mapping>& mappings)
{
    mappings_ = mappings;
    environment.stack = {};
    for (const Mapping& mapping : mappings)
        if (mapping.name == "[stack]")
            environment.stack = {mapping.start, mapping.end};
}

// Where the part is that a segment has loaded, as far as it still is: the process may have mapped something else there.
Mapping LastingMemory::loaded(const Mapping& code, uint64_t bias, const Elf64_Phdr& segment) const
{
    Mapping part = code;
    part.start = bias + segment.p_vaddr / page_size() * page_size();
    part.offset = segment.p_offset / page_size() * page_size();
    part.end = part.start;
    const uint64_t end = bias + segment.p_vaddr + segment.p_filesz;
    for (const Mapping* m = mapping_at(mappings_, part.start);
         m && part.end < end && m->inode == code.inode && m->device == code.device && !m->writable && !m->shared
         && m->offset + (part.end - m->start) == part.offset + (part.end - part.start);
         m = mapping_at(mappings_, part.end))
        part.end = m->end;
    return part;
}

// The largest part of the file behind some code that is as the file has it: what was relocated is not. What begins with the file's head has
// tables for the dynamic linker, and constants only where no other part has.
Lasting LastingMemory::constants_of(const Mapping& code, Target& target)
{
    const auto [found, fresh] = files_.try_emplace({code.device, code.inode});
    if (fresh)
        if (const Descriptor& file = view_.file(code))
            found->second = {segments_of(file), {}};
    File& file = found->second;
    const auto own = std::find_if(file.segments.begin(), file.segments.end(), [&](const Elf64_Phdr& s) {
        return code.offset - s.p_offset / page_size() * page_size() < s.p_filesz && (s.p_flags & PF_X) != 0;
    });
    if (own == file.segments.end())
        return {};
    const uint64_t bias = code.start - code.offset + own->p_offset - own->p_vaddr;
    std::vector<Mapping> parts;
    for (const Elf64_Phdr& segment : file.segments)
        if (may_be_constants(segment))
            if (const Mapping part = loaded(code, bias, segment); part.end > part.start)
                parts.push_back(part);
    std::stable_sort(parts.begin(), parts.end(), [](const Mapping& a, const Mapping& b) {
        return std::pair(a.offset == 0, b.end - b.start) < std::pair(b.offset == 0, a.end - a.start);
    });
    for (const Mapping& part : parts) {
        const auto [known, first] = file.again.try_emplace(part.offset);
        Again& again = known->second;
        if (first && is_as_in_file(view_, part.start, part.end))
            again = {part.end - part.start, target.map_again(part)};
        if (again.at != 0)
            return {part.start, part.start + std::min(again.size, part.end - part.start),
                    static_cast<int64_t>(again.at - part.start)};
    }
    return {};
}

void LastingMemory::add(Environment& environment, Target& target, std::span<const Site> sites)
{
    environment.modules.clear();
    environment.always.clear();
    if (!library_)
        library_ = c_library_of(view_);
    const std::string program = view_.program();
    std::set<std::string> libraries; // of that name: if there are two, one of them was loaded otherwise, and may go
    for (const Mapping& mapping : mappings_)
        if (!library_->empty() && mapping.inode && std::filesystem::path(mapping.name).filename() == *library_)
            libraries.insert(mapping.name);
    const auto is_known = [&](const Lasting& memory) {
        return std::any_of(environment.always.begin(), environment.always.end(),
                           [&](const Lasting& known) { return known.start == memory.start; });
    };
    for (const Mapping& mapping : mappings_)
        if (mapping.inode && mapping.executable
            && (mapping.name == program || (libraries.size() == 1 && libraries.contains(mapping.name))))
            if (const Lasting memory = constants_of(mapping, target); memory.end > memory.start && !is_known(memory))
                environment.always.push_back(memory);
    for (const Site& site : sites) {
        const auto has_site = [&](const LastingModule& module) { return module.has(site.patch); };
        const Mapping* const code = mapping_at(mappings_, site.patch);
        if (!code || !code->inode || std::any_of(environment.modules.rbegin(), environment.modules.rend(), has_site))
            continue;
        const Lasting memory = constants_of(*code, target);
        environment.modules.push_back(
            {code->start, code->end, is_known(memory) ? Lasting{} : memory}); // all stubs look for what is known
    }
}

} // namespace fastsdt::engine
