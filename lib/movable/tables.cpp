// SPDX-License-Identifier: BSD-2-Clause
// Which parts belong to which function, and where indirect jumps lead.
#include "movable/survey.h"

#include "base/integers.h"
#include "movable/instructions_x86.h"

#include <algorithm>

namespace fastsdt {

bool Survey::ends_own(const Cross& cross, const std::vector<uint32_t>& owners) const
{
    const auto before = body_at(cross.to - 1);
    if (!before || bodies_[*before].end != cross.to)
        return false;
    return *before == cross.from
        || (!owners.empty() && (owners[*before] == cross.from || owners[cross.from] == *before));
}

/// By body, which other one alone jumps to it, if it is a part.
std::vector<uint32_t> Survey::sole_sources(const std::vector<uint32_t>& owners) const
{
    constexpr uint32_t several = CodePart::none - 1;
    std::vector<uint32_t> sources(bodies_.size(), CodePart::none);
    for (const Cross& cross : crosses_) {
        const auto to = body_at(cross.to);
        if (!to || ends_own(cross, owners))
            continue;
        uint32_t& source = sources[*to];
        source = source == CodePart::none || source == cross.from ? cross.from : several;
    }
    for (uint32_t i = 0; i < bodies_.size(); ++i) {
        const CodePart& body = bodies_[i];
        const bool part = body.cold || !frames_.at_return(body.first) || !(marks_.at(body.begin) & Marks::called);
        if (sources[i] == several || sources[i] == i || !part)
            sources[i] = CodePart::none;
    }
    return sources;
}

// A part is jumped to by one function only, and is no function itself: nobody calls it, no symbol and no pointer leads to it.
// Its name may say so too, or the stack, which is not as at a function's begin. A function that a single other one jumps to
// and that has lost its symbol is taken for a part: then its returns are the other's, and there are as many as before.
void Survey::find_parts()
{
    // What the compiler knows to be unreachable jumps to the end of the function or its part, where another part may begin.
    // Which part that is shows in the next round.
    std::vector<uint32_t> owners = sole_sources({});
    for (unsigned round = 0; round < 3; ++round)
        owners = sole_sources(owners);
    const auto to_own_end = [&](const Cross& cross) { return ends_own(cross, owners); };
    crosses_.erase(std::remove_if(crosses_.begin(), crosses_.end(), to_own_end), crosses_.end());
    for (uint32_t i = 0; i < bodies_.size(); ++i) {
        constexpr unsigned deepest = 16; // parts of parts; what goes round in a circle has no owner
        uint32_t owner = owners[i];
        for (unsigned depth = 0; owner != CodePart::none && owners[owner] != CodePart::none; ++depth)
            owner = depth < deepest ? owners[owner] : CodePart::none;
        if (owner == CodePart::none)
            continue;
        bodies_[i].owner = owner;
        parts_.emplace_back(owner, i);
    }
    std::sort(parts_.begin(), parts_.end());
    for (const Cross& cross : crosses_) {
        const auto to = body_at(cross.to);
        if (!to)
            continue;
        CodePart& body = bodies_[*to];
        const bool same = group(cross.from) == group(*to);
        if (cross.to != body.begin && !same)
            body.entered = true;
        // A part that jumps to its function's begin goes round a loop.
        if (same && *to != cross.from && (cross.to == body.begin || cross.to == body.entry))
            body.loops = true;
    }
    crosses_ = {};
}

/// How many entries of the table lead into the function, or into what may be a part of it. They become targets.
/// @param wide  addresses, not offsets from the table
uint64_t Survey::scan(uint32_t number, uint64_t table, bool wide)
{
    CodePart& function = bodies_[number];
    const auto bytes = image_.bytes_at(table);
    const size_t size = wide ? 8 : 4;
    uint64_t count = 0;
    for (size_t at = 0; at + size <= bytes.size(); at += size, ++count) {
        const uint64_t value = load(&bytes[at], size, false);
        const uint64_t to = wide ? value : table + uint64_t(int64_t(int32_t(uint32_t(value))));
        // What the compiler knows to be unreachable leads to the end.
        const bool own = to >= function.begin + wide && to <= function.end; // wide: a pointer to it, perhaps
        const auto body = own ? std::optional<uint32_t>() : body_at(to);
        if (!own && (!body || (marks_.at(bodies_[*body].begin) & Marks::called && !bodies_[*body].cold)))
            break;
        if (budget_ < size) { // tables of a sound file do not overlap
            function.broken = true;
            break;
        }
        budget_ -= size;
        marks_.add(to, Marks::target);
        function.loops = function.loops || to == function.begin || to == function.entry;
        if (!own)
            crosses_.push_back({number, to});
    }
    return count;
}

void Survey::scan_tables()
{
    std::sort(leas_.begin(), leas_.end());
    leas_.erase(std::unique(leas_.begin(), leas_.end()), leas_.end());
    for (const Lea& lea : leas_)
        if (const uint64_t entries = scan(lea.body, lea.to, false); entries != 0) {
            bodies_[lea.body].tables = true;
            tables_.push_back(lea.to);
        }
    leas_ = {};
    for (Computed& jump : computed_)
        if (of_words())
            find_table(jump);
    std::sort(bases_.begin(), bases_.end());
    for (const Lea& lea : inside_)
        if (!std::binary_search(bases_.begin(), bases_.end(), lea.to))
            take(lea.to, lea.body);
    inside_ = {};
    bases_ = {};
    std::sort(tables_.begin(), tables_.end());
}

// In a program that is linked to its addresses: jmp *table(,I,8).
Computed::Kind Survey::kind_by_memory(const Computed& jump, const ZydisDecodedOperand_& from)
{
    if (from.size != 64)
        return Computed::unknown; // a table of something else
    const bool table =
        from.mem.scale == 8 && from.mem.base == ZYDIS_REGISTER_NONE && from.mem.segment == ZYDIS_REGISTER_DS;
    if (fixed_ && table) {
        const auto begin = uint64_t(from.mem.disp.value);
        if (const uint64_t entries = scan(jump.body, begin, true); entries != 0) {
            wide_tables_.emplace_back(begin, begin + 8 * entries);
            return Computed::table;
        }
    }
    if (from.mem.base == ZYDIS_REGISTER_RIP) // the linkage table, or a pointer
        return jump.at_return ? Computed::tail_call : Computed::unknown;
    return leaves(jump);
}

// Where nothing of the function is on the stack, and nobody has addresses inside that it could jump to.
Computed::Kind Survey::leaves(const Computed& jump) const
{
    const bool inside = bodies_[jump.body].taken || bodies_[group(jump.body)].taken;
    return jump.at_return && !inside ? Computed::tail_call : Computed::unknown;
}

// How compilers jump by a table of offsets: lea table, B; movslq (B,I,4), X; add B, X; jmp *X. The add may be the other way
// round, other instructions may stand between, and GCC without optimization has mov (I,B), eax; cltq for the movslq.
Computed::Kind Survey::kind_of(const Computed& jump)
{
    if (of_words())
        return kind_of_arm64(jump);
    using x86::whole;
    x86::Operands instruction;
    if (!x86::decode(marks_.code_at(jump.address), instruction))
        return Computed::unknown;
    const ZydisDecodedOperand* const operands = instruction.operands;
    if (operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY)
        return kind_by_memory(jump, operands[0]);

    // The two registers that were added, and what was found of each.
    ZydisRegister sum = operands[0].reg.value, base = ZYDIS_REGISTER_NONE, offset = ZYDIS_REGISTER_NONE;
    bool added = false, loads_by_base = false, pops = false;
    ZydisRegister other = ZYDIS_REGISTER_NONE;
    uint64_t at = jump.address;
    for (unsigned steps = 0; steps < 64; ++steps) {
        const auto before = previous(jump.body, at);
        if (!before || !x86::decode(marks_.code_at(*before), instruction))
            break;
        at = *before;
        if (instruction.ends_block() && !loads_by_base)
            break;
        const bool of_memory = instruction.operand_count > 1 && operands[1].type == ZYDIS_OPERAND_TYPE_MEMORY;
        pops = pops || instruction.is(ZYDIS_MNEMONIC_POP) || instruction.is(ZYDIS_MNEMONIC_LEAVE);
        if (!added) {
            if (!instruction.writes(sum))
                continue;
            if (instruction.is(ZYDIS_MNEMONIC_MOV) && of_memory)
                return kind_by_memory(jump, operands[1]);
            if (instruction.is(ZYDIS_MNEMONIC_MOV) && operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER) {
                sum = whole(operands[1].reg.value);
                continue;
            }
            // A pointer that glibc has guarded, or the address of what the instruction names.
            if (of_memory
                && ((instruction.is(ZYDIS_MNEMONIC_XOR) && operands[1].mem.segment == ZYDIS_REGISTER_FS)
                    || (instruction.is(ZYDIS_MNEMONIC_LEA) && operands[1].mem.base == ZYDIS_REGISTER_RIP)))
                return leaves(jump);
            if (!instruction.is(ZYDIS_MNEMONIC_ADD) || operands[1].type != ZYDIS_OPERAND_TYPE_REGISTER)
                return Computed::unknown;
            added = true;
            other = operands[1].reg.value;
            continue;
        }
        const bool writes_sum = sum != base && sum != offset && instruction.writes(sum);
        const bool writes_other = other != base && other != offset && instruction.writes(other);
        if (!writes_sum && !writes_other)
            continue;
        const ZydisRegister written = writes_sum ? sum : other, second = writes_sum ? other : sum;
        if (instruction.is(ZYDIS_MNEMONIC_LEA) && operands[1].mem.base == ZYDIS_REGISTER_RIP) {
            if (!std::binary_search(tables_.begin(), tables_.end(), instruction.refers_to(at)))
                return Computed::unknown;
            base = written;
        } else if (instruction.is(ZYDIS_MNEMONIC_MOVSXD) || instruction.is(ZYDIS_MNEMONIC_CDQE)) {
            offset = written;
            loads_by_base = of_memory && operands[1].mem.base == second && operands[1].mem.scale == 4
                && operands[1].mem.disp.value == 0;
        } else {
            break;
        }
        if (base != ZYDIS_REGISTER_NONE && offset != ZYDIS_REGISTER_NONE)
            return Computed::table;
    }
    // Where the base comes from farther away, it is one of the tables that the function's instructions name: all are read.
    const uint32_t function = group(jump.body);
    if (loads_by_base)
        return bodies_[jump.body].tables || bodies_[function].tables ? Computed::table : Computed::unknown;
    // A register from farther away: where the frame has just gone, it holds a function.
    return added || (bodies_[function].tables && !pops) ? Computed::unknown : leaves(jump);
}

// Tables first: what they have are not addresses that anything else could jump to.
void Survey::judge_computed()
{
    std::sort(computed_.begin(), computed_.end(),
              [](const Computed& a, const Computed& b) { return a.address < b.address; });
    for (Computed& jump : computed_)
        jump.kind = kind_of(jump);
    std::sort(wide_tables_.begin(), wide_tables_.end());
    uint64_t reached = 0; // by tables
    auto table = wide_tables_.begin();
    for (const auto& [at, to] : words_) {
        for (; table != wide_tables_.end() && table->first <= at; ++table)
            reached = std::max(reached, table->second);
        if (at >= reached)
            take(to, CodePart::none);
    }
    for (Computed& jump : computed_) {
        if (jump.kind == Computed::tail_call)
            jump.kind = kind_of(jump);
        if (jump.kind == Computed::unknown) {
            CodePart& body = bodies_[group(jump.body)];
            body.computed = true;
            body.restarts = body.restarts || !of_words() || jump.at_return;
        }
    }
    tables_ = {};
    words_ = {};
}

} // namespace fastsdt
