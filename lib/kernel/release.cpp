// SPDX-License-Identifier: BSD-2-Clause
// Names of kernels become Release, and ranges become lists of them. Three kinds of text are read:
//
//     6.1.176              what people write, and name() prints: parse_name(); vendors: ubuntu-7.0.0-43, rhel-9.6
//     7.0.0-43-generic     what `uname -r` prints: parse_release_name() knows vendors by what they append
//     6.1-7.2              a range: parse_range() tries each dash as the one between two names
//
// A range stands for every series between its ends, not for every build: rules change with a series (6.15 to 6.16), or with the builds
// that brought a backport. kernel/features.cpp knows those, so "6.1.100-6.12" becomes 6.1.100, the builds of 6.1 after it that brought
// a feature, each with the build before it, then 6.2, 6.3, ... 6.12.
#include "kernel/release.h"

#include "kernel/features.h"

#include <algorithm>
#include <tuple>

namespace fastsdt {
namespace {

// The series of vendors that do not build all of upstream's. Ubuntu's are those of its archive: the kernels of its
// releases and the newer kernels for older releases.
struct Series {
    Vendor vendor;
    unsigned major, minor;
    unsigned rhel = 0; ///< what Red Hat calls it
};
constexpr Series vendor_series[] = {
    {Vendor::ubuntu, 5, 4},    {Vendor::ubuntu, 5, 8},  {Vendor::ubuntu, 5, 11},  {Vendor::ubuntu, 5, 13},
    {Vendor::ubuntu, 5, 15},   {Vendor::ubuntu, 5, 19}, {Vendor::ubuntu, 6, 2},   {Vendor::ubuntu, 6, 5},
    {Vendor::ubuntu, 6, 8},    {Vendor::ubuntu, 6, 11}, {Vendor::ubuntu, 6, 14},  {Vendor::ubuntu, 6, 17},
    {Vendor::ubuntu, 7, 0},    {Vendor::ubuntu, 7, 3},  {Vendor::rhel, 4, 18, 8}, {Vendor::rhel, 5, 14, 9},
    {Vendor::rhel, 6, 12, 10},
};
constexpr std::string_view ubuntu_prefix = "ubuntu-", rhel_prefix = "rhel-";
// The last word of a release name of Ubuntu's, up to the next dash: Debian and others have an architecture there.
constexpr std::string_view ubuntu_flavours[] = {"generic", "lowlatency", "realtime", "aws",   "azure", "gcp",
                                                "gke",     "gkeop",      "ibm",      "intel", "kvm",   "oem",
                                                "oracle",  "nvidia",     "raspi",    "xilinx"};

// Reads text from its front.
class Scanner {
public:
    explicit Scanner(std::string_view text) : rest_(text) {}
    std::string_view rest() const { return rest_; }
    bool end() const { return rest_.empty(); }
    bool take(std::string_view word)
    {
        if (rest_.substr(0, word.size()) != word)
            return false;
        rest_.remove_prefix(word.size());
        return true;
    }
    bool at_digit() const { return !end() && rest_[0] >= '0' && rest_[0] <= '9'; }
    bool at_letter() const { return !end() && ((rest_[0] | 0x20) >= 'a' && (rest_[0] | 0x20) <= 'z'); }
    /// A number of at most `digits` digits.
    bool number(unsigned& value, size_t digits = 4)
    {
        size_t length = 0;
        unsigned found = 0;
        for (; length < rest_.size() && rest_[length] >= '0' && rest_[length] <= '9'; ++length)
            if (length < digits)
                found = found * 10 + unsigned(rest_[length] - '0');
        if (length == 0 || length > digits)
            return false;
        value = found;
        rest_.remove_prefix(length);
        return true;
    }

private:
    std::string_view rest_;
};

// "rhel-9", "rhel-9.6"
std::optional<Release> rhel(Scanner text)
{
    Release release{Vendor::rhel};
    unsigned major = 0;
    if (!text.number(major) || (text.take(".") && !text.number(release.build)) || !text.end())
        return std::nullopt;
    for (const Series& series : vendor_series)
        if (series.rhel == major) {
            release.major = series.major;
            release.minor = series.minor;
            return release;
        }
    return std::nullopt;
}

// The build of "7.0.0-43[-generic]", at "-43". Kernels for a cloud or a board count from 1001 on: their numbers say
// nothing about these builds.
bool ubuntu_build(Scanner& text, unsigned& build)
{
    constexpr unsigned first_of_derived = 1000;
    if (!text.take("-") || !text.number(build))
        return false;
    if (build >= first_of_derived)
        build = Release::untold;
    return true;
}

// "ubuntu-7.0", "ubuntu-7.0.0-43"
std::optional<Release> ubuntu(Scanner text)
{
    Release release{Vendor::ubuntu};
    unsigned zero = 0;
    if (!text.number(release.major) || !text.take(".") || !text.number(release.minor))
        return std::nullopt;
    if (text.take(".") && (!text.number(zero) || zero > 1 || !ubuntu_build(text, release.build)))
        return std::nullopt;
    if (!text.end())
        return std::nullopt;
    return release;
}

std::optional<Release> with_patches(std::string_view text, std::optional<Release> (*parse)(std::string_view))
{
    uint32_t patches = 0;
    for (size_t plus; (plus = text.rfind('+')) != text.npos; text = text.substr(0, plus)) {
        const Feature patch = patch_named(text.substr(plus + 1));
        if (patch == Feature::count)
            break;
        patches |= bit(patch);
    }
    auto release = parse(text);
    if (release)
        release->patches = patches;
    return release;
}

// A name as name() writes it, and nothing else: "6.12", "6.1.176", "ubuntu-6.8", "rhel-9.6".
std::optional<Release> parse_name(std::string_view text)
{
    Scanner scan(text);
    if (scan.take(ubuntu_prefix))
        return ubuntu(scan);
    if (scan.take(rhel_prefix))
        return rhel(scan);
    Release release;
    if (!scan.number(release.major) || !scan.take(".") || !scan.number(release.minor)
        || (scan.take(".") && !scan.number(release.build)) || !scan.end())
        return std::nullopt;
    return release;
}

// The "9_6" of "5.14.0-570.12.1.el9_6.x86_64"; a stream's ".el9." does not tell the minor release.
std::optional<Release> rhel_of_release_name(std::string_view text)
{
    const size_t at = text.find(".el");
    if (at == text.npos)
        return std::nullopt;
    Scanner scan(text.substr(at + 3));
    unsigned major = 0, minor = Release::untold;
    if (!scan.number(major) || (scan.take("_") && !scan.number(minor)) || !(scan.end() || scan.take(".")))
        return std::nullopt;
    auto release = rhel(Scanner(std::to_string(major)));
    if (release)
        release->build = minor;
    return release;
}

bool ubuntu_flavour(std::string_view text)
{
    const std::string_view word = text.substr(0, text.find('-'));
    return std::find(std::begin(ubuntu_flavours), std::end(ubuntu_flavours), word) != std::end(ubuntu_flavours);
}

// What `uname -r` prints.
std::optional<Release> parse_release_name(std::string_view text)
{
    Release release;
    Scanner scan(text);
    if (!scan.number(release.major) || !scan.take(".") || !scan.number(release.minor))
        return std::nullopt;
    bool point = false;
    if (scan.take(".")) {
        if (!scan.number(release.build))
            return std::nullopt;
        point = true;
    }
    const Scanner behind = scan;
    if (const auto red_hat = rhel_of_release_name(text);
        red_hat && red_hat->same_series({Vendor::rhel, release.major, release.minor}))
        return red_hat;
    Scanner vendor = behind;
    if (unsigned build = 0; ubuntu_build(vendor, build) && vendor.take("-") && ubuntu_flavour(vendor.rest()))
        return Release{Vendor::ubuntu, release.major, release.minor, build};
    // "6.1.0-44-amd64", "6.4.0-150600.21-default": the zero stands for the distribution's own counting.
    scan = behind;
    if (point && release.build == 0 && scan.take("-") && scan.at_digit())
        release.build = Release::untold;
    scan = behind;
    const bool more = (scan.take("-") && (scan.at_letter() || (point && scan.at_digit())))
        || (point && (scan.take("+") || scan.take(".") || scan.take("_")) && (scan.at_letter() || scan.at_digit()));
    if (!behind.end() && !more)
        return std::nullopt;
    return release;
}

// The point release in "#1 SMP PREEMPT_DYNAMIC Debian 6.1.176-1 (2026-07-12)", for 6.1.
unsigned point_release(const Release& series, std::string_view version)
{
    const std::string prefix = std::to_string(series.major) + "." + std::to_string(series.minor) + ".";
    for (size_t at = 0; (at = version.find(prefix, at)) != version.npos; ++at) {
        unsigned build = 0;
        Scanner scan(version.substr(at + prefix.size()));
        if ((at == 0 || version[at - 1] == ' ') && scan.number(build))
            return build;
    }
    return Release::untold;
}

Release last_before_news(Release release, unsigned news)
{
    release.build = news - 1;
    return release;
}

// The builds of `series` from `from` to `to`, both included, that brought a feature, and the last build before each.
void add_builds(const Release& series, unsigned from, unsigned to, std::vector<Release>& list)
{
    for (const unsigned news : builds_with_news(series)) {
        if (news <= from || news > to)
            continue;
        list.push_back(last_before_news(series, news));
        list.push_back(series);
        list.back().build = news;
    }
}

} // namespace

bool operator<(const Release& a, const Release& b)
{
    const auto key = [](const Release& r) {
        // untold + 1 is 0
        return std::make_tuple(r.patches, r.major, r.minor, r.vendor, r.build + 1);
    };
    return key(a) < key(b);
}

std::string name(const Release& release)
{
    const auto number = [](unsigned value) { return std::to_string(value); };
    const bool told = release.build != Release::untold;
    const std::string series = number(release.major) + "." + number(release.minor);
    std::string text;
    switch (release.vendor) {
    case Vendor::upstream: text = series + (told ? "." + number(release.build) : ""); break;
    case Vendor::ubuntu:
        text = std::string(ubuntu_prefix) + series + (told ? ".0-" + number(release.build) : "");
        break;
    case Vendor::rhel:
        for (const Series& known : vendor_series)
            if (known.rhel && known.major == release.major && known.minor == release.minor)
                text = std::string(rhel_prefix) + number(known.rhel) + (told ? "." + number(release.build) : "");
        break;
    }
    return text + patch_suffixes(release.patches);
}

std::optional<Release> parse_release(std::string_view text, std::string_view version)
{
    auto release = with_patches(text, parse_name);
    if (!release)
        release = with_patches(text, parse_release_name);
    if (release && release->vendor == Vendor::upstream && release->build == Release::untold)
        release->build = point_release(*release, version);
    return release;
}

Release next_series(const Release& release)
{
    Release next = release;
    next.build = Release::untold;
    if (release.vendor == Vendor::upstream) {
        // What comes after 7.3 is not known yet; majors ended at 19 or 20.
        const unsigned last_minor = release.major == 4 ? 20 : 19;
        if (release.minor < last_minor)
            ++next.minor;
        else
            next = {release.vendor, release.major + 1, 0, Release::untold, release.patches};
        return next;
    }
    for (const Series& series : vendor_series)
        if (series.vendor == release.vendor && release.before(series.major, series.minor)) {
            next.major = series.major;
            next.minor = series.minor;
            return next;
        }
    return next;
}

Result<std::vector<Release>> parse_range(std::string_view text)
{
    const std::string quoted = '"' + std::string(text) + '"';
    const auto fail = [&](std::string why) { return Error{std::move(why), quoted}; };
    // Names have dashes too, so a dash makes a range only between two names. The second may leave out the vendor.
    for (size_t dash = text.find('-'); dash != text.npos; dash = text.find('-', dash + 1)) {
        auto first = with_patches(text.substr(0, dash), parse_name);
        if (!first)
            continue;
        const std::string end(text.substr(dash + 1));
        auto last = with_patches(end, parse_name);
        if (first->vendor != Vendor::upstream && (!last || last->vendor == Vendor::upstream))
            last = with_patches(std::string(first->vendor == Vendor::ubuntu ? ubuntu_prefix : rhel_prefix) + end,
                                parse_name);
        if (!last)
            continue;
        if (first->vendor != last->vendor)
            return fail("a range is of one vendor's kernels");
        if (!first->patches)
            first->patches = last->patches;
        if (first->patches != last->patches)
            return fail("write " + patch_suffixes(first->patches | last->patches) + " at the end or nowhere");
        const bool one_series = first->same_series(*last);
        // From a build to the end of its series.
        const bool rest = one_series && first->build != Release::untold && last->build == Release::untold;
        if (*last < *first && !rest)
            return fail("the range runs backwards");
        constexpr size_t most = 200;
        std::vector<Release> list{*first};
        if (first->build != Release::untold)
            add_builds(*first, first->build,
                       one_series && last->build != Release::untold ? last->build : Release::untold, list);
        if (!one_series) {
            for (Release series = next_series(*first); !series.same_series(*last) && series < *last;
                 series = next_series(series)) {
                if (list.size() > most)
                    return Error{quoted + " is too many kernels"};
                if (next_series(series) == series)
                    break;
                list.push_back(series);
            }
            if (last->build != Release::untold)
                add_builds(*last, 0, last->build, list);
        }
        if (!rest)
            list.push_back(*last);
        std::sort(list.begin(), list.end());
        list.erase(std::unique(list.begin(), list.end()), list.end());
        return list;
    }
    if (const auto one = parse_release(text))
        return std::vector<Release>{*one};
    return Error{quoted + " is not a kernel version", {}, "write 6.12, 6.1.176, ubuntu-7.0.0-43, rhel-9.6 or 6.1-7.2"};
}

} // namespace fastsdt
