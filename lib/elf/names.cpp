// SPDX-License-Identifier: BSD-2-Clause
// Names that a stripped file does not have itself:
//
//     .dynsym            what it exports; strip leaves it
//     .gnu_debugdata     "mini debug information" of Fedora's files: an ELF file with a .symtab of the other functions, xz-compressed
//     the debug file     what a -dbgsym package has: all of .symtab
//     .gopclntab         what Go's runtime unwinds with: all of Go's functions (elf/go_table.h)
//
// libdwfl would find all of that, but unpacks .gnu_debugdata whatever comes out of it: a kilobyte can be a gigabyte.
#include "base/unusable.h"
#include "elf/debug_file.h"
#include "elf/go_table.h"
#include "elf/image.h"

#include <gelf.h>
#include <lzma.h>

#include <algorithm>

namespace fastsdt {
namespace {

// A symbol table becomes a fifth of itself. The dictionary of xz -9 takes 64 MB.
constexpr uint64_t mega = uint64_t(1) << 20, most_grown = 16, most_unpacked = 256 * mega, most_memory = 80 * mega;

// Empty: damaged, or larger than it should be.
std::vector<std::byte> unpack(std::span<const std::byte> packed)
{
    std::vector<std::byte> all(std::min(most_grown * packed.size() + mega, most_unpacked));
    uint64_t memory = most_memory;
    size_t in = 0, out = 0;
    if (lzma_stream_buffer_decode(&memory, 0, nullptr, reinterpret_cast<const uint8_t*>(packed.data()), &in,
                                  packed.size(), reinterpret_cast<uint8_t*>(all.data()), &out, all.size())
        != LZMA_OK)
        return {};
    all.resize(out);
    return all;
}

bool has_symbols(const Image& image)
{
    return std::any_of(image.sections().begin(), image.sections().end(),
                       [](const Section& section) { return section.type == SHT_SYMTAB; });
}

} // namespace

struct Image::Names {
    DebugFile debug_file;
    std::vector<std::byte> unpacked;
    std::vector<std::unique_ptr<const Image>> images;
    std::vector<Function> go;
};

Image::~Image()
{
    elf_end(elf_);
}

void Image::find_names() const
{
    if (names_ || access_.outside == Access::alone || relocatable() || separate_debug_ || has_symbols(*this))
        return;
    const auto names = std::make_shared<Names>();
    names_ = names;
    const auto add = [&](const std::string& path, std::span<const std::byte> file) {
        try {
            names->images.emplace_back(new Image(path, {}, file, access_));
        } catch (const Unusable& error) {
            refused_names_.push_back(error.error());
        }
    };
    names->debug_file = find_debug_file(*this);
    refused_names_ = names->debug_file.refused;
    if (names->debug_file.file)
        add(names->debug_file.path, names->debug_file.file->bytes());
    if (const Section* const packed = section(".gnu_debugdata")) {
        names->unpacked = unpack(raw_contents(*packed));
        const std::string where = ".gnu_debugdata";
        if (names->unpacked.empty())
            refused_names_.push_back(
                {"it cannot be unpacked, or is larger than a file of this size should have it: not used", where});
        else
            add(where, names->unpacked);
    }
    if (!has_all_names())
        names->go = go_functions(*this);
}

bool Image::has_all_names() const
{
    const auto files = files_with_symbols();
    return !functions_of_go().empty()
        || std::any_of(files.begin(), files.end(), [](const Image* image) { return has_symbols(*image); });
}

std::span<const Function> Image::functions_of_go() const
{
    return names_ ? std::span<const Function>(names_->go) : std::span<const Function>();
}

std::vector<const Image*> Image::files_with_symbols() const
{
    std::vector<const Image*> files{this};
    if (names_)
        for (const auto& image : names_->images)
            files.push_back(image.get());
    return files;
}

} // namespace fastsdt
