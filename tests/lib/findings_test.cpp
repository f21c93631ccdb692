// SPDX-License-Identifier: BSD-2-Clause
#include "report/findings.h"

#include <gtest/gtest.h>

#include <set>

using namespace fastsdt;

namespace {

std::string parsed(std::string_view list)
{
    const auto kernels = parse_kernels(list);
    if (!kernels) {
        EXPECT_FALSE(kernels.error().what.empty()) << list;
        return {};
    }
    EXPECT_FALSE(kernels->empty()) << list;
    std::string text;
    for (const Kernel& kernel : *kernels)
        text += (text.empty() ? "" : " ") + kernel.name();
    return text;
}

// The releases there were: 4.20 after 4.19, then 5.0; 5.19, then 6.0; 6.19, then 7.0 (kernel.org).
TEST(Kernels, RangesCoverEveryRelease)
{
    EXPECT_EQ(parsed("6.17-7.2"), "6.17 6.18 6.19 7.0 7.1 7.2");
    EXPECT_EQ(parsed("4.18-5.1"), "4.18 4.19 4.20 5.0 5.1");
    EXPECT_EQ(parsed("5.18-6.1"), "5.18 5.19 6.0 6.1");
    EXPECT_EQ(parsed("6.12-6.12"), "6.12");
}

// Series of the vendor's archive; and the builds at which something came, with the one before.
TEST(Kernels, RangesOverVendors)
{
    EXPECT_EQ(parsed("ubuntu-6.8-7.0"), "ubuntu-6.8 ubuntu-6.11 ubuntu-6.14 ubuntu-6.17 ubuntu-7.0");
    EXPECT_EQ(parsed("ubuntu-7.0.0-30-ubuntu-7.0.0-43"), parsed("ubuntu-7.0.0-30-7.0.0-43"));
    EXPECT_EQ(parsed("ubuntu-7.0.0-30-7.0.0-43"), "ubuntu-7.0.0-30 ubuntu-7.0.0-40 ubuntu-7.0.0-41 ubuntu-7.0.0-43");
    EXPECT_EQ(parsed("ubuntu-6.17-7.0.0-27"), "ubuntu-6.17 ubuntu-7.0.0-27");
    EXPECT_EQ(parsed("rhel-8-10"), "rhel-8 rhel-9 rhel-10");
    EXPECT_EQ(parsed("rhel-9.2-9.6"), "rhel-9.2 rhel-9.6");
    EXPECT_EQ(parsed("6.1.100-6.2"), "6.1.100 6.1.113 6.1.114 6.2");
    EXPECT_EQ(parsed("6.1.120-6.1.176"), "6.1.120 6.1.176");
}

TEST(Kernels, ListsAreSortedAndNamedOnce)
{
    EXPECT_EQ(parsed("7.2,6.1,6.12,6.1"), "6.1 6.12 7.2");
    EXPECT_EQ(parsed("6.12+stp,6.12"), "6.12 6.12+stp");
    EXPECT_EQ(parsed("6.11+stp-6.12+stp"), "6.11+stp 6.12+stp");
    EXPECT_EQ(parsed("6.11-6.12+stp"), "6.11+stp 6.12+stp");
    EXPECT_EQ(parsed("7.2,ubuntu-7.0.0-43,6.18,7.0.13,7.0"), "6.18 7.0 7.0.13 ubuntu-7.0.0-43 7.2");
}

TEST(Kernels, NonsenseIsRefused)
{
    for (const char* list :
         {"", "6", "6.1,", ",6.1", "6.1-", "-6.1", "7.2-6.1", "6.1+stp-6.12", "x", "6.1-6.x", "0.1-99999.1", "6.1 6.2",
          "6.1-ubuntu-7.0", "ubuntu-7.0-6.8", "ubuntu-7.0.0-43-7.0.0-14", "rhel-9-8", "this-7.2"})
        EXPECT_EQ(parsed(list), "") << list;
}

TEST(Kernels, RunsOfThreeAreWrittenAsRanges)
{
    EXPECT_EQ(list_kernels(*parse_kernels("6.1,6.12,6.18-7.2")), "6.1, 6.12, 6.18-7.2");
    EXPECT_EQ(list_kernels(*parse_kernels("6.1,6.2")), "6.1, 6.2");
    EXPECT_EQ(list_kernels({}), "");
}

TEST(Findings, IdentifiersAreUniqueAndExplained)
{
    std::set<std::string_view> names;
    for (size_t i = 0; i < finding_count; ++i) {
        const auto id = FindingId(i);
        EXPECT_TRUE(names.insert(name(id)).second) << name(id);
        EXPECT_EQ(name(id).find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), name(id).npos) << name(id);
        EXPECT_TRUE(meaning(id).ends_with(".")) << name(id);
        EXPECT_EQ(meaning(id).find('{'), std::string::npos) << name(id);
    }
    for (Severity severity : {Severity::info, Severity::warning, Severity::error})
        EXPECT_EQ(parse_severity(name(severity)), severity);
    EXPECT_FALSE(parse_severity("fatal"));
}

} // namespace
