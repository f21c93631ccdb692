// SPDX-License-Identifier: BSD-2-Clause
#include "profile.h"

#include "maps/read.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace fastsdt::trace_tool {
namespace {

bool unwinds(const engine::Expression& e)
{
    return e.unwinds || std::any_of(e.operands.begin(), e.operands.end(), unwinds);
}

bool unwinds(const engine::Clause& clause)
{
    bool found = clause.filter && unwinds(*clause.filter);
    engine::each_statement(clause.actions, [&](const engine::Statement& statement) {
        engine::each_expression(statement, [&](const engine::Expression& e) { found = found || unwinds(e); });
    });
    return found;
}

} // namespace

Profile::Profile(const engine::Script& script, bool follows) : script_(script), follows_(follows)
{
    constexpr uint64_t thousand = 1000;
    for (const engine::Clause& clause : script.clauses)
        for (const engine::Probe& probe : clause.probes)
            if (probe.kind == engine::Probe::Kind::profile)
                sources_.push_back(
                    {&clause, &probe,
                     std::make_unique<Samples>(Samples::Wish{.period_ns = probe.interval_us * thousand,
                                                             .stack_bytes = unwinds(clause) ? copied_stack : 0})});
}

void Profile::open(pid_t pid)
{
    everybody_ = everybody_ || pid == 0;
    if (!opened_.insert(pid).second)
        return;
    for (const Source& source : sources_)
        source.samples->open(pid);
}

std::vector<Profile::Hit> Profile::take()
{
    std::vector<Hit> hits;
    for (const Source& source : sources_)
        for (Samples::Sample& sample : source.samples->take())
            if (everybody_ || follows_ || opened_.contains(sample.pid)) {
                symbols(sample.pid); // while it lives
                last_ = sample.pid;
                hits.push_back({source.clause, source.probe, std::move(sample)});
            }
    std::stable_sort(hits.begin(), hits.end(),
                     [](const Hit& a, const Hit& b) { return a.sample.time < b.sample.time; });
    return hits;
}

engine::Symbols& Profile::symbols(pid_t pid)
{
    auto& found = symbols_[pid];
    if (!found) {
        found = std::make_unique<engine::OwnSymbols>(pid, script_.stack_form.value_or(engine::StackForm::bpftrace));
        found->look();
    }
    return found->symbols;
}

uint64_t Profile::stack(const Samples::Sample& sample, unsigned most, bool unwinds)
{
    Calls calls{sample.pid, {}};
    if (unwinds && !sample.registers.empty()) {
        auto& unwound = unwound_[sample.pid];
        if (!unwound)
            unwound = std::make_unique<engine::Unwound>(sample.pid);
        calls.second = unwound->calls(sample.registers, sample.stack, most);
        cut_ += unwound->was_cut();
    } else {
        calls.second.assign(sample.calls.begin(),
                            sample.calls.begin() + std::ptrdiff_t(std::min<size_t>(most, sample.calls.size())));
    }
    const auto [found, fresh] = numbers_.try_emplace(std::move(calls), stacks_.size() + 1);
    if (fresh) {
        calls_.push_back(&found->first);
        stacks_.emplace_back();
    }
    return found->second;
}

std::string Profile::name_of(const engine::ValueType& type, uint64_t number)
{
    if (type.kind != engine::ValueKind::stack) {
        const std::string name = last_ ? symbols(last_).name(number) : fmt::format("0x{:x}", number);
        return name.substr(0, name.rfind('+')); // as bpftrace has it
    }
    if (number == 0 || number > stacks_.size())
        return "";
    std::string& text = stacks_[number - 1];
    const auto& [pid, calls] = *calls_[number - 1];
    if (text.empty())
        for (size_t i = 0; i < calls.size(); ++i)
            for (const std::string& name : symbols(pid).frame(calls[i], i > 0))
                text += name + '\n';
    return text;
}

engine::Maps Profile::named(engine::Maps maps)
{
    for (const auto& [pid, symbols] : symbols_)
        symbols->look();
    return engine::named(script_, std::move(maps),
                         [this](const engine::ValueType& type, uint64_t number) { return name_of(type, number); });
}

uint64_t Profile::lost() const
{
    return std::accumulate(sources_.begin(), sources_.end(), uint64_t(0),
                           [](uint64_t sum, const Source& source) { return sum + source.samples->lost(); });
}

uint64_t Profile::throttled() const
{
    return std::accumulate(sources_.begin(), sources_.end(), uint64_t(0),
                           [](uint64_t sum, const Source& source) { return sum + source.samples->throttled(); });
}

bool Profile::without_kernel() const
{
    return std::any_of(sources_.begin(), sources_.end(),
                       [](const Source& source) { return source.samples->without_kernel(); });
}

} // namespace fastsdt::trace_tool
