// SPDX-License-Identifier: BSD-2-Clause
#include "process/lasting.h"

#include "base/unusable.h"
#include "elf/entries.h"
#include "elf/image.h"

#include <fmt/format.h>

#include <algorithm>
#include <elf.h>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <utility>

namespace fastsdt::engine {
namespace {

// The C library's name, as the program's file has it; empty: it is not linked with one.
std::string c_library_of(pid_t pid)
{
    std::string library;
    try {
        Image::each(
            fmt::format("/proc/{}/exe", pid),
            [&](const Image& image) {
                for (const Section& section : image.sections()) {
                    const Entries<Elf64_Dyn> entries(image, section);
                    for (size_t i = 0; i < entries.size(); ++i) {
                        const Elf64_Dyn entry = entries[i];
                        const std::string_view name =
                            entry.d_tag == DT_NEEDED ? entries.text(entry.d_un.d_val) : std::string_view();
                        if (name.starts_with("libc.so") || name.starts_with("libc.musl"))
                            library = name;
                    }
                }
            },
            [](const Error&) {});
    } catch (const Unusable&) {
        // Then its texts are not among what lasts.
    }
    return library;
}

// Of the file behind a mapping, in whole pages: those behind cannot be read in memory. UINT64_MAX: it is not there any more.
uint64_t size_of_file(pid_t pid, const Mapping& mapping)
{
    struct stat status{};
    if (stat(fmt::format("/proc/{}/root{}", pid, mapping.name).c_str(), &status) < 0 || status.st_ino != mapping.inode)
        return UINT64_MAX;
    return (static_cast<uint64_t>(status.st_size) + 4095) / 4096 * 4096;
}

} // namespace

void read_lasting(pid_t pid, Environment& environment, const std::vector<Mapping>& mappings)
{
    environment.modules.clear();
    environment.always.clear();
    environment.stack = {};
    std::error_code error;
    const std::string program = std::filesystem::read_symlink(fmt::format("/proc/{}/exe", pid), error);
    const std::string library = c_library_of(pid);
    std::set<std::string> libraries; // of that name: if there are two, one of them was loaded otherwise, and may go
    std::vector<std::string> names;  // of modules
    std::optional<Mapping> last;     // the mapping before, if it lasts
    std::map<std::pair<std::string, uint64_t>, uint64_t> sizes; // of files, by name and inode
    for (const Mapping& mapping : mappings) {
        if (mapping.name == "[stack]")
            environment.stack = {mapping.start, mapping.end};
        if (!mapping.inode || !mapping.readable || mapping.writable || mapping.shared) {
            last.reset();
            continue;
        }
        const auto [size, fresh] = sizes.try_emplace({mapping.name, mapping.inode}, 0);
        if (fresh)
            size->second = size_of_file(pid, mapping);
        const uint64_t in_memory = size->second - std::min(size->second, mapping.offset);
        const Lasting memory{mapping.start, mapping.start + std::min(in_memory, mapping.end - mapping.start)};
        if (memory.end <= memory.start) {
            last.reset();
            continue;
        }
        if (last && environment.modules.back().end == mapping.start && last->name == mapping.name
            && last->inode == mapping.inode && last->device == mapping.device) {
            environment.modules.back().end = memory.end;
        } else {
            environment.modules.push_back(memory);
            names.push_back(mapping.name);
        }
        if (!library.empty() && std::filesystem::path(mapping.name).filename() == library)
            libraries.insert(mapping.name);
        last = mapping;
    }
    for (size_t i = 0; i < names.size(); ++i)
        if (names[i] == program || (libraries.size() == 1 && libraries.contains(names[i])))
            environment.always.push_back(environment.modules[i]);
}

} // namespace fastsdt::engine
