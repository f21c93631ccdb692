// SPDX-License-Identifier: BSD-2-Clause
// The results of reading: copies, which outlive their attachment.
#include "base/printable.h"
#include "handles.h"
#include "pprof.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

using fastsdt::engine::Map;
using fastsdt::engine::MapKind;
using fastsdt::engine::ValueKind;

struct fastsdt_trace_sites {
    std::deque<std::string> texts;
    std::vector<fastsdt_trace_site> sites;
    std::vector<std::string> missing;
};

struct fastsdt_trace_maps {
    struct One {
        Map map;
        fastsdt_trace_map told;
        std::deque<std::vector<fastsdt_trace_value>> keys;
        std::vector<fastsdt_trace_entry> entries;
    };
    fastsdt::engine::Maps read;
    std::vector<std::string> probes;
    std::string unread_reason;
    std::deque<One> maps;
    std::optional<fastsdt::engine::Script> profiled; ///< for a profile, if one can be made
    std::string no_profile;                          ///< why not
    fastsdt::engine::ProfileTimes times;
    std::string comment, profile;
    std::mutex making_profile; ///< the same maps may be asked by several threads
};

struct fastsdt_trace_events {
    std::vector<fastsdt::engine::Event> read;
    std::vector<std::string> probes;
    std::deque<std::vector<fastsdt_trace_value>> values;
    std::vector<fastsdt_trace_event> events;
    std::vector<std::vector<int>> kinds; ///< of their values
    uint64_t lost = 0;
};

