// SPDX-License-Identifier: BSD-2-Clause
#include "movable/go_runtime.h"

#include "elf/entries.h"
#include "elf/go_table.h"
#include "movable/instructions.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <span>
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

constexpr std::string_view build_info_magic = "\xff Go buildinf:";

// Until 1.17 the section has the address of a string instead.
std::string_view old_version(const Image& image)
{
    constexpr uint64_t string = 16, longest = 128;
    const Section* const section = image.section(".go.buildinfo");
    const auto info = section ? image.contents(*section) : std::span<const std::byte>();
    if (info.size() < string || std::memcmp(info.data(), build_info_magic.data(), build_info_magic.size()) != 0)
        return {};
    const auto addresses = go_words(image, section->address + string);
    const auto text = addresses ? go_words(image, addresses->first) : std::nullopt;
    const auto bytes = text ? image.bytes_at(text->first) : std::span<const std::byte>();
    if (!text || text->second > std::min<uint64_t>(longest, bytes.size()))
        return {};
    return {reinterpret_cast<const char*>(bytes.data()), text->second};
}

// "go1.26.8"
std::string_view version_of(const Image& image)
{
    constexpr size_t length = 32, text = 33, longest = 128; // a length of one byte
    const std::string_view all = build_info(image);
    if (all.empty())
        return old_version(image);
    const auto size = static_cast<unsigned char>(all[length]);
    if (!all.starts_with(build_info_magic) || size >= longest || size > all.size() - text)
        return {};
    return all.substr(text, size);
}

// "go1.26.8": 26
std::optional<unsigned> minor_version(const Image& image)
{
    constexpr std::string_view first = "go1.";
    std::string_view version = version_of(image);
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
    constexpr unsigned oldest = 17, newest = 26; // that were tried
    if (minor < oldest || minor > newest)
        return false;
    const bool longer = minor >= 23 && has_ret(minor);
    runtime.sched = 56;
    runtime.status = longer ? 152 : 144;
    runtime.number = longer ? 160 : 152;
    return true;
}

// A word of the program's data that an instruction loads or stores as a whole: `mov` with an address relative to rip.
struct WordAccess {
    uint64_t address = 0;
    bool stores = false;
};

std::vector<WordAccess> accesses_of(const Image& image, const Function& function)
{
    std::vector<WordAccess> accesses;
    Decoder decoder(image.arch());
    Instruction instruction;
    for (uint64_t at = function.address; at < function.address + function.size; at += instruction.length) {
        const auto code = image.bytes_at(at);
        if (!decoder.decode(code, at, instruction) || instruction.length == 0)
            return {};
        constexpr unsigned rex_w = 0x48, rex_r = 0x04, load = 0x8b, store = 0x89, of_rip = 0x05, not_register = 0xc7;
        const auto byte = [&](size_t i) { return std::to_integer<unsigned>(code[i]); };
        if (instruction.reference == Instruction::data && instruction.length == 7 && (byte(0) & ~rex_r) == rex_w
            && (byte(1) == load || byte(1) == store) && (byte(2) & not_register) == of_rip)
            accesses.push_back({instruction.refers_to, byte(1) == store});
    }
    return accesses;
}

// runtime.allgs without symbols: runtime/proc.go. forEachG() loads its first two words and no others; allgadd() stores all three, once each, loads
// the first two too, and no others. The same from Go 1.17 to 1.26. 0: it is not so.
uint64_t list_of_goroutines(const Image& image, const Function& for_each, const Function& add)
{
    constexpr uint64_t word = 8, words = 3;
    const std::vector<WordAccess> loads = accesses_of(image, for_each);
    if (loads.size() != 2 || loads[0].stores || loads[1].stores || loads[1].address != loads[0].address + word)
        return 0;
    const uint64_t list = loads[0].address;
    unsigned loaded = 0, stored = 0, stores = 0;
    for (const WordAccess& one : accesses_of(image, add)) {
        if (one.address - list >= words * word || (one.address - list) % word)
            return 0;
        (one.stores ? stored : loaded) |= 1U << ((one.address - list) / word);
        stores += one.stores;
    }
    constexpr unsigned first_two = 3, all = 7;
    const bool fits = stored == all && stores == words && (loaded & first_two) == first_two && list % word == 0;
    const bool is_data = std::ranges::any_of(image.segments(), [&](const Segment& segment) {
        return segment.writable && list - segment.address.value < segment.size
            && segment.size - (list - segment.address.value) >= words * word;
    });
    return fits && is_data ? list : 0;
}

