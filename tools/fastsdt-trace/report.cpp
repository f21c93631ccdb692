// SPDX-License-Identifier: BSD-2-Clause
#include "formats.h"

#include "base/printable.h"
#include "page.h"

#include <fastsdt/note.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace fastsdt::trace_tool {
namespace {

using nlohmann::json;

// What a page has of a trace at most; what is more is told on the page. With all of it a page has a few megabytes.
constexpr size_t most_functions = 5000; ///< in the table
constexpr size_t most_name = 1024;      ///< bytes of one
constexpr size_t most_nodes = 20'000;   ///< of the flame graph
constexpr size_t most_depth = 200;      ///< of it
constexpr size_t most_heat_maps = 50;   ///< of functions, beside the one of all
constexpr size_t heat_columns = 120;    ///< of time
constexpr size_t most_slices = 60'000;  ///< of all threads' timelines
constexpr size_t most_rows = 64;        ///< threads that have one
constexpr size_t most_levels = 40;      ///< of calls in each of them
constexpr size_t most_threads = 2000;   ///< in the list
/// What is shorter than this part of the whole joins its neighbour in the timeline: so many pixels wide is it at full zoom.
constexpr uint64_t finest = uint64_t(1) << 20;
// While the trace is read.
constexpr size_t most_nodes_read = size_t(1) << 20, most_slices_read = 4 * most_slices;
constexpr uint32_t nowhere = UINT32_MAX;
constexpr size_t buckets = 65; ///< by powers of two: 0, 1, 2 and 3, 4 to 7, ...

/// Calls by where they were made: by the functions that were open, from the outermost on.
class CallTree {
public:
    struct Node {
        uint32_t function, parent;
        uint64_t calls = 0, total = 0;
    };

    /// @param parent  node of the call that makes it; nowhere: none is open
    uint32_t child(uint32_t parent, uint32_t function)
    {
        const auto [found, fresh] =
            numbers_.try_emplace(uint64_t(parent) << 32 | function, static_cast<uint32_t>(nodes_.size()));
        if (fresh && nodes_.size() >= most_nodes_read) {
            numbers_.erase(found);
            return nowhere;
        }
        if (fresh)
            nodes_.push_back({function, parent});
        return found->second;
    }
    Node& operator[](uint32_t node) { return nodes_[node]; }

    /// The numbers of the nodes with the most time, and with each node its parent; in the order in which they were made.
    std::vector<uint32_t> largest() const
    {
        std::vector<uint32_t> all(nodes_.size());
        std::iota(all.begin(), all.end(), 0U);
        // No node has more time than its parent, which was made before it.
        std::sort(all.begin(), all.end(), [&](uint32_t a, uint32_t b) {
            return nodes_[a].total != nodes_[b].total ? nodes_[a].total > nodes_[b].total : a < b;
        });
        all.resize(std::min(all.size(), most_nodes));
        std::sort(all.begin(), all.end());
        return all;
    }
    size_t size() const { return nodes_.size(); }
    const std::vector<Node>& nodes() const { return nodes_; }

private:
    std::vector<Node> nodes_;
    std::unordered_map<uint64_t, uint32_t> numbers_; // by parent and function
};

/// Calls of threads beside each other in time. Slices of one level that are shorter than `shortest` together become one.
class DrawnCalls {
public:
    explicit DrawnCalls(uint64_t span) : shortest_(span / finest) {}

    struct Slice {
        uint64_t begin, end;
        uint32_t function;
        uint64_t count = 1, longest = end - begin; ///< function: of the longest call
    };
    using Levels = std::vector<std::vector<Slice>>;