namespace fastsdt::api {
namespace {

int kind_of(MapKind kind)
{
    switch (kind) {
    case MapKind::count: return FASTSDT_TRACE_COUNT;
    case MapKind::sum: return FASTSDT_TRACE_SUM;
    case MapKind::min: return FASTSDT_TRACE_MIN;
    case MapKind::max: return FASTSDT_TRACE_MAX;
    case MapKind::avg: return FASTSDT_TRACE_AVG;
    case MapKind::stats: return FASTSDT_TRACE_STATS;
    case MapKind::hist: return FASTSDT_TRACE_HIST;
    case MapKind::lhist: return FASTSDT_TRACE_LHIST;
    case MapKind::integer: return FASTSDT_TRACE_INTEGER;
    case MapKind::string:
    case MapKind::probe: break;
    }
    return FASTSDT_TRACE_STRING;
}

int kind_of(ValueKind kind)
{
    switch (kind) {
    case ValueKind::integer: return FASTSDT_TRACE_VALUE_NUMBER;
    case ValueKind::stack: return FASTSDT_TRACE_VALUE_STACK;
    case ValueKind::probe: return FASTSDT_TRACE_VALUE_PROBE;
    case ValueKind::string:
    case ValueKind::bytes:
    case ValueKind::shown: break;
    }
    return FASTSDT_TRACE_VALUE_TEXT;
}

fastsdt_trace_value value_of(const std::vector<std::string>& probes, ValueKind kind, const engine::Datum& datum)
{
    switch (kind) {
    case ValueKind::integer: return {nullptr, datum.number};
    case ValueKind::string:
    case ValueKind::stack:
    case ValueKind::bytes:
    case ValueKind::shown: return {datum.text.c_str(), 0};
    case ValueKind::probe: break;
    }
    // The process may have written any number.
    const auto index = static_cast<uint64_t>(datum.number);
    return {index < probes.size() ? probes[index].c_str() : "?", 0};
}

fastsdt_trace_entry entry_of(const fastsdt_trace_maps& maps, const Map& map, const engine::Entry& from)
{
    fastsdt_trace_entry to = {};
    to.value.number = to.total = from.number;
    to.count = from.count;
    switch (map.kind) {
    case MapKind::count: to.count = static_cast<uint64_t>(from.number); break;
    case MapKind::avg:
    case MapKind::stats: to.value.number = average(from, map.type.is_signed); break;
    case MapKind::hist:
    case MapKind::lhist:
        to.bucket = from.buckets.data();
        to.count = std::accumulate(from.buckets.begin(), from.buckets.end(), uint64_t(0));
        break;
    case MapKind::integer: to.value = value_of(maps.probes, ValueKind::integer, from.value); break;
    case MapKind::string:
    case MapKind::probe: to.value = value_of(maps.probes, map.type.kind, from.value); break;
    case MapKind::sum:
    case MapKind::min:
    case MapKind::max: break;
    }
    return to;
}

// Why no profile can be made of the script's maps, in a sentence; empty: one can.
std::string why_no_profile(const engine::Script& script)
{
    if (std::none_of(script.maps.begin(), script.maps.end(), engine::is_profile))
        return "a profile is of counts and sums by stack, @[ustack] = count(), and the script has none";
    if (!script.stack_form)
        return "a profile needs the stacks' addresses: attach the script with FASTSDT_TRACE_ADDRESSES";
    if (*script.stack_form != engine::StackForm::perf)
        return fmt::format("a profile needs stacks with addresses and files, and the script says ustack({}): ustack "
                           "alone, or ustack(perf), has them",
                           engine::word_of(*script.stack_form));
    return {};
}

void tell(fastsdt_trace_maps& maps, const Map& map, const std::vector<engine::Entry>& entries)
{
    auto& one = maps.maps.emplace_back();
    one.map = map;
    for (const engine::Entry& entry : entries) {
        fastsdt_trace_entry told = entry_of(maps, map, entry);
        auto& keys = one.keys.emplace_back();
        for (size_t i = 0; i < map.keys.size() && i < entry.keys.size(); ++i)
            keys.push_back(value_of(maps.probes, map.keys[i].kind, entry.keys[i]));
        told.key = keys.data();
        one.entries.push_back(told);
    }
    one.told = {one.map.name.c_str(), kind_of(map.kind), map.type.is_signed,
                map.keys.size(),      entries.size(),    map.buckets()};
}

int kind_of(engine::Statement::Kind kind)
{
    using Kind = engine::Statement::Kind;
    switch (kind) {
    case Kind::print: return FASTSDT_TRACE_EVENT_PRINT;
    case Kind::clear: return FASTSDT_TRACE_EVENT_CLEAR;
    case Kind::zero: return FASTSDT_TRACE_EVENT_ZERO;
    case Kind::time: return FASTSDT_TRACE_EVENT_TIME;
    case Kind::exit: return FASTSDT_TRACE_EVENT_EXIT;
    case Kind::cat: return FASTSDT_TRACE_EVENT_CAT;
    case Kind::join: return FASTSDT_TRACE_EVENT_JOIN;
    default: return FASTSDT_TRACE_EVENT_PRINTF;
    }
}

void tell(fastsdt_trace_events& events, const engine::Event& from, const std::string& script)
{
    const engine::Statement& statement = *from.statement;
    const engine::Position where = engine::position(script, statement.where);
    auto& values = events.values.emplace_back();
    auto& kinds = events.kinds.emplace_back();
    for (size_t i = 0; i < from.values.size(); ++i) {
        values.push_back(value_of(events.probes, statement.values[i].type.kind, from.values[i]));
        kinds.push_back(kind_of(statement.values[i].type.kind));
    }
    events.events.push_back({kind_of(statement.kind), static_cast<unsigned>(where.line),
                             static_cast<unsigned>(where.column), from.clock, statement.map, values.size(),
                             values.data()});
}

const fastsdt_trace_maps::One* find(const fastsdt_trace_maps* maps, size_t map)
{
    return maps && map < maps->maps.size() ? &maps->maps[map] : nullptr;
}

} // namespace
} // namespace fastsdt::api

using namespace fastsdt::api;

