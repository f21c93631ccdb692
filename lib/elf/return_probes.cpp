// SPDX-License-Identifier: BSD-2-Clause
#include "elf/return_probes.h"

#include "base/integers.h"
#include "base/printable.h"
#include "base/unusable.h"
#include "elf/notes.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

namespace fastsdt {
namespace {

// A symbol that the file defines or wants. Of symbols only the names are needed, and those lie between zeros.
bool names_symbol(const Image& image, std::string_view name)
{
    const std::string between = '\0' + std::string(name) + '\0';
    return std::ranges::any_of(std::array{".dynstr", ".strtab"}, [&](const char* table) {
        const Section* const section = image.section(table);
        if (!section)
            return false;
        const auto bytes = image.raw_contents(*section);
        return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()).find(between)
            != std::string_view::npos;
    });
}

// C++ and Rust throw by these. The library that unwinds is in C programs too, which cancel threads by it.
bool throws(const Image& image, const std::string& name)
{
    const std::string file = std::filesystem::path(name).filename();
    if (file.starts_with("libgcc_s.") || file.starts_with("libunwind"))
        return false;
    const bool stripped = !image.section(".dynstr") && !image.section(".strtab");
    return names_symbol(image, "__cxa_throw") || names_symbol(image, "_Unwind_RaiseException")
        || (stripped && image.section(".gcc_except_table"));
}

std::string why_not(const Image& image, const std::string& name)
{
    if (is_go_program(image))
        return "is a Go program";
    if (throws(image, name))
        return "throws exceptions";
    if (marked_for_shadow_stack(image))
        return "is marked for shadow stacks";
    return {};
}

} // namespace

bool is_go_program(const Image& image)
{
    return std::ranges::any_of(std::array{".go.buildinfo", ".gopclntab", ".note.go.buildid"},
                               [&](const char* name) { return image.section(name) != nullptr; });
}

bool marked_for_shadow_stack(const Image& image)
{
    // x86-64 psABI, "Program property": NT_GNU_PROPERTY_TYPE_0, GNU_PROPERTY_X86_FEATURE_1_AND and its bit. Not every <elf.h> has them.
    constexpr uint32_t properties = 5, feature_1_and = 0xc0000002, shstk = 1u << 1;
    const Section* section = image.section(".note.gnu.property");
    if (!section || image.arch() != Arch::x86_64)
        return false;
    bool marked = false;
    each_note(image.contents(*section), image.encoding(), [&](const RawNote& note) {
        if (note.owner != "GNU" || note.type != properties)
            return;
        // Four bytes of type, four bytes of size, then that many bytes, padded to eight.
        for (size_t at = 0; at + 8 <= note.descriptor.size();) {
            const uint64_t type = load(&note.descriptor[at], 4, false), size = load(&note.descriptor[at + 4], 4, false);
            if (type == feature_1_and && size == 4 && at + 12 <= note.descriptor.size())
                marked |= (load(&note.descriptor[at + 8], 4, false) & shstk) != 0;
            at += 8 + (size + 7) / 8 * 8;
        }
    });
    return marked;
}

std::string why_no_return_probe(const std::string& path, const std::string& name)
{
    std::string why;
    const auto look = [&](const Image& image) {
        if (const std::string reason = why_not(image, name); !reason.empty())
            why = printable(name) + " " + reason;
    };
    try {
        Image::each(path, look, [](const Error&) {});
    } catch (const Unusable&) {
        // no code of the program
    }
    return why;
}

} // namespace fastsdt
