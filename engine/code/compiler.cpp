// SPDX-License-Identifier: BSD-2-Clause
#include "code/compiler.h"
#include "maps/hit.h"

#include <algorithm>
#include <bit>

namespace fastsdt::engine {

Compiler::Compiler(const Machine& machine, const Script& script, const Tables& tables, const Arena& arena,
                   const Environment& environment, Emitter& code)
    : machine_(machine), script_(script), tables_(tables), arena_(arena), environment_(environment), code_(code)
{
    for (const Table& table : tables_.maps)
        key_bytes_ = std::max(key_bytes_, table.key_bytes());
    // The data's address is needed for tables that all threads share, and to count dropped hits.
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

size_t Compiler::saved_offset(unsigned reg) const
{
    return base_offset() + 8 + 8 * size_t(std::popcount(saved_ & ((Registers(1) << reg) - 1)));
}

size_t Compiler::spill(Role role)
{
    const size_t index = spills_++;
    most_spills_ = std::max(most_spills_, spills_);
    store_frame(spill_offset(index), role);
    return index;
}

Compiler::Label Compiler::cold(std::function<void()> emit)
{
    cold_.push_back({label(), std::move(emit), spills_, time_, unread_});
    return cold_.back().from;
}

void Compiler::answer(Label yes, Label no)
{
    const auto leave = label();
    bind(no);
    constant(Role::result, 0);
    jump(leave);
    bind(yes);
    constant(Role::result, 1);
    bind(leave);
}

void Compiler::routines()
{
    routines_.acquire = label();
    routines_.text = label();
    routines_.word = label();
    routines_.tid = label();
    acquire_routine();
    text_routine();
    word_routine();
    if (environment_.system_calls && !environment_.tid_offset)
        tid_routine();
    for (size_t i = 0; i < script_.maps.size(); ++i) {
        routines_.maps.push_back({label(), label(), label(), label(), label()});
        if (tables_.maps[i].entries > 1)
            map_routines(i);
    }
}

void Compiler::map_routines(size_t map)
{
    const Table& table = tables_.maps[map];
    const MapKind kind = script_.maps[map].kind;
    const MapRoutines& routine = routines_.maps[map];
    if (table.direct) {
        begin_routine(routine.direct);
        direct_routine(table);
        return;
    }
    if (!is_assigned(kind)) { // to Role::entry: the entry, made if need be; 0: no room
        const auto done = label(), absent = label(), full = label();
        begin_routine(routine.update);
        find_entry(table, done, absent);
        bind(absent);
        make_entry(table, done, full);
        bind(full);
        constant(Role::entry, 0);
        bind(done);
        return_from_routine();
    } else {
        begin_routine(routine.assign);
        assign_routine(table, kind);
        return_from_routine();
    }
    if (kind == MapKind::integer) { // to Role::result: the value, 0 if there is none
        const auto found = label(), absent = label();
        begin_routine(routine.load);
        find_entry(table, found, absent);
        bind(found);
        load_value(table, absent);
        return_from_routine();
        bind(absent);
        constant(Role::result, 0);
        return_from_routine();
    }
    const auto found = label(), absent = label();
    begin_routine(routine.remove);
    find_entry(table, found, absent);
    bind(found);
    erase_entry(table);
    jump(routine.remove); // there may be a second entry
    bind(absent);
    return_from_routine();
}

Code Compiler::compile(std::span<const Site> sites)
{
    Code code;
    routines();
    for (size_t i = 0; i < sites.size(); ++i) {
        const Site& site = sites[i];
        code.stubs.push_back(0);
        code.refusals.emplace_back();
        const size_t size = code_.size(), labels = code_.labels();
        try {
            if (site.patch == 0 || site.length != machine_.length)
                throw Refusal({State::no_nop});
            stub(site);
        } catch (const Refusal& refusal) {
            code_.rewind(size, labels);
            code.refusals[i] = refusal.state;
            continue;
        }
        code.stubs[i] = stub_start_;
        code.patches.push_back(patch(site, stub_start_));
        code.patches.back().site = i;
    }
    code.bytes = code_.finish();
    if (arena_.code && code_.far())
        throw std::logic_error("the arena is not within reach of a site or of its mark");
    return code;
}

void Compiler::stub(const Site& site)
{
    site_ = &site;
    keep_flags_ = site.kind == Probe::Kind::usdt;
    arguments_ = parse_arguments(site.arguments, machine_.arch);

    // The stub is made twice: the first time to learn which registers it changes and how much it spills.
    align_stub(site);
    stub_start_ = code_.here();
    const size_t size = code_.size(), labels = code_.labels();
    saved_ = all_registers();
    frame_spills_ = 16;
    most_spills_ = 0;
    code_.forget_written();
    body(site);
    const Registers written = code_.written();
    code_.rewind(size, labels);
    saved_ = saved_registers(written);
    frame_spills_ = most_spills_;

    save();
    body(site);
    if (code_.size() - size > machine_.most_stub)
        throw Refusal({State::too_long});
}

void Compiler::body(const Site& site)
{
    spills_ = 0;
    time_.reset();
    cold_.clear();
    out_ = label();

    // A filter that reads only the site's values comes before the slot: a hit that it rejects needs none.
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
        const auto next = label();
        unread_ = next;
        if (clause.filter) {
            if (wants_slot(*clause.filter))
                want();
            branch(*clause.filter, next, false);
        }
        if (std::any_of(clause.actions.begin(), clause.actions.end(),
                        [](const Statement& each) { return each.kind != Statement::Kind::call; }))
            want();
        actions(clause);
        bind(next);
    }

    bind(out_);
    const Registers written = code_.written();
    restore();
    code_.forget_written();
    code_.clobber(written);
    for (size_t i = 0; i < cold_.size(); ++i) { // a cold path may add another
        bind(cold_[i].from);
        spills_ = cold_[i].spills;
        time_ = cold_[i].time;
        unread_ = cold_[i].unread;
        const auto emit = cold_[i].emit;
        emit();
    }
    spills_ = 0;
    time_.reset();
}

// The clock is read once for a clause. Reading it costs more than all the rest, and two values of nsecs in one clause
// shall not differ by the time that recording the first took.
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
        read_clock();
        time_ = spill(Role::result);
    }
    for (const Statement& each : clause.actions)
        statement(each);
    spills_ = spills;
    time_.reset();
}

} // namespace fastsdt::engine