// What the program hashes: crypto/internal/fips140/check. From 1.24 on; "\xff Go fipsinfo \xff\0", a sum, and addresses.
bool set_hashed(const Image& image, unsigned minor, GoRuntime& runtime)
{
    constexpr unsigned first = 24;
    constexpr uint64_t start = 56, behind = 72;
    constexpr std::string_view magic = "\xff Go fipsinfo \xff";
    if (minor < first)
        return true;
    const Section* const section = image.section(".go.fipsinfo");
    const auto bytes = section ? image.contents(*section) : std::span<const std::byte>();
    if (bytes.size() < behind || std::memcmp(bytes.data(), magic.data(), magic.size()) != 0)
        return false;
    const auto range = go_words(image, section->address + start);
    if (range)
        runtime.hashed = {range->first, range->second};
    return range.has_value();
}

// A goroutine may stand between instructions that give way together. On arm64 one does.
bool needs_goroutines(const Image& image)
{
    return image.arch() == Arch::x86_64;
}

// As the table of its functions has them.
bool set_without_symbols(const Image& image, unsigned minor, GoRuntime& runtime)
{
    std::vector<Function> for_each, add;
    for (const Function& one : go_functions(image)) {
        if (one.name == "runtime.forEachG")
            for_each.push_back(one);
        else if (one.name == "runtime.allgadd")
            add.push_back(one);
        else if (one.name == "runtime.asyncPreempt2")
            runtime.preemption.push_back({one.address, one.address + one.size});
    }
    if (!set_hashed(image, minor, runtime))
        return false;
    if (!needs_goroutines(image))
        return true;
    constexpr size_t with_wrapper = 2; // the assembly's asyncPreempt calls it by that
    if (for_each.size() != 1 || add.size() != 1 || runtime.preemption.size() != with_wrapper)
        return false;
    runtime.goroutines = list_of_goroutines(image, for_each[0], add[0]);
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
    return !build_info(image).empty() || (image.arch() == Arch::x86_64 && minor_version(image) == 17u);
}

bool has_c_code(const Image& image)
{
    return image.section(".eh_frame") || !needed_libraries(image).empty();
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
    if ((image.arch() != Arch::x86_64 && image.arch() != Arch::arm64)
        || (image.kind() != Image::Kind::executable && image.kind() != Image::Kind::pie) || !minor || !text
        || !set_offsets(*minor, runtime))
        return std::nullopt;
    runtime.text = {text->first, text->second};
    if (section) {
        const Entries<Elf64_Sym> symbols(image, *section);
        for (size_t i = 0; i < symbols.size(); ++i) {
            const Elf64_Sym symbol = symbols[i];
            if (symbol.st_shndx != SHN_UNDEF)
                set_symbol(symbols.text(symbol.st_name), symbol.st_value, symbol.st_size, runtime);
        }
    } else if (!set_without_symbols(image, *minor, runtime)) {
        return std::nullopt;
    }
    const bool whole = runtime.text.start < runtime.text.end && (runtime.goroutines || !needs_goroutines(image))
        && !runtime.preemption.empty() && runtime.hashed.start <= runtime.hashed.end;
    return whole ? std::optional(runtime) : std::nullopt;
}

} // namespace fastsdt