    void add(size_t row, size_t level, const Slice& slice)
    {
        rows_.resize(std::max(rows_.size(), row + 1));
        Levels& levels = rows_[row];
        levels.resize(std::max(levels.size(), level + 1));
        if (!join(levels[level], slice) && ++slices_ > most_slices_read)
            shorten();
    }
    /// After the last one: as few as a page takes.
    const std::vector<Levels>& rows()
    {
        while (slices_ > most_slices)
            shorten();
        return rows_;
    }
    uint64_t shortest() const { return shortest_; }

private:
    // @return  false: it is one more
    bool join(std::vector<Slice>& level, const Slice& slice) const
    {
        if (level.empty() || slice.end - level.back().begin >= shortest_) {
            level.push_back(slice);
            return false;
        }
        Slice& last = level.back();
        last.end = slice.end;
        last.count += slice.count;
        if (slice.longest > last.longest) {
            last.longest = slice.longest;
            last.function = slice.function;
        }
        return true;
    }
    void shorten()
    {
        shortest_ = std::max<uint64_t>(1, 2 * shortest_);
        slices_ = 0;
        for (Levels& levels : rows_)
            for (std::vector<Slice>& level : levels) {
                std::vector<Slice> fewer;
                for (const Slice& slice : level)
                    slices_ += !join(fewer, slice);
                level = std::move(fewer);
            }
    }

    uint64_t shortest_;
    std::vector<Levels> rows_; // by level; level 0 has moments, calls are below it
    size_t slices_ = 0;
};

/// How long calls took, and when: by powers of two, and by when they ended.
struct Latencies {
    std::array<std::unique_ptr<std::array<uint32_t, heat_columns>>, buckets> rows;

    void add(uint64_t time, size_t column)
    {
        auto& row = rows[static_cast<size_t>(std::bit_width(time))];
        if (!row)
            row = std::make_unique<std::array<uint32_t, heat_columns>>();
        ++(*row)[column];
    }
    void add(const Latencies& others)
    {
        for (size_t i = 0; i < buckets; ++i) {
            if (!others.rows[i])
                continue;
            if (!rows[i])
                rows[i] = std::make_unique<std::array<uint32_t, heat_columns>>();
            std::transform(rows[i]->begin(), rows[i]->end(), others.rows[i]->begin(), rows[i]->begin(), std::plus<>());
        }
    }
    json histogram() const
    {
        json found = json::array();
        for (size_t i = 0; i < buckets; ++i)
            if (rows[i])
                found.push_back({i, std::accumulate(rows[i]->begin(), rows[i]->end(), uint64_t(0))});
        return found;
    }
    /// [bucket, column, count, column, count, ...]
    json map() const
    {
        json found = json::array();
        for (size_t i = 0; i < buckets; ++i) {
            if (!rows[i])
                continue;
            json row = json::array({i});
            for (size_t column = 0; column < heat_columns; ++column)
                if ((*rows[i])[column]) {
                    row.push_back(column);
                    row.push_back((*rows[i])[column]);
                }
            found.push_back(std::move(row));
        }
        return found;
    }
};

class Report : public Sink {
public:
    Report(const Recorded& recorded, Pieces& to)
        : to_(to), trace_(recorded.trace), drawn_(recorded.drawn),
          span_(trace_.end() - std::min(trace_.end(), trace_.begin())), timeline_(span_)
    {
        for (const Drawn& one : drawn_) {
            // A moment counts in the table; an entry whose exit is not told counts for its function.
            numbers_.push_back(calls_.add(one.plain, one.file));
            is_probe_.resize(std::max(is_probe_.size(), numbers_.back() + 1));
            is_probe_[numbers_.back()] = one.kind == Drawn::Kind::instant && one.has_end;
        }
        latencies_.resize(is_probe_.size());
        calls_.ended = [this](CallTable::Thread& thread, const CallStack::Call& call, uint64_t end, bool timed) {
            took(static_cast<Thread&>(thread), call, end, timed);
        };
        choose_rows();
    }

    void thread(size_t number) override
    {
        lost_ += trace_.threads()[number].discarded;
        thread_ = &threads_[number];
    }
    void event(size_t number, uint64_t ns, const Values& values) override
    {
        if (drawn_[number].kind == Drawn::Kind::gap)
            gap();
        else if (drawn_[number].kind != Drawn::Kind::samples)
            take(*thread_, number, ns, values.empty() ? 0 : values[0].number);
        else if (values.size() == 2)
            sample(values[1].text, values[0].number);
    }
    void gap() override { calls_.gap(*thread_); }
    void end_of_thread() override { calls_.end(*thread_); }
    CallGaps finish() override;

private:
    struct Thread : CallTable::Thread {
        std::vector<uint32_t> nodes;             ///< of the calls that are open
        size_t row = SIZE_MAX;                   ///< of the timeline
        uint64_t events = 0, begin = 0, end = 0; ///< of its events
    };

