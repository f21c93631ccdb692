// SPDX-License-Identifier: BSD-2-Clause
#include "kernels.h"

#include <algorithm>

namespace fastprobe {
namespace {

using fastsdt::Feature;
using fastsdt::Knowledge;

enum class Emulated { no, unknown, yes };

// Whether a uprobe at the instruction is emulated. The functions that decide:
//   x86:   arch/x86/kernel/uprobes.c, branch_setup_xol_ops() (nop, jmp, call), push_setup_xol_ops()
//   arm64: arch/arm64/kernel/probes/decode-insn.c, arm_probe_decode_insn()
Emulated emulated(const Knowledge& kernel, Arch arch, First first)
{
    const auto by = [&](Feature feature) {
        return kernel.surely(feature) ? Emulated::yes : kernel.maybe(feature) ? Emulated::unknown : Emulated::no;
    };
    switch (first) {
    case First::other: return Emulated::no;
    case First::nop: return arch == Arch::arm64 ? by(Feature::simulate_nop) : Emulated::yes;
    case First::long_nop:
        return arch == Arch::arm64 ? Emulated::no : std::max(by(Feature::nop_table), by(Feature::insn_is_nop));
    case First::frame_push: return arch == Arch::arm64 ? by(Feature::simulate_stp) : Emulated::yes;
    case First::other_push: return arch == Arch::arm64 ? Emulated::no : Emulated::yes;
    case First::branch:
    case First::call: return Emulated::yes;
    case First::address: return arch == Arch::arm64 ? Emulated::yes : Emulated::no;
    }
    return Emulated::no;
}

// "6.12-" ends at the newest known kernel: later kernels emulate what that one does.
std::string with_end(std::string_view item)
{
    std::string text(item);
    const size_t patches = item.find('+');
    const std::string suffix(patches == item.npos ? std::string_view() : item.substr(patches));
    std::string_view range = item.substr(0, patches);
    if (range.empty() || range.back() != '-')
        return text;
    range.remove_suffix(1);
    const auto first = fastsdt::parse_release(range);
    if (!first)
        return text;
    fastsdt::Release last = *first;
    last.build = fastsdt::Release::untold;
    while (last.before(fastsdt::newest_known.major, fastsdt::newest_known.minor) && !(next_series(last) == last))
        last = next_series(last);
    return std::string(range) + suffix + '-' + fastsdt::name(last) + suffix;
}

} // namespace

Kernels::Kernels()
{
    (void)parse(default_text);
}

fastsdt::Result<void> Kernels::parse(std::string_view text)
{
    std::vector<Knowledge> kernels;
    for (size_t at = 0; at <= text.size();) {
        const size_t comma = std::min(text.find(',', at), text.size());
        const std::string_view item = text.substr(at, comma - at);
        at = comma + 1;
        const auto range = fastsdt::parse_range(with_end(item));
        if (!range)
            return range.error();
        for (const fastsdt::Release& release : *range) {
            if (release.before(oldest.major, oldest.minor))
                return fastsdt::Error{"kernels older than " + fastsdt::name(oldest) + " are not known here",
                                      '"' + std::string(item) + '"'};
            kernels.push_back(features_of(release));
        }
    }
    kernels_ = std::move(kernels);
    text_ = text;
    return {};
}

bool Kernels::nop_pays(Arch arch, First found) const
{
    return std::any_of(kernels_.begin(), kernels_.end(), [&](const Knowledge& kernel) {
        return emulated(kernel, arch, First::nop) == Emulated::yes && emulated(kernel, arch, found) != Emulated::yes;
    });
}

bool Kernels::cheap(Arch arch, First first) const
{
    return std::all_of(kernels_.begin(), kernels_.end(),
                       [&](const Knowledge& kernel) { return emulated(kernel, arch, first) == Emulated::yes; });
}

} // namespace fastprobe
