// SPDX-License-Identifier: BSD-2-Clause
#include "movable/go_runtime.h"

#include "elf/entries.h"
#include "elf/go_table.h"

#include <charconv>
#include <string_view>

namespace fastsdt {
namespace {

// .go.buildinfo, from 1.18 on: then a bit of its flags says that the version's text stands there, behind its length (debug/buildinfo). Else empty.
std::string_view build_info(const Image& image)
{
    constexpr size_t flags = 15, text = 33;
    const Section* const section = image.section(".go.buildinfo");
    const auto bytes = section ? image.contents(*section) : std::span<const std::byte>();
    const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return all.size() > text && (all[flags] & 2) ? all : std::string_view();
}

// "go1.26.8": 26
std::optional<unsigned> minor_version(const Image& image)
{
    constexpr size_t length = 32, text = 33, longest = 128; // a length of one byte
    constexpr std::string_view magic = "\xff Go buildinf:", first = "go1.";
    const std::string_view all = build_info(image);
    if (!all.starts_with(magic))
        return std::nullopt;
    const auto size = static_cast<unsigned char>(all[length]);
    if (size >= longest || size > all.size() - text)
        return std::nullopt;
    std::string_view version = all.substr(text, size);
    if (!version.starts_with(first))
        return std::nullopt;
    version.remove_prefix(first.size());
    unsigned minor = 0;
    if (std::from_chars(version.data(), version.data() + version.size(), minor).ec != std::errc())
        return std::nullopt;
    return minor;
}

bool has_ret(unsigned minor)
{
    constexpr unsigned last = 24;
    return minor <= last;
}

// runtime/runtime2.go. gobuf begins with sp and pc. Until 1.24 it had `ret`, from 1.23 on g has `syscallbp`.
bool set_offsets(unsigned minor, GoRuntime& runtime)
{
    constexpr unsigned oldest = 19, newest = 26; // that were tried
    if (minor < oldest || minor > newest)
        return false;
    const bool longer = minor >= 23 && has_ret(minor);
    runtime.sched = 56;
    runtime.status = longer ? 152 : 144;
    runtime.number = longer ? 160 : 152;
    return true;
}

void set_symbol(std::string_view name, uint64_t address, uint64_t size, GoRuntime& runtime)
{
    if (name == "go:textfipsstart")
        runtime.hashed.start = address;
    else if (name == "go:textfipsend")
        runtime.hashed.end = address;
    else if (name == "runtime.allgs")
        runtime.goroutines = address;
    else if (name == "runtime.asyncPreempt2" || name == "runtime.asyncPreempt2.abi0")
        runtime.preemption.push_back({address, address + size});
}

} // namespace

bool has_go_registers(const Image& image)
{
    return !build_info(image).empty();
}

GoOffsets go_offsets(const Image& image)
{
    constexpr uint32_t words_of_gobuf = 6, before = 8, behind = 8;
    GoRuntime runtime;
    const auto minor = minor_version(image);
    if (!minor || !set_offsets(*minor, runtime))
        return {};
    const uint32_t gobuf = 8 * (words_of_gobuf + (has_ret(*minor) ? 1 : 0));
    return {runtime.number, before + gobuf + behind}; // m: g0, morebuf, divmod and its padding, procid
}

std::optional<GoRuntime> go_runtime(const Image& image)
{
    const auto minor = minor_version(image);
    const auto text = minor ? go_text(image) : std::nullopt;
    const Section* const section = image.section(".symtab");
    GoRuntime runtime;
    if (image.arch() != Arch::x86_64 || (image.kind() != Image::Kind::executable && image.kind() != Image::Kind::pie)
        || !minor || !text || !section || !set_offsets(*minor, runtime))
        return std::nullopt;
    runtime.text = {text->first, text->second};
    const Entries<Elf64_Sym> symbols(image, *section);
    for (size_t i = 0; i < symbols.size(); ++i) {
        const Elf64_Sym symbol = symbols[i];
        if (symbol.st_shndx != SHN_UNDEF)
            set_symbol(symbols.text(symbol.st_name), symbol.st_value, symbol.st_size, runtime);
    }
    const bool whole = runtime.text.start < runtime.text.end && runtime.goroutines && !runtime.preemption.empty()
        && runtime.hashed.start <= runtime.hashed.end;
    return whole ? std::optional(runtime) : std::nullopt;
}

} // namespace fastsdt
