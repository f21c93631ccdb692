// SPDX-License-Identifier: BSD-2-Clause
#include "elf/debug_file.h"

#include "base/integers.h"
#include "base/unusable.h"
#include "elf/image.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <lzma.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

namespace fastsdt {
namespace {

namespace fs = std::filesystem;

DebugPlaces places;

struct DebugLink {
    std::string name;
    uint32_t checksum = 0;
};

// .gnu_debuglink: a name without a folder, its NUL, and the checksum at the next multiple of 4.
std::optional<DebugLink> debug_link(const Image& image)
{
    const Section* const section = image.section(".gnu_debuglink");
    if (!section)
        return {};
    const auto bytes = image.raw_contents(*section);
    const std::string name(reinterpret_cast<const char*>(bytes.data()),
                           strnlen(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    const size_t at = (name.size() + 4) / 4 * 4;
    if (name.empty() || name.find('/') != name.npos || at + 4 > bytes.size())
        return {};
    return DebugLink{name, uint32_t(load(&bytes[at], 4, image.encoding().big_endian))};
}

std::vector<std::string> candidates(const Image& image, const std::string& link)
{
    std::vector<std::string> found;
    std::error_code error;
    // "/proc/PID/root" of a process's file: a container has its own debug files.
    std::string root;
    fs::path file = image.path();
    if (image.path().starts_with("/proc/")) {
        const size_t end = image.path().find('/', strlen("/proc/"));
        root = image.path().substr(0, end) + "/root";
        file = image.path().starts_with(root + '/') ? fs::path(image.path().substr(root.size()))
                                                    : fs::weakly_canonical(file, error);
    } else {
        file = fs::weakly_canonical(file, error);
    }
    std::vector<std::string> folders = places.folders;
    if (!root.empty())
        folders.push_back(root + "/usr/lib/debug");
    folders.emplace_back("/usr/lib/debug");
    if (const std::string id = image.build_id(); id.size() > 2)
        for (const std::string& folder : folders)
            found.push_back(fmt::format("{}/.build-id/{}/{}.debug", folder, id.substr(0, 2), id.substr(2)));
    if (error || !file.is_absolute())
        return found;
    std::vector<fs::path> beside;
    for (const std::string& top : root.empty() ? std::vector<std::string>{""} : std::vector<std::string>{root, ""})
        for (const char* below : {"", ".debug"})
            beside.push_back(top + (file.parent_path() / below).string());
    for (const std::string& folder : folders)
        beside.push_back(folder / file.parent_path().relative_path());
    beside.insert(beside.end(), places.folders.begin(), places.folders.end());
    for (const fs::path& folder : beside)
        for (const std::string& name : {link, file.filename().string() + ".debug"})
            if (!name.empty())
                found.push_back(folder / name);
    return found;
}

// What is no debug file: the file itself, which a link may lead to.
bool has_anything(const Image& debug)
{
    return std::any_of(debug.sections().begin(), debug.sections().end(), [](const Section& section) {
        return section.type != SHT_NOBITS
            && (section.type == SHT_SYMTAB || section.name == ".debug_info" || section.name == ".zdebug_info");
    });
}

// Why it is not the one. Empty: it is.
std::string refusal(const Image& image, const std::optional<DebugLink>& link, const MappedFile& file,
                    const Image& debug)
{
    if (debug.machine() != image.machine())
        return "it is of another architecture";
    if (const std::string id = image.build_id(), other = debug.build_id(); !id.empty())
        return id == other ? ""
                           : fmt::format("its build id is {}, and {} is wanted", other.empty() ? "missing" : other, id);
    const auto bytes = file.bytes();
    if (!link)
        return "the program has neither a build id nor a .gnu_debuglink to compare it with";
    const uint32_t checksum =
        lzma_crc32(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), 0); // the one that GDB means
    return checksum == link->checksum ? "" : "its checksum is not the one in the program's .gnu_debuglink";
}

// False: there is no such file.
bool try_file(const Image& image, const std::optional<DebugLink>& link, const std::string& path, DebugFile& found)
{
    constexpr const char* unused = "a debug file that is not used: ";
    try {
        auto file = std::make_unique<MappedFile>(path, image.access().copy);
        Image::each(
            path, file->bytes(),
            [&](const Image& debug) {
                if (!has_anything(debug))
                    return;
                if (std::string why = refusal(image, link, *file, debug); !why.empty())
                    found.refused.push_back({unused + std::move(why), path});
                else
                    found.path = path;
            },
            [](const Error&) {}, {.outside = Access::alone});
        if (!found.path.empty())
            found.file = std::move(file);
        return found.file != nullptr;
    } catch (const Unusable& error) {
        const int code = error.error().code;
        if (code != ENOENT && code != ENOTDIR)
            found.refused.push_back({unused + error.error().what, path});
        return false;
    }
}

// What a server has, in the user's cache. libdebuginfod is loaded only now: it brings an HTTP client and thirty libraries with it.
std::string from_server(const std::string& build_id, std::vector<Error>& troubles)
{
    std::string path;
    if (getauxval(AT_BASE) == 0) { // no dynamic linker: what a static program loads brings a second libc
        troubles.push_back({"no debuginfod server is asked: the static tool cannot"});
        return path;
    }
    const char* const servers = getenv("DEBUGINFOD_URLS");
    if (!servers || !*servers) {
        troubles.push_back({"no debuginfod server is asked: DEBUGINFOD_URLS names none"});
        return path;
    }
    static void* const library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
    const auto function = [](const char* name) { return library ? dlsym(library, name) : nullptr; };
    const auto begin = reinterpret_cast<void* (*)()>(function("debuginfod_begin"));
    const auto find = reinterpret_cast<int (*)(void*, const char*, int, char**)>(function("debuginfod_find_debuginfo"));
    const auto end = reinterpret_cast<void (*)(void*)>(function("debuginfod_end"));
    if (!begin || !find || !end) {
        troubles.push_back({"no debuginfod server is asked: libdebuginfod.so.1 cannot be loaded"});
        return path;
    }
    void* const client = begin();
    if (!client)
        return path;
    char* name = nullptr;
    const int file = find(client, build_id.c_str(), 0, &name); // 0: hexadecimal
    if (file >= 0) {
        path = name;
        close(file);
    } else if (file != -ENOENT) {
        troubles.push_back({fmt::format("debuginfod ({}) has not answered: {}", servers, std::strerror(-file))});
    }
    std::free(name);
    end(client);
    return path;
}

} // namespace

void set_debug_places(DebugPlaces more)
{
    places = std::move(more);
}

DebugFile find_debug_file(const Image& image)
{
    DebugFile found;
    const auto link = debug_link(image);
    for (const std::string& path : candidates(image, link ? link->name : ""))
        if (try_file(image, link, path, found))
            return found;
    if (const std::string id = image.build_id(); places.servers && !id.empty())
        if (const std::string path = from_server(id, found.refused); !path.empty())
            try_file(image, link, path, found);
    return found;
}

// Debug information grows three- to tenfold when it is decompressed; sections that are not compressed do not overlap.
bool affordable(int fd)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return false;
    const auto file_size = uint64_t(status.st_size);
    elf_version(EV_CURRENT);
    Elf* const elf = elf_begin(fd, ELF_C_READ_MMAP, nullptr);
    uint64_t plain = 0, unpacked = 0;
    Elf_Scn* scn = nullptr;
    while ((scn = elf_nextscn(elf, scn))) {
        GElf_Shdr header;
        GElf_Chdr compression;
        if (!gelf_getshdr(scn, &header) || header.sh_type == SHT_NOBITS)
            continue;
        plain += std::min<uint64_t>(header.sh_size, file_size);
        if (header.sh_flags & SHF_COMPRESSED && gelf_getchdr(scn, &compression)) {
            unpacked += std::min<uint64_t>(compression.ch_size, uint64_t(1) << 50);
        } else if (Elf_Data* raw = header.sh_flags & SHF_ALLOC ? nullptr : elf_rawdata(scn, nullptr);
                   raw && raw->d_size >= 12 && memcmp(raw->d_buf, "ZLIB", 4) == 0) { // .zdebug_*, before 2015
            unpacked +=
                std::min<uint64_t>(load(static_cast<const std::byte*>(raw->d_buf) + 4, 8, true), uint64_t(1) << 50);
        }
    }
    elf_end(elf);
    return plain <= 2 * file_size && unpacked <= 16 * file_size + least_cost;
}

Descriptor open_debug_file(const std::string& path)
{
    Descriptor file;
    try {
        const MappedFile own(path);
        Image::each(
            path, own.bytes(),
            [&](const Image& image) {
                const bool here = image.section(".debug_info") || image.section(".zdebug_info");
                const DebugFile other = here ? DebugFile() : find_debug_file(image);
                if (here || other.file)
                    file = Descriptor(fcntl((here ? own : *other.file).descriptor(), F_DUPFD_CLOEXEC, 0));
            },
            [](const Error&) {});
    } catch (const Unusable&) {
        // no ELF file
    }
    return file && affordable(file.get()) ? std::move(file) : Descriptor();
}

} // namespace fastsdt
