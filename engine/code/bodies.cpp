// SPDX-License-Identifier: BSD-2-Clause
// Clauses that many sites share. With all functions of a large program armed, a stub with its own copy of the clauses is four cache lines that
// are cold at nearly each hit. So sites that are alike but for a number (of their function, or of their probe) have one body, which stays hot, and
// a stub is what hands it the number. Few sites have a copy each: it takes some instructions less.
#include "code/compiler.h"

#include <algorithm>
#include <map>

namespace fastsdt::engine {

struct Compiler::Kinship {
    std::vector<size_t> clauses;
    Probe::Kind kind{};
    std::string arguments;
    std::vector<std::string> argument_names;
    bool inside = false, moves = false, go = false;
    uint32_t goroutine = 0, go_thread = 0;
    ThreadBy thread_by{};
    int result = -1;
    uint64_t stack_bytes = 0, load_bias = 0;
    size_t module = 0;
    size_t probe = 0; ///< where the number is the function's, and the clauses want both
    auto operator<=>(const Kinship&) const = default;
};

Compiler::OfSite Compiler::of_site(const ir::Program& program)
{
    OfSite of;
    for (const ir::Operation& operation : program.operations)
        std::visit(ir::Overloaded{
                       [&](const ir::Ask& op) {
                           of.probe |= op.what == Value::probe;
                           of.function |= op.what == Value::function;
                       },
                       [&](const ir::Argument&) { of.argument = true; },
                       [&](const ir::Register& op) { of.shared &= op.number != at_site; },
                       [&](const ir::Name& op) { of.shared &= op.what == Value::comm; },
                       [&](const ir::Symbol&) { of.shared = false; },
                       [&](const ir::Stack&) { of.shared = false; },
                       [&](const ir::Call&) { of.shared = false; },
                       [](const auto&) {},
                   },
                   operation);
    return of;
}

bool Compiler::number_is_of_function() const
{
    return std::any_of(site_->clauses.begin(), site_->clauses.end(),
                       [this](size_t clause) { return of_site_[clause].function; });
}

// Empty: the site's clauses want something else of it.
std::optional<Compiler::Kinship> Compiler::kinship(const Site& site) const
{
    bool probe = false, function = false;
    for (const size_t clause : site.clauses) {
        const OfSite& of = of_site_[clause];
        if (!of.shared || (of.argument && site.go)) // whose functions have a convention each
            return {};
        probe |= of.probe;
        function |= of.function;
    }
    if (site.patch == 0 || calls_functions())
        return {};
    const auto module = std::find_if(environment_.modules.begin(), environment_.modules.end(),
                                     [&](const LastingModule& each) { return each.has(site.patch); });
    return Kinship{.clauses = site.clauses,
                   .kind = site.kind,
                   .arguments = site.arguments,
                   .argument_names = site.argument_names,
                   .inside = site.inside,
                   .moves = site.moves(),
                   .go = site.go.has_value(),
                   .goroutine = site.goroutine,
                   .go_thread = site.go_thread,
                   .thread_by = site.thread_by,
                   .result = site.result,
                   .stack_bytes = site.stack_bytes,
                   .load_bias = site.load_bias,
                   .module = size_t(module - environment_.modules.begin()),
                   .probe = probe && function ? site.probe : 0};
}

void Compiler::make_bodies(std::span<const Site> sites, Code& code)
{
    std::map<Kinship, std::vector<const Site*>> families;
    for (const Site& site : sites)
        if (auto kin = kinship(site))
            families[std::move(*kin)].push_back(&site);
    in_body_ = true;
    another_follows_ = false;
    for (const auto& [kin, family] : families) {
        if (family.size() < environment_.many_sites)
            continue;
        const Body body = make_body(*family.front(), code);
        for (const Site* const site : family)
            bodies_[site] = body;
    }
    in_body_ = false;
    code.bodies_end = code_.here();
}

Compiler::Body Compiler::make_body(const Site& site, Code& code)
{
    const size_t size = code_.size(), labels = code_.labels();
    try {
        begin_site(site);
        const Label at = label();
        begin_routine(at);
        const uint64_t start = code_.here();
        whole_body(site);
        code.bodies.push_back(start);
        return at;
    } catch (const Refusal& refusal) {
        code_.rewind(size, labels);
        return refusal.state;
    }
}

int64_t Compiler::site_number() const
{
    return int64_t(number_is_of_function() ? site_->function : site_->probe);
}

bool Compiler::call_shared()
{
    const auto body = bodies_.find(site_);
    if (body == bodies_.end())
        return false;
    if (const auto* const refused = std::get_if<SiteState>(&body->second))
        throw Refusal(*refused);
    call_body(std::get<Label>(body->second), site_number());
    return true;
}

} // namespace fastsdt::engine
