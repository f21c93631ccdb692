// SPDX-License-Identifier: BSD-2-Clause
#include "elf/ways_out.h"

#include <algorithm>
#include <iterator>

namespace fastsdt {
namespace {

bool named_part(std::string_view part, std::string_view function)
{
    return !function.empty() && part.starts_with(function)
        && (part.substr(function.size()).starts_with(".cold") || part.substr(function.size()).starts_with(".__part."));
}

// Of all names of both, since functions and parts may be folded.
bool named_part(const Function& part, const Function& function)
{
    const auto of = [&](std::string_view name) {
        return named_part(name, function.name)
            || std::any_of(function.aliases.begin(), function.aliases.end(),
                           [&](std::string_view alias) { return named_part(name, alias); });
    };
    constexpr size_t most_names = 16; // each is compared with each
    if (part.aliases.size() > most_names || function.aliases.size() > most_names)
        return of(part.name);
    return of(part.name) || std::any_of(part.aliases.begin(), part.aliases.end(), of);
}

} // namespace

FunctionCode::FunctionCode(const Image& image)
    : image_(image), functions_(image.functions(true)), budget_(4 * image.file().size() + (1 << 16))
{}

bool FunctionCode::afford(const Range& range)
{
    const uint64_t size = range.end - range.begin;
    if (range.end < range.begin || size > budget_)
        return false;
    budget_ -= size;
    return true;
}

const Function* FunctionCode::symbol_at(uint64_t address) const
{
    const Function* const function = function_before(functions_, address);
    return function && address < end(*function) ? function : nullptr;
}

// A function ends at the latest where the next one begins, so that no code is walked twice.
uint64_t FunctionCode::end(const Function& function) const
{
    const uint64_t last = std::max(function.address, function.address + function.size);
    const size_t after = size_t(&function - functions_.data()) + 1;
    return after < functions_.size() ? std::min(last, functions_[after].address) : last;
}

// -mindirect-branch=thunk and -mretpoline: an indirect jump by way of a function of the compiler's. GCC gives these symbols no size.
bool FunctionCode::thunk(uint64_t address) const
{
    const auto found = std::lower_bound(functions_.begin(), functions_.end(), address,
                                        [](const Function& f, uint64_t a) { return f.address < a; });
    return found != functions_.end() && found->address == address
        && (found->name.starts_with("__x86_indirect_thunk_") || found->name.starts_with("__llvm_retpoline_")
            || found->name.starts_with("__llvm_lvi_thunk_"));
}

const Frame* FunctionCode::frame_at(uint64_t address)
{
    if (!frames_)
        frames_.emplace(image_);
    const auto& all = frames_->all();
    const auto after =
        std::upper_bound(all.begin(), all.end(), address, [](uint64_t a, const Frame& f) { return a < f.begin; });
    return after != all.begin() && address < std::prev(after)->end ? &*std::prev(after) : nullptr;
}

bool FunctionCode::jumps_back(const Frame& frame, const std::set<Range>& parts)
{
    if (!afford({frame.begin, frame.end}))
        return true; // nothing is to be said of it
    bool back = false;
    each_jump(image_, frame.begin, frame.end, [&](uint64_t, const Step& step) {
        if (step.flow == Flow::away)
            for (const Range& part : parts)
                back |= step.target > part.begin && step.target < part.end;
    });
    return back;
}

bool FunctionCode::shares_landing_pads(const Frame& frame, const std::set<Range>& parts)
{
    bool shared = false;
    const auto within = [](uint64_t pad, const Range& range) { return pad >= range.begin && pad < range.end; };
    each_landing_pad(image_, frame, budget_, [&](uint64_t pad) {
        for (const Range& part : parts)
            shared |= within(pad, part);
    });
    for (const Range& part : parts)
        if (const Frame* const own = frame_at(part.begin))
            each_landing_pad(image_, *own, budget_,
                             [&](uint64_t pad) { shared |= within(pad, {frame.begin, frame.end}); });
    return shared;
}

FunctionCode::Leads FunctionCode::leads(uint64_t target, const Function& function, std::set<Range>& parts)
{
    for (const Range& part : parts)
        if (target >= part.begin && target < part.end)
            return Leads::own;
    if (thunk(target))
        return Leads::untold;
    if (const Function* const known = symbol_at(target)) {
        if (!named_part(*known, function))
            return Leads::elsewhere;
        parts.insert({known->address, end(*known)});
        return Leads::own;
    }
    const Section* const section = image_.section_at(target);
    if (section && section->name.starts_with(".plt"))
        return Leads::elsewhere;
    const Frame* const frame = frame_at(target);
    if (!frame)
        return Leads::untold;
    const bool part = target != frame->begin || !frames_->at_return(frame->first) || jumps_back(*frame, parts)
        || shares_landing_pads(*frame, parts);
    if (!part)
        return Leads::untold;
    parts.insert({frame->begin, frame->end});
    return Leads::own;
}

// Indirect jumps may stay inside the function (switch) or not (a tail call), and jumps of objects have no targets yet: they are no
// ways out here.
std::optional<WaysOut> FunctionCode::ways_out(uint64_t address)
{
    const Function* const function = symbol_at(address);
    if (!function || function->address != address)
        return {};
    WaysOut found;
    std::set<Range> parts = {{function->address, end(*function)}}, walked;
    bool affordable = true;
    for (auto next = parts.begin(); next != parts.end() && affordable;) {
        const Range part = *next;
        affordable = afford(part);
        if (affordable) {
            const auto undecoded = each_jump(image_, part.begin, part.end, [&](uint64_t from, const Step& step) {
                if (step.flow == Flow::returns
                    || (!image_.relocatable() && leads(step.target, *function, parts) == Leads::elsewhere))
                    found.addresses.push_back(from);
            });
            if (!found.undecoded)
                found.undecoded = undecoded;
        }
        walked.insert(part);
        next = std::find_if(parts.begin(), parts.end(), [&](const Range& p) { return walked.count(p) == 0; });
    }
    if (!affordable)
        return {};
    return found;
}

} // namespace fastsdt
