// SPDX-License-Identifier: BSD-2-Clause
//
// A call is found by its target: the function's entry in the procedure linkage table, or the word of the global offset
// table that the loader fills with the function's address. From the call we go back to the instruction that set the
// register. It counts if that is a constant, and if nothing in between is called or jumped to from elsewhere.
#include "elf/call_constants.h"

#include "base/integers.h"
#include "elf/entries.h"
#include "elf/exits.h"

#include <Zydis/Zydis.h>

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace fastsdt {
namespace {

/// Code at an ELF vaddr.
struct Text {
    uint64_t address = 0;
    std::span<const std::byte> bytes;
    bool has(uint64_t at) const { return at - address < bytes.size(); }
    uint32_t word(size_t at) const { return uint32_t(load(&bytes[at], 4, false)); }
    unsigned byte(size_t at) const { return unsigned(bytes[at]); }
};

std::vector<Text> texts_of(const Image& image)
{
    std::vector<Text> texts;
    for (const Segment& segment : image.segments())
        if (segment.executable)
            texts.push_back({segment.address.value, image.file().subspan(segment.offset.value, segment.file_size)});
    return texts;
}

/// Words that the loader fills with a function's address; empty: the file does not import it.
struct Import {
    std::set<uint64_t> slots;
    bool imported = false;
    bool others = false; ///< its address is somewhere else too
};

Import import_of(const Image& image, std::string_view function)
{
    Import import;
    std::optional<size_t> symbols;
    std::set<uint64_t> numbers; // of symbols with that name
    for (const Section& section : image.sections()) {
        if (section.type != SHT_DYNSYM)
            continue;
        symbols = section.index;
        const Entries<Elf64_Sym> entries(image, section);
        for (size_t i = 0; i < entries.size(); ++i) {
            const Elf64_Sym symbol = entries[i];
            if (symbol.st_shndx != SHN_UNDEF || entries.text(symbol.st_name) != function)
                continue;
            import.imported = true;
            import.others = import.others || symbol.st_value != 0; // the program's own entry is the function's address
            numbers.insert(i);
        }
    }
    if (!import.imported)
        return import;
    const bool x86 = image.arch() == Arch::x86_64;
    const uint32_t jump_slot = x86 ? R_X86_64_JUMP_SLOT : R_AARCH64_JUMP_SLOT,
                   global = x86 ? R_X86_64_GLOB_DAT : R_AARCH64_GLOB_DAT;
    for (const Section& section : image.sections()) {
        if (section.type != SHT_RELA || section.link != symbols)
            continue;
        const auto table = image.raw_contents(section);
        for (size_t at = 0; at + sizeof(Elf64_Rela) <= table.size(); at += sizeof(Elf64_Rela)) {
            Elf64_Rela relocation;
            std::memcpy(&relocation, table.data() + at, sizeof relocation);
            if (!numbers.contains(ELF64_R_SYM(relocation.r_info)))
                continue;
            const uint32_t type = ELF64_R_TYPE(relocation.r_info);
            if (type == jump_slot || type == global)
                import.slots.insert(relocation.r_offset);
            else
                import.others = true;
        }
    }
    import.others = import.others || import.slots.empty();
    return import;
}

bool in_linkage_table(const Image& image, uint64_t address)
{
    const Section* const section = image.section_at(address);
    return section && section->name.starts_with(".plt");
}

/// Jumps of one text: target and origin, sorted.
using Jumps = std::vector<std::pair<uint64_t, uint64_t>>;

/// The origins of those to what is behind `since`, up to `last`.
std::vector<uint64_t> jumps_to(const Jumps& jumps, uint64_t since, uint64_t last)
{
    std::vector<uint64_t> from;
    for (auto jump = std::upper_bound(jumps.begin(), jumps.end(), std::pair(since, ~uint64_t(0)));
         jump != jumps.end() && jump->first <= last; ++jump)
        from.push_back(jump->second);
    return from;
}

/// Places of a text that are looked at: for one call, and for all of them.
class Looks {
public:
    void begin() { seen_.clear(); }
    /// False: it has been looked at for this call, or what has come to is too much, which `calls` tells.
    bool add(uint64_t place, Calls& calls)
    {
        // Programs have some hundreds of calls of these functions; what has more takes too long.
        constexpr size_t most = 20'000;
        if (!seen_.insert(place).second)
            return false;
        const bool enough = ++all_ > most;
        calls.others = calls.others || enough;
        return !enough;
    }
    bool too_many() const
    {
        constexpr size_t most_places = 64; // that the code of one call comes from
        return seen_.size() > most_places;
    }

private:
    std::set<uint64_t> seen_;
    size_t all_ = 0;
};

// ---- x86-64

constexpr size_t window = 192; // bytes before a call in which the constant is looked for
constexpr size_t starts = 16;  // where decoding begins: most of them meet the program's instructions soon

/// What a register holds where a straight piece of code has come to.
struct Held {
    bool reached = false;                             ///< an instruction begins at that place
    enum { unknown, number, nothing } what = unknown; ///< nothing: only jumps lead here
    uint32_t value = 0;                               ///< number
    uint64_t since = 0;                               ///< number, nothing: what jumps behind this brings another value
    bool operator==(const Held&) const = default;
};

/// Decodes from `start` on. @param whole  the register's 64 bits
Held follow(const Text& text, uint64_t start, uint64_t site, ZydisRegister whole)
{
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    Held held;
    for (uint64_t at = start; at < site;) {
        const auto code = text.bytes.subspan(at - text.address);
        ZydisDecodedInstruction instruction;
        ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
        if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code.data(), code.size(), &instruction, operands))) {
            held.what = Held::unknown;
            ++at;
            continue;
        }
        const uint64_t next = at + instruction.length;
        const auto category = instruction.meta.category;
        if (category == ZYDIS_CATEGORY_RET || category == ZYDIS_CATEGORY_UNCOND_BR)
            held = {.what = Held::nothing, .since = at};
        else if (category == ZYDIS_CATEGORY_CALL || category == ZYDIS_CATEGORY_SYSCALL)
            held.what = Held::unknown;
        for (size_t i = 0; i < instruction.operand_count; ++i) {
            const ZydisDecodedOperand& operand = operands[i];
            if (operand.type != ZYDIS_OPERAND_TYPE_REGISTER || !(operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
                || ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, operand.reg.value) != whole)
                continue;
            held.what = Held::unknown;
            if (operand.size >= 32 && instruction.mnemonic == ZYDIS_MNEMONIC_MOV
                && operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
                held = {.what = Held::number, .value = uint32_t(operands[1].imm.value.u), .since = at};
            if (operand.size >= 32 && instruction.mnemonic == ZYDIS_MNEMONIC_XOR
                && operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER && operands[1].reg.value == operand.reg.value)
                held = {.what = Held::number, .since = at};
        }
        at = next;
        held.reached = at == site;
    }
    return held;
}

