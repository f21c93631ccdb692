// SPDX-License-Identifier: BSD-2-Clause
#include "kernels.h"

#include <algorithm>
#include <optional>

namespace fastprobe {
namespace {

constexpr Version always = Kernels::oldest;
constexpr Version never{~0u, ~0u};

// First kernel that emulates a uprobe at the instruction. Measured on 6.1 to 7.2; the functions that decide:
//   x86:   arch/x86/kernel/uprobes.c, branch_setup_xol_ops() (nop, jmp, call), push_setup_xol_ops()
//   arm64: arch/arm64/kernel/probes/decode-insn.c, arm_probe_decode_insn()
struct Row {
    Arch arch;
    First first;
    Version since;
};
constexpr Row table[] = {
    {Arch::x86_64, First::nop, always},        {Arch::x86_64, First::long_nop, {6, 16}}, // insn_is_nop()
    {Arch::x86_64, First::frame_push, always}, {Arch::x86_64, First::other_push, always},
    {Arch::x86_64, First::branch, always},     {Arch::x86_64, First::call, always},
    {Arch::arm64, First::nop, {6, 13}}, // simulate_nop()
    {Arch::arm64, First::branch, always},      {Arch::arm64, First::call, always},
    {Arch::arm64, First::address, always},
    // First::frame_push on arm64: never in a stock kernel; the "+stp" kernels emulate it.
};

Version since(Arch arch, First first, bool stp)
{
    if (stp && arch == Arch::arm64 && first == First::frame_push)
        return always;
    for (const Row& row : table)
        if (row.arch == arch && row.first == first)
            return row.since;
    return never;
}

std::optional<Version> parse_version(std::string_view text)
{
    Version version;
    size_t at = 0;
    auto number = [&](unsigned& out) {
        size_t begin = at;
        for (; at < text.size() && text[at] >= '0' && text[at] <= '9' && at - begin < 4; at++)
            out = out * 10 + static_cast<unsigned>(text[at] - '0');
        return at != begin;
    };
    if (!number(version.major) || at == text.size() || text[at++] != '.' || !number(version.minor) || at != text.size())
        return std::nullopt;
    return version;
}

} // namespace

std::string_view name(Arch arch)
{
    return arch == Arch::x86_64 ? "x86-64" : "arm64";
}

bool Kernels::parse(std::string_view text, std::string& error)
{
    std::vector<Item> items;
    for (size_t at = 0; at <= text.size();) {
        size_t comma = std::min(text.find(',', at), text.size());
        std::string_view word = text.substr(at, comma - at);
        std::string quoted = "'" + std::string(word) + "'";
        at = comma + 1;

        Item item{{}, never, false};
        constexpr std::string_view suffix = "+stp";
        if (word.size() >= suffix.size() && word.substr(word.size() - suffix.size()) == suffix) {
            item.stp = true;
            word.remove_suffix(suffix.size());
        }
        size_t dash = word.find('-');
        std::optional<Version> from = parse_version(word.substr(0, dash)), to = from;
        if (dash != std::string_view::npos)
            to = dash + 1 == word.size() ? never : parse_version(word.substr(dash + 1));
        if (!from || !to) {
            error = quoted + " is no kernel range (examples: 6.1-7.2, 6.12-, 6.1,6.12,7.2, 6.6+stp)";
            return false;
        }
        if (*from < oldest) {
            error = quoted + ": kernels older than " + std::to_string(oldest.major) + "." + std::to_string(oldest.minor)
                + " are not known here";
            return false;
        }
        if (*to < *from) {
            error = quoted + ": the range ends before it begins";
            return false;
        }
        item.from = *from;
        item.to = *to;
        items.push_back(item);
    }
    items_ = std::move(items);
    text_ = text;
    return true;
}

bool Kernels::nop_pays(Arch arch, First found) const
{
    for (const Item& item : items_) {
        Version nop = since(arch, First::nop, item.stp);
        Version first_with_nop = nop < item.from ? item.from : nop;
        if (!(item.to < first_with_nop) && first_with_nop < since(arch, found, item.stp))
            return true;
    }
    return false;
}

bool Kernels::cheap(Arch arch, First first) const
{
    for (const Item& item : items_)
        if (item.from < since(arch, first, item.stp))
            return false;
    return true;
}

} // namespace fastprobe
