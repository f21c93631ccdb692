// SPDX-License-Identifier: BSD-2-Clause
// The stub around a site's clauses. What stands at the site, first byte at the left, and what it becomes at once:
//
//     66 2e 0f 1f 84 00 00 00 00 00   nop10
//     66 2e 48 e9 d0 d1 d2 d3 00 00   jmp stub; the last two bytes stay and are not executed
//
// The stub (FASTSDT_STATE_JUMP leads to it):
//
//         lea  -(128 + frame)(%rsp), %rsp     over the red zone
//         mov  %rax, ...                      what the clauses will change
//         lahf; seto %al; mov %eax, flags     usdt sites only: entries and exits have no live flags
//         clauses
//         mov  flags, %eax; add $127, %al; sahf
//         mov  ..., %rax
//         lea  128 + frame(%rsp), %rsp
//         jmp  site + 10
//         cold paths
#include "compiler_x86.h"
#include "hit.h"

#include <fastsdt/recognize.h>

#include <algorithm>
#include <bit>

namespace fastsdt::engine {

Code compile(const Script& script, const Tables& tables, std::span<const Site> sites, const Arena& arena,
             const Environment& environment)
{
    return x86::Compiler(script, tables, arena, environment).compile(sites);
}

namespace x86 {
namespace {

constexpr Registers all_but_rsp = 0xffff & ~bit(rsp);

} // namespace

Compiler::Compiler(const Script& script, const Tables& tables, const Arena& arena, const Environment& environment)
    : script_(script), tables_(tables), arena_(arena), environment_(environment), as_(arena.code)
{
    for (const Table& table : tables_.maps)
        key_bytes_ = std::max(key_bytes_, table.key_bytes());
    // For tables that all threads share, and to count what found no room.
    keeps_base_ = std::any_of(tables_.maps.begin(), tables_.maps.end(),
                              [](const Table& table) { return table.shared || table.entries > 1; });
    for (const Map& map : script_.maps)
        if (map.kind == MapKind::string)
            text_bytes_ = string_size;
    for (const Clause& clause : script_.clauses)
        for (const Statement& each : clause.actions)
            if (each.kind == Statement::Kind::call)
                text_bytes_ = std::max(text_bytes_, sizeof(Hit));
}

size_t Compiler::saved_offset(Reg reg) const
{
    return base_offset() + 8 + 8 * size_t(std::popcount(saved_ & (bit(reg) - 1)));
}

size_t Compiler::flags_offset() const
{
    return base_offset() + 8 + 8 * size_t(std::popcount(saved_));
}

void Compiler::call(Assembler::Label routine, Registers changes)
{
    as_.jump(ZYDIS_MNEMONIC_CALL, routine);
    as_.clobber(changes);
}

Assembler::Label Compiler::cold(std::function<void()> emit)
{
    cold_.push_back({as_.label(), std::move(emit), spills_, time_});
    return cold_.back().from;
}

Code Compiler::compile(std::span<const Site> sites)
{
    Code code;
    routines();
    static constexpr unsigned char nop[] = {FASTSDT_BYTES_nop10}, jump[] = {FASTSDT__JUMP};
    for (size_t i = 0; i < sites.size(); ++i) {
        const Site& site = sites[i];
        code.stubs.push_back(0);
        code.refusals.emplace_back();
        const size_t size = as_.size(), labels = as_.labels();
        try {
            if (site.patch == 0 || site.length != sizeof nop)
                throw Refusal("has no nop10");
            stub(site);
        } catch (const Refusal& refusal) {
            as_.rewind(size, labels);
            code.refusals[i] = refusal.what();
            continue;
        }
        const uint64_t start = stub_start_;
        code.stubs[i] = start;
        Patch patch{.site = i, .at = site.patch};
        std::transform(nop, nop + 8, patch.before.begin(), [](unsigned char c) { return std::byte(c); });
        std::transform(jump, jump + 4, patch.after.begin(), [](unsigned char c) { return std::byte(c); });
        const int64_t relative = int64_t(start - (site.patch + 8));
        if (arena_.code && relative != int32_t(relative))
            throw std::logic_error("the arena is not within reach of a site");
        fastsdt::store(&patch.after[4], 4, uint64_t(relative), false);
        code.patches.push_back(patch);
    }
    code.bytes = as_.finish();
    if (arena_.code && as_.far())
        throw std::logic_error("the arena is not within reach of a site or of its mark");
    return code;
}

void Compiler::stub(const Site& site)
{
    site_ = &site;
    keep_flags_ = site.kind == Probe::Kind::usdt;
    arguments_ = parse_arguments(site.arguments, Arch::x86_64);

    // Made twice: the first time to learn which registers it changes and how much it spills.
    constexpr uint64_t block = 16, jump_length = sizeof Patch::before;
    if (environment_.threads_run && site.patch % block + jump_length > block) {
        static constexpr unsigned char nop[] = {FASTSDT_BYTES_nop10};
        as_.align_to(uint8_t(site.patch + jump_length + nop[4]));
    } else {
        as_.align(16);
    }
    stub_start_ = as_.here();
    const size_t size = as_.size(), labels = as_.labels();
    saved_ = all_but_rsp;
    frame_spills_ = 16;
    most_spills_ = 0;
    as_.forget_written();
    body(site);
    const Registers written = as_.written() & all_but_rsp;
    as_.rewind(size, labels);
    saved_ = written | (keep_flags_ ? bit(rax) : 0);
    frame_spills_ = most_spills_;

    const auto whole = int64_t(128 + frame_size());
    as_.lea(rsp, {.base = rsp, .displacement = -whole});
    for (int reg = rax; reg <= r15; ++reg)
        if (saved_ & bit(Reg(reg)))
            as_.store(frame(saved_offset(Reg(reg))), Reg(reg));
    if (keep_flags_) {
        as_.emit(ZYDIS_MNEMONIC_LAHF, {});
        as_.emit(ZYDIS_MNEMONIC_SETO, {Part{rax, 1}});
        as_.store(frame(flags_offset(), 4), rax);
    }
    body(site);
}

void Compiler::body(const Site& site)
{
    spills_ = 0;
    time_.reset();
    cold_.clear();
    out_ = as_.label();

    // A filter that reads nothing but the site's values comes first: what it rejects needs no slot.
    const auto wants_slot = [&](const Expression& e) {
        return uses(e, is_map) || (uses(e, is_tid) && environment_.tid_offset);
    };
    bool has_slot = false;
    const auto want = [&] {
        if (!has_slot)
            slot();
        has_slot = true;
    };
    if (site.clauses.size() > 1)
        want();
    for (const size_t index : site.clauses) {
        const Clause& clause = script_.clauses[index];
        const auto next = as_.label();
        if (clause.filter) {
            if (wants_slot(*clause.filter))
                want();
            branch(*clause.filter, next, false);
        }
        if (std::any_of(clause.actions.begin(), clause.actions.end(),
                        [](const Statement& each) { return each.kind != Statement::Kind::call; }))
            want();
        actions(clause);
        as_.bind(next);
    }

    as_.bind(out_);
    if (keep_flags_) {
        as_.emit(ZYDIS_MNEMONIC_MOV, {Part{rax, 4}, frame(flags_offset(), 4)});
        as_.emit(ZYDIS_MNEMONIC_ADD, {Part{rax, 1}, int64_t(127)}); // 1 overflows
        as_.emit(ZYDIS_MNEMONIC_SAHF, {});
    }
    const Registers written = as_.written();
    for (int reg = r15; reg >= rax; --reg)
        if (saved_ & bit(Reg(reg)))
            as_.load(Reg(reg), frame(saved_offset(Reg(reg))));
    as_.lea(rsp, {.base = rsp, .displacement = int64_t(128 + frame_size())});
    as_.jump_to(ZYDIS_MNEMONIC_JMP, site.patch + site.length);
    as_.forget_written();
    as_.clobber(written);
    for (size_t i = 0; i < cold_.size(); ++i) { // a cold path may have another
        as_.bind(cold_[i].from);
        spills_ = cold_[i].spills;
        time_ = cold_[i].time;
        const auto emit = cold_[i].emit;
        emit();
    }
    spills_ = 0;
    time_.reset();
}

// One hit has one time: reading the clock costs more than all the rest, and what is recorded of a difference shall not be
// what recording it before took.
void Compiler::actions(const Clause& clause)
{
    const std::function<size_t(const Expression&)> times = [&](const Expression& e) {
        size_t count = e.kind == Expression::Kind::value && e.value == Value::nsecs;
        for (const Expression& operand : e.operands)
            count += times(operand);
        return count;
    };
    size_t count = 0;
    for (const Statement& each : clause.actions) {
        count += each.value ? times(*each.value) : 0;
        for (const Expression& key : each.keys)
            count += times(key);
    }
    const size_t spills = spills_;
    if (count > 1) {
        nanoseconds();
        time_ = spills_++;
        most_spills_ = std::max(most_spills_, spills_);
        as_.store(frame(spill_offset(*time_)), rax);
    }
    for (const Statement& each : clause.actions)
        statement(each);
    spills_ = spills;
    time_.reset();
}

// To rsi: the thread's slot; leaves the stub if there is none, or if this is a forked child. The data's address goes into
// the frame: a handler may fork in between, and then the mark reads 0.
void Compiler::slot()
{
    const auto found = as_.label();
    as_.load_near(rax, arena_.mark);
    if (environment_.rdfsbase)
        as_.emit(ZYDIS_MNEMONIC_RDFSBASE, {Part{rcx}});
    else
        as_.load(rcx, {.displacement = 0, .fs = true});
    as_.constant(rsi, int64_t(hash_multiplier));
    as_.emit(ZYDIS_MNEMONIC_NOT, {Part{rcx}}); // never 0, which is a slot that nobody has
    as_.emit(ZYDIS_MNEMONIC_IMUL, {Part{rsi}, Part{rcx}});
    as_.emit(ZYDIS_MNEMONIC_SHR, {Part{rsi}, int64_t(64 - std::countr_zero(most_threads))});
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{rax}, Part{rax}});
    as_.jump(ZYDIS_MNEMONIC_JZ, out_);
    as_.emit(ZYDIS_MNEMONIC_CMP,
             {Memory{.base = rax, .displacement = int64_t(Tables::owners), .index = rsi, .scale = 8}, Part{rcx}});
    as_.jump(ZYDIS_MNEMONIC_JNZ, cold([this, found] {
                 call(routines_.acquire, bit(rsi));
                 as_.emit(ZYDIS_MNEMONIC_TEST, {Part{rsi}, Part{rsi}});
                 as_.jump(ZYDIS_MNEMONIC_JNS, found);
                 as_.jump(ZYDIS_MNEMONIC_JMP, out_);
             }));
    as_.bind(found);
    if (keeps_base_)
        as_.store(frame(base_offset()), rax);
    as_.emit(ZYDIS_MNEMONIC_IMUL, {Part{rsi}, Part{rsi}, int64_t(tables_.slot_size)});
    as_.lea(rsi, {.base = rax, .displacement = int64_t(tables_.slots), .index = rsi});
}

} // namespace x86
} // namespace fastsdt::engine
