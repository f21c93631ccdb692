// SPDX-License-Identifier: BSD-2-Clause
#include "elf/debug_file.h"

#include "base/integers.h"
#include "base/unusable.h"
#include "elf/image.h"

#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

namespace fastsdt {
namespace {

constexpr uint64_t small = 1 << 20; // what any file may cost

} // namespace

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
    return plain <= 2 * file_size && unpacked <= 16 * file_size + small;
}

Descriptor open_debug_file(const std::string& path)
{
    std::string found;
    try {
        Image::each(
            path,
            [&](const Image& image) {
                const std::string id = image.build_id();
                if (image.section(".debug_info") || image.section(".zdebug_info"))
                    found = path;
                else if (id.size() > 2)
                    found = "/usr/lib/debug/.build-id/" + id.substr(0, 2) + "/" + id.substr(2) + ".debug";
            },
            [](const Error&) {});
    } catch (const Unusable&) {
        // no ELF file
    }
    if (found.empty())
        return {};
    Descriptor file(open(found.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    return file && affordable(file.get()) ? std::move(file) : Descriptor();
}

} // namespace fastsdt