    // Those with the most events.
    void choose_rows()
    {
        threads_.resize(trace_.threads().size());
        std::vector<size_t> order(threads_.size());
        std::iota(order.begin(), order.end(), size_t(0));
        std::stable_sort(order.begin(), order.end(),
                         [&](size_t a, size_t b) { return trace_.threads()[a].bytes > trace_.threads()[b].bytes; });
        order.resize(std::min(order.size(), most_rows));
        std::sort(order.begin(), order.end());
        for (size_t i = 0; i < order.size(); ++i)
            threads_[order[i]].row = i;
        rows_ = order;
    }

    // @param one  class of the event  @param count  its first value
    void take(Thread& thread, size_t one, uint64_t ns, uint64_t count)
    {
        // A damaged trace may say anything.
        const uint64_t at = std::max(thread.end, std::min(span_, ns - std::min(ns, trace_.begin())));
        if (drawn_[one].kind == Drawn::Kind::left)
            return calls_.left(thread, count, at);
        if (thread.events++ == 0)
            thread.begin = at;
        thread.end = at;
        ++events_;
        const size_t function = numbers_[one];
        if (drawn_[one].kind == Drawn::Kind::begin)
            return enter(thread, function, at);
        if (drawn_[one].kind == Drawn::Kind::end)
            return calls_.leave(thread, function, at);
        if (drawn_[one].has_end)
            calls_.moment(function);
        else
            calls_.count(function);
        if (thread.row != SIZE_MAX)
            timeline_.add(thread.row, 0, {at, at, static_cast<uint32_t>(function)});
    }

    // "main;work;step"
    void sample(std::string_view stack, uint64_t count)
    {
        uint32_t node = nowhere;
        for (size_t depth = 0; depth < most_depth && !stack.empty(); ++depth) {
            const std::string name(stack.substr(0, stack.find(';')));
            stack.remove_prefix(std::min(stack.size(), name.size() + 1));
            const auto [found, fresh] = frame_numbers_.try_emplace(name, static_cast<uint32_t>(frames_.size()));
            if (fresh)
                frames_.push_back(name);
            const uint32_t child = sampled_.child(node, found->second);
            if (child == nowhere)
                break;
            node = child;
            ++sampled_[node].calls;
            sampled_[node].total += count;
        }
    }

    void enter(Thread& thread, size_t function, uint64_t at)
    {
        if (!calls_.enter(thread, function, at))
            return;
        // Calls in one that has no node have none either.
        const bool is_outermost = thread.nodes.empty();
        const uint32_t parent = is_outermost ? nowhere : thread.nodes.back();
        const bool fits = thread.nodes.size() < most_depth && (is_outermost || parent != nowhere);
        thread.nodes.push_back(fits ? tree_.child(parent, static_cast<uint32_t>(function)) : nowhere);
    }

    void took(Thread& thread, const CallStack::Call& call, uint64_t end, bool timed)
    {
        const uint64_t time = end - call.begin;
        const uint32_t node = thread.nodes.back();
        thread.nodes.pop_back();
        if (node == nowhere) {
            ++without_node_;
        } else {
            ++tree_[node].calls;
            tree_[node].total += time;
        }
        const auto column =
            static_cast<size_t>(static_cast<double>(end) / (static_cast<double>(span_) + 1) * heat_columns);
        if (timed)
            latencies_[call.function].add(time, std::min(column, heat_columns - 1));
        const size_t level = thread.nodes.size() + 1;
        if (level > most_levels)
            ++too_deep_;
        else if (thread.row != SIZE_MAX)
            timeline_.add(thread.row, level, {call.begin, end, static_cast<uint32_t>(call.function)});
    }

    std::string name_of(const std::string& name)
    {
        std::string text = printable(name);
        if (text.size() <= most_name)
            return text;
        ++cut_names_;
        return fastsdt::cut(std::move(text), most_name) + "…";
    }
    // What the page calls a function: a row of its table, or -1.
    int64_t shown(size_t function) const
    {
        return function < shown_.size() && shown_[function] != nowhere ? int64_t(shown_[function]) : -1;
    }
    json functions(std::vector<size_t> order);
    static json columns(const CallTree& tree, const std::function<json(uint32_t)>& name);
    json samples();
    json heat(const std::vector<size_t>& order) const;
    json rows();
    json people() const;
    json cuts(size_t functions);

