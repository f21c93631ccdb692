// SPDX-License-Identifier: BSD-2-Clause
// Names of kernels: "6.12", "6.1.176", "ubuntu-7.0.0-43", "rhel-9.6", what `uname -r` prints, and ranges of them. Needs
// C++17 and only the standard library, because fastprobe's plugins use it inside a compiler.
#pragma once
#include "base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fastsdt {

enum class Vendor : uint8_t { upstream, ubuntu, rhel };

struct Release {
    static constexpr unsigned untold = ~0u;

    Vendor vendor = Vendor::upstream;
    /// The upstream version it is made from: 5.14 for all of RHEL 9.
    unsigned major = 0;
    unsigned minor = 0;
    /// Counts within the series: upstream's point release (176 of 6.1.176), Ubuntu's build (43 of 7.0.0-43), RHEL's
    /// minor release (6 of 9.6). `untold`: any of the series.
    unsigned build = untold;
    /// Features (kernel/features.h, one bit each) that the name adds: "+stp".
    uint32_t patches = 0;

    bool same_series(const Release& other) const
    {
        return vendor == other.vendor && major == other.major && minor == other.minor;
    }
    /// It is made from an upstream version before that one.
    bool before(unsigned other_major, unsigned other_minor) const
    {
        return major != other_major ? major < other_major : minor < other_minor;
    }
    friend bool operator==(const Release& a, const Release& b)
    {
        return a.same_series(b) && a.build == b.build && a.patches == b.patches;
    }
    /// The order of lists: without patches first, by version, a series before its builds.
    friend bool operator<(const Release& a, const Release& b);
};

/// "6.12", "6.1.176", "ubuntu-7.0", "ubuntu-7.0.0-43", "rhel-9.6"; "+stp" follows if the kernel has that patch.
std::string name(const Release& release);

/// A name as above, or a whole release name as `uname -r` prints it: "6.1.0-44-amd64" is 6.1 (what Debian's .0 is made from does not show),
/// "7.2.13+deb14-amd64" is 7.2.13, "7.0.0-43-generic" is ubuntu-7.0.0-43, "5.14.0-570.12.1.el9_6.x86_64" is rhel-9.6.
/// @param version  what else is known of the build, `uname -v` or the package's version: "Debian 6.1.176-1" tells the point release
std::optional<Release> parse_release(std::string_view text, std::string_view version = {});

/// One release, or a range of one vendor's: "6.1-7.2", "ubuntu-6.8-7.0.0-43", "6.1.100-6.12". A range has its ends and
/// every series between them. Where an end names a build, the range also has those builds of its series that brought a
/// feature; "6.1.100-6.1" is all of 6.1 from there on. "+stp" at the end of a range is for all of it.
Result<std::vector<Release>> parse_range(std::string_view text);

/// The series that follows in that vendor's list; for the last that is known, the same version again.
Release next_series(const Release& release);

} // namespace fastsdt
