// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/features.h"

#include <iterator>

namespace fastsdt {
namespace {

constexpr unsigned every_build = 0; // in place of a build: every build of the series

// A series that is older than the feature and has it nevertheless.
struct Backport {
    Vendor vendor;
    unsigned major, minor;
    unsigned build; ///< the first with it
};

struct FeatureRow {
    Feature feature;
    Arch arch;              ///< whose judge() asks for it; x86_64: i386's too; unknown: no judge() does
    unsigned major, minor;  ///< upstream's first release with it; 0: none
    std::string_view patch; ///< what kernels that carry it out of tree are called
    Backport backports[8] = {};
};

// Upstream's releases: from its sources. Point releases: the announcements of the stable kernels, and the list in the record of
// CVE-2024-50099. Ubuntu's builds: its changelogs; of 7.0 the builds 14, 39, 42, 43 and 44 were asked.
constexpr FeatureRow table[] = {
    {Feature::nop_table, Arch::x86_64, 6, 16, {}},
    {Feature::insn_is_nop, Arch::x86_64, 6, 19, {}},
    {Feature::decode_rex2, Arch::x86_64, 6, 10, {}},
    {Feature::decode_xop, Arch::x86_64, 6, 18, {}},
    {Feature::optimize, Arch::x86_64, nop5_first.major, nop5_first.minor, {}},
    {Feature::optimize_nop10, Arch::x86_64, nop10_first.major, nop10_first.minor, {}, {{Vendor::ubuntu, 7, 0, 41}}},
    {Feature::shadow_stack, Arch::unknown, 6, 6, {}},
    {Feature::shadow_stack_return_probe,
     Arch::unknown,
     6,
     11,
     {},
     {{Vendor::upstream, 6, 6, 44}, {Vendor::upstream, 6, 10, 3}}},
    {Feature::emulate_endbr, Arch::x86_64, 0, 0, "endbr"},
    {Feature::simulate_nop, Arch::arm64, 6, 13, {}},
    {Feature::simulate_stp, Arch::arm64, 0, 0, "stp"},
    {Feature::simulate_bti, Arch::arm64, 0, 0, "bti"},
    {Feature::simulate_bc_cond,
     Arch::arm64,
     7,
     1,
     {},
     {{Vendor::upstream, 6, 6, 142},
      {Vendor::upstream, 6, 12, 92},
      {Vendor::upstream, 6, 18, 34},
      {Vendor::upstream, 7, 0, 11},
      {Vendor::ubuntu, 6, 8, 139},
      {Vendor::ubuntu, 7, 0, 28}}},
    {Feature::reject_literal_loads,
     Arch::arm64,
     6,
     12,
     {},
     {{Vendor::upstream, 5, 4, 285},
      {Vendor::upstream, 5, 10, 228},
      {Vendor::upstream, 5, 15, 169},
      {Vendor::upstream, 6, 1, 114},
      {Vendor::upstream, 6, 6, 58},
      {Vendor::upstream, 6, 11, 5},
      {Vendor::ubuntu, 6, 11, 17}}},
    {Feature::reject_mops, Arch::arm64, 6, 6, {}},
    {Feature::know_z17, Arch::s390, 6, 12, {}},
};

static_assert(std::size(table) == size_t(Feature::count), "each feature has a row");

const Backport* backport(const FeatureRow& row, const Release& series)
{
    for (const Backport& entry : row.backports)
        if (entry.major && entry.vendor == series.vendor && entry.major == series.major && entry.minor == series.minor)
            return &entry;
    return nullptr;
}

// Stable releases took it: whoever maintains an older kernel may have it too.
bool is_a_fix(const FeatureRow& row)
{
    for (const Backport& entry : row.backports)
        if (entry.major && entry.vendor == Vendor::upstream)
            return true;
    return false;
}

enum class Has { no, yes, unknown };

Has has(const FeatureRow& row, const Release& release)
{
    if (release.patches & bit(row.feature))
        return Has::yes;
    if (!row.major)
        return Has::no;
    if (!release.before(row.major, row.minor))
        return Has::yes;
    if (const Backport* entry = backport(row, release)) {
        if (entry->build == every_build || (release.build != Release::untold && release.build >= entry->build))
            return Has::yes;
        return release.build == Release::untold ? Has::unknown : Has::no;
    }
    // Red Hat takes whole subsystems of later kernels, and none of its kernels was measured.
    const bool may_have_it = release.vendor == Vendor::rhel || (release.vendor != Vendor::upstream && is_a_fix(row));
    return may_have_it ? Has::unknown : Has::no;
}

} // namespace

Knowledge features_of(const Release& release)
{
    Knowledge knowledge;
    for (const FeatureRow& row : table)
        switch (has(row, release)) {
        case Has::no: break;
        case Has::yes: knowledge.has |= bit(row.feature); break;
        case Has::unknown: knowledge.unknown |= bit(row.feature); break;
        }
    return knowledge;
}

uint32_t features_for(Arch arch)
{
    uint32_t features = 0;
    for (const FeatureRow& row : table)
        if (row.arch == (arch == Arch::i386 ? Arch::x86_64 : arch))
            features |= bit(row.feature);
    return features;
}

std::vector<unsigned> builds_with_news(const Release& series)
{
    std::vector<unsigned> builds;
    for (const FeatureRow& row : table)
        if (const Backport* entry = backport(row, series); entry && entry->build != every_build)
            builds.push_back(entry->build);
    return builds;
}

Feature patch_named(std::string_view name)
{
    for (const FeatureRow& row : table)
        if (!row.patch.empty() && row.patch == name)
            return row.feature;
    return Feature::count;
}

std::string patch_suffixes(uint32_t patches)
{
    std::string text;
    for (const FeatureRow& row : table)
        if (patches & bit(row.feature))
            text.append("+").append(row.patch);
    return text;
}

} // namespace fastsdt