/// Those of 32 bits.
Jumps jumps_x86_64(const Text& text)
{
    Jumps jumps;
    for (size_t i = 2; i + 4 <= text.bytes.size(); ++i) {
        const bool jump = text.byte(i - 1) == 0xe9,
                   branch = text.byte(i - 2) == 0x0f && (text.byte(i - 1) & 0xf0) == 0x80;
        if (!jump && !branch)
            continue;
        const uint64_t target = text.address + i + 4 + uint64_t(int64_t(int32_t(text.word(i))));
        if (text.has(target))
            jumps.emplace_back(target, text.address + i - (branch ? 2 : 1));
    }
    std::sort(jumps.begin(), jumps.end());
    return jumps;
}

/// Finds the numbers that a register has at some places of a text.
class Numbers {
public:
    explicit Numbers(const Text& text) : text_(text) {}

    /// @param sure  an instruction begins at `site`; if not, nothing is added where none does
    void add(uint64_t site, ZydisRegister reg, bool sure, Calls& calls)
    {
        looks_.begin();
        look(site, reg, sure, calls);
    }

private:
    void look(uint64_t site, ZydisRegister reg, bool sure, Calls& calls)
    {
        if (!looks_.add(site, calls))
            return;
        const size_t before = std::min<size_t>(window, size_t(site - text_.address));
        size_t reached = 0, tried = 0;
        std::map<std::pair<int, uint64_t>, std::pair<size_t, Held>> votes;
        for (size_t i = 0; i < std::min(starts, before); ++i, ++tried) {
            const Held one = follow(text_, site - before + i, site, reg);
            if (!one.reached)
                continue;
            ++reached;
            auto& vote = votes[{int(one.what), one.since}];
            ++vote.first;
            vote.second = one;
        }
        if (!sure && (reached * 2 <= tried || !is_code(site)))
            return;
        if (votes.size() != 1 || votes.begin()->second.second.what == Held::unknown || looks_.too_many()) {
            calls.others = true;
            return;
        }
        const Held held = votes.begin()->second.second;
        if (held.what == Held::number)
            calls.numbers.insert(held.value);
        for (const uint64_t from : jumps_behind(held.since, site))
            look(from, reg, true, calls);
    }

