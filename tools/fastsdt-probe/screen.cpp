// SPDX-License-Identifier: BSD-2-Clause
// --live: a screen once a second.
#include "arch/args.h"
#include "base/printable.h"
#include "probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <optional>
#include <sys/ioctl.h>
#include <unistd.h>

namespace fastsdt::probe {
namespace {

std::optional<uint64_t> value_of(const Argument& argument, const std::vector<uint64_t>& registers, Arch arch)
{
    std::string_view operand = argument.operand;
    if (const auto index = register_word(arch, operand); index && *index < registers.size())
        return registers[*index];
    if (operand.starts_with('$'))
        operand.remove_prefix(1);
    int64_t constant = 0;
    const auto [end, error] = std::from_chars(operand.data(), operand.data() + operand.size(), constant);
    if (error != std::errc() || end != operand.data() + operand.size())
        return std::nullopt;
    return static_cast<uint64_t>(constant);
}

} // namespace

std::string argument_values(const Row& row)
{
    std::string text;
    if (row.counted.registers.empty())
        return text;
    for (const Argument& argument : parse_arguments(row.arguments, row.arch)) {
        text += text.empty() ? "" : " ";
        const auto value = value_of(argument, row.counted.registers, row.arch);
        const int bits = 8 * argument.size;
        if (!value || argument.is_float) {
            text += '?';
            continue;
        }
        const unsigned unused = bits > 0 && bits < 64 ? 64 - bits : 0;
        if (argument.is_signed)
            text += fmt::format("{}", static_cast<int64_t>(*value << unused) >> unused);
        else
            text += fmt::format("{}", *value << unused >> unused);
    }
    return text;
}

void LiveScreen::show(const std::vector<Row*>& rows, const Options& options)
{
    const double now = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    std::vector<double> rates(rows.size());
    before_.resize(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
        if (at_ > 0 && now > at_)
            rates[i] = static_cast<double>(rows[i]->counted.hits - before_[i]) / (now - at_);
        before_[i] = rows[i]->counted.hits;
    }
    at_ = now;
    std::vector<size_t> order(rows.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return std::pair(rates[a], rows[a]->counted.hits) > std::pair(rates[b], rows[b]->counted.hits);
    });

    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row < 4)
        size.ws_row = 24, size.ws_col = 80;
    const size_t lines = std::min<size_t>(order.size(), size.ws_row - 3u);
    const auto line = [&](std::string text) {
        text.resize(std::min<size_t>(text.size(), size.ws_col)); // names are cut, not wrapped
        return text + "\n";
    };
    std::string out = "\033[H\033[J"; // home, clear to the end
    out +=
        line(fmt::format("process {}: {} places, the busiest {}; interrupt to end", options.pid, rows.size(), lines));
    out += line(fmt::format("{:>12}  {:>12}  {:<14}  {:<30}  {}", "HITS/S", "HITS", "MODE", "NAME", "ARGUMENTS"));
    for (size_t i = 0; i < lines; ++i) {
        const Row& row = *rows[order[i]];
        out += line(fmt::format("{:>12.0f}  {:>12}  {:<14}  {:<30}  {}", rates[order[i]], row.counted.hits, mode(row),
                                printable(row.name) + (row.target.on_return ? " (return)" : ""), argument_values(row)));
    }
    std::fwrite(out.data(), 1, out.size(), stdout);
    std::fflush(stdout);
}

} // namespace fastsdt::probe
