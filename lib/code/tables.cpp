// SPDX-License-Identifier: BSD-2-Clause
// Which parts belong to which function, and where indirect jumps lead.
#include "code/survey.h"

#include "base/integers.h"

#include <algorithm>
#include <map>
#include <set>

namespace fastsdt {

// A part is jumped to by one function only, and is no function itself: its name says so, or the stack is not as at a
// function's begin, or it jumps back into the middle of the one that jumps to it.
void Survey::find_parts()
{
    constexpr uint32_t several = Body::none - 1;
    std::vector<uint32_t> sources(bodies_.size(), Body::none);
    std::set<std::pair<uint32_t, uint32_t>> inside; // from and to, of jumps into the middle
    for (const Cross& cross : crosses_) {
        const auto to = body_at(cross.to);
        if (!to)
            continue;
        if (cross.to != bodies_[*to].begin)
            inside.emplace(cross.from, *to);
        // What jumps back to its function is not where the function comes from, unless that is itself a part.
        uint32_t& source = sources[*to];
        source = source == Body::none || source == cross.from ? cross.from : several;
    }
    std::vector<uint32_t> owners(bodies_.size(), Body::none);
    for (uint32_t i = 0; i < bodies_.size(); ++i) {
        const Body& body = bodies_[i];
        const uint32_t source = sources[i];
        if (source >= several || source == i)
            continue;
        const bool function = (marks_.at(body.begin) & Marks::called) != 0;
        if (body.cold || !body.first.at_return() || (!function && inside.contains({i, source})))
            owners[i] = source;
    }
    for (uint32_t i = 0; i < bodies_.size(); ++i) {
        uint32_t owner = owners[i];
        if (owner != Body::none && owners[owner] != Body::none) // a part of a part
            owner = owners[owner];
        if (owner == Body::none || owner == i || owners[owner] != Body::none)
            continue;
        bodies_[i].owner = owner;
        parts_.emplace_back(owner, i);
    }
    std::sort(parts_.begin(), parts_.end());
    for (const Cross& cross : crosses_) {
        const auto to = body_at(cross.to);
        if (!to)
            continue;
        Body& body = bodies_[*to];
        const bool same = group(cross.from) == group(*to);
        if (cross.to != body.begin && !same)
            body.entered = true;
        // A part that jumps to its function's begin goes round a loop.
        constexpr uint64_t endbr = 4;
        if (same && *to != cross.from && (cross.to == body.begin || cross.to == body.begin + endbr))
            body.loops = true;
    }
    crosses_ = {};
}

/// Entries of the table that lead into the function, which become targets. @param wide  addresses, not offsets from the table
uint64_t Survey::scan(uint32_t number, uint64_t table, bool wide)
{
    const uint32_t function = group(number);
    const auto bytes = image_.bytes_at(table);
    const size_t size = wide ? 8 : 4;
    uint64_t count = 0;
    for (size_t at = 0; at + size <= bytes.size(); at += size, ++count) {
        const uint64_t value = load(&bytes[at], size, false);
        const uint64_t to = wide ? value : table + uint64_t(int64_t(int32_t(uint32_t(value))));
        const auto body = body_at(to);
        if (!body || group(*body) != function)
            break;
        if (budget_ < size) { // tables of a sound file do not overlap
            bodies_[function].broken = true;
            break;
        }
        budget_ -= size;
        marks_.add(to, Marks::target);
    }
    return count;
}

void Survey::scan_tables()
{
    std::sort(leas_.begin(), leas_.end());
    leas_.erase(std::unique(leas_.begin(), leas_.end()), leas_.end());
    for (const Lea& lea : leas_)
        if (const uint64_t entries = scan(lea.body, lea.to, false); entries != 0) {
            bodies_[group(lea.body)].tables = true;
            tables_.emplace_back(lea.to, entries);
        }
    leas_ = {};
    std::sort(tables_.begin(), tables_.end());
}

// How compilers jump by a table: lea table, B; movslq (B,I,4), X; add B, X; jmp *X. The add may be the other way round, and
// other instructions may stand between. In a program that is linked to its addresses: jmp *table(,I,8), or a mov and a jmp.
Computed::Kind Survey::kind_of(const Computed& jump)
{
    const Body& body = bodies_[jump.body];
    Operands instruction;
    const auto read = [&](uint64_t at) { return decode(marks_.code_at(at), instruction); };
    if (!read(jump.address))
        return Computed::unknown;
    const bool with_addresses = bodies_[group(jump.body)].taken;
    const auto leaves = [&] { return jump.at_return && !with_addresses ? Computed::tail_call : Computed::unknown; };
    const auto by_memory = [&](const ZydisDecodedOperand& from) {
        const bool table =
            from.mem.scale == 8 && from.mem.base == ZYDIS_REGISTER_NONE && from.mem.segment == ZYDIS_REGISTER_DS;
        if (fixed_ && table && scan(jump.body, uint64_t(from.mem.disp.value), true) != 0)
            return Computed::table;
        if (from.mem.base == ZYDIS_REGISTER_RIP) // the linkage table, or a pointer
            return jump.at_return ? Computed::tail_call : Computed::unknown;
        return leaves();
    };
    if (instruction.operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY)
        return by_memory(instruction.operands[0]);

    const ZydisRegister reg = instruction.operands[0].reg.value;
    ZydisRegister base = ZYDIS_REGISTER_NONE, added = ZYDIS_REGISTER_NONE;
    bool loaded = false;
    uint64_t at = jump.address;
    for (unsigned steps = 0; steps < 64; ++steps) {
        const auto before = previous(jump.body, at);
        if (!before || !read(*before))
            break;
        at = *before;
        const ZydisDecodedOperand* const operands = instruction.operands;
        if (loaded) { // where does the base come from?
            if (!instruction.writes(base))
                continue;
            if (!instruction.is(ZYDIS_MNEMONIC_LEA) || operands[1].mem.base != ZYDIS_REGISTER_RIP)
                break;
            const uint64_t table = instruction.refers_to(at);
            const auto found = std::lower_bound(tables_.begin(), tables_.end(), std::pair(table, uint64_t(0)));
            return found != tables_.end() && found->first == table ? Computed::table : Computed::unknown;
        }
        if (instruction.ends_block())
            break;
        if (added == ZYDIS_REGISTER_NONE) {
            if (!instruction.writes(reg))
                continue;
            if (instruction.is(ZYDIS_MNEMONIC_ADD) && operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER) {
                added = operands[1].reg.value;
                continue;
            }
            const bool moves = instruction.is(ZYDIS_MNEMONIC_MOV) || instruction.is(ZYDIS_MNEMONIC_POP)
                || instruction.is(ZYDIS_MNEMONIC_LEA);
            if (instruction.is(ZYDIS_MNEMONIC_MOV) && operands[1].type == ZYDIS_OPERAND_TYPE_MEMORY)
                return by_memory(operands[1]);
            return moves || instruction.is(ZYDIS_MNEMONIC_XOR) ? leaves() : Computed::unknown;
        }
        if (!instruction.writes(reg) && !instruction.writes(added))
            continue;
        const ZydisRegister written =
            operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER ? operands[0].reg.value : ZYDIS_REGISTER_NONE;
        base = written == reg ? added : reg;
        const bool loads = instruction.is(ZYDIS_MNEMONIC_MOVSXD) && operands[1].type == ZYDIS_OPERAND_TYPE_MEMORY
            && operands[1].mem.base == base && operands[1].mem.scale == 4 && operands[1].mem.disp.value == 0;
        if (loads) {
            loaded = true;
            if (written == base)
                return Computed::unknown;
            continue;
        }
        if (instruction.is(ZYDIS_MNEMONIC_LEA)) { // of the base, between load and add
            continue;
        }
        return Computed::unknown;
    }
    if (loaded) // the base comes from farther away: all tables that the function knows are read
        return bodies_[group(jump.body)].tables ? Computed::table : Computed::unknown;
    if (added != ZYDIS_REGISTER_NONE || body.tables || bodies_[group(jump.body)].tables)
        return Computed::unknown;
    return leaves();
}

void Survey::judge_computed()
{
    std::sort(computed_.begin(), computed_.end(),
              [](const Computed& a, const Computed& b) { return a.address < b.address; });
    for (Computed& jump : computed_) {
        jump.kind = kind_of(jump);
        if (jump.kind == Computed::unknown)
            bodies_[group(jump.body)].computed = true;
    }
    tables_ = {};
}

} // namespace fastsdt