    // Hand-written code has tables among it, of which most bytes make no sense as instructions.
    bool is_code(uint64_t site) const
    {
        ZydisDecoder decoder;
        ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
        constexpr size_t enough = 64;
        for (size_t i = size_t(site - text_.address), end = std::min(i + enough, text_.bytes.size()); i < end;) {
            ZydisDecodedInstruction instruction;
            if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, nullptr, &text_.bytes[i], text_.bytes.size() - i,
                                                            &instruction))
                || (instruction.attributes & ZYDIS_ATTRIB_IS_PRIVILEGED))
                return false;
            i += instruction.length;
            const auto category = instruction.meta.category;
            if (category == ZYDIS_CATEGORY_RET || category == ZYDIS_CATEGORY_UNCOND_BR)
                while (i < end && text_.bytes[i] == std::byte{0})
                    ++i; // between two sections
        }
        return true;
    }

    // Jumps to what is behind `since`, up to `site`.
    std::vector<uint64_t> jumps_behind(uint64_t since, uint64_t site)
    {
        if (!jumps_)
            jumps_ = jumps_x86_64(text_);
        std::vector<uint64_t> from = jumps_to(*jumps_, since, site);
        // Those of 8 bits are decoded, since any byte may look like one.
        constexpr size_t reach = 128;
        const size_t low = size_t(since - text_.address), high = size_t(site - text_.address);
        std::map<uint64_t, size_t> votes;
        for (size_t start = 0; start < starts; ++start)
            for (size_t i = (low > window ? low - window : 0) + start;
                 i < std::min(high + reach, text_.bytes.size());) {
                const auto here = step(Arch::x86_64, text_.bytes.subspan(i), text_.address + i);
                if (here && here->flow == Flow::away && here->length == 2 && here->target > since
                    && here->target <= site && text_.address + i != since)
                    ++votes[text_.address + i];
                i += here ? here->length : 1;
            }
        for (const auto& [jump, votes_for_it] : votes)
            if (votes_for_it * 2 > starts)
                from.push_back(jump);
        return from;
    }

    const Text& text_;
    std::optional<Jumps> jumps_;
    Looks looks_;
};

