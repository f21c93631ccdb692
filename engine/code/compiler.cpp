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
            text_bytes_ = std::max(text_bytes_, map.type.size());
    each_statement(script_, [this](const Statement& each) {
        if (each.kind == Statement::Kind::call) {
            calls_ = true;
            text_bytes_ = std::max(text_bytes_, sizeof(Hit));
        }
    });
    for (const Clause& clause : script_.clauses)
        programs_.push_back(clause.has_sites() ? ir::lower(script_, clause) : ir::Program());
    for (const ir::Program& program : programs_)
        of_site_.push_back(of_site(program));
}

size_t Compiler::saved_offset(unsigned reg) const
{
    return saved_start() + 8 * size_t(std::popcount(saved_ & ((Registers(1) << reg) - 1)));
}

Compiler::Label Compiler::cold(std::function<void()> emit)
{
    cold_.push_back({label(), std::move(emit), unread_});
    return cold_.back().from;
}

Code Compiler::compile(std::span<const Site> sites)
{
    Code code;
    code.stubs.resize(sites.size());
    code.refusals.resize(sites.size());
    routines();
    make_bodies(sites, code);
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
        begin_site(site);
        another_follows_ = number + 1 < sites.size();
        if (site.moves()) {
            move_code(site.patch + moved, std::span(site.moved.bytes).subspan(moved, site.moved.at - moved));
            moved = site.moved.at;
        }
        if (!call_shared())
            whole_body(site);
        else if (!another_follows_)
            leave();
    }
}

void Compiler::begin_site(const Site& site)
{
    site_ = &site;
    keep_flags_ = site.kind == Probe::Kind::usdt || site.moves(); // of code that nobody recorded less is known
    arguments_ = parse_arguments(site.arguments, machine_.arch);
    make_plans();
}

// It is made twice: the first time to learn which registers it changes.
void Compiler::whole_body(const Site& site)
{
    const size_t size = code_.size(), labels = code_.labels();
    saved_ = all_registers();
    code_.forget_written();
    body(site);
    const Registers written = code_.written();
    code_.rewind(size, labels);
    saved_ = saved_registers(written);
    if (in_body_)
        saved_ |= 1; // number_offset()

    save();
    body(site);
    if (code_.size() - size > machine_.most_stub)
        throw Refusal({State::too_long});
}

void Compiler::make_plans()
{
    plans_.clear();
    plan_words_ = 0;
    for (const size_t clause : site_->clauses) {
        plans_.push_back(make_plan(programs_[clause], [this](const ir::Operation& each) { return is_leaf(each); }));
        plan_words_ = std::max(plan_words_, plans_.back().words);
    }
}

// The thread's block. All that a forked child must not do before it is known to be followed wants it too.
bool Compiler::wants_block(const ir::Operation& operation) const
{
    return std::visit(
        ir::Overloaded{
            [this](const ir::Argument& op) { return in_memory(op); },
            [this, &operation](const ir::Ask& op) { return op.what == Value::tid || !is_leaf(operation); },
            [](const ir::Stack&) { return true; },
            [](const ir::Name&) { return true; },
            [](const ir::ReadWord&) { return true; },
            [](const ir::ReadText&) { return true; },
            [](const ir::ReadBytes&) { return true; },
            [](const ir::Get&) { return true; },
            [](const ir::Has&) { return true; },
            [](const ir::GetWide&) { return true; },
            [](const auto&) { return false; },
        },
        operation);
}

bool Compiler::filter_wants_block(const ir::Program& program) const
{
    return std::any_of(program.operations.begin(), program.operations.begin() + std::ptrdiff_t(program.filter_end),
                       [this](const ir::Operation& each) { return wants_block(each); });
}

bool Compiler::actions_want_block(const ir::Program& program)
{
    return std::any_of(program.operations.begin() + std::ptrdiff_t(program.filter_end), program.operations.end() - 1,
                       [](const ir::Operation& each) { return !std::holds_alternative<ir::Call>(each); });
}

void Compiler::body(const Site& site)
{
    cold_.clear();
    out_ = label();

    // A filter that reads only registers comes before the block: a hit that it rejects needs none.
    bool has_block = false;
    const auto want = [&] {
        if (!has_block)
            block();
        has_block = true;
    };
    if (site.clauses.size() > 1)
        want();
    for (size_t i = 0; i < site.clauses.size(); ++i) {
        const ir::Program& program = programs_[site.clauses[i]];
        program_ = &program;
        plan_ = &plans_[i];
        labels_.clear();
        for (size_t label = 0; label < program.labels; ++label)
            labels_.push_back(this->label());
        unread_ = at_label(program.end);
        for (at_ = 0; at_ < program.operations.size(); ++at_) {
            const ir::Operation& operation = program.operations[at_];
            const bool is_filter = at_ < program.filter_end;
            if (is_filter ? at_ == 0 && filter_wants_block(program)
                          : at_ == program.filter_end && actions_want_block(program))
                want();
            perform(operation);
        }
    }

    bind(out_);
    const Registers written = code_.written();
    restore();
    const auto next = label();
    if (in_body_)
        leave_body();
    else if (another_follows_)
        jump(next);
    else
        leave();
    code_.forget_written();
    code_.clobber(written);
    for (size_t i = 0; i < cold_.size(); ++i) { // a cold path may add another
        bind(cold_[i].from);
        unread_ = cold_[i].unread;
        const auto emit = cold_[i].emit;
        emit();
    }
    if (another_follows_)
        bind(next);
}

} // namespace fastsdt::engine
