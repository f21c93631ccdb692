// SPDX-License-Identifier: BSD-2-Clause
// What both outputs share: the order of entries, and what is printed of each.
#include "output.h"

#include "movable/fault.h"
#include "process/symbols.h"
#include "script/language.h"
#include "values.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <sstream>

namespace fastsdt::trace_tool {

using engine::Entry;
using engine::Map;
using engine::MapKind;
using engine::ValueKind;

void Summary::count(const engine::Site& site, const engine::SiteState& state, bool is_armed)
{
    const bool is_left_out = site.left_out(state);
    ++(is_left_out ? left_out : sites);
    if (is_armed) {
        ++armed;
        by_kernel += state.state == engine::State::by_kernel;
        return;
    }
    engine::SiteState alike = state;
    alike.instead.clear();
    Reason& reason = (is_left_out ? reasons_to_leave_out : reasons)[engine::text(alike)];
    const bool differs = reason.sites != 0 && reason.state.instead != state.instead; // of several probes: a long list
    reason.state = differs ? alike : state;
    ++reason.sites;
}

std::string Summary::why_left_out() const
{
    // Several states have the same words here: those are one reason.
    std::map<std::string, uint64_t> words;
    for (const auto& [sentence, reason] : reasons_to_leave_out)
        words[engine::words_of_code(reason.state)] += reason.sites;
    std::vector<std::pair<std::string, uint64_t>> order(words.begin(), words.end());
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    constexpr size_t most = 5;
    std::string text;
    uint64_t others = 0;
    for (size_t i = 0; i < order.size(); ++i)
        if (i < most)
            text += fmt::format("{}{} ({})", i ? ", " : "the code ", order[i].first, order[i].second);
        else
            others += order[i].second;
    return text + (others ? fmt::format(", and other reasons ({})", others) : "");
}

bool Summary::has_immovable() const
{
    return std::ranges::any_of(reasons,
                               [](const auto& each) { return each.second.state.state == engine::State::cannot_move; });
}

std::string Summary::cure() const
{
    for (const Reasons* each : {&reasons, &reasons_to_leave_out})
        for (const auto& [sentence, reason] : *each)
            if (reason.state.state == engine::State::handles_faults && !(reason.state.number & fault_division))
                return fmt::format("--move-faulting arms also code that may raise what the process handles: {}",
                                   engine::words_of_fault(reason.state.number).signals);
            else if (reason.state.state == engine::State::needs_system_call
                     && reason.state.detail.find("may set a seccomp filter") != std::string::npos)
                return "--read-memory allows system calls in a program that sets no filter";
    return {};
}

std::string Summary::text() const
{
    std::string others = by_kernel ? fmt::format("{} by the kernel", by_kernel) : "";
    for (const auto& [sentence, reason] : reasons)
        others +=
            fmt::format("{}{} {}", others.empty() ? "" : ", ", reason.sites, engine::text(reason.state, reason.sites));
    if (late)
        others +=
            fmt::format("{}{} only since {:.1f} s after the start", others.empty() ? "" : ", ", late, late_seconds);
    const auto also = [](const char* what, uint64_t count) { return count ? fmt::format("; {} {}", what, count) : ""; };
    const std::string sampled =
        samples ? fmt::format("samples {}{}", *samples, also("lost samples", lost_samples)) : std::string();
    if (samples && sites == 0 && others.empty() && !left_out)
        return sampled + also("cut", cut) + also("refused", refused) + also("missed", missed);
    return fmt::format("{}sites {} of {} armed{}; dropped {}{}{}{}{}", samples ? sampled + "; " : "", armed, sites,
                       others.empty() ? "" : " (" + others + ")", dropped, also("left out", left_out),
                       also("unread", unread) + also("lost", lost) + also("cut", cut), also("followed", followed),
                       also("forked", forked))
        + (processes > 1 || found || refused || missed ? also("processes", processes) : "") + also("found", found)
        + also("refused", refused) + also("missed", missed);
}

namespace {

// Its shape, where that has another form for a number.
const engine::Shape* named(const engine::ShapePtr& shape, bool is_newer)
{
    using Kind = engine::Shape::Kind;
    const bool has_words = shape && (shape->kind == Kind::boolean || shape->kind == Kind::enumeration);
    return has_words || (shape && shape->kind == Kind::pointer && is_newer) ? shape.get() : nullptr;
}

// Orders entries by value, the smallest first, or by key where values have no order, as BPFtrace::print_map and its
// like do (src/bpftrace.cpp). Entries of equal value are ordered by key; bpftrace has no order for them.
bool before(const Map& map, const Entry& a, const Entry& b)
{
    const auto total = [](const Entry& e) { return std::accumulate(e.buckets.begin(), e.buckets.end(), uint64_t(0)); };
    const auto less = [&](int64_t x, int64_t y) {
        return map.type.is_signed ? x < y : static_cast<uint64_t>(x) < static_cast<uint64_t>(y);
    };
    switch (map.kind) {
    case MapKind::count:
    case MapKind::sum:
    case MapKind::min:
    case MapKind::max: return less(a.number, b.number);
    case MapKind::integer: return less(a.value.number, b.value.number);
    case MapKind::hist:
    case MapKind::lhist: return total(a) < total(b);
    case MapKind::avg:
    case MapKind::stats: return less(average(a, map.type.is_signed), average(b, map.type.is_signed));
    case MapKind::string:
    case MapKind::probe: break;
    }
    for (size_t i = 0; i < map.keys.size(); ++i) {
        if (map.keys[i].kind == ValueKind::integer && a.keys[i].number != b.keys[i].number)
            return static_cast<uint64_t>(a.keys[i].number) < static_cast<uint64_t>(b.keys[i].number);
        if (map.keys[i].kind != ValueKind::integer && map.keys[i].kind != ValueKind::probe
            && a.keys[i].text != b.keys[i].text)
            return a.keys[i].text < b.keys[i].text;
    }
    return false;
}

} // namespace

void Output::map(size_t index, const std::vector<Entry>& entries, const std::vector<std::string>& probes, uint32_t top,
                 uint32_t div, bool is_asked)
{
    const Map& map = script_.maps[index];
    probes_ = &probes;
    if (map.series)
        return series(map, entries);
    Entries order;
    for (const Entry& entry : entries)
        order.push_back(&entry);
    // A count without keys is there before its first hit: bpftrace has it in an array.
    Entry none;
    const bool is_there = is_newer_ ? is_asked && map.buckets() == 0 : map.kind == MapKind::count;
    if (order.empty() && is_there && map.keys.empty()) {
        if (is_assigned(map.kind) && map.type.is_wide())
            none.value.text.resize(map.type.kind == ValueKind::bytes ? map.type.shape->size : 0);
        order.push_back(&none);
    }
    if (order.empty() && is_newer_)
        return;
    std::stable_sort(order.begin(), order.end(), [&](const Entry* a, const Entry* b) { return before(map, *a, *b); });
    if (top && map.kind != MapKind::stats && order.size() > top)
        order.erase(order.begin(), order.end() - top);
    const uint32_t divisor = div ? div : 1;
    switch (map.kind) {
    case MapKind::hist:
    case MapKind::lhist: return histograms(map, order, divisor);
    case MapKind::avg:
    case MapKind::stats: return statistics(map, order, divisor);
    default: return values(map, order, divisor);
    }
}

void Output::series(const Map& map, const std::vector<Entry>& entries)
{
    std::map<std::vector<engine::Datum>, std::map<int64_t, int64_t>> values; // by key and interval
    int64_t last = INT64_MIN;
    for (const Entry& entry : entries) {
        std::map<int64_t, int64_t>& of = values[{entry.keys.begin(), entry.keys.end() - 1}];
        if (!is_assigned(map.kind) && entry.count == 0) // after zero()
            continue;
        const int64_t interval = entry.keys.back().number;
        of[interval] = one_number(map, entry);
        last = std::max(last, interval);
    }
    std::vector<Series> all;
    for (auto& [keys, of] : values) {
        of.erase(of.begin(), of.upper_bound(last - map.series->count));
        Series& one = all.emplace_back();
        one.entry.keys = keys;
        for (int64_t interval = of.empty() ? last + 1 : of.begin()->first; interval <= last; ++interval) {
            const auto value = of.find(interval);
            one.points.push_back(
                {interval * map.series->interval, value == of.end() ? std::nullopt : std::optional(value->second)});
        }
    }
    Map shown = map;
    shown.keys.pop_back();
    series(shown, all);
}

std::string Output::value_of(const Map& map, const Entry& entry, uint32_t div) const
{
    switch (map.kind) {
    case MapKind::string:
    case MapKind::probe: return text_of(map.type, entry.value, *probes_, is_newer_ ? Style::newer : Style::value);
    default: break;
    }
    const int64_t value = one_number(map, entry);
    const int64_t divided = map.type.is_signed ? value / int64_t(div) : int64_t(static_cast<uint64_t>(value) / div);
    return integer_text(map.kind == MapKind::integer ? named(map.type.shape, has_forms()) : nullptr, divided,
                        map.type.is_signed);
}

size_t indent_of(const engine::Script& script, size_t usual)
{
    const engine::StackForm form = script.stack_style().form;
    return form == engine::StackForm::raw || form == engine::StackForm::build_id ? 0 : usual;
}

std::string stack_text(const engine::Datum& stack, size_t indent)
{
    std::string text = "\n";
    for (const std::string& frame : engine::frames_of(stack))
        text += std::string(indent, ' ') + frame + '\n';
    return text;
}

std::string folded(const engine::Datum& stack, bool offsets)
{
    std::string text;
    const std::vector<std::string> frames = engine::frames_of(stack);
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
        text += text.empty() ? "" : ";";
        if (offsets)
            text += *frame;
        else if (frame->ends_with(engine::inlined_mark)) // as stackcollapse-perf.pl has it
            text += frame->substr(0, frame->size() - engine::inlined_mark.size()) + "_[i]";
        else
            text += frame->substr(0, frame->rfind('+'));
    }
    return text;
}