namespace {

using fastsdt::engine::State;

int number_of(State state)
{
    switch (state) {
    case State::ready: return FASTSDT_TRACE_SITE_READY;
    case State::armed: return FASTSDT_TRACE_SITE_ARMED;
    case State::no_nop: return FASTSDT_TRACE_SITE_NO_NOP;
    case State::kernel: return FASTSDT_TRACE_SITE_KERNEL;
    case State::other_tracer: return FASTSDT_TRACE_SITE_OTHER_TRACER;
    case State::other_run: return FASTSDT_TRACE_SITE_OTHER_RUN;
    case State::left_over: return FASTSDT_TRACE_SITE_LEFT_OVER;
    case State::foreign: return FASTSDT_TRACE_SITE_FOREIGN;
    case State::changed: return FASTSDT_TRACE_SITE_CHANGED;
    case State::damaged: return FASTSDT_TRACE_SITE_DAMAGED;
    case State::crosses_page: return FASTSDT_TRACE_SITE_CROSSES_PAGE;
    case State::not_private: return FASTSDT_TRACE_SITE_NOT_PRIVATE;
    case State::too_far: return FASTSDT_TRACE_SITE_TOO_FAR;
    case State::busy: return FASTSDT_TRACE_SITE_BUSY;
    case State::gone: return FASTSDT_TRACE_SITE_GONE;
    case State::not_under_threads: return FASTSDT_TRACE_SITE_NOT_UNDER_THREADS;
    case State::stale_call: return FASTSDT_TRACE_SITE_STALE_CALL;
    case State::other_architecture: return FASTSDT_TRACE_SITE_OTHER_ARCHITECTURE;
    case State::huge_pages: return FASTSDT_TRACE_SITE_HUGE_PAGES;
    case State::no_exit_sites: return FASTSDT_TRACE_SITE_NO_EXIT_SITES;
    case State::shared_nop: return FASTSDT_TRACE_SITE_SHARED_NOP;
    case State::no_argument: return FASTSDT_TRACE_SITE_NO_ARGUMENT;
    case State::unreadable_argument: return FASTSDT_TRACE_SITE_UNREADABLE_ARGUMENT;
    case State::no_stack_record: return FASTSDT_TRACE_SITE_NO_STACK_RECORD;
    case State::no_stack_argument: return FASTSDT_TRACE_SITE_NO_STACK_ARGUMENT;
    case State::exit_arguments: return FASTSDT_TRACE_SITE_EXIT_ARGUMENTS;
    case State::tail_call: return FASTSDT_TRACE_SITE_TAIL_CALL;
    case State::no_result: return FASTSDT_TRACE_SITE_NO_RESULT;
    case State::needs_system_call: return FASTSDT_TRACE_SITE_NEEDS_SYSTEM_CALL;
    case State::no_clock: return FASTSDT_TRACE_SITE_NO_CLOCK;
    case State::too_much_stack: return FASTSDT_TRACE_SITE_TOO_MUCH_STACK;
    case State::too_long: return FASTSDT_TRACE_SITE_TOO_LONG;
    case State::no_functions: return FASTSDT_TRACE_SITE_NO_FUNCTIONS;
    case State::no_named_argument: return FASTSDT_TRACE_SITE_NO_NAMED_ARGUMENT;
    case State::cannot_move: return FASTSDT_TRACE_SITE_CANNOT_MOVE;
    case State::overlaps: return FASTSDT_TRACE_SITE_OVERLAPS;
    case State::not_guarded: return FASTSDT_TRACE_SITE_NOT_GUARDED;
    case State::no_stacks: return FASTSDT_TRACE_SITE_NO_STACKS;
    case State::no_symbol: return FASTSDT_TRACE_SITE_NO_SYMBOL;
    case State::no_processor: return FASTSDT_TRACE_SITE_NO_PROCESSOR;
    case State::handles_faults: return FASTSDT_TRACE_SITE_HANDLES_FAULTS;
    case State::no_goroutine: return FASTSDT_TRACE_SITE_NO_GOROUTINE;
    case State::only_in_kernel: return FASTSDT_TRACE_SITE_ONLY_IN_KERNEL;
    case State::not_by_itself: return FASTSDT_TRACE_SITE_NOT_BY_ITSELF;
    case State::by_kernel:
    case State::not_in_kernel: break; // the library has no engine in the kernel
    }
    throw std::logic_error("no state of the library's");
}

} // namespace

fastsdt_trace_sites* fastsdt_trace_sites_read(fastsdt_trace_attachment* attachment, fastsdt_trace_error* error)
{
    return guarded(error, static_cast<fastsdt_trace_sites*>(nullptr), [&] {
        check_usable(attachment);
        const Work work(*attachment->trace);
        auto& session = *attachment->session;
        auto told = std::make_unique<fastsdt_trace_sites>();
        const auto& states = session.verify();
        const auto text = [&](std::string of) { return told->texts.emplace_back(std::move(of)).c_str(); };
        for (size_t i = 0; i < states.size(); ++i) {
            const auto& site = session.sites()[i];
            told->sites.push_back(
                {text(session.probes().at(site.probe)), site.address, states[i].state == fastsdt::engine::State::armed,
                 text(fastsdt::engine::text(states[i])), number_of(states[i].state), site.left_out(states[i])});
        }
        for (const fastsdt::engine::Probe* probe : session.matcher().unmatched())
            told->missing.push_back(
                fastsdt::printable("nothing matches " + probe->text + ": " + session.matcher().instead(*probe)));
        return told.release();
    });
}

