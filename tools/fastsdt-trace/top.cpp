// SPDX-License-Identifier: BSD-2-Clause
#include "top.h"

#include "base/printable.h"
#include "functions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <sys/ioctl.h>
#include <termios.h>
#include <tuple>
#include <unistd.h>
#include <vector>

namespace fastsdt::trace_tool {
namespace {

using engine::Entry;
using engine::Map;

// The whole screen while it lives, and keys without a return key. What ends the program at once puts the terminal back, too.
class Screen {
public:
    Screen()
    {
        static const bool registered = std::atexit(put_back) == 0;
        (void)registered;
        if (isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &before_) == 0) {
            termios keys = before_;
            keys.c_lflag &= ~tcflag_t(ICANON | ECHO);
            listens_ = tcsetattr(STDIN_FILENO, TCSANOW, &keys) == 0;
        }
        shown_ = true;
        write("\033[?1049h\033[?25l"); // the other screen, no cursor
    }
    ~Screen() { put_back(); }
    Screen(const Screen&) = delete;
    Screen& operator=(const Screen&) = delete;

    int keys() const { return listens_ ? STDIN_FILENO : -1; }
    void draw(const std::vector<std::string>& lines) const
    {
        winsize size{};
        constexpr unsigned short usual_rows = 24, usual_columns = 80;
        if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0)
            size.ws_row = usual_rows, size.ws_col = usual_columns;
        std::string text = "\033[H";
        for (size_t i = 0; i < lines.size() && i < size.ws_row; ++i) // names are cut, not wrapped
            text += (i ? "\n" : "") + lines[i].substr(0, size.ws_col) + "\033[K";
        write(text + "\033[J");
    }

private:
    static void write(const std::string& text)
    {
        for (size_t done = 0; done < text.size();) {
            const ssize_t now = ::write(STDOUT_FILENO, text.data() + done, text.size() - done);
            if (now <= 0)
                return;
            done += size_t(now);
        }
    }
    static void put_back()
    {
        if (!shown_)
            return;
        shown_ = false;
        write("\033[?25h\033[?1049l");
        if (listens_)
            tcsetattr(STDIN_FILENO, TCSANOW, &before_);
        listens_ = false;
    }

    static inline termios before_{};
    static inline bool shown_ = false, listens_ = false;
};

struct Row {
    bool is_function = false;
    uint64_t hits = 0;             // since the start
    int64_t ns = 0;                // in all calls that have returned
    std::vector<uint64_t> buckets; // of their times, as hist() has them
};

// What has come since an earlier time.
Row since(const Row& now, const Row& before)
{
    Row change = now;
    change.hits -= before.hits;
    change.ns -= before.ns;
    for (size_t i = 0; i < change.buckets.size() && i < before.buckets.size(); ++i)
        change.buckets[i] -= before.buckets[i];
    return change;
}

// So much is no smaller than a share of the times, up to the end of a bucket: they are powers of two. 0: there is no time.
double percentile(const std::vector<uint64_t>& buckets, double share)
{
    const auto all = std::accumulate(buckets.begin(), buckets.end(), uint64_t(0));
    uint64_t sum = 0;
    for (size_t i = 0; i < buckets.size() && all; ++i) {
        sum += buckets[i];
        if (static_cast<double>(sum) >= share * static_cast<double>(all))
            return i < 2 ? 1 : static_cast<double>(uint64_t(1) << (i - 1));
    }
    return 0;
}

class TopOutput final : public Output {
public:
    TopOutput(const engine::Script& script, std::ostream& out, const Options& options)
        : Output(script, out), options_(options), order_(options.top->order),
          ends_(options.json ? json_output(script, out) : text_output(script, out))
    {
        if (!options.json && options.output.empty() && options.command.empty() && isatty(STDOUT_FILENO))
            screen_.emplace();
    }

    void text(const std::string&, Kind) override {} // the script prints nothing