void Output::value(const engine::Expression& e, const engine::Datum& datum, const std::vector<std::string>& probes)
{
    switch (e.type.kind) {
    case ValueKind::stack: return stack(datum);
    case ValueKind::bytes: return bytes(*e.type.shape, datum.text);
    case ValueKind::integer:
        if (e.type.is(engine::Shape::Kind::enumeration) && !has_forms()) // as 0.17 prints it
            return number(integer_text(nullptr, datum.number, e.type.is_signed));
        return number(integer_text(named(e.type.shape, has_forms()), datum.number, e.type.is_signed));
    default: break;
    }
    if (e.type.is_real())
        return number(is_json() ? real_json(*e.type.shape, static_cast<uint64_t>(datum.number))
                                : text_of(e.type, datum, probes));
    string(text_of(e.type, datum, probes));
}

std::string text_of(const engine::ValueType& type, const engine::Datum& datum, const std::vector<std::string>& probes,
                    Style style)
{
    const engine::ShapePtr& shape = type.shape;
    switch (type.kind) {
    case ValueKind::bytes: return bytes_text(*shape, datum.text, style == Style::key);
    case ValueKind::shown: return shown_text(*shape, static_cast<uint64_t>(datum.number), datum.text);
    case ValueKind::integer:
        return integer_text(
            named(shape, style == Style::newer), datum.number,
            !shape || shape->kind != engine::Shape::Kind::integer || shape->is_signed || shape->size < 8);
    case ValueKind::string: return datum.text;
    case ValueKind::stack: return folded(datum, true);
    case ValueKind::probe: break;
    }
    // The process may have written any number.
    const auto index = static_cast<uint64_t>(datum.number);
    return index < probes.size() ? probes[index] : "?";
}

Output::Range Output::filled(const std::vector<uint64_t>& buckets)
{
    Range range;
    for (size_t i = 0; i < buckets.size(); ++i) {
        if (!buckets[i])
            continue;
        if (range.end == 0)
            range.first = i;
        range.end = i + 1;
        range.most = std::max(range.most, buckets[i]);
    }
    return range;
}

} // namespace fastsdt::trace_tool
