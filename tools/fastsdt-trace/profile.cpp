// SPDX-License-Identifier: BSD-2-Clause
#include "profile.h"

#include "maps/read.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace fastsdt::trace_tool {

Profile::Profile(const engine::Script& script, bool follows) : script_(script), follows_(follows)
{
    constexpr uint64_t thousand = 1000;
    for (const engine::Clause& clause : script.clauses)
        for (const engine::Probe& probe : clause.probes)
            if (probe.has_sample())
                sources_.push_back({&clause, &probe,
                                    std::make_unique<Samples>(
                                        Samples::Wish{.period_ns = probe.interval_us * thousand,
                                                      .running = probe.running,
                                                      .waiting = probe.waiting,
                                                      .stack_bytes = engine::unwinds(clause) ? copied_stack : 0})});
}

void Profile::open(pid_t pid)
{
    everybody_ = everybody_ || pid == 0;
    opened_.insert(pid);
    bool fresh = false;
    for (const Source& source : sources_)
        fresh = source.samples->open(pid) || fresh;
    if (fresh)
        forget(pid);
    if (pid != 0 && opened_.size() == 1)
        process(pid); // a COMMAND may have ended when its first sample is read
}

// The number has come again, for another process.
void Profile::forget(pid_t pid)
{
    for (size_t number = 1; processes_.contains(pid) && number <= stacks_.size(); ++number)
        if (stacks_[number - 1].calls.first == pid)
            name_of(number);
    std::erase_if(numbers_, [pid](const auto& each) { return each.first.first == pid; });
    processes_.erase(pid);
}

std::vector<Profile::Hit> Profile::take()
{
    std::vector<Hit> hits;
    for (const Source& source : sources_)
        for (Samples::Sample& sample : source.samples->take())
            if (everybody_ || follows_ || opened_.contains(sample.pid)) {
                process(sample.pid); // while it lives
                hits.push_back({source.clause, source.probe, std::move(sample)});
            }
    std::stable_sort(hits.begin(), hits.end(),
                     [](const Hit& a, const Hit& b) { return a.sample.time < b.sample.time; });
    return hits;
}

Profile::Process& Profile::process(pid_t pid)
{
    auto& found = processes_[pid];
    if (!found) {
        found = std::make_unique<Process>(pid, script_.stack_style());
        found->names.look();
    }
    return *found;
}

uint64_t Profile::stack(const Samples::Sample& sample, unsigned most, bool unwinds)
{
    Calls calls{sample.pid, {}};
    if (unwinds && sample.stack) {
        engine::Unwound& unwound = process(sample.pid).unwound;
        calls.second = unwound.calls(sample.registers, *sample.stack, most);
        cut_ += unwound.was_cut();
    } else {
        calls.second.assign(sample.calls.begin(),
                            sample.calls.begin() + std::ptrdiff_t(std::min<size_t>(most, sample.calls.size())));
    }
    const auto [found, fresh] = numbers_.try_emplace(std::move(calls), stacks_.size() + 1);
    if (fresh)
        stacks_.push_back({found->first, {}});
    return found->second;
}

const std::string& Profile::name_of(uint64_t stack)
{
    auto& [calls, text] = stacks_.at(stack - 1);
    if (!text)
        text = process(calls.first).names.symbols.calls(calls.second);
    return *text;
}

std::string Profile::name_of(const engine::ValueType& type, uint64_t number, pid_t whose)
{
    if (type.kind == engine::ValueKind::stack)
        return number == 0 ? "" : name_of(number);
    if (whose != 0)
        return process(whose).names.symbols.function(number);
    std::vector<engine::Symbols*> all;
    for (const auto& [pid, process] : processes_)
        all.push_back(&process->names.symbols);
    return engine::function_of_any(all, number);
}

engine::Maps Profile::named(engine::Maps maps)
{
    for (const auto& [pid, process] : processes_)
        process->names.look();
    return engine::named(script_, std::move(maps),
                         [this](const engine::ValueType& type, uint64_t number) { return name_of(type, number, 0); });
}

uint64_t Profile::sum(uint64_t (Samples::*what)() const) const
{
    return std::accumulate(sources_.begin(), sources_.end(), uint64_t(0),
                           [what](uint64_t sum, const Source& source) { return sum + (*source.samples.*what)(); });
}

bool Profile::is_busy() const
{
    return std::any_of(sources_.begin(), sources_.end(),
                       [](const Source& source) { return source.samples->is_busy(); });
}

bool Profile::without_kernel() const
{
    return std::any_of(sources_.begin(), sources_.end(),
                       [](const Source& source) { return source.samples->without_kernel(); });
}

} // namespace fastsdt::trace_tool
