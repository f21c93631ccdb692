// SPDX-License-Identifier: BSD-2-Clause
#include "mixed.h"

#include "base/unusable.h"
#include "hand_over.h"
#include "say.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <exception>
#include <optional>
#include <set>
#include <unistd.h>
#include <utility>

namespace fastsdt::trace_tool {

using engine::Datum;
using engine::Entry;
using engine::Expression;
using engine::Map;
using engine::MapKind;
using engine::Script;
using engine::Site;
using engine::State;
using engine::Statement;
using engine::Type;
using engine::Value;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

namespace {

// bpftrace prints its maps so often: version 0.23 does not do it at a signal.
constexpr std::chrono::milliseconds print_period(200);

// Of a clause with sites.
bool is_same_in_both(const Expression& e)
{
    const bool is_other = e.kind == Expression::Kind::map || e.kind == Expression::Kind::step
        || (e.kind == Expression::Kind::value
            && (e.value == Value::elapsed || e.value == Value::child || e.value == Value::stack));
    return !is_other && std::all_of(e.operands.begin(), e.operands.end(), is_same_in_both);
}

bool only_counts(const Statement& statement, const Script& script)
{
    switch (statement.kind) {
    case Statement::Kind::update:
    case Statement::Kind::set:
    case Statement::Kind::branch:
    case Statement::Kind::next:
    case Statement::Kind::end: break;
    case Statement::Kind::add:
        if (!script.maps[statement.map].only_adds)
            return false;
        break;
    default: return false;
    }
    bool same = true;
    each_expression(statement, [&](const Expression& e) { same = same && is_same_in_both(e); });
    return same;
}

// What is in front of a key that is a string, and behind it, has no commas: it is told apart.
bool has_readable_keys(const Map& map)
{
    for (size_t i = 0; i < map.keys.size(); ++i)
        if ((map.keys[i] != Type::integer && map.keys[i] != Type::probe && map.keys[i] != Type::string)
            || map.key_shapes[i])
            return false;
    return std::count(map.keys.begin(), map.keys.end(), Type::string) <= 1;
}

// Where the user engine cannot be, and a uprobe can.
bool kernel_can(State state)
{
    switch (state) {
    case State::no_nop:
    case State::kernel:
    case State::crosses_page:
    case State::too_far:
    case State::no_exit_sites:
    case State::shared_nop:
    case State::needs_system_call:
    case State::cannot_move:
    case State::overlaps:
    case State::not_guarded:
    case State::handles_faults: return true;
    default: return false;
    }
}

std::tuple<engine::Probe::Kind, std::string, std::string, std::string> probe_of(const Site& site)
{
    return {site.kind, site.file, site.provider, site.name};
}

// A number, or a bit pattern of 64 bits.
int64_t number_of(const json& value)
{
    return value.is_number_unsigned() ? static_cast<int64_t>(value.get<uint64_t>()) : value.get<int64_t>();
}

int64_t number_of(std::string_view text)
{
    int64_t number = 0;
    uint64_t large = 0;
    const char* const end = text.data() + text.size();
    if (const auto read = std::from_chars(text.data(), end, number); read.ec == std::errc() && read.ptr == end)
        return number;
    if (const auto read = std::from_chars(text.data(), end, large); read.ec == std::errc() && read.ptr == end)
        return static_cast<int64_t>(large);
    throw Unusable(fmt::format("bpftrace printed \"{}\" for a number", text));
}

// "1,name,2": one of them may be a string, with commas of its own.
std::vector<Datum> keys_in(const Map& map, std::string_view text)
{
    std::vector<Datum> keys(map.keys.size());
    const auto string = std::find(map.keys.begin(), map.keys.end(), Type::string);
    const auto before = static_cast<size_t>(string - map.keys.begin());
    for (size_t i = 0; i < before; ++i) {
        const size_t comma = std::min(text.find(','), text.size());
        keys[i].number = number_of(text.substr(0, comma));
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    if (string == map.keys.end())
        return keys;
    for (size_t i = map.keys.size() - 1; i > before; --i) {
        const size_t comma = text.rfind(',');
        if (comma == text.npos)
            throw Unusable(fmt::format("bpftrace printed too few keys for {}", map.name));
        keys[i].number = number_of(text.substr(comma + 1));
        text.remove_suffix(text.size() - comma);
    }
    keys[before].text = text;
    return keys;
}

// As output_json.cpp prints it.
size_t bucket_of(const Map& map, const json& bucket)
{
    if (!bucket.contains("min"))
        return 0;
    const int64_t low = number_of(bucket["min"]);
    if (map.kind == MapKind::lhist)
        return std::min(static_cast<size_t>((low - map.low) / map.step) + 1, map.buckets() - 1);
    return std::min<size_t>(low <= 0 ? 1 : std::bit_width(static_cast<uint64_t>(low)) + 1, map.buckets() - 1);
}

Entry entry_of(const Map& map, const json& value)
{
    Entry entry;
    switch (map.kind) {
    case MapKind::hist:
    case MapKind::lhist:
        entry.buckets.resize(map.buckets());
        for (const json& bucket : value)
            entry.buckets[bucket_of(map, bucket)] += bucket["count"].get<uint64_t>();
        break;
    case MapKind::avg:
    case MapKind::stats:
        entry.count = value["count"].get<uint64_t>();
        entry.number = number_of(value["total"]);
        break;
    case MapKind::integer: entry.value.number = number_of(value); break;
    default: entry.number = number_of(value); entry.count = 1; // that there are some is what matters
    }
    return entry;
}

std::vector<std::string> command_line(const Options& options, const Script& script, const std::vector<Site>& sites,
                                      const std::string& last_map)
{
    std::string text = handed_over_in_part(script, sites, options.pid);
    text += fmt::format("BEGIN {{ {} = 1; printf(\"{}\\n\"); }}\n", last_map, attached_line);
    text += fmt::format("interval:ms:{} {{", print_period.count());
    std::set<size_t> maps; // it knows no others
    for (const Site& site : sites)
        for (const size_t clause : site.clauses)
            each_statement(script.clauses[clause].actions, [&](const Statement& statement) {
                if (statement.kind == Statement::Kind::update || statement.kind == Statement::Kind::add)
                    maps.insert(statement.map);
            });
    for (const size_t map : maps)
        text += fmt::format(" print({});", script.maps[map].name);
    text += fmt::format(" print({}); }}\n", last_map);
    std::vector<std::string> words = {"bpftrace", "-B", "line", "-f", "json", "-p", std::to_string(options.pid),
                                      "-e",       text};
    words.insert(words.end(), options.parameters.begin(), options.parameters.end());
    return words;
}

// In the order of names, as bpftrace prints them.
std::string name_behind_all(const Script& script)
{
    std::string last = "@";
    for (const Map& map : script.maps)
        last = std::max(last, map.name);
    return last + "_last";
}

} // namespace

bool adds_up(const Script& script)
{
    bool all = true;
    std::vector<bool> counted(script.maps.size());
    for (const engine::Clause& clause : script.clauses) {
        if (clause.has_sites() && clause.filter)
            all = all && is_same_in_both(*clause.filter);
        each_statement(clause.actions, [&](const Statement& statement) {
            if (clause.has_sites()) {
                all = all && only_counts(statement, script);
                if (statement.kind == Statement::Kind::update || statement.kind == Statement::Kind::add)
                    counted[statement.map] = true;
            } else {
                all = all && statement.kind != Statement::Kind::clear && statement.kind != Statement::Kind::zero
                    && statement.kind != Statement::Kind::remove && statement.kind != Statement::Kind::assign;
            }
        });
    }
    for (size_t i = 0; i < script.maps.size(); ++i)
        all = all && (!counted[i] || has_readable_keys(script.maps[i]));
    return all;
}

KernelSites::KernelSites(const engine::Session::Preview& preview, const Script& script)
{
    for (size_t i = 0; i < preview.sites.size(); ++i) {
        const engine::SiteState& state = preview.states[i];
        if (can_be_armed(state) || preview.sites[i].left_out(state))
            continue;
        if (!kernel_can(state.state))
            return;
        probes_.insert(probe_of(preview.sites[i]));
    }
    bool others = false; // that the user engine has
    std::vector<Site> found;
    for (size_t i = 0; i < preview.sites.size(); ++i) {
        const Site& site = preview.sites[i];
        if (has(site))
            found.push_back(site);
        else
            others = others || can_be_armed(preview.states[i]);
    }
    const auto is_readable = [&](const Site& site) {
        return std::all_of(site.clauses.begin(), site.clauses.end(),
                           [&](size_t clause) { return can_read(site, script.clauses[clause]); });
    };
    if (others && std::all_of(found.begin(), found.end(), is_readable))
        sites_ = std::move(found);
}

bool KernelSites::has_exits() const
{
    return std::any_of(sites_.begin(), sites_.end(),
                       [](const Site& site) { return site.kind == engine::Probe::Kind::exit; });
}

bool KernelSites::has(const Site& site) const
{
    return probes_.contains(probe_of(site));
}

KernelPart::KernelPart(const Options& options, const Script& script, const KernelSites& sites, Signals& signals)
    : script_(script), sites_(sites.sites().size()), signals_(signals), last_map_(name_behind_all(script)),
      bpftrace_(command_line(options, script, sites.sites(), last_map_), signals)
{
    printing_.maps.resize(script.maps.size());
    maps_.maps.resize(script.maps.size());
}

bool KernelPart::attach()
{
    while (!attached_ && !over_) {
        const auto ready = wait_readable({bpftrace_.output(), signals_.descriptor()}, {});
        if (ready[0])
            take();
        while (const auto signal = ready[1] ? signals_.next() : std::nullopt)
            if (signal->number != SIGUSR1)
                give_up("interrupted before all probes were attached");
    }
    return attached_;
}

void KernelPart::take()
{
    std::array<char, 65536> buffer;
    const ssize_t got = ::read(bpftrace_.output(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR)
        return;
    over_ = got <= 0;
    held_.append(buffer.data(), got > 0 ? static_cast<size_t>(got) : 0);
    size_t from = 0;
    for (size_t end; (end = held_.find('\n', from)) != held_.npos; from = end + 1)
        try {
            take_line(std::string_view(held_).substr(from, end - from));
        } catch (const std::exception&) { // the sites are put back all the same
            unreadable_ = true;
        }
    held_.erase(0, from);
}

void KernelPart::take_line(std::string_view line)
{
    const json object = json::parse(line, nullptr, false);
    if (!object.is_object() || !object.contains("type") || !object.contains("data"))
        return;
    const json& data = object["data"];
    if (data.is_string())
        attached_ = attached_ || data.get_ref<const std::string&>().starts_with(attached_line);
    if (!data.is_object())
        return;
    for (const auto& [name, value] : data.items()) {
        if (name == last_map_) {
            maps_ = printing_;
            continue;
        }
        const auto map = std::find_if(script_.maps.begin(), script_.maps.end(),
                                      [&n = name](const Map& one) { return one.name == n; });
        if (map == script_.maps.end())
            continue;
        std::vector<Entry>& to = printing_.maps[static_cast<size_t>(map - script_.maps.begin())];
        to.clear(); // a line has all of a map
        if (map->keys.empty()) {
            to.push_back(entry_of(*map, value));
            continue;
        }
        for (const auto& [keys, one] : value.items()) {
            to.push_back(entry_of(*map, one));
            to.back().keys = keys_in(*map, keys);
        }
    }
}

bool KernelPart::finish()
{
    auto pause = std::chrono::milliseconds(100);
    if (!over_)
        bpftrace_.interrupt();
    while (!over_) {
        const auto ready = wait_readable({bpftrace_.output(), signals_.descriptor()}, Clock::now() + pause);
        if (ready[0]) {
            take();
        } else if (!ready[1]) {
            bpftrace_.remind();
            pause *= 2;
        }
        while (const auto signal = ready[1] ? signals_.next() : std::nullopt)
            if (signal->number != SIGUSR1) // somebody does not want to wait for that
                bpftrace_.end();
    }
    return bpftrace_.reap() == 0 && !unreadable_; // it has printed them
}

} // namespace fastsdt::trace_tool