size_t fastsdt_trace_sites_count(const fastsdt_trace_sites* sites)
{
    return sites ? sites->sites.size() : 0;
}

const fastsdt_trace_site* fastsdt_trace_sites_get(const fastsdt_trace_sites* sites, size_t index)
{
    return sites && index < sites->sites.size() ? &sites->sites[index] : nullptr;
}

const char* fastsdt_trace_sites_missing(const fastsdt_trace_sites* sites, size_t index)
{
    return sites && index < sites->missing.size() ? sites->missing[index].c_str() : nullptr;
}

void fastsdt_trace_sites_free(fastsdt_trace_sites* sites)
{
    delete sites;
}

fastsdt_trace_maps* fastsdt_trace_maps_read(fastsdt_trace_attachment* attachment, fastsdt_trace_error* error)
{
    return guarded(error, static_cast<fastsdt_trace_maps*>(nullptr), [&] {
        check_usable(attachment);
        const Work work(*attachment->trace);
        auto told = std::make_unique<fastsdt_trace_maps>();
        attachment->session->look_for_filters();
        told->read = attachment->session->read();
        told->probes = attachment->session->probes();
        told->unread_reason = fastsdt::printable(attachment->session->no_system_calls());
        if (told->read.unread && told->unread_reason.empty())
            told->unread_reason = "a filter refused a system call";
        if (attachment->function)
            told->read.dropped += attachment->function->missed();
        for (size_t i = 0; i < attachment->script.maps.size(); ++i)
            tell(*told, attachment->script.maps[i], told->read.maps[i]);
        told->no_profile = why_no_profile(attachment->script);
        if (told->no_profile.empty()) {
            told->profiled = attachment->script;
            told->times = {attachment->begin_ns, since_1970() - attachment->begin_ns};
            told->comment = "libfastsdt-trace: " + attachment->text;
        }
        return told.release();
    });
}

size_t fastsdt_trace_maps_count(const fastsdt_trace_maps* maps)
{
    return maps ? maps->maps.size() : 0;
}

const fastsdt_trace_map* fastsdt_trace_maps_get(const fastsdt_trace_maps* maps, size_t map)
{
    const auto* const one = find(maps, map);
    return one ? &one->told : nullptr;
}

const fastsdt_trace_entry* fastsdt_trace_maps_entry(const fastsdt_trace_maps* maps, size_t map, size_t entry)
{
    const auto* const one = find(maps, map);
    return one && entry < one->entries.size() ? &one->entries[entry] : nullptr;
}

int fastsdt_trace_maps_bucket(const fastsdt_trace_maps* maps, size_t map, size_t bucket, int64_t* low, int64_t* high)
{
    const auto* const one = find(maps, map);
    if (!one || bucket >= one->told.buckets || !low || !high)
        return -1;
    // script.h says what the buckets are.
    const auto i = static_cast<int64_t>(bucket);
    if (one->map.kind == MapKind::lhist) {
        *low = one->map.low + (i - 1) * one->map.step;
        *high = *low + one->map.step - 1;
    } else {
        *low = bucket < 2 ? 0 : static_cast<int64_t>(uint64_t(1) << (bucket - 2));
        *high = bucket < 2 ? 0 : *low + (*low - 1);
    }
    if (bucket == 0) {
        *low = std::numeric_limits<int64_t>::min();
        *high = one->map.kind == MapKind::lhist ? one->map.low - 1 : -1;
    }
    if (bucket + 1 == one->told.buckets) {
        *low = one->map.kind == MapKind::lhist ? one->map.high : *low;
        *high = std::numeric_limits<int64_t>::max();
    }
    return 0;
}

uint64_t fastsdt_trace_maps_dropped(const fastsdt_trace_maps* maps)
{
    return maps ? maps->read.dropped : 0;
}