    void summary(const Summary& summary) override
    {
        const auto now = Clock::now();
        const double seconds = std::chrono::duration<double>(now - (is_last_ ? start_ : at_)).count();
        if (!is_paused_ || is_last_) {
            shown_.clear();
            for (const auto& [name, row] : rows_)
                shown_.emplace_back(name, is_last_ ? row : since(row, before_[name]));
            seconds_ = std::max(seconds, 1e-9);
            summary_ = summary;
            before_ = rows_;
            at_ = now;
        }
        show();
    }

    void last() override
    {
        is_last_ = true;
        screen_.reset();
    }

    int keys() const override { return screen_ ? screen_->keys() : -1; }
    bool take_key() override
    {
        char key = 0;
        if (read(STDIN_FILENO, &key, 1) != 1 || key == 'q')
            return false;
        if (key == 'p' || key == ' ')
            is_paused_ = !is_paused_;
        for (const auto& [letter, order] : orders)
            if (key == letter)
                order_ = order;
        show();
        return true;
    }

private:
    using Clock = std::chrono::steady_clock;
    using Shown = std::pair<std::string, Row>;
    static constexpr std::pair<char, Top::Order> orders[] = {
        {'r', Top::Order::rate}, {'t', Top::Order::total}, {'b', Top::Order::busy},
        {'5', Top::Order::p50},  {'9', Top::Order::p99},   {'n', Top::Order::name},
    };

    // "app:shop:order" of "usdt:/usr/bin/app:shop:order", and the name of a function.
    static std::string short_name(std::string name)
    {
        const auto end = name.find(':', name.rfind('/') + 1);
        const auto slash = name.rfind('/', end);
        if (name.starts_with("usdt:"))
            name = name.substr(slash == name.npos ? name.find(':') + 1 : slash + 1);
        return name;
    }

    Row& row(const Map& map, const Entry& entry)
    {
        Row& row = rows_[short_name(key(map, entry, 0))];
        row.is_function = map.name != "@probes";
        return row;
    }

    void values(const Map& map, const Entries& entries, uint32_t) override
    {
        for (const Entry* entry : entries)
            if (map.name == "@time")
                row(map, *entry).ns = entry->number;
            else if (map.name == "@calls" || map.name == "@probes")
                row(map, *entry).hits = static_cast<uint64_t>(entry->number);
    }
    void histograms(const Map& map, const Entries& entries, uint32_t) override
    {
        for (const Entry* entry : entries)
            row(map, *entry).buckets = entry->buckets;
    }
    void statistics(const Map&, const Entries&, uint32_t) override {}
    void series(const Map&, const std::vector<Series>&) override {}
    void number(const std::string&) override {}
    void stack(const engine::Datum&) override {}
    void bytes(const engine::Shape&, const std::string&) override {}
    void string(const std::string&) override {}

    void sort()
    {
        const auto key = [this](const Shown& shown) -> double {
            const Row& row = shown.second;
            switch (order_) {
            case Top::Order::rate: return static_cast<double>(row.hits);
            case Top::Order::total: return static_cast<double>(rows_[shown.first].hits);
            case Top::Order::busy: return static_cast<double>(row.ns);
            case Top::Order::p50: return percentile(row.buckets, 0.5);
            case Top::Order::p99: return percentile(row.buckets, 0.99);
            case Top::Order::name: break;
            }
            return 0;
        };
        std::sort(shown_.begin(), shown_.end(), [&](const Shown& a, const Shown& b) {
            return std::tuple(key(b), a.first) < std::tuple(key(a), b.first);
        });
    }

