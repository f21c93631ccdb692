// SPDX-License-Identifier: BSD-2-Clause
#include "functions.h"

#include "base/printable.h"
#include "say.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string_view>
#include <tuple>

namespace fastsdt::trace_tool {
namespace {

// Of all threads. A process may say that it has as many as it likes, in each of which it calls functions.
constexpr size_t most_open_in_all = size_t(1) << 22, most_counted = size_t(1) << 27;

} // namespace

std::string duration_text(double ns, int digits)
{
    constexpr double thousand = 1000;
    std::string_view unit = "ns";
    for (const std::string_view next : {"us", "ms", "s"}) {
        if (ns < thousand)
            break;
        ns /= thousand;
        unit = next;
    }
    return fmt::format("{:.{}f} {:<2}", ns, unit == "ns" ? 0 : digits, unit);
}

void tell_of(const CallGaps& gaps, std::string_view what)
{
    if (gaps.unfinished)
        tell(fmt::format("{} did not return; the {} has an end for each", plural(gaps.unfinished, "call"), what));
    if (gaps.interrupted)
        tell(fmt::format("{} open where events were lost, and {} there",
                         plural(gaps.interrupted, "call was", "calls were"), gaps.interrupted == 1 ? "ends" : "end"));
    if (gaps.unknown)
        tell(fmt::format("{} an entry {} not shown: the call began before, or the entry was lost",
                         plural(gaps.unknown, "return without", "returns without"), gaps.unknown == 1 ? "is" : "are"));
    if (gaps.samples)
        tell(fmt::format("{} of stacks {} not in the {}: a page has them, -o FILE.html", plural(gaps.samples, "sample"),
                         gaps.samples == 1 ? "is" : "are", what));
    if (gaps.lost)
        tell(fmt::format("{} lost when the trace was recorded", plural(gaps.lost, "event was", "events were")));
}

size_t CallTable::add(const std::string& name, const std::string& file)
{
    const auto [found, added] = numbers_.try_emplace({name, file}, functions_.size());
    if (added)
        functions_.push_back({name, file});
    return found->second;
}

size_t CallTable::left_for(Thread& thread, const Place& place, bool enters, uint64_t clock)
{
    thread.last = std::max(thread.last, clock);
    return thread.stack.left_for(place, enters, thread.last, [&](const CallStack::Call& call, uint64_t end, bool) {
        close(thread, call, end, End::left);
    });
}

void CallTable::left(Thread& thread, size_t count, uint64_t clock)
{
    thread.last = std::max(thread.last, clock);
    thread.stack.left(count, thread.last,
                      [&](const CallStack::Call& call, uint64_t end, bool) { close(thread, call, end, End::left); });
}

bool CallTable::enter(Thread& thread, size_t function, uint64_t clock, const Place& place)
{
    thread.last = std::max(thread.last, clock);
    if (thread.stack.depth() >= most_open_calls || open_ >= most_open_in_all)
        end(thread);
    if (thread.open.size() <= function) {
        const size_t more = function + 1 - thread.open.size();
        if (counted_ + more > most_counted)
            return false;
        counted_ += more;
        thread.open.resize(function + 1);
    }
    thread.stack.enter(function, thread.last, place);
    ++thread.open[function];
    ++open_;
    return true;
}

void CallTable::leave(Thread& thread, size_t function, uint64_t clock)
{
    thread.last = std::max(thread.last, clock);
    if (functions_[function].has_no_end)
        return;
    const bool known = function < thread.open.size() && thread.open[function] != 0;
    if (!known
        || !thread.stack.leave(function, thread.last, [&](const CallStack::Call& call, uint64_t end, bool returned) {
               close(thread, call, end, returned ? End::returned : End::left);
           }))
        ++unknown_;
}

void CallTable::end(Thread& thread)
{
    thread.stack.end(thread.last,
                     [&](const CallStack::Call& call, uint64_t end, bool) { close(thread, call, end, End::left); });
}

void CallTable::gap(Thread& thread)
{
    thread.stack.end(thread.last,
                     [&](const CallStack::Call& call, uint64_t end, bool) { close(thread, call, end, End::lost); });
}

// Of a call that a gap ends, the time up to there is the function's, but no call took so long.
void CallTable::close(Thread& thread, const CallStack::Call& call, uint64_t end, End how)
{
    Function& function = functions_[call.function];
    --open_;
    const uint64_t time = end - call.begin;
    ++function.calls;
    function.self += time - call.inner;
    if (how != End::lost) {
        ++function.timed;
        function.sum += time;
        function.least = std::min(function.least, time);
        function.most = std::max(function.most, time);
    }
    if (--thread.open[call.function] == 0) // the outer calls of a recursion have the inner ones in them
        function.total += time;
    unfinished_ += how == End::left;
    interrupted_ += how == End::lost;
    if (ended)
        ended(thread, call, end, how != End::lost);
}

std::vector<size_t> CallTable::order() const
{
    std::vector<size_t> order;
    for (size_t i = 0; i < functions_.size(); ++i)
        if (functions_[i].calls)
            order.push_back(i);
    std::sort(order.begin(), order.end(), [&](size_t first, size_t second) {
        const Function &a = functions_[first], &b = functions_[second];
        const bool a_lacks = a.timed == 0, b_lacks = b.timed == 0;
        return std::tie(a_lacks, b.self, a.name, a.file) < std::tie(b_lacks, a.self, b.name, b.file);
    });
    return order;
}

void CallTable::print(std::ostream& out, uint64_t frequency, bool json) const
{
    const std::vector<size_t> order = this->order();
    const auto ns = [&](double cycles) { return cycles * 1e9 / static_cast<double>(frequency); };
    if (json) {
        for (const size_t number : order) {
            const Function* const f = &functions_[number];
            const auto time = [&](double cycles) { return f->timed ? nlohmann::json(ns(cycles)) : nlohmann::json(); };
            out << nlohmann::json({{"type", "function"},
                                   {"data",
                                    {{"function", f->name},
                                     {"file", f->file},
                                     {"calls", f->calls},
                                     {"total_ns", time(static_cast<double>(f->total))},
                                     {"self_ns", time(static_cast<double>(f->self))},
                                     {"min_ns", time(static_cast<double>(f->least))},
                                     {"mean_ns", time(static_cast<double>(f->sum) / static_cast<double>(f->timed))},
                                     {"max_ns", time(static_cast<double>(f->most))}}}})
                       .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
                << '\n';
        }
        return;
    }
    out << fmt::format("{:>10}  {:>10}  {:>10}  {:>10}  {:>10}  {:>10}  {}\n", "calls", "total   ", "self   ", "min   ",
                       "mean   ", "max   ", "function");
    for (const size_t number : order) {
        const Function* const f = &functions_[number];
        out << fmt::format("{:>10}", f->calls);
        for (const double cycles :
             {static_cast<double>(f->total), static_cast<double>(f->self), static_cast<double>(f->least),
              static_cast<double>(f->sum) / static_cast<double>(f->timed), static_cast<double>(f->most)})
            out << fmt::format("  {:>10}", f->timed ? duration_text(ns(cycles), 3) : "-   ");
        out << "  " << printable(f->name) << '\n';
    }
}

} // namespace fastsdt::trace_tool
