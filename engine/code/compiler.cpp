// SPDX-License-Identifier: BSD-2-Clause
#include "code/compiler.h"
#include "maps/hit.h"

#include <algorithm>
#include <bit>
#include <map>

namespace fastsdt::engine {

Compiler::Compiler(const Machine& machine, const Script& script, const Tables& tables, const Arena& arena,
                   const Environment& environment, Emitter& code)
    : machine_(machine), script_(script), tables_(tables), arena_(arena), environment_(environment), code_(code)
{
    for (const Table& table : tables_.maps)
        key_bytes_ = std::max(key_bytes_, table.key_bytes());
    for (const Map& map : script_.maps)
        if (map.kind == MapKind::string && !map.of_tool)
            text_bytes_ = std::max(text_bytes_, size_of(map.type, map.shape));
    each_statement(script_, [this](const Statement& each) {
        if (each.kind == Statement::Kind::call) {
            calls_ = true;
            text_bytes_ = std::max(text_bytes_, sizeof(Hit));
        }
    });
}

size_t Compiler::saved_offset(unsigned reg) const
{
    return saved_start() + 8 * size_t(std::popcount(saved_ & ((Registers(1) << reg) - 1)));
}

size_t Compiler::spill(Role role)
{
    const size_t index = take_spills(1);
    store_frame(spill_offset(index), role);
    return index;
}

size_t Compiler::take_spills(size_t count)
{
    const size_t first = spills_;
    spills_ += count;
    most_spills_ = std::max(most_spills_, spills_);
    return first;
}

Compiler::Label Compiler::cold(std::function<void()> emit)
{
    cold_.push_back({label(), std::move(emit), spills_, time_, unread_});
    return cold_.back().from;
}

Code Compiler::compile(std::span<const Site> sites)
{
    Code code;
    code.stubs.resize(sites.size());
    code.refusals.resize(sites.size());
    routines();
    std::vector<std::vector<size_t>> groups; // sites whose instructions move together have one stub
    std::map<uint64_t, size_t> group_of;
    for (size_t i = 0; i < sites.size(); ++i) {
        const Site& site = sites[i];
        if (site.patch == 0 || (!site.moves() && site.length != machine_.length)) {
            code.refusals[i] = {State::no_nop};
            continue;
        }
        const auto [found, fresh] = group_of.try_emplace(site.patch, groups.size());
        if (fresh || !site.moves()) {
            groups.push_back({i});
        } else {
            auto& group = groups[found->second];
            group.insert(std::upper_bound(group.begin(), group.end(), i,
                                          [&](size_t a, size_t b) { return sites[a].moved.at < sites[b].moved.at; }),
                         i);
        }
    }
    for (auto& group : groups) {
        const size_t size = code_.size(), labels = code_.labels();
        for (bool again = true; again && !group.empty();) {
            again = false;
            std::vector<const Site*> members;
            for (const size_t i : group)
                members.push_back(&sites[i]);
            size_t number = 0;
            try {
                stub(members, number);
            } catch (const Refusal& refusal) {
                code_.rewind(size, labels);
                code.refusals[group[number]] = refusal.state;
                group.erase(group.begin() + std::ptrdiff_t(number));
                again = true;
            }
        }
        for (const size_t i : group) {
            code.stubs[i] = stub_start_;
            code.patches.push_back(patch(sites[i], stub_start_));
            code.patches.back().site = i;
        }
    }
    code.bytes = code_.finish();
    if (arena_.code && code_.far())
        throw std::logic_error("the arena is not within reach of a site or of its mark");
    return code;
}

// @param number  of the site that is at work, for a Refusal
void Compiler::stub(std::span<const Site* const> sites, size_t& number)
{
    align_stub(*sites.front());
    stub_start_ = code_.here();
    size_t moved = 0; // bytes of the instructions that move together
    for (number = 0; number < sites.size(); ++number) {
        const Site& site = *sites[number];
        site_ = &site;
        another_follows_ = number + 1 < sites.size();
        keep_flags_ = site.kind == Probe::Kind::usdt || site.moves(); // of code that nobody recorded less is known
        arguments_ = parse_arguments(site.arguments, machine_.arch);
        if (site.moves()) {
            move_code(site.patch + moved, std::span(site.moved.bytes).subspan(moved, site.moved.at - moved));
            moved = site.moved.at;
        }

        // It is made twice: the first time to learn which registers it changes and how much it spills.
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
}

void Compiler::body(const Site& site)
{
    spills_ = 0;
    time_.reset();
    cold_.clear();
    out_ = label();

    // A filter that reads only registers comes before the block: a hit that it rejects needs none. All else a forked child must
    // not do before it is known to be followed.
    const auto wants_block = [&](const Expression& e) {
        return uses(e, [this](const Expression& part) {
            return is_map(part) || is_tid(part) || part.kind == Expression::Kind::memory
                || (part.kind == Expression::Kind::value && !is_leaf(part));
        });
    };
    bool has_block = false;
    const auto want = [&] {
        if (!has_block)
            block();
        has_block = true;
    };
    if (site.clauses.size() > 1)
        want();
    for (const size_t index : site.clauses) {
        const Clause& clause = script_.clauses[index];
        const auto next = label();
        unread_ = next;
        clause_end_ = next;
        if (clause.filter) {
            if (wants_block(*clause.filter))
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
    const auto next = label();
    if (another_follows_)
        jump(next);
    else
        leave();
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
    if (another_follows_)
        bind(next);
    spills_ = 0;
    time_.reset();
}

// The clock is read once for a clause. Reading it costs more than all the rest, and two values of nsecs in one clause
// shall not differ by the time that recording the first took.
void Compiler::actions(const Clause& clause)
{
    const std::function<size_t(const Expression&)> times = [&](const Expression& e) {
        size_t count = e.kind == Expression::Kind::value && (e.value == Value::nsecs || e.value == Value::elapsed);
        for (const Expression& operand : e.operands)
            count += times(operand);
        return count;
    };
    size_t count = 0;
    each_statement(clause.actions, [&](const Statement& each) {
        each_expression(each, [&](const Expression& e) { count += times(e); });
    });
    const size_t spills = spills_;
    if (count > 1) {
        read_clock();
        time_ = spill(Role::result);
    }
    variables_.clear();
    variables_of_ = &clause.variables;
    for (const Variable& variable : clause.variables) {
        const size_t words = size_of(variable.type, variable.shape) / 8;
        variables_.push_back(take_spills(words));
        for (size_t i = 0; i < words; ++i) // a branch may leave it out
            store_frame_number(spill_offset(variables_.back() + i), 0);
    }
    statements(clause.actions);
    spills_ = spills;
    time_.reset();
}

void Compiler::statements(const std::vector<Statement>& statements)
{
    for (const Statement& each : statements)
        statement(each);
}

} // namespace fastsdt::engine