    void show()
    {
        sort();
        if (options_.json) {
            show_json();
            return;
        }
        std::vector<std::string> lines;
        if (screen_) {
            lines.push_back((is_paused_ ? "PAUSED  " : "") + printable(summary_.text()));
            lines.emplace_back("order: r rate  t total  b busy  5 p50  9 p99  n name    p pause  q quit");
        }
        lines.push_back(fmt::format("{:>12}  {:>14}  {:>8}  {:>10}  {:>10}  {}", "RATE/S", "TOTAL", "BUSY", "P50 UP TO",
                                    "P99 UP TO", "NAME"));
        const size_t most = screen_ ? shown_.size() : options_.top->rows;
        for (size_t i = 0; i < shown_.size() && i < most; ++i)
            lines.push_back(line(shown_[i]));
        if (screen_) {
            screen_->draw(lines);
            return;
        }
        out_ << fmt::format("{}\n", fmt::join(lines, "\n"));
        if (shown_.size() > most)
            out_ << fmt::format("and {} more\n", shown_.size() - most);
        if (is_last_)
            ends_->summary(summary_);
        else
            out_ << '\n';
    }

    std::string line(const Shown& shown)
    {
        const auto& [name, row] = shown;
        std::string times = fmt::format("{:>8}  {:>10}  {:>10}", "", "", "");
        const auto up_to = [&](double share) {
            const double ns = percentile(row.buckets, share);
            return ns > 0 ? duration_text(ns, 1) : "";
        };
        if (row.is_function) // of one processor; several threads may use more
            times = fmt::format("{:>6.1f} %  {:>10}  {:>10}", static_cast<double>(row.ns) / seconds_ / 1e7, up_to(0.5),
                                up_to(0.99));
        return fmt::format("{:>12.0f}  {:>14}  {}  {}", static_cast<double>(row.hits) / seconds_, rows_[name].hits,
                           times, printable(name));
    }

    void show_json()
    {
        nlohmann::json rows = nlohmann::json::array();
        for (const auto& [name, row] : shown_) {
            nlohmann::json one = {
                {"name", name}, {"rate", static_cast<double>(row.hits) / seconds_}, {"total", rows_[name].hits}};
            if (row.is_function)
                one.update({{"ns", row.ns},
                            {"p50_ns", percentile(row.buckets, 0.5)},
                            {"p99_ns", percentile(row.buckets, 0.99)}});
            rows.push_back(std::move(one));
        }
        out_ << nlohmann::json({{"type", "top"}, {"data", {{"seconds", seconds_}, {"rows", rows}}}})
                    .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
             << '\n';
        if (is_last_)
            ends_->summary(summary_);
    }

    const Options& options_;
    Top::Order order_;
    const std::unique_ptr<Output> ends_;
    std::optional<Screen> screen_;
    std::map<std::string, Row> rows_, before_; // now, and when they were last shown
    std::vector<Shown> shown_;                 // what came in `seconds_`
    double seconds_ = 1;
    Summary summary_;
    const Clock::time_point start_ = Clock::now();
    Clock::time_point at_ = start_;
    bool is_paused_ = false, is_last_ = false;
};

} // namespace

std::string top_script(const Top& top, const std::string& key)
{
    std::vector<std::string> entries, exits, probes;
    for (const std::string& place : top.functions) {
        entries.push_back("uprobe:" + function_place(place, "--functions"));
        exits.push_back("uretprobe:" + function_place(place, "--functions"));
    }
    for (const std::string& place : top.probes)
        probes.push_back(probe_place(place, "--probes"));
    if (entries.empty() && probes.empty())
        probes.emplace_back("usdt:*:*:*");
    std::string text;
    if (!probes.empty())
        text += fmt::format("{} {{ @probes[probe] = count(); }}\n", fmt::join(probes, ", "));
    if (!entries
             .empty()) // a call within a call of the same function in the same thread is timed, and the outer one is not
        text += fmt::format("{0} {{ @calls[func] = count(); @begin[{2}, func] = nsecs; }}\n"
                            "{1} /@begin[{2}, func]/ {{ @ns[func] = hist(nsecs - @begin[{2}, func]); "
                            "@time[func] = sum(nsecs - @begin[{2}, func]); delete(@begin[{2}, func]); }}\n",
                            fmt::join(entries, ", "), fmt::join(exits, ", "), key);
    return text;
}

std::unique_ptr<Output> top_output(const engine::Script& script, std::ostream& out, const Options& options)
{
    return std::make_unique<TopOutput>(script, out, options);
}

} // namespace fastsdt::trace_tool