Calls calls_x86_64(const Image& image, const Import& import)
{
    Calls calls{{}, import.others};
    std::set<uint64_t> stubs;
    const std::vector<Text> texts = texts_of(image);
    std::map<const Text*, Numbers> numbers;
    for (const Text& text : texts)
        numbers.emplace(&text, text);
    const auto each_displacement = [&](const std::set<uint64_t>& targets,
                                       const std::function<void(const Text&, size_t at)>& visit) {
        if (targets.empty())
            return;
        const uint64_t lowest = *targets.begin(), highest = *targets.rbegin();
        for (const Text& text : texts)
            for (size_t i = 2; i + 4 <= text.bytes.size(); ++i) {
                const uint64_t target = text.address + i + 4 + uint64_t(int64_t(int32_t(text.word(i))));
                if (target >= lowest && target <= highest && targets.contains(target))
                    visit(text, i);
            }
    };
    const auto from_rip = [](const Text& text, size_t i) { return (text.byte(i - 1) & 0xc7) == 0x05; };
    each_displacement(import.slots, [&](const Text& text, size_t i) {
        const uint64_t at = text.address + i - 2;
        const bool jumps = text.byte(i - 2) == 0xff && text.byte(i - 1) == 0x25;
        if (jumps && in_linkage_table(image, at))
            for (const uint64_t back : {0, 1, 4, 5}) // with bnd, with endbr64, with both
                stubs.insert(at - back);
        else if (jumps || (text.byte(i - 2) == 0xff && text.byte(i - 1) == 0x15))
            numbers.at(&text).add(at, ZYDIS_REGISTER_RDI, true, calls);
        else if (from_rip(text, i))
            calls.others = true; // the address is loaded
    });
    each_displacement(stubs, [&](const Text& text, size_t i) {
        if (in_linkage_table(image, text.address + i))
            return;
        if (text.byte(i - 1) == 0xe8 || text.byte(i - 1) == 0xe9)
            numbers.at(&text).add(text.address + i - 1, ZYDIS_REGISTER_RDI, true, calls);
        else if (text.byte(i - 2) == 0x0f && (text.byte(i - 1) & 0xf0) == 0x80)
            numbers.at(&text).add(text.address + i - 2, ZYDIS_REGISTER_RDI, true, calls);
        else if (text.byte(i - 2) == 0x8d && from_rip(text, i)) // lea
            calls.others = true;
    });
    return calls;
}

// ---- arm64

constexpr unsigned most_steps = 32; // instructions before a call

/// As Numbers.
class NumbersArm64 {
public:
    explicit NumbersArm64(const Text& text) : text_(text) {}

    /// The low 32 bits of a register before the instruction at offset `at`.
    void add(size_t at, unsigned reg, Calls& calls)
    {
        looks_.begin();
        look(at, reg, calls);
    }

private:
    void look(size_t at, unsigned reg, Calls& calls)
    {
        if (!looks_.add(at, calls))
            return;
        for (unsigned steps = 1; steps <= most_steps && at >= 4 * steps && !looks_.too_many(); ++steps) {
            const size_t before = at - 4 * steps;
            const uint32_t word = text_.word(before);
            const auto here = step(Arch::arm64, text_.bytes.subspan(before), text_.address + before);
            const bool sets = (word & 0x7fe0001f) == (0x52800000 | reg); // movz
            const bool leaves = (word & 0xfc000000) == 0x14000000        // b
                || (here && (here->flow == Flow::returns || here->flow == Flow::indirect));
            if (sets)
                calls.numbers.insert(word >> 5 & 0xffff);
            if (sets || leaves) {
                for (const size_t from : jumps_behind(before, at))
                    look(from, reg, calls);
                return;
            }
            const bool called = (word & 0xfc000000) == 0x94000000 || (word & 0xfffffc1f) == 0xd63f0000 // bl, blr
                || (word & 0xffe0001f) == 0xd4000001;                                                  // svc
            const bool stores = (word & 0x3b400000) == 0x39000000 || (word & 0x3b600000) == 0x38000000 // str
                || (word & 0x3a400000) == 0x28000000;                                                  // stp
            const bool jumps = here && here->flow == Flow::away;
            const bool loads_pair = (word & 0x3a400000) == 0x28400000;
            if ((word & 0x7fe0ffff) == (0x2a0003e0 | reg)) { // mov: what the other register has
                reg = word >> 16 & 31;
                continue;
            }
            constexpr unsigned first_kept = 19; // by functions that are called
            if ((called && reg < first_kept) || (!called && !stores && !jumps && (word & 31) == reg)
                || (loads_pair && (word >> 10 & 31) == reg))
                break;
        }
        calls.others = true;
    }