    json data();

    Pieces& to_;
    const CtfReader& trace_;
    const std::vector<Drawn>& drawn_; // by class
    const uint64_t span_;             // of time, in ns
    std::vector<size_t> numbers_;     // of functions, by class
    CallTable calls_;
    std::vector<bool> is_probe_;       // by function
    std::vector<Latencies> latencies_; // likewise
    CallTree tree_, sampled_;
    std::vector<std::string> frames_; // of samples
    std::unordered_map<std::string, uint32_t> frame_numbers_;
    DrawnCalls timeline_;
    std::vector<Thread> threads_;
    Thread* thread_ = nullptr;    // of which events come
    std::vector<size_t> rows_;    // threads that have one
    std::vector<uint32_t> shown_; // rows of the table, by function
    uint64_t events_ = 0, lost_ = 0, without_node_ = 0, too_deep_ = 0;
    size_t cut_names_ = 0;
};

json Report::functions(std::vector<size_t> order)
{
    json rows = json::array();
    shown_.assign(is_probe_.size(), nowhere);
    order.resize(std::min(order.size(), most_functions));
    for (const size_t number : order) {
        const CallTable::Function& one = calls_.functions()[number];
        shown_[number] = static_cast<uint32_t>(rows.size());
        json row = {{"name", name_of(one.name)}, {"file", name_of(one.file)}, {"calls", one.calls}};
        if (is_probe_[number])
            row["probe"] = true;
        if (one.timed) {
            row["total"] = one.total;
            row["self"] = one.self;
            row["min"] = one.least;
            row["mean"] = static_cast<double>(one.sum) / static_cast<double>(one.timed);
            row["max"] = one.most;
            row["histogram"] = latencies_[number].histogram();
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

// A node's function, its parent's row, calls and time.
json Report::columns(const CallTree& tree, const std::function<json(uint32_t)>& name)
{
    const std::vector<uint32_t> nodes = tree.largest();
    std::unordered_map<uint32_t, size_t> rows;
    json functions = json::array(), parents = json::array(), counts = json::array(), times = json::array();
    for (const uint32_t number : nodes) {
        const CallTree::Node& node = tree.nodes()[number];
        rows.emplace(number, rows.size());
        functions.push_back(name(node.function));
        parents.push_back(node.parent == nowhere ? int64_t(-1) : int64_t(rows.at(node.parent)));
        counts.push_back(node.calls);
        times.push_back(node.total);
    }
    return {{"functions", functions}, {"parents", parents}, {"calls", counts}, {"times", times}};
}

json Report::samples()
{
    std::unordered_map<uint32_t, size_t> rows;
    json names = json::array();
    json found = columns(sampled_, [&](uint32_t frame) {
        const auto [row, fresh] = rows.try_emplace(frame, names.size());
        if (fresh)
            names.push_back(name_of(frames_[frame]));
        return json(row->second);
    });
    found["names"] = std::move(names);
    return found;
}

json Report::heat(const std::vector<size_t>& order) const
{
    Latencies all;
    for (const Latencies& one : latencies_)
        all.add(one);
    json maps = json::object();
    for (size_t i = 0; i < std::min(order.size(), most_heat_maps) && calls_.functions()[order[i]].timed; ++i)
        maps[std::to_string(shown(order[i]))] = latencies_[order[i]].map();
    return {{"columns", heat_columns}, {"all", all.map()}, {"histogram", all.histogram()}, {"functions", maps}};
}

// [level, begin, time, function, count, ...] of each slice of each row
json Report::rows()
{
    json rows = json::array();
    const std::vector<DrawnCalls::Levels>& all = timeline_.rows();
    for (size_t i = 0; i < rows_.size(); ++i) {
        json levels = json::array();
        if (i < all.size())
            for (const auto& level : all[i]) {
                json slices = json::array();
                uint64_t last = 0;
                for (const DrawnCalls::Slice& slice : level) {
                    for (const uint64_t value : {slice.begin - last, slice.end - slice.begin})
                        slices.push_back(value);
                    slices.push_back(shown(slice.function));
                    slices.push_back(slice.count);
                    last = slice.begin;
                }
                levels.push_back(std::move(slices));
            }
        rows.push_back({{"thread", rows_[i]}, {"levels", std::move(levels)}});
    }
    return {{"shortest", timeline_.shortest()}, {"rows", std::move(rows)}};
}

json Report::people() const
{
    json people = json::array();
    for (size_t i = 0; i < std::min(threads_.size(), most_threads); ++i) {
        const CtfReader::Thread& one = trace_.threads()[i];
        people.push_back({{"pid", one.pid},
                          {"tid", one.tid},
                          {"process", printable(one.process)},
                          {"name", printable(one.thread)},
                          {"events", threads_[i].events},
                          {"lost", one.discarded},
                          {"first", threads_[i].begin},
                          {"last", threads_[i].end}});
    }
    return people;
}

// What the page lacks of the trace, for its size.
json Report::cuts(size_t functions)
{
    json cuts = json::array();
    const auto say_cut = [&](size_t all, size_t most, std::string_view what) {
        if (all > most)
            cuts.push_back(fmt::format("{} of {} {}", most, all, what));
    };
    say_cut(functions, most_functions, "functions and probes are in the table: those with the most time of their own");
    say_cut(tree_.size(), most_nodes, "places are in the flame graph: those with the most time");
    say_cut(threads_.size(), most_rows, "threads are in the timeline: those with the most events");
    say_cut(threads_.size(), most_threads, "threads are in the list");
    say_cut(static_cast<size_t>(std::count_if(calls_.functions().begin(), calls_.functions().end(),
                                              [](const CallTable::Function& one) { return one.timed != 0; })),
            most_heat_maps, "functions have a heat map of their own: those with the most time of their own");
    if (without_node_)
        cuts.push_back(
            fmt::format("{} not in the flame graph: more than {} calls were open, or there are more than {} places",
                        plural(without_node_, "call is", "calls are"), most_depth, most_nodes_read));
    if (too_deep_)
        cuts.push_back(fmt::format("{} not in the timeline: more than {} calls were open",
                                   plural(too_deep_, "call is", "calls are"), most_levels));
    if (cut_names_)
        cuts.push_back(fmt::format("{} cut to {} bytes", plural(cut_names_, "name is", "names are"), most_name));
    return cuts;
}

json Report::data()
{
    json page;
    page["version"] = FASTSDT_VERSION_STRING;
    page["begin"] = std::to_string(trace_.begin()); // ns since 1970: more than a number of JavaScript holds
    page["span"] = span_;
    page["events"] = events_;
    page["notes"] = json::array();
    for (const auto& [key, text] : trace_.notes())
        page["notes"].push_back({key, text});
    page["unfinished"] = calls_.unfinished();
    page["interrupted"] = calls_.interrupted();
    page["unknown"] = calls_.unknown();
    page["lost"] = lost_;
    const std::vector<size_t> order = calls_.order();
    page["functions"] = functions(order);
    page["tree"] = columns(tree_, [this](uint32_t function) { return json(shown(function)); });
    if (sampled_.size())
        page["samples"] = samples();
    page["heat"] = heat(order);
    page["timeline"] = rows();
    page["threads"] = people();
    page["cuts"] = cuts(order.size());
    return page;
}

// Within <script type="application/json">: nothing of it may end that, or begin a comment.
std::string embedded(const json& data)
{
    const std::string text = data.dump(-1, ' ', false, json::error_handler_t::replace);
    std::string escaped;
    escaped.reserve(text.size());
    for (const char c : text)
        c == '<' ? escaped += "\\u003c" : escaped += c;
    return escaped;
}

CallGaps Report::finish()
{
    to_.text += page_begin;
    to_.text += embedded(data());
    to_.text += page_end;
    to_.pass_on();
    return {calls_.unfinished(), calls_.interrupted(), calls_.unknown(), 0};
}

} // namespace

std::unique_ptr<Sink> page(const Recorded& recorded, Pieces& to)
{
    return std::make_unique<Report>(recorded, to);
}

} // namespace fastsdt::trace_tool