uint64_t fastsdt_trace_maps_unread(const fastsdt_trace_maps* maps)
{
    return maps ? maps->read.unread : 0;
}

const char* fastsdt_trace_maps_unread_reason(const fastsdt_trace_maps* maps)
{
    return maps ? maps->unread_reason.c_str() : "";
}

int fastsdt_trace_maps_key_kind(const fastsdt_trace_maps* maps, size_t map, size_t key)
{
    const auto* const one = find(maps, map);
    return one && key < one->map.keys.size() ? kind_of(one->map.keys[key].kind) : 0;
}

int fastsdt_trace_maps_value_kind(const fastsdt_trace_maps* maps, size_t map)
{
    const auto* const one = find(maps, map);
    const bool assigned = one
        && (one->map.kind == MapKind::integer || one->map.kind == MapKind::string || one->map.kind == MapKind::probe);
    return assigned ? kind_of(one->map.type.kind) : 0;
}

const void* fastsdt_trace_maps_pprof(fastsdt_trace_maps* maps, size_t* size, fastsdt_trace_error* error)
{
    return guarded(error, static_cast<const void*>(nullptr), [&]() -> const void* {
        if (!maps || !size)
            throw Failure(FASTSDT_TRACE_MISUSE, "there are no maps, or there is no size: NULL");
        if (!maps->profiled)
            throw Failure(FASTSDT_TRACE_MISUSE, maps->no_profile);
        const std::lock_guard lock(maps->making_profile);
        if (maps->profile.empty())
            maps->profile = fastsdt::engine::profile_of(
                *maps->profiled, maps->read,
                [&](const fastsdt::engine::ValueType& type, const fastsdt::engine::Datum& datum) {
                    const fastsdt_trace_value value = value_of(maps->probes, type.kind, datum);
                    return value.text ? std::string(value.text) : std::to_string(value.number);
                },
                maps->comment, maps->times);
        *size = maps->profile.size();
        return maps->profile.data();
    });
}

void fastsdt_trace_maps_free(fastsdt_trace_maps* maps)
{
    delete maps;
}

int fastsdt_trace_clear(fastsdt_trace_attachment* attachment, size_t map, fastsdt_trace_error* error)
{
    return guarded(error, -1, [&] {
        check_usable(attachment);
        if (map >= attachment->script.maps.size())
            throw Failure(FASTSDT_TRACE_MISUSE, "the script has no map of this index");
        const Work work(*attachment->trace);
        attachment->session->clear(map, false);
        return 0;
    });
}

fastsdt_trace_events* fastsdt_trace_events_read(fastsdt_trace_attachment* attachment, fastsdt_trace_error* error)
{
    return guarded(error, static_cast<fastsdt_trace_events*>(nullptr), [&] {
        check_usable(attachment);
        const Work work(*attachment->trace);
        auto events = std::make_unique<fastsdt_trace_events>();
        attachment->hear();
        events->read = std::exchange(attachment->waiting, {});
        attachment->session->read_events(events->read, false);
        std::stable_sort(
            events->read.begin(), events->read.end(),
            [](const fastsdt::engine::Event& a, const fastsdt::engine::Event& b) { return a.clock < b.clock; });
        events->probes = attachment->session->probes();
        for (const fastsdt::engine::Event& event : events->read)
            tell(*events, event, attachment->text);
        events->lost = attachment->session->lost_events() - attachment->lost_before;
        return events.release();
    });
}

size_t fastsdt_trace_events_count(const fastsdt_trace_events* events)
{
    return events ? events->events.size() : 0;
}

const fastsdt_trace_event* fastsdt_trace_events_get(const fastsdt_trace_events* events, size_t index)
{
    return events && index < events->events.size() ? &events->events[index] : nullptr;
}

int fastsdt_trace_events_value_kind(const fastsdt_trace_events* events, size_t index, size_t value)
{
    return events && index < events->kinds.size() && value < events->kinds[index].size() ? events->kinds[index][value]
                                                                                         : 0;
}

uint64_t fastsdt_trace_events_lost(const fastsdt_trace_events* events)
{
    return events ? events->lost : 0;
}

void fastsdt_trace_events_free(fastsdt_trace_events* events)
{
    delete events;
}
