// SPDX-License-Identifier: BSD-2-Clause
// Where indirect jumps of arm64 lead. Compilers jump by a table of offsets, of one, two or four bytes:
//
//     GCC:   cmp w0, #N; b.hi default; adrp x1, table; add x1, x1, :lo12:table; ldrb w1, [x1, w0, uxtw]; adr x0, base
//            add x1, x0, w1, sxtb #2; br x1
//     LLVM:  the same with add x1, x0, x1, lsl #2; offsets of four bytes are from the table: ldrsw x1, [x2, x1, lsl #2]; add x1, x2, x1
//
// Other instructions may stand between. They are followed in the order in which they stand.
#include "movable/instructions_arm64.h"
#include "movable/survey.h"

#include "base/integers.h"

#include <algorithm>

namespace fastsdt {
namespace {

struct KnownValue {
    enum Kind : uint8_t { other, address, entry, sum } kind = other;
    bool is_signed = false;
    uint8_t size = 0, shift = 0; ///< of a table's entry: bytes, and how far it is shifted
    uint64_t at = 0;             ///< the address, or the table's
    uint64_t base = 0;           ///< sum: what the entry is added to; 0: two numbers of which less is known
    uint64_t count = 0;          ///< entry, sum: of entries; 0: not known
};

/// What registers hold.
class Registers {
public:
    const KnownValue& operator[](unsigned reg) const { return values_[reg]; }

    void step(uint32_t word, uint64_t address)
    {
        const unsigned d = word & 31, n = word >> 5 & 31, m = word >> 16 & 31;
        const bool of_vectors = (word & 0x0c000000) == 0x0c000000;
        const arm64::PcRelative relative = arm64::pc_relative(word);
        if ((word & 0x7fc0001f) == 0x7100001f) { // cmp with a constant
            compared_ = uint32_t{1} << n;
            most_ = word >> 10 & 0xfff;
        } else if (relative == arm64::PcRelative::adr || relative == arm64::PcRelative::adrp) {
            set(d, {.kind = KnownValue::address, .at = arm64::refers_to(word, address)});
        } else if ((word & 0xffc00000) == 0x91000000 && values_[n].kind == KnownValue::address) { // add with a constant
            set(d, {.kind = KnownValue::address, .at = values_[n].at + (word >> 10 & 0xfff)});
        } else if ((word & 0x7fe0ffe0) == 0x2a0003e0) { // mov
            const bool compared = is_compared(m);
            set(d, values_[m]);
            compared_ |= uint32_t{compared} << d;
        } else if ((word & 0x3f200c00) == 0x38200800 && (word >> 22 & 3) != 0) { // a load by two registers
            const auto size = uint8_t(1 << (word >> 30));
            const bool known = values_[n].kind == KnownValue::address && size <= 4;
            const uint64_t count = is_compared(m) ? most_ + 1 : 0;
            set(d,
                known ? KnownValue{.kind = KnownValue::entry,
                                   .is_signed = (word >> 23 & 1) != 0,
                                   .size = size,
                                   .at = values_[n].at,
                                   .count = count}
                      : KnownValue{});
        } else if ((word & 0xffe00000) == 0x8b200000) { // add of an extended register
            const unsigned extension = word >> 13 & 7;
            set(d, sum_of(values_[n], values_[m], word >> 10 & 7, extension >= 4));
        } else if ((word & 0xffe00000) == 0x8b000000) { // add of a shifted register
            const unsigned shift = word >> 10 & 63;
            const bool turned = shift == 0 && values_[n].kind == KnownValue::entry;
            set(d, turned ? sum_of(values_[m], values_[n], 0, false) : sum_of(values_[n], values_[m], shift, false));
        } else if ((word & 0xfc000000) == 0x94000000 || (word & 0xfffffc1f) == 0xd63f0000) { // a call
            for (unsigned reg = 0; reg < first_kept; ++reg)
                set(reg, {});
        } else if (!of_vectors && (word & 0x1c000000) != 0x14000000
                   && (word & 0x0a400000) != 0x08000000) { // no jump, no store
            set(d, {});
            if ((word & 0x3a000000) == 0x28000000)
                set(word >> 10 & 31, {});
        }
    }

private:
    static constexpr unsigned first_kept = 19; // by functions that are called

    bool is_compared(unsigned reg) const { return (compared_ >> reg & 1) != 0; }
    void set(unsigned reg, const KnownValue& value)
    {
        compared_ &= ~(uint32_t{1} << reg);
        if (reg != 31)
            values_[reg] = value;
    }
    static KnownValue sum_of(const KnownValue& base, const KnownValue& entry, unsigned shift, bool is_signed)
    {
        if (base.kind != KnownValue::address || entry.kind != KnownValue::entry || shift > 3)
            return {.kind = KnownValue::sum};
        KnownValue sum = entry;
        sum.kind = KnownValue::sum;
        sum.is_signed = sum.is_signed || is_signed;
        sum.shift = uint8_t(shift);
        sum.base = base.at;
        return sum;
    }

    KnownValue values_[32];
    uint32_t compared_ = 0; // registers that are at most that, as has been found out, or something else has been done
    uint64_t most_ = 0;
};

} // namespace

/// Reads the jump's table, if there is one: its entries become targets.
void Survey::find_table(Computed& jump)
{
    constexpr uint64_t farthest = 256; // bytes
    CodePart& body = bodies_[jump.body];
    Registers registers;
    for (uint64_t at = std::max(body.begin, jump.address < farthest ? 0 : jump.address - farthest); at < jump.address;
         at += 4)
        registers.step(arm64::word_of(marks_.code_at(at)), at);
    const KnownValue& value = registers[arm64::word_of(marks_.code_at(jump.address)) >> 5 & 31];
    if (value.kind != KnownValue::sum)
        return;
    jump.sums = true;
    if (value.base == 0 || (value.count == 0 && jump.at_return)) // it may lead to the function's begin
        return;
    const auto bytes = image_.bytes_at(value.at);
    if (value.count * value.size > std::min<uint64_t>(bytes.size(), budget_))
        return;
    budget_ -= value.count * value.size;
    jump.kind = Computed::table;
    bases_.push_back(value.base);
    for (size_t i = 0; i < value.count; ++i) {
        uint64_t offset = load(&bytes[i * value.size], value.size, false);
        const uint64_t sign = uint64_t{1} << (8 * value.size - 1);
        if (value.is_signed)
            offset = (offset ^ sign) - sign;
        const uint64_t to = value.base + (offset << value.shift);
        marks_.add(to, Marks::target);
        body.loops = body.loops || to == body.begin || to == body.entry;
        if (to < body.begin || to > body.end)
            crosses_.push_back({jump.body, to});
    }
}

Computed::Kind Survey::kind_of_arm64(const Computed& jump) const
{
    return jump.kind == Computed::table ? jump.kind : jump.sums ? Computed::unknown : leaves(jump);
}

} // namespace fastsdt
