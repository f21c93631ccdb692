// SPDX-License-Identifier: BSD-2-Clause
// What is no code but tells of it: symbols, relocations, data that have addresses, landing pads.
#include "movable/survey.h"

#include "base/integers.h"
#include "elf/entries.h"
#include "elf/return_probes.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <elf.h>
#include <string_view>

namespace fastsdt {
namespace {

constexpr uint32_t relr = 19, android_rel = 0x60000001, android_rela = 0x60000002, android_relr = 0x6fffff00; // SHT_*

// Functions whose pcs somebody compares, that run before the program is relocated, that return twice or on another stack,
// or that a signal leaves in the middle.
bool special_name(std::string_view name)
{
    constexpr std::array exact{
        "__pthread_enable_asynccancel",
        "__pthread_disable_asynccancel",
        "__syscall_cancel_arch",
        "__syscall_cp_asm",
        "__syscall_cp_c",
        "__restore_rt",
        "__restore",
        "setjmp",
        "_setjmp",
        "__sigsetjmp",
        "sigsetjmp",
        "__setjmp",
        "longjmp",
        "_longjmp",
        "siglongjmp",
        "__longjmp",
        "__libc_longjmp",
        "__libc_siglongjmp",
        "____longjmp_chk",
        "__longjmp_chk",
        "vfork",
        "__vfork",
        "__libc_vfork",
        "clone",
        "__clone",
        "clone3",
        "__clone3",
        "_start",
        "_dl_start",
        "_dl_start_user",
        "_dlstart",
        "_dlstart_c",
        "__dls2",
        "__dls2b",
        "__dls3",
        "_rt0_amd64_linux",
    };
    constexpr std::array prefixes{"_dl_runtime_resolve", "_dl_runtime_profile", "_dl_relocate", "_dl_tlsdesc"};
    return std::find(exact.begin(), exact.end(), name) != exact.end()
        || std::any_of(prefixes.begin(), prefixes.end(), [&](const char* start) { return name.starts_with(start); });
}

bool is_cold_name(std::string_view name)
{
    return name.ends_with(".cold") || name.find(".cold.") != name.npos;
}

} // namespace

void Survey::read_sections()
{
    go_ = fastsdt::is_go_program(image_);
    for (const Section& section : image_.sections()) {
        if (section.name.starts_with("__rseq_cs"))
            rseq_.emplace_back(section.address, section.address + section.size);
        if (section.type == android_rel || section.type == android_rela || section.type == android_relr)
            trouble_ = Trouble::overlaps;
        if (rseq_.size() > 16) // nobody has that many, and each relocation is compared with all
            trouble_ = Trouble::overlaps;
        if (section.type != SHT_DYNAMIC)
            continue;
        const Entries<Elf64_Dyn> entries(image_, section);
        for (size_t i = 0; i < entries.size() && entries[i].d_tag != DT_NULL; ++i) {
            const std::string_view name = entries[i].d_tag == DT_SONAME ? entries.text(entries[i].d_un.d_val) : "";
            if (name.starts_with("ld-linux") || name.starts_with("ld-musl") || name.starts_with("ld.so")
                || name.starts_with("ld64.so"))
                trouble_ = Trouble::loader;
        }
    }
}

// Places that somebody writes to while the program runs: XRay's sleds (compiler-rt/lib/xray/xray_interface_internal.h, XRaySledEntry: 32
// bytes, since its version 2 with addresses relative to themselves), and what -fpatchable-function-entry has put down for live patches.
void Survey::read_patched()
{
    constexpr size_t size_of_sled = 32, version_at = 18;
    const auto mark = [this](uint64_t at) {
        if (const auto body = body_at(at))
            bodies_[*body].patched = true;
    };
    for (const Section& section : image_.sections()) {
        const auto bytes = image_.raw_contents(section);
        if (section.name == "xray_instr_map")
            for (size_t at = 0; at + size_of_sled <= bytes.size(); at += size_of_sled) {
                const uint64_t address = load(&bytes[at], 8, false);
                mark(uint8_t(bytes[at + version_at]) < 2 ? address : section.address + at + address);
            }
        if (section.name == "__patchable_function_entries") {
            for (size_t at = 0; at + 8 <= bytes.size(); at += 8)
                mark(load(&bytes[at], 8, false));
            patchable_.emplace_back(section.address, section.address + section.size); // the loader fills it in
        }
    }
    if (patchable_.size() > 16) // as of rseq_
        trouble_ = Trouble::overlaps;
}

void Survey::read_symbols()
{
    for (const Image* image : image_.files_with_symbols())
        for (const Section& section : image->sections())
            read_symbols(*image, section);
    for (const Function& of_go : image_.functions_of_go())
        if (marks_.has(of_go.address))
            take(of_go.address, CodePart::none);
}

void Survey::read_symbols(const Image& image, const Section& section)
{
    const Entries<Elf64_Sym> symbols(image, section);
    for (size_t i = 0; i < symbols.size(); ++i) {
        const Elf64_Sym symbol = symbols[i];
        const int type = ELF64_ST_TYPE(symbol.st_info);
        if (section.type == SHT_DYNAMIC || symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS
            || type == STT_SECTION || type == STT_FILE || type == STT_TLS || !marks_.has(symbol.st_value))
            continue;
        const std::string_view name = symbols.text(symbol.st_name);
        if (of_words() && name.starts_with('$')) { // says what the assembler has put there: $x code, $d data
            const auto body = body_at(symbol.st_value);
            if (name.starts_with("$d") && body)
                bodies_[*body].broken = true;
            continue;
        }
        const bool cold = is_cold_name(name);
        marks_.add(symbol.st_value, cold ? Marks::target : Marks::target | Marks::called);
        const auto number = body_at(symbol.st_value);
        if (!number)
            continue;
        CodePart& body = bodies_[*number];
        body.entered = body.entered || symbol.st_value != body.begin;
        body.cold = body.cold || (cold && symbol.st_value == body.begin);
        body.special = body.special || special_name(name);
        body.indirect = body.indirect || type == STT_GNU_IFUNC;
    }
}

// @param visit  gets what the relocation makes; empty: that is not in this file
void Survey::each_rela(const Section& section,
                       const std::function<void(const Elf64_Rela&, std::optional<uint64_t> value)>& visit) const
{
    const auto table = image_.raw_contents(section);
    const Section* const symbols = section.link < image_.sections().size() ? &image_.sections()[section.link] : nullptr;
    const auto values = symbols ? image_.raw_contents(*symbols) : std::span<const std::byte>();
    for (size_t at = 0; at + sizeof(Elf64_Rela) <= table.size(); at += sizeof(Elf64_Rela)) {
        Elf64_Rela relocation;
        std::memcpy(&relocation, table.data() + at, sizeof relocation);
        const uint64_t number = ELF64_R_SYM(relocation.r_info);
        std::optional<uint64_t> value = uint64_t(relocation.r_addend);
        if (number >= values.size() / sizeof(Elf64_Sym) && number != 0) {
            value.reset();
        } else if (number != 0) {
            Elf64_Sym symbol;
            std::memcpy(&symbol, values.data() + number * sizeof symbol, sizeof symbol);
            if (symbol.st_shndx == SHN_UNDEF)
                value.reset();
            else
                *value += symbol.st_value;
        }
        visit(relocation, value);
    }
}

// The format: an address, then bitmaps of the 63 words behind.
static void each_relr(std::span<const std::byte> table, const std::function<void(uint64_t at)>& visit)
{
    uint64_t next = 0;
    for (size_t at = 0; at + 8 <= table.size(); at += 8) {
        const uint64_t entry = load(&table[at], 8, false);
        if (!(entry & 1)) {
            visit(entry);
            next = entry + 8;
            continue;
        }
        for (unsigned bit = 1; bit < 64; ++bit)
            if (entry >> bit & 1)
                visit(next + 8 * (bit - 1));
        next += uint64_t(8) * 63;
    }
}

void Survey::read_relocations()
{
    const auto in_rseq = [&](uint64_t at) {
        return std::any_of(rseq_.begin(), rseq_.end(),
                           [&](const auto& range) { return at >= range.first && at < range.second; });
    };
    const uint64_t indirect = of_words() ? R_AARCH64_IRELATIVE : R_X86_64_IRELATIVE;
    const auto point = [&](uint64_t at, uint64_t to) {
        if (!marks_.has(to))
            return;
        if (std::any_of(patchable_.begin(), patchable_.end(),
                        [&](const auto& range) { return at >= range.first && at < range.second; })) {
            if (const auto body = body_at(to))
                bodies_[*body].patched = true;
            return; // nobody goes there
        }
        take(to, CodePart::none);
        if (in_rseq(at))
            if (const auto body = body_at(to))
                bodies_[*body].rseq = true;
    };
    const auto word = [&](uint64_t at) {
        const auto bytes = image_.bytes_at(at);
        if (const auto body = body_at(at))
            bodies_[*body].relocated = true;
        if (bytes.size() >= 8)
            point(at, load(bytes.data(), 8, false));
    };
    for (const Section& section : image_.sections()) {
        const auto table = image_.raw_contents(section);
        if (!(section.flags & SHF_ALLOC))
            continue;
        if (section.type == SHT_RELA) {
            each_rela(section, [&](const Elf64_Rela& relocation, std::optional<uint64_t> value) {
                if (const auto body = body_at(relocation.r_offset))
                    bodies_[*body].relocated = true;
                if (!value)
                    return;
                point(relocation.r_offset, *value);
                if (ELF64_R_TYPE(relocation.r_info) == indirect)
                    if (const auto body = body_at(*value))
                        bodies_[*body].indirect = true;
            });
        } else if (section.type == SHT_REL) {
            for (size_t at = 0; at + sizeof(Elf64_Rel) <= table.size(); at += sizeof(Elf64_Rel))
                word(load(&table[at], 8, false));
        } else if (section.type == relr) {
            each_relr(table, word);
        }
    }
    read_starts();
}

// What the kernel jumps to, and what the loader calls without a relocation.
void Survey::read_starts()
{
    const uint64_t entry = load(&image_.file()[offsetof(Elf64_Ehdr, e_entry)], 8, false);
    marks_.add(entry, Marks::target | Marks::called);
    if (const auto body = body_at(entry); body && bodies_[*body].outermost)
        bodies_[*body].special = true;
    for (const Section& section : image_.sections()) {
        if (section.type != SHT_DYNAMIC)
            continue;
        const Entries<Elf64_Dyn> entries(image_, section);
        for (size_t i = 0; i < entries.size(); ++i)
            if (entries[i].d_tag == DT_INIT || entries[i].d_tag == DT_FINI)
                marks_.add(entries[i].d_un.d_ptr, Marks::target | Marks::called);
    }
}

// In a program that is linked to its addresses, any word may be one.
void Survey::read_words()
{
    for (const Segment& segment : image_.segments()) {
        const auto bytes = image_.file().subspan(segment.offset.value, segment.file_size);
        const uint64_t start = segment.address.value;
        for (size_t at = size_t(-start & 7); at + 8 <= bytes.size(); at += 8) {
            const uint64_t value = load(&bytes[at], 8, false);
            if (!marks_.has(value))
                continue;
            // Those inside functions are perhaps of tables, which are not known yet.
            marks_.add(value, Marks::target);
            words_.emplace_back(start + at, value);
            if (marks_.at(value) & Marks::start)
                marks_.add(value, Marks::called);
            for (const auto& [begin, end] : rseq_)
                if (start + at >= begin && start + at < end)
                    if (const auto body = body_at(value))
                        bodies_[*body].rseq = true;
        }
    }
}

void Survey::read_landing_pads()
{
    uint64_t budget = image_.file().size();
    for (CodePart& body : bodies_)
        if (!each_landing_pad(image_, body, budget, [&](uint64_t pad) { marks_.add(pad, Marks::target); }))
            body.broken = true;
}

} // namespace fastsdt