    // Offsets of jumps to what is behind offset `since`, up to `at`.
    std::vector<size_t> jumps_behind(size_t since, size_t at)
    {
        if (!jumps_) {
            jumps_.emplace();
            for (size_t i = 0; i + 4 <= text_.bytes.size(); i += 4) {
                const auto here = step(Arch::arm64, text_.bytes.subspan(i), text_.address + i);
                if (here && here->flow == Flow::away && text_.has(here->target))
                    jumps_->emplace_back(here->target, i);
            }
            std::sort(jumps_->begin(), jumps_->end());
        }
        return jumps_to(*jumps_, text_.address + since, text_.address + at);
    }

    const Text& text_;
    std::optional<Jumps> jumps_;
    Looks looks_;
};

Calls calls_arm64(const Image& image, const Import& import)
{
    Calls calls{{}, import.others};
    std::set<uint64_t> stubs;
    const std::vector<Text> texts = texts_of(image);
    for (const Text& text : texts)
        for (size_t i = 0; i + 8 <= text.bytes.size(); i += 4) {
            const uint32_t page = text.word(i);
            if ((page & 0x9f000000) != 0x90000000) // adrp
                continue;
            const int64_t pages = int64_t(int32_t((page >> 5 & 0x7ffff) << 2 | (page >> 29 & 3)) << 11) >> 11;
            const uint64_t base = ((text.address + i) & ~uint64_t(4095)) + uint64_t(pages << 12);
            const bool stub = in_linkage_table(image, text.address + i); // where the load follows at once
            for (size_t next = i + 4; next + 4 <= text.bytes.size() && next <= i + (stub ? 4 : 32); next += 4) {
                const uint32_t load = text.word(next);
                if ((load & 0xffc00000) != 0xf9400000 || (load >> 5 & 31) != (page & 31) // ldr x, [x, #]
                    || !import.slots.contains(base + 8 * (load >> 10 & 0xfff)))
                    continue;
                if (stub) {
                    stubs.insert(text.address + i);
                    stubs.insert(text.address + i - 4); // behind bti c
                } else {
                    calls.others = true;
                }
            }
        }
    for (const Text& text : texts) {
        NumbersArm64 numbers(text);
        for (size_t i = 0; i + 4 <= text.bytes.size(); i += 4) {
            const uint32_t word = text.word(i);
            if ((word & 0x7c000000) != 0x14000000) // b, bl
                continue;
            const uint64_t target = text.address + i + uint64_t(int64_t(int32_t(word << 6) >> 6) * 4);
            if (stubs.contains(target) && !in_linkage_table(image, text.address + i))
                numbers.add(i, 0, calls);
        }
    }
    return calls;
}

} // namespace

Calls calls_of(const Image& image, std::string_view function)
{
    const Import import = import_of(image, function);
    if (!import.imported)
        return {};
    switch (image.arch()) {
    case Arch::x86_64: return calls_x86_64(image, import);
    case Arch::arm64: return calls_arm64(image, import);
    default: return {{}, true};
    }
}

Calls system_calls_of(const Image& image)
{
    Calls calls;
    for (const Text& text : texts_of(image)) {
        if (image.arch() == Arch::x86_64) {
            Numbers numbers(text);
            for (size_t i = 0; i + 2 <= text.bytes.size(); ++i)
                if (text.byte(i) == 0x0f && text.byte(i + 1) == 0x05)
                    numbers.add(text.address + i, ZYDIS_REGISTER_RAX, false, calls);
        } else if (image.arch() == Arch::arm64) {
            NumbersArm64 numbers(text);
            for (size_t i = 0; i + 4 <= text.bytes.size(); i += 4)
                if ((text.word(i) & 0xffe0001f) == 0xd4000001)
                    numbers.add(i, 8, calls);
        } else {
            calls.others = true;
        }
    }
    return calls;
}

} // namespace fastsdt
